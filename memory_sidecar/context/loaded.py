"""A root at one moment, read once: what every command and every check goes by.

    load_project   its atoms, how often each was read, and what to write so that all of it agrees
    load           all projects, and which atom refers to which
    write          each file whole, and none that another program changed meanwhile

Loading writes nothing. To load once more after a kill at any moment gives what was left to do.
Where nothing changed, no byte is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.context.atoms import Atom, Finding, Shelf, read_shelf
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
from memory_sidecar.context.refs import COUNTS, Refs, count, counts_text, load_counts, read_log
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.model import AtomKind
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.disk.atoms import ids_in
from memory_sidecar.disk.frontmatter import edit_page

if TYPE_CHECKING:  # 0.1 s to import
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

# The lists of a frontmatter that name other atoms. The last ones say what becomes of those.
CHALLENGES = ("challenges", "contradicts", "refutes", "invalidates")
REPLACES = ("supersedes", "corrects", "refines")
REPLACED_BY = ("superseded-by", "superseded_by", "corrected-by", "refined-by", "invalidated-by")
REFERENCES = (*(kind.basis for kind in AtomKind), *CHALLENGES, *REPLACES, *REPLACED_BY)

Embed = Callable[[Sequence[str]], "Vectors"]
"""Texts → (n, dimension) vectors of length one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write; `before` is what was read there, `None` where there was none."""

    tree: Tree
    path: Path
    before: bytes | None
    after: bytes


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """The atoms of a project, how often each was read, and the files to write for both to agree."""

    project: Project
    shelves: tuple[Shelf, ...]
    refs: Mapping[str, Refs]  # by id, of those that were read
    changes: tuple[Change, ...]

    @property
    def atoms(self) -> list[Atom]:
        return [atom for shelf in self.shelves for atom in shelf.atoms]

    @property
    def problems(self) -> list[Finding]:
        return [problem for shelf in self.shelves for problem in shelf.problems]


def load_project(project: Project, *, now_ms: int) -> LoadedProject:
    """The project with what to write: counts, refs of atoms, their indexes, the list of files."""
    shelves = tuple(read_shelf(project, kind) for kind in AtomKind)
    indexes = {shelf.kind: _text(project.tree, project.index(shelf.kind)) for shelf in shelves}
    known = load_counts(project)
    # An index is asked only before the first count, which knows all that is in it.
    had = _had(shelves, indexes.values() if known is None else ())
    refs, counts = count(read_log(project), known=known or {}, had=had)
    changes: list[Change] = []
    if counts != known:
        changes += _changed(project.tree, project.meta / COUNTS, counts_text(counts))
    for shelf in shelves:
        for atom in shelf.atoms:
            changes += _with_refs(atom, refs.get(atom.name, Refs()))
        if shelf.atoms or shelf.strays or project.folder(shelf.kind).is_dir():
            page = render_index(shelf, refs, now_ms=now_ms, today=local_day(now_ms))
            if not is_current(indexes[shelf.kind], page):
                changes += _changed(project.tree, project.index(shelf.kind), page)
    empty = template(f"project/{CORTEX}", {"project": project.name})
    listed = map(str, files_of_project(project))
    changes += _with_list(project.tree, project.path / CORTEX, FILES, listed, empty)
    return LoadedProject(project, shelves, refs, tuple(changes))


def root_changes(root: Root) -> list[Change]:
    """The root's own list of files, and the overview; made of the projects' pages as they are."""
    pages = (
        (CORTEX, FILES, map(str, files_of_root(root))),
        (OVERVIEW, PROJECT_LINES, project_lines(root)),
    )
    changes: list[Change] = []
    for page, name, lines in pages:
        empty = template(f"root/{page}", {})
        changes += _with_list(root.tree, root.path / page, name, lines, empty)
    return changes


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


@dataclass(frozen=True)
class Loaded:
    """A whole root. `embed` is `None` where no model is to be had, or none is needed."""

    root: Root
    projects: tuple[LoadedProject, ...]
    changes: tuple[Change, ...]  # of the root's own pages
    now_ms: int
    embed: Embed | None = None

    @property
    def today(self) -> date:
        return local_day(self.now_ms)

    @cached_property
    def atoms(self) -> Mapping[tuple[str, str], Atom]:
        """Every atom by project and id."""
        return {(each.project.name, each.name): each for one in self.projects for each in one.atoms}

    @cached_property
    def _refs(self) -> Mapping[str, Mapping[str, Refs]]:
        return {each.project.name: each.refs for each in self.projects}

    def refs(self, atom: Atom) -> Refs:
        return self._refs[atom.project.name].get(atom.name, Refs())

    def is_cold(self, atom: Atom) -> bool:
        return not self.refs(atom).count and atom.facts.is_cold(self.today)

    def age(self, atom: Atom) -> timedelta:
        """How old an atom is; 0 where its date is unknown."""
        return self.today - atom.facts.date if atom.facts.date else timedelta(0)

    def target(self, atom: Atom, name: str) -> Atom | None:
        """The atom that `atom` calls `EXP-001`, or `other/EXP-001` in another project."""
        project, _, written = name.rpartition("/")
        return self.atoms.get((project or atom.project.name, written))

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Sequence[tuple[str, str]]]:
        return {at: list(_names_in(atom)) for at, atom in self.atoms.items()}

    def named(self, atom: Atom) -> Sequence[tuple[str, str]]:
        """What the frontmatter of `atom` names: key and atom, as it is written there."""
        return self._named[atom.project.name, atom.name]

    def basis(self, atom: Atom) -> list[Atom]:
        """The existing atoms that `atom` names as what it rests on or leads to."""
        named = atom.ids_under(atom.id.kind.basis)
        return [other for name in named if (other := self.target(atom, name)) is not None]

    @cached_property
    def _referrers(self) -> Mapping[tuple[str, str], Sequence[Atom]]:
        """Who names an atom anywhere: in a list of the frontmatter, in the status or the text."""
        found: dict[tuple[str, str], list[Atom]] = {}
        for atom in self.atoms.values():
            for name in {*(name for _, name in self.named(atom)), *ids_in(atom.text)}:
                target = self.target(atom, name)
                if target is not None and target is not atom:
                    found.setdefault((target.project.name, target.name), []).append(atom)
        return found

    def newer_referrers(self, atom: Atom) -> list[Atom]:
        """The atoms that refer to `atom` and were written after it, by id."""
        referrers = self._referrers.get((atom.project.name, atom.name), ())
        newer = {
            (each.name, each.project.name): each for each in referrers if _is_newer(each, atom)
        }
        return [newer[name] for name in sorted(newer)]


def load(
    root: Root,
    projects: Iterable[Project] | None = None,
    *,
    now_ms: int,
    embed: Embed | None = None,
) -> Loaded:
    """All of `root`, or only these `projects` of it."""
    chosen = root.projects() if projects is None else projects
    loaded = tuple(load_project(each, now_ms=now_ms) for each in chosen)
    return Loaded(root, loaded, tuple(root_changes(root)), now_ms, embed)


def local_day(epoch_ms: int) -> date:
    """Where the people here are."""
    return datetime.fromtimestamp(epoch_ms / 1000).date()


def _names_in(atom: Atom) -> Iterable[tuple[str, str]]:
    for key in REFERENCES:
        for name in atom.ids_under(key):
            yield key, name
    for name in atom.successors:
        yield "status", name


def _is_newer(one: Atom, other: Atom) -> bool:
    """Whether `one` is later by its date, else by its number; another kind counts as later."""
    dates = one.facts.date, other.facts.date
    if dates[0] and dates[1] and dates[0] != dates[1]:
        return dates[0] > dates[1]
    return one.id.kind is not other.id.kind or one.id > other.id


def _had(shelves: Sequence[Shelf], indexes: Iterable[str]) -> dict[str, Refs]:
    """The refs that the files have: of an atom itself, or of an index that knows of more."""
    had: dict[str, Refs] = {}
    for page in indexes:
        had |= refs_in(page)
    for shelf in shelves:
        for atom in shelf.atoms:
            listed, own = had.get(atom.name, Refs()), atom.facts
            had[atom.name] = Refs(max(listed.count, own.refs), max(listed.last, own.last_ref))
    return had


def _with_refs(atom: Atom, refs: Refs) -> list[Change]:
    is_so = (refs.count, refs.last) == (atom.facts.refs, atom.facts.last_ref)
    if atom.problem or not atom.meta or is_so:
        return []
    text = edit_page(atom.text, {"refs": refs.count, "last-ref": refs.last or None})
    return [Change(atom.project.tree, atom.path, atom.text.encode(), text.encode())]


def _with_list(tree: Tree, path: Path, name: str, lines: Iterable[str], empty: str) -> list[Change]:
    """`empty` is the page for those who have none yet."""
    try:
        text = (page_bytes(tree, path) or b"").decode("utf-8") or empty
    except UnicodeDecodeError:
        return []  # people's own words: not to be written anew without being understood
    listed = with_list(text, name, list(lines))
    return [] if listed is None else _changed(tree, path, listed)


def _changed(tree: Tree, path: Path, text: str) -> list[Change]:
    before, after = page_bytes(tree, path), text.encode()
    return [] if before == after else [Change(tree, path, before, after)]


def _text(tree: Tree, path: Path) -> str:
    """ "" where there is no file, or none that could be text."""
    return (page_bytes(tree, path) or b"").decode("utf-8", "replace")
