"""A root with one project `p`, and a quick way to write atoms into it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from memory_sidecar.context.handlers import init
from memory_sidecar.context.layout import Project, Root
from memory_sidecar.context.loaded import load_project, root_changes, write
from memory_sidecar.disk.atoms import AtomId
from memory_sidecar.disk.frontmatter import new_page

TODAY = date(2026, 5, 6)
NOW_MS = int(datetime(2026, 5, 6, 12, tzinfo=UTC).timestamp() * 1000)

WriteAtom = Callable[..., Path]
Regen = Callable[..., list[str]]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    init(tmp_path / "root", project="p", clock=lambda: NOW_MS)
    return Root(tmp_path / "root")


@pytest.fixture
def project(root: Root) -> Project:
    return root.project("p")


@pytest.fixture
def atom(project: Project) -> WriteAtom:
    """`atom("EXP-001", refs=2)` writes a sound atom with these keys; None leaves one out."""

    def write_atom(
        name: str, *, body: str = "\nText.\n", to: Project = project, **keys: object
    ) -> Path:
        atom_id = AtomId.parse(name)
        assert atom_id is not None
        given = {key.replace("_", "-"): value for key, value in keys.items()}
        meta = {
            "id": name,
            "date": TODAY.isoformat(),
            "project": to.name,
            "summary": f"About {name}",
            "tags": [],
            "status": "valid",
            **given,
        }
        path = to.folder(atom_id.kind) / f"{name}.md"
        page = new_page({key: value for key, value in meta.items() if value is not None}, body)
        path.write_text(page, encoding="utf-8", newline="")
        return path

    return write_atom


@pytest.fixture
def regen(root: Root) -> Regen:
    """Regenerates everything; returns what was written, relative to the root."""

    def regenerate(*, now_ms: int = NOW_MS) -> list[str]:
        written = []
        for project in root.projects():
            written += write(load_project(project, now_ms=now_ms).changes)
        written += write(root_changes(root))
        return [root.shown(path) for path in written]

    return regenerate
