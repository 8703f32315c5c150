"""Reports what a source consists of: its vectors, its largest files, and what was left out.

Skipped files have rows in the database. Ignored files have none, so the folders are listed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.store import CHUNKS
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.model import Scan, Source
from memory_sidecar.core.opening import escape_bytes
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.rule_files import folders_of
from memory_sidecar.disk.ruling import Excludes, rule_for

LARGEST = 15  # files listed by size
PATHS_OF_REASON = 50  # listed for one reason
MOST_IGNORED = 400  # paths whose rule is looked up, about a millisecond each


@dataclass(frozen=True, slots=True)
class SourceVectors:
    """The progress of a source's vectors."""

    static: Annotated[int, about("chunks that have one")]
    pending: Annotated[int, about("chunks that wait for one of the model")]


@dataclass(frozen=True, slots=True)
class Eater:
    """A file with many chunks."""

    path: str
    chunks: int
    bytes: Annotated[int, about("of the file")]


@dataclass(frozen=True, slots=True)
class Omitted:
    """The files and folders left out for one reason."""

    reason: str
    status: Annotated[str, about("skipped, failed or ignored")]
    count: Annotated[int, about("an ignored folder counts as one")]
    bytes: int | None
    paths: Annotated[tuple[str, ...], about("the first of them")]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """What a source consists of."""

    name: str
    root: str
    largest: tuple[Eater, ...]
    left_out: Annotated[tuple[Omitted, ...], about("the most frequent reason first")]
    is_complete: Annotated[bool, about("no ignored path was left unlooked at")]


def vectors_by_source(codebase: Codebase) -> dict[str, SourceVectors]:
    """Return the progress of vectors of each source that has chunks."""
    with codebase.data.open_anew().reading() as connection:
        static = _by_source(connection, "chunk_static")
        pending = _by_source(connection, CHUNKS.pending)
    return {
        source: SourceVectors(static.get(source, 0), pending.get(source, 0))
        for source in static | pending
    }


def break_down(codebase: Codebase, name: str) -> Breakdown:
    """Return what the source called `name` consists of. Raises NotFound."""
    source = codebase.registry.get(name)
    with codebase.data.open_anew().reading() as connection:
        rows = connection.execute(
            "SELECT path, chunks, size FROM files WHERE source = ? AND chunks > 0"
            " ORDER BY chunks DESC, path LIMIT ?",
            (name, LARGEST),
        )
        largest = tuple(Eater(*row) for row in rows)
        left_out = list(_omitted_files(connection, name))
    builder = codebase.builder(source)
    ignored = list(_ignored_paths(source, builder.scan(None)))
    by_rule = _omitted_by_rule(source.root, ignored[:MOST_IGNORED], builder.excludes())
    found = [*left_out, *by_rule]
    return Breakdown(
        source.name,
        source.root.as_posix(),
        largest,
        tuple(sorted(found, key=lambda each: (-each.count, each.reason))),
        len(ignored) <= MOST_IGNORED,
    )


def _by_source(connection: Connection, table: str) -> dict[str, int]:
    """Count the rows of `table` by source; its ids are those of chunks."""
    return dict(
        connection.execute(
            f"SELECT source, count(*) FROM {table} JOIN code_chunks USING (id) GROUP BY source"
        )
    )


def _omitted_files(connection: Connection, source: str) -> Iterator[Omitted]:
    """Group the files that were skipped or failed by reason."""
    rows = connection.execute(
        "SELECT reason, status, path, size FROM files INDEXED BY files_not_indexed"
        " WHERE status <> 'indexed' AND source = ? ORDER BY path",
        (source,),
    )
    by_reason = by_key(((reason, status), (path, size)) for reason, status, path, size in rows)
    for (reason, status), files in by_reason.items():
        paths = tuple(path for path, _ in files[:PATHS_OF_REASON])
        yield Omitted(reason, status, len(files), sum(size for _, size in files), paths)


def _omitted_by_rule(root: Path, ignored: list[str], excludes: Excludes) -> Iterator[Omitted]:
    """Group `ignored` paths, folders with a trailing slash, by the rule that ignores them."""

    def rule_of(path: str) -> str:
        is_folder = path.endswith("/")
        rule = rule_for(root, path.rstrip("/"), is_folder=is_folder, excludes=excludes)
        return str(rule) if rule else "a rule of git"

    for rule, paths in by_key((rule_of(path), path) for path in ignored).items():
        yield Omitted(rule, "ignored", len(paths), None, tuple(paths[:PATHS_OF_REASON]))


def _ignored_paths(source: Source, scan: Scan) -> Iterator[str]:
    """Yield what the scanned folders hold and the scan left out; a folder's path ends with `/`."""
    files = {file.path for file in scan.files}
    seen = {*files, *folders_of(files), *scan.folders, *scan.unreadable}
    for folder in scan.folders:
        try:
            entries = sorted(os.scandir(source.root / folder), key=lambda entry: entry.name)
        except OSError:
            continue  # deleted meanwhile
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if escape_bytes(path) not in seen:  # the scan escapes its paths, too
                yield f"{path}/" if entry.is_dir(follow_symlinks=False) else path
