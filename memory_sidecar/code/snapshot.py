"""The state of the database that one answer is read from, and what to tell a caller about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from memory_sidecar.code.directory import ChunkFile, file_filter
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.query_names import MAX_COMPARED
from memory_sidecar.code.results import Freshness
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import NoIndex, NotFound
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.followed import LiveState

T = TypeVar("T")

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the database, and how far it is with the sources that are asked about."""

    store: CodeStore
    connection: Connection
    asked: Sequence[str]  # sources
    scanned: Mapping[str, int | None]  # the end of each one's last complete scan, epoch ms
    live: Mapping[str, LiveState]

    @property
    def graph(self) -> Graph:
        """The names in it, for one answer."""
        return Graph(self.connection)

    def freshness(self, source: str, pending: int) -> Freshness:
        """How fresh hits in `source` are, while `pending` chunks wait for a vector."""
        return Freshness.of(self.live.get(source), self.scanned[source], pending)

    def require_scanned(self) -> None:
        """Raises NoIndex where none of the sources was scanned yet."""
        if all(self.scanned[name] is None for name in self.asked):
            raise NoIndex(
                f"not indexed yet: {', '.join(self.asked)}",
                hint="`memory-sidecar status` tells how far it is; ask again then",
            )

    def answer(self, ask: Callable[[Snapshot], T], wanted: CodeFilter, reporter: Reporter) -> T:
        """What `ask` finds here, of what is `wanted`; where that is nothing, why is told."""
        try:
            found = ask(self)
        except NotFound:
            self.require_scanned()
            raise
        if not found:
            self.tell_of_nothing(wanted, reporter)
        return found

    def tell_of_nothing(self, wanted: CodeFilter, reporter: Reporter) -> None:
        """Say so where no file satisfies `wanted`. Raises as `require_scanned`."""
        self.require_scanned()
        if not (wanted.path_globs or wanted.languages):
            return
        rows: Any = self.connection.execute(
            "SELECT source, path, language FROM files WHERE status = 'indexed'"
        )
        files = [ChunkFile(*row) for row in rows if row[0] in self.asked]
        if any(map(file_filter(wanted), files)):
            return
        what = ", ".join((*wanted.path_globs, *wanted.languages))
        like = _nearest_path(wanted.path_globs, [file.path for file in files])
        reporter.notice(f"no indexed file is {what}" + (f": the nearest is {like}" if like else ""))


def _nearest_path(globs: Sequence[str], paths: Sequence[str]) -> str:
    """The file or folder among `paths` that what one of `globs` begins with is most like, or ""."""
    folders = {path[: at + 1] for path in paths for at, letter in enumerate(path) if letter == "/"}
    known = [*sorted(folders), *paths][:MAX_COMPARED]
    for glob in globs:
        start = _WILD.split(glob.lstrip("!/"), maxsplit=1)[0]
        if start and (like := get_close_matches(start, known, n=1)):
            return like[0]
    return ""
