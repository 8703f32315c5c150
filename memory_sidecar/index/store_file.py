"""The file of a database: opened when first used, set aside where it cannot be used.

Connections are given back while nothing uses them, and the longest unused files of a process give
theirs back when very many are open.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from memory_sidecar.core.clock import Clock
from memory_sidecar.core.errors import StoreCorrupt
from memory_sidecar.core.sqlite import named_errors, set_aside
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.schema import found_version

MAX_OPEN = 8  # files of one process with connections: each takes about ten descriptors

S = TypeVar("S", bound=DerivedStore)


class OpenFiles:
    """Which databases of a process have connections. Thread-safe."""

    def __init__(self) -> None:
        self._stores: OrderedDict[Path, DerivedStore] = OrderedDict()
        self._lock = threading.Lock()

    def use(self, store: DerivedStore) -> None:
        """Note that `store` is used now; the one that was not for longest may have to rest."""
        with self._lock:
            self._stores[store.path] = store
            self._stores.move_to_end(store.path)
            surplus = [
                self._stores.popitem(last=False)[1]
                for _ in range(max(len(self._stores) - MAX_OPEN, 0))
            ]
        for each in surplus:
            each.rest()


OPEN_FILES = OpenFiles()


class StoreFile(Generic[S]):
    """The database at `path`. Thread-safe."""

    def __init__(self, path: Path, store: type[S], *, clock: Clock) -> None:
        self.path = path
        self.used_at_s = time.monotonic()
        self.beginnings = 0  # how many times it was set aside for a new one
        self._type = store
        self._clock = clock
        self._store: S | None = None
        self._lock = threading.Lock()
        self._was_outdated = False

    def open(self) -> S:
        """The store, as it is. Raises StoreCorrupt where its file was taken away."""
        self.used_at_s = time.monotonic()
        with self._lock:
            if self._store is not None and not self._store.is_in_place:
                raise StoreCorrupt(
                    f"{self.path} was deleted or replaced",
                    hint="the next search makes it again from the files",
                    path=self.path,
                )
            if self._store is None:
                self._store = self._type(self.path, clock=self._clock)
                self._was_outdated |= self._store.was_outdated
            OPEN_FILES.use(self._store)
            return self._store

    def take_outdated(self) -> bool:
        """Whether the database was of an older schema when it was opened; told once."""
        with self._lock:
            was, self._was_outdated = self._was_outdated, False
            return was

    def rest(self) -> None:
        """Give connections back; the next use opens new ones."""
        with self._lock:
            if self._store is not None:
                self._store.rest()

    def unload(self) -> None:
        """Give the memory of the vectors back, too; the next query reads them again."""
        with self._lock:
            if self._store is not None:
                self._store.unload()

    def close(self) -> None:
        with self._lock:
            self._close()

    def start_over(self) -> None:
        """Begin a new database. For the process that holds the writer's lock.

        Raises StoreForeign and StoreNewer for what is not ours to set aside.
        """
        with self._lock, named_errors(self.path):
            self.beginnings += 1
            self._close(keeps_log=True)
            with suppress(StoreCorrupt):
                found_version(self.path, self._type.SCHEMA)
            if self.path.exists():
                set_aside(self.path)

    def _close(self, *, keeps_log: bool = False) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close(keeps_log=keeps_log)
