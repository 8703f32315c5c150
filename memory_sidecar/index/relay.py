"""Carries what a request says from the owner's thread to the caller that waits for it."""

from __future__ import annotations

from collections import deque

from memory_sidecar.index.reporter import Reporter


class Relay:
    """A `Reporter` that keeps what it hears until the caller's thread asks."""

    def __init__(self) -> None:
        self._notices: deque[str] = deque()
        self._progress: tuple[str, int, int] | None = None

    def notice(self, text: str) -> None:
        self._notices.append(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._progress = (stage, done, total)

    def tell(self, reporter: Reporter) -> None:
        """Pass on what was heard. What `reporter` raises ends the waiting."""
        while self._notices:
            reporter.notice(self._notices.popleft())
        if self._progress is not None:
            reporter.progress(*self._progress)
