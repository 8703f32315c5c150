"""Properties of syntax nodes that hold in all grammars, as far as patterns need them."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import TypeAlias

import tree_sitter

Child: TypeAlias = tuple[tree_sitter.Node, str | None]  # with the field it fills, if any

SEPARATORS = frozenset({",", ";", "\n"})
"""Tokens ignored in every comparison, so that `f($X, $$$)` also finds `f(1)`."""

_BETWEEN = string.whitespace.encode() + b";"

# Nodes that are only a list: `$X` matches a member of one, never the whole list.
_LISTS = frozenset(
    """
    block body body_statement chunk class_body compilation_unit document expression_list
    function_body module pattern_list program source source_file statement_list statements
    stylesheet suite then translation_unit variable_list with_clause
    """.split()
)


def children_of(node: tree_sitter.Node) -> Iterator[Child]:
    """Yield the children of a node and their fields, without separators."""
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more:
        child = cursor.node
        if child is not None and child.type not in SEPARATORS:
            yield child, cursor.field_name
        more = cursor.goto_next_sibling()


def is_list(node: tree_sitter.Node) -> bool:
    """Whether a node is only the list of its members, without braces around them."""
    return node.type in _LISTS and (not node.children or node.children[0].is_named)


def is_name(kind: str) -> bool:
    """Whether nodes of this kind are names; grammars have several kinds, by position."""
    return kind.endswith("identifier") or kind in ("constant", "name", "word")


def has_own_text(node: tree_sitter.Node, data: bytes) -> bool:
    """Whether a node has text beside its children: a token, or a string between quotes.

    Semicolons do not count, since some grammars make no node of them.
    """
    last = node.start_byte
    for child in node.children:
        if data[last : child.start_byte].strip(_BETWEEN):
            return True
        last = child.end_byte
    return bool(data[last : node.end_byte].strip(_BETWEEN))
