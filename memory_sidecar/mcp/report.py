"""Reports from a running call: notices, kept for its result, and progress, sent at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.visible import abridge

PROGRESS_S = 0.25  # between two notifications

Tell = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends one progress notification: done, total, what is done."""


class CallReport:
    """The `Reporter` of one call. Made in the event loop, used by the threads that do the work."""

    def __init__(self, tell: Tell, *, word: Callable[[str], str]) -> None:
        """`word` rewrites a hint for people into one for agents."""
        self.waits = True
        self.notices: list[str] = []
        self.word = word
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._cancelled = threading.Event()
        self._worker: int | None = None
        self._stage = ""
        self._stage_total = 0
        self._before = 0  # progress of earlier stages: it must never fall
        self._done = 0
        self._told_at = 0.0
        self._telling: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Remember the calling thread as the one that a cancellation stops."""
        self._worker = threading.get_ident()

    def cancel(self) -> None:
        """Stop the work with a KeyboardInterrupt when it next reports."""
        self._cancelled.set()

    def notice(self, text: str) -> None:
        self._stop_if_cancelled()
        masked = mask_credentials(self.word(text))  # half a secret would not be recognised
        if (text := abridge(masked)) not in self.notices:
            self.notices.append(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._stop_if_cancelled()
        now = time.monotonic()
        if stage == self._stage and now - self._told_at < PROGRESS_S:
            return
        self._told_at = now
        self._loop.call_soon_threadsafe(self._pass_on, stage, done, total)

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set() and threading.get_ident() == self._worker:
            raise KeyboardInterrupt

    def _pass_on(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._before += self._stage_total
            self._stage = stage
        self._stage_total = max(total, done)
        if self._before + done <= self._done:
            return
        self._done = self._before + done
        sending = self._tell(
            self._done, self._before + self._stage_total, f"{stage} {done}/{total}"
        )
        task = asyncio.ensure_future(sending)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
