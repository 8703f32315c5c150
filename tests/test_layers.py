"""Which part may import which, and why. Read it as the map of the package.

A part is a folder or a module directly under `memory_sidecar`. A new one fails here until it is
given its place.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "memory_sidecar"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# From top to bottom. A part may import what lies in the rows below its own, nothing beside it and
# nothing above: whoever changes a part has to look only upwards for who could notice.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("what people start: passes on, and reaches for the rest only when it has to", ("client",)),
    ("turns words into one call and its result into words; nobody else knows click", ("cli",)),
    ("the same for calls of MCP; takes a second to import, so only its command does", ("mcp",)),
    (
        "handlers: one call for each command, the same whoever asks; daemon: keeps a process and "
        "moves text, whatever is asked",
        ("handlers", "daemon"),
    ),
    ("the owner of each database: watches, queues, writes; knows no kind of file", ("index",)),
    (
        "the two stories, each told from end to end; saving must not depend on asking",
        ("flows", "search", "grep", "memories", "context", "sessions"),
    ),
    (
        "one job each, tried alone: a chunker needs no database, a store no model, a walk neither",
        ("store", "chunking", "embedding", "sources"),
    ),
    (
        "where things lie, the one way to open SQLite, and what was under way at a crash",
        ("paths", "sqlite", "crash_log"),
    ),
    ("what can be set; how other programs are run", ("settings", "children")),
    (
        "what memories and sessions are, and what looks like a secret in them",
        ("memory_model", "session_model", "credentials"),
    ),
    ("which data directory is meant", ("locate",)),
    ("which folders the user trusts to bring one", ("trust",)),
    ("the one way in which files are opened and written", ("disk",)),
    (
        "what everything shares, so it knows nothing; cocoindex_env must come before cocoindex",
        (
            "errors",
            "visible",
            "model",
            "outputs",
            "strength",
            "clock",
            "times",
            "priority",
            "cocoindex_env",
        ),
    ),
)

# Third-party code that only its owners may see, parts or single modules, so that replacing it
# stays their affair.
OWNERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cocoindex": (
        "prints and reports on import, and takes 100 ms; flows run it, chunking uses its splitter",
        ("flows", "chunking"),
    ),
    "fastembed": ("takes 400 ms to import; nobody else may know which model runs", ("embedding",)),
    "onnxruntime": ("the same", ("embedding",)),
    "apsw": (
        "SQL stays with the tables it belongs to: those of a store and the vector cache",
        ("sqlite", "store", "embedding.cache"),
    ),
    "sqlite_vec": ("loaded where SQLite is opened", ("sqlite",)),
    "sqlite3": ("may lack extensions; we use apsw", ()),
    "tree_sitter": ("a syntax tree never leaves its part", ("chunking", "grep")),
    "tree_sitter_language_pack": ("the same", ("chunking",)),
    "inotify_simple": ("one instance for the process; elsewhere it is not there", ("sources",)),
    "watchdog": ("what watches where there is no inotify", ("sources",)),
    "ignore": ("one reading of git's rules", ("sources",)),
    "pygit2": ("one commit is made; takes 50 ms to import", ("context.commit",)),
    "yaml": ("one reading of frontmatter, whoever wrote it", ("sources",)),
    "click": ("see cli above", ("cli",)),
    "mcp": ("takes a second to import", ("mcp",)),
    "mcp_types": ("the same", ("mcp",)),
    "pydantic": ("comes with mcp; inside we carry dataclasses", ("mcp",)),
    "anyio": ("how mcp waits", ("mcp",)),
    "rich": ("only what talks to people draws", ("cli",)),
}

DEPTH = {part: depth for depth, (_, parts) in enumerate(LAYERS) for part in parts}


def part_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(file: Path) -> Iterator[str]:
    """Dotted names that `file` imports anywhere in it, relative ones made absolute."""
    package = (PACKAGE.name, *file.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else ())))
            if module == PACKAGE.name:  # from memory_sidecar import paths
                yield from (f"{module}.{alias.name}" for alias in node.names)
            else:
                yield module


FILES = sorted(file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_imports_lead_downwards(file: Path) -> None:
    part = part_of(file)
    assert part in DEPTH, f"{part} has no place in LAYERS yet; decide who may import it"
    for name in imports_of(file):
        if not name.startswith(f"{PACKAGE.name}."):
            continue
        other = name.split(".")[1]
        if other in (part, "__version__"):
            continue
        assert other in DEPTH, f"{other} has no place in LAYERS yet"
        assert DEPTH[part] < DEPTH[other], (
            f"{part} may not import {other}: {part} {LAYERS[DEPTH[part]][0]}"
        )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_third_party_code_stays_with_its_owner(file: Path) -> None:
    module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    for name in imports_of(file):
        why, owners = OWNERS.get(name.split(".")[0], ("", (module,)))
        owned = any(f"{module}.".startswith(f"{owner}.") for owner in owners)
        assert owned, f"{name} belongs to {owners or 'nobody'}: {why}"


def test_what_is_imported_is_declared() -> None:
    """What another package happens to bring along is missing on the day it no longer does."""
    dependencies = PROJECT["dependencies"]
    declared = {re.split(r"[=<>]", dependency)[0] for dependency in dependencies}
    providers = {
        module: {package.lower() for package in packages}
        for module, packages in importlib.metadata.packages_distributions().items()
    }
    imported = {name.split(".")[0] for file in FILES for name in imports_of(file)}
    foreign = imported - sys.stdlib_module_names - {PACKAGE.name}
    undeclared = {name for name in foreign if declared.isdisjoint(providers.get(name, ()))}
    assert undeclared == set()


def test_importing_the_package_imports_nothing_else() -> None:
    assert list(imports_of(PACKAGE / "__init__.py")) == []
