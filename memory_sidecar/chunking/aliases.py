"""What the names that imports bind stand for: `Basket` of `from shop.cart import Cart as Basket`.

`queries/aliases/<language>.scm` captures the `@alias`, the `@name` that it stands for (a string
names a module by its path), and the `@module` that this is taken from, where it says so.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import tree_sitter

from memory_sidecar.chunking.syntax import grammar

_QUERIES = {
    **{name: name for name in ("python", "csharp", "rust", "php", "kotlin")},
    **dict.fromkeys(("javascript", "typescript", "tsx"), "ecmascript"),
}
_MAY_HAVE = re.compile(rb"\bas\b|\brequire\s*\(|\busing\s+\w+\s*=")  # a text without has none


class Alias(NamedTuple):
    """A name that an import binds, and what it stands for, both as nodes."""

    alias: tree_sitter.Node
    name: tree_sitter.Node
    module: tree_sitter.Node | None

    @property
    def is_of_module(self) -> bool:
        """Whether it stands for a whole module, of which `name` is the path."""
        return self.name.type == "string_fragment"


def find_aliases(root: tree_sitter.Node, data: bytes, language: str) -> dict[int, Alias]:
    """Those under `root`, by the first byte of the alias."""
    found: dict[int, Alias] = {}
    if language not in _QUERIES or not _MAY_HAVE.search(data):
        return found
    for _, captures in tree_sitter.QueryCursor(_query(language)).matches(root):
        (alias, *_), (name, *_) = captures["alias"], captures["name"]
        module = next(iter(captures.get("module", ())), None)
        each = Alias(alias, name, module)
        if "by" in captures and not _is_required(each, captures["by"][0], data):
            continue
        if module or alias.start_byte not in found:
            found[alias.start_byte] = each
    return found


def _is_required(alias: Alias, by: tree_sitter.Node, data: bytes) -> bool:
    """Whether it is CommonJS that binds it: a predicate of the query cannot ask, for want of text.

    What is called as a class is, of a module, is that class: `const Cart = require('./cart')`.
    """
    at = alias.alias.start_byte
    is_class = alias.is_of_module and data[at : at + 1].isupper()
    return data[by.start_byte : by.end_byte] == b"require" and not is_class


@cache
def _query(language: str) -> tree_sitter.Query:
    source = files(__package__) / "queries" / "aliases" / f"{_QUERIES[language]}.scm"
    return tree_sitter.Query(grammar(language), source.read_text(encoding="utf-8"))
