"""The chunks that are most like the one at a place, by their vectors."""

from __future__ import annotations

import numpy as np

from memory_sidecar.code.directory import Line
from memory_sidecar.code.results import CodeHit
from memory_sidecar.code.search import hit_of
from memory_sidecar.code.searched import Searched
from memory_sidecar.core.errors import NotFound


def related_chunks(rows: Searched, at: Line, *, top_k: int) -> list[CodeHit]:
    """The likest of `rows` first, without the chunk itself; `score` is the cosine.

    By the model's vector where there is one, else by the static one. Raises NotFound for a place
    that no chunk holds, or none with a vector.
    """
    chunk = rows.chunk_at(at)
    if chunk is None:
        hint = f"`memory-sidecar why {at.path}` says more"
        raise NotFound(f"nothing is indexed at {at.path}:{at.line}", hint=hint)
    for nearest, static in ((rows.by_vectors, False), (rows.by_static, True)):
        vector = rows.vector_of(chunk, static=static)
        if vector is not None:
            arm = nearest()(vector, top_k + 1)
            break
    else:
        raise NotFound(f"{at.path}:{at.line} has no vector yet", hint="ask again in a moment")
    ids = np.unique(arm.best(top_k + 1))
    scores = dict(zip(ids.tolist(), arm.scores_of(ids).tolist(), strict=True))
    scores.pop(chunk, None)
    best = sorted(scores, key=lambda each: (-scores[each], each))[:top_k]
    stored = {each.chunk_id: each for each in rows.read(best)}
    return [hit_of(rows.around, stored[each], scores[each]) for each in best]
