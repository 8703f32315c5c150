"""A snapshot of a root, read once, on which commands and checks work.

    load_project   its atoms, how often each was read, and the changes that bring files up to date
    load           all projects, and which atom refers to which
    write          each file whole, and none that another program changed meanwhile

Loading writes nothing. After a kill at any moment, loading again returns the changes that are left.
If nothing changed, no byte is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.context.atoms import Atom, Finding, Shelf, read_shelf
from memory_sidecar.context.index import index_change, refs_in
from memory_sidecar.context.layout import (
    CORTEX,
    OVERVIEW,
    Change,
    Project,
    Root,
    page_bytes,
    page_text,
    template,
)
from memory_sidecar.context.lists import (
    FILES,
    PROJECT_LINES,
    files_of_project,
    files_of_root,
    project_lines,
    replace_list,
)
from memory_sidecar.context.refs import (
    COUNTS,
    Refs,
    count_refs,
    counts_text,
    parse_counts,
    read_log,
)
from memory_sidecar.core.errors import Conflict, UsageError
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.times import local_day
from memory_sidecar.disk.atoms import AtomKind, ids_in
from memory_sidecar.disk.frontmatter import edit_page

if TYPE_CHECKING:  # 0.1 s to import
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

# Keys of a frontmatter that list other atoms: what the atom does to these, or they to the atom.
CHALLENGES = ("challenges", "contradicts", "refutes", "invalidates")
REPLACES = ("supersedes", "corrects", "refines")
REPLACED_BY = ("superseded-by", "superseded_by", "corrected-by", "refined-by", "invalidated-by")
REFERENCES = (*(kind.basis for kind in AtomKind), *CHALLENGES, *REPLACES, *REPLACED_BY)

Embed = Callable[[Sequence[str]], "Vectors"]
"""Texts → (n, dimension) vectors of length one."""


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """The atoms of a project, how often each was read, and the files to bring up to date."""

    project: Project
    shelves: tuple[Shelf, ...]
    refs: Mapping[str, Refs]  # by id
    changes: tuple[Change, ...]

    @property
    def atoms(self) -> list[Atom]:
        return [atom for shelf in self.shelves for atom in shelf.atoms]

    @property
    def problems(self) -> list[Finding]:
        return [problem for shelf in self.shelves for problem in shelf.problems]


def load_project(project: Project, *, now_ms: int) -> LoadedProject:
    """Load a project, with changes for its counts, the atoms' refs, indexes and list of files."""
    shelves = tuple(read_shelf(project, kind) for kind in AtomKind)
    tree, counts_file = project.tree, project.meta / COUNTS
    counted = page_bytes(tree, counts_file)
    known = parse_counts(counted or b"")
    # The refs in an index are used for the first count only, which then includes them.
    indexes = (page_text(tree, project.index(kind)) for kind in AtomKind if known is None)
    had = _refs_in_files(shelves, indexes)
    refs, counts = count_refs(read_log(project), known=known or {}, had=had)
    changes: list[Change] = []
    if counts != known:
        changes += _change(tree, counts_file, counted, counts_text(counts))
    for shelf in shelves:
        for atom in shelf.atoms:
            changes += _refs_change(atom, refs[atom.name])
        changes += index_change(shelf, refs, now_ms=now_ms)
    empty = template(f"project/{CORTEX}", {"project": project.name})
    listed = map(str, files_of_project(project))
    changes += _list_change(tree, project.path / CORTEX, FILES, listed, empty)
    return LoadedProject(project, shelves, refs, tuple(changes))


def root_changes(root: Root) -> list[Change]:
    """Return the changes of the root's list of files and of the overview, from pages on disk."""
    pages = (
        (CORTEX, FILES, map(str, files_of_root(root))),
        (OVERVIEW, PROJECT_LINES, project_lines(root)),
    )
    changes: list[Change] = []
    for page, name, lines in pages:
        empty = template(f"root/{page}", {})
        changes += _list_change(root.tree, root.path / page, name, lines, empty)
    return changes


def write(changes: Iterable[Change]) -> list[Path]:
    """Write the files in `changes`, except those changed meanwhile; return the files written.

    A link or folder in the place of a file stays as it is: a check reports it.
    """
    written = []
    for change in changes:
        with suppress(FileRefused, Conflict):
            change.apply()
            written.append(change.path)
    return written


@dataclass(frozen=True)
class Loaded:
    """The snapshot of a root. `embed` is `None` without a model, or if no check needs one."""

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
        return self._refs[atom.project.name][atom.name]

    def is_cold(self, atom: Atom) -> bool:
        return not self.refs(atom).count and atom.facts.is_cold(self.today)

    def age(self, atom: Atom) -> timedelta:
        """Return the age of `atom`; 0 if its date is unknown."""
        return self.today - atom.facts.date if atom.facts.date else timedelta(0)

    def target(self, atom: Atom, name: str) -> Atom | None:
        """Resolve a name in `atom`: `EXP-001`, or `other/EXP-001` of another project."""
        project, _, written = name.rpartition("/")
        return self.atoms.get((project or atom.project.name, written))

    @cached_property
    def _named(self) -> Mapping[Atom, Sequence[tuple[str, str]]]:
        return {atom: list(_names_in(atom)) for atom in self.atoms.values()}

    def named(self, atom: Atom) -> Sequence[tuple[str, str]]:
        """Return what the frontmatter of `atom` names, as pairs of key and name as written."""
        return self._named[atom]

    def basis(self, atom: Atom) -> list[Atom]:
        """List the existing atoms that `atom` rests on or leads to, from the list of its kind."""
        named = atom.ids_under(atom.id.kind.basis)
        return [other for name in named if (other := self.target(atom, name)) is not None]

    @cached_property
    def _referrers(self) -> Mapping[Atom, Collection[Atom]]:
        """By atom, those that name it anywhere: in the frontmatter, the status or the text."""
        found: dict[Atom, set[Atom]] = {}
        for atom in self.atoms.values():
            for name in {*(name for _, name in self.named(atom)), *ids_in(atom.text)}:
                target = self.target(atom, name)
                if target is not None and target is not atom:
                    found.setdefault(target, set()).add(atom)
        return found

    def newer_referrers(self, atom: Atom) -> list[Atom]:
        """List the atoms that refer to `atom` and were written after it, by id."""
        newer = (each for each in self._referrers.get(atom, ()) if _is_newer(each, atom))
        return sorted(newer, key=lambda each: (each.name, each.project.name))


def load(
    root: Root,
    projects: Iterable[Project] | None = None,
    *,
    now_ms: int,
    embed: Embed | None = None,
) -> Loaded:
    """Load all of `root`, or only `projects` of it."""
    chosen = root.projects() if projects is None else projects
    loaded = tuple(load_project(each, now_ms=now_ms) for each in chosen)
    return Loaded(root, loaded, tuple(root_changes(root)), now_ms, embed)


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


def _refs_in_files(shelves: Sequence[Shelf], indexes: Iterable[str]) -> dict[str, Refs]:
    """Return the refs in the atoms' files, or in `indexes` where those are higher, by id."""
    had: dict[str, Refs] = {}
    for page in indexes:
        had |= refs_in(page)
    for shelf in shelves:
        for atom in shelf.atoms:
            listed, own = had.get(atom.name, Refs()), atom.facts
            had[atom.name] = Refs(max(listed.count, own.refs), max(listed.last, own.last_ref))
    return had


def _refs_change(atom: Atom, refs: Refs) -> list[Change]:
    is_so = (refs.count, refs.last) == (atom.facts.refs, atom.facts.last_ref)
    if atom.problem or not atom.meta or is_so:
        return []
    try:
        text = edit_page(atom.text, {"refs": refs.count, "last-ref": refs.last or None})
    except UsageError:  # no room is left in its frontmatter: the index alone says it
        return []
    return [Change(atom.project.tree, atom.path, atom.text.encode(), text.encode())]


def _list_change(
    tree: Tree, path: Path, name: str, lines: Iterable[str], empty: str
) -> list[Change]:
    """Return the change of the list `name` on the page `path`; `empty` is a new page's text."""
    before = page_bytes(tree, path)
    try:
        text = (before or b"").decode("utf-8") or empty
    except UnicodeDecodeError:
        return []  # a person's text must not be rewritten unless it was decoded
    listed = replace_list(text, name, list(lines))
    return [] if listed is None else _change(tree, path, before, listed)


def _change(tree: Tree, path: Path, before: bytes | None, text: str) -> list[Change]:
    after = text.encode()
    return [] if before == after else [Change(tree, path, before, after)]
