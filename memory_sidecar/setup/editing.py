"""Puts an entry into a file of settings that is the user's own, and leaves every other byte alone.

JSON is read with the comments and trailing commas that editors allow in their settings. An entry
goes in front of what its object or array holds, as one piece of text, so that removing the piece
gives the file from before. Nothing is opened here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node, Parser

from memory_sidecar.chunking.syntax import grammar

INDENT = "  "


class Unreadable(ValueError):
    """The text is not of its kind, or has a value of another kind on the way to the entry."""


class Taken(ValueError):
    """The entry's place holds something else."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """`text` belongs at the offset `at`, in characters."""

    at: int
    text: str

    def into(self, before: str) -> str:
        return before[: self.at] + self.text + before[self.at :]


def json_member(text: str, path: Sequence[str], value: object) -> Insertion | None:
    """Give the object that `path` leads to, all but its last name, a member of that name.

    Objects that are missing are made. None where the member is there already. Raises Unreadable,
    and Taken where it is there with another value.
    """
    found, rest = _walk(text, path)
    if found is None or rest:
        return _insertion(text, found, path, rest, _nested(rest[1:], value))
    if _plain(found) != value:
        raise Taken(f"{'.'.join(path)} is there and says something else")
    return None


def json_element(text: str, path: Sequence[str], value: object) -> Insertion | None:
    """Give the array that `path` leads to another element. None where it holds that already.

    Objects that are missing on the way, and the array, are made. Raises Unreadable.
    """
    found, rest = _walk(text, path)
    if found is None or rest:
        return _insertion(text, found, path, rest, _nested(rest[1:], [value]))
    if found.type != "array":
        raise Unreadable(f"{'.'.join(path)} is no array")
    if any(_plain(element) == value for element in found.named_children):
        return None
    return _in_front(found, text, _written(value, len(path) + 1), len(path))


def without_json(text: str, path: Sequence[str], value: object) -> str | None:
    """`text` without the member at `path`, or the element of the array there, that is `value`.

    None where nothing of that value is there.
    """
    try:
        found, rest = _walk(text, path)
    except Unreadable:
        return None
    if found is None or rest:
        return None
    if found.type == "array" and not isinstance(value, list):
        found = next((node for node in found.named_children if _plain(node) == value), None)
    elif _plain(found) == value:
        found = found.parent  # the pair
    else:
        found = None
    return _cut(text, found) if found is not None else None


def toml_table(text: str, path: Sequence[str], table: Mapping[str, object]) -> Insertion | None:
    """Append the table that `path` names. None where it is there already.

    Raises Unreadable, and Taken where it is there and says something else.
    """
    try:
        found: Any = tomllib.loads(text)
        for name in path:
            found = found.get(name, {})
        if found == table:
            return None
        if found:
            raise Taken(f"{'.'.join(path)} is there and says something else")
        lines = [f"[{'.'.join(path)}]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in table.items()]  # TOML, too
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        insertion = Insertion(len(text), gap + "\n".join(lines) + "\n")
        tomllib.loads(insertion.into(text))
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise Unreadable(str(error)) from error
    return insertion


def _walk(text: str, path: Sequence[str]) -> tuple[Node | None, Sequence[str]]:
    """The value that is nearest to what `path` leads to, and the names that lead on from there.

    None for a file that says nothing.
    """
    data = text.encode()
    tree = Parser(grammar("json")).parse(data)
    values = [node for node in tree.root_node.named_children if node.type != "comment"]
    if not values:
        return None, path
    if len(values) > 1 or any(not _is_comma(error) for error in _errors(tree.root_node)):
        raise Unreadable("it is not JSON")
    here = values[0]
    for depth, name in enumerate(path):
        if here.type != "object":
            raise Unreadable(f"{'.'.join(path[:depth]) or 'it'} is no object")
        value = _members(here).get(name)
        if value is None:
            return here, path[depth:]
        here = value
    return here, ()


def _errors(node: Node) -> list[Node]:
    if not node.has_error:
        return []
    if node.is_error or node.is_missing:
        return [node]
    return [error for child in node.children for error in _errors(child)]


def _is_comma(error: Node) -> bool:
    """A trailing comma, which the grammar takes for an error and editors do not."""
    return error.text == b","


def _members(node: Node) -> dict[str, Node]:
    members = {}
    for pair in node.named_children:
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None:
            members[str(json.loads(_text(key)))] = value
    return members


def _plain(node: Node) -> Any:  # noqa: ANN401  what JSON can say
    if node.type == "object":
        return {name: _plain(value) for name, value in _members(node).items()}
    if node.type == "array":
        return [_plain(child) for child in node.named_children if child.type != "comment"]
    try:
        return json.loads(_text(node))
    except ValueError as error:
        raise Unreadable(f"{_text(node)[:40]!r} is not JSON") from error


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _insertion(
    text: str, found: Node | None, path: Sequence[str], rest: Sequence[str], value: object
) -> Insertion:
    if found is None:
        return Insertion(len(text), _written(_nested(rest[:1], value), 0) + "\n")
    depth = len(path) - len(rest)
    entry = f"{json.dumps(rest[0])}: {_written(value, depth + 1)}"
    return _in_front(found, text, entry, depth)


def _nested(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _written(value: object, depth: int) -> str:
    """JSON whose further lines are indented by `depth`."""
    return json.dumps(value, indent=len(INDENT), ensure_ascii=False).replace(
        "\n", "\n" + INDENT * depth
    )


def _in_front(node: Node, text: str, entry: str, depth: int) -> Insertion:
    """`entry` as the first thing in the object or array `node`, which lies at `depth`."""
    at = len(text.encode()[: node.start_byte].decode()) + 1
    is_empty = not [child for child in node.named_children if child.type != "comment"]
    new_line = "\n" + INDENT * (depth + 1)
    if not is_empty:
        return Insertion(at, f"{new_line}{entry},")
    closes = "\n" + INDENT * depth if text[at:].lstrip()[:1] in ("}", "]") else ""
    return Insertion(at, new_line + entry + closes)


def _cut(text: str, node: Node) -> str:
    """Without `node`, the blanks before it and one comma beside it."""
    data = text.encode()
    start, end = node.start_byte, node.end_byte
    before, behind = data[:start].rstrip(), data[end:]
    if behind.lstrip()[:1] == b",":
        behind = behind.lstrip()[1:]
    elif before.endswith(b","):
        before = before[:-1]
    return (before + behind).decode()
