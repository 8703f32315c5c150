"""What patterns find in each language, as written down in `cases/`.

A file there is a small source, then questions: `? PATTERN`, `\\n` in it a line break, and below
it one line for each hit: `line:column`, the end of the line it ends in, and the captures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.grep.finder import Finder

CASES = sorted((Path(__file__).parent / "cases").iterdir())


def render(code: str, language: str, pattern: str) -> str:
    data = code.encode()

    def text(start: int, stop: int) -> str:
        shown = " ".join(data[start:stop].decode().split())
        return shown if len(shown) <= 40 else f"{shown[:18]} … {shown[-18:]}"

    shown = []
    found = Finder(pattern).find(data, language)
    assert found is not None
    for hit in found:
        line = data.count(b"\n", 0, hit.start) + 1
        column = hit.start - data.rfind(b"\n", 0, hit.start)
        captures = "".join(
            f"  {name} = {' ; '.join(text(*span) for span in spans)}".rstrip()
            for name, spans in hit.captures.items()
        )
        shown.append(f"    {line}:{column} {text(hit.start, hit.stop)}{captures}\n")
    return "".join(shown)


def sections(case: Path) -> tuple[str, list[tuple[str, str]]]:
    """The source, and the patterns with what is written below each."""
    code, *questions = case.read_text(encoding="utf-8").split("\n? ")
    asked = [question.partition("\n")[::2] for question in questions]
    return code, [(pattern.replace("\\n", "\n"), answer) for pattern, answer in asked]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_patterns_find_what_is_written_down(case):
    code, questions = sections(case)
    for pattern, expected in questions:
        found = render(code, case.stem, pattern)
        assert found.splitlines() == expected.rstrip("\n").splitlines(), pattern


@pytest.mark.parametrize(
    ("language", "code", "pattern"),
    [
        ("csharp", "class A { void B() { F(1, wait: 5); } }", "wait: $X"),
        ("go", "package a\n\nvar b = F{wait: 5}\n", "wait: $X"),
        ("kotlin", "fun a() { f(1, wait = 5) }", "wait = $X"),
        ("php", "<?php f(1, wait: 5);", "wait: $X"),
        ("python", "f(1, wait=5)", "wait=$X"),
        ("ruby", "f 1, wait: 5", "wait: $X"),
        ("rust", "fn a() { F { wait: 5 } }", "wait: $X"),
        ("scala", "object A { f(1, wait = 5) }", "wait = $X"),
        ("swift", "f(1, wait: 5)", "wait: $X"),
        ("typescript", "f(1, {wait: 5})", "wait: $X"),
    ],
)
def test_a_named_argument_is_found_without_its_call(language, code, pattern):
    assert "  X = 5\n" in render(code, language, pattern)


@pytest.mark.parametrize(
    ("language", "code", "pattern", "found"),
    [
        ("java", "class A extends B { A() { super(1); } }", "super($$$)", "super(1);"),
        ("java", "class A { A() { try { b(); } catch (E e) {} } }", "catch ($E $X)", "catch (E e)"),
        ("csharp", "class A { int B => c switch { _ => 2 }; }", "$X switch { $$$ }", "c switch {"),
        ("kotlin", '@JvmName("a") fun b() {}', "@JvmName($X)", '@JvmName("a")'),
        ("swift", "func a() { return 1 }", "return $X", "return 1"),
        ("swift", "protocol A { func b(c: Int) -> Int }", "func b($$$) -> Int", "func b(c: Int)"),
    ],
)
def test_what_stands_in_one_place_alone_is_found(language, code, pattern, found):
    assert found in render(code, language, pattern)


@pytest.mark.parametrize(
    ("language", "code", "pattern", "found"),
    [
        ("csharp", "class A : B, C {}", "class $X : B", "  X = A"),
        ("csharp", "class A { async void B(int c) { d(); } }", "async void $F($$$)", "  F = B"),
        ("python", "@a\ndef b(c):\n    d()\n", "@a\ndef $F($$$)", "  F = b"),
        (
            "typescript",
            "export class A extends B implements C { d() {} }",
            "class $X extends B",
            "A",
        ),
        ("typescript", "export function a(b) { c() }", "export function $F($$$)", "  F = a"),
        ("go", "package a\n\nfunc b() error { return c }\n", "func $F($$$) error", "  F = b"),
        ("rust", "impl A for B { fn c() {} }", "impl A for $X", "  X = B"),
    ],
)
def test_a_head_is_found_with_any_body(language, code, pattern, found):
    assert found in render(code, language, pattern)


@pytest.mark.parametrize("language", ["csharp", "java", "javascript", "typescript"])
def test_a_call_is_no_head_of_a_method(language):
    assert render("class A { open(file) {} }", language, "open($X)") == ""


def test_every_language_has_a_case():
    assert {case.stem for case in CASES} == set(DIALECTS)
