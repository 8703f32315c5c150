"""Reads four captures of the queries for definitions: `@kind`, `@name`, `@word` and `@lead`.

The type of a `@kind` says what is defined. A `@name` of C may be a declarator that holds the name.
A `@word` is a keyword that makes a call a definition in Bash, Elixir, PHP and Ruby, or a block in
HCL; the queries cannot compare it, since their predicates have no text. A `@lead` is a comment, an
attribute or a decorator above a definition.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import tree_sitter

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
    **dict.fromkeys(("func", "lambda", "procedure", "subroutine"), "function"),
    **dict.fromkeys(("class_parameter", "protocol_property"), "field"),
    **dict.fromkeys(("interface", "protocol"), "interface"),
    "instance": "impl",
    "resource": "resource",
    **{word: word for word in ("trait", "enum", "struct", "union", "signal", "impl")},
    **dict.fromkeys(("class", "record", "object", "actor", "mixin", "extension"), "class"),
    **dict.fromkeys(("namespace", "module", "mod_item"), "module"),
    **dict.fromkeys("constant_declaration event field parameter property".split(), "field"),
    **dict.fromkeys("alias concept delegate family newtype opaque type typedef".split(), "type"),
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
# Words of Ruby, by which of their arguments name a method; with other words, all do.
_NAMING_FIRST = frozenset({"alias_method", "define_method", "define_singleton_method", "scope"})
_ASSOCIATIONS = frozenset(  # of Rails and Sequel, which name a property by their first argument
    "alias_attribute attribute belongs_to enum has_and_belongs_to_many has_many has_many_attached"
    " has_one has_one_attached has_rich_text many_to_many many_to_one one_to_many"
    " one_to_one".split()
)
_NAMING_LAST = frozenset({"def_delegator", "def_instance_delegator"})
_NAMING_LATER = frozenset({"def_delegators", "def_instance_delegators", "store_accessor"})
_RUBY = MappingProxyType(
    {
        **dict.fromkeys(
            "attr attr_accessor attr_reader attr_writer cattr_accessor cattr_reader cattr_writer"
            " class_attribute mattr_accessor mattr_reader mattr_writer".split(),
            "property",
        ),
        **dict.fromkeys(_ASSOCIATIONS, "property"),
        **dict.fromkeys(
            ("alias", "delegate", *_NAMING_FIRST, *_NAMING_LAST, *_NAMING_LATER), "method"
        ),
    }
)
_BASH = MappingProxyType({"alias": "function"})
_PHP = MappingProxyType({"define": "variable"})
_HCL = MappingProxyType(
    {
        **dict.fromkeys(("resource", "data"), "resource"),
        **dict.fromkeys(("variable", "output", "locals"), "variable"),
        "module": "module",
    }
)
DEFINING: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"bash": _BASH, "elixir": _ELIXIR, "hcl": _HCL, "php": _PHP, "ruby": _RUBY}
)
OWNERS: Mapping[str, str] = MappingProxyType(  # the prefix in a use of the definition: `var.name`
    {"variable": "var", "locals": "local", "module": "module"}
)
LEADS = frozenset({"@deprecated", "@dialyzer", "@doc", "@impl", "@since", "@spec", "@typedoc"})
KEYWORDS = frozenset(  # of Elixir, where they parse as calls
    b"alias case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop"
    b" defmodule defoverridable defp defprotocol defstruct for if import quote receive require try"
    b" unless unquote unquote_splicing use with".split()
)
_MAX_PARTS = 40  # of a signature; a table with a comment in each row has many


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


def names_method(word: str | None, argument: tree_sitter.Node) -> bool:
    """Whether a call of `word` defines what `argument` names, as of `def_delegator :@a, :head`."""
    is_first = argument.prev_named_sibling is None
    if word in _NAMING_FIRST or word in _ASSOCIATIONS:
        return is_first
    if word in _NAMING_LAST:
        return not is_first and argument.next_named_sibling is None
    return word not in _NAMING_LATER or not is_first


def declared(declarator: tree_sitter.Node) -> tuple[tree_sitter.Node, bool]:
    """Return the name in a declarator of C, and whether it is that of a function: `f` of `*f(int)`.

    A node of another kind is the name itself.
    """
    name, around = declarator, ""
    while name.type.endswith("_declarator") and name.named_children:
        if name.type != "parenthesized_declarator":
            around = name.type
        name = name.child_by_field_name("declarator") or name.named_children[-1]
    return name, around == "function_declarator" or name.type == "operator_cast"


def is_in_block(declaration: tree_sitter.Node) -> bool:
    """Whether a declaration of C is in a block, as of `TEST(f) {…}`; one in column 0 never is."""
    node: tree_sitter.Node | None = declaration if declaration.start_point.column else None
    while node is not None and node.type != "compound_statement":
        node = node.parent
    return node is not None


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
        """Whether nothing follows byte `end` in the row of the byte before it."""
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
        """Return the byte ranges between `start` and `stop` that are not comments, at most 40."""
        parts: list[tuple[int, int]] = []
        begin, stop_at = (bisect_left(self._comments, (byte,)) for byte in (start, stop))
        for first, end in self._comments[begin : min(stop_at, begin + _MAX_PARTS)]:
            parts.append((start, first))
            start = end
        return tuple(parts) if len(parts) == _MAX_PARTS else (*parts, (start, stop))
