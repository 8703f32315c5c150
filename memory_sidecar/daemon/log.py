"""The daemon's log: one file that is rotated and outlives restarts, or standard error."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import os
import sys
import threading
import warnings
from io import TextIOWrapper

from memory_sidecar.disk.opening import Tree

LEVELS = ("debug", "info", "warning", "error")
MAX_BYTES = 1 << 20
OLD_FILES = 3
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_file(path: str, level: str) -> None:
    """Log to `path`, and have standard error end there too: what kills Python is written to it."""
    _begin(_Rotating(path, maxBytes=MAX_BYTES, backupCount=OLD_FILES, encoding="utf-8"), level)


def log_to_stderr(level: str) -> None:
    _begin(logging.StreamHandler(sys.stderr), level)


def set_level(level: str) -> None:
    """One of `LEVELS`, for everything that logs from now on."""
    logging.getLogger().setLevel(level.upper())


class _Rotating(logging.handlers.RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        folder, name = os.path.split(self.baseFilename)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = Tree(folder, is_own=True).open(name, flags)
        os.dup2(descriptor, 2)
        return TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding)


def _begin(handler: logging.Handler, level: str) -> None:
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    threading.excepthook = _log_thread
    faulthandler.enable(2)


def _log_thread(failed: threading.ExceptHookArgs) -> None:
    name = failed.thread.name if failed.thread else "a thread"
    value = failed.exc_value or failed.exc_type()
    logging.getLogger("threads").error("%s ended: %r", name, value, exc_info=value)
