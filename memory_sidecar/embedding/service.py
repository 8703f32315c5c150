"""Embeds passages through the cache: what it knows is read, what it lacks is embedded and kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from memory_sidecar.embedding.cache import VectorCache, vector_key
from memory_sidecar.embedding.embedder import Embedder, Vectors

KEEP_EVERY = 64  # passages embedded between two writes, about 2 s: what a kill can cost


def embed_texts(
    texts: Sequence[str],
    *,
    embedder: Embedder,
    cache: VectorCache,
    stop: threading.Event | None = None,
) -> Vectors:
    """The vectors of `texts` in their order, (n, dimension) float32 of length one each.

    Loads the model only when the cache lacks one of them; raises as `Embedder.embed_passages`.
    """
    keys = [vector_key(embedder.files.sha256, text) for text in texts]
    vectors = cache.get_many(keys)
    missing = [
        (key, text)
        for key, text in dict(zip(keys, texts, strict=True)).items()
        if key not in vectors
    ]
    for start in range(0, len(missing), KEEP_EVERY):
        part = missing[start : start + KEEP_EVERY]
        embedded = embedder.embed_passages([text for _, text in part], stop=stop)
        fresh = {key: vector for (key, _), vector in zip(part, embedded, strict=True)}
        cache.put_many(fresh)
        vectors.update(fresh)
    return np.stack([vectors[key] for key in keys]) if keys else embedder.embed_passages([])
