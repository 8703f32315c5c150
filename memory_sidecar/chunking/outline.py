"""Finds the definitions of a source file by tree-sitter: one parse, one query.

The query is `queries/<language>.scm`. Its captures:

    @definition  a definition; or
    @scope       a node that only encloses definitions: a namespace, an `impl`, an extension
    @rest        marks a scope that reaches to the end of the file
    @part        marks a field of a struct and the like, which no chunk begins with or is named by
    @name        its name
    @owner       the type that a method names as its owner
    @body        its body
    @code        what a property runs, if it is not just a value
    @kind        the node whose type says its kind, if that of the definition does not
    @word        the keyword that makes a call or a block a definition (`chunking.captures`)
    @value       the value that it is bound to: not a definition if that is an import
    @lead        a comment, attribute or decorator of the definition that follows
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import tree_sitter

from memory_sidecar.chunking.captures import (
    DEFINING,
    LEADS,
    OWNERS,
    Leads,
    declared,
    is_in_block,
    kind_of_type,
    names_method,
    word_of,
)
from memory_sidecar.chunking.references import Reference, find_references, has_references
from memory_sidecar.chunking.renames import Rename, find_renames
from memory_sidecar.chunking.syntax import (
    bare_byte,
    has_grammar,
    has_query,
    load_query,
    parse,
    text_of,
)

_MAX_DEPTH = 50  # code written by people nests less; garbage can nest by the thousand
_MAX_PATH = 1_000  # characters; each definition inside has them, too
_MAX_SIGNATURE = 200  # characters
_MAX_NAME = 100  # characters
_MAX_NAME_TEXT = 1_000  # characters of what is not yet a name
_MAX_BROKEN = 10_000  # children of an error node; a query takes half a second for them

_TYPES = frozenset({"class", "interface", "trait", "struct", "enum", "impl"})
_NAMED_VALUES = frozenset({"class", "function_expression", "generator_function"})
_BINDINGS = frozenset({"variable", "constant", "field", "signal"})
_FUNCTIONS = frozenset({"function", "method"})
_IN_CLAUSES = frozenset({"elixir", "haskell"})  # languages that define a function by clauses
_WITH_CLAUSES = _FUNCTIONS | {"macro"}
_PROMOTED = frozenset({"property_promotion_parameter", "required_parameter"})
_NAMED_TWICE = frozenset({"type_definition", "data_type", "newtype"})
_RECORDS = frozenset({"struct", "union", "enum"})
_STATEMENTS = frozenset({"catch", "for", "if", "switch", "while"})  # `YIELD { … } if(ok) { … }`

_QUALIFIED = re.compile(r"(?:::)?(?:[\w$]+(?:::|[.:]))+(?:operator\b.+|[\w$~]+)")
_SEPARATOR = re.compile(r"(?:(?<!operator)::|[.]|(?<!:):)(?=[\w$~])")
_AROUND_COLONS = re.compile(r" ?:: ?")  # `Cart::` may end a line
_ARGUMENTS = re.compile(r"(?<=[\w$])(?<!operator)<[^<>]*>")  # of a C++ template
_CONVERSION = re.compile(r"(\boperator\s+)(?:\w+::)*(\w[^(]*)\(.*")  # `operator bool() const`
_IMPORT = re.compile(rb"(?:await\s+)?(?:require|@?import)\s*[(\"']")
_WORD = re.compile(r"[\w$]+")
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(?:if|el|end).*", re.MULTILINE)
_MODIFIERS = re.compile(rb"[\w \t]*")


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition or a scope, as a range of rows. Rows are 0-based."""

    symbol: str  # its bare name; "" for a scope, which does not define its name
    path: str  # dotted: the names of all that enclose it, and its own
    start: int  # first row, with its doc comment, attributes and decorators
    name_row: int
    stop: int  # row after its last one
    kind: str  # class, function, method, variable …: see `captures.kind_of_type`
    head: tuple[tuple[int, int], ...]  # byte ranges of its signature, without comments
    is_code: bool = False  # a property with accessors of its own
    is_part: bool = False  # a field of a struct: no chunk begins with it or is named by it

    @property
    def is_binding(self) -> bool:
        """Whether the definition only names a value, and contains no definitions and no calls."""
        return self.kind in _BINDINGS and not self.is_code

    def signature(self, data: bytes) -> str:
        """Return the head in one line of at most 200 characters; `data` is the file's text."""
        parts = [data[start : min(stop, start + 1_000)] for start, stop in self.head]
        text = " ".join(_CONDITION.sub(b"", b" ".join(parts)).decode(errors="replace").split())
        text = text.replace("( ", "(").replace(" )", ")").rstrip(" {:;,=\\")
        text = text.removesuffix("=>").rstrip()
        if self.kind in _RECORDS and self.symbol not in _WORD.findall(text):
            text += f" {{…}} {self.symbol}"
        return text if len(text) <= _MAX_SIGNATURE else text[: _MAX_SIGNATURE - 1] + "…"


_FILE = Definition("", "", start=0, name_row=0, stop=0, kind="", head=())  # around all others


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a file in order, outer before inner ones, its references and renames."""

    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    renames: tuple[Rename, ...] = ()
    is_sound: bool = True  # False for text that is mostly syntax errors


def has_outline(language: str) -> bool:
    """Whether there are a query and a grammar for `language`."""
    return has_query(language) and has_grammar(language)


def outline(data: bytes, language: str) -> Outline:
    """Return the outline of `data`, UTF-8 with LF line breaks; `language` must have outlines.

    It is empty and not sound for text that would take the parser or the query minutes or gigabytes.
    """
    parsed = parse(data, language)
    if parsed is None or _is_endless((tree := parsed[0]).root_node):
        return Outline(is_sound=False)
    leads, kinds = Leads(data), DEFINING.get(language, {})
    found: dict[int, _Match] = {}
    query = load_query(language)
    for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
        word = word_of(data, captures)
        if lead := captures.get("lead"):
            if word is None or word in LEADS:
                leads.add(lead[0])
            continue
        if word is not None and word not in kinds:
            continue
        if not names_method(word, captures["name"][0]):
            continue
        if (value := captures.get("value")) and _IMPORT.match(data, value[0].start_byte):
            continue
        match = _Match(captures, len(data), word=word or "", kind=kinds.get(word or "", ""))
        key = match.name.start_byte
        # `const f = () => {…}` is a constant and a function; a property may have two accessors.
        old = found.get(key)
        if not old or (match.body and not old.body) or (match.is_code and not old.is_code):
            found[key] = match
    _drop_inner_names(data, found)
    kept = dict(_nest(data, found.values(), leads, tree.root_node.end_point.row + 1))
    is_sound = not (tree.root_node.has_error and _is_mostly_errors(tree.root_node))
    references: list[Reference] = []
    renames: tuple[Rename, ...] = ()
    if is_sound and has_references(language):
        spans = {each.own_byte(data): (each.start_byte, each.end_byte) for each in kept}
        references = find_references(tree.root_node, data, language, spans, parsed[1])
        renames = find_renames(tree.root_node, data, language)
    definitions = _join_clauses(kept.values()) if language in _IN_CLAUSES else kept.values()
    return Outline(tuple(definitions), tuple(references), renames, is_sound)


def _join_clauses(definitions: Iterable[Definition]) -> list[Definition]:
    """Join adjacent clauses of a function; one with a comment above it begins a new definition."""
    joined: list[Definition] = []
    for each in definitions:
        last = joined[-1] if joined else None
        is_bare = each.kind in _WITH_CLAUSES and each.start == each.name_row
        if last and is_bare and each.path == last.path:
            joined[-1] = replace(last, stop=each.stop, kind=each.kind)
        else:
            joined.append(each)
    return joined


def _drop_inner_names(data: bytes, found: dict[int, _Match]) -> None:
    """Drop `g` of `const f = function g() {…}`: outside of the function its name is `f`.

    If a module exports nothing else, `g` is the only name: `module.exports = class Cart {…}`.
    """
    inner = {key for key, each in found.items() if each.node.type in _NAMED_VALUES}
    outer = {e.body[0].start_byte: k for k, e in found.items() if e.body and k not in inner}
    for key in inner:
        body = found[key].body
        if body and (around := outer.get(body[0].start_byte)) is not None:
            is_module = text_of(data, found[around].name) == "module.exports"
            del found[around if is_module else key]


class _Match:
    """A match of the query, its byte range read once."""

    def __init__(
        self, captures: dict[str, list[tree_sitter.Node]], size: int, *, word: str, kind: str
    ) -> None:
        """`word` and its `kind`: see `captures`; "" for languages without such words."""
        self.has_symbol = "definition" in captures and kind != "impl"
        self.node = (captures.get("definition") or captures["scope"])[0]
        self.name, self.is_prototype = declared(captures["name"][0])
        self.kind = kind or captures.get("kind", [self.node])[0].type
        self.body = captures.get("body")
        self.owner = captures.get("owner")
        self.prefix = OWNERS.get(word, "")
        self.is_code = "code" in captures
        self.is_part = "part" in captures and not self.is_prototype
        self.rest = "rest" in captures
        self.last = max([self.node, *(self.body or ())], key=lambda node: node.end_byte)
        self.start_byte, self.end_byte = self.node.start_byte, self.last.end_byte
        if self.rest:
            self.end_byte = size

    def own_byte(self, data: bytes) -> int:
        """Return the first byte of its name, or of the node if the name is a use: `impl Cart`."""
        is_use = not self.has_symbol and _kind(self, None) in _TYPES
        return self.start_byte if is_use else bare_byte(data, self.name)

    def is_qualified(self, data: bytes) -> bool:
        """Whether its name includes its owner: `Cart::add`."""
        return self.name.type != "word" and data.find(b"::", *self.name.byte_range) >= 0

    @property
    def is_named_last(self) -> bool:
        """Whether its name comes after its body: `typedef struct {…} cart;`."""
        return self.body is not None and self.body[0].start_byte < self.name.start_byte

    def order(self) -> tuple[int, int, int]:
        """Return a sort key: by position, outer ones first."""
        return self.start_byte, -self.end_byte, self.name.start_byte


def _nest(
    data: bytes, found: Iterable[_Match], leads: Leads, row_count: int
) -> Iterable[tuple[_Match, Definition]]:
    """Yield the matches that are definitions, in order, with the definition that each one is."""
    around: list[tuple[_Match, Definition]] = []  # what encloses the next match
    last_first = -1  # of several definitions that begin in one row the first gets the comment
    for match in sorted(found, key=_Match.order):
        while around and around[-1][0].end_byte <= match.start_byte:
            around.pop()
        beside = around and around[-1][0].node == match.node  # `int a, b;` are neighbours
        first_beside = around.pop() if beside else None
        if len(around) >= _MAX_DEPTH:
            continue
        owner, outer = around[-1] if around else (None, _FILE)
        symbol, local = _names(data, match)
        path = _path(match, owner, outer, local)
        if path is None or len(path) > _MAX_PATH:
            continue
        first = match.node.start_point.row
        has_leads = first != last_first and not match.is_part
        last_first = first
        row, column = match.last.end_point
        definition = Definition(
            symbol if match.has_symbol else "",
            path,
            start=max(leads.first_row(first), outer.start) if has_leads else first,
            name_row=first if match.is_named_last else match.name.start_point.row,
            stop=row_count if match.rest else row + bool(column),
            kind=_kind(match, owner, is_owned=bool(match.owner) or match.is_qualified(data)),
            head=_head(data, match, leads),
            is_code=match.is_code,
            is_part=match.is_part,
        )
        yield match, definition
        around.append(first_beside or (match, definition))


def _path(match: _Match, owner: _Match | None, outer: Definition, local: str) -> str | None:
    """Return the dotted path of what `match` calls `local` in `owner`, which is `outer`.

    None if it defines nothing there.
    """
    kind, path = match.node.type, outer.path
    if kind == "declaration" and (
        outer.kind in _FUNCTIONS or (outer.kind not in _TYPES and is_in_block(match.node))
    ):
        return None  # a local variable of C, whose query matches at any depth
    if not local or local in _STATEMENTS:  # `-g` of `alias -g`
        return None
    if owner and owner.node.type in _NAMED_TWICE and path.rpartition(".")[2] == local:
        return None  # `typedef struct cart {…} cart;`, `data Cart = Cart Int`
    if kind == "companion_object":
        return path
    if kind in _PROMOTED:  # a parameter of the constructor is a field of its class
        path = path.rpartition(".")[0]
    return f"{path}.{local}" if path else local


def _kind(match: _Match, outer: _Match | None, *, is_owned: bool = False) -> str:
    kind = kind_of_type(match.kind)
    if (kind == "variable" and match.body) or (match.is_prototype and kind != "type"):
        kind = "function"
    if kind == "function" and (is_owned or (outer and _kind(outer, None) in _TYPES)):
        return "method"
    return kind


def _names(data: bytes, match: _Match) -> tuple[str, str]:
    """Return the bare name and the part of the path: `add` and `Cart.add` for `Cart::add`."""
    text = text_of(data, match.name)
    if match.node.type == "command":  # `alias ll='ls -l'`
        text = text[: max(text.find("="), 0)]
    if not text.isidentifier() and match.name.type != "word":  # of Bash: `log::warn`
        text = _AROUND_COLONS.sub("::", " ".join(text.split())[:_MAX_NAME_TEXT])
        quotes = "\"'`:[]" if match.name.type == "identifier" else "\"'`:"  # `[cart]` of SQL Server
        if text[:1] in quotes:  # `'` may end a name of Haskell
            text = text.strip(quotes)
        text = _CONVERSION.sub(r"\1\2", text)
        while "<" in text and text != (text := _ARGUMENTS.sub("", text)):
            pass
        text = text[:_MAX_NAME]
        if match.has_symbol and _QUALIFIED.fullmatch(text):
            *owners, text = _SEPARATOR.split(text)
            return text, ".".join((*owners, text))
        text = text.replace("::", ".")
    if match.owner:
        return text, f"{text_of(data, match.owner[0])}.{text}"
    return text, f"{match.prefix}.{text}" if match.prefix else text


def _head(data: bytes, match: _Match, leads: Leads) -> tuple[tuple[int, int], ...]:
    """Return the byte ranges from the first word, or an `export` before it, to the body."""
    start = leads.skip(match.start_byte)
    stop = match.body[0].start_byte if match.body else match.node.end_byte
    value = match.kind == "preproc_function_def" and match.node.child_by_field_name("value")
    if value and data.find(b"\n", *value.byte_range) >= 0:  # a short macro of C is shown whole
        stop = value.start_byte
    line = data.rfind(b"\n", 0, start) + 1
    before = data[line:start]
    if before and _MODIFIERS.fullmatch(before) and before.strip() != b"return":
        start = line
    return leads.between_comments(start, stop)


def _is_endless(root: tree_sitter.Node) -> bool:
    """Whether an error node has so many children that a query, quadratic in these, takes long."""
    return any(n.is_error and n.child_count > _MAX_BROKEN for n in (root, *root.children))


def _is_mostly_errors(root: tree_sitter.Node) -> bool:
    errors = (node.end_byte - node.start_byte for node in root.children if node.is_error)
    return root.is_error or sum(errors) > (root.end_byte - root.start_byte) / 2
