"""The file of a database: opened when first used, and set aside if it is damaged.

What was set aside is deleted once another has been made from the files.
Idle connections are closed, and so are those of the least recently used databases if a process has
very many open.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from memory_sidecar.core.errors import StoreBusy, StoreCorrupt
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.sqlite import named_errors, set_aside
from memory_sidecar.core.times import Clock
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.engine_state import drop_aside, kept_aside
from memory_sidecar.index.report import scanned_sources
from memory_sidecar.index.schema import found_version

OLDER_PATIENCE_S, OLDER_POLL_S = 5.0, 0.05  # waiting for a process that writes an older schema
MAX_OPEN = 8  # files of one process with connections: each takes about ten descriptors

S = TypeVar("S", bound=DerivedStore)

_open_stores: OrderedDict[Path, DerivedStore] = OrderedDict()
"""The stores of this process with open connections, by last use."""
_counting = threading.Lock()  # guards `_open_stores`


def _note_use(store: DerivedStore) -> None:
    """Note that `store` is used now; beyond MAX_OPEN, the least recently used one rests."""
    with _counting:
        _open_stores[store.path] = store
        _open_stores.move_to_end(store.path)
        surplus = max(len(_open_stores) - MAX_OPEN, 0)
        resting = [_open_stores.popitem(last=False)[1] for _ in range(surplus)]
    for each in resting:
        each.rest()


class StoreFile(Generic[S]):
    """The database at `path`, and its writer's lock. Thread-safe."""

    def __init__(self, paths: StorePaths, store: type[S], *, clock: Clock) -> None:
        self.paths = paths
        self.path = paths.db
        self.clock = clock
        self.used_at_s = time.monotonic()  # when `open` was last called
        self.generation = 0  # how many times it was set aside for a new one
        self._type = store
        self._store: S | None = None
        self._writer_lock: WriterLock | None = None
        self._lock = threading.RLock()
        self._was_outdated = False

    @property
    def lock(self) -> WriterLock:
        """The writer's lock, made when first needed: readers hardly ever need it."""
        with self._lock:
            if self._writer_lock is None:
                self._writer_lock = WriterLock(
                    self.paths.writer_lock, data_dir=self.path.parent, tree=self.paths.tree
                )
            return self._writer_lock

    def open(self) -> S:
        """Return the store, whatever it holds. Raises StoreCorrupt if its file was taken away.

        Raises StoreBusy if its schema is older, and another process writes it.
        """
        self.used_at_s = time.monotonic()
        with self._lock:
            if self._store is None:
                self._store = self._opened()
            else:
                self._store.require_in_place()
            _note_use(self._store)
            return self._store

    @property
    def is_outdated(self) -> bool:
        """Whether the database has an older schema, so that the next `open` makes it anew."""
        schema = self._type.SCHEMA
        return found_version(self.path, schema) not in (0, schema.version)

    def take_outdated(self) -> bool:
        """Return whether the database had an older schema when it was opened; true only once."""
        with self._lock:
            was, self._was_outdated = self._was_outdated, False
            return was

    def rest(self) -> None:
        """Close idle connections; the next use opens new ones."""
        with self._lock:
            if self._store is not None:
                self._store.rest()

    def unload(self) -> None:
        """Free the vectors in memory, too; the next query reads them again."""
        with self._lock:
            if self._store is not None:
                self._store.unload()

    def close(self) -> None:
        with self._lock:
            self._close()

    def start_over(self) -> None:
        """Set the database aside, so that the next `open` makes one; keep one that is new already.

        The caller holds the writer's lock. Raises StoreForeign and StoreNewer for what is not ours.
        """
        with self._lock, named_errors(self.path):
            self.generation += 1
            was_in_place = self._store is None or self._store.is_in_place
            self._close(keeps_log=True)
            with suppress(StoreCorrupt):
                if found_version(self.path, self._type.SCHEMA) and not was_in_place:
                    return  # else two processes would set aside each other's without end
            if self.path.exists():
                set_aside(self.path)

    def drop_aside(self, *, needed: Collection[str]) -> None:
        """Delete what was set aside of the database once the sources `needed` are scanned here.

        Until then it alone may know them, should their list be lost.
        """
        if kept_aside(self.paths):
            with self.open().reading() as connection:
                if scanned_sources(connection).issuperset(needed):
                    drop_aside(self.paths)

    def _opened(self) -> S:
        """Open the store, but an outdated one only under the writer's lock.

        Else a running older daemon would go on writing to the file that is set aside.
        """
        until_s = time.monotonic() + OLDER_PATIENCE_S
        while self.is_outdated:
            if self.lock.acquire():
                try:  # another process may have made it anew before
                    self._was_outdated |= self.is_outdated
                    return self._type(self.path, clock=self.clock)
                finally:
                    self.lock.release()
            if time.monotonic() > until_s:
                raise StoreBusy(
                    f"{self.path.name} is of an older version, and {self.lock.holder()} writes it",
                    hint="`memory-sidecar stop` stops an older daemon",
                )
            time.sleep(OLDER_POLL_S)
        return self._type(self.path, clock=self.clock)

    def _close(self, *, keeps_log: bool = False) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close(keeps_log=keeps_log)
            with _counting:  # its memory can be freed
                if _open_stores.get(store.path) is store:
                    del _open_stores[store.path]
