"""How a handler talks to the caller that waits for it, while it works."""

from __future__ import annotations

from collections import deque
from typing import Protocol


class Reporter(Protocol):
    """Notices and progress. Neither is part of a result."""

    def notice(self, text: str) -> None:
        """One line that the caller should see: what is missing, and what to do."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` in `stage`, from any thread."""


class Silent:
    """Drops everything."""

    def notice(self, text: str) -> None: ...

    def progress(self, stage: str, done: int, total: int) -> None: ...


class Relay:
    """Keeps what a request says in the owner's thread until the thread of its caller asks."""

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
