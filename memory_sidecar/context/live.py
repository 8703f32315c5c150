"""Regenerates the lists and indexes of a dense-context root as long as the process lives.

One thread waits for edits to settle, and regenerates the projects they lie in. New lines of an
access log alone wait for the next edit, or for the periodic look at everything: otherwise every
file that an agent opens would change an index.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memory_sidecar.context.handlers import Context
from memory_sidecar.context.layout import META, PROJECT_FOLDERS, PROJECTS, ROOT_FOLDERS, is_root
from memory_sidecar.core.atomic import TEMPORARY_PREFIX
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.results import Silent
from memory_sidecar.disk.watch import Debouncer, Watch

LOOK_S = 600.0  # between two looks at everything
RETRY_S = 30.0  # from an error to the next look
DEBOUNCE_MS, MAX_WAIT_MS = 2_000, 30_000
WATCH_S = 2.0  # between two checks for changes without an event

_log = logging.getLogger(__name__)


class ContextLive:
    """Follows the root of `context` between `start` and `close`."""

    def __init__(self, context: Context, *, debounce_ms: int = DEBOUNCE_MS) -> None:
        self._context = context
        self._gathering = Debouncer(debounce_ms=debounce_ms, max_wait_ms=MAX_WAIT_MS)
        self._changed = threading.Condition()
        self._is_closed = False
        self._look_at_s = 0.0
        self._watch = Watch(context.root.path, on_change=self._note_change)
        self._thread = threading.Thread(target=self._run, name="context", daemon=True)

    def start(self) -> None:
        """Start the thread, which regenerates everything first; return at once."""
        self._note_change("")
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, after it has finished what it is writing."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _note_change(self, path: str, *, is_whole: bool = False) -> None:
        with self._changed:
            self._gathering.add(path, time.monotonic(), is_whole=is_whole)
            self._changed.notify()

    def _run(self) -> None:
        self._look_at_s = time.monotonic() + LOOK_S
        with self._logged_errors():
            self._watch.start(self._folders())
        while not self._is_closed:
            self._watch.look()
            if time.monotonic() >= self._look_at_s:
                self._note_change("")
            if settled := self._wait_settled():
                self._look_at_s = time.monotonic() + LOOK_S
                with self._logged_errors():
                    self._regenerate(self._watch.catch_up(settled))
                with self._logged_errors():
                    self._watch.follow(self._folders())
        self._watch.stop()

    def _wait_settled(self) -> frozenset[str]:
        """Wait up to WATCH_S for changes to settle; return the batch, empty if none have."""
        with self._changed:
            left_s = self._gathering.due_s - time.monotonic()
            if left_s > 0 and not self._is_closed:
                self._changed.wait(min(left_s, WATCH_S))
            if self._gathering.due_s > time.monotonic() or self._is_closed:
                return frozenset()
            return self._gathering.take()

    def _regenerate(self, settled: frozenset[str]) -> None:
        if not any(map(_is_edit, settled)):
            return
        root = self._context.root
        if not is_root(root.path):
            return  # unmounted, or moved away: create nothing in its place
        names = _projects_of(settled)
        projects = [each for each in root.projects() if names is None or each.name in names]
        done = self._context.regenerate(projects, reporter=Silent())
        if done.written:
            _log.info("%s: %d files written", root.path, len(done.written))

    @contextmanager
    def _logged_errors(self) -> Iterator[None]:
        """Log an error of the block, such as that of a disk that fails, and look again soon."""
        path = self._context.root.path
        try:
            yield
        except Exception as error:
            self._look_at_s = time.monotonic() + RETRY_S
            if isinstance(error, SidecarError):
                _log.warning("%s is not up to date: %s", path, error.message)
            else:
                _log.exception("%s is not up to date", path)

    def _folders(self) -> Sequence[str]:
        """List the existing folders that people and agents write to, relative to the root."""
        inside = (folder for folder in PROJECT_FOLDERS if folder != META)
        projects = [f"{PROJECTS}/{project.name}" for project in self._context.root.projects()]
        wanted = [
            *ROOT_FOLDERS,
            *projects,
            *(f"{project}/{folder}" for folder in inside for project in projects),
        ]
        return [folder for folder in wanted if (self._context.root.path / folder).is_dir()]


def _is_edit(path: str) -> bool:
    folders = path.split("/")
    return META not in folders and not folders[-1].startswith(TEMPORARY_PREFIX)


def _projects_of(paths: frozenset[str]) -> set[str] | None:
    """Return the names of the projects that `paths` lie in; `None` for all projects."""
    if not paths.isdisjoint({"", PROJECTS}):
        return None
    parts = (path.split("/") for path in paths)
    return {folders[1] for folders in parts if folders[0] == PROJECTS}
