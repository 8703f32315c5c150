"""The daemon's log, a rotated file or standard error, and what `sys.stdout` means in its threads.

Libraries print there; a command-line parser prints its help, for example. The prints of a thread
that answers a request go to the request's client, those of other threads to the log.
"""

from __future__ import annotations

import faulthandler
import io
import logging
import logging.handlers
import os
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from textwrap import indent
from typing import Any, TextIO, cast

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.visible import visible, visible_line

MAX_BYTES = 1 << 20
OLD_FILES = 3
KEPT_LINES = 200
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_file(path: str, level: str) -> None:
    """Log to `path`, and redirect standard error there, where Python reports what kills it."""
    _configure(_RotatingHandler(path), level)


def log_to_stderr(level: str) -> None:
    _configure(logging.StreamHandler(sys.stderr), level)


def set_level(level: str) -> None:
    """Set the level of all logging from now on: one of `LOG_LEVELS`."""
    logging.getLogger().setLevel(level.upper())


class _Formatter(logging.Formatter):
    """Keeps a record on one line and indents tracebacks, so that no text can forge a record.

    What looks like a secret is masked: an error may quote the text that it is about. Times are UTC.
    """

    converter = time.gmtime  # type: ignore[assignment]  # as logging documents
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        return visible_line(mask_credentials(super().formatMessage(record)))

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802  logging's own
        return indent(visible(mask_credentials(super().formatException(ei))), "  ")

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return indent(visible(super().formatStack(stack_info)), "  ")


class _RotatingHandler(logging.handlers.RotatingFileHandler):
    """Keeps up to `KEPT_LINES` records that a full disk refuses, and writes them later."""

    def __init__(self, path: str) -> None:
        self._waiting: deque[logging.LogRecord] = deque(maxlen=KEPT_LINES)
        super().__init__(
            path, maxBytes=MAX_BYTES, backupCount=OLD_FILES, encoding="utf-8", delay=True
        )
        with suppress(OSError):
            self.stream = self._open()

    def emit(self, record: logging.LogRecord) -> None:
        self._waiting.append(record)
        with suppress(OSError):
            while self._waiting:
                super().emit(self._waiting[0])
                self._waiting.popleft()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802  logging's
        """Close the file, so that the next line reopens it. Raises the disk's error, for `emit`."""
        stream, self.stream = self.stream, None
        if stream is not None:
            with suppress(OSError):
                stream.close()
        if isinstance(error := sys.exception(), OSError):
            raise error

    def _open(self) -> io.TextIOWrapper:
        folder, name = os.path.split(self.baseFilename)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = Tree(folder, is_own=True).open(name, flags)
        os.dup2(descriptor, 2)
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding)


def _configure(handler: logging.Handler, level: str) -> None:
    handler.setFormatter(_Formatter(_FORMAT))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.raiseExceptions = False  # it would report to stderr, which is logged: endless
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    threading.excepthook = _log_thread_error
    faulthandler.enable(2)


def _log_thread_error(failed: threading.ExceptHookArgs) -> None:
    name = failed.thread.name if failed.thread else "a thread"
    value = failed.exc_value or failed.exc_type()
    logging.getLogger("threads").error("%s ended: %r", name, value, exc_info=value)


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
