"""Remembers which requests were being answered when the daemon died.

One that a library crashes on would take the next daemon down too, and every other client with it.
After three times in a row its client is told to run it alone. Each request notes its digest in a
slot of a small file, a write to the page cache, which a crash does not lose.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_sidecar.daemon.exchange import Request

MAX_CRASHES = 3
_DIGEST_BYTES = 16


class RequestJournal:
    """The journal `requests` in the folder `state`; the daemon that holds the lock uses it."""

    def __init__(self, state: Path) -> None:
        self._counts_file = state / "request-crashes.json"
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._fd = os.open(
            state / "requests", os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600
        )
        self._crashes = self._count_crashes()

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
                    self._save()

    def close(self) -> None:
        """After a proper end nothing is suspected any more, except what is barred."""
        os.ftruncate(self._fd, 0)
        os.close(self._fd)

    def _count_crashes(self) -> dict[str, int]:
        before: dict[str, int] = {}
        with suppress(OSError, ValueError):
            before = json.loads(self._counts_file.read_text("utf-8"))
        content = os.read(self._fd, 1 << 20)
        os.ftruncate(self._fd, 0)
        slots = (content[at : at + _DIGEST_BYTES] for at in range(0, len(content), _DIGEST_BYTES))
        under_way = {slot.hex() for slot in slots if any(slot)}
        barred = {key: count for key, count in before.items() if count >= MAX_CRASHES}
        self._crashes = barred | {key: before.get(key, 0) + 1 for key in under_way}
        if self._crashes != before:
            self._save()
        return self._crashes

    def _write(self, slot: int, digest: bytes) -> None:
        os.lseek(self._fd, slot * _DIGEST_BYTES, os.SEEK_SET)
        os.write(self._fd, digest)

    def _save(self) -> None:
        new = self._counts_file.with_suffix(".new")
        new.write_text(json.dumps(self._crashes), "utf-8")
        new.replace(self._counts_file)


def _digest(request: Request) -> bytes:
    asked = json.dumps([request.cwd, request.arguments]).encode()
    return hashlib.blake2b(asked, digest_size=_DIGEST_BYTES).digest()
