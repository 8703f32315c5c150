"""Inserts an entry into the text of a user's settings, and leaves every other byte alone.

JSON is read with the comments and trailing commas that editors allow in their settings. An entry
becomes the first of its object or array, as one piece of text, so that removing the piece restores
the text. Opens no files.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tree_sitter import Node, Parser

from memory_sidecar.chunking.syntax import grammar
from memory_sidecar.setup.agents import SERVER

_INDENT = "  "  # of a file that has none of its own
_FIRST_INDENT = re.compile(r"^([ ]{1,8}|\t)(?=[\"{\[])", re.MULTILINE)
MAX_LINES = 40  # of an entry that is looked for in TOML


class Unreadable(ValueError):
    """The text cannot be parsed, or has a value of another type on the path to the entry."""


class Taken(ValueError):
    """The entry's place already has another value."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """A piece of text, and its offset `at` in characters in the text that it belongs into."""

    at: int
    text: str

    def apply_to(self, before: str) -> str:
        """Return `before` with the piece."""
        return before[: self.at] + self.text + before[self.at :]


def json_member(text: str, path: Sequence[str], value: object) -> Insertion | None:
    """Return the insertion of the member at `path`, with missing objects above it.

    None if the member is there already. Raises Unreadable, and Taken if it has another value, or if
    another member beside it starts this program.
    """
    found, rest = _walk(text, path)
    if found is None or rest:
        if found is not None and len(rest) == 1:
            _require_only(_to_python(found), path)
        return _insert_member(text, found, path, rest, value)
    if _to_python(found) != value:
        raise Taken(f"{'.'.join(path)} has another value already")
    return None


def json_element(text: str, path: Sequence[str], value: object) -> Insertion | None:
    """Return the insertion of an element into the array at `path`; None if it is there already.

    Missing objects above the array and the array itself are inserted as well. Raises Unreadable,
    and Taken if another element names this program.
    """
    found, rest = _walk(text, path)
    if found is None or rest:
        return _insert_member(text, found, path, rest, [value])
    if found.type != "array":
        raise Unreadable(f"{'.'.join(path)} is not an array")
    if any(_to_python(element) == value for element in _children(found)):
        return None
    if any(SERVER in _text(element) for element in _children(found)):
        raise Taken(f"{'.'.join(path)} has one of {SERVER} with another value already")
    entry = _to_json(value, len(path) + 1, _indent_of(text))
    return _insert_first(found, text, entry, len(path))


def toml_table(text: str, path: Sequence[str], table: Mapping[str, object]) -> Insertion | None:
    """Return the insertion of the TOML table at `path`, at the end; None if it is there already.

    Raises Unreadable, and Taken as `json_member`.
    """
    found: Any = _read_toml(text)
    beside: Any = {}
    for depth, name in enumerate(path):
        if not isinstance(found, dict):
            raise Unreadable(f"{'.'.join(path[:depth])} is not a table")
        beside, found = found, found.get(name, {})
    if found == table:
        return None
    if found:
        raise Taken(f"{'.'.join(path)} has another value already")
    _require_only(beside, path)
    lines = [f"[{'.'.join(path)}]"]
    # As in JSON, except that TOML cannot escape half of a surrogate pair, and must escape DEL.
    values = {name: json.dumps(value, ensure_ascii=False) for name, value in table.items()}
    lines += [f"{name} = " + value.replace("\x7f", "\\u007f") for name, value in values.items()]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    insertion = Insertion(len(text), gap + "\n".join(lines) + "\n")
    try:
        _read_toml(insertion.apply_to(text))
    except Unreadable as error:  # an inline table, which is closed
        above = ".".join(path[:-1])
        raise Unreadable(f"{above} is one value; write it as [{above}.NAME] tables") from error
    return insertion


def whole_file(text: str, _path: Sequence[str], content: str) -> Insertion | None:
    """Return the insertion of `content` into an empty file; None if it is there already.

    Raises Taken if the file has other content.
    """
    if text and text != content:
        raise Taken("it says something else")
    return None if text else Insertion(0, content)


def remove_entry(
    text: str, path: Sequence[str], value: object, *, is_toml: bool = False, piece: str = ""
) -> str | None:
    """Return `text` without the member, or the element of the array, at `path` that is `value`.

    Removes the inserted `piece` if it is still in the text, else the entry where it is now. None if
    there is no such entry, or no removal keeps all other values. Raises Unreadable.
    """
    read = _read_toml if is_toml else _read_json
    cuts = _toml_cuts(text, path) if is_toml else _json_cuts(text, path, value)
    data = read(text)
    try:
        expected = _prune_empty(_drop_entry(data, path, value), path)
    except LookupError:
        return None
    without_piece = [text.replace(piece, "")] if text.count(piece) == 1 else []
    for rest in chain(without_piece, cuts):
        with suppress(ValueError):
            if _prune_empty(read(rest), path) == expected:
                return rest
    return None


def _require_only(servers: Mapping[str, Any], path: Sequence[str]) -> None:
    """Raise Taken if one of `servers` starts this program: an agent would have each tool twice."""
    for name, entry in servers.items():
        if isinstance(entry, dict) and not entry.get("disabled"):
            words = chain(*(each if isinstance(each, list) else [each] for each in entry.values()))
            programs = [re.split(r"[/\\]", str(word))[-1].removesuffix(".exe") for word in words]
            if SERVER in programs and not {"mcp", "--mcp"}.isdisjoint(programs):
                raise Taken(f"{'.'.join([*path[:-1], name])} starts {SERVER} already")


def _drop_entry(data: Any, path: Sequence[str], value: object) -> Any:  # noqa: ANN401  settings
    """Return `data` without the entry. Raises LookupError if it is not there."""
    if not path:
        at = data.index(value) if isinstance(data, list) and value in data else None
        if at is None:
            raise LookupError
        return data[:at] + data[at + 1 :]
    if not isinstance(data, dict) or path[0] not in data:
        raise LookupError
    others = {name: each for name, each in data.items() if name != path[0]}
    if len(path) == 1 and data[path[0]] == value:
        return others
    return others | {path[0]: _drop_entry(data[path[0]], path[1:], value)}


def _prune_empty(data: Any, path: Sequence[str]) -> Any:  # noqa: ANN401  settings
    """Return `data` without the empty containers along `path`."""
    if not path or not isinstance(data, dict) or path[0] not in data:
        return data
    below = _prune_empty(data[path[0]], path[1:])
    others = {name: each for name, each in data.items() if name != path[0]}
    return others if below in ({}, []) else others | {path[0]: below}


def _read_json(text: str) -> Any:  # noqa: ANN401  settings
    found, _ = _walk(text, ())
    return {} if found is None else _to_python(found)


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"it is not TOML: {error}") from error
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error


def _json_cuts(text: str, path: Sequence[str], value: object) -> Iterator[str]:
    """Yield `text` without the entry: without the line break before it, then with that."""
    there, _ = _walk(text, path)
    assert there is not None  # `remove_entry` has found the entry
    entry = there.parent  # the pair
    if there.type == "array" and not isinstance(value, list):
        entry = next(node for node in _children(there) if _to_python(node) == value)
    assert entry is not None
    yield _cut(text, entry)
    yield _cut(text, entry, keeps_line=True)  # as a comment ends with its line


def _toml_cuts(text: str, path: Sequence[str]) -> Iterator[str]:
    """Yield `text` without some lines, the first of which names the entry."""
    lines = text.splitlines(keepends=True)
    for start, line in enumerate(lines):
        if path[-1] in line:
            for end in range(start + 1, min(start + MAX_LINES, len(lines)) + 1):
                yield "".join(lines[:start] + lines[end:])


def _walk(text: str, path: Sequence[str]) -> tuple[Node | None, Sequence[str]]:
    """Follow `path` as far as it exists; return the value there and the remaining names.

    The value is None for a file without one. Raises Unreadable.
    """
    data = text.encode()
    tree = Parser(grammar("json")).parse(data)
    values = [node for node in tree.root_node.named_children if node.type != "comment"]
    if not values:
        return None, path
    if len(values) > 1 or any(not _is_comma(error) for error in _errors(tree.root_node)):
        raise Unreadable("it is not JSON")
    here = values[0]
    _to_python(here)  # raises now what the removal of an entry would raise later
    for depth, name in enumerate(path):
        if here.type != "object":
            raise Unreadable(f"{'.'.join(path[:depth]) or 'it'} is not an object")
        value = _members(here).get(name)
        if value is None:
            return here, path[depth:]
        here = value
    return here, ()


def _errors(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            waiting += node.children


def _is_comma(error: Node) -> bool:
    """Whether `error` is a trailing comma, which the grammar reports as an error."""
    before, after = error.prev_sibling, error.next_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    around = [side.type for side in (before, after) if side is not None]
    return error.text == b"," or (error.is_missing and around in ([",", "]"], [",", "}"]))


def _children(node: Node) -> list[Node]:
    """Return the children of an array or object, without comments and trailing commas."""
    inside = (child for child in node.named_children if not child.is_error)
    return [child for child in inside if child.type != "comment" and not child.is_missing]


def _members(node: Node) -> dict[str, Node]:
    members = {}
    for pair in _children(node):
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None:
            members[str(_convert(key))] = value
    return members


def _to_python(node: Node) -> Any:  # noqa: ANN401  what JSON can say
    try:
        return _convert(node)
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error


def _convert(node: Node) -> Any:  # noqa: ANN401  what JSON can say
    if node.type == "object":
        return {name: _convert(value) for name, value in _members(node).items()}
    if node.type == "array":
        return list(map(_convert, _children(node)))
    try:
        return json.loads(_text(node))
    except ValueError as error:
        raise Unreadable(f"{_text(node)[:40]!r} is not JSON") from error


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _insert_member(
    text: str, found: Node | None, path: Sequence[str], rest: Sequence[str], value: object
) -> Insertion:
    """Insert `value` at `path`, of which the object `found` lacks `rest`; None: no value at all."""
    if found is None:
        gap = "" if text.endswith("\n") or not text else "\n"  # a comment ends with its line
        return Insertion(len(text), gap + _to_json(_nest(rest, value), 0, _INDENT) + "\n")
    depth = len(path) - len(rest)
    below = _to_json(_nest(rest[1:], value), depth + 1, _indent_of(text))
    return _insert_first(found, text, f"{json.dumps(rest[0])}: {below}", depth)


def _nest(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _indent_of(text: str) -> str:
    """Return what the settings `text` indents a member by: a tab, or some spaces."""
    found = _FIRST_INDENT.search(text)
    return found[1] if found else _INDENT


def _to_json(value: object, depth: int, indent: str) -> str:
    """Write `value` as JSON, indenting all lines but the first by `depth` times `indent`."""
    lines = json.dumps(value, indent=indent, ensure_ascii=False)
    return lines.replace("\n", "\n" + indent * depth)


def _insert_first(node: Node, text: str, entry: str, depth: int) -> Insertion:
    """Insert `entry` as the first child of the object or array `node`, which is at `depth`."""
    at = len(text.encode()[: node.start_byte].decode()) + 1
    indent = _indent_of(text)
    new_line = "\n" + indent * (depth + 1)
    if _children(node):
        is_inline = not re.match(r"[ \t\r]*\n", text[at:])
        return Insertion(at, f"{new_line}{entry},{new_line if is_inline else ''}")
    closes = "\n" + indent * depth if text[at:].lstrip()[:1] in ("}", "]") else ""
    return Insertion(at, new_line + entry + closes)


def _cut(text: str, node: Node, *, keeps_line: bool = False) -> str:
    """Return `text` without `node`, the blanks before it and one comma beside it."""
    data = text.encode()
    start, end = node.start_byte, node.end_byte
    before, behind = data[:start].rstrip(b" \t" if keeps_line else None), data[end:]
    if behind.lstrip()[:1] == b",":
        behind = behind.lstrip()[1:]
    elif before.endswith(b","):
        before = before[:-1]
    return (before + behind).decode()
