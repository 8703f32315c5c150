"""Tells what a file of C# sees: of its own namespaces, and of those that a `using` opens to it."""

from __future__ import annotations

from collections.abc import Sequence

from memory_sidecar.code.graph import Defined, Graph
from memory_sidecar.code.one_use import OneUse


def seen_from(use: OneUse, tops: Sequence[Defined]) -> Sequence[Defined]:
    """Return those of `tops` in the nearest namespace around a use; if none, in opened ones."""
    around = use.around or use.graph.first_definition(use.at)
    path = f"{around.path if around else ''}."
    beside = [d for d in tops if path.startswith(f"{d.scope}.")]
    longest = max((len(d.scope) for d in beside), default=0)
    seen = [d for d in beside if len(d.scope) == longest]
    return seen or [d for d in tops if _opens(use, d.scope)]


def of_seen_class(use: OneUse, members: Sequence[Defined]) -> Sequence[Defined]:
    """Return those of `members`, of classes of one name, whose class is seen; all, if none is.

    Empty if no class is called so, but a namespace.
    """
    types = [d for d in use.graph.defined_for(use.at, members[0].owner) if d.is_type]
    seen = {d.path for d in seen_from(use, types)}
    return [d for d in members if d.scope in seen] or (types and members)


def _opens(use: OneUse, namespace: str) -> bool:
    """Whether the file of a use opens `namespace`, as far as its last two parts tell.

    A `global using` counts for all files below its folder.
    """
    above, _, last = namespace.rpartition(".")
    above = above.rpartition(".")[2]
    imported = "' ' || places || ' ' GLOB '* i[0-9]*' || ? || '[ =]*'"
    receiver = above and f".{above}"
    if not last or use.at.id in use.graph.users_of(last, imported, receiver):
        return True
    return any(
        use.at.file.path.startswith(_folder(use.graph, each).removesuffix("Properties/"))
        for each in use.graph.users_of(last, imported, f"{receiver}=global")
    )


def _folder(graph: Graph, file_id: int) -> str:
    """Return the folder of a file with a slash behind it; empty for the root of its source."""
    query = "SELECT filename FROM code_files WHERE id = ?"
    path: str = graph.connection.execute(query, (file_id,)).get
    return path[: path.rfind("/") + 1]
