"""Finds what paths of Rust mean: `super::name` and `crate::name`."""

from __future__ import annotations

from collections.abc import Sequence

from memory_sidecar.code.graph import Defined, NamedFile
from memory_sidecar.code.one_use import OneUse
from memory_sidecar.code.results import Confidence


def is_path_of_module(receiver: str, at: NamedFile) -> bool:
    """Whether `receiver` is a module of Rust above that of its file."""
    return at.scoping.module_paths and receiver in ("super", "crate")


def behind_path(use: OneUse) -> tuple[Sequence[Defined], Confidence]:
    """Return the tops that a name behind such a path may mean, and the confidence."""
    if around := _in_parent(use):
        return around, "exact"
    return _in_crate(use) or use.tops, "likely"


def _in_parent(use: OneUse) -> list[Defined]:
    """Return the tops in the module around that of the use; none for a path from `crate`.

    That module is the file itself if the module of the use is written inline in the file.
    """
    at = use.at
    if use.place.receiver == "crate":
        return []
    outer = use.around.path.partition(".")[0] if use.around else ""
    if any((d.at.id, d.kind) == (at.id, "module") for d in use.graph.defined(outer)):
        return [each for each in use.tops if each.at.id == at.id]
    is_folder = at.file.path.endswith("/mod.rs")
    folder = at.folder.rpartition("/")[0] if is_folder else at.folder
    names = (folder, *(f"{folder}/{each}".lstrip("/") for each in ("mod", "lib", "main")))
    return [each for each in use.tops if each.at.file.path.removesuffix(".rs") in names]


def _in_crate(use: OneUse) -> list[Defined]:
    """Return the tops in the crate of the use, as far as the folder `src` of its file tells."""
    crate, source, _ = use.at.file.path.rpartition("src/")
    return [each for each in use.tops if each.at.file.path.startswith(crate + source)]
