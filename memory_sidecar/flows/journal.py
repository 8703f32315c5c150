"""Remembers which files were being built when the process died, so that none can kill it for ever.

A grammar or library that crashes on a file takes the whole process with it, and the next one would
read the same file first. Each worker notes its file in a slot of a small journal (a
write to the page cache, which a crash does not lose) and clears it afterwards. What stands there
at the next start was in flight; a file that was, three times in a row, is left alone until it
changes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_sidecar.model import SourceFile

MAX_CRASHES = 3
_SLOT_BYTES = 8192  # a path of 4,096 bytes, written as JSON


class CrashJournal:
    """The journal in the folder `state`; one process at a time uses it."""

    def __init__(self, state: Path) -> None:
        self._counts_file = state / "crashes.json"
        (state / "in_flight").touch()
        self._slots = (state / "in_flight").open("r+b", buffering=0)
        self._free = list(range(64))
        self._lock = threading.Lock()
        self._crashes = self._count_crashes()

    def close(self) -> None:
        self._slots.close()

    def is_barred(self, file: SourceFile) -> bool:
        """Whether this version of `file` was in flight at the last three crashes."""
        return self._crashes.get(_key(file), 0) >= MAX_CRASHES

    @contextmanager
    def building(self, file: SourceFile) -> Iterator[None]:
        """Around the building of one file; called from several threads."""
        key = _key(file)
        with self._lock:
            slot = self._free.pop()
            self._write(slot, key.encode().ljust(_SLOT_BYTES, b"\0"))
        try:
            yield
        finally:
            with self._lock:
                self._write(slot, b"\0")
                self._free.append(slot)
                if self._crashes.pop(key, None) is not None:
                    self._save()

    def count_crash(self, file: SourceFile) -> None:
        """Note that `file` ended a process that only built it."""
        with self._lock:
            self._crashes[_key(file)] = self._crashes.get(_key(file), 0) + 1
            self._save()

    def _count_crashes(self) -> dict[str, int]:
        """What was in flight now has one crash more; what was not has none in a row."""
        before: dict[str, int] = {}
        if self._counts_file.is_file():
            before = json.loads(self._counts_file.read_text("utf-8"))
        content = self._slots.read()
        slots = (content[at : at + _SLOT_BYTES] for at in range(0, len(content), _SLOT_BYTES))
        in_flight = {slot.rstrip(b"\0").decode() for slot in slots if slot[:1] not in (b"", b"\0")}
        self._slots.truncate(0)
        barred = {key: count for key, count in before.items() if count >= MAX_CRASHES}
        crashes = barred | {key: before.get(key, 0) + 1 for key in in_flight}
        if crashes != before:
            self._crashes = crashes
            self._save()
        return crashes

    def _write(self, slot: int, content: bytes) -> None:
        self._slots.seek(slot * _SLOT_BYTES)
        self._slots.write(content)

    def _save(self) -> None:
        new = self._counts_file.with_suffix(".new")
        new.write_text(json.dumps(self._crashes), "utf-8")
        new.replace(self._counts_file)


def _key(file: SourceFile) -> str:
    return json.dumps([file.path, *file.stamp])
