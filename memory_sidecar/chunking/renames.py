"""Finds what a file of JavaScript or TypeScript exports or imports under another name.

`default` is the name of what a module is by itself: `import Till from './till'` takes that, and so
does `const Till = require('./till')`. Only statements at the top of the file are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import tree_sitter

from memory_sidecar.chunking.syntax import text_of

DEFAULT = "default"
_LANGUAGES = frozenset({"javascript", "typescript", "tsx"})
_WHOLE = ("module.exports", "exports")
_DEFAULT_AS = b"default as "
_DECLARATIONS = ("lexical_declaration", "variable_declaration")


class Rename(NamedTuple):
    """What is called `alias` in a file, or in those that import it, and `name` where it is from."""

    alias: str
    name: str
    module: str = ""  # the path that it is imported from; "" for what the file has


def find_renames(root: tree_sitter.Node, data: bytes, language: str) -> tuple[Rename, ...]:
    """Return the renames in the statements of `root`, each alias once."""
    found: dict[str, Rename] = {}
    for node in root.named_children if language in _LANGUAGES else ():
        read = _READERS.get(node.type)
        for each in read(node, data) if read else ():
            found.setdefault(each.alias, each)
    return tuple(found.values())


def names_of_default(
    captures: Mapping[str, list[tree_sitter.Node]], data: bytes
) -> list[tree_sitter.Node]:
    """Return the names of `import { default as Till }` and of `export { default as Till }`."""
    if _DEFAULT_AS not in data:
        return []
    named = captures.get("skip", []) + captures.get("bound", [])
    return [each for each in named if data.endswith(_DEFAULT_AS, 0, each.start_byte)]


def _imported(node: tree_sitter.Node, data: bytes) -> Iterator[Rename]:
    module = _path(node.child_by_field_name("source"), data)
    clause = next((each for each in node.named_children if each.type == "import_clause"), None)
    for each in clause.named_children if clause and module else ():
        if each.type == "identifier":
            yield Rename(text_of(data, each), DEFAULT, module)
        elif each.type == "named_imports":
            yield from (new for new in _specified(each, data, module) if new.name == DEFAULT)


def _exported(node: tree_sitter.Node, data: bytes) -> Iterator[Rename]:
    module = _path(node.child_by_field_name("source"), data)
    is_default = any(each.type in (DEFAULT, "=") for each in node.children[1:3])
    for each in node.named_children:
        if each.type == "export_clause":
            yield from _specified(each, data, module)
        elif is_default:
            yield from _held(each, DEFAULT, data)


def _specified(clause: tree_sitter.Node, data: bytes, module: str) -> Iterator[Rename]:
    for each in clause.named_children:
        names = [text_of(data, one) for one in each.children if one.type in ("identifier", DEFAULT)]
        if names and (names[0] != names[-1] or (names[0] == DEFAULT and module)):
            yield Rename(names[-1], names[0], module)


def _assigned(node: tree_sitter.Node, data: bytes) -> Iterator[Rename]:
    """Read `module.exports = Till`, `exports.Till = Cash` and `exports = { Till: Cash }`."""
    value = node.named_children[0]
    targets = list[str]()
    while value.type == "assignment_expression":
        target, held = value.child_by_field_name("left"), value.child_by_field_name("right")
        if not (target and held):
            return
        targets.append(text_of(data, target))
        value = held
    for path in targets:
        owner, _, member = path.rpartition(".")
        if path in _WHOLE:
            yield from _held_whole(value, data)
        elif owner in _WHOLE:
            yield from _held(value, member, data)


def _held_whole(value: tree_sitter.Node, data: bytes) -> Iterator[Rename]:
    yield from _held(value, DEFAULT, data)
    if module := _required(value, data):
        yield Rename(DEFAULT, DEFAULT, module)
    for pair in value.named_children if value.type == "object" else ():
        key, held = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key and held:
            yield from _held(held, text_of(data, key), data)


def _held(value: tree_sitter.Node, alias: str, data: bytes) -> Iterator[Rename]:
    named = _name_of(value)
    if named and text_of(data, named) != alias:
        yield Rename(alias, text_of(data, named))


def _name_of(value: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the name of a function or class, or the value itself if it is a name.

    The name in `<Till />` is of what makes the value.
    """
    if value.type == "identifier" or value.type.startswith("jsx"):
        return value if value.type == "identifier" else None
    return value.child_by_field_name("name")


def _declared(node: tree_sitter.Node, data: bytes) -> Iterator[Rename]:
    for each in node.named_children:
        name, value = each.child_by_field_name("name"), each.child_by_field_name("value")
        module = _required(value, data) if value else ""
        if module and name and name.type == "identifier":
            yield Rename(text_of(data, name), DEFAULT, module)


def _required(value: tree_sitter.Node, data: bytes) -> str:
    """Return the path in `require("./till")`; "" for another call, or any other value."""
    called = value.child_by_field_name("function")
    arguments = value.child_by_field_name("arguments")
    if not (called and arguments and text_of(data, called) == "require"):
        return ""
    return _path(arguments.named_children[0] if arguments.named_children else None, data)


def _path(string: tree_sitter.Node | None, data: bytes) -> str:
    parts = string.named_children if string and string.type == "string" else ()
    return text_of(data, parts[0]) if len(parts) == 1 else ""


_READERS = {
    "import_statement": _imported,
    "export_statement": _exported,
    "expression_statement": _assigned,
    **dict.fromkeys(_DECLARATIONS, _declared),
}
