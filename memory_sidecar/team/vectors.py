"""The vectors of one source at a team, which the machine that indexes it makes.

The source's row names the model and the table of static vectors that made them: machines with other
ones compare no question with them. Once the machine that indexes the source has another model or
table, installed or updated since, it makes all of them again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import partial

from memory_sidecar.embedding.models import Models
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.embed import SLICE_TEXTS, embed_in_turn
from memory_sidecar.team.code_write import copy_vectors
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.lease import VectorModels
from memory_sidecar.team.shared_files import SourceRow
from memory_sidecar.team.source import PostgresSource

STATIC_ROWS = 4096  # static vectors that one transaction writes

_CHUNKS = "FROM files f JOIN chunks c ON c.file = f.id WHERE f.source = %s"
_WITHOUT_STATIC = "NOT EXISTS (SELECT FROM chunk_static s WHERE s.id = c.id)"


def adopt_models(shared: PostgresSource, models: Models, stop: threading.Event) -> Iterator[None]:
    """Replace vectors that were not made by `models`; yields after each step.

    Those of another model are deleted and queued for `embed_pending_of`; static ones are computed.
    Raises DatabaseError, NoIndex and LeaseHeld.
    """
    made = VectorModels.of(models)
    with shared.link.reading() as connection:
        row = shared.own_row(connection)
    if row is not None and made.model not in ("", row.model):
        shared.change(lambda connection, row: _queue_all(connection, row, made.model))
        yield
    if row is None or models.static is None or row.static == made.static:
        return
    under_way = made.static_under_way
    shared.change(lambda connection, row: _clear_static(connection, row, under_way))
    while not stop.is_set():
        with shared.link.reading() as connection:
            heads = connection.execute(
                f"SELECT c.id, c.head {_CHUNKS} AND {_WITHOUT_STATIC} ORDER BY c.id LIMIT %s",
                (row.id, STATIC_ROWS),
            ).fetchall()
        if not heads:
            shared.change(lambda connection, row: _name_static(connection, row, made.static))
            return
        vectors = models.static.embed([head for _, head in heads])
        found = dict(zip([chunk for chunk, _ in heads], vectors, strict=True))
        shared.change(partial(_put_static, found=found))
        yield


def embed_pending_of(
    shared: PostgresSource, models: Models, stop: threading.Event
) -> Iterator[tuple[int, int]]:
    """Embed the pending chunks of a source; yields as `embed_pending`, whose callers rely on it.

    Raises DatabaseError, NoIndex, LeaseHeld and ModelError.
    """
    done = total = 0
    while not stop.is_set() and (rows := _pending(shared, models.files.sha256)):
        if done + len(rows) >= total:  # more chunks may have been queued since
            total = done + _count_pending(shared)
        so_far = done, total
        vectors = yield from embed_in_turn(models, [head for _, head in rows], stop, so_far)
        if vectors is None:
            return
        found = dict(zip([row for row, _ in rows], vectors, strict=True))
        shared.change(partial(_put_vectors, found=found))
        done += len(rows)
        yield done, max(done, total)


def _pending(shared: PostgresSource, model: str) -> list[tuple[int, str]]:
    """Return ids and heads of the next chunks without a vector, if `model` is the team's."""
    with shared.link.reading() as connection:
        row = shared.own_row(connection)
        if row is None or row.model != model:
            return []
        return connection.execute(
            "SELECT p.id, c.head FROM chunk_pending p JOIN chunks c ON c.id = p.id"
            " WHERE p.source = %s ORDER BY p.id LIMIT %s",
            (row.id, SLICE_TEXTS),
        ).fetchall()


def _count_pending(shared: PostgresSource) -> int:
    with shared.link.reading() as connection:
        row = shared.own_row(connection)
        ((count,),) = connection.execute(
            "SELECT count(*) FROM chunk_pending WHERE source = %s", (row.id if row else None,)
        )
    return int(count)


def _put_vectors(connection: Connected, row: SourceRow, found: Mapping[int, Floats]) -> None:
    """Write the vectors of chunks, by id; chunks replaced since they were read are skipped."""
    waiting = connection.execute(
        "DELETE FROM chunk_pending WHERE id = ANY(%s) RETURNING id, file", (list(found),)
    ).fetchall()
    with connection.cursor() as cursor:
        rows = [(chunk, row.id, file, found[chunk]) for chunk, file in waiting]
        copy_vectors(cursor, "chunk_vectors", rows)


def _queue_all(connection: Connected, row: SourceRow, model: str) -> None:
    connection.execute("DELETE FROM chunk_vectors WHERE source = %s", (row.id,))
    connection.execute(
        f"INSERT INTO chunk_pending SELECT c.id, f.source, f.id {_CHUNKS} ON CONFLICT DO NOTHING",
        (row.id,),
    )
    connection.execute("UPDATE sources SET model = %s WHERE id = %s", (model, row.id))


def _clear_static(connection: Connected, row: SourceRow, under_way: str) -> None:
    if row.static != under_way:  # else this call continues one that was interrupted
        connection.execute("DELETE FROM chunk_static WHERE source = %s", (row.id,))
        _name_static(connection, row, under_way)


def _name_static(connection: Connected, row: SourceRow, version: str) -> None:
    connection.execute("UPDATE sources SET static = %s WHERE id = %s", (version, row.id))


def _put_static(connection: Connected, row: SourceRow, found: Mapping[int, Floats]) -> None:
    lacking = connection.execute(
        f"SELECT c.id, c.file {_CHUNKS} AND {_WITHOUT_STATIC} AND c.id = ANY(%s)",
        (row.id, list(found)),
    ).fetchall()
    with connection.cursor() as cursor:
        rows = [(chunk, row.id, file, found[chunk]) for chunk, file in lacking]
        copy_vectors(cursor, "chunk_static", rows)
