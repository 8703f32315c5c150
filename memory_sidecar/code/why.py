"""Explains why a path is indexed or not, from the last scan's rows and a new walk of the path."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from memory_sidecar.code.builder import CodeBuilder, SharedSource, is_left_out
from memory_sidecar.code.directory import without_lines
from memory_sidecar.code.results import Why
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core import reasons
from memory_sidecar.core.errors import DatabaseError, NoIndex, PathRefused, StoreNewer
from memory_sidecar.core.model import FileStatus, Source
from memory_sidecar.core.opening import escape_bytes, is_utf8
from memory_sidecar.core.paths import real_place
from memory_sidecar.core.projects import CONFIG_NAME, home
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.ignores import NEVER
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.roots import problem_of
from memory_sidecar.disk.rule_files import repository_top
from memory_sidecar.disk.ruling import (
    BUILT_IN,
    EXCLUDE,
    GIT_FOLDER,
    OWN_FOLDER,
    SETTING,
    WORKTREE,
    Rule,
    rule_for,
)
from memory_sidecar.index.derived import ManifestEntry
from memory_sidecar.index.report import VectorCounts

_NEVER_INDEXED = "version control's own files are never indexed"


def why(
    path: Path,
    registry: Registry,
    *,
    open_store: Callable[[], CodeStore],
    builder_of: Callable[[Source], CodeBuilder],
) -> Why:
    """Explain whether `path`, absolute, is indexed, and why. Lines may follow, as in a hit."""
    real = real_place(Path(without_lines(os.fspath(path), os.path.lexists)))
    is_link = os.path.islink(real)  # noqa: PTH114  False where no folder may be entered
    source = registry.containing(real.parent if is_link else real, with_worktrees=True)
    if source is None:
        return _why_outside(real, check_root=registry.check_new_root)
    return _why_inside(real, source, store=open_store(), builder=builder_of(source))


def _why_outside(path: Path, *, check_root: Callable[[Path], None]) -> Why:
    """Explain an absolute `path` in no source.

    `check_root` raises PathRefused for a folder that cannot be a source.
    """
    absolute = path.as_posix()
    if not os.path.lexists(path):
        if closed := _unsearchable_above(path):
            return Why(absolute, "failed", *closed)
        return Why(absolute, "absent", "there is no such file or folder", "check the name")
    folder = project_around(path if path.is_dir() else path.parent)
    hint = f"`memory-sidecar index {quote(str(folder))}` indexes it"
    try:
        check_root(folder)
    except PathRefused as refused:
        return Why(absolute, "outside", f"no source contains it: {refused}", refused.hint)
    return Why(absolute, "outside", "no source contains it", hint)


def project_around(folder: Path) -> Path:
    """Return the top of the repository around `folder`, or `folder` if none is or it holds home."""
    top = repository_top(folder)
    return folder if top is None or _holds_home(top) else top


def no_source_error(folder: Path, sources: Sequence[Source], *, or_all: bool = False) -> NoIndex:
    """Return the error for a question in a `folder` that lies in none of `sources`.

    The hint names the source that may have been moved here: the only one whose folder is gone. It
    names --all, too, with `or_all`.
    """
    top = project_around(folder)
    place = "." if top == folder else quote(str(top))
    hint = f"`memory-sidecar index {place}` indexes it"
    if _holds_home(top):
        hint = "`memory-sidecar index PATH` indexes a project's folder"
    gone = [each for each in sources if not os.path.lexists(each.root)]
    if len(gone) == 1:
        name = quote(gone[0].name)
        hint += f", `memory-sidecar source move {name} {place}` does if {name} was moved here"
    if or_all and sources:
        hint += ", and --all searches every source"
    return NoIndex(f"no source contains {folder}", hint=hint)


def _holds_home(folder: Path) -> bool:
    return Path(home(os.environ)).is_relative_to(folder)


def _unsearchable_above(path: Path) -> tuple[str, str] | None:
    """Return a reason and a hint if a folder above `path` denies access, else None."""
    nearest = next(folder for folder in path.parents if os.path.lexists(folder))
    if os.access(nearest, os.X_OK) or not nearest.is_dir():
        return None
    return f"{nearest} cannot be entered: Permission denied", "check its permissions"


def _why_inside(path: Path, source: Source, *, store: CodeStore, builder: CodeBuilder) -> Why:
    """Explain `path` in `source`: an absolute path whose folder is free of links."""
    absolute, name = path.as_posix(), source.name
    inside = path.relative_to(source.root).as_posix()
    inside = "" if inside == "." else inside
    if not is_utf8(inside) and os.path.lexists(path):
        absolute = escape_bytes(path)
        return Why(absolute, "skipped", reasons.NAME_NOT_UTF8, "rename it, and it is read", name)
    known = store.manifest(name, under=[escape_bytes(inside)])
    scan_at_once = f"`memory-sidecar index {quote(str(source.root))}` scans at once"
    if not os.path.lexists(path):
        was_indexed = any(each.status is FileStatus.INDEXED for each in known.values())
        return _why_absent(path, source, scan_at_once, was_indexed=was_indexed)
    is_folder = not path.is_symlink() and path.is_dir()
    seen = builder.scan([inside])
    files = {file.path: file for file in seen.files}
    if inside not in files and inside not in seen.folders:
        rule = rule_for(source.root, inside, is_folder=is_folder, excludes=builder.excludes())
        reason = f"ignored by {rule}" if rule else "ignored by a rule of git"
        hint = how_to_include(rule, source.root)
        return Why(absolute, "ignored", reason, hint, name, rule=rule)
    if not is_folder and inside not in known:
        if reason := files[inside].skip_reason:
            return Why(absolute, "skipped", reason, _hint_of(reason, source.root, inside), name)
        return Why(absolute, "waiting", "not scanned yet", scan_at_once, name)
    if why := _why_known(absolute, source, inside, known):
        return why
    if builder.shared and is_left_out(known[inside].fingerprint):
        return _why_shared(absolute, name, inside, builder.shared)
    with store.reading() as connection:
        counts = _counts_at(connection, name, inside)
    reason = known[inside].reason
    return Why(absolute, "indexed", reason, "", name, counts.rows, counts.rows - counts.pending)


def _why_absent(path: Path, source: Source, scan_at_once: str, *, was_indexed: bool) -> Why:
    """Explain a path in `source` at which nothing is, or nothing that may be looked at."""
    absolute, name = path.as_posix(), source.name
    if closed := _unsearchable_above(path):
        return Why(absolute, "failed", *closed, name)
    if not was_indexed:
        reason = "there is no such file or folder, and none was indexed"
        return Why(absolute, "absent", reason, "check the name", name)
    problem = problem_of(source)
    reason = f"{problem or 'it is gone'}: searches answer from what was indexed"
    away = (
        f"mount its disk again, or `memory-sidecar source move {name} PATH` or"
        f" `source remove {name}`"
    )
    return Why(absolute, "absent", reason, away if problem else scan_at_once, name)


def _why_shared(absolute: str, source: str, inside: str, shared: SharedSource) -> Why:
    """Explain a file whose chunks are in the team's database."""
    reason = "in the team's database"
    try:
        counts = shared.counts_at(inside)
    except (DatabaseError, NoIndex, StoreNewer) as error:
        return Why(absolute, "indexed", f"{reason}: {error.message}", error.hint, source)
    return Why(absolute, "indexed", reason, "", source, counts.rows, counts.rows - counts.pending)


def _why_known(
    absolute: str, source: Source, inside: str, known: Mapping[str, ManifestEntry]
) -> Why | None:
    """Explain a path by the manifest of the last scan; `None` for an indexed file."""
    name, entry = source.name, known.get(inside)
    if entry is None:
        counted = Counter(each.status for each in known.values())
        counts = ", ".join(f"{counted[status]:,} {status.value}" for status in FileStatus)
        hint = "`memory-sidecar status --skipped --failed` lists those that are not"
        return Why(absolute, "folder", f"a folder; of its files {counts}", hint, name)
    if entry.status is FileStatus.SKIPPED:
        hint = _hint_of(entry.reason, source.root, inside)
        return Why(absolute, "skipped", entry.reason, hint, name)
    if entry.status is FileStatus.FAILED:
        return Why(absolute, "failed", entry.reason, "fix that; it is retried automatically", name)
    return None


def how_to_include(rule: Rule | None, root: Path) -> str:
    """Return a hint how to include what `rule` ignores in the source at `root`."""
    if rule is None:
        return "`git check-ignore -v PATH` tells which"
    if rule.file == BUILT_IN:
        if rule.pattern.rstrip("/") in NEVER:
            return _NEVER_INDEXED
        return (
            f"a line `!{rule.pattern}` in the .sidecarignore at the top of the source includes it"
        )
    if rule.file == WORKTREE:
        return f"`memory-sidecar index {quote(str(root / rule.path))}` indexes it by itself"
    if rule.file == GIT_FOLDER:
        return _NEVER_INDEXED
    if rule.file == OWN_FOLDER:
        return "`memory-sidecar query` and `memory-sidecar session search` look there"
    if rule.file == EXCLUDE:
        return "`memory-sidecar source remove` the source and add it without that"
    if rule.file == SETTING:
        return f"it stands in the {CONFIG_NAME} of the source, or in your settings"
    return f"take that line out, or add `!/{rule.path}` to the .sidecarignore of the source"


def _hint_of(reason: str, root: Path, path: str) -> str:
    if reason == reasons.SECRETS:
        index = f"memory-sidecar index {quote(str(root))} --exclude {quote('!/' + path)}"
        return f"`{index}` includes it"
    if reason.startswith(reasons.TOO_LARGE):
        return "the setting max_file_bytes allows more"
    if reason == reasons.NOT_TEXT:
        return "convert it to UTF-8: of others only those are read whose words tell what they are"
    return ""


def _counts_at(connection: Connection, source: str, path: str) -> VectorCounts:
    """Count the chunks of the file at `path`, and those that wait for a vector."""
    counted: Any = connection.execute(
        "SELECT count(*), count(p.id) FROM code_chunks c LEFT JOIN chunk_pending p ON p.id = c.id"
        " WHERE c.source = ? AND c.filename = ?",
        (source, path),
    ).fetchone()
    return VectorCounts(*counted)
