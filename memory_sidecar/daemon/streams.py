"""Makes `sys.stdout` and `sys.stderr` mean the streams of the request that a thread answers.

Libraries print there; a command-line parser prints its help, for example. The prints of a thread
that answers no request go to the log.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast


class _Logged(io.TextIOBase):
    """A stream whose lines are log records."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here, not bytes")
        if line := text.strip():
            logging.getLogger("printed").info("%s", line)
        return len(text)


_printed = cast("TextIO", _Logged())
_streams: ContextVar[tuple[TextIO, TextIO]] = ContextVar("streams", default=(_printed, _printed))


class _Routed:
    """Standard output (0) or error (1) of the request that the running thread answers."""

    def __init__(self, which: int) -> None:
        self._which = which

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever a stream has
        return getattr(_streams.get()[self._which], name)


def route_standard_streams() -> None:
    """Install the routing, for the rest of the process."""
    sys.stdout, sys.stderr = (cast("TextIO", _Routed(which)) for which in (0, 1))


@contextmanager
def routed_to(stdout: TextIO, stderr: TextIO) -> Iterator[None]:
    """Send what this thread prints in the block to `stdout` and `stderr`."""
    token = _streams.set((stdout, stderr))
    try:
        yield
    finally:
        _streams.reset(token)
