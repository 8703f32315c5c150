"""Tells which namespaces of C# a file opens, by its own `using` or a global one."""

from __future__ import annotations

from memory_sidecar.code.graph import Graph, NamedFile


def opens(graph: Graph, at: NamedFile, namespace: str) -> bool:
    """Whether a file uses `namespace`, as far as its last two parts tell.

    A `global using` counts for all files below its folder.
    """
    above, _, last = namespace.rpartition(".")
    above = above.rpartition(".")[2]
    imported = "' ' || places || ' ' GLOB '* i[0-9]*' || ? || '[ =]*'"
    receiver = above and f".{above}"
    if not last or at.id in graph.users_of(last, imported, receiver):
        return True
    return any(
        at.file.path.startswith(_folder(graph, each).removesuffix("Properties/"))
        for each in graph.users_of(last, imported, f"{receiver}=global")
    )


def _folder(graph: Graph, file_id: int) -> str:
    """Return the folder of a file with a slash behind it; empty for the root of its source."""
    query = "SELECT filename FROM code_files WHERE id = ?"
    path: str = graph.connection.execute(query, (file_id,)).get
    return path[: path.rfind("/") + 1]
