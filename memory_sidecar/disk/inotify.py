"""Observes folders on Linux: one watch for each folder, one thread and descriptor for the process.

The system allows few inotify instances, so all sources share one. It is there while anything is
observed. A folder may be observed by several sources, or under two names while a rename is on its
way to us: that is one watch for the system, and several listeners here.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from contextlib import suppress
from pathlib import Path

from inotify_simple import Event, INotify, flags

from memory_sidecar.disk.observe import Report

WAKE_MS = 5_000

_log = logging.getLogger(__name__)

# Neither opening nor reading is a change: our own scans must not wake us.
_CHANGES = (
    flags.CREATE
    | flags.MODIFY
    | flags.CLOSE_WRITE
    | flags.ATTRIB  # what could not be read may be readable now
    | flags.DELETE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.MOVE_SELF  # of the root
    | flags.ONLYDIR
)

# After these events the program that saved a file has written all of it.
_WHOLE = flags.CLOSE_WRITE | flags.ATTRIB | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO


class InotifyObserver:
    """Implements `observe.Observer`."""

    def __init__(self, root: Path, report: Report) -> None:
        self._root = root
        self._report = report
        self._watches: dict[str, int] = {}  # by folder
        self._lock = threading.Lock()  # taken before that of `_SYSTEM`, never after
        self.is_reliable = True
        self._is_closed = False
        _SYSTEM.join(self)

    @property
    def folders(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._watches)

    def add(self, folder: str) -> None:
        mask = _CHANGES if not folder else _CHANGES | flags.DONT_FOLLOW
        with self._lock:
            if folder not in self._watches:
                path = os.fsencode(f"{self._root}/{folder}" if folder else self._root)
                self._watches[folder] = _SYSTEM.add(path, mask, (self, folder))

    def discard(self, folder: str) -> None:
        with self._lock:
            self._remove([folder])

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._remove(list(self._watches))
        _SYSTEM.leave(self)

    def hear(self, folder: str, event: Event) -> None:
        """`event` happened in `folder`, or to the folder itself where the event has no name."""
        if self._is_closed:
            return
        if not event.name:
            if not folder:
                self._report("")
            return  # what happens to another folder is also heard by the one above
        path = f"{folder}/{event.name}" if folder else event.name
        is_folder = bool(event.mask & flags.ISDIR)
        if is_folder:
            # The watch stays with the folder, wherever it is now, while any process has it open.
            if event.mask & flags.DELETE:  # those in it were told of before
                self.discard(path)
            elif event.mask & flags.MOVED_FROM:
                inside = f"{path}/"
                with self._lock:
                    self._remove([f for f in self._watches if f == path or f.startswith(inside)])
        self._report(path, is_whole=bool(event.mask & _WHOLE) and not is_folder)

    def forget(self, folder: str, watch: int) -> None:
        """The system ended the watch of `folder`: it is deleted, or no longer mounted."""
        with self._lock:
            if self._is_closed or self._watches.get(folder) != watch:
                return
            del self._watches[folder]
        if not folder:
            self.is_reliable = False
        self._report(folder)

    def lose(self) -> None:
        """The system dropped events, among them maybe that a folder is another one now."""
        if self.is_reliable and not self._is_closed:
            self.is_reliable = False
            self._report("")

    def _remove(self, folders: list[str]) -> None:
        for folder in folders:
            if (watch := self._watches.pop(folder, None)) is not None:
                _SYSTEM.remove(watch, (self, folder))


_Listener = tuple[InotifyObserver, str]
"""An observer, and the folder that it listens for."""


class _System:
    """The one inotify instance, and the thread that reads it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observers: set[InotifyObserver] = set()
        self._listeners: dict[int, list[_Listener]] = {}  # by watch
        self._inotify: INotify | None = None
        self._thread: threading.Thread | None = None

    def join(self, observer: InotifyObserver) -> None:
        """Raises OSError where the system gives no instance, or no thread."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                opened: INotify = INotify()
                thread = threading.Thread(
                    target=self._run, args=(opened,), name="inotify", daemon=True
                )
                self._inotify, self._listeners, self._thread = opened, {}, thread
                try:
                    thread.start()
                except RuntimeError as error:  # the system gives none
                    self._inotify = self._thread = None
                    opened.close()
                    raise OSError(errno.EAGAIN, str(error)) from error
            self._observers.add(observer)

    def leave(self, observer: InotifyObserver) -> None:
        with self._lock:
            self._observers.discard(observer)
            thread = self._thread
            if self._observers or self._inotify is None or thread is None:
                return
            self._thread = None
            inotify, self._inotify = self._inotify, None
            with suppress(OSError):  # at the system's limit it wakes by itself
                # The end of a watch is an event, and wakes the thread: it finds that it is over.
                inotify.rm_watch(inotify.add_watch("/", flags.DELETE_SELF))
        if thread is not threading.current_thread():
            thread.join()

    def add(self, path: bytes, mask: int, listener: _Listener) -> int:
        """The watch of the folder at `path`. Raises OSError."""
        with self._lock:
            if self._inotify is None:
                raise FileNotFoundError(path)
            watch: int = self._inotify.add_watch(path, mask)
            self._listeners.setdefault(watch, []).append(listener)
            return watch

    def remove(self, watch: int, listener: _Listener) -> None:
        with self._lock:
            listeners = self._listeners.get(watch, [])
            if listener in listeners:
                listeners.remove(listener)
                if not listeners:
                    del self._listeners[watch]
                    if self._inotify is not None:
                        with suppress(OSError):  # the system was faster: the folder is gone
                            self._inotify.rm_watch(watch)

    def _run(self, inotify: INotify) -> None:
        with inotify:
            try:
                while self._is_read(inotify):
                    for event in inotify.read(timeout=WAKE_MS):
                        self._pass_on(event, inotify)
            except Exception:
                _log.exception("the watch of all folders broke off, and is begun again")
                with self._lock:
                    if self._is_read(inotify):
                        self._inotify = self._thread = None
                        for observer in self._observers:
                            observer.is_reliable = False

    def _is_read(self, inotify: INotify) -> bool:
        return self._inotify is inotify

    def _pass_on(self, event: Event, inotify: INotify) -> None:
        with self._lock:
            if not self._is_read(inotify):
                return
            observers = list(self._observers)
            ended = event.mask & flags.IGNORED
            listeners = list(self._listeners.get(event.wd, []))
            if ended:
                self._listeners.pop(event.wd, None)
        if event.mask & flags.Q_OVERFLOW:
            for observer in observers:
                observer.lose()
        for observer, folder in listeners:
            if ended:
                observer.forget(folder, event.wd)
            else:
                observer.hear(folder, event)


_SYSTEM = _System()
