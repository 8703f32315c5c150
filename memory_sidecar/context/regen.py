"""Brings everything that is generated up to date with the files it is generated from.

    plan_project, plan_root   what to write, from what lies there now; writes nothing
    write                     each file whole, and none that someone changed meanwhile

To plan once more after a kill at any moment gives what was left to do. Where nothing changed, no
byte is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memory_sidecar.context.atoms import Atom, Shelf, read_shelf
from memory_sidecar.context.index import is_current, refs_in, render_index
from memory_sidecar.context.layout import CORTEX, OVERVIEW, Project, Root, page_bytes, template
from memory_sidecar.context.lists import (
    FILES,
    PROJECT_LINES,
    files_of_project,
    files_of_root,
    project_lines,
    with_list,
)
from memory_sidecar.context.refs import (
    COUNTS,
    Refs,
    count,
    counts_text,
    load_counts,
    read_log,
)
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.disk.frontmatter import edit_page


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write; `before` is what was read there, `None` where there was none."""

    tree: Tree
    path: Path
    before: bytes | None
    after: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What lies in a project, and what is to be written so that all of it agrees."""

    project: Project
    shelves: tuple[Shelf, ...]
    refs: dict[str, Refs]  # by id
    changes: tuple[Change, ...]

    @property
    def atoms(self) -> list[Atom]:
        return [atom for shelf in self.shelves for atom in shelf.atoms]


def plan_project(project: Project, *, now_ms: int, today: date) -> Plan:
    """Counts, the refs of atoms, their indexes, and the list of files."""
    shelves = tuple(read_shelf(project, kind) for kind in AtomKind)
    indexes = {shelf.kind: _text(project.tree, project.index(shelf.kind)) for shelf in shelves}
    known = load_counts(project)
    had = _had(shelves, indexes.values() if known is None else ())
    refs, counts = count(read_log(project), known=known or {}, had=had)
    changes: list[Change] = []
    if counts != known:
        changes += _changed(project.tree, project.meta / COUNTS, counts_text(counts))
    for shelf in shelves:
        for atom in shelf.atoms:
            changes += _with_refs(atom, refs.get(atom.name, Refs()))
        if shelf.atoms or shelf.strays or project.folder(shelf.kind).is_dir():
            page = render_index(shelf, refs, now_ms=now_ms, today=today)
            if not is_current(indexes[shelf.kind], page):
                changes += _changed(project.tree, project.index(shelf.kind), page)
    listed = [str(each) for each in files_of_project(project)]
    changes += _with_list(
        project.tree,
        project.path / CORTEX,
        FILES,
        listed,
        template(f"project/{CORTEX}", {"project": project.name}),
    )
    return Plan(project, shelves, refs, tuple(changes))


def plan_root(root: Root) -> list[Change]:
    """The root's own list of files, and the overview."""
    listed = [str(each) for each in files_of_root(root)]
    return [
        *_with_list(root.tree, root.path / CORTEX, FILES, listed, template(f"root/{CORTEX}", {})),
        *_with_list(
            root.tree,
            root.path / OVERVIEW,
            PROJECT_LINES,
            project_lines(root),
            template(f"root/{OVERVIEW}", {}),
        ),
    ]


def write(changes: Iterable[Change]) -> list[Path]:
    """Returns what was written. A file that is no longer what was read waits for the next time.

    What lies in the place of a file and is none stays as it is: a check names it.
    """
    written = []
    for change in changes:
        if page_bytes(change.tree, change.path) == change.before:
            with suppress(FileRefused):
                replace_file(change.tree, change.path, change.after)
                written.append(change.path)
    return written


def _had(shelves: Sequence[Shelf], indexes: Iterable[str]) -> dict[str, Refs]:
    """The refs that the files have: of an atom itself, or of an index that knows of more.

    An index is asked only before the first count, which knows all that is in it.
    """
    had: dict[str, Refs] = {}
    for page in indexes:
        had |= refs_in(page)
    for shelf in shelves:
        for atom in shelf.atoms:
            listed = had.get(atom.name, Refs())
            own = Refs(atom.facts.refs, atom.facts.last_ref)
            had[atom.name] = Refs(max(listed.count, own.count), max(listed.last, own.last))
    return had


def _with_refs(atom: Atom, refs: Refs) -> list[Change]:
    if (
        atom.problem
        or not atom.meta
        or (refs.count, refs.last) == (atom.facts.refs, atom.facts.last_ref)
    ):
        return []
    text = edit_page(atom.text, {"refs": refs.count, "last-ref": refs.last or None})
    return [Change(atom.project.tree, atom.path, atom.text.encode(), text.encode())]


def _with_list(tree: Tree, path: Path, name: str, lines: list[str], empty: str) -> list[Change]:
    """`empty` is the page for those who have none yet."""
    try:
        text = (page_bytes(tree, path) or b"").decode("utf-8") or empty
    except UnicodeDecodeError:
        return []  # people's own words: not to be written anew without being understood
    listed = with_list(text, name, lines)
    return [] if listed is None else _changed(tree, path, listed)


def _changed(tree: Tree, path: Path, text: str) -> list[Change]:
    before, after = page_bytes(tree, path), text.encode()
    return [] if before == after else [Change(tree, path, before, after)]


def _text(tree: Tree, path: Path) -> str:
    """ "" where there is no file, or none that could be text."""
    return (page_bytes(tree, path) or b"").decode("utf-8", "replace")
