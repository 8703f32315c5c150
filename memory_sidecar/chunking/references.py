"""Finds the references of a source file, names that it uses, by one tree-sitter query.

Captures of `queries/references/<language>.scm` say how a name is used: `@call`, `@type`, `@import`,
`@attribute`, `@other`. `@tag` is the name of a JSX element, `@made` a class of Ruby before a dot,
`@path` a string that names a file, `@argument` one that may (after `require(`); `@required` binds a
name to the module at the path `@from` in it, or to a member of that. `@key` is a field, used as an
attribute of the type of the `@literal` around it. `@chained` calls another constructor, `@tokens`
is the value of a macro, and the `@implementer` implements the `@trait`. No references are a
`@bound` variable, one that is `@assigned` but not defined by the file, a `@never`, such as the name
of a definition, and a `@skip` that is captured otherwise at most as `@other`.

A name that the file binds as a variable is one in the whole file, without scopes. But if the file
also defines or imports that name, it is a variable only in the definitions that bind it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import Literal, NamedTuple

import tree_sitter

from memory_sidecar.chunking.aliases import (
    STAR,
    AliasMeaning,
    file_paths,
    find_aliases,
    is_capital,
    is_exported_whole,
    last_part,
    meaning_of_alias,
    modules_of_imports,
    required_names,
)
from memory_sidecar.chunking.captures import KEYWORDS
from memory_sidecar.chunking.implied import implied_names, is_let
from memory_sidecar.chunking.receivers import (
    SELVES,
    Dots,
    after_dot,
    decode_name,
    dots_of,
    is_behind_dot,
    is_behind_super,
    receiver_in,
)
from memory_sidecar.chunking.renames import names_of_default
from memory_sidecar.chunking.syntax import bare_byte, has_query, load_query, text_of
from memory_sidecar.chunking.types import types_of_literals, types_of_receivers

How = Literal["call", "type", "import", "attribute", "other"]
Span = tuple[int, int]
"""First byte, and the byte after the last."""

_Captures = dict[str, list[tree_sitter.Node]]
_Identifiers = dict[int, tuple[int, How | None]]
"""The byte after each identifier, and how it is used, if it may be a reference, by first byte."""
_Variables = Mapping[How, Mapping[bytes, Sequence[Span]]]
"""The spans in which each name is a variable, by how the name is used there."""

MAX_FOLLOWED = 200  # bindings of a file whose scopes are looked up
_WHOLE: Span = (0, sys.maxsize)
_EVERYWHERE = (_WHOLE,)

MIXED_IN = "use"  # the module of a trait that the class of PHP around mixes in
_QUERIES = "references"  # their folder

# If an identifier has several captures, the first of these counts.
_RANKS: tuple[tuple[str, How | None], ...] = (
    ("never", None),
    ("call", "call"),
    ("type", "type"),
    ("import", "import"),
    ("attribute", "attribute"),
    ("bound", None),
    ("skip", None),
    ("other", "other"),
)

# In these, a variable hides a function of its name in calls, too, even above its first line.
_CALLS_VARIABLES = frozenset({"python", "javascript", "typescript", "tsx"})
_NAMES_TOO = frozenset(b"base parent static break continue".split())  # if called or members
_NO_NAMES = SELVES | frozenset(
    b"static_cast dynamic_cast const_cast reinterpret_cast . : [ $0 $1 $2 $3 0 1 2 3 4 5 6 7 8 9"
    b" break class continue false null true".split()
)
_NO_NAMES_OF: Mapping[str, frozenset[bytes]] = {
    "csharp": _NO_NAMES - frozenset(b"self Self super parent crate".split()),
    **dict.fromkeys(("java", "kotlin"), _NO_NAMES - frozenset({b"self", b"parent"})),
    **dict.fromkeys(("c", "cpp"), _NO_NAMES - (SELVES - {b"this"}) - {b"null"}),
    "elixir": _NO_NAMES | KEYWORDS,
    "hcl": frozenset(b"data each local module self var".split()),  # a resource may be `this`
}
_span = attrgetter("start_byte", "end_byte")
_NEW = re.compile(rb"(?:&?[.]|::)new\b")


class Reference(NamedTuple):  # made in a third of the time that a frozen dataclass takes
    """A use of a name. Rows are 0-based."""

    name: str
    row: int
    how: How
    receiver: str = ""  # the name before the dot; "?" for another expression (`make().run`)
    module: str = ""  # what an import is from: see `modules_of_imports`; the trait of an impl;
    # the path of a receiver: see `types_of_receivers`; MIXED_IN
    byte: int = 0  # its first one; 0 if it is implied


def has_references(language: str) -> bool:
    """Whether there is a query for `language`."""
    return has_query(language, _QUERIES)


def find_references(
    root: tree_sitter.Node, data: bytes, language: str, defined: Mapping[int, Span], spelled: bytes
) -> list[Reference]:
    """Return the references under `root`, in order; `data` is the text, UTF-8.

    `defined` holds the span of each definition by the first byte of its name, which is no reference
    and no variable. `spelled` was parsed (`chunking.misread`).
    """
    captures = _captures(root, data, language)
    aliases = find_aliases(root, data, language)
    paths = file_paths(captures, data)
    required = required_names(captures, paths)
    imported = [*(each.name for each in aliases.values()), *paths, *required]
    imported += names_of_default(captures, data)
    captures["import"] = captures.get("import", []) + imported
    captures["bound"] = captures.get("bound", []) + _assigned_elsewhere(captures, data, defined)
    found, bound = _identifiers(captures, data, defined)
    types = types_of_literals(data, captures.get("literal", ()), captures.get("key", ()))
    found |= {at: (stop, "attribute") for at, (stop, _) in types.items()}
    own = {at: data[at : found[at][0]] for at in defined if at in found}
    found |= {at: (found[at][0], None) for at in own}
    bound_anew = (text for text, at in bound.items() if any(one not in aliases for one in at))
    rebound = {*own.values(), *bound_anew}
    meanings = {
        text: meaning_of_alias(data, each, language)
        for at, each in aliases.items()
        if (text := data[at : each.alias.end_byte]) not in rebound
    }
    imports = {at.start_byte: data[at.start_byte : at.end_byte] for at in captures["import"]}
    modules = modules_of_imports(captures["import"], aliases, data, language)
    modules |= {node.start_byte: text_of(data, path) for node, path in required.items()}
    implementing = zip(captures.get("implementer", ()), captures.get("trait", ()), strict=False)
    modules |= {
        each.start_byte: decode_name(data[slice(*of.byte_range)]) for each, of in implementing
    }
    modules |= {each.start_byte: MIXED_IN for each in captures.get("mixed", ())}
    modules |= types_of_receivers(captures, data, partial(_real_name, meanings))
    spans = _variable_spans(bound, imports | own, defined)
    variables: _Variables = {"other": spans}
    if language in _CALLS_VARIABLES:
        variables = _called_variables(spans, {*imports.values(), *own.values()})
    loaded = {text_of(data, each.alias).encode() for each in aliases.values() if each.is_of_module}
    loaded -= {*own.values()}
    finder = _ReferenceFinder(data, language, variables, meanings, types, modules, loaded)
    implied = (Reference(*each) for each in implied_names(captures, data, spelled, defined))
    all_of = (
        Reference(STAR, node.start_point.row, "import", module=text_of(data, node))
        for node in paths
        if is_exported_whole(node, data)
    )
    return sorted([*finder.references(found), *implied, *all_of], key=attrgetter("row"))


def _captures(root: tree_sitter.Node, data: bytes, language: str) -> _Captures:
    """Return the nodes that each capture of the query holds, in order."""
    query = load_query(language, _QUERIES)
    nodes = tree_sitter.QueryCursor(query).captures(root)
    captures = {name: sorted(each, key=_span) for name, each in nodes.items()}
    # Elements of JSX that are components; those of HTML begin with a small letter.
    components = [node for node in captures.get("tag", ()) if is_capital(node, data)]
    made = [node for node in captures.get("made", ()) if _NEW.match(data, node.end_byte)]
    captures["call"] = captures.get("call", []) + components + made
    if language == "ruby":
        let = [node for node in captures.get("sent", ()) if is_let(node, data)]
        captures["bound"] = captures.get("bound", []) + let
    if language == "rust":  # where a capitalised name in a pattern is a constant
        captures["bound"] = [n for n in captures.get("bound", ()) if not is_capital(n, data)]
    return captures


def _assigned_elsewhere(
    captures: _Captures, data: bytes, defined: Mapping[int, Span]
) -> list[tree_sitter.Node]:
    """Return the `@assigned` names that the file does not define, as it would its own state."""
    assigned = captures.get("assigned", [])
    own = {
        data[node.start_byte : node.end_byte]
        for node in (captures["other"] if assigned else ())
        if node.start_byte in defined
    }
    return [node for node in assigned if data[node.start_byte : node.end_byte] not in own]


def _identifiers(
    captures: Mapping[str, Sequence[tree_sitter.Node]], data: bytes, defined: Mapping[int, Span]
) -> tuple[_Identifiers, dict[bytes, list[int]]]:
    """Return all identifiers, and where each name is bound as a variable, by first bytes."""
    found: _Identifiers = {}
    bound: dict[bytes, list[int]] = {}
    for capture, how in _RANKS:
        for node in captures.get(capture, ()):
            start, stop = node.byte_range
            if node.type == "alias":
                start = bare_byte(data, node)
            start += node.type == "simple_symbol"  # its colon
            if start not in found:
                found[start] = stop, how
                if capture == "bound" and start not in defined:
                    bound.setdefault(data[start:stop], []).append(start)
    return found, bound


def _real_name(meanings: Mapping[bytes, AliasMeaning], name: str) -> str:
    alias = meanings.get(name.encode())
    return alias.name if alias else name


def _variable_spans(
    bound: Mapping[bytes, Sequence[int]], names: Mapping[int, bytes], defined: Mapping[int, Span]
) -> dict[bytes, Sequence[Span]]:
    """Return the spans in which each `bound` name is a variable, by name.

    That is the whole file, except for `names` (by first byte), which the file defines or imports:
    such a name is a variable only in the definitions that bind it, and not in the scope of its own
    definition, as after `f = wrap(f)`.
    """
    regions: dict[bytes, Sequence[Span]] = dict.fromkeys(bound, _EVERYWHERE)
    left = MAX_FOLLOWED
    for at, name in names.items():
        if name not in bound or left < len(bound[name]):
            continue
        left -= len(bound[name])
        beside = _definition_around(at, defined, but=defined.get(at))
        inside = {_definition_around(each, defined) for each in bound[name]} - {beside}
        regions[name] = [span for span in inside if span != _WHOLE]
    return regions


def _called_variables(
    spans: Mapping[bytes, Sequence[Span]], known: Collection[bytes]
) -> _Variables:
    """Return where names are variables in a language whose variables may be called.

    `known` is what the file defines or imports.
    """
    called = {n: at for n, at in spans.items() if at is not _EVERYWHERE or n not in known}
    return {"call": called, "other": spans}


def _definition_around(byte: int, defined: Mapping[int, Span], *, but: Span | None = None) -> Span:
    """Return the innermost definition around `byte` other than `but`; else the whole file."""
    around = (span for span in defined.values() if span[0] <= byte < span[1] and span != but)
    return max(around, default=_WHOLE)


@dataclass(frozen=True)
class _ReferenceFinder:
    """Tells which identifiers of one file are references, and what each means."""

    data: bytes
    language: str
    variables: _Variables
    meanings: Mapping[bytes, AliasMeaning]
    types: Mapping[int, tuple[int, str]]  # of the literal around each key
    modules: Mapping[int, str]
    loaded: Collection[bytes]  # what modules are imported as

    @cached_property
    def _dots(self) -> Dots:
        return dots_of(self.language)

    def references(self, found: _Identifiers) -> list[Reference]:
        """Return those of `found` that are references, in order: no variables, no keywords."""
        data, types, ends = self.data, self.types, {dot[-1] for dot in self._dots}
        no_names = _NO_NAMES_OF.get(self.language, _NO_NAMES)
        references = []
        texts: dict[bytes, str] = {}
        row = counted = 0  # `row` is that of the byte `counted`
        last = (0, 0)  # the last identifier
        for start in sorted(found):
            stop, how = found[start]
            before, last = last, (start, stop)
            if how is None:
                continue
            name = data[start:stop]
            at = after_dot(data, before[1], start, self.language)
            is_member = data[at - 1] in ends and is_behind_dot(data, at, self._dots)
            if name in no_names and not (name in _NAMES_TOO and (is_member or how == "call")):
                continue
            is_named = is_member or how == "import" or start in types
            alias = None if is_named else self.meanings.get(name)
            if alias and alias.name:
                text, receiver = alias.name, alias.module
            elif not is_member and self._is_variable(name, how, start):
                continue
            elif not is_member and name in self.loaded and data.startswith((b".", b"?."), stop):
                continue  # a module, whose member is the use
            else:
                text = texts.get(name) or texts.setdefault(name, decode_name(name))
                receiver = self._receiver(at, before) if is_member else ""
                receiver = types[start][1] if start in types else receiver
            if how == "import":
                text = last_part(text, self.language)
            row += data.count(b"\n", counted, start)
            counted = start
            module = self.modules.get(start, "")
            references.append(Reference(text, row, how, receiver, module, start))
        return references

    def _is_variable(self, name: bytes, how: How, byte: int) -> bool:
        spans = self.variables.get(how, {}).get(name, ())
        return spans is _EVERYWHERE or any(start <= byte < stop for start, stop in spans)

    def _receiver(self, start: int, before: Span) -> str:
        """Return the receiver of the member at the byte `start`."""
        owner = self.data[slice(*before)]
        gap = self.data[before[1] : start]
        receiver = receiver_in(gap, owner, self._dots)
        if (receiver, gap[-1:], self.language) == ("self", b":", "rust"):
            return ""  # `self::price` is a name of the module
        if receiver == "?" and is_behind_super(self.data, start):
            receiver = "super"
        is_alias = owner in self.meanings and not is_behind_dot(self.data, before[0], self._dots)
        return self.meanings[owner].owner if receiver and is_alias else receiver
