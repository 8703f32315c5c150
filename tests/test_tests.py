"""What every test keeps to: it can fail, and it waits for something, never for a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent

Function = ast.FunctionDef | ast.AsyncFunctionDef


def trees(word: str = "") -> Iterator[tuple[str, ast.Module]]:
    """The files that have `word` in them."""
    for file in sorted(TESTS.rglob("*.py")):
        if "golden/code" not in file.as_posix() and word in (text := file.read_text("utf-8")):
            yield file.relative_to(TESTS).as_posix(), ast.parse(text)


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def calls(function: ast.AST) -> set[str]:
    """The names of all that it calls, without what they belong to."""
    called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {f.id if isinstance(f, ast.Name) else getattr(f, "attr", "") for f in called}


def asserts(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(function))


def test_every_test_asserts_something_by_itself_or_by_what_it_calls():
    written = [
        (name, each.name, asserts(each), calls(each))
        for name, tree in trees()
        for each in functions(tree)
    ]
    telling = {"raises", "fail", "validate"}  # of pytest and jsonschema
    while more := {
        function
        for _, function, is_telling, called in written
        if function not in telling and (is_telling or called & telling)
    }:
        telling |= more
    silent = [f"{name}::{test}" for name, test, *_ in written if test.startswith("test_")]
    assert len(silent) > 1000
    assert [each for each in silent if each.rpartition("::")[2] not in telling] == []


def test_no_test_sleeps_for_a_fixed_time():
    """Within a `while` it asks again and again; a moment of chance is no fixed time."""
    found = []
    for name, tree in trees("sleep"):
        asking = {
            id(node)
            for loop in ast.walk(tree)
            if isinstance(loop, ast.While)
            for node in ast.walk(loop)
        }
        found += [
            f"{name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("time.sleep", "asyncio.sleep")
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value  # 0 lets others run
            and id(node) not in asking
        ]
    assert found == []
