"""Reads the atoms of a project from their files. Whatever is wrong with one is told, none is lost.

read_shelf(project, kind)   the atoms in one folder, and the files there that are none
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.context.layout import CORTEX, INDEX, Project
from memory_sidecar.core.opening import FileRefused, Folder
from memory_sidecar.disk.atoms import (
    AtomFacts,
    AtomId,
    AtomKind,
    atom_facts,
    ids_in,
    is_id,
    text_of,
    texts_of,
)
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES, parse_page

NO_ATOMS = frozenset({INDEX, CORTEX, "README.md"})

_PROBLEM = re.compile(r"(?:line (\d+): )?(.*)")


@dataclass(frozen=True, slots=True)
class Atom:
    """One finding as its file has it."""

    project: Project
    name: str  # EXP-042, as the file is called
    facts: AtomFacts
    text: str  # the whole file
    meta: Mapping[str, object]
    problem: str = ""  # of the frontmatter, of which `meta` then has what could be read
    problem_line: int = 1

    @property
    def path(self) -> Path:
        return self.project.folder(self.facts.kind) / f"{self.name}.md"

    @property
    def id(self) -> AtomId:
        return self.facts.id

    @property
    def tags(self) -> tuple[str, ...]:
        return texts_of(self.meta.get("tags"))

    def ids_under(self, key: str) -> tuple[str, ...]:
        """The atoms that the list `key` of the frontmatter names, each as it is written there."""
        return tuple(item for item in texts_of(self.meta.get(key)) if _named_atom(item))

    @property
    def successors(self) -> tuple[str, ...]:
        """The atoms that the status names: EXP-050 in `superseded:EXP-050`."""
        return ids_in(text_of(self.meta.get("status")))

    def line_of(self, key: str, item: str = "") -> int:
        """1-based line of `key` in the frontmatter, or of `item` in its list; 1 if not there."""
        lines = self.text.splitlines()
        begin = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
        at = next((n for n, line in enumerate(lines, 1) if begin.match(line)), 1)
        if not item:
            return at
        holding = (n for n, line in enumerate(lines[at - 1 :], at) if item in line)
        return next(holding, at)


@dataclass(frozen=True, slots=True)
class Stray:
    """A file among the atoms that is none, or could not be read."""

    path: Path
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """What lies in one folder for atoms, in the order of ids."""

    project: Project
    kind: AtomKind
    atoms: tuple[Atom, ...]
    strays: tuple[Stray, ...]


def read_shelf(project: Project, kind: AtomKind) -> Shelf:
    """Empty where the folder is missing."""
    atoms: list[Atom] = []
    strays: list[Stray] = []
    try:
        folder = project.tree.enter(project.folder(kind))
    except OSError:
        return Shelf(project, kind, (), ())
    with folder:
        for name in _pages(project.folder(kind)):
            read = _read(project, kind, folder, name)
            if isinstance(read, Atom):
                atoms.append(read)
            elif read is not None:
                strays.append(read)
    return Shelf(
        project,
        kind,
        tuple(sorted(atoms, key=lambda atom: atom.id)),
        tuple(sorted(strays, key=lambda stray: stray.path)),
    )


def atom_ids(project: Project, kind: AtomKind) -> Iterator[AtomId]:
    """The ids in one folder by the names of its files, none of which is read."""
    for name in _pages(project.folder(kind)):
        atom_id = AtomId.parse(name.removesuffix(".md"))
        if atom_id is not None and atom_id.kind is kind:
            yield atom_id


def _pages(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name
                for entry in entries
                if entry.name.lower().endswith(".md")
                and not entry.name.startswith((".", "_"))
                and entry.name not in NO_ATOMS
                and not entry.is_dir(follow_symlinks=False)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(project: Project, kind: AtomKind, folder: Folder, file: str) -> Atom | Stray | None:
    """`None` for a file that went away meanwhile."""
    name, path = file.removesuffix(".md"), project.folder(kind) / file
    if not (is_id(name) and name.startswith(f"{kind.prefix}-")):
        wanted = f"{kind.prefix}-NNN.md"
        return Stray(path, "its name is no id", f"call it {wanted}, or move it away")
    try:
        text = folder.read(file, MAX_PAGE_BYTES)[0].decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        return Stray(path, f"it is not UTF-8 (byte {error.start})", "convert it to UTF-8")
    except FileRefused as refusal:
        return Stray(path, f"it is not read: {refusal.reason}", "put the file itself here")
    except OSError as error:
        return Stray(path, f"it cannot be read: {error.strerror}", "make it readable")
    page = parse_page(text)
    line, problem = 1, ""
    if page.problem and (found := _PROBLEM.fullmatch(page.problem)):
        line, problem = int(found[1] or 1), found[2]
    facts = atom_facts(f"{project.name}/{kind.folder}/{file}", page.meta)
    assert facts is not None
    return Atom(project, name, facts, text, page.meta, problem, line)


def _named_atom(item: str) -> bool:
    """`EXP-001`, or `other/EXP-001` for one of another project."""
    return is_id(item.rpartition("/")[2])
