"""Remembers which work was running when the process died, so that none can kill it for ever.

A grammar or library that crashes on a file, or on a question, ends the whole process, and the next
process would begin with the same file. So risky work is noted in a slot of a small file (a write to
the page cache, which survives a crash of the process) and cleared afterwards. A key that is still
there at the next start is a suspect; after three crashes without a success between them it is
barred. Best effort: where the disk refuses, nothing is counted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.opening import Tree

MAX_CRASHES = 3
_MAX_BYTES = 1 << 20
_DIGEST_BYTES = 16

_log = logging.getLogger(__name__)


class CrashLog:
    """Keys of work that is running, and how often each was running in a crash.

    A key is any text that identifies a piece of work, such as a path with its size and times.
    Thread-safe.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Open the log called `name` in `folder`, which one process uses, until `close`."""
        self._tree = Tree(folder, is_own=True)
        self._counts_file = f"{name}-crashes.json"
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._counts: dict[str, int] = {}
        self._slots: int | None = None
        self.suspects = 0  # how many keys were under way when the last process died
        try:
            self._slots = self._tree.open(name, os.O_RDWR | os.O_CREAT)
            self._count_suspects(self._slots)
        except OSError as error:
            _log.warning("crashes are not counted in %s: %s", folder / name, error)

    def is_barred(self, key: str) -> bool:
        """Whether `key` was under way at three crashes, and not done in between."""
        return self._counts.get(_digest(key), 0) >= MAX_CRASHES

    @contextmanager
    def under_way(self, key: str) -> Iterator[None]:
        """Note `key` during the block, which may crash the process."""
        digest = _digest(key)
        with self._lock:
            slot = next(number for number in range(len(self._used) + 1) if number not in self._used)
            self._used.add(slot)
            self._write(slot, bytes.fromhex(digest))
        try:
            yield
        finally:
            with self._lock:
                self._write(slot, bytes(_DIGEST_BYTES))
                self._used.remove(slot)
            self.reset(key)

    def reset(self, key: str) -> None:
        """Forget the crashes of `key`, which was done without one."""
        with self._lock:
            if self._counts.pop(_digest(key), None) is not None:
                self._save()

    def count_crash(self, key: str) -> None:
        """Count a crash of a worker process that was busy with `key` alone."""
        digest = _digest(key)
        with self._lock:
            self._counts[digest] = self._counts.get(digest, 0) + 1
            self._save()

    def close(self) -> None:
        """End properly: no key stays a suspect; barred ones stay barred."""
        with self._lock:
            slots, self._slots = self._slots, None
            if slots is not None:
                with suppress(OSError):
                    os.ftruncate(slots, 0)
                os.close(slots)

    def _count_suspects(self, slots: int) -> None:
        """Add a crash to each key that was under way."""
        before = self._read_counts()
        content = os.read(slots, _MAX_BYTES)
        digests = (content[at : at + _DIGEST_BYTES] for at in range(0, len(content), _DIGEST_BYTES))
        suspects = {digest.hex() for digest in digests if any(digest)}
        self._counts = before | {key: before.get(key, 0) + 1 for key in suspects}
        self.suspects = len(suspects)
        if self._counts != before:
            self._save()
        os.ftruncate(slots, 0)  # only once their counts are saved

    def _read_counts(self) -> dict[str, int]:
        try:
            counts = json.loads(self._tree.read(self._counts_file, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):  # missing, truncated or damaged
            return {}
        pairs = counts.items() if isinstance(counts, dict) else ()
        return {key: count for key, count in pairs if type(count) is int}

    def _write(self, slot: int, digest: bytes) -> None:
        if self._slots is not None:
            with suppress(OSError):
                os.lseek(self._slots, slot * _DIGEST_BYTES, os.SEEK_SET)
                os.write(self._slots, digest)

    def _save(self) -> None:
        with suppress(OSError):
            replace_file(self._tree, self._counts_file, json.dumps(self._counts).encode())


def _digest(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()
