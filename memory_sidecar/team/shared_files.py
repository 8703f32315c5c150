"""What files the sources of a team have, as a reader remembers them from one search to the next."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memory_sidecar.code.directory import ChunkFile, file_filter
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.disk.repository import Origin
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.postings import Statistics

NO_CHUNK = (1 << 31) - 1  # higher than the id of any chunk


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file that the team has."""

    path: str
    language: str
    fingerprint: str
    first_chunk: int
    chunks: int


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source as one commit has it."""

    id: int
    generation: int
    model: str
    static: str
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Sought:
    """A source to be found: its branch, or unless `is_exact` the main one."""

    origin: Origin
    is_exact: bool


def read_sources(connection: Connected, sought: Sequence[Sought]) -> list[SourceRow | None]:
    """What the team has of each of them, in their order."""
    rows = connection.execute(
        "SELECT f.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::bool[]) WITH ORDINALITY"
        " AS s (repository, folder, branch, exact, place) LEFT JOIN LATERAL"
        " (SELECT id, generation, model, static, chunks, tokens FROM sources"
        " WHERE repository = s.repository AND folder = s.folder"
        " AND (branch = s.branch OR NOT s.exact)"
        " ORDER BY branch = s.branch DESC, branch IN ('main', 'master') DESC, id LIMIT 1"
        ") AS f ON true ORDER BY place",
        (
            [each.origin.address for each in sought],
            [each.origin.inside for each in sought],
            [each.origin.branch for each in sought],
            [each.is_exact for each in sought],
        ),
    )
    return [
        None if id_ is None else SourceRow(id_, generation, model, static, Statistics(*counts))
        for id_, generation, model, static, *counts in rows
    ]


@dataclass
class SharedFiles:
    """The files of one source, kept from one search to the next. Thread-safe."""

    source: int
    by_id: dict[int, SharedFile] = field(default_factory=dict)
    generation: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, connection: Connected, generation: int) -> Mapping[int, SharedFile]:
        """By id, as the commit of `connection` has them; that is of `generation`."""
        with self._lock:
            if generation != self.generation:
                # A mapping that a reader has is left as it is.
                known = {} if generation < self.generation else dict(self.by_id)
                since = self.generation if known else -1
                rows = connection.execute(
                    "SELECT id, path, language, fingerprint, first_chunk, chunks FROM files"
                    " WHERE source = %s AND generation > %s",
                    (self.source, since),
                )
                for file, *row in rows:
                    each = SharedFile(*row)
                    if each.fingerprint and each.chunks:  # each document has one, at least
                        known[file] = each
                    else:
                        known.pop(file, None)
                self.by_id, self.generation = known, generation
            return self.by_id


@dataclass(frozen=True, slots=True)
class Reach:
    """Which files of some sources may hold hits."""

    files: Sequence[ChunkFile]
    numbers: Mapping[int, int]  # in `files`, by the id of the file
    called: Mapping[str, Sequence[int]]  # ids by the last part of the path
    first: npt.NDArray[np.int32]  # the first chunk of each, by its id; none is below NO_CHUNK
    masked: Sequence[int]  # ids of files that the reader's own rows answer for
    chunks: int  # in these files
    narrows: bool  # whether a filter left files out

    def path_of(self, file: int) -> str:
        """Of a file, by its id."""
        return self.files[self.numbers[file]].path

    def first_of(self, files: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The first chunk of each of `files`, which a hit may have; `NO_CHUNK` for the others."""
        if not len(self.first):
            return np.full(len(files), NO_CHUNK, np.int32)
        known = self.first[np.minimum(files, len(self.first) - 1)]
        return np.where(files < len(self.first), known, NO_CHUNK)

    @classmethod
    def of(
        cls,
        sources: Mapping[str, Mapping[int, SharedFile]],
        wanted: CodeFilter,
        masked: Mapping[str, Collection[str]],
    ) -> Reach:
        """`sources` and `masked`, paths, are by the name that a source has on this machine."""
        is_wanted = file_filter(wanted)
        files: list[ChunkFile] = []
        numbers: dict[int, int] = {}
        called: defaultdict[str, list[int]] = defaultdict(list)
        last = max((max(known, default=0) for known in sources.values()), default=0)
        first = np.full(last + 1, NO_CHUNK, np.int32)
        hidden: list[int] = []
        chunks = left_out = 0
        for name, known in sources.items():
            for file_id, each in known.items():
                file = ChunkFile(name, each.path, each.language)
                if each.path in masked.get(name, ()):
                    hidden.append(file_id)
                elif is_wanted(file):
                    numbers[file_id] = len(files)
                    called[each.path.rpartition("/")[2]].append(file_id)
                    files.append(file)
                    first[file_id] = each.first_chunk
                    chunks += each.chunks
                else:
                    left_out += 1
        return cls(files, numbers, called, first, hidden, chunks, narrows=bool(left_out))
