"""`/context`: the atoms of a dense-context root, the graph of their links, and check's findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memory_sidecar.context.checks import CHECKS
from memory_sidecar.context.handlers import Context
from memory_sidecar.context.layout import Project, Root, is_root, page_text
from memory_sidecar.context.results import AtomUse, ContextFinding
from memory_sidecar.core.credentials import mask_credentials, mask_document
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.settings import load_settings
from memory_sidecar.core.times import DAY_MS, system_clock
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.web.graph import draw
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.hits import editor_link
from memory_sidecar.web.stamps import Stamp, StampedCache, stamps_within
from memory_sidecar.web.visit import PAGE_ROWS, Done, View, Visit

SHOWN_FINDINGS = 100
_read_before = StampedCache[tuple[list[AtomUse], list[ContextFinding]]](8)  # by root and project
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
    # The setting is read again, because it may have changed since the daemon started.
    named = load_settings(visit.services.data_dir.root, visit.environ).context_root
    found = [Path(named)] if named else []
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
    if (known := _read_before.find(key, stamp)) is not None:
        return known
    atoms = mask_document(context.list_uses(projects))
    found = context.check(rules=rules, project=one, reporter=visit)
    findings = [context.shown(each, remedy_of=str) for each in found]
    return _read_before.keep(key, stamp, (atoms, findings))


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
    return [(name, mask_credentials(page)) for name, page in pages if page]
