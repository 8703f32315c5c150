"""Notices and progress on standard error; progress only where that is a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TextIO

from memory_sidecar.core.visible import visible_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


NAMES = {"files": "words", "vectors": "meaning"}
"""What the steps of an index give: after the first it can be searched by word, and so on."""


class Progress:
    """A `Reporter` for a person: counts, rate and time left, and notices one line each.

    Once `cancelled` is set, the thread that made it gets a KeyboardInterrupt at its next report:
    that ends a command where its next step would begin.
    """

    def __init__(
        self,
        stderr: TextIO,
        *,
        shows_progress: bool,
        columns: int,
        environ: Mapping[str, str],
        cancelled: threading.Event,
        complete: Callable[[str], str],
    ) -> None:
        """`complete` puts what the caller said into the commands that a notice names."""
        self._stderr = stderr
        self._shows_progress = shows_progress
        self._columns = columns
        self._environ = environ
        self._cancelled = cancelled
        self._complete = complete
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._bar: Bar | None = None
        self._stages: dict[str, TaskID] = {}
        self._uncounted: list[str] = []  # of these, those without an end

    def notice(self, text: str) -> None:
        self._stop_if_cancelled()
        text = visible_line(self._complete(text))
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(f"note: {text}", highlight=False, markup=False)
            else:
                self._stderr.write(f"note: {text}\n")

    def begin(self, stage: str) -> None:
        """Show that `stage` goes on, of which nothing can be counted, until another is reported."""
        self._stop_if_cancelled()
        if self._shows_progress:
            with self._lock:
                self._show(stage, 0, None)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._stop_if_cancelled()
        if self._shows_progress:
            with self._lock:
                self._show(stage, done, total or None)

    def _show(self, stage: str, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = _bar(self._stderr, self._columns, self._environ)
            self._bar.start()
        if stage not in self._stages:
            for other in self._uncounted:
                self._bar.remove_task(self._stages.pop(other))
            self._uncounted.clear()
            self._stages[stage] = self._bar.add_task(NAMES.get(stage, stage), total=total)
            if total is None:
                self._uncounted.append(stage)
        self._bar.update(self._stages[stage], completed=done, total=total)

    def close(self) -> None:
        """Take the bar away, so that the result stands alone."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
                self._stages.clear()
                self._uncounted.clear()

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set() and threading.get_ident() == self._thread:
            raise KeyboardInterrupt


def _bar(stderr: TextIO, columns: int, environ: Mapping[str, str]) -> Bar:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    return Progress(
        TextColumn("{task.description:<8}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        # The caller's terminal, which need not be the one of this process.
        console=Console(file=stderr, force_terminal=True, width=columns, _environ=environ),
        transient=True,
    )
