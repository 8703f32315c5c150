"""Reads the atoms of a project from their files, and creates atoms and decision records.

A file that is no atom, or cannot be read, becomes a finding; none is dropped silently.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

from memory_sidecar.context.layout import (
    CORTEX,
    DECISIONS,
    INDEX,
    MAX_PAGE_BYTES,
    Change,
    Project,
    page_text,
    template,
)
from memory_sidecar.core.atomic import create_file, delete_file, move_file
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.opening import FileRefused, Folder
from memory_sidecar.disk import frontmatter
from memory_sidecar.disk.atoms import (
    STANDINGS,
    AtomFacts,
    AtomId,
    AtomKind,
    atom_facts,
    ids_in,
    is_id,
    text_of,
    texts_of,
)

NO_ATOMS = frozenset({INDEX, CORTEX, "README.md"})
ANTI_PATTERN = "ANTI-PATTERN:"
ANTI_PATTERN_TAG = "anti-pattern"

Fix = Callable[[], object]
"""A repair that loses no text and needs no decision of the user."""

DECISION = "decision"
MAX_SLUG = 60  # characters of the title in the name of a decision's file

LAST_GIVEN = "- Last id given: "
"""Begins the line of an index with the highest number given, also if that atom was deleted."""

_LAST_GIVEN = re.compile(rf"(?m)^{LAST_GIVEN}[A-Z]+-(\d{{1,9}})$")
_DECISION_FILE = re.compile(r"DR-(\d+)\b.*\.md")
_NO_WORD = re.compile(r"[\W_]+")
_PROBLEM = re.compile(r"(?:line (\d+): )?(.*)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one line of a file. `checks.examine` fills in the `rule`."""

    path: Path
    line: int  # 1-based
    text: str
    remedy: str
    rule: str = ""
    fix: Fix | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """An experiment, a piece of knowledge or a pattern, as its file has it.

    It equals only itself, so that it can be a key in spite of its frontmatter.
    """

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
        """Return the ids in the list `key` of the frontmatter: `EXP-001`, or `other/EXP-001`."""
        items = texts_of(self.meta[key]) if key in self.meta else ()
        return tuple(item for item in items if is_id(item.rpartition("/")[2]))

    @property
    def successors(self) -> tuple[str, ...]:
        """The atoms that the status names: EXP-050 in `superseded:EXP-050`."""
        return ids_in(text_of(self.meta.get("status")))

    def finding(
        self,
        text: str,
        remedy: str,
        *,
        key: str = "",
        item: str = "",
        edits: Mapping[str, object] | None = None,
    ) -> Finding:
        """Make a finding at `key` of the frontmatter; setting `edits` there, if given, fixes it."""
        line = self._line_of(key, item) if key else self.problem_line
        fix = partial(_edit, self, edits) if edits and not self.problem else None
        return Finding(self.path, line, text, remedy, fix=fix)

    def _line_of(self, key: str, item: str) -> int:
        """Return the 1-based line of `key` in the frontmatter, or of `item` in its list; else 1."""
        lines = self.text.splitlines()
        begin = re.compile(rf"[\"']?{re.escape(key)}[\"']?\s*:")
        at = next((n for n, line in enumerate(lines, 1) if begin.match(line)), 1)
        holding = (n for n, line in enumerate(lines[at - 1 :], at) if item in line)
        return next(holding, at)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The files in a project's folder for one kind of atoms, by id."""

    project: Project
    kind: AtomKind
    atoms: tuple[Atom, ...]
    strays: tuple[Finding, ...]  # files that are no atom, or could not be read

    @property
    def problems(self) -> list[Finding]:
        """A finding for each file that was not read, or only understood in part."""
        broken = [atom for atom in self.atoms if atom.problem]
        return [*(atom.finding(atom.problem, "fix it by hand") for atom in broken), *self.strays]


def read_shelf(project: Project, kind: AtomKind) -> Shelf:
    """Read all atoms of `kind` in `project`; an empty shelf if their folder is missing."""
    try:
        folder = project.tree.enter(project.folder(kind))
    except (FileNotFoundError, NotADirectoryError, FileRefused):
        return Shelf(project, kind, (), ())
    with folder:
        read = [_read(project, kind, folder, name) for name in _pages(project.folder(kind))]
    atoms = sorted((each for each in read if isinstance(each, Atom)), key=lambda atom: atom.id)
    strays = sorted((each for each in read if isinstance(each, Finding)), key=lambda it: it.path)
    return Shelf(project, kind, tuple(atoms), tuple(strays))


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


def _read(project: Project, kind: AtomKind, folder: Folder, file: str) -> Atom | Finding | None:
    """Read one file as an atom, or a finding if it is none; `None` if it was deleted meanwhile."""
    name, path = file.removesuffix(".md"), project.folder(kind) / file
    if (known := AtomId.parse(name)) is None or known.kind is not kind:
        remedy = f"call it {kind.prefix}-NNN.md, or move it away"
        return Finding(path, 1, "its name is no id", remedy)
    try:
        text = folder.read(file, frontmatter.MAX_PAGE_BYTES)[0].decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        return Finding(path, 1, f"it is not UTF-8 (byte {error.start})", "convert it to UTF-8")
    except FileRefused as refusal:
        return Finding(path, 1, f"it is not read: {refusal.reason}", refusal.remedy)
    except OSError as error:
        return Finding(path, 1, f"it cannot be read: {error.strerror}", "make it readable")
    page = frontmatter.parse_page(text)
    found = _PROBLEM.fullmatch(page.problem)
    line, problem = (int(found[1] or 1), found[2]) if found else (1, page.problem)
    facts = atom_facts(f"{project.name}/{kind.folder}/{file}", page.meta)
    assert facts is not None
    return Atom(project, name, facts, text, page.meta, problem, line)


def _edit(atom: Atom, edits: Mapping[str, object]) -> None:
    tree = atom.project.tree
    before = tree.read(atom.path, MAX_PAGE_BYTES)
    edited = frontmatter.edit_page(before.decode("utf-8"), edits)
    Change(tree, atom.path, before, edited.encode()).apply()


def last_given(index: str) -> int:
    """Return the highest number that the page `index` says was given to an atom; 0 for none."""
    return max(map(int, _LAST_GIVEN.findall(index)), default=0)


# Creating atoms and decisions


@dataclass(frozen=True, slots=True)
class AtomDraft:
    """The content of a new atom or decision record."""

    summary: str  # one line
    tags: Sequence[str] = ()
    status: str = ""
    executor: str = ""
    links: Sequence[str] = ()
    evidence: Sequence[str] = ()  # required for knowledge
    source_experiments: Sequence[str] = ()  # required for a pattern
    body: str = ""  # if empty, the sections of its kind from a template

    def meta(self, name: str, project: Project, today: date) -> dict[str, object]:
        """Make the frontmatter of the file that will be called `name`."""
        return {
            "id": name,
            "date": today.isoformat(),
            "project": project.name,
            "summary": " ".join(self.summary.split()),
            "tags": list(dict.fromkeys(self.tags)),
            **self.optional,
        }

    @property
    def optional(self) -> dict[str, object]:
        """The keys of the frontmatter that not every atom has, as far as they are given."""
        given = {
            "status": self.status,
            "executor": self.executor,
            "links": list(self.links),
            "evidence": list(self.evidence),
            "source-experiments": list(self.source_experiments),
        }
        return {key: value for key, value in given.items() if value}


def create_atom(
    project: Project, kind: AtomKind, draft: AtomDraft, *, today: date
) -> tuple[AtomId, Path]:
    """Create an atom under the next free number, safely even beside other processes.

    No lock is needed: creating the file takes the number, and only one writer can create it. The
    number follows the highest one that exists or that the index remembers: pages and commits may
    still name an atom that was deleted. Raises UsageError for a draft that the kind forbids,
    NotFound for a link to a missing atom.
    """
    _check(project, kind, draft)
    if draft.summary.strip().startswith(ANTI_PATTERN):
        draft = replace(draft, tags=(*draft.tags, ANTI_PATTERN_TAG))
    known = (AtomId.parse(name.removesuffix(".md")) for name in _pages(project.folder(kind)))
    numbers = [each.number for each in known if each and each.kind is kind]
    index = page_text(project.tree, project.index(kind))
    number = 1 + max(last_given(index), *numbers, 0)
    while True:
        atom_id = AtomId(kind, number)
        path = project.folder(kind) / f"{atom_id}.md"
        page = _page(project, str(atom_id), draft, today, sections=f"atoms/{kind}.md")
        if create_file(project.tree, path, page):
            return atom_id, path
        number += 1


def create_decision(project: Project, draft: AtomDraft, *, today: date) -> tuple[str, Path]:
    """Create `decisions/DR-0001-title.md` under the next free number; return its id and path.

    No lock is needed: one process at a time holds the file `DR-0001.md`, and gives it its title if
    no other file has that number. Raises UsageError for an empty title, and for evidence,
    experiments or an executor.
    """
    title = " ".join(draft.summary.split())
    if not title:
        raise UsageError("a decision needs a title", hint="say in one line what was decided")
    if draft.evidence or draft.source_experiments or draft.executor:
        raise UsageError(
            "a decision names no evidence, experiments or executor", hint="use --link, or --body"
        )
    folder = project.path / DECISIONS
    slug = _NO_WORD.sub("-", title.lower())[:MAX_SLUG].strip("-") or DECISION
    number = 1 + max(_decisions_in(folder), default=0)
    while True:
        name = f"DR-{number:04}"
        held, path = folder / f"{name}.md", folder / f"{name}-{slug}.md"
        page = _page(project, name, draft, today, sections="decision.md")
        if create_file(project.tree, held, page):
            if _decisions_in(folder).count(number) == 1:
                move_file(project.tree, held, project.tree, path)
                return name, path
            delete_file(project.tree, held)
        number += 1


def _decisions_in(folder: Path) -> list[int]:
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return [int(found[1]) for name in names if (found := _DECISION_FILE.fullmatch(name))]


def _check(project: Project, kind: AtomKind, draft: AtomDraft) -> None:
    if not draft.summary.strip():
        raise UsageError("an atom needs a summary", hint="say in one line what was found")
    if kind.needs_basis and kind.basis not in draft.optional:
        option = kind.basis.removesuffix("s")
        raise UsageError(
            f"{kind} needs {kind.basis}: what it was drawn from",
            hint=f"name it: --{option} EXP-001",
        )
    word = draft.status.partition(":")[0]
    if word and word not in STANDINGS:
        raise UsageError(f"unknown status {word!r}", hint=f"one of {', '.join(STANDINGS)}")
    for name in (*draft.links, *draft.evidence, *draft.source_experiments):
        other, _, written = name.rpartition("/")
        if (atom_id := AtomId.parse(written)) is not None:
            owner = Project(project.root, other) if other else project
            path = owner.folder(atom_id.kind) / f"{written}.md"
            if not path.is_file():
                raise NotFound(f"there is no {name} in {project.name}", hint=f"{path} is missing")


def _page(project: Project, name: str, draft: AtomDraft, today: date, *, sections: str) -> bytes:
    """Make the text of the file `name`, from the template `sections` if the draft has no body."""
    meta = draft.meta(name, project, today)
    body = f"\n{draft.body.strip()}\n"
    if not draft.body.strip():
        body = template(sections, {"id": name, "summary": str(meta["summary"])})
    return frontmatter.new_page(meta, body).encode()
