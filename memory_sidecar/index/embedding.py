"""Which rows of a database wait for their vectors, and giving them theirs slice by slice."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from typing import Generic

from memory_sidecar.index.models import Models
from memory_sidecar.index.pending import SLICE_TEXTS, embed_slice
from memory_sidecar.index.report import count_pending
from memory_sidecar.index.store_file import S, StoreFile


class Embedding(Generic[S]):
    """The third verb of an owner, who alone calls this."""

    def __init__(self, file: StoreFile[S], models: Models) -> None:
        self._file = file
        self._models = models

    def waiting(self) -> int:
        """How many rows have no vector yet."""
        store = self._file.open()
        with store.reading() as connection:
            return count_pending(connection, store.SCHEMA.corpora)

    def adopt_model(self) -> None:
        """Have the vectors of the model that is here now, if there is one."""
        if self._models.problem is None:
            self._file.open().adopt_model(self._models.files.sha256)

    def slices(
        self, sources: Collection[str] | None, *, stop: threading.Event
    ) -> Iterator[tuple[int, int]]:
        """Embed what waits of `sources`, or all; yields rows done and to do after each slice.

        Raises ModelError without a model. Setting `stop` ends it within one text.
        """
        store = self._file.open()
        self.adopt_model()
        chosen = store.pending_of(sources) if sources is not None else None
        total = self.waiting() if chosen is None else len(chosen)
        done = taken = 0
        while not stop.is_set() and (chosen is None or taken < total):
            if chosen is None:
                rows = store.pending(SLICE_TEXTS)
            else:
                rows = store.with_texts(chosen[taken : taken + SLICE_TEXTS])
            if not rows and chosen is None:
                return
            taken += SLICE_TEXTS
            if rows:
                done += embed_slice(
                    store, rows, embedder=self._models.embedder, cache=self._models.cache, stop=stop
                )
            yield done, max(done, total)
