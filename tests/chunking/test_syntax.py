"""Grammars: one package for each, pinned, and what becomes of a language without one."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from memory_sidecar.chunking.chunk import parse_text
from memory_sidecar.chunking.outline import has_outline, outline
from memory_sidecar.chunking.syntax import grammar_package, has_grammar
from memory_sidecar.core.language import LANGUAGES
from memory_sidecar.grep.dialects import DIALECTS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
PINNED = {
    name.replace("-", "_")
    for requirement in PROJECT["project"]["dependencies"]
    for name in re.findall(r"^(tree-sitter-[\w-]+)==", requirement)
}


def test_what_is_installed_of_grammars_is_what_is_used():
    used = {*DIALECTS, *filter(has_outline, LANGUAGES)}
    packages = {grammar_package(language) for language in used}
    assert packages == PINNED
    assert all(has_grammar(language) for language in used)


def test_a_language_whose_grammar_is_not_here_is_cut_as_text(monkeypatch):
    text = "extends Node\n\nfunc add(item):\n\tpass\n"
    assert parse_text(text, "gdscript").outline.definitions
    monkeypatch.setitem(sys.modules, "tree_sitter_gdscript", None)  # as if it were not installed
    has_grammar.cache_clear()
    try:
        parsed = parse_text(text, "gdscript")
    finally:
        has_grammar.cache_clear()
    assert [chunk.code for chunk in parsed.chunks] == [text.rstrip("\n")]
    assert parsed.outline.definitions == ()


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("python", "def mine():\n    pass\n", "def theirs():\n    pass\n"),
        ("ruby", "def mine\nend\n", "def theirs\nend\n"),
        ("rust", "fn mine() {\n}\n", "fn theirs() {\n}\n"),
        ("csharp", "int mine() {\n}\n", "int theirs() {\n}\n"),
    ],
)
def test_both_sides_of_a_merge_conflict_define_what_they_say(language, one, other):
    base = one.replace("mine", "old")
    text = f"<<<<<<< HEAD\n{one}||||||| 1f2e3d\n{base}=======\n{other}>>>>>>> topic\n"
    found = outline(text.encode(), language).definitions
    assert [(each.symbol, each.name_row + 1) for each in found] == [
        ("mine", 2),
        ("theirs", 8),
    ]
