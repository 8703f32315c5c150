"""Finds the aliases that the imports of a source file define.

An alias counts as the name that it stands for: after `from shop.cart import Cart as Basket`, a use
of `Basket` is one of `Cart`. `queries/aliases/<language>.scm` captures the `@alias` and its `@name`
(a string is the path of a module); if given, the `@module` of the name, or a `@class`, which is a
package if its first letter is small; and `@by`, the function that is called to import.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import tree_sitter

from memory_sidecar.chunking.renames import DEFAULT
from memory_sidecar.chunking.syntax import has_query, load_query, text_of

# Without the version of a Go module, 2 or more: `rates/v2`, `yaml.v3`; `meta/v1` is a package v1.
_MODULE = re.compile(r"(?<![^/\\:])([^/\\:]+?)(?:\.[a-z]{1,4})?(?:/v(?!1\b)\d+|\.v\d+)?/*\Z")

STAR = "*"  # the name that an import of all names is recorded under
_QUERIES = "aliases"  # their folder
_WITH_MODULES = frozenset({"javascript", "typescript", "tsx"})
_MAY_HAVE_ALIAS = re.compile(  # a text without a match has no alias
    rb'\bas\b|\b(?:require|import)\s*\(|\busing\s+\w+\s*=|^(?:import)?[ \t]+\w+[ \t]+["`]',
    re.MULTILINE,
)
_PATHS_OF_MODULES = frozenset(
    {"string_fragment", "interpreted_string_literal_content", "raw_string_literal_content"}
)
_IMPORTER = re.compile(
    rb"(?:\b(?:require\w*|load|preload|source|alias|import|use)|(?:\A|\s)\.)[\s(]*[\"'`]?\Z"
)
_GLOBAL_USING = re.compile(rb"\bglobal\s+using\s[^;]*\Z")
_WHOLE = re.compile(rb"\bexports\s*=\s*require\s*\(\s*[\"'`]\Z")
_SPREAD = re.compile(rb"[.]{3}\s*require\s*\(\s*[\"'`]\Z")
_EXPORTING = re.compile(rb"\bexports\s*=\s*\Z")
_PLAIN_PATH = re.compile(r"\S{1,200}")
_MAX_MEANING = 200  # bytes, which are stored for each use of an alias


class Alias(NamedTuple):
    """A name that an import binds, and the name that it stands for, as nodes."""

    alias: tree_sitter.Node
    name: tree_sitter.Node
    module: tree_sitter.Node | None

    @property
    def is_of_module(self) -> bool:
        """Whether `name` is the path of a module, for which the alias stands."""
        return self.name.type in _PATHS_OF_MODULES


def find_aliases(root: tree_sitter.Node, data: bytes, language: str) -> dict[int, Alias]:
    """Return the aliases under `root`, by the first byte of the alias."""
    found: dict[int, Alias] = {}
    if not has_query(language, _QUERIES) or not _MAY_HAVE_ALIAS.search(data):
        return found
    query = load_query(language, _QUERIES)
    for _, captures in tree_sitter.QueryCursor(query).matches(root):
        (alias, *_), (name, *_) = captures["alias"], captures["name"]
        classes = captures.get("class", ())
        if not all(is_capital(each, data) for each in classes):
            continue
        module = next(iter(captures.get("module", classes)), None)
        each = Alias(alias, name, module)
        if any(node.end_byte - node.start_byte > _MAX_MEANING for node in each[1:] if node):
            continue
        if text_of(data, name) == DEFAULT:
            continue
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
    return text_of(data, by) in ("alias", "require") and not is_class


def file_paths(
    captures: Mapping[str, list[tree_sitter.Node]], data: bytes
) -> list[tree_sitter.Node]:
    """Return the strings that name an imported file."""
    arguments = captures.get("argument", ())
    return captures.get("path", []) + [
        node
        for node in arguments
        if _IMPORTER.search(data[max(0, node.start_byte - 24) : node.start_byte])
    ]


def required_names(
    captures: Mapping[str, Sequence[tree_sitter.Node]], paths: Iterable[tree_sitter.Node]
) -> dict[tree_sitter.Node, tree_sitter.Node]:
    """Return the names that are `@required`, and of each its module, which is one of `paths`.

    The module is the first string `@from` in it: other arguments of a call may hold more of both.
    """
    strings, known = captures.get("from", ()), {*paths}
    starts = [node.start_byte for node in strings]
    found: dict[tree_sitter.Node, tree_sitter.Node] = {}
    for each in captures.get("required", ()):
        name = each.child_by_field_name("name") or each.child_by_field_name("property")
        path = strings[bisect_left(starts, each.start_byte)]
        if name and path in known:
            found[name] = path
    return found


def is_exported_whole(path: tree_sitter.Node, data: bytes) -> bool:
    """Whether a module of JavaScript exports all that the one at `path` does.

    As in `module.exports = require("./cart")`, or `= { ...require("./cart") }`.
    """
    if not _SPREAD.search(data, max(0, path.start_byte - 40), path.start_byte):
        return bool(_WHOLE.search(data, max(0, path.start_byte - 40), path.start_byte))
    around: tree_sitter.Node | None = path
    while around and around.type != "object":
        around = around.parent
    start = around.start_byte if around else 0
    return bool(_EXPORTING.search(data, max(0, start - 40), start))


def modules_of_imports(
    imports: Iterable[tree_sitter.Node], aliases: Mapping[int, Alias], data: bytes, language: str
) -> dict[int, str]:
    """Return the path that each of `imports` is from, by its first byte: of JavaScript or Python.

    That is the next path behind it, or itself. Paths with spaces, or of over 200 characters, are
    left out. In C#, a using gets `global` if it counts for other files, too.
    """
    if language == "csharp":
        starts = (node.start_byte for node in imports)
        return {n: "global" for n in starts if _GLOBAL_USING.search(data, max(0, n - 200), n)}
    if language == "python":
        found = {each.start_byte: _dotted_module(each, data) for each in imports}
        return {at: path for at, path in found.items() if _PLAIN_PATH.fullmatch(path)}
    if language not in _WITH_MODULES:
        return {}
    found = {a.name.start_byte: text_of(data, a.module) for a in aliases.values() if a.module}
    waiting: list[int] = []
    for node in sorted(imports, key=attrgetter("start_byte")):
        if node.type not in _PATHS_OF_MODULES:
            waiting.append(node.start_byte)
            continue
        path = text_of(data, node)
        for at in (*waiting, node.start_byte):
            found.setdefault(at, path)
        waiting = []
    return {at: path for at, path in found.items() if _PLAIN_PATH.fullmatch(path)}


def _dotted_module(name: tree_sitter.Node, data: bytes) -> str:
    """Return the module that Python imports `name` from, or as whose last part it is imported.

    Empty for the last part of a module from which other names are imported.
    """
    around = name.parent
    while around and around.type not in ("import_from_statement", "import_statement", "module"):
        around = around.parent
    if module := around and around.child_by_field_name("module_name"):
        return text_of(data, module) if name.start_byte >= module.end_byte else ""
    start = name.parent.start_byte if name.parent else 0
    return data[start : name.end_byte].decode(errors="replace")


def is_capital(name: tree_sitter.Node, data: bytes) -> bool:
    """Whether the `name` begins with a capital letter."""
    return data[name.start_byte : name.start_byte + 1].isupper()


class AliasMeaning(NamedTuple):
    """The name that an alias stands for."""

    name: str  # "" for a module, which is no reference by itself
    module: str  # that the name is imported from, or ""
    owner: str  # the receiver that the alias stands for before a dot


def meaning_of_alias(data: bytes, alias: Alias, language: str) -> AliasMeaning:
    name = last_part(text_of(data, alias.name), language)
    if alias.is_of_module:
        return AliasMeaning("", "", name)
    module = last_part(text_of(data, alias.module), language) if alias.module else ""
    return AliasMeaning(name, module, name)


def last_part(path: str, language: str) -> str:
    """Return the last part of the path of a module or file: `y` of `./x/y.js`, `<x/y.h>`."""
    path = path.strip("\"'`<>")
    if language in ("elixir", "lua"):
        path = path.replace(".", "/")
    part = _MODULE.search(path)
    return part[1] if part else path
