"""How a handler talks to whoever waits for it, while it works."""

from __future__ import annotations

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
