"""The system's own notice of changes, behind one small interface.

Linux watches folder by folder, so that an ignored one costs nothing; elsewhere the system watches
a whole tree at once, and what happens in folders that nobody asked for is dropped here.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from watchdog.events import (
    EVENT_TYPE_CLOSED_NO_WRITE,
    EVENT_TYPE_DELETED,
    EVENT_TYPE_OPENED,
    DirModifiedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer as SystemTree
from watchdog.observers.api import BaseObserver

Report = Callable[[str], None]
"""Takes the path, relative to the root with `/`, that may have changed; "" for everything."""


class Observer(Protocol):
    """Reports changes directly inside of the folders it was given, on a thread of its own."""

    @property
    def is_reliable(self) -> bool:
        """Not once events were lost, the root went away or a thread died: open another one then."""

    @property
    def folders(self) -> frozenset[str]:
        """Those being observed. A folder that is renamed or deleted is so no longer."""

    def add(self, folder: str) -> None:
        """Observe `folder`, relative to the root. Raises OSError when that cannot be."""

    def discard(self, folder: str) -> None:
        """Observe `folder` no longer."""

    def close(self) -> None:
        """Report nothing more, and wait until all threads have ended."""


def open_observer(root: Path, report: Report) -> Observer:
    """The best observer for this system. Raises OSError when it gives us none."""
    if sys.platform == "linux":
        from memory_sidecar.disk.inotify import InotifyObserver

        return InotifyObserver(root, report)
    return TreeObserver(root, report)


class TreeObserver(FileSystemEventHandler):
    """Observes the whole tree, once its root is added, and passes on part of what it hears."""

    def __init__(
        self, root: Path, report: Report, *, open_tree: Callable[[], BaseObserver] = SystemTree
    ) -> None:
        self._root = os.path.realpath(root)  # as macOS names it in its events
        self._report = report
        self._folders: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._is_root_gone = False
        self._tree = open_tree()
        self._tree.start()

    @property
    def is_reliable(self) -> bool:
        threads = (self._tree, *self._tree.emitters)
        return not self._is_root_gone and all(thread.is_alive() for thread in threads)

    @property
    def folders(self) -> frozenset[str]:
        return self._folders

    def add(self, folder: str) -> None:
        if not folder:
            self._tree.schedule(self, self._root, recursive=True)
        elif not Path(self._root, folder).is_dir():
            raise NotADirectoryError(folder)
        with self._lock:
            self._folders |= {folder}

    def discard(self, folder: str) -> None:
        with self._lock:
            self._folders -= {folder}

    def close(self) -> None:
        self._tree.stop()
        self._tree.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in (EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE):
            return
        if isinstance(event, DirModifiedEvent):
            return  # something in it changed, which has an event of its own
        for name in (event.src_path, event.dest_path):
            if name:
                self._hear(os.fsdecode(name), is_gone=event.event_type == EVENT_TYPE_DELETED)

    def _hear(self, name: str, *, is_gone: bool) -> None:
        if name == self._root:
            if is_gone:
                self._is_root_gone = True
                self._report("")
            return
        path = os.path.relpath(name, self._root).replace(os.sep, "/")
        if path.rpartition("/")[0] in self._folders:
            self._report(path)
