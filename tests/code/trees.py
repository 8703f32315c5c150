"""Source trees that tests write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.results import Silent
from tests.conftest import run_in


def write_tree(root: Path, files: Mapping[str, str]) -> None:
    """Write the text of each of `files`, named by its path below `root`, with its folders."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text.lstrip("\n"))


def hits_in(root: Path) -> Callable[[str, str], list[dict[str, Any]]]:
    """Index `root`; return what asks a command for its hits of a name."""
    run = run_in(root)
    assert run("index", root, "--wait", "keyword").status == 0
    return lambda command, name: run(command, name, "--json").json


def told_in(root: Path) -> Callable[[str, str], list[str]]:
    """Index `root`; return what asks a command for a name: path:line, and how sure that is."""
    hits = hits_in(root)

    def ask(command: str, name: str) -> list[str]:
        return [
            f"{hit['filename']}:{hit['start_line']} {hit['confidence']}"
            for hit in hits(command, name)
        ]

    return ask


def search_in(root: Path, codebase: Codebase) -> Callable[..., list[CodeHit]]:
    """Index `root`; return what searches it: for a text, with filters by their names."""
    codebase.index([root], reporter=Silent())

    def search(text: str, **filters: Any) -> list[CodeHit]:
        return codebase.search(CodeQuery(text, filter=CodeFilter(**filters)), reporter=Silent())

    return search
