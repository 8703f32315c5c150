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
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

MOST_LINES = 350

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "memory_sidecar"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# From top to bottom. A part may import what lies in the rows below its own, nothing beside it and
# nothing above: whoever changes a part has to look only upwards for who could notice.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("what people start: passes on, and reaches for the rest only when it has to", ("client",)),
    ("turns words into one call and its result into words; nobody else knows click", ("cli",)),
    (
        "mcp: the same for calls of MCP; web: for a browser; each takes long to import, so only "
        "its command does",
        ("mcp", "web"),
    ),
    (
        "agents: what a command asks of an agent, composed of what each domain knows; daemon: "
        "keeps a process and moves text, whatever is asked",
        ("agents", "daemon"),
    ),
    (
        "what a team shares in PostgreSQL: of the domains it knows what rows they have; they are "
        "given it, and know nothing of it",
        ("team",),
    ),
    (
        "one folder for each domain, from its files to its hits; none knows another",
        ("code", "memories", "sessions", "context", "grep", "setup"),
    ),
    (
        "the core of every database derived from files: its owner, rows, words and vectors; knows "
        "no kind of file",
        ("index",),
    ),
    (
        "one job each, tried alone: a chunker needs no database, a model no store, a walk neither",
        ("embedding", "chunking", "disk"),
    ),
    (
        "what everything shares: errors, settings and trust, files and databases opened in one way",
        ("core",),
    ),
)

# Third-party code that only its owners may see, parts or single modules, so that replacing it
# stays their affair.
OWNERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cocoindex": (
        "prints and reports on import, and takes 100 ms; index runs it, chunking uses its splitter",
        ("index", "chunking"),
    ),
    "fastembed": ("takes 400 ms to import; nobody else may know which model runs", ("embedding",)),
    "onnxruntime": ("the same", ("embedding",)),
    "apsw": (
        "SQL stays with the tables it belongs to: those of a store and the vector cache",
        ("core.sqlite", "index", "code", "memories", "sessions", "agents.store", "embedding.cache"),
    ),
    "sqlite_vec": ("loaded where SQLite is opened", ("core.sqlite",)),
    "sqlite3": ("may lack extensions; we use apsw", ()),
    "tree_sitter": ("a syntax tree never leaves its part", ("chunking", "grep", "setup")),
    "inotify_simple": ("one instance for the process; elsewhere it is not there", ("disk",)),
    "watchdog": ("what watches where there is no inotify", ("disk",)),
    "ignore": ("one reading of git's rules", ("disk",)),
    "pygit2": (
        "a commit is made, and others read by a process; takes 50 ms to import",
        ("context.commit", "code.commits"),
    ),
    "yaml": ("one reading of frontmatter, whoever wrote it", ("disk",)),
    "click": ("see cli above", ("cli",)),
    "mcp": ("takes a second to import", ("mcp",)),
    "mcp_types": ("the same", ("mcp",)),
    "pydantic": ("comes with mcp; inside we carry dataclasses", ("mcp",)),
    "anyio": ("how mcp waits", ("mcp",)),
    "psycopg": ("an extra, which only a team's database needs", ("team",)),
    "starlette": ("a page is served only when asked for", ("web",)),
    "uvicorn": ("the same", ("web",)),
    "jinja2": ("the same", ("web",)),
    "markupsafe": ("what is escaped already is known where pages are made", ("web",)),
    "markdown_it": ("the same", ("web",)),
    "pygments": ("the same", ("web", "cli")),
    "rich": ("only what talks to people draws", ("cli",)),
}

DEPTH = {part: depth for depth, (_, parts) in enumerate(LAYERS) for part in parts}


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


@pytest.fixture(scope="module")
def imports() -> list[tuple[str, str]]:
    """Every module, named below the package, beside each name that it imports."""
    modules = {file: file.relative_to(PACKAGE).with_suffix("").parts for file in FILES}
    return [(".".join(parts), name) for file, parts in modules.items() for name in imports_of(file)]


def test_every_part_has_its_place():
    assert {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in FILES} == {*DEPTH}


def test_imports_lead_downwards(imports):
    wrong = []
    for module, name in imports:
        part, other = module.split(".")[0], name.removeprefix(f"{PACKAGE.name}.").split(".")[0]
        if name.startswith(f"{PACKAGE.name}.") and other not in (part, "__version__"):
            assert other in DEPTH, f"{other} has no place in LAYERS yet"
            if DEPTH[part] >= DEPTH[other]:
                wrong.append(f"{module} may not import {other}: {part} {LAYERS[DEPTH[part]][0]}")
    assert wrong == []


def test_third_party_code_stays_with_its_owner(imports):
    wrong = []
    for module, name in imports:
        why, owners = OWNERS.get(name.split(".")[0], ("", (module,)))
        if not any(f"{module}.".startswith(f"{owner}.") for owner in owners):
            wrong.append(f"{module}: {name} belongs to {owners or 'nobody'}: {why}")
    assert wrong == []


def test_what_is_imported_is_declared(imports):
    """What another package happens to bring along is missing on the day it no longer does."""
    extra = PROJECT["optional-dependencies"]["postgres"]
    dependencies = [*PROJECT["dependencies"], *extra]
    declared = {re.split(r"[=<>\[]", dependency)[0] for dependency in dependencies}
    providers = {
        module: {package.lower() for package in packages}
        for module, packages in importlib.metadata.packages_distributions().items()
    }
    imported = {name.split(".")[0] for _, name in imports}
    foreign = imported - sys.stdlib_module_names - {PACKAGE.name}
    undeclared = {name for name in foreign if declared.isdisjoint(providers.get(name, {name}))}
    assert undeclared == set()


def test_importing_the_package_imports_nothing_else():
    assert list(imports_of(PACKAGE / "__init__.py")) == []


def test_no_modules_import_each_other():
    """Not in a ring of several either, not where a name is used, and not for a type alone."""
    ring: TopologicalSorter[str] = TopologicalSorter()
    for file in FILES:
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                ring.add(module, node.module, *(f"{node.module}.{n.name}" for n in node.names))
    ring.prepare()  # raises CycleError


def test_no_two_classes_share_a_name():
    """Whoever reads a name in a traceback, or looks for it, finds the one that is meant."""
    places: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(file.relative_to(PACKAGE).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_file_is_read_in_one_sitting():
    lines = {file: file.read_text(encoding="utf-8").count("\n") for file in FILES}
    assert {file: count for file, count in lines.items() if count > MOST_LINES} == {}
