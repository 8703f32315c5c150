"""The chunks that are most like the one at a place, by their vectors."""

from __future__ import annotations

from typing import Any

from memory_sidecar.code.places import Line
from memory_sidecar.code.results import CodeHit
from memory_sidecar.code.search import hit_of
from memory_sidecar.code.searched import LocalRows
from memory_sidecar.code.store import CHUNKS, CodeStore
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.vectors import stored_vector


def related_chunks(
    connection: Connection, store: CodeStore, at: Line, *, top_k: int, wanted: CodeFilter
) -> list[CodeHit]:
    """The likest first, without the chunk itself; `score` is the cosine.

    By the model's vector where there is one, else by the static one. Raises NotFound for a place
    that no chunk holds, or none with a vector.
    """
    row: Any = connection.execute(
        "SELECT id FROM code_chunks WHERE source = ? AND filename = ?"
        " AND start_line <= ? AND end_line >= ?",
        (at.source, at.path, at.line, at.line),
    ).fetchone()
    if row is None:
        hint = f"`memory-sidecar why {at.path}` says more"
        raise NotFound(f"nothing is indexed at {at.path}:{at.line}", hint=hint)
    (chunk_id,) = row
    for index in (store.vectors[CHUNKS], store.static[CHUNKS]):
        vector = stored_vector(connection, index.table, chunk_id)
        if vector is not None:
            break
    else:
        raise NotFound(f"{at.path}:{at.line} has no vector yet", hint="ask again in a moment")
    rows = LocalRows(connection, store, wanted)
    ids, cosines = index.view(connection).nearest(vector, top_k + 1, rows.allowed)
    scores = dict(zip(ids.tolist(), cosines.tolist(), strict=True))
    scores.pop(chunk_id, None)
    best = sorted(scores, key=lambda each: (-scores[each], each))[:top_k]
    stored = {chunk.chunk_id: chunk for chunk in rows.read(best)}
    return [hit_of(rows.around, stored[each], scores[each]) for each in best]
