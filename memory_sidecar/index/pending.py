"""Vectors follow: embeds the texts that wait in the store, the latest change first.

The queue is a table, so an interrupted run goes on where it stopped. A text is embedded outside
of any transaction: a slow model must not hold the write lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping, Sequence

from memory_sidecar.embedding.cache import VectorCache, vector_key
from memory_sidecar.embedding.embedder import Embedder, EmbeddingStopped
from memory_sidecar.embedding.service import embed_texts
from memory_sidecar.index.derived import DerivedStore, PendingText
from memory_sidecar.index.source import KnownVectors
from memory_sidecar.index.vectors import Vector

SLICE_TEXTS = 8 * max(min(os.cpu_count() or 1, 8), 2)  # about half a second of embedding


def known_vectors(cache: VectorCache, model: str) -> KnownVectors:
    """Looks vectors up in the cache, for the transaction that writes their rows."""

    def look_up(texts: Collection[str]) -> Mapping[str, Vector]:
        keys = {vector_key(model, text): text for text in texts}
        found = cache.get_many(list(keys))
        return {keys[key]: vector for key, vector in found.items()}

    return look_up


def embed_slice(
    store: DerivedStore,
    waiting: Sequence[PendingText],
    *,
    embedder: Embedder,
    cache: VectorCache,
    stop: threading.Event,
) -> int:
    """Give these rows their vectors, in one transaction; returns how many got one.

    Setting `stop` ends it within one text, with none.
    """
    texts = [item.text for item in waiting]
    try:
        vectors = embed_texts(texts, embedder=embedder, cache=cache, stop=stop)
    except EmbeddingStopped:
        return 0
    store.put_vectors(list(zip(waiting, vectors, strict=True)))
    return len(waiting)
