"""A cache of vectors by content, so that a text is embedded once for each model.

A broken file is set aside and replaced; one that cannot be used is left alone for a while. Either
is logged once. Several processes may use the file at once. `embed_texts` embeds through it.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np
from filelock import FileLock

from memory_sidecar.core.errors import (
    CannotWrite,
    PathRefused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
)
from memory_sidecar.core.locks import naming_lack_of_locks
from memory_sidecar.core.sqlite import (
    APPLICATION_ID,
    connect,
    named_errors,
    set_aside,
    transaction,
)
from memory_sidecar.core.times import DAY_MS, Clock, system_clock
from memory_sidecar.embedding.embedder import Embedder, Floats

KEEP_EVERY = 64  # passages embedded between two writes, about 2 s: what a kill can cost

Answer = TypeVar("Answer")

MAX_ROWS = 400_000  # about 800 MB
TRIM_EVERY_ROWS = 20_000  # written by one process, which exceeds the limit by no more
RETRY_S = 60.0  # after an error, such as a full disk
REPLACE_PATIENCE_S = 10.0  # while another process checks or replaces a broken file
CACHE_KIB = 4 * 1024  # keys come in no order: more of the file in memory would not help
SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE vectors (
    key      BLOB PRIMARY KEY,   -- vector_key()
    vector   BLOB NOT NULL,      -- float32, little-endian
    used_day INTEGER NOT NULL    -- days since 1970: coarse, so that most reads write nothing
) STRICT;
"""

_log = logging.getLogger(__name__)


def vector_key(model_sha256: str, text: str) -> bytes:
    """Return the key, 16 bytes, of the vector that a model makes of a passage."""
    named = hashlib.blake2b(model_sha256.encode(), digest_size=16)
    named.update(b"\0")
    named.update(text.encode("utf-8", "surrogatepass"))
    return named.digest()


class VectorCache:
    """The cache: vectors by key, in one SQLite file. Thread-safe."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = system_clock,
        now_s: Callable[[], float] = time.monotonic,
        max_rows: int = MAX_ROWS,
    ) -> None:
        """Beyond `max_rows`, the least recently used vectors are deleted."""
        self.path = path
        self._clock = clock
        self._now_s = now_s
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._off_until_s = 0.0
        self._logged = ""  # why it is off
        self._rows_since_trim = TRIM_EVERY_ROWS  # unknown, so the first write trims

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Floats]:
        """Return the cached vectors of `keys`, by key, as read-only arrays."""
        wanted = tuple(set(keys))
        if not wanted:
            return {}
        return self._attempt(lambda connection: self._get(connection, wanted), otherwise={})

    def put_many(self, vectors: Mapping[bytes, Floats]) -> None:
        """Store `vectors`, in one transaction."""
        if vectors:
            self._attempt(lambda connection: self._put(connection, vectors), otherwise=None)

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def _get(self, connection: apsw.Connection, wanted: tuple[bytes, ...]) -> dict[bytes, Floats]:
        today = self._today()
        found: dict[bytes, Floats] = {}
        stale: list[bytes] = []
        for key, vector, used_day in connection.execute(
            "SELECT key, vector, used_day FROM vectors WHERE key IN carray(?)",
            (apsw.carray(wanted),),
        ):
            found[key] = np.frombuffer(vector, dtype="<f4")
            if used_day < today:
                stale.append(key)
        if stale:
            with suppress(CannotWrite), transaction(connection):
                connection.execute(
                    "UPDATE vectors SET used_day = ? WHERE key IN carray(?)",
                    (today, apsw.carray(tuple(stale))),
                )
        return found

    def _put(self, connection: apsw.Connection, vectors: Mapping[bytes, Floats]) -> None:
        today = self._today()
        with transaction(connection):
            connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)",
                ((key, vector.astype("<f4").tobytes(), today) for key, vector in vectors.items()),
            )
        self._rows_since_trim += len(vectors)
        if self._rows_since_trim >= min(TRIM_EVERY_ROWS, self._max_rows):
            self._rows_since_trim = 0
            _trim(connection, self._max_rows)

    def _attempt(self, task: Callable[[apsw.Connection], Answer], *, otherwise: Answer) -> Answer:
        """Return what `task` returns, or `otherwise` if the file cannot be used."""
        with self._lock:
            if self._now_s() < self._off_until_s:
                return otherwise
            try:
                try:
                    answer = self._run(task)
                except (StoreCorrupt, StoreForeign):
                    self._disconnect()
                    _begin_anew(self.path)
                    answer = self._run(task)
            except StoreBusy:
                return otherwise  # another process writes for long; the next call tries again
            except (StoreError, PathRefused) as error:  # the latter for a link
                self._off_until_s = self._now_s() + RETRY_S
                self._disconnect()
                if error.message != self._logged:
                    self._logged = error.message
                    _log.warning("vectors are not remembered: %s", error.message)
                return otherwise
            self._logged = ""
            return answer

    def _run(self, task: Callable[[apsw.Connection], Answer]) -> Answer:
        with named_errors(self.path):
            if self._connection is None:
                self._connection = _open(self.path)
            return task(self._connection)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _today(self) -> int:
        return self._clock() // DAY_MS


def _open(path: Path) -> apsw.Connection:
    """Open the cache, made if missing. Raises StoreForeign for any other database."""
    connection = connect(path, cache_kib=CACHE_KIB)
    try:
        with transaction(connection):
            _require_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_schema(connection: apsw.Connection) -> None:
    if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        connection.execute(SCHEMA)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)
    found = (connection.pragma("application_id"), connection.pragma("user_version"))
    if found != (APPLICATION_ID, SCHEMA_VERSION):
        raise StoreForeign(f"{connection.filename} is not a vector cache of this version")


def _begin_anew(path: Path) -> None:
    """Set a broken file aside, unless another process has already replaced it."""
    lock = FileLock(f"{path}.lock", timeout=REPLACE_PATIENCE_S, fallback_to_soft=False)
    with named_errors(path), naming_lack_of_locks(path), lock:
        if _is_sound(path):
            return
        if path.exists():
            set_aside(path)
    _log.warning("%s was broken and is moved to %s.old", path, path.name)


def _is_sound(path: Path) -> bool:
    try:
        connection = _open(path)
    except (StoreCorrupt, StoreForeign):
        return False
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").get == "ok")
    except (apsw.CorruptError, apsw.NotADBError):
        return False
    finally:
        connection.close()


def _trim(connection: apsw.Connection, max_rows: int) -> None:
    """Delete the least recently used vectors until `max_rows` are left.

    New vectors fill the freed room: shrinking the file in between takes twice as long again.
    """
    with transaction(connection):
        rows: Any = connection.execute("SELECT count(*) FROM vectors").get
        if rows <= max_rows:
            return
        connection.execute(
            "DELETE FROM vectors WHERE rowid IN"
            " (SELECT rowid FROM vectors ORDER BY used_day, rowid LIMIT ?)",
            (rows - max_rows,),
        )


def embed_texts(
    texts: Sequence[str],
    *,
    embedder: Embedder,
    cache: VectorCache,
    stop: threading.Event | None = None,
) -> Floats:
    """Return the vectors of `texts` in order, (n, dimension) float32 of length one each.

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
