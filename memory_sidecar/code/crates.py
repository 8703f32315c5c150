"""Finds what paths of Rust mean: `super::name` and `crate::name`."""

from __future__ import annotations

from collections.abc import Sequence

from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.code.results import Confidence


def is_path_of_module(receiver: str, at: NamedFile) -> bool:
    """Whether `receiver` is a module of Rust above that of its file."""
    return at.scoping.module_paths and receiver in ("super", "crate")


def behind_path(
    graph: Graph, at: NamedFile, place: Place, found: Sequence[Defined]
) -> tuple[Sequence[Defined], Confidence]:
    """Return those of `found` that a name behind such a path may mean, and the confidence."""
    if around := _in_parent(graph, at, place, found):
        return around, "exact"
    return _in_crate(at, found) or found, "likely"


def _in_parent(
    graph: Graph, at: NamedFile, place: Place, found: Sequence[Defined]
) -> list[Defined]:
    """Return those of `found` in the module around that of `place`; none for a path from `crate`.

    That module is the file itself if the module of the place is written inline in the file.
    """
    if place.receiver == "crate":
        return []
    around = graph.enclosing(at, place)
    outer = around.path.partition(".")[0] if around else ""
    if any((d.at.id, d.kind) == (at.id, "module") for d in graph.defined(outer)):
        return [each for each in found if each.at.id == at.id]
    is_folder = at.file.path.endswith("/mod.rs")
    folder = at.folder.rpartition("/")[0] if is_folder else at.folder
    names = (folder, *(f"{folder}/{each}".lstrip("/") for each in ("mod", "lib", "main")))
    return [each for each in found if each.at.file.path.removesuffix(".rs") in names]


def _in_crate(at: NamedFile, found: Sequence[Defined]) -> list[Defined]:
    """Return those of `found` in the crate of a file, as far as its folder `src` tells."""
    crate, source, _ = at.file.path.rpartition("src/")
    return [each for each in found if each.at.file.path.startswith(crate + source)]
