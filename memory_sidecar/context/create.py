"""Makes a new atom under the next free number, whoever else does the same at that moment.

No lock: to create the file is to take the number, and only one writer can create it. Numbers are
never given again, so what refers to a deleted atom never comes to mean another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memory_sidecar.context.atoms import atom_ids
from memory_sidecar.context.layout import Project, template
from memory_sidecar.core.atomic import create_file
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.disk.atoms import STANDINGS, AtomId, AtomKind
from memory_sidecar.disk.frontmatter import new_page

ANTI_PATTERN = "ANTI-PATTERN:"
ANTI_PATTERN_TAG = "anti-pattern"
EVIDENCE = "evidence"
SOURCE_EXPERIMENTS = "source-experiments"


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to become an atom."""

    summary: str  # one line
    tags: Sequence[str] = ()
    status: str = ""
    executor: str = ""
    links: Sequence[str] = ()
    evidence: Sequence[str] = ()  # required for knowledge
    source_experiments: Sequence[str] = ()  # required for a pattern
    body: str = ""  # the sections of its kind, where left empty


def create_atom(
    project: Project, kind: AtomKind, draft: Draft, *, today: date
) -> tuple[AtomId, Path]:
    """Raises UsageError for a draft that its kind forbids, NotFound for a link to nothing."""
    _check(project, kind, draft)
    number = 1 + max((known.number for known in atom_ids(project, kind)), default=0)
    while True:
        atom_id = AtomId(kind, number)
        path = project.folder(kind) / f"{atom_id}.md"
        if create_file(project.tree, path, _page(project, atom_id, draft, today).encode()):
            return atom_id, path
        number += 1


def _check(project: Project, kind: AtomKind, draft: Draft) -> None:
    if not draft.summary.strip():
        raise UsageError("an atom needs a summary", hint="say in one line what was found")
    if kind is AtomKind.KNOWLEDGE and not draft.evidence:
        raise UsageError("knowledge needs evidence", hint="name it: --evidence EXP-001")
    if kind is AtomKind.PATTERN and not draft.source_experiments:
        raise UsageError(
            "a pattern needs the experiments it was drawn from",
            hint="name them: --source-experiment EXP-001 --source-experiment EXP-002",
        )
    word = draft.status.partition(":")[0]
    if word and word not in STANDINGS:
        raise UsageError(f"unknown status {word!r}", hint=f"one of {', '.join(STANDINGS)}")
    for name in (*draft.links, *draft.evidence, *draft.source_experiments):
        if (path := atom_path(project, name)) is not None and not path.is_file():
            raise NotFound(f"there is no {name} in {project.name}", hint=f"{path} is missing")


def atom_path(project: Project, name: str) -> Path | None:
    """Where `EXP-001`, or `other/EXP-001` of another project, lies; `None` for no atom's name."""
    other, _, written = name.rpartition("/")
    atom_id = AtomId.parse(written)
    if atom_id is None:
        return None
    owner = Project(project.root, other) if other else project
    return owner.folder(atom_id.kind) / f"{written}.md"


def _page(project: Project, atom_id: AtomId, draft: Draft, today: date) -> str:
    summary = " ".join(draft.summary.split())
    tags = list(dict.fromkeys(draft.tags))
    if summary.startswith(ANTI_PATTERN) and ANTI_PATTERN_TAG not in tags:
        tags.append(ANTI_PATTERN_TAG)
    optional = {
        "status": draft.status,
        "executor": draft.executor,
        "links": list(draft.links),
        EVIDENCE: list(draft.evidence),
        SOURCE_EXPERIMENTS: list(draft.source_experiments),
    }
    meta = {
        "id": str(atom_id),
        "date": today.isoformat(),
        "project": project.name,
        "summary": summary,
        "tags": tags,
        **{key: value for key, value in optional.items() if value},
    }
    body = (
        f"\n{draft.body.strip()}\n"
        if draft.body.strip()
        else template(f"atoms/{atom_id.kind}.md", {"id": str(atom_id), "summary": summary})
    )
    return new_page(meta, body)
