"""Observes folders on Linux, with one thread and one watch for each of them.

Uses watchdog's `InotifyFD` rather than its `Observer`, which starts a thread for each scheduled
path and, where it watches a subtree, cannot leave out an ignored folder, hides that the system's
limit is reached and that events were lost, and holds back for 0.5 s what is moved away.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from memory_sidecar.sources.observe import Report

# Neither opening nor reading is a change: our own scans must not wake us.
_CHANGES = (
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ATTRIB  # what could not be read may be readable now
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVE
    | InotifyConstants.IN_MOVE_SELF  # of the root
    | InotifyConstants.IN_ONLYDIR
)


class InotifyObserver:
    """Implements `observe.Observer`."""

    def __init__(self, root: Path, report: Report) -> None:
        self._root = root
        self._report = report
        self._folders: dict[str, _Folder] = {}
        self._lock = threading.Lock()  # taken before that of `_system`, never after
        self._is_lost = False
        self._is_closed = False
        self._system = InotifyFD()
        self._system.start()

    @property
    def is_reliable(self) -> bool:
        return not self._is_lost and self._system.is_alive()

    @property
    def folders(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._folders)

    def add(self, folder: str) -> None:
        mask = Mask(_CHANGES if not folder else _CHANGES | InotifyConstants.IN_DONT_FOLLOW)
        watched = _Folder(self, folder)
        with self._lock:
            if folder in self._folders:
                return
            path = os.fsencode(f"{self._root}/{folder}" if folder else self._root)
            wd = self._system.add_callback(path, mask, watched, watched.id)
            watched.wd = wd
            if wd == -1:  # what watchdog makes of EACCES
                self._system.remove_callbacks([(wd, watched.id)])
                raise PermissionError(folder)
            self._folders[folder] = watched

    def discard(self, folder: str) -> None:
        with self._lock:
            self._remove([folder])

    def close(self) -> None:
        self._is_closed = True
        self._system.stop()
        self._system.join()

    def hear(self, folder: str, event: InotifyEvent) -> None:
        """`event` happened in `folder`, or to it where the event has no name."""
        if self._is_closed:
            return
        if not event.name:
            if not folder:
                self._report("")
            return  # what happens to another folder is also heard by the one above
        try:
            name = event.name.decode("utf-8")
        except UnicodeDecodeError:
            self._report(folder)  # such a file is known under another name
            return
        path = f"{folder}/{name}" if folder else name
        if event.is_directory and (event.is_moved_from or event.is_delete):
            # The watch stays with the folder, wherever it is now and as long as anyone has it open.
            self._remove_below(path)
        self._report(path)

    def forget(self, folder: _Folder) -> None:
        """The system ended the watch: the folder is deleted, or no longer mounted."""
        if self._is_closed:
            return
        with self._lock:
            if self._folders.get(folder.path) is not folder:
                return
            del self._folders[folder.path]
        if not folder.path:
            self._is_lost = True
        self._report(folder.path)

    def lose(self) -> None:
        """The system dropped events, among them maybe that a folder is another one now."""
        if not self._is_lost:
            self._is_lost = True
            self._report("")

    def _remove_below(self, path: str) -> None:
        inside = f"{path}/"
        with self._lock:
            self._remove([f for f in self._folders if f == path or f.startswith(inside)])

    def _remove(self, folders: list[str]) -> None:
        gone = [self._folders.pop(folder) for folder in folders if folder in self._folders]
        self._system.remove_callbacks([(folder.wd, folder.id) for folder in gone])


class _Folder:
    """Listens for one folder, as watchdog's `WatchCallback`.

    One each, and not one for all: while a rename is on its way to us, a folder can be watched
    under both of its names, which is one watch for the system.
    """

    __slots__ = ("_observer", "path", "wd")

    def __init__(self, observer: InotifyObserver, path: str) -> None:
        self._observer = observer
        self.path = path
        self.wd = WatchDescriptor(-1)

    @property
    def id(self) -> CallbackId:
        return CallbackId(id(self))

    def on_event(self, event: InotifyEvent) -> None:
        self._observer.hear(self.path, event)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:  # noqa: ARG002 - watchdog's name
        self._observer.forget(self)

    def on_queue_overflow(self) -> None:
        self._observer.lose()
