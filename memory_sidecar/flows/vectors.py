"""Vectors follow: embeds the chunks that wait in the store, the latest change first.

The queue is a table, so an interrupted run goes on where it stopped. A chunk is embedded outside
of any transaction: a slow model must not hold the write lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from memory_sidecar.embedding.cache import VectorCache, cache_key
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.flows.codebase import KnownVectors
from memory_sidecar.model import Chunk
from memory_sidecar.store.codebase import CodeStore, Vector

BATCH_CHUNKS = 64  # committed together: about two seconds of embedding


def known_vectors(cache: VectorCache, model: str) -> KnownVectors:
    """Looks vectors up in the cache, for the transaction that writes their chunks."""

    def look_up(chunks: Sequence[Chunk]) -> Mapping[int, Vector]:
        keys = [cache_key(model, chunk.embedded_text) for chunk in chunks]
        found = cache.get_many(keys)
        return {at: found[key] for at, key in enumerate(keys) if key in found}

    return look_up


def embed_pending(
    store: CodeStore,
    *,
    embedder: Embedder,
    cache: VectorCache,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Give every waiting chunk its vector; returns how many were computed, not found.

    `progress` is called with the chunks done since the last call. Setting `stop` ends it within
    one batch. Raises ModelMissing where there is no model.
    """
    computed = 0
    while not (stop and stop.is_set()) and (waiting := store.pending(BATCH_CHUNKS)):
        texts = {
            cache_key(embedder.model.sha256, item.chunk.embedded_text): item.chunk.embedded_text
            for item in waiting
        }
        vectors = dict(cache.get_many(list(texts)))
        missing = [key for key in texts if key not in vectors]
        if missing:
            fresh = embedder.embed_passages([texts[key] for key in missing])
            computed_now = dict(zip(missing, fresh, strict=True))
            cache.put_many(computed_now)
            vectors |= computed_now
            computed += len(missing)
        store.put_vectors(
            [
                (item.chunk_id, vectors[cache_key(embedder.model.sha256, item.chunk.embedded_text)])
                for item in waiting
            ]
        )
        if progress is not None:
            progress(len(waiting))
    return computed
