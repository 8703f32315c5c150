"""Decision records of a project, numbered as they are made: `decisions/DR-0001-title.md`."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from memory_sidecar.context.atoms import AtomDraft
from memory_sidecar.context.layout import DECISIONS, Project, template
from memory_sidecar.core.atomic import create_file
from memory_sidecar.core.errors import UsageError
from memory_sidecar.disk import frontmatter

DECISION = "decision"
MAX_SLUG = 60

_NAME = re.compile(r"DR-(\d+)\b.*\.md")
_NO_WORD = re.compile(r"[\W_]+")


def create_decision(project: Project, draft: AtomDraft, *, today: date) -> tuple[str, Path]:
    """Make one under the next free number; returns its id. Raises UsageError for an empty title.

    To create the file is to take the number, as for an atom.
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
    number = 1 + max(_numbers(folder), default=0)
    while True:
        name = f"DR-{number:04}"
        path = folder / f"{name}-{slug}.md"
        taken = number in _numbers(folder)
        if not taken and create_file(project.tree, path, _page(project, name, draft, today)):
            return name, path
        number += 1


def _numbers(folder: Path) -> list[int]:
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]


def _page(project: Project, name: str, draft: AtomDraft, today: date) -> bytes:
    meta = draft.meta(name, project, today)
    body = f"\n{draft.body.strip()}\n"
    if not draft.body.strip():
        body = template("decision.md", {"id": name, "title": str(meta["summary"])})
    return frontmatter.new_page(meta, body).encode()
