"""Measures structural search: python benchmarks/grep.py [--tree DIR] [--json FILE]

Runs over a public source tree (see `trees.py`), in this process, with everything loaded. The hits
in Python are counted again with Python's own parser, which must find exactly the same. If
`ast-grep` is on the PATH, the same patterns are timed with it as whole processes, which start in
milliseconds.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from figures import Results
from options import figure_options
from trees import chosen_tree

from memory_sidecar.core.results import Silent
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.walk import walk
from memory_sidecar.grep.handlers import GrepQuery, Ground, grep

ROUNDS = 3
MAX_FILE_BYTES = 1 << 20
UNLIMITED = 1_000_000
WRONG = "missed or wrong"


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and [
        argument.arg for argument in node.args.posonlyargs + node.args.args
    ][:1] == ["self"]


# Whether a node of Python's parser is a match of the pattern. Patterns with rare words come first.
PATTERNS: dict[str, Callable[[ast.AST], bool]] = {
    "get_object_or_404($$$)": lambda node: _is_call(node, "get_object_or_404"),
    "@cached_property\ndef $F($$$): $$$": lambda node: (
        isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "cached_property" for d in node.decorator_list)
    ),
    "isinstance($X, str)": lambda node: (
        isinstance(node, ast.Call)
        and _is_call(node, "isinstance")
        and len(node.args) == 2
        and ast.unparse(node.args[1]) == "str"
    ),
    "except $E as $X: $$$": lambda node: isinstance(node, ast.ExceptHandler) and bool(node.name),
    "raise $E($$$)": lambda node: (
        isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.cause is None
    ),
    "class $C($$$): $$$": lambda node: (
        isinstance(node, ast.ClassDef) and bool(node.bases or node.keywords)
    ),
    "def $F(self, $$$): $$$": _is_method,
    "$X == $X": lambda node: (
        isinstance(node, ast.Compare)
        and [type(op) for op in node.ops] == [ast.Eq]
        and ast.unparse(node.left) == ast.unparse(node.comparators[0])
    ),
}


def main() -> None:
    options = _options()
    tree = chosen_tree(options)
    results = Results()
    expected = _found_by_python(tree)
    with tempfile.TemporaryDirectory() as empty:
        registry = Registry(Path(empty) / "sources.json")
        for pattern in PATTERNS:
            _measure(results, tree, registry, pattern, expected[pattern])
    results.write("grep", options)
    if any(figure["name"].endswith(WRONG) and figure["value"] for figure in results.figures):
        sys.exit("the counts differ")


def _measure(
    results: Results, tree: Path, registry: Registry, pattern: str, expected: dict[Path, int]
) -> None:
    walls, processor, hits = [], [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        hits = grep(
            GrepQuery(pattern, languages=("python",), limit=UNLIMITED),
            [tree],
            Ground(tree, registry, MAX_FILE_BYTES),
            Silent(),
        )
        walls.append(time.perf_counter() - wall)
        processor.append(time.process_time() - cpu)
    found = Counter(tree / hit.found.filename for hit in hits)
    name = " ".join(pattern.split())
    results.add(name, statistics.median(walls), "s", note=f"{len(hits):,} hits")
    results.add(f"{name}, CPU time", statistics.median(processor), "s")
    wrong = sum(abs(found[file] - count) for file, count in expected.items())
    results.add(f"{name}, {WRONG}", wrong, "hits", wanted="0")
    if program := shutil.which("ast-grep"):
        taken, lines = _ast_grep(program, tree, pattern)
        results.add(f"{name}, ast-grep", taken, "s", note=f"{lines:,} hits, on all cores")


def _found_by_python(tree: Path) -> dict[str, dict[Path, int]]:
    """The number of matches by pattern and file, for every file that Python can parse."""
    counts: dict[str, dict[Path, int]] = {pattern: {} for pattern in PATTERNS}
    warnings.simplefilter("ignore", SyntaxWarning)
    for file in walk(tree, max_file_bytes=MAX_FILE_BYTES).files:
        if file.skip_reason or not file.path.endswith(".py"):
            continue
        path = tree / file.path
        try:
            nodes = list(ast.walk(ast.parse(path.read_bytes())))
        except (SyntaxError, ValueError):
            continue
        for pattern, matches in PATTERNS.items():
            counts[pattern][path] = sum(map(matches, nodes))
    return counts


def _ast_grep(program: str, tree: Path, pattern: str) -> tuple[float, int]:
    taken, lines = [], 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        done = subprocess.run(
            [program, "--lang", "python", "--json=stream", "--pattern", pattern, tree],
            capture_output=True,
            check=False,
        )
        taken.append(time.perf_counter() - began)
        lines = done.stdout.count(b"\n")
    return statistics.median(taken), lines


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
