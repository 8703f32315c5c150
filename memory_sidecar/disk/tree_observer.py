"""Observes a whole tree, as macOS and Windows do, and reports changes in some of its folders.

Events of folders that were not added are dropped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

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


class TreeObserver(FileSystemEventHandler):
    """Implements `observe.Observer`; gets events of the whole tree once the root is added."""

    def __init__(
        self,
        root: Path,
        report: Callable[[str], None],
        *,
        open_tree: Callable[[], BaseObserver] = SystemTree,
    ) -> None:
        self._root = os.path.realpath(root)  # as macOS names it in its events
        self._report = report
        self._folders: set[str] = set()
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
        with self._lock:
            return frozenset(self._folders)

    def add(self, folder: str) -> None:
        if not folder:
            self._tree.schedule(self, self._root, recursive=True)
        elif not Path(self._root, folder).is_dir():
            raise NotADirectoryError(folder)
        with self._lock:
            self._folders.add(folder)

    def discard(self, folder: str) -> None:
        with self._lock:
            self._folders.discard(folder)

    def close(self) -> None:
        self._tree.stop()
        self._tree.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in (EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE):
            return
        if isinstance(event, DirModifiedEvent):
            return  # the change inside of the folder has an event of its own
        for name in (event.src_path, event.dest_path):
            if name:
                is_gone = event.event_type == EVENT_TYPE_DELETED
                self._report_change(os.fsdecode(name), is_gone=is_gone)

    def _report_change(self, name: str, *, is_gone: bool) -> None:
        if name == self._root:
            if is_gone:
                self._is_root_gone = True
                self._report("")
            return
        path = os.path.relpath(name, self._root).replace(os.sep, "/")
        if path.rpartition("/")[0] in self._folders:
            self._report(path)
