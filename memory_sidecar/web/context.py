"""`/context`: the atoms of a dense-context root, the graph of their links, and check's findings.

The graph shows which atoms build on which: patterns at the left, experiments at the right. Only
linked atoms are drawn, and at most as many as a reader can take in at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.context.checks import CHECKS
from memory_sidecar.context.handlers import ROOT_VARIABLE, Context
from memory_sidecar.context.layout import Project, Root, is_root, page_text
from memory_sidecar.context.results import AtomUse, ContextFinding
from memory_sidecar.core.credentials import mask_credentials, mask_document
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.times import system_clock
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.hits import editor_link
from memory_sidecar.web.rendering import Stamp, stamps_within
from memory_sidecar.web.visit import PAGE_ROWS, Done, View, Visit

SHOWN_FINDINGS = 100
DAY_MS = 86_400_000
MAX_CACHED = 8  # roots and projects
_atom_cache: dict[object, tuple[object, list[AtomUse], list[ContextFinding]]] = {}
_SLOW = frozenset({"merge"})  # needs a vector of every atom: only on request


def show(visit: Visit) -> View:
    roots = _roots(visit)
    if not roots:
        none = {"roots": [], "root": "", "projects": [], "atoms": [], "findings": []}
        return View(template="context.html", title="Context", data=none, more={"graph": None})
    context = _context(visit, roots)
    named = visit.text("project")
    projects = [context.root.project(named)] if named else context.root.projects()
    one = projects[0] if named else None
    atoms, findings = _read(visit, context, projects, one)
    graph = draw(atoms, visit.text("atom"))
    listed = [node.atom for node in graph.nodes] if graph and visit.text("atom") else atoms
    wanted = [each for each in listed if _is_wanted(visit, each)]
    path = context.root.path
    return View(
        template="context.html",
        title="Context",
        data={
            "roots": [root.as_posix() for root in roots],
            "root": path.as_posix(),
            "projects": [each.name for each in context.root.projects()],
            "atoms": atoms,
            "findings": findings,
        },
        more={
            "kinds": [kind.value for kind in AtomKind],
            "facets": [
                ("kind", Counter(each.kind for each in atoms)),
                ("standing", Counter(each.standing for each in atoms)),
                ("status", Counter(each.status for each in atoms if each.status)),
                ("use", Counter(word for each in atoms for word in _use_of(each))),
            ],
            "wanted": wanted[visit.offset : visit.offset + PAGE_ROWS],
            "total": len(wanted),
            "graph": graph,
            "indexes": _indexes(one) if one else [],
            "opens": lambda file, line=1: editor_link(visit, path / file, line),
            "most": SHOWN_FINDINGS,
        },
    )


def version(visit: Visit) -> object:
    """Return the stamp of each file of the root that is shown; None without a root."""
    roots = _roots(visit)
    return _stamps(_context(visit, roots).root) if roots else None


def fix(visit: Visit) -> Done:
    """Fix what is safe to fix, as `context check --fix` does."""
    context = _context(visit, _roots(visit))
    rules = [rule for rule in CHECKS if rule not in _SLOW]
    fixed = context.fix(context.check(rules=rules, project=None, reporter=visit), reporter=visit)
    to = visit.to("/context", root=visit.text("root"), project=visit.text("project"))
    return Done(to, Flash(f"fixed {fixed}, and rewrote the indexes"))


def _roots(visit: Visit) -> list[Path]:
    """Return the root of the settings and those that the readable agents have as sources."""
    named = visit.environ.get(ROOT_VARIABLE) or visit.services.settings.context_root
    found = [Path(named).expanduser()] if named else []
    for sources in visit.ask_each_agent(lambda name: visit.services.agent(name).registry.all()):
        found += [source.root for source in sources]
    return [root for root in dict.fromkeys(found) if is_root(root)]


def _context(visit: Visit, roots: Sequence[Path]) -> Context:
    """Open the root that the address names, else the first of `roots`.

    Raises NotFound for a root that is not one of `roots`.
    """
    named = visit.text("root")
    root = next((each for each in roots if named in ("", each.as_posix())), None)
    if root is None:
        raise NotFound("there is no such dense-context root", hint="leave `root` out")
    return Context(Root(root), embed_with=lambda: visit.services.models.embed)


def _read(
    visit: Visit, context: Context, projects: Sequence[Project], one: Project | None
) -> tuple[list[AtomUse], list[ContextFinding]]:
    """Return the atoms of `projects` and the findings of `one` or of all projects.

    Both are cached until a file changes.
    """
    rules = [rule for rule in CHECKS if rule not in _SLOW or visit.text("merge")]
    key = (visit.services, context.root.path, one, len(rules))
    stamp = (_stamps(context.root), system_clock() // DAY_MS)
    known = _atom_cache.get(key)
    if known is None or known[0] != stamp:
        atoms, _ = mask_document(context.list_uses(projects))
        found = context.check(rules=rules, project=one, reporter=visit)
        findings = [context.shown(each, remedy_of=str) for each in found]
        if len(_atom_cache) >= MAX_CACHED:
            _atom_cache.clear()
        known = _atom_cache[key] = (stamp, atoms, findings)
    return known[1], known[2]


def _stamps(root: Root) -> dict[str, Stamp]:
    """Return the stamps of the files of `root` and its projects."""
    folders = [root.path]
    for project in root.projects():
        folders += [project.path, project.meta, *(project.folder(kind) for kind in AtomKind)]
    return stamps_within(folders)


def _is_wanted(visit: Visit, atom: AtomUse) -> bool:
    return all(
        not visit.text(name) or visit.text(name) in values
        for name, values in (
            ("kind", (atom.kind,)),
            ("standing", (atom.standing,)),
            ("status", (atom.status,)),
            ("use", _use_of(atom)),
        )
    )


def _use_of(atom: AtomUse) -> tuple[str, ...]:
    words = {"hot": atom.hot, "cold": atom.cold, "never read": not atom.refs}
    return tuple(word for word, holds in words.items() if holds)


def _indexes(project: Project) -> list[tuple[str, str]]:
    """Return the folder name and the text of each generated index that exists."""
    pages = [(kind.folder, page_text(project.tree, project.index(kind))) for kind in AtomKind]
    return [(name, mask_credentials(page)[0]) for name, page in pages if page]


MOST = 36  # atoms
COLUMNS = ("pattern", "knowledge", "experiment")
WIDTH, HEIGHT = 250, 30  # of an atom
GAP_X, GAP_Y = 50, 10
TEXT = 23  # characters beside an id


@dataclass(frozen=True, slots=True)
class AtomBox:
    """An atom, with the position of its box in pixels."""

    atom: AtomUse
    label: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The boxes of a graph, and the lines between them as SVG paths."""

    nodes: tuple[AtomBox, ...]
    lines: tuple[str, ...]
    width: int
    height: int


def draw(atoms: Sequence[AtomUse], chosen: str = "") -> Drawing | None:
    """Draw the atoms around `chosen`, a `project/id`, or all; None for no links or too many atoms.

    Around an atom are those that it builds on and that build on it, at any distance.
    """
    by_name = {f"{atom.project}/{atom.id}": atom for atom in atoms}
    links = {
        (name, other) for name, atom in by_name.items() for other in atom.basis if other in by_name
    }
    kept = _around(chosen, links) if chosen else {name for link in links for name in link}
    if not kept or len(kept) > MOST:
        return None
    nodes: dict[str, AtomBox] = {}
    rows = [0] * len(COLUMNS)
    for name, atom in by_name.items():
        if name in kept:
            column = COLUMNS.index(atom.kind)
            place = column * (WIDTH + GAP_X), rows[column] * (HEIGHT + GAP_Y)
            text = atom.summary
            label = text if len(text) <= TEXT else f"{text[: TEXT - 1].rstrip()}…"
            nodes[name] = AtomBox(atom, label, *place)
            rows[column] += 1
    lines = tuple(_line(nodes[one], nodes[other]) for one, other in sorted(links) if one in nodes)
    width = len(COLUMNS) * (WIDTH + GAP_X) - GAP_X
    return Drawing(tuple(nodes.values()), lines, width, max(rows) * (HEIGHT + GAP_Y) - GAP_Y)


def _around(chosen: str, links: set[tuple[str, str]]) -> set[str]:
    """Return the atoms reachable from `chosen` in either direction of `links`, itself included."""
    kept: set[str] = set()
    for forth in (0, 1):
        waiting, seen = [chosen], {chosen}
        while waiting:
            name = waiting.pop()
            new = {link[1 - forth] for link in links if link[forth] == name} - seen
            seen |= new
            waiting += new
        kept |= seen
    return kept if len(kept) > 1 else set()


def _line(one: AtomBox, other: AtomBox) -> str:
    """Return the SVG path of a curve between the nearest edges of two boxes."""
    if one.x == other.x:
        edge = one.x + WIDTH
        y, end = one.y + HEIGHT // 2, other.y + HEIGHT // 2
        return f"M{edge} {y}C{edge + 30} {y} {edge + 30} {end} {edge} {end}"
    left, right = sorted((one, other), key=lambda node: node.x)
    x, y = left.x + WIDTH, left.y + HEIGHT // 2
    end_x, end_y = right.x, right.y + HEIGHT // 2
    half = (x + end_x) // 2
    return f"M{x} {y}C{half} {y} {half} {end_y} {end_x} {end_y}"
