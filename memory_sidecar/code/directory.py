"""An in-memory map from chunks to their files and names; a question looks up hundreds of chunks.

It follows the database by the ids of chunks, which only grow: each reader adds the chunks of its
snapshot beyond the last id known. Deleted chunks stay in it, so it says where a chunk lies, not
whether it still exists. Filters are evaluated once for each file, and the result is cached.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from memory_sidecar.code.model import ChunkFile, CodeFilter, file_filter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.codes import Ids, Mask
from memory_sidecar.index.ids import locate
from memory_sidecar.index.report import known_sources

FileNumbers = npt.NDArray[np.int32]

MOSTLY_DELETED = 2  # the map is rebuilt when it knows this many times the existing chunks
FILTERS_KEPT = 16
_FIRST_CAPACITY = 1024
_PLACE = re.compile(
    r"(.+?)(?:(?:[:#]L?|\?L|#lines-)(\d{1,9})(?:C\d+)?(?:-L?(\d{1,9})(?:C\d+)?|:\d+)?"
    r"|\((\d{1,9}),\d+\))"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file of a source, from 1."""

    source: str
    path: str
    line: int


def parse_place(text: str) -> tuple[str, int, int] | None:
    """Return path, first and last line (0 for none) of a place as tools and web pages write it.

    `a.py:10`, `a.py:10:5`, `a.py:10-20`, `a.cs(10,5)`, `a.py#L10-L20`, `a.py#L10C5-L20C1`,
    `a.py#lines-10:20` and `a.py?L10-20`; `None` for other texts.
    """
    found = _PLACE.fullmatch(text)
    return found and (found[1], int(found[2] or found[4]), int(found[3] or 0))


def without_lines(text: str, exists: Callable[[str], bool]) -> str:
    """Return `text` without the lines of a place if only that path `exists`; else `text` itself."""
    place = parse_place(text)
    return place[0] if place and not exists(text) and exists(place[0]) else text


def is_at(filename: str, path: str) -> bool:
    """Whether `path`, absolute or the end of a path, means the file at `filename` in its source.

    Lua shortens a long path to its end: `...re/nvim/lua/shop.lua`.
    """
    if path.startswith(("/", "...")) or path[1:3] == ":/":
        return path.endswith(f"/{filename}")
    return f"/{filename}".endswith(f"/{path}")


class ChunkFiles(list[ChunkFile]):
    """An append-only list of files, with a cache of which of them satisfy recent filters."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[ChunkFile, int] = {}
        self._named: dict[str, list[ChunkFile]] = {}  # by the last part of the path
        self._masks: dict[CodeFilter, Mask] = {}

    def number_of(self, file: ChunkFile) -> int:
        """Return the place of `file`, which is appended if it is new."""
        number = self._numbers.setdefault(file, len(self))
        if number == len(self):
            self.append(file)
            self._named.setdefault(file.path.rpartition("/")[2], []).append(file)
        return number

    def at(self, path: str) -> list[ChunkFile]:
        """Return the files that `path` means, shallowest first; some may be gone."""
        named = self._named.get(path.rpartition("/")[2], ())
        meant = (each for each in named if is_at(each.path, path))
        return sorted(meant, key=lambda file: file.path.count("/"))

    def called(self, stem: str) -> list[ChunkFile]:
        """Return the files whose name up to its first dot is `stem`; some may be gone."""
        named = list(self._named.items())  # at once: other readers add to it meanwhile
        return [each for name, files in named if name.partition(".")[0] == stem for each in files]

    def satisfying(self, wanted: CodeFilter) -> Mask:
        """Return, for each file, whether it satisfies the filter: (n,). Raises UsageError."""
        mask = self._masks.get(wanted)
        if mask is None or len(mask) < len(self):
            known = np.empty(0, np.bool_) if mask is None else mask
            new = np.fromiter(map(file_filter(wanted), self[len(known) :]), np.bool_)
            if len(self._masks) >= FILTERS_KEPT:
                self._masks.clear()
            self._masks[wanted] = mask = np.concatenate([known, new])
        return mask


@dataclass(frozen=True, slots=True)
class Directory:
    """The chunks of a snapshot, and perhaps some deleted before, with their files."""

    ids: Ids  # ascending
    file_numbers: FileNumbers  # the place in `files` of each chunk's file
    files: ChunkFiles  # perhaps more than these chunks need
    names: Sequence[str]  # of each chunk, perhaps of more: column `symbols`, NUL, and its scope

    def places_of(self, ids: Ids) -> Ids | None:
        """Return the place in `ids` of each chunk; `None` if not all of them are known.

        A directory that was first read in a newer snapshot may lack chunks of an older one.
        """
        at, known = locate(ids, self.ids)
        return at if known.all() else None

    def chunks_in(self, wanted: CodeFilter) -> Ids:
        """Return the chunks in files that satisfy `wanted`, ascending. Raises UsageError."""
        return self.ids[self.files.satisfying(wanted)[self.file_numbers]]

    def runs_of(self, wanted: CodeFilter) -> list[tuple[int, int]]:
        """Return the chunks of `chunks_in` as ranges (first id, last id) without others between."""
        is_in = np.zeros(len(self.ids) + 2, np.int8)
        is_in[1:-1] = self.files.satisfying(wanted)[self.file_numbers]
        (turns,) = np.nonzero(np.diff(is_in))
        firsts, lasts = self.ids[turns[::2]], self.ids[turns[1::2] - 1]
        return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


class ChunkDirectory:
    """Keeps a `Directory` up to date. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._count = 0
        self._ids: Ids = np.empty(0, np.int64)
        self._file_numbers: FileNumbers = np.empty(0, np.int32)
        self._names: list[str] = []
        self._files = ChunkFiles()

    def read(self, connection: apsw.Connection) -> Directory:
        """Return the directory of the snapshot of `connection`."""
        with self._lock:
            last = int(self._ids[self._count - 1]) if self._count else 0
            newest: Any = connection.execute("SELECT coalesce(max(id), 0) FROM code_chunks").get
            if newest > last:
                self._add(connection, last)
                self._rebuild_if_mostly_deleted(connection)
            # Another reader's newer snapshot may have added more chunks.
            end = int(np.searchsorted(self._ids[: self._count], newest, side="right"))
            numbers = self._file_numbers[:end]
            return Directory(self._ids[:end], numbers, self._files, self._names)

    def unload(self) -> None:
        """Free the memory; the next reader reads all chunks again."""
        with self._lock:
            self._clear()

    def _add(self, connection: apsw.Connection, last: int) -> None:
        ids, numbers, names = array("q"), array("i"), list[str]()
        before, number = None, 0
        known: dict[str, str] = {}  # half of the chunks define nothing, or the same as others
        for chunk_id, named, *file in connection.execute(
            "SELECT id, symbols || char(0) || scope, source, filename, language FROM code_chunks"
            " WHERE id > ? ORDER BY id",
            (last,),
        ):
            if file != before:  # the chunks of a file stand together
                before, number = file, self._files.number_of(ChunkFile(*file))
            ids.append(chunk_id)
            numbers.append(number)
            names.append(known.setdefault(named, named))
        start, self._count = self._count, self._count + len(ids)
        self._reserve(self._count)
        self._names += names
        self._ids[start : self._count] = ids
        self._file_numbers[start : self._count] = numbers

    def _rebuild_if_mostly_deleted(self, connection: apsw.Connection) -> None:
        """Read everything again once most of the chunks known have been deleted."""
        rows: Any = connection.execute("SELECT count(*) FROM code_chunks").get
        if self._count > MOSTLY_DELETED * (rows + _FIRST_CAPACITY):
            self._clear()
            self._add(connection, 0)

    def _reserve(self, rows: int) -> None:
        """Grow the arrays by copying: readers may be using the old ones."""
        if rows > len(self._ids):
            capacity = max(rows, len(self._ids) * 5 // 4, _FIRST_CAPACITY)
            self._ids = np.resize(self._ids, capacity)
            self._file_numbers = np.resize(self._file_numbers, capacity)


def allowed_chunks(connection: Connection, directory: Directory, wanted: CodeFilter) -> Ids | None:
    """Return the ids of chunks that satisfy `wanted`, ascending; `None` if every chunk does.

    A path glob is one of `disk.globs`: `*.py` anywhere, `src/` for all below it,
    `/tests/**/test_*.py` from the root of the source. Raises UsageError for an invalid glob.
    """
    if wanted == CodeFilter(sources=wanted.sources) and (
        not wanted.sources or set(wanted.sources) >= known_sources(connection).keys()
    ):
        return None
    return directory.chunks_in(wanted)


def typed_path(connection: Connection, source: str, path: str) -> str:
    """Return the path of a file, quoted, as a shell takes it in any folder."""
    known = known_sources(connection).get(source)
    return quote(f"{known.root}/{path}" if known else path)
