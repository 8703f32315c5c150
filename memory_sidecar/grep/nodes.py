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

_OPTIONAL_FIELDS = frozenset(
    """
    bases decorator interfaces result return_type returns superclass superclasses type
    type_arguments type_parameters
    """.split()
)
_OPTIONAL_KINDS = frozenset(
    """
    abstract_modifier accessibility_modifier annotation annotations attribute_item attribute_list
    attribute_specifier base_class_clause base_clause base_list class_heritage
    class_interface_clause decorator delegation_specifier delegation_specifiers
    explicit_interface_specifier final_modifier function_modifiers inheritance_modifier
    inheritance_specifier lifetime
    marker_annotation member_modifier modifier modifiers mutable_specifier nullable_type
    override_modifier property_modifier readonly_modifier reference_modifier static_keyword
    static_modifier storage_class_specifier super_interfaces superclass throws
    trailing_return_type type_annotation type_argument_list type_arguments type_constraints
    type_parameter_constraints_clause type_parameter_list type_parameters type_qualifier
    user_type virtual visibility_modifier where_clause
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


def is_optional(child: Child) -> bool:
    """Whether code may have this child where the pattern has nothing."""
    node, field = child
    return (
        not node.is_named
        or node.is_extra
        or field in _OPTIONAL_FIELDS
        or node.type in _OPTIONAL_KINDS
    )


def without_optional(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node left of `request: Request` or `List<T>` without its type, if only one is."""
    children = [child for child in children_of(node) if child[0].is_named]
    needed = [child for child in children if not is_optional(child)]
    return needed[0][0] if len(needed) == 1 and len(needed) < len(children) else None
