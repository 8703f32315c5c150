"""Vectors follow: embeds the texts that wait in the store, the latest change first.

The queue is a table, so an interrupted run goes on where it stopped. A text is embedded outside
of any transaction: a slow model must not hold the write lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from memory_sidecar.embedding.cache import VectorCache, vector_key
from memory_sidecar.embedding.embedder import Embedder, EmbeddingStopped
from memory_sidecar.embedding.service import embed_texts
from memory_sidecar.flows.source import KnownVectors
from memory_sidecar.store.derived import DerivedStore
from memory_sidecar.store.vectors import Vector

BATCH_TEXTS = 32  # committed together: about a second of embedding


def known_vectors(cache: VectorCache, model: str) -> KnownVectors:
    """Looks vectors up in the cache, for the transaction that writes their rows."""

    def look_up(texts: Collection[str]) -> Mapping[str, Vector]:
        keys = {vector_key(model, text): text for text in texts}
        found = cache.get_many(list(keys))
        return {keys[key]: vector for key, vector in found.items()}

    return look_up


def embed_pending(
    store: DerivedStore,
    *,
    embedder: Embedder,
    cache: VectorCache,
    turn: threading.Lock,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Give every waiting row its vector; returns how many got one.

    Several callers share the queue batch by batch, by taking `turn`. `progress` hears how many
    have theirs so far. Setting `stop` ends it within one text.
    """
    embedded = 0
    while not (stop and stop.is_set()):
        with turn:
            waiting = store.pending(BATCH_TEXTS)
            if not waiting:
                break
            texts = [item.text for item in waiting]
            try:
                vectors = embed_texts(texts, embedder=embedder, cache=cache, stop=stop)
            except EmbeddingStopped:
                break
            store.put_vectors(list(zip(waiting, vectors, strict=True)))
        embedded += len(waiting)
        if progress is not None:
            progress(embedded)
        if len(waiting) < BATCH_TEXTS:  # whoever adds to the queue sees to that afterwards
            break
    return embedded
