"""Finds what a change may break: the uses of definitions that a unified diff changed or removed.

A rename counts as a changed file and as a gone one, from which other files may still import.

The earlier text of a file is restored from its present text and the diff, and its definitions are
read as when a file is indexed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from memory_sidecar.chunking.chunk import parse_text
from memory_sidecar.chunking.notebook import read_program
from memory_sidecar.code.document import DefinitionRow, FileNames
from memory_sidecar.code.files import find_place
from memory_sidecar.code.graph import Defined, Graph
from memory_sidecar.code.model import CodeFilter, file_filter
from memory_sidecar.code.navigation import (
    Cutting,
    best_references,
    distinct,
    known_file,
)
from memory_sidecar.code.resolve import Resolver
from memory_sidecar.code.results import Cut, ReferenceHit
from memory_sidecar.code.uses import UsePlace, uses_of
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.results import name_first, pluralize
from memory_sidecar.disk.registry import Registry

R = TypeVar("R", bound=DefinitionRow)

_NONE = "/dev/null"
_RENAMED = ("rename from ", "rename to ")  # of git, with paths without `a/` and `b/`
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_COLOUR = re.compile(r"\x1b\[[\d;]*[mK]")  # that git adds by `--color`
_DECORATOR = re.compile(r"\s*(?:@|#?\[)")  # or an attribute: part of the definition that follows


@dataclass(frozen=True, slots=True)
class Side:
    """The lines of a hunk before the change, or after it. Numbered from 1."""

    first: int
    lines: tuple[str, ...]
    changed: tuple[range, ...]  # the removed lines, or the added ones


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a unified diff."""

    before: Side
    after: Side


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a diff changed."""

    path: str  # as in the diff; of a deleted file its old path
    is_gone: bool  # whether it was deleted
    hunks: tuple[Hunk, ...]
    moved_to: str = ""  # where what it defined is now, if it was renamed

    def fits(self, lines: Sequence[str]) -> bool:
        """Whether `lines` are as the change left them, ignoring trailing blanks and non-ASCII."""
        return all(
            _bare(side.lines) == _bare(lines[side.first - 1 : side.first - 1 + len(side.lines)])
            for side in (hunk.after for hunk in self.hunks)
        )

    def restore(self, lines: Sequence[str]) -> list[str]:
        """Return the lines before the change, given the present `lines`."""
        found = list(lines)
        for hunk in reversed(self.hunks):
            at = hunk.after.first - 1
            found[at : at + len(hunk.after.lines)] = hunk.before.lines
        return found


@dataclass(frozen=True, slots=True)
class Alteration:
    """A file of a source, and its change; without one, the whole file counts as changed."""

    source: str
    path: str
    by: ChangedFile | None = None
    moved_to: str = ""  # the path now of a file that is gone because it was renamed
    lines: range | None = None  # of a file without a change: what alone counts as changed


def impact(
    graph: Graph, changed: Sequence[Alteration], wanted: CodeFilter, *, top_k: int
) -> Cut[ReferenceHit]:
    """Return the uses, sure or likely, of definitions that `changed` changed or removed.

    Uses in the changed files, whose author saw them, come last, unless they use what is gone.
    Notices say which files have changed since the diff or have no definitions, and which names have
    other uses, which only the name connects with the definitions.
    """
    targets = [(each, bool(file.moved_to)) for file in changed for each in _touched(graph, file)]
    moved = {each.key for each, is_moved in targets if is_moved}
    stayed = {each.key for each, is_moved in targets if not is_moved}
    uses = [
        use
        for use in uses_of(Resolver(graph), distinct(each for each, _ in targets))
        if use.meaning.keys <= moved or not moved & use.meaning.keys or stayed & use.meaning.keys
    ]  # leave out what may as well mean a moved definition at its new place
    is_wanted = file_filter(wanted)
    named = {use.name for use in uses if use.confidence == "by name" and is_wanted(use.at.file)}
    stale = [
        file.path
        for file in changed
        if file.by and not file.by.fits(graph.lines_on_disk(file.source, file.path))
    ]
    notices = []
    if stale:
        are = (
            "is not as the diff leaves it" if len(stale) == 1 else "are not as the diff leaves them"
        )
        notices.append(f"{name_first(stale, 3)} {are}: what that changed may be told wrong")
    for file in changed:
        try:
            if file.by is None:
                known_file(graph, file.source, file.path)
                if file.lines and not [*_touched(graph, file)]:
                    notices.append(f"no definition stands at those lines of {file.path}")
        except NotFound as error:
            notices.append(f"{error.message}: {error.hint}")
    if named:
        first, *others = sorted(named)
        names = f"{first} and {pluralize(len(others), 'other name')}" if others else first
        shows = f"`memory-sidecar refs {first}` shows them"
        notices += [f"uses of {names} by name alone are left out: {shows}"]
    sure = sorted((use for use in uses if use.confidence != "by name"), key=UsePlace.order)
    seen = {(file.source, path) for file in changed for path in (file.path, file.moved_to)}
    sure.sort(key=lambda use: use.at.file[:2] in seen and not use.meaning.is_gone)
    return best_references(graph, sure, Cutting(top_k=top_k, filter=wanted), notices)


def _touched(graph: Graph, file: Alteration) -> Iterator[Defined]:
    """Yield the definitions that a change touched or removed."""
    at = graph.file(file.source, file.path)
    now = graph.definitions_in(at) if at else []
    by_line = _by_line(now)
    if file.by is None:
        last = max(by_line, default=0)  # asked for may be lines up to 999,999,999
        yield from now if file.lines is None else _around(file.lines[:last], by_line)
        return
    added = (lines for hunk in file.by.hunks for lines in hunk.after.changed)
    touched = {each for lines in added for each in _around(lines, by_line)}
    yield from (each for each in now if each in touched)
    path = file.moved_to or ("" if file.by.is_gone else file.path)
    present = graph.lines_on_disk(file.source, path) if path else []
    before = "\n".join(file.by.restore(present))
    text, language = read_program(file.path, before)
    was = FileNames.of(parse_text(text, language)).definitions
    by_path = by_key((each.path, each) for each in now)
    removed = []
    for row in was if file.moved_to else _with_removals(file.by, was):
        same = by_path.get(row.path, [])
        if not same:
            removed.append(row)
        yield from [each for each in same if each.signature == row.signature] or same
    yield from graph.add_removed(file.source, file.path, language, removed)


def _with_removals(change: ChangedFile, rows: Sequence[DefinitionRow]) -> Iterator[DefinitionRow]:
    """Yield those of the earlier `rows` from which lines were removed.

    Lines outside of all definitions, such as a last comment, belong to the one that ends above.
    """
    by_line = _by_line(rows)
    for hunk in change.hunks:
        for lines in hunk.before.changed:
            removed = hunk.before.lines[lines.start - hunk.before.first :][: len(lines)]
            if any(line.strip() for line in removed):
                above = range(lines.start - 1, lines.start)
                yield from _around(lines, by_line) or _around(above, by_line)


def _by_line(rows: Sequence[R]) -> Mapping[int, Sequence[R]]:
    """Return the definitions around each line, outermost first."""
    return by_key((n, row) for row in rows for n in range(row.start_line, row.end_line + 1))


def _around(lines: range, by_line: Mapping[int, Sequence[R]]) -> list[R]:
    """Return the definitions that `lines` touch.

    A class counts only if `lines` touch its head, or none of its members.
    """
    touched = list(dict.fromkeys(row for line in lines for row in by_line.get(line, ())))
    inside = {row.scope for row in touched}
    return [row for row in touched if row.start_line in lines or row.path not in inside]


def place_changes(
    changed: Iterable[ChangedFile], folder: Path, registry: Registry
) -> tuple[list[Alteration], list[Path]]:
    """Return the files of a diff made in `folder`, and the paths of those that no source contains.

    Files that exist nowhere are left out.
    """
    placed, outside = list[Alteration](), list[Path]()
    for file in changed:
        if (path := _place(folder, file.path, is_gone=file.is_gone)) is None:
            continue
        if place := find_place(registry, path):
            now = _place(folder, file.moved_to) if file.moved_to else None
            _, moved_to = (now and find_place(registry, now)) or ("", "")
            placed.append(Alteration(*place, file, moved_to))
        else:
            outside.append(path)
    return placed, outside


def _place(folder: Path, path: str, *, is_gone: bool = False) -> Path | None:
    """Return where a file of a diff is, or was; `None` if it exists nowhere above `folder`.

    A diff names paths from the top of the repository, by default behind `a/` or `b/`.
    """
    names = (path[2:], path) if path[1:2] == "/" else (path,)
    above = (folder, *folder.parents)
    top = next((each for each in above if (each / ".git").exists()), folder)
    if is_gone:
        return top / names[0]
    found = (each / name for each in (top, *above) for name in names)
    return next(filter(os.path.isfile, found), None)  # False for an impossible name


def changed_files(diff: str) -> Iterator[ChangedFile]:
    """Parse a unified diff, file by file. Other text is skipped."""
    names: tuple[str, str] | None = None
    hunks: list[Hunk] = []
    last = ""
    lines = iter(_COLOUR.sub("", diff).split("\n"))
    for line in lines:
        if line.startswith("+++ ") and last.startswith("--- "):
            yield from _file(names, hunks)
            names, hunks = (_path(last), _path(line)), []
        elif line.startswith(_RENAMED[1]) and last.startswith(_RENAMED[0]):
            old, new = _path(last, _RENAMED[0]), _path(line, _RENAMED[1])
            yield ChangedFile(f"a/{old}", is_gone=True, hunks=(), moved_to=f"b/{new}")
        elif names and (found := _HUNK.match(line)):
            hunks.append(_hunk(lines, *(int(number or 1) for number in found.groups())))
        last = line
    yield from _file(names, hunks)


def _file(names: tuple[str, str] | None, hunks: Sequence[Hunk]) -> Iterator[ChangedFile]:
    if names and hunks:
        is_gone = names[1] == _NONE
        yield ChangedFile(names[not is_gone], is_gone, tuple(hunks))


def _hunk(lines: Iterator[str], first: int, before: int, new_first: int, after: int) -> Hunk:
    """Parse one hunk, which has as many lines `before` and `after` the change as its header says.

    The header of a side without lines gives the line above as its first.
    """
    first, new_first = first + (before == 0), new_first + (after == 0)
    old: list[tuple[bool, str]] = []
    new: list[tuple[bool, str]] = []
    while (before > len(old) or after > len(new)) and (line := next(lines, None)) is not None:
        mark, text = line[:1], line[1:]
        if mark == "\\":  # no newline at the end of the file
            continue
        if mark != "+":
            old.append((mark == "-", text))
        if mark != "-":
            new.append((mark == "+", text))
    return Hunk(_side(first, old), _side(new_first, new))


def _side(first: int, lines: Sequence[tuple[bool, str]]) -> Side:
    changed: list[range] = []
    start, last = 0, ""
    for at, (is_changed, text) in enumerate([*lines, (False, "")], first):
        if start and not is_changed and not _DECORATOR.match(last):
            changed.append(range(start, at))
            start = 0
        elif is_changed and not start:
            start = at
        last = text
    return Side(first, tuple(text for _, text in lines), tuple(changed))


def _bare(lines: Sequence[str]) -> list[bytes]:
    return [line.encode("ascii", "ignore").rstrip() for line in lines]


def _path(line: str, sign: str = "--- ") -> str:
    return _unquoted(line[len(sign) :].split("\t", maxsplit=1)[0].rstrip("\r"))


def _unquoted(path: str) -> str:
    """Decode a path of git, which quotes paths and escapes their bytes unless plain ASCII."""
    if len(path) < 2 or not (path[0] == path[-1] == '"'):
        return path
    with suppress(UnicodeError):  # of text that git did not write
        data = path[1:-1].encode().decode("unicode_escape").encode("latin-1")
        return data.decode("utf-8", "replace")
    return path
