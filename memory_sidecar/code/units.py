"""Tells what files of C and C++ share: a prototype and its definition elsewhere are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memory_sidecar.code.graph import Defined, Graph


def is_file_local(defined: Defined) -> bool:
    """Whether only its source file of C or C++ sees it: a static, a macro, a constant, a field."""
    is_static = defined.kind in ("function", "variable") and defined.signature.startswith("static ")
    is_header = defined.at.file.path.rpartition(".")[2].startswith(("h", "i"))  # or `.inc`
    is_seen_here = is_static or defined.kind in ("macro", "constant", "field")
    return defined.at.family == "c" and is_seen_here and not is_header


def with_declarations(graph: Graph, targets: Iterable[Defined]) -> Iterator[Defined]:
    """Yield `targets`, and what is one with them in C and C++: prototypes, and types of headers."""
    for each in targets:
        yield each
        if each.at.family != "c" or each.kind == "macro":
            continue
        for other in graph.defined(each.name):
            is_same = (other.identity, other.at.file.source) == (each.identity, each.at.file.source)
            if is_same and other.kind != "macro" and _is_shared(each, other):
                yield other


def _is_shared(one: Defined, other: Defined) -> bool:
    """Whether two of one name are of the same file, or of files that can share it."""
    is_local = is_file_local(one) or is_file_local(other)
    is_declared = not one.is_type or one.kind != other.kind  # `typedef struct cart cart;`
    return one.at.id == other.at.id or (is_declared and not is_local)
