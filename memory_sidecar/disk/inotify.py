"""Observes folders on Linux: one watch for each folder, one thread and descriptor for the process.

The system allows few inotify instances, so all sources share one, which exists while any folder is
observed. Several sources may observe the same folder, and one source may do so under two names
until the event of a rename has arrived: the system has one watch for it, with several listeners.
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

# Without OPEN and ACCESS: our own scans must not wake us.
_CHANGES = (
    flags.CREATE
    | flags.MODIFY
    | flags.CLOSE_WRITE
    | flags.ATTRIB  # a file may have become readable
    | flags.DELETE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.MOVE_SELF  # of the root
    | flags.ONLYDIR
)

# After these events a file is complete: its writer has closed, moved or removed it.
_WHOLE = flags.CLOSE_WRITE | flags.ATTRIB | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO


class InotifyObserver:
    """Implements `observe.Observer` for one root, by watches of the shared `_System`."""

    def __init__(self, root: Path, report: Report) -> None:
        self._root = root
        self._report = report
        self._watches: dict[str, int] = {}  # descriptors by folder
        self._lock = threading.Lock()  # taken before the lock of `_SYSTEM`, never after
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

    def handle_event(self, folder: str, event: Event) -> None:
        """Report an `event` in `folder`, or of the folder itself if the event has no name."""
        if self._is_closed:
            return
        if not event.name:
            if not folder:
                self._report("")
            return  # the watch of the folder above gets this event, too
        path = f"{folder}/{event.name}" if folder else event.name
        is_folder = bool(event.mask & flags.ISDIR)
        if is_folder:
            # Its watch would go on at the folder's new place, or while a process has it open.
            if event.mask & flags.DELETE:  # events of the folders in it came before
                self.discard(path)
            elif event.mask & flags.MOVED_FROM:
                inside = f"{path}/"
                with self._lock:
                    self._remove([f for f in self._watches if f == path or f.startswith(inside)])
        self._report(path, is_whole=bool(event.mask & _WHOLE) and not is_folder)

    def handle_end(self, folder: str, watch: int) -> None:
        """Drop the `watch` of `folder`, which the system ended: it was deleted or unmounted."""
        with self._lock:
            if self._is_closed or self._watches.get(folder) != watch:
                return
            del self._watches[folder]
        if not folder:
            self.is_reliable = False
        self._report(folder)

    def handle_overflow(self) -> None:
        """Become unreliable: the system dropped events, perhaps that a folder was replaced."""
        if self.is_reliable and not self._is_closed:
            self.is_reliable = False
            self._report("")

    def _remove(self, folders: list[str]) -> None:
        for folder in folders:
            if (watch := self._watches.pop(folder, None)) is not None:
                _SYSTEM.remove(watch, (self, folder))


_Listener = tuple[InotifyObserver, str]
"""An observer, and the folder that it watches."""


class _System:
    """The only inotify instance of the process, and the thread that reads it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observers: set[InotifyObserver] = set()
        self._listeners: dict[int, list[_Listener]] = {}  # by watch descriptor
        self._inotify: INotify | None = None
        self._thread: threading.Thread | None = None

    def join(self, observer: InotifyObserver) -> None:
        """Start the thread for the first `observer`. Raises OSError if the system refuses."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                opened: INotify = INotify()
                thread = threading.Thread(
                    target=self._run, args=(opened,), name="inotify", daemon=True
                )
                self._inotify, self._listeners, self._thread = opened, {}, thread
                try:
                    thread.start()
                except RuntimeError as error:  # no thread can be started
                    self._inotify = self._thread = None
                    opened.close()
                    raise OSError(errno.EAGAIN, str(error)) from error
            self._observers.add(observer)

    def leave(self, observer: InotifyObserver) -> None:
        """Remove `observer`; after the last one end the thread, and wait for it."""
        with self._lock:
            self._observers.discard(observer)
            thread, inotify = self._thread, self._inotify
            if self._observers or inotify is None or thread is None:
                return
            with suppress(OSError):  # at the limit of watches: the thread wakes after WAKE_MS
                # The end of a watch is an event, which wakes the thread to see that it must end.
                inotify.rm_watch(inotify.add_watch("/", flags.DELETE_SELF))
            self._inotify = self._thread = None  # last: a thread that sees that closes it
        if thread is not threading.current_thread():
            thread.join()

    def add(self, path: bytes, mask: int, listener: _Listener) -> int:
        """Return the descriptor of a watch of the folder at `path`. Raises OSError."""
        with self._lock:
            if self._inotify is None:
                raise FileNotFoundError(path)
            watch: int = self._inotify.add_watch(path, mask)
            self._listeners.setdefault(watch, []).append(listener)
            return watch

    def remove(self, watch: int, listener: _Listener) -> None:
        """Remove `listener`, and the `watch` if it was the last one."""
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
                while self._is_current(inotify):
                    for event in inotify.read(timeout=WAKE_MS):
                        self._dispatch(event, inotify)
            except Exception:
                _log.exception("the watch of all folders broke off, and is begun again")
                with self._lock:
                    if self._is_current(inotify):
                        self._inotify = self._thread = None
                        for observer in self._observers:
                            observer.is_reliable = False

    def _is_current(self, inotify: INotify) -> bool:
        return self._inotify is inotify

    def _dispatch(self, event: Event, inotify: INotify) -> None:
        with self._lock:
            if not self._is_current(inotify):
                return
            observers = list(self._observers)
            ended = event.mask & flags.IGNORED
            listeners = list(self._listeners.get(event.wd, []))
            if ended:
                self._listeners.pop(event.wd, None)
        if event.mask & flags.Q_OVERFLOW:
            for observer in observers:
                observer.handle_overflow()
        for observer, folder in listeners:
            if ended:
                observer.handle_end(folder, event.wd)
            else:
                observer.handle_event(folder, event)


_SYSTEM = _System()
