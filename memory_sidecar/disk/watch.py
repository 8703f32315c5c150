"""Watches the folders of one source, and debounces their changes into batches to scan.

Events are hints: the next whole scan finds what a lost one reported. It also finds changes without
an event: a write through a hard link in another folder, any change in a folder whose name is not
UTF-8. This module opens no file and knows no ignore rules: the scans say which folders to watch.
Folders that the system does not watch are polled with `lstat`, which misses changes that keep size
and times, and takes at most a twentieth of one processor, however many folders there are. Folders
on a network drive are both watched and polled.

A batch is due when nothing has changed for `debounce_ms`, and at the latest `max_wait_ms` after its
first change, so that a file that is written without a pause does not delay the others. A single
save after a pause is due after `saved_ms`.
"""

from __future__ import annotations

import errno
import logging
import math
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from memory_sidecar.core.opening import is_utf8
from memory_sidecar.disk.observe import Observer, Poll, Report
from memory_sidecar.disk.remote import remote_folders
from memory_sidecar.disk.rule_files import RULE_NAMES

# A change of one of these files changes which paths are ignored in its folder and below.
_RULE_NAMES = RULE_NAMES | {".git"}
GIT_INFO = ".git/info"  # holds the exclude file
RETRY_S = 60.0  # how long folders are polled before another attempt to watch them
_RAISED_WITH = {
    errno.ENOSPC: "sysctl fs.inotify.max_user_watches",
    errno.EMFILE: "sysctl fs.inotify.max_user_instances or ulimit -n",
}

EVERYTHING = frozenset([""])
"""The batch that means the whole source. Any other holds files and folders, relative to the source
with `/`, of which some may be gone."""

MAX_PATHS = 2_000  # beyond, comparing the whole source costs less than looking up every path
LONE_PATHS = 8  # the most of one save: editors write, rename and remove files beside the saved one

_log = logging.getLogger(__name__)


def open_observer(root: Path, report: Report) -> Observer:
    """Return the observer for this system. Raises OSError if a limit of the system is reached."""
    # Each is imported where it is used: watchdog takes longer than all the rest.
    if sys.platform == "linux":
        from memory_sidecar.disk.inotify import InotifyObserver

        return InotifyObserver(root, report)
    from memory_sidecar.disk.tree_observer import TreeObserver

    return TreeObserver(root, report)


class Watch:
    """The watch of one source: calls `on_change`, from several threads, with changed paths.

    To miss nothing, call `start` before the first scan, `catch_up` before every scan, and `follow`
    after it with the folders that it found. `follow` reports new folders as changed, because they
    may have changed between the scan and the watch.
    """

    def __init__(
        self,
        root: Path,
        *,
        on_change: Report,
        poll_ms: int = 2_000,
        observe: Callable[[Path, Report], Observer] = open_observer,
    ) -> None:
        """`poll_ms` is the interval for polling what cannot be watched."""
        self._root = root.absolute()
        self._on_change = on_change
        self._observe = observe
        self._poll_ms = poll_ms
        self._poll: Poll | None = None  # while there are folders to poll
        self._lock = threading.Lock()  # for everything below; never held while calling `on_change`
        self._observer: Observer | None = None
        self._root_id: tuple[int, int, str] | None = None
        self._wanted: frozenset[str] = frozenset()
        self._remote: frozenset[str] = frozenset()  # those of them on network drives
        self._unwatched: tuple[str, ...] = ()
        self._limit_notice = ""
        self._retry_at_s = 0.0
        self._is_stopped = False

    def start(self, folders: Iterable[str]) -> None:
        """Watch `folders`, relative to the root, and the root itself, which may be gone."""
        with self._lock:
            self._want(folders)
            self._watch_missing()

    def look(self) -> None:
        """Check for what causes no event; to be called about once a second.

        That is a replaced root, a disk mounted in it, a failed observer, and changes in folders
        that are not watched.
        """
        if self._is_stopped:
            return
        if self.has_broken_off or _identity(self._root) != self._root_id:
            self._report_change("")
        elif self._limit_notice and time.monotonic() >= self._retry_at_s:  # it may have been raised
            self._retry_at_s = time.monotonic() + RETRY_S
            self.follow(self._wanted)
        if poll := self._poll:
            poll.look()

    def catch_up(self, settled: frozenset[str]) -> frozenset[str]:
        """Watch folders that exist again; return the batch `settled` with these added."""
        with self._lock:
            batch = settled | self._watch_missing()
        return EVERYTHING if "" in batch else batch

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these `folders` from now on, and no others."""
        with self._lock:
            self._want(folders)
            if self._observer is not None:
                for folder in self._observer.folders - self._wanted:
                    self._observer.discard(folder)
            added = self._watch_missing()
        for folder in added:
            self._report_change(folder)

    def stop(self) -> None:
        """Report nothing more."""
        with self._lock:
            self._is_stopped = True
            self._drop_observer()

    @property
    def has_broken_off(self) -> bool:
        """Whether the observer has failed, so that changes are missed until the next whole scan."""
        observer = self._observer
        return observer is not None and not observer.is_reliable

    @property
    def unwatched(self) -> tuple[str, ...]:
        """Folders that are polled, because a limit of the system is reached; sorted."""
        return self._unwatched

    @property
    def limit_notice(self) -> str:
        """Why folders are polled, and what to do about it; "" if all are watched."""
        return self._limit_notice

    # Reporting changes, on the threads of the observer and of the callers of `look`

    def _report_change(self, path: str, *, is_whole: bool = False) -> None:
        while not is_utf8(path):  # scans give such a path another name: report its folder
            path = path.rpartition("/")[0]
        folder, _, name = path.rpartition("/")
        if folder == GIT_INFO and name == "exclude":
            path = ""
        elif path.startswith(".git/"):
            return
        elif name in _RULE_NAMES:
            path = folder
        if not self._is_stopped:
            self._on_change(path, is_whole=is_whole)

    # Watching, under the lock

    def _want(self, folders: Iterable[str]) -> None:
        self._wanted = frozenset(["", GIT_INFO, *folders])
        self._remote = remote_folders(self._root, self._wanted)

    def _watch_missing(self) -> frozenset[str]:
        """Try to watch all wanted folders; return the topmost new ones, "" if the root has gone."""
        if self._is_stopped:
            return frozenset()
        was, self._root_id = self._root_id, _identity(self._root)
        if self._root_id != was or (self._observer and not self._observer.is_reliable):
            self._drop_observer()
        if self._root_id is None:
            self._fall_back(frozenset())
            return frozenset() if was is None else frozenset([""])
        try:
            if self._observer is None:
                self._observer = self._observe(self._root, self._report_change)
        except OSError as error:
            self._fall_back(self._wanted, error)
            return frozenset()
        missing = sorted(self._wanted - self._observer.folders)  # a folder before what it holds
        added: set[str] = set()
        for index, folder in enumerate(missing):
            try:
                self._observer.add(folder)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue  # the folder above tells when that changes
            except OSError as error:
                self._fall_back(frozenset(missing[index:]), error)
                break
            added.add(folder)
        else:
            self._fall_back(frozenset())
        return frozenset(f for f in added if not f or f.rpartition("/")[0] not in added)

    def _drop_observer(self) -> None:
        if self._observer is not None:
            self._observer.close()
            self._observer = None

    def _fall_back(self, folders: frozenset[str], error: OSError | None = None) -> None:
        """Poll `folders` because of `error`; poll a missing root and remote folders, too."""
        if folders and not self._unwatched:
            _log.warning("%s: %d folders are polled: %s", self._root, len(folders), error)
        self._unwatched = tuple(sorted(folders - {GIT_INFO}))
        self._limit_notice = _limit_notice(error) if error and self._unwatched else ""
        is_root_watched = self._observer is not None and "" in self._observer.folders
        polled = folders | self._remote if is_root_watched else folders | self._remote | {""}
        if not polled:
            self._poll = None
            return
        self._poll = self._poll or Poll(self._root, self._report_change, poll_ms=self._poll_ms)
        self._poll.follow(polled)


def _identity(root: Path) -> tuple[int, int, str] | None:
    """Return what identifies the folder at `root` and the mounts in it; None without a folder."""
    try:
        status = root.stat()
    except OSError:
        return None
    is_folder = stat.S_ISDIR(status.st_mode)
    return (status.st_dev, status.st_ino, _mounted_in(root)) if is_folder else None


# https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
_TABLE = "/proc/self/mountinfo"
_ESCAPES = {ord(letter): f"\\{ord(letter):03o}" for letter in " \t\n\\"}


def _mounted_in(root: Path) -> str:
    """Return the mounts below `root`, on Linux: a folder covered by a mount gets no events."""
    inside = " " + f"{root}/".translate(_ESCAPES)
    return "".join(line for line in _MOUNTS.lines() if inside in line)


class _Mounts:
    """The system's table of mounts, read again when the system reports a change of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: TextIOWrapper | None = None
        self._lines: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        if sys.platform != "linux":
            return ()
        with self._lock, suppress(OSError):
            if self._file is None:
                self._file = Path(_TABLE).open(errors="surrogateescape")  # noqa: SIM115
                self._changed = select.poll()
                self._changed.register(self._file, select.POLLPRI)
            elif not self._changed.poll(0):
                return self._lines
            self._file.seek(0)
            self._lines = tuple(self._file)
        return self._lines


_MOUNTS = _Mounts()


def _limit_notice(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno in _RAISED_WITH:
        reason = f"the system's limit is reached, raise it with {_RAISED_WITH[error.errno]}"
    return f"some folders are polled instead of watched: {reason}"


class Debouncer:
    """Gathers changes until they have settled. Pure: the caller passes the time, in seconds."""

    def __init__(self, *, debounce_ms: int, max_wait_ms: int, saved_ms: int | None = None) -> None:
        """`saved_ms` replaces `debounce_ms` for a save after a pause, of LONE_PATHS at most."""
        self._debounce_s = debounce_ms / 1000
        self._max_wait_s = max_wait_ms / 1000
        self._saved_s = (debounce_ms if saved_ms is None else saved_ms) / 1000
        self._paths: set[str] = set()
        self._follows_pause = False  # of the first change of the batch
        self._is_whole = False  # of the last change of the batch
        self._first_s = 0.0
        self._last_s = -math.inf

    @property
    def is_empty(self) -> bool:
        return not self._paths

    @property
    def paths(self) -> frozenset[str]:
        """The waiting paths; EVERYTHING if the whole source waits."""
        return frozenset(self._paths)

    @property
    def is_everything(self) -> bool:
        """Whether the whole source waits."""
        return "" in self._paths

    @property
    def is_save(self) -> bool:
        """Whether the batch looks like one save after a pause."""
        is_small = 0 < len(self._paths) <= LONE_PATHS and not self.is_everything
        return self._follows_pause and self._is_whole and is_small

    @property
    def due_s(self) -> float:
        """When the batch will have settled if no more changes come; infinite for an empty one."""
        if self.is_empty:
            return math.inf
        settles_s = self._saved_s if self.is_save else self._debounce_s
        return min(self._last_s + settles_s, self._first_s + self._max_wait_s)

    def add(self, path: str, now_s: float, *, is_whole: bool = False) -> None:
        """Add a change of `path`, "" for everything; `is_whole` as in `Report`."""
        if self.is_empty:
            self._first_s = now_s
            self._follows_pause = now_s - self._last_s >= 2 * self._debounce_s
        self._is_whole = is_whole
        self._last_s = now_s
        self._paths.add(path)
        if self.is_everything or len(self._paths) > MAX_PATHS:
            self._paths = set(EVERYTHING)

    def settle(self) -> None:
        """Let the batch count as settled."""
        self._first_s = -math.inf

    def take(self) -> frozenset[str]:
        """Return the batch, and begin an empty one."""
        batch, self._paths = frozenset(self._paths), set()
        return batch
