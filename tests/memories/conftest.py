"""A knowledge directory on a real disk, and the moment at which all of it happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory_sidecar.core.opening import Tree
from memory_sidecar.memories.archive import Archive
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.names import check_path
from memory_sidecar.memories.results import Archived
from memory_sidecar.memories.write import Written, store

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z
DAY_MS = 86_400_000


@pytest.fixture
def directory(tmp_path: Path) -> KnowledgeDirectory:
    return KnowledgeDirectory(
        "memories",
        tmp_path / "knowledge" / "architect",
        tmp_path / "locks",
        Tree(tmp_path, is_own=True),
    )


@pytest.fixture
def remember(directory: KnowledgeDirectory) -> Callable[..., Written]:
    """`remember(text, category, ...)` stores a memory at NOW."""

    def remember(content: str, category: str = "", *, at: int = NOW, **given: object) -> Written:
        draft = Draft(content=content, category=category, **given)  # type: ignore[arg-type]
        return store(directory, draft, now_ms=at)

    return remember


def remove(directory: KnowledgeDirectory, archive: Archive, path: str) -> Archived:
    """Archive the memory at `path`, as `Memories.remove` does."""
    with directory.changing():
        return archive.take(directory, directory.read(check_path(path)).path, now_ms=NOW)


def tree(root: Path) -> dict[str, str]:
    """Path and text of every file below `root`."""
    return {
        file.relative_to(root).as_posix(): file.read_bytes().decode("utf-8")
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }
