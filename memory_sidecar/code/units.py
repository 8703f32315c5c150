"""Tells what is one with a definition elsewhere: its prototype in C and C++, its stub in Python.

Also what only its own file sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from memory_sidecar.code.graph import Defined, Graph

# Not of the constructor of a class of Kotlin: `class Cart private constructor(…)`.
_PRIVATE = re.compile(r"(?:(?!protected |class )\w+ )*?private (?!protected )")
_OF_PLATFORM = re.compile(r"(?:\w+ )*?(?:actual|expect) ")


def identity_of(defined: Defined) -> tuple[object, str]:
    """Return where `defined` is, `None` for anywhere, and its path: `are_one` compares these.

    In C, only fields and methods in class bodies are of their file; in C#, types of a folder. What
    Kotlin expects has an actual definition on each platform.
    """
    file: object = defined.at.id
    if defined.at.family == "c":
        is_field_or_method = defined.kind in ("field", "method")
        is_inside = is_field_or_method and f"::{defined.name}" not in defined.signature
        file = file if is_inside else None
    elif defined.at.family == "csharp":
        file = not defined.is_type or "partial " in defined.signature or defined.at.folder
    elif defined.at.file.language == "kotlin" and _OF_PLATFORM.match(defined.signature):
        file = None
    return file, defined.path


def are_one(identities: Set[tuple[object, str]]) -> bool:
    """Whether definitions with these identities are one to their language, be it in several files.

    In C, these are a definition and its prototypes, and a method in the body of its class or not.
    """
    if len(identities) < 2:
        return bool(identities)
    is_one_path = len({path for _, path in identities}) == 1
    return is_one_path and len({at for at, _ in identities} - {None}) < 2


def is_hidden(graph: Graph, defined: Defined) -> bool:
    """Whether only its own file sees it: see `is_file_local`, or as private.

    What is private in a partial class of C# is seen by the files of all parts.
    """
    if not (defined.at.scoping.private_to_file and _PRIVATE.match(defined.signature)):
        return is_file_local(defined)
    around = graph.defined_for(defined.at, defined.owner)
    return not any(d.path == defined.scope and "partial " in d.signature for d in around)


def is_file_local(defined: Defined) -> bool:
    """Whether only its source file of C or C++ sees it: a static, a macro, a constant, a field."""
    is_static = defined.kind in ("function", "variable") and defined.signature.startswith("static ")
    is_header = defined.at.file.path.rpartition(".")[2].startswith(("h", "i"))  # or `.inc`
    is_seen_here = is_static or defined.kind in ("macro", "constant", "field")
    return defined.at.family == "c" and is_seen_here and not is_header


def with_declarations(graph: Graph, targets: Iterable[Defined]) -> Iterator[Defined]:
    """Yield `targets`, and what is one with them: prototypes, types of headers, stubbed names."""
    for each in targets:
        yield each
        if _is_stub(each):
            alike = (d for d in graph.defined_for(each.at, each.name) if not _is_stub(d))
            yield from (d for d in alike if _declared_as(d) == _declared_as(each))
        if each.at.family != "c" or each.kind == "macro":
            continue
        for other in graph.defined(each.name):
            is_same = other.at.file.source == each.at.file.source and are_one(
                {identity_of(each), identity_of(other)}
            )
            if is_same and other.kind != "macro" and _is_shared(each, other):
                yield other


def without_stubs(found: Sequence[Defined]) -> list[Defined]:
    """Leave out what a stub of Python declares of a module in its folder: uses mean the module's.

    `attr/__init__.pyi` may declare what `attr/_make.py` defines and `attr/__init__.py` re-exports.
    """
    declared = {_declared_as(each) for each in found if not _is_stub(each)}
    return [each for each in found if not (_is_stub(each) and _declared_as(each) in declared)]


def _declared_as(defined: Defined) -> tuple[object, ...]:
    """Return what a stub and the definition that it declares have in common."""
    return defined.at.folder, defined.path, defined.at.realm


def _is_stub(defined: Defined) -> bool:
    return defined.at.file.path.endswith(".pyi")


def _is_shared(one: Defined, other: Defined) -> bool:
    """Whether two of one name are of the same file, or of files that can share it."""
    is_local = is_file_local(one) or is_file_local(other)
    is_declared = not one.is_type or one.kind != other.kind  # `typedef struct cart cart;`
    return one.at.id == other.at.id or (is_declared and not is_local)
