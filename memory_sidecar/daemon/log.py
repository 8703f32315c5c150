"""The daemon's log: a rotated file that is continued after restarts, or standard error."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
import sys
import threading
import warnings
from collections import deque
from contextlib import suppress
from io import TextIOWrapper
from textwrap import indent
from typing import Any

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
    """Keeps a record on one line and indents tracebacks, so that no text can forge a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        return visible_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802  logging's own
        return indent(visible(super().formatException(ei)), "  ")

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

    def _open(self) -> TextIOWrapper:
        folder, name = os.path.split(self.baseFilename)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = Tree(folder, is_own=True).open(name, flags)
        os.dup2(descriptor, 2)
        return TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding)


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
