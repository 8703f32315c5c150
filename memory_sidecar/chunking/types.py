"""Finds what a file tells of the types of its values: of those before a dot, and of literals.

In PHP, where most variables are declared by what is assigned to them, the type of a receiver is
written as a path to it. It begins with `this` or with classes: `this.till`, `Cart|Basket`. Steps
lead on to fields and to what methods return: `Shop.cart().till`.

`queries/references/php.scm` captures what has a receiver as `@dotted`, what declares or assigns a
variable as `@typed`, the `@scope` of variables, and comments that may declare types as `@doc`.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

import tree_sitter

from memory_sidecar.chunking.receivers import LAST_WORD, decode_name
from memory_sidecar.chunking.syntax import text_of
from memory_sidecar.core.cached_method import cached_method

MAX_STEPS = 8  # of a path; what is behind a longer one has no known type
_MAX_GAP = 200  # bytes between a comment and what it is about
_MAX_FOLLOWED = 20  # values from which a variable has its own, or that a field is given
_MAX_PATH = 500  # bytes; of a longer one, as of a union of 100 classes, nothing is told

_TYPE_ARGUMENTS = re.compile(rb"(?:::)?<.*>\Z|(?<=\w)\[[^\[\]]*\]\Z", re.DOTALL)
_MAX_TYPE = 200  # bytes; longer ones are those of a struct written in place

_NO_CLASSES = frozenset(
    "array bool callable double false float int integer iterable list mixed never null object"
    " resource scalar string true void".split()
)
_OWN_CLASS = {"self": "this", "static": "this", "$this": "this"}
_TYPE = r"([\w\\?|&$]+(?:<[^<>\n]*>|(?:\[\])+)?)"
_ELEMENTS = re.compile(r"(?:[\w\\]+<(?:[^<>]*,)?\s*([\w\\?|&$]+)\s*>|([\w\\?|&$]+)\[\])\Z")
_DECLARED = re.compile(
    rf"@(?:phpstan-|psalm-)?(var|param|return)\s+{_TYPE}(?![<\[\w])[ \t]*(?:\$(\w+))?"
)
_NEXT_MEMBER = re.compile(  # behind lines of attributes, and one before it in its own line
    rb"\s*(?:#\[[^\n]*\][ \t\r]*\n\s*)*(?:#\[[^\n]*\]\s*)?"
    rb"(?:(?:abstract|final|private|protected|public|readonly|static|var)\s+)*"
    rb"(?:(function\s+&?)|[\w\\?|&]+\s+)?(?:\$)?(\w+)"
)
_Key: TypeAlias = tuple[int, str]
"""The number of a scope, -1 for the file, and a name."""

_OWN = "this."
_CLASS_NAMES = frozenset({"name", "qualified_name", "relative_scope"})
_AS_INNER = frozenset(
    "class_constant_access_expression clone_expression object_creation_expression"
    " parenthesized_expression".split()
)
_INNER = frozenset({"anonymous_function", "arrow_function"})  # see variables of what is around
_FUNCTIONS = _INNER | {"function_definition", "method_declaration"}


def classes_in(type_: str) -> list[str]:
    """Return the classes in a type, with at most the last part of their namespace; self is `this`.

    In `null|Cart|\\Kit\\Shop\\Till` these are `Cart` and `Shop\\Till`.
    """
    parts = (each.strip("\\").split("\\")[-2:] for each in re.split(r"[?|&\s()]+", type_))
    words = map("\\".join, parts)
    named = (_OWN_CLASS.get(each, each) for each in words if each.lower() not in _NO_CLASSES)
    return list(dict.fromkeys(filter(None, named)))


def types_of_literals(
    data: bytes, literals: Sequence[tree_sitter.Node], keys: Sequence[tree_sitter.Node]
) -> dict[int, tuple[int, str]]:
    """Return the byte after each of `keys`, and the type of the literal around, by its first byte.

    Both are in order. The type is `?` where neither the literal nor its variable names one.
    """
    found: dict[int, tuple[int, str]] = {}
    around: list[tuple[int, str]] = []  # byte after the literal, its type
    left = deque(literals)
    for key in keys:
        start, stop = key.byte_range
        while left and left[0].start_byte <= start:
            literal = left.popleft()
            while around and around[-1][0] <= literal.start_byte:
                around.pop()
            node = literal.child_by_field_name("type") or literal.child_by_field_name("name")
            first, end = node.byte_range if node else (0, 0)
            text = data[first:end] if end - first <= _MAX_TYPE else b""
            word = LAST_WORD.search(_TYPE_ARGUMENTS.sub(b"", text))
            around.append((literal.end_byte, decode_name(word[0]) if word else "?"))
        while around and around[-1][0] <= start:
            around.pop()
        found[start] = stop, around[-1][1] if around else "?"
    return found


def types_of_receivers(
    captures: Mapping[str, Sequence[tree_sitter.Node]], data: bytes, real_name: Callable[[str], str]
) -> dict[int, str]:
    """Return the path of the receiver of each `@dotted`, by the first byte of the member's name.

    Left out where nothing tells it, and where the receiver itself is an object's own or a class.
    `real_name` tells what an alias stands for.
    """
    dotted = captures.get("dotted", ())
    if not dotted:
        return {}
    values = _Values(data, real_name, captures.get("scope", ()))
    for comment in captures.get("doc", ()):
        values.read_comment(comment)
    for node in captures.get("typed", ()):
        values.bind(node)
    found: dict[int, str] = {}
    for node in dotted:
        receiver, name = _receiver_of(node), node.child_by_field_name("name")
        if receiver and name and receiver.type not in _CLASS_NAMES:
            is_this = receiver.type == "variable_name" and text_of(data, receiver) == "$this"
            path = "" if is_this else values.path_of(receiver)
            if path and len(path) <= _MAX_PATH and not path.endswith("[]"):
                found[name.end_byte - len(text_of(data, name).lstrip("$").encode())] = path
    return found


def _receiver_of(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return node.child_by_field_name("object") or node.child_by_field_name("scope")


def _bound_in(node: tree_sitter.Node) -> tuple[tree_sitter.Node | None, ...]:
    """Return the variable that `@typed` is about, and its type or its value."""
    if node.type == "foreach_statement":
        named = node.named_children[1]
        return named.named_children[-1] if named.type == "pair" else named, None, node
    if node.type == "property_declaration":
        element = next(each for each in node.named_children if each.type == "property_element")
        type_ = node.child_by_field_name("type")
        return element.child_by_field_name("name") if type_ else None, type_, None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type == "binary_expression":  # `$cart instanceof Cart`
        return left, right, None
    return left or node.child_by_field_name("name"), node.child_by_field_name("type"), right


@dataclass
class _Values:
    """What a file of PHP tells of its values."""

    data: bytes
    real_name: Callable[[str], str]
    scopes: Sequence[tree_sitter.Node]  # functions and classes, in order
    # From which byte on a variable has a value, and that value or its path.
    _bound: dict[_Key, list[tuple[int, tree_sitter.Node | str]]] = field(default_factory=dict)
    _members: dict[_Key, str] = field(default_factory=dict)  # by `till` or `till()`
    _typed: set[_Key] = field(default_factory=set)  # fields whose signature has a type
    _assigned: dict[_Key, list[tree_sitter.Node]] = field(default_factory=dict)  # to fields

    _paths: dict[tuple[int, int], str] = field(default_factory=dict)  # of values

    def __post_init__(self) -> None:
        self._starts = [node.start_byte for node in self.scopes]
        self._outer: list[int] = []  # of each scope; -1 is the file
        for at, node in enumerate(self.scopes):
            around = at - 1
            while around >= 0 and self.scopes[around].end_byte <= node.start_byte:
                around = self._outer[around]
            self._outer.append(around)

    def read_comment(self, comment: tree_sitter.Node) -> None:
        """Take the types that a comment declares: of variables, or of what stands behind it."""
        text = text_of(self.data, comment)
        declared = _DECLARED.findall(text) if "@" in text else ()
        if not declared:
            return
        behind = _NEXT_MEMBER.match(self.data, comment.end_byte)
        scope = self._scope_at(comment.start_byte)
        for tag, type_, variable in declared:
            path = self._path_of_type(type_)
            name = variable or (behind[2].decode() if behind else "")
            if tag == "param" and variable:
                self._add(bisect_right(self._starts, comment.end_byte), variable, 0, path)
            elif tag == "var" and name and scope != self._class_of(scope):
                self._add(scope, name, comment.end_byte, path)
            elif behind and bool(behind[1]) == (tag == "return"):
                self._members[scope, behind[2].decode() + ("()" if behind[1] else "")] = path

    def bind(self, node: tree_sitter.Node) -> None:
        """Take the type that a declaration, an assignment or a check gives to a variable."""
        name, type_, value = _bound_in(node)
        variable = self._variable(name) if name else ""
        if not (name and variable):
            return
        key = self._scope_at(name.start_byte), variable
        if node.type == "property_declaration":
            self._typed.add(key)
            return
        known_from = name.start_byte
        if node.type in ("assignment_expression", "binary_expression"):
            known_from = node.end_byte
        if value:
            above, _ = self._last(key, node.start_byte)
            between = self.data[max(above, node.start_byte - _MAX_GAP) : node.start_byte]
            if not between.isspace():  # else the comment above tells it
                self._add(*key, known_from, value)
            if variable.startswith(_OWN):
                member = self._class_of(key[0]), variable.removeprefix(_OWN)
                values = self._assigned.setdefault(member, [])
                if len(values) < _MAX_FOLLOWED:
                    values.append(value)
        elif type_:
            self._add(*key, known_from, self._path_of_type(text_of(self.data, type_)))
        elif self._last(key, known_from)[1] is None:
            self._add(*key, known_from, "")

    def path_of(self, node: tree_sitter.Node, left: int = _MAX_FOLLOWED) -> str:
        """Return the path that leads to the type of a value; empty if nothing tells it."""
        inner = node.named_children[0] if node.named_children else None
        if node.type in _CLASS_NAMES:
            return self._path_of_type(text_of(self.data, node))
        if left <= 0 or inner is None:
            return ""
        match node.type:
            case "variable_name":
                variable = self._variable(node)
                is_this = variable == "this"
                return "this" if is_this else self._of_variable(variable, node.start_byte, left)
            case "assignment_expression":
                value = node.child_by_field_name("right")
                return self.path_of(value, left - 1) if value else ""
            case "foreach_statement" | "subscript_expression":
                path = self.path_of(inner, left - 1)
                return path.removesuffix("[]") if path.endswith("[]") else ""
        if node.type in _AS_INNER:
            return self.path_of(inner, left - 1)
        receiver, name = _receiver_of(node), node.child_by_field_name("name")
        if not (receiver and name):
            return ""
        before = self.path_of(receiver, left - 1)
        step = text_of(self.data, name).lstrip("$") + ("()" if "call" in node.type else "")
        own = self._of_own(step, node.start_byte, left) if before == "this" else ""
        is_short = before and before.count(".") < MAX_STEPS and not before.endswith("[]")
        is_named = step.removesuffix("()").isidentifier()
        return own or (f"{before}.{step}" if is_short and is_named else "")

    def _of_own(self, step: str, byte: int, left: int) -> str:
        """Return the path of a member of `this` if this file tells it, but not its signature."""
        member = self._class_of(self._scope_at(byte)), step
        if path := self._of_variable(f"{_OWN}{step}", byte, left) or self._members.get(member):
            return path
        values = () if member in self._typed else self._assigned.get(member, ())
        return next(filter(None, (self._path_once(each, left) for each in values)), "")

    def _path_once(self, value: tree_sitter.Node, left: int) -> str:
        """Return the path of a value that is used again and again, or may lead to itself."""
        if value.byte_range not in self._paths:
            self._paths[value.byte_range] = ""
            self._paths[value.byte_range] = self.path_of(value, left - 1)
        return self._paths[value.byte_range]

    def _variable(self, node: tree_sitter.Node) -> str:
        """Return the name of a variable, or `this.till`; empty for anything else."""
        if node.type not in ("variable_name", "member_access_expression"):
            return ""
        name = text_of(self.data, node).removeprefix("$").replace("->", ".")
        return name if name.removeprefix(_OWN).isidentifier() else ""

    def _of_variable(self, name: str, byte: int, left: int) -> str:
        """Return the path of what was last assigned to a variable above a byte."""
        scope = self._scope_at(byte)
        while True:
            _, value = self._last((scope, name), byte)
            if value is not None:
                return value if isinstance(value, str) else self._path_once(value, left)
            if scope < 0 or self.scopes[scope].type not in _INNER:
                return ""
            scope = self._outer[scope]

    def _last(self, key: _Key, byte: int) -> tuple[int, tree_sitter.Node | str | None]:
        """Return what a variable holds at a byte, and since which; 0 and `None` if unknown."""
        values = self._bound.get(key, [])
        at = bisect_right(values, byte, key=itemgetter(0))
        return values[at - 1] if at else (0, None)

    def _scope_at(self, byte: int) -> int:
        at = bisect_right(self._starts, byte) - 1
        while at >= 0 and self.scopes[at].end_byte <= byte:
            at = self._outer[at]
        return at

    def _class_of(self, scope: int) -> int:
        """Return the class around a scope, or that is the scope; else the file."""
        while scope >= 0 and self.scopes[scope].type in _FUNCTIONS:
            scope = self._outer[scope]
        return scope

    def _add(self, scope: int, name: str, known_from: int, value: tree_sitter.Node | str) -> None:
        insort(self._bound.setdefault((scope, name), []), (known_from, value), key=itemgetter(0))

    @cached_method
    def _path_of_type(self, text: str) -> str:
        """Return the classes in a type: `Cart|Basket` of `null|Cart|\\Shop\\Basket`."""
        if elements := _ELEMENTS.match(text):
            path = self._path_of_type(elements[1] or elements[2])
            return path and f"{path}[]"
        return "|".join(
            each if each == "this" else self.real_name(each) for each in classes_in(text)
        )
