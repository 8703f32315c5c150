"""Makes `sys.stdout` and `sys.stderr` mean the streams of the request that a thread answers.

Libraries print there, a command-line parser its help for one. What a thread prints that answers
no request goes to the log.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

_streams: ContextVar[tuple[TextIO, TextIO] | None] = ContextVar("streams", default=None)


def route_standard_streams() -> None:
    """Install the routing, for the rest of the process."""
    printed = cast("TextIO", _Logged())
    sys.stdout = cast("TextIO", _Routed(lambda: (_streams.get() or (printed, printed))[0]))
    sys.stderr = cast("TextIO", _Routed(lambda: (_streams.get() or (printed, printed))[1]))


@contextmanager
def routed_to(stdout: TextIO, stderr: TextIO) -> Iterator[None]:
    """What this thread prints in the block goes there."""
    token = _streams.set((stdout, stderr))
    try:
        yield
    finally:
        _streams.reset(token)


class _Routed:
    def __init__(self, target: Callable[[], TextIO]) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever a stream has
        return getattr(self._target(), name)


class _Logged:
    """A stream whose lines are log records."""

    encoding = "utf-8"
    errors = "backslashreplace"
    _log = logging.getLogger("printed")

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here, not bytes")
        if line := text.strip():
            self._log.info("%s", line)
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False
