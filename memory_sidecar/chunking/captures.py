"""Reads captures of the queries for definitions, `@kind`, `@word` and `@lead`, and for aliases.

The type of a `@kind` says what is defined. A `@word` is a keyword that makes a call a definition in
Elixir, PHP and Ruby, or a block in HCL; the queries cannot compare it, since their predicates have
no text. A `@lead` is a comment, an attribute or a decorator above a definition.

An alias of an import counts as the name that it stands for: after `from shop.cart import Cart as
Basket`, a use of `Basket` is one of `Cart`. `queries/aliases/<language>.scm` captures the `@alias`
and its `@name` (a string is the path of a module); if given, the `@module` of the name, or a
`@class`, which is a package if its first letter is small; and `@by`, the function that is called to
import.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import tree_sitter

from memory_sidecar.chunking.syntax import load_query

# The kind of a definition by a part of its node's type; the first part that occurs counts.
_KINDS = {
    **dict.fromkeys(
        "data_constructor enum_assignment enum_case enum_constant enum_entry enum_member"
        " enum_variant enumerator gadt_constructor newtype_constructor pattern_synonym"
        " property_identifier".split(),
        "constant",
    ),
    **dict.fromkeys(
        "constructor destructor indexer init_declaration method operator_declaration subscript"
        " type_element".split(),
        "method",
    ),
    **dict.fromkeys(("preproc", "macro"), "macro"),
    **dict.fromkeys(("func", "lambda", "subroutine"), "function"),
    **dict.fromkeys(("class_parameter", "protocol_property"), "field"),
    **dict.fromkeys(("interface", "protocol"), "interface"),
    "instance": "impl",
    "resource": "resource",
    **{word: word for word in ("trait", "enum", "struct", "union", "signal", "impl")},
    **dict.fromkeys(("class", "record", "object", "actor"), "class"),
    **dict.fromkeys(("namespace", "module", "mod_item"), "module"),
    **dict.fromkeys("constant_declaration event field parameter property".split(), "field"),
    **dict.fromkeys("alias concept delegate family newtype type typedef".split(), "type"),
    **{word: word for word in ("table", "view", "trigger")},
    "create_index": "index",
    **dict.fromkeys(("bind", "signature"), "function"),  # of Haskell
}

# The kind of definition by keyword.
_ELIXIR = MappingProxyType(
    {
        **dict.fromkeys(("def", "defp", "defguard", "defguardp", "defdelegate"), "function"),
        **dict.fromkeys(("defmacro", "defmacrop"), "macro"),
        **dict.fromkeys(("@callback", "@macrocallback"), "function"),
        "defmodule": "module",
        "defprotocol": "protocol",
        "defimpl": "impl",
        **dict.fromkeys(("@type", "@typep", "@opaque"), "type"),
    }
)
_RUBY = MappingProxyType(
    {
        **dict.fromkeys(("attr_accessor", "attr_reader", "attr_writer"), "property"),
        **dict.fromkeys(("alias", "alias_method", "define_method"), "method"),
    }
)
_PHP = MappingProxyType({"define": "variable"})
_HCL = MappingProxyType(
    {
        **dict.fromkeys(("resource", "data"), "resource"),
        **dict.fromkeys(("variable", "output", "locals"), "variable"),
        "module": "module",
    }
)
DEFINING: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"elixir": _ELIXIR, "hcl": _HCL, "php": _PHP, "ruby": _RUBY}
)
NAMING_ONE = frozenset({"alias_method", "define_method"})  # by their first argument
OWNERS: Mapping[str, str] = MappingProxyType(  # the prefix in a use of the definition: `var.name`
    {"variable": "var", "locals": "local", "module": "module"}
)
LEADS = frozenset({"@deprecated", "@dialyzer", "@doc", "@impl", "@since", "@spec", "@typedoc"})
KEYWORDS = frozenset(  # of Elixir, where they parse as calls
    b"alias case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop"
    b" defmodule defoverridable defp defprotocol defstruct for if import quote receive require try"
    b" unless unquote unquote_splicing use with".split()
)


@cache
def kind_of_type(node_type: str) -> str:
    """Return the kind of a definition whose node, or `@kind`, is of `node_type`."""
    return next((kind for word, kind in _KINDS.items() if word in node_type), "variable")


def word_of(data: bytes, captures: Mapping[str, Sequence[tree_sitter.Node]]) -> str | None:
    """Return the captured keyword, with the `@` of an attribute; `None` if none was captured."""
    if "word" not in captures:
        return None
    start, stop = captures["word"][0].byte_range
    return data[start - (data[start - 1 : start] == b"@") : stop].decode(errors="replace")


class Leads:
    """The leads of one file, looked up by their last row and their bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._by_last_row: dict[int, tuple[tree_sitter.Node, int]] = {}  # and the byte after all
        self._ends: dict[int, int] = {}  # first byte → byte after
        self._comments: list[tuple[int, int]] = []  # first byte, byte after; sorted

    def add(self, node: tree_sitter.Node) -> None:
        row, column = node.end_point
        start, end = node.byte_range
        row = row if column else row - 1
        first, last = self._by_last_row.get(row, (node, 0))
        self._by_last_row[row] = first, max(last, end)
        self._ends[start] = end
        if "comment" in node.type:
            insort(self._comments, (start, end))

    def first_row(self, row: int) -> int:
        """Return the first row of the unbroken run of leads directly above `row`; `row` if none."""
        while found := self._by_last_row.get(row - 1):
            node, end = found
            if not self._ends_row(end):
                break  # `@Test void add() {}`: belongs to the definition in its row
            above, column = node.start_point
            start = node.start_byte
            if self._data[start - column : start].strip() not in (b"", b"template"):
                break  # after code in its row: belongs to that
            row = above
        return row

    def _ends_row(self, end: int) -> bool:
        """Whether nothing follows in the row before byte `end`, which may be of the next row."""
        stop = self._data.find(b"\n", max(end - 1, 0))
        return not self._data[end : stop if stop >= 0 else None].strip()

    def skip(self, byte: int) -> int:
        """Return the first byte at or after `byte` that is neither lead nor the space after one."""
        while end := self._ends.get(byte):
            byte = end
            while self._data[byte : byte + 1].isspace():
                byte += 1
        return byte

    def between_comments(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """Return the byte ranges between `start` and `stop` that are not comments."""
        parts = []
        begin, stop_at = (bisect_left(self._comments, (byte,)) for byte in (start, stop))
        for first, end in self._comments[begin:stop_at]:
            parts.append((start, first))
            start = end
        return (*parts, (start, stop))


# Without the version of a Go module, 2 or more: `rates/v2`, `yaml.v3`; `meta/v1` is a package v1.
_MODULE = re.compile(r"(?<![^/\\:])([^/\\:]+?)(?:\.[a-z]{1,4})?(?:/v(?!1\b)\d+|\.v\d+)?/*\Z")

_ALIAS_QUERIES = {
    **{name: name for name in ("python", "csharp", "go", "rust", "php", "kotlin", "elixir")},
    **dict.fromkeys(("javascript", "typescript", "tsx"), "ecmascript"),
}
_MAY_HAVE_ALIAS = re.compile(  # a text without a match has no alias
    rb'\bas\b|\brequire\s*\(|\busing\s+\w+\s*=|^(?:import)?[ \t]+\w+[ \t]+["`]', re.MULTILINE
)
_PATHS_OF_MODULES = frozenset(
    {"string_fragment", "interpreted_string_literal_content", "raw_string_literal_content"}
)


class Alias(NamedTuple):
    """A name that an import binds, and the name that it stands for, as nodes."""

    alias: tree_sitter.Node
    name: tree_sitter.Node
    module: tree_sitter.Node | None

    @property
    def is_of_module(self) -> bool:
        """Whether it stands for a module, whose path is `name`."""
        return self.name.type in _PATHS_OF_MODULES


def find_aliases(root: tree_sitter.Node, data: bytes, language: str) -> dict[int, Alias]:
    """Return the aliases under `root`, by the first byte of the alias."""
    found: dict[int, Alias] = {}
    if language not in _ALIAS_QUERIES or not _MAY_HAVE_ALIAS.search(data):
        return found
    query = load_query(language, f"aliases/{_ALIAS_QUERIES[language]}")
    for _, captures in tree_sitter.QueryCursor(query).matches(root):
        (alias, *_), (name, *_) = captures["alias"], captures["name"]
        classes = captures.get("class", ())
        if not all(is_capital(each, data) for each in classes):
            continue
        module = next(iter(captures.get("module", classes)), None)
        each = Alias(alias, name, module)
        if "by" in captures and not _is_required(each, captures["by"][0], data):
            continue
        if module or alias.start_byte not in found:
            found[alias.start_byte] = each
    return found


def _is_required(alias: Alias, by: tree_sitter.Node, data: bytes) -> bool:
    """Whether `by` is a function that imports, and binds `alias` to a module or a name of it.

    Checked here because predicates of the query cannot read text. A capitalised name bound to a
    module is the class in it, no alias: `const Cart = require('./cart')`.
    """
    is_class = alias.is_of_module and is_capital(alias.alias, data)
    return data[by.start_byte : by.end_byte] in (b"alias", b"require") and not is_class


def is_capital(name: tree_sitter.Node, data: bytes) -> bool:
    """Whether the `name` begins with a capital letter."""
    return data[name.start_byte : name.start_byte + 1].isupper()


class AliasMeaning(NamedTuple):
    """The name that an alias stands for."""

    name: str  # "" for a module, which is no reference by itself
    module: str  # that the name is imported from, or ""
    owner: str  # the receiver that the alias stands for before a dot


def meaning_of_alias(data: bytes, alias: Alias, language: str) -> AliasMeaning:
    name = last_part(_text(data, alias.name), language)
    if alias.is_of_module:
        return AliasMeaning("", "", name)
    module = last_part(_text(data, alias.module), language) if alias.module else ""
    return AliasMeaning(name, module, name)


def _text(data: bytes, node: tree_sitter.Node) -> str:
    return data[node.start_byte : node.end_byte].decode(errors="replace")


def last_part(path: str, language: str) -> str:
    """Return the last part of the path of a module or file: `y` of `./x/y.js`, `<x/y.h>`."""
    path = path.strip("\"'`<>")
    if language in ("elixir", "lua"):
        path = path.replace(".", "/")
    part = _MODULE.search(path)
    return part[1] if part else path
