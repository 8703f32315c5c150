"""Vectors follow: embeds the chunks that wait in the store, the latest change first.

The queue is a table, so an interrupted run goes on where it stopped. A chunk is embedded outside
of any transaction: a slow model must not hold the write lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from memory_sidecar.embedding.cache import VectorCache, vector_key
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.embedding.service import embed_texts
from memory_sidecar.flows.codebase import KnownVectors
from memory_sidecar.model import Chunk
from memory_sidecar.store.codebase import CodeStore, Vector

BATCH_CHUNKS = 32  # committed together: about a second of embedding


def known_vectors(cache: VectorCache, model: str) -> KnownVectors:
    """Looks vectors up in the cache, for the transaction that writes their chunks."""

    def look_up(chunks: Sequence[Chunk]) -> Mapping[int, Vector]:
        keys = [vector_key(model, chunk.embedded_text) for chunk in chunks]
        found = cache.get_many(keys)
        return {at: found[key] for at, key in enumerate(keys) if key in found}

    return look_up


def embed_pending(
    store: CodeStore,
    *,
    embedder: Embedder,
    cache: VectorCache,
    turn: threading.Lock,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Give every waiting chunk its vector; returns how many got one.

    Several callers share the queue batch by batch, by taking `turn`. `progress` hears how many
    have theirs so far. Setting `stop` ends it within one batch.
    """
    embedded = 0
    while not (stop and stop.is_set()):
        with turn:
            waiting = store.pending(BATCH_CHUNKS)
            if not waiting:
                break
            texts = [item.chunk.embedded_text for item in waiting]
            vectors = embed_texts(texts, embedder=embedder, cache=cache)
            store.put_vectors([(item.chunk_id, vectors[at]) for at, item in enumerate(waiting)])
        embedded += len(waiting)
        if progress is not None:
            progress(embedded)
    return embedded
