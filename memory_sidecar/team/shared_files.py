"""The files of a team's sources, cached between searches, and those that a search may return."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.code.model import ChunkFile, CodeFilter, file_filter
from memory_sidecar.disk.repository import Origin
from memory_sidecar.team.connection import Connected

_ERA = (
    "format('%%s %%s %%s', pg_postmaster_start_time(), tableoid,"
    " (SELECT oid FROM pg_database WHERE datname = current_database()))"
)
NO_CHUNK = (1 << 31) - 1  # higher than the id of any chunk
MOST_FILES = 1 << 26  # the highest id of a file: a scope takes 4 bytes for each id
MAIN_BRANCHES = ("main", "master")
KEPT_GENERATIONS = 10_000  # for which a source keeps deleted files, so that caches hear of them

Version = tuple[str, int, int]
"""The version of a source's rows: era, id and generation."""


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file in the team's database."""

    path: str
    language: str
    fingerprint: str
    first_chunk: int
    chunks: int


@dataclass(frozen=True, slots=True)
class SourceRow:
    """The row of a source in one snapshot."""

    id: int
    branch: str
    holder: str  # the machine that indexed it last
    generation: int
    model: str
    static: str
    chunks: int
    tokens: int
    team_chunks: int  # of all sources together
    era: str  # changes with a restart or a restore, after which ids and generations may recur

    @property
    def version(self) -> Version:
        """The version of the source's rows; rows that may differ never share one."""
        return self.era, self.id, self.generation


def read_sources(connection: Connected, origins: Sequence[Origin]) -> list[SourceRow | None]:
    """Read the row of the source of each origin, in the same order; None if the team has none.

    It is that of the branch, else that of a main branch, else any other.
    """
    rows = connection.execute(
        "SELECT f.* FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY"
        " AS s (repository, folder, branch, place) LEFT JOIN LATERAL"
        " (SELECT id, branch, holder, generation, model, static, chunks, tokens,"
        f" (SELECT sum(chunks) FROM sources) AS of_all, {_ERA} FROM sources"
        " WHERE repository = s.repository AND folder = s.folder AND lease_until < 'infinity'"
        " ORDER BY branch = s.branch DESC, branch = ANY(%s) DESC, id LIMIT 1"
        ") AS f ON true ORDER BY place",
        (
            [origin.address for origin in origins],
            [origin.inside for origin in origins],
            [origin.branch for origin in origins],
            list(MAIN_BRANCHES),
        ),
    )
    return [None if row[0] is None else SourceRow(*row) for row in rows]


class SharedFiles:
    """A cache of the files of one source, brought to the version that is asked for. Thread-safe."""

    def __init__(self) -> None:
        self._by_id: dict[int, SharedFile] = {}
        self._version: Version = ("", 0, 0)
        self._lock = threading.Lock()

    def read(self, connection: Connected, row: SourceRow) -> Mapping[int, SharedFile]:
        """Return the files by id in the snapshot of `connection`, where the source has `row`."""
        with self._lock:
            if row.version != self._version:
                *place, generation = self._version
                is_recent = 0 <= row.generation - generation <= KEPT_GENERATIONS
                # Copied: another reader may be using the old mapping.
                known = dict(self._by_id) if is_recent and place == [row.era, row.id] else {}
                rows = connection.execute(
                    "SELECT id, path, language, fingerprint, first_chunk, chunks FROM files"
                    " WHERE source = %s AND generation > %s",
                    (row.id, generation if known else -1),
                )
                for file, *found in rows:
                    each = SharedFile(*found)
                    if each.fingerprint and each.chunks:  # every document has at least one chunk
                        known[file] = each
                    else:
                        known.pop(file, None)
                self._by_id, self._version = known, row.version
            return self._by_id


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The files of a team's sources that a search may return: not masked, and within its filter."""

    files: Sequence[ChunkFile]
    numbers: Mapping[int, int]  # the place in `files` of each file, by its id
    by_name: Mapping[str, Sequence[int]]  # ids of files by the last part of the path
    # By file id, the first current chunk; NO_CHUNK: not in the scope. The last: for higher ids.
    first: npt.NDArray[np.int32]
    first_of_all: npt.NDArray[np.int32]  # the same of each file of the sources, in scope or not
    masked: Sequence[int]  # ids of files that local rows replace
    chunks: int  # in these files
    left_out: int  # chunks in the files that the filter leaves out
    outdated: int  # files here that only the team had, and no longer has in that version

    @property
    def is_filtered(self) -> bool:
        return self.left_out > 0

    def path_of(self, file: int) -> str:
        """Return the path of the file with that id."""
        return self.files[self.numbers[file]].path

    @classmethod
    def of(
        cls,
        sources: Mapping[str, Mapping[int, SharedFile]],
        wanted: CodeFilter,
        masked: Mapping[str, Collection[str]],
        outdated: int,
    ) -> SearchScope:
        """`sources` and `masked` (paths) are keyed by the name of the source on this machine.

        Raises ValueError if the id of a file exceeds MOST_FILES.
        """
        is_wanted = file_filter(wanted)
        files: list[ChunkFile] = []
        numbers: dict[int, int] = {}
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        last = max((max(known, default=0) for known in sources.values()), default=0)
        if last > MOST_FILES:
            raise ValueError(f"a file has the id {last}")
        first, first_of_all = np.full((2, last + 2), NO_CHUNK, np.int32)
        hidden: list[int] = []
        chunks = left_out = 0
        for name, known in sources.items():
            for file_id, each in known.items():
                first_of_all[file_id] = each.first_chunk
                file = ChunkFile(name, each.path, each.language)
                if each.path in masked.get(name, ()):
                    hidden.append(file_id)
                elif file_id in numbers:  # two sources, such as worktrees, share its row
                    continue
                elif is_wanted(file):
                    numbers[file_id] = len(files)
                    by_name[each.path.rpartition("/")[2]].append(file_id)
                    files.append(file)
                    first[file_id] = each.first_chunk
                    chunks += each.chunks
                else:
                    left_out += each.chunks
        hidden = [file_id for file_id in hidden if file_id not in numbers]
        return cls(files, numbers, by_name, first, first_of_all, hidden, chunks, left_out, outdated)
