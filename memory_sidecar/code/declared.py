"""Finds the members of a variable by its name or declared type: `Cart cart`, `cart: Cart`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_sidecar.code.candidates import Meaning, NameCandidates, is_self, sole
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.code.one_use import OneUse

MIN_ALIKE = 3  # letters of a variable whose name is compared with classes

_PARAMETER_OF_TYPE = re.compile(r"T(?:[A-Z]\w*)?|[A-Z]\d?")  # `T item`, `TSource item`
_NO_TYPES = frozenset("return new await is as in out ref var dynamic else case throw".split())
_TYPE = re.compile(r"(\w+)(?:[?]?\s+|\s*[*&][\s*&]*)\Z")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_MARKS = (" ", "*", "&")  # before a variable
_END_OF_WORD = re.compile(r"\b")
_END = re.compile(r"\b(?!\s*\()")


def member_of_variable(use: OneUse) -> Meaning | None:
    """Return the members of the variable before the dot, by its declared type.

    Extension methods of C# that take it count, too: then all are "likely". `None` if the type is
    unknown or has no such member.
    """
    at, candidates = use.at, use.found
    if not at.scoping.types_variables:
        return None
    types = use.lineages.of(at, _declared_type(use))
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


def is_known(use: OneUse, member: Defined) -> bool:
    """Whether `member` is of the file of the use, or of a class that this file names."""
    is_class = any(each.is_type for each in use.graph.defined_for(use.at, member.owner))
    return member.at.id == use.at.id or (is_class and use.mentions(member.owner))


def known_members(use: OneUse) -> list[Defined]:
    """Return the candidates that are of a module, or of a file that this one imports.

    If files are classes, also those of a class that this file names; if none, of any class.
    """
    are_classes = use.scoping.files_are_classes
    known = [
        d
        for d in use.candidates
        if use.graph.imports(use.at, d.at.modules)
        or (are_classes and use.mentions(d.owner))
        or use.graph.kind_around(d) == "module"
    ]
    return known or [d for d in use.candidates if are_classes and d.scope]


def members_by_variable_name(use: OneUse) -> list[Defined]:
    """Return the members of the class that the variable before the dot is named after.

    `cart` and `_cart` are named after Cart, or HttpCart if there is no Cart; `lastCart` and
    `last_cart` after Cart, if the file names Cart and there is no LastCart.
    """
    variable = use.place.receiver
    bare = variable.replace("_", "").lower()
    is_class = use.at.family == "ruby" and variable[:1].isupper()  # `File` is no StaticFile
    if len(bare) < MIN_ALIKE or is_class:
        return []
    members = use.found.members_by_owner
    if alike := [owner for owner in members if owner.lower().endswith(bare)]:
        named = [owner for owner in alike if owner.lower() == bare] or alike
        return [d for owner in named for d in members[owner]]
    known = [owner for owner in members if use.mentions(owner)]
    called = [owner for owner in known if _ends_with_class(variable, owner)]
    longest = max(called, key=len, default="")
    of = [owner for owner in known if longest and owner.endswith(longest)]
    return [d for owner in of for d in members[owner]]


def of_required_table(use: OneUse) -> Sequence[Defined]:
    """Return the candidates in the Lua table of the file that a variable is named after.

    `local Loader = require("core.loader")` calls it Loader, and that file mostly calls it M.
    """
    names = {use.place.receiver, use.place.receiver.lower()}
    if not (use.scoping.imports == "table" and use.graph.imports(use.at, names)):
        return ()
    there = (d for d in use.candidates if not names.isdisjoint(d.at.modules))
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


def _declared_type(use: OneUse) -> str:
    """Return the type of a parameter, or of a field that classes around a use have or inherit.

    Empty if none of them is called like the receiver, or if its type is a type parameter.
    """
    for signature in _signatures(use):
        begin = _begin_of_variable(signature, use.place.receiver)
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


def _signatures(use: OneUse) -> Iterator[str]:
    """Yield the signatures that may declare the receiver, the nearest first.

    Around a local function that is a method, around a method the class with its constructor.
    """
    at = use.at
    if use.around is None:
        return
    yield use.around.signature
    fields = [d for d in use.graph.defined_for(at, use.place.receiver) if d.scope]
    scope = use.around.path
    while scope:
        yield from (
            d.signature
            for d in fields
            if d.scope == scope and (d.at.id == at.id or not at.scoping.whole_classes)
        )
        scope, _, outer = scope.rpartition(".")
        for base in use.lineages.of(at, outer)[1:]:
            inherited = [d for d in fields if d.owner == base]
            if len(inherited) == 1:
                yield inherited[0].signature
        named = use.graph.defined(scope.rpartition(".")[2])
        yield from (d.signature for d in named if d.path == scope and _is_around(use, d))


def _is_around(use: OneUse, defined: Defined) -> bool:
    """Whether a definition of the right path is around a use, be it in another part of it."""
    if defined.at.id == use.at.id:
        return defined.start_line <= use.place.line <= defined.end_line
    is_part = defined.is_type and not use.scoping.whole_classes
    return is_part and defined.at.realm == use.at.realm
