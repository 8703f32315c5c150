"""Remembers which requests were being answered when the daemon died.

One that a library crashes on would take the next daemon down too, and every other client with it.
After three times in a row its client is told to run it alone. Each request notes its digest in a
slot of a small file, a write to the page cache, which a crash does not lose.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_sidecar.daemon.address import SAFELY
from memory_sidecar.daemon.exchange import Request

MAX_CRASHES = 3
_DIGEST_BYTES = 16

_log = logging.getLogger(__name__)


class RequestJournal:
    """The journal `requests` in the folder `state`; the daemon that holds the lock uses it."""

    def __init__(self, state: Path) -> None:
        self._counts_file = state / "request-crashes.json"
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._fd: int | None = None
        self._crashes: dict[str, int] = {}
        try:
            self._fd = os.open(state / "requests", os.O_RDWR | os.O_CREAT | SAFELY, 0o600)
            self._crashes = self._count_crashes(self._fd)
        except OSError as error:
            _log.warning("crashes are not counted: %s", error)

    @property
    def suspects(self) -> int:
        """How many requests were under way when the last daemon died."""
        return len(self._crashes)

    def is_barred(self, request: Request) -> bool:
        """Whether `request` was under way at the last three crashes."""
        return self._crashes.get(_digest(request).hex(), 0) >= MAX_CRASHES

    @contextmanager
    def answering(self, request: Request) -> Iterator[None]:
        """Around the answer to one request; called from several threads."""
        digest = _digest(request)
        with self._lock:
            slot = next(number for number in range(len(self._used) + 1) if number not in self._used)
            self._used.add(slot)
            self._write(slot, digest)
        try:
            yield
        finally:
            with self._lock:
                self._write(slot, bytes(_DIGEST_BYTES))
                self._used.remove(slot)
                if self._crashes.pop(digest.hex(), None) is not None:
                    self._save(self._crashes)

    def close(self) -> None:
        """After a proper end nothing is suspected any more, except what is barred."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)

    def _count_crashes(self, fd: int) -> dict[str, int]:
        before: dict[str, int] = {}
        with suppress(OSError, ValueError):
            before = json.loads(self._counts_file.read_text("utf-8"))
        content = os.read(fd, 1 << 20)
        os.ftruncate(fd, 0)
        slots = (content[at : at + _DIGEST_BYTES] for at in range(0, len(content), _DIGEST_BYTES))
        under_way = {slot.hex() for slot in slots if any(slot)}
        barred = {key: count for key, count in before.items() if count >= MAX_CRASHES}
        crashes = barred | {key: before.get(key, 0) + 1 for key in under_way}
        if crashes != before:
            self._save(crashes)
        return crashes

    def _write(self, slot: int, digest: bytes) -> None:
        if self._fd is None:
            return
        with suppress(OSError):  # the disk is full: what is asked matters more
            os.lseek(self._fd, slot * _DIGEST_BYTES, os.SEEK_SET)
            os.write(self._fd, digest)

    def _save(self, crashes: Mapping[str, int]) -> None:
        new = self._counts_file.with_suffix(".new")
        with suppress(OSError):
            new.write_text(json.dumps(crashes), "utf-8")
            new.replace(self._counts_file)


def _digest(request: Request) -> bytes:
    asked = json.dumps([request.cwd, request.arguments]).encode()
    return hashlib.blake2b(asked, digest_size=_DIGEST_BYTES).digest()
