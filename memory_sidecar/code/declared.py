"""Finds the members of a variable by its name or declared type: `Cart cart`, `cart: Cart`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_sidecar.code.candidates import Meaning, NameCandidates, is_self, sole
from memory_sidecar.code.classes import Lineages
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile

MIN_ALIKE = 3  # letters of a variable whose name is compared with classes

_PARAMETER_OF_TYPE = re.compile(r"T(?:[A-Z]\w*)?|[A-Z]\d?")  # `T item`, `TSource item`
_NO_TYPES = frozenset("return new await is as in out ref var dynamic else case throw".split())
_TYPE = re.compile(r"(\w+)(?:[?]?\s+|\s*[*&][\s*&]*)\Z")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_MARKS = (" ", "*", "&")  # before a variable
_END_OF_WORD = re.compile(r"\b")
_END = re.compile(r"\b(?!\s*\()")


def member_of_variable(
    lineages: Lineages, at: NamedFile, place: Place, candidates: NameCandidates
) -> Meaning | None:
    """Return the members among `candidates` of the variable before the dot, by its declared type.

    Extension methods of C# that take it count, too: then all are "likely". `None` if the type is
    unknown or has no such member.
    """
    if not at.scoping.types_variables:
        return None
    types = lineages.of(at, _declared_type(lineages, at, place))
    if not types:
        return None
    found = tuple(next(filter(None, map(candidates.by_owner.get, types)), ()))
    takes = [f"(this {type_}" for type_ in types]
    extensions = [d for d in candidates.extensions if _extends(d.signature, takes)]
    if extensions:
        return Meaning((*found, *extensions), "likely")
    here = (d for d in found if d.at.id == at.id)
    beside = (d for d in found if d.at.folder == at.folder)
    sure = sole(found, "exact") or sole(here, "exact") or sole(beside, "likely")
    return sure or (Meaning(found) if found else None)


def member_of_type_behind(
    graph: Graph, at: NamedFile, place: Place, candidates: NameCandidates
) -> Meaning | None:
    """Return the members of a variable whose type stands behind it, as in Go and Rust.

    A field only tells what is likely, since a variable without a type may be called like it. So
    does a type that the file neither defines nor imports; in Go, one of another folder is none.
    """
    behind, receiver = at.scoping.type_behind, place.receiver
    if not (behind and receiver and candidates.members) or is_self(receiver, at):
        return None
    for signature, is_own in _signatures_around(graph, at, place):
        variables = behind.findall(signature) if receiver in signature else ()
        declared = next((v for v in variables if v[0] == receiver), None)
        if not declared or _PARAMETER_OF_TYPE.fullmatch(declared[2]):
            continue
        _, qualifier, name = declared
        found = candidates.by_owner.get(name, ())
        if at.family == "go":
            folder = [d for d in found if d.at.folder == at.folder]
            found = [d for d in found if d.at.package == qualifier] if qualifier else folder
        is_seen = any(d.at.id == at.id for d in found) or graph.imports(at, [name])
        return sole(found, "exact" if is_own and (is_seen or at.family == "go") else "likely")
    return None


def _signatures_around(graph: Graph, at: NamedFile, place: Place) -> Iterator[tuple[str, bool]]:
    """Yield the signature around a place, then those of fields there that the receiver may be.

    Each with whether it is the former. The fields are looked for only if the former tells nothing.
    """
    around = graph.enclosing(at, place)
    if around is None:
        return
    yield around.signature, True
    for each in graph.defined_for(at, place.receiver) if around.scope else ():
        if each.scope and each.at.folder == at.folder and around.path.startswith(f"{each.scope}."):
            yield each.signature, False


def is_known(graph: Graph, at: NamedFile, member: Defined) -> bool:
    """Whether `member` is of this file, or of a class that this file names."""
    is_class = any(each.is_type for each in graph.defined_for(at, member.owner))
    return member.at.id == at.id or (is_class and graph.mentions(at, member.owner))


def known_members(graph: Graph, at: NamedFile, candidates: Sequence[Defined]) -> list[Defined]:
    """Return those of `candidates` that are of a module, or of a file that this one imports.

    If files are classes, also those of a class that this file names; if none, of any class.
    """
    are_classes = at.scoping.files_are_classes
    known = [
        d
        for d in candidates
        if graph.imports(at, d.at.modules)
        or (are_classes and graph.mentions(at, d.owner))
        or graph.kind_around(d) == "module"
    ]
    return known or [d for d in candidates if are_classes and d.scope]


def members_by_variable_name(
    graph: Graph, at: NamedFile, variable: str, candidates: NameCandidates
) -> list[Defined]:
    """Return the members of the class that `variable` is named after.

    `cart` and `_cart` are named after Cart, or HttpCart if there is no Cart; `lastCart` and
    `last_cart` after Cart, if the file names Cart and there is no LastCart.
    """
    bare = variable.replace("_", "").lower()
    is_class = at.family == "ruby" and variable[:1].isupper()  # `File` is no StaticFile
    if len(bare) < MIN_ALIKE or is_class:
        return []
    members = candidates.members_by_owner
    if alike := [owner for owner in members if owner.lower().endswith(bare)]:
        named = [owner for owner in alike if owner.lower() == bare] or alike
        return [d for owner in named for d in members[owner]]
    known = [owner for owner in members if graph.mentions(at, owner)]
    called = [owner for owner in known if _ends_with_class(variable, owner)]
    longest = max(called, key=len, default="")
    of = [owner for owner in known if longest and owner.endswith(longest)]
    return [d for owner in of for d in members[owner]]


def of_required_table(
    graph: Graph, at: NamedFile, variable: str, candidates: Sequence[Defined]
) -> Sequence[Defined]:
    """Return those of `candidates` in the Lua table of the file that `variable` is named after.

    `local Loader = require("core.loader")` calls it Loader, and that file mostly calls it M.
    """
    names = {variable, variable.lower()}
    if not (at.scoping.imports == "table" and graph.imports(at, names)):
        return ()
    there = (d for d in candidates if not names.isdisjoint(d.at.modules))
    return [d for d in there if d.scope and "." not in d.scope]


def _ends_with_class(variable: str, class_name: str) -> bool:
    """Whether the last words of `variable` are the name of a class."""
    if len(class_name) < MIN_ALIKE or not variable.lower().endswith(class_name.lower()):
        return False
    begin = len(variable) - len(class_name)
    return variable[begin].isupper() or variable[begin - 1 : begin] in ("", "_")


def _extends(signature: str, takes: Sequence[str]) -> bool:
    """Whether the parameters of an extension method begin with one of `takes`, as a whole word."""
    at = signature.index("(this ")
    return any(
        signature.startswith(each, at) and _END_OF_WORD.match(signature, at + len(each))
        for each in takes
    )


def _declared_type(lineages: Lineages, at: NamedFile, place: Place) -> str:
    """Return the type of a parameter, or of a field that classes around `place` have or inherit.

    Empty if none of them is called like the receiver, or if its type is a type parameter.
    """
    for signature in _signatures(lineages, at, place):
        begin = _begin_of_variable(signature, place.receiver)
        found = _TYPE.search(_without_arguments(signature[:begin])) if begin else None
        if found and found[1] not in _NO_TYPES:
            return "" if _PARAMETER_OF_TYPE.fullmatch(found[1]) else found[1]
    return ""


def _begin_of_variable(signature: str, name: str) -> int:
    """Return where `name` stands behind a type, and not as a function, or 0."""
    begin = signature.find(name)
    while begin >= 0:
        if signature[begin - 1 : begin] in _MARKS and _END.match(signature, begin + len(name)):
            return begin
        begin = signature.find(name, begin + 1)
    return 0


def _without_arguments(text: str) -> str:
    """Return `text` without the arguments of its types: `Map<K, List<V>> all` is `Map all`."""
    while text != (text := _ARGUMENTS.sub("", text)):
        pass
    return text


def _signatures(lineages: Lineages, at: NamedFile, place: Place) -> Iterator[str]:
    """Yield the signatures that may declare the receiver, the nearest first.

    Around a local function that is a method, around a method the class with its constructor.
    """
    graph = lineages.graph
    around = graph.enclosing(at, place)
    if around is None:
        return
    yield around.signature
    fields = [d for d in graph.defined_for(at, place.receiver) if d.scope]
    scope = around.path
    while scope:
        yield from (
            d.signature
            for d in fields
            if d.scope == scope and (d.at.id == at.id or not at.scoping.whole_classes)
        )
        scope, _, outer = scope.rpartition(".")
        for base in lineages.of(at, outer)[1:]:
            inherited = [d for d in fields if d.owner == base]
            if len(inherited) == 1:
                yield inherited[0].signature
        name = scope.rpartition(".")[2]
        yield from (
            d.signature for d in graph.defined(name) if d.path == scope and _is_around(d, at, place)
        )


def _is_around(defined: Defined, at: NamedFile, place: Place) -> bool:
    """Whether a definition of the right path is around a place, be it in another part of it."""
    if defined.at.id == at.id:
        return defined.start_line <= place.line <= defined.end_line
    return defined.is_type and defined.at.realm == at.realm and not at.scoping.whole_classes
