"""Embeds the rows that wait for a vector, slice by slice.

The queue of each corpus is a table, so an interrupted run resumes where it stopped. Texts are
embedded outside of any transaction: a slow model must not hold the write lock.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

from memory_sidecar.core.process import available_cores
from memory_sidecar.core.sqlite import column
from memory_sidecar.embedding.cache import vector_key
from memory_sidecar.embedding.embedder import FEW_PASSAGES, EmbeddingStopped
from memory_sidecar.embedding.models import Models
from memory_sidecar.embedding.static import StaticEmbedder
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.report import count_pending
from memory_sidecar.index.schema import Corpus, read_identity, write_identity
from memory_sidecar.index.vectors import Vector
from memory_sidecar.index.writing import QUEUED_LAST, ReadyVectors

_THREADS = max(min(available_cores(), 8), 2)
SLICE_TEXTS = 8 * _THREADS  # take about a quarter of a second, which a request may have to wait
SLICE_CHARACTERS = 5_000 * _THREADS  # or so many, as memories and messages are longer than chunks

TURN_POLL_S = 0.05
T = TypeVar("T")

STATIC_ROWS = 4096  # static vectors that are stored in one transaction


@dataclass(frozen=True, slots=True)
class PendingText:
    """A row that waits for its vector."""

    corpus: Corpus
    row_id: int
    text: str
    queued_at: int = 0  # by the pass that wrote it, epoch ms; 0: can wait


def vector_lookup(
    models: Models, corpora: Collection[Corpus]
) -> Callable[[Collection[str]], ReadyVectors]:
    """Make a function that finds the cached and the static vectors of texts of `corpora`."""
    model, has_static = models.sha256, any(corpus.has_static for corpus in corpora)

    def look_up(texts: Collection[str]) -> ReadyVectors:
        different = list(dict.fromkeys(texts))
        known: Mapping[str, Vector] = {}
        if model is not None:
            keys = {vector_key(model, text): text for text in different}
            found = models.cache.get_many(list(keys))
            known = {keys[key]: vector for key, vector in found.items()}
        static = models.static if has_static and different else None
        if static is None:
            return ReadyVectors(known, {})
        vectors = static.embed(different, between=models.gate.pass_through)
        return ReadyVectors(known, dict(zip(different, vectors, strict=True)))

    return look_up


def embed_pending(
    store: DerivedStore,
    models: Models,
    parts: Collection[tuple[str, str]] | None,
    stop: threading.Event,
) -> Iterator[tuple[int, int]]:
    """Embed the pending rows of `parts`, or all; yield rows done and in total after each slice.

    Also yields again and again while other databases embed. A part is a source and a folder in it,
    "" for all of the source. Each slice is one transaction. Raises ModelError without a model.
    Setting `stop` ends this within one text, without the vectors of the slice under way.
    """
    adopt_model(store, models.sha256)
    if parts is None:
        total, slices = count_waiting(store), _slices_in_turn(store)
    else:
        chosen = _pending_of(store, parts)
        total, slices = len(chosen), _slices_of(store, chosen)
    done = 0
    while not stop.is_set() and (rows := next(slices, None)):
        so_far = done, max(done, total)
        vectors = yield from embed_in_turn(models, [row.text for row in rows], stop, so_far)
        if vectors is None:
            return
        put_vectors(store, list(zip(rows, vectors, strict=True)))
        done += len(rows)
        if parts is None and done >= total:  # more rows may have been queued since `total`
            total = done + count_waiting(store)
        yield done, max(done, total)


def embed_in_turn(
    models: Models, texts: Sequence[str], stop: threading.Event, so_far: T
) -> Generator[T, None, Floats | None]:
    """Return the vectors of `texts`, or None if `stop` is set meanwhile. Raises ModelError.

    Databases take turns, unless the texts are few. While another has the turn, yields `so_far`
    again and again, so that the callers of this database are served.
    """
    turn = models.turn if len(texts) > FEW_PASSAGES else threading.Lock()
    while not turn.acquire(timeout=TURN_POLL_S):
        if stop.is_set():
            return None
        yield so_far
    try:
        return models.embed(texts, stop=stop)
    except EmbeddingStopped:
        return None
    finally:
        turn.release()


EmbedPending = Callable[
    [DerivedStore, Models, Collection[tuple[str, str]] | None, threading.Event],
    Iterator[tuple[int, int]],
]
"""The type of `embed_pending`, and of functions that embed elsewhere, too."""


def count_waiting(store: DerivedStore, corpora: Collection[Corpus] | None = None) -> int:
    """Count the rows of `corpora`, by default all, that wait for a vector."""
    with store.reading() as connection:
        return count_pending(connection, store.SCHEMA.corpora if corpora is None else corpora)


def adopt_model(store: DerivedStore, model: str | None) -> None:
    """Note that the vectors here are those of `model`, the hash of its file.

    If they were of another model, delete them all and queue every row. With None they stay.
    """
    if model is None:
        return
    with store.reading() as connection:
        if read_identity(connection, "model") == model:
            return
    with store.writing() as write:
        for corpus in store.SCHEMA.corpora:
            write.clear_vectors(corpus.vector_table)
            write.connection.execute(
                f"INSERT OR IGNORE INTO {corpus.pending} SELECT id, ? FROM {corpus.rows}",
                (write.now,),
            )
        write_identity(write.connection, "model", model)


def adopt_static(store: DerivedStore, models: Models) -> None:
    """Give every row a static vector of the installed table, unless they have those already.

    Without a table old static vectors stay: no question is compared with them.
    """
    tables = {corpus: table for corpus in store.SCHEMA.corpora if (table := corpus.static_table)}
    with store.reading() as connection:
        if read_identity(connection, "static") == StaticEmbedder.version:
            return
        static = models.static if tables else None  # the first use compares 16 MB with a hash
        if static is None:
            return
        texts: dict[Corpus, list[Any]] = {
            corpus: connection.execute(
                f"SELECT id, {corpus.text} FROM {corpus.rows} ORDER BY id"
            ).fetchall()
            for corpus in tables
        }
    with store.writing() as write:
        for table in tables.values():
            write.clear_vectors(table)
    for corpus, table in tables.items():
        for at in range(0, len(texts[corpus]), STATIC_ROWS):
            part = texts[corpus][at : at + STATIC_ROWS]
            vectors = static.embed([text for _, text in part])
            with store.writing() as write:
                for (row_id, _), vector in zip(part, vectors, strict=True):
                    write.put_vector(table, row_id, vector)
    with store.writing() as write:
        write_identity(write.connection, "static", static.version)


def _slices_in_turn(store: DerivedStore) -> Iterator[Sequence[PendingText]]:
    """Yield the rows to embed, slice by slice: every other slice is of the newest pass.

    The slices between rotate through the older passes, so that no source waits for another.
    """
    older = 0  # `queued_at` of the last rows of an older pass
    while rows := _first_slice(next_pending(store, SLICE_TEXTS)):
        newest = rows[0].queued_at
        yield rows
        for before in (older, newest):
            if before and (rows := _first_slice(next_pending(store, SLICE_TEXTS, before=before))):
                older = rows[-1].queued_at
                yield rows
                break


def _first_slice(rows: Sequence[PendingText]) -> Sequence[PendingText]:
    """Return the leading `rows` that make one slice: more than FEW_PASSAGES, if there are."""
    ends = [*accumulate(len(row.text) for row in rows)]
    return rows[: max(bisect_right(ends, SLICE_CHARACTERS), FEW_PASSAGES + 1)]


def next_pending(
    store: DerivedStore, limit: int, *, before: int | None = None
) -> list[PendingText]:
    """Return the next `limit` rows to embed, by corpus: the newest pass first, in order of writing.

    Rows that can wait (see `Write.index_row`) come after all passes. `before` (epoch ms) leaves
    only rows of passes that were queued earlier.
    """
    older = f" WHERE queued_at > {QUEUED_LAST} AND queued_at < {before}" if before else ""
    found: list[PendingText] = []
    with store.reading() as connection:
        for corpus in store.SCHEMA.corpora:
            rows: list[Any] = connection.execute(
                f"SELECT id, {corpus.text}, queued_at"
                # Chosen before the join: sorting 43,000 rows with their text took 70 ms, not 8.
                f" FROM (SELECT id, queued_at FROM {corpus.pending}{older}"
                " ORDER BY queued_at DESC, id LIMIT ?)"
                f" JOIN {corpus.rows} USING (id) ORDER BY queued_at DESC, id",
                (limit - len(found),),
            ).fetchall()
            found += [PendingText(corpus, *row) for row in rows]
            if len(found) == limit:
                break
    return found


def put_vectors(store: DerivedStore, vectors: Sequence[tuple[PendingText, Vector]]) -> None:
    """Store the vectors of rows, except of those that were replaced since they were read."""
    with store.writing() as write:
        for row, vector in vectors:
            if write.connection.execute(
                f"DELETE FROM {row.corpus.pending} WHERE id = ? RETURNING 1", (row.row_id,)
            ).get:
                write.put_vector(row.corpus.vector_table, row.row_id, vector)


def _pending_of(store: DerivedStore, parts: Collection[tuple[str, str]]) -> list[PendingText]:
    """Return the pending rows of `parts`, without their text."""
    found: list[PendingText] = []
    with store.reading() as connection:
        for corpus in store.SCHEMA.corpora:
            for source, folder in parts:
                ids = column(
                    connection,
                    f"SELECT id FROM {corpus.pending} JOIN {corpus.rows} USING (id)"
                    f" WHERE {corpus.source} = ?1 AND (?2 = '' OR"
                    f" {corpus.path} > ?2 || '/' AND {corpus.path} < ?2 || '0')"  # 0 follows /
                    " ORDER BY queued_at DESC, id",
                    (source, folder),
                )
                found += [PendingText(corpus, row_id, "") for row_id in ids]
    return found


def _slices_of(
    store: DerivedStore, chosen: Sequence[PendingText]
) -> Iterator[Sequence[PendingText]]:
    """Yield those of `chosen` that still wait for a vector, with their text, slice by slice."""
    for at in range(0, len(chosen), SLICE_TEXTS):
        rows = []
        with store.reading() as connection:
            for row in chosen[at : at + SLICE_TEXTS]:
                text: Any = connection.execute(
                    f"SELECT {row.corpus.text} FROM {row.corpus.rows}"
                    f" JOIN {row.corpus.pending} USING (id) WHERE id = ?",
                    (row.row_id,),
                ).get
                if text is not None:
                    rows.append(PendingText(row.corpus, row.row_id, text))
        while rows:
            yield (part := _first_slice(rows))
            rows = rows[len(part) :]
