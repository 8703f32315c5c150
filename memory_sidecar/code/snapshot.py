"""The database snapshot that one answer is read from, and notices about what it lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from memory_sidecar.code.absent import NO_SUCH_FILE, nearest_path, reason_in
from memory_sidecar.code.asides import is_data
from memory_sidecar.code.directory import Line
from memory_sidecar.code.graph import FUNCTIONS, Graph
from memory_sidecar.code.model import ChunkFile, CodeFilter, file_filter
from memory_sidecar.code.results import CodeHit, Freshness, Why
from memory_sidecar.code.store import CHUNKS, CodeStore
from memory_sidecar.core import reasons
from memory_sidecar.core.errors import NoIndex, NotFound
from memory_sidecar.core.language import TEXT, detect_language
from memory_sidecar.core.results import Reporter, notice_too_large
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.roots import IsDeleted
from memory_sidecar.index.report import count_pending_of
from memory_sidecar.index.watched import LiveState

T = TypeVar("T")

MAX_EXPLAINED = 3  # globs without a file that are looked for on the disk and among near paths
_PRESENT = {"ignored", "skipped", "folder", "failed", "waiting"}  # fates of what is on the disk
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the database, and how up to date the sources of a query are in it."""

    store: CodeStore
    connection: Connection
    asked: Sequence[str]  # names of the sources that the query is about
    scanned: Mapping[str, int | None]  # end of the last complete scan of each source, epoch ms
    live: Mapping[str, LiveState]  # of watched sources
    is_deleted: IsDeleted
    roots: Mapping[str, Path]  # of the registered sources
    why: Callable[[Path], Why]

    @property
    def graph(self) -> Graph:
        """A new graph of the names in this snapshot, to be used for one answer."""
        return Graph(self.connection, self.is_deleted, self.why_unread)

    def why_unread(self, source: str, path: str) -> str:
        """Return why the file at `path` is not indexed, as of now; "" if it is."""
        root = self.roots[source]
        why = self.why(root / path)
        reason = reason_in(why, root) and f"it is not indexed: {reason_in(why, root)}"
        return NO_SUCH_FILE if why.fate == "absent" else reason

    def function_lines(self, line: Line) -> range:
        """Return the lines of the innermost function around a line, or that line alone."""
        at = self.graph.file(line.source, line.path)
        around = (
            range(each.start_line, each.end_line + 1)
            for each in (self.graph.definitions_in(at) if at else ())
            if each.kind in FUNCTIONS and each.start_line <= line.line <= each.end_line
        )
        return min(around, key=len, default=range(line.line, line.line + 1))

    def with_freshness(self, hits: Sequence[CodeHit]) -> list[CodeHit]:
        """Return `hits` with how fresh those of each source are."""
        fresh = {name: self._freshness(name) for name in {hit.source for hit in hits}}
        return [replace(hit, freshness=fresh[hit.source]) for hit in hits]

    def _freshness(self, source: str) -> Freshness:
        live, scanned_at = self.live.get(source), self.scanned[source]
        return Freshness(
            is_current=live.is_current if live else None,
            scanned_at=None if scanned_at is None else iso_utc(scanned_at),
            vectors_pending=count_pending_of(self.connection, [CHUNKS], [source]),
        )

    def require_scanned(self) -> None:
        """Raise NoIndex if none of the sources has been scanned yet."""
        if all(self.scanned[name] is None for name in self.asked):
            hint = "`memory-sidecar status` shows the progress; ask again then"
            if not self.live:
                hint += ", or if that was interrupted, run `memory-sidecar index`"
            raise NoIndex(f"not indexed yet: {', '.join(self.asked or self.roots)}", hint=hint)

    def answer(self, ask: Callable[[Snapshot], T], wanted: CodeFilter, reporter: Reporter) -> T:
        """Return what `ask` finds here; if nothing, raise or notice why, by the filter `wanted`."""
        try:
            found = ask(self)
        except NotFound:
            self.require_scanned()
            self._notice_too_large(wanted, reporter)
            raise
        if not found:
            self.explain_nothing(wanted, reporter)
        return found

    def explain_nothing(self, wanted: CodeFilter, reporter: Reporter) -> None:
        """Notice why nothing that satisfies `wanted` may have been found. Raises NoIndex.

        No indexed file satisfies it, or code that does is in files too large to be indexed.
        """
        self.require_scanned()
        self._notice_too_large(wanted, reporter)
        if not wanted.in_words:
            return
        rows: Any = self.connection.execute(
            "SELECT source, path, language FROM files WHERE status = 'indexed'"
        )
        files = [ChunkFile(*row) for row in rows if row[0] in self.asked]
        if any(map(file_filter(wanted), files)):
            return
        globs = wanted.path_globs[:MAX_EXPLAINED]
        like = self._inside(globs, files) or nearest_path(
            map(_fixed_start, globs), [file.path for file in files]
        )
        near = f": the nearest is {like}" if like else ""
        reporter.notice(f"no indexed file is {wanted.in_words}{self._left_out(globs) or near}")

    def _inside(self, globs: Sequence[str], files: Sequence[ChunkFile]) -> str:
        """Return one of `globs` without the name or folder of a source that it begins with.

        "" if none of `files` of that source is then meant.
        """
        roots = [(name, self.roots[name]) for name in self.asked if name in self.roots]
        for first, _, inside in (glob.partition("/") for glob in globs):
            named = tuple(name for name, root in roots if first in (name, root.name))
            if named and inside:
                is_inside = file_filter(CodeFilter(named, path_globs=(inside,)))
                if any(map(is_inside, files)):
                    return inside
        return ""

    def _left_out(self, globs: Sequence[str]) -> str:
        """Return why what is at the fixed beginning of one of `globs` is not indexed, or ""."""
        for start in filter(None, map(_fixed_start, globs)):
            for root in (self.roots[name] for name in self.asked if name in self.roots):
                if (at := self.why(root / start)).fate in _PRESENT:
                    hint = f" — {at.hint}" if at.hint and at.fate != "folder" else ""
                    return f"; {start}: {at.reason}{hint}"
        return ""

    def _notice_too_large(self, wanted: CodeFilter, reporter: Reporter) -> None:
        rows = self.connection.execute(
            "SELECT source, path FROM files INDEXED BY files_not_indexed"
            " WHERE status = 'skipped' AND status <> 'indexed' AND reason LIKE ?",
            (f"{reasons.TOO_LARGE} %",),
        )
        is_wanted = file_filter(wanted)
        named = (ChunkFile(source, path, detect_language(path)) for source, path in rows)
        too_large = [
            each.path
            for each in named
            if each.source in self.asked
            and each.language != TEXT
            and not is_data(each.path)
            and is_wanted(each)
        ]
        notice_too_large(too_large, "indexed", reporter)


def _fixed_start(glob: str) -> str:
    """Return `glob` up to its first wildcard; "" if it begins with one, or leaves files out."""
    return "" if glob.startswith("!") else _WILD.split(glob.lstrip("/"), maxsplit=1)[0]
