"""Whether CocoIndex's state may be opened. LMDB maps it into memory, and believes it.

A file that is shorter than its header says ends the process at the first page that is missing
(SIGBUS), and so may other damage, each time anew. So the length is compared before, and three ends
of the process that came before the state was of any use count as damage.

The layout of a page is that of LMDB 0.9 (`MDB_meta` in mdb.c) on 64 bits.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

MAX_UNCLEAN_ENDS = 3
_MAGIC = 0xBEEFC0DE
_META = struct.Struct("=16x II 16x I 92x QQ")  # page header, magic, version, …, page size, …
_HEADER_BYTES = 1 << 17  # holds both meta pages, whatever the page size


class StateBroken(Exception):
    """CocoIndex's state cannot be read: it is damaged, or of another format."""


def check_state(folder: Path) -> None:
    """Raises StateBroken. A state that is not there is none that is broken."""
    for file in folder.glob("mdb/data.mdb"):
        with file.open("rb") as opened:
            header = opened.read(_HEADER_BYTES)
        size = file.stat().st_size
        try:
            pages = _last_page(header)
        except (struct.error, ValueError) as error:
            raise StateBroken(f"its header is damaged: {error}") from error
        page_bytes, last = pages
        if size < last * page_bytes:
            raise StateBroken(f"it is cut off: {size} bytes of {last * page_bytes}")


def _last_page(header: bytes) -> tuple[int, int]:
    """Bytes of a page, and the number of the last one that the newest meta page knows."""
    magic, _, page_bytes, last, transaction = _META.unpack_from(header)
    if magic != _MAGIC or page_bytes < 256 or page_bytes & (page_bytes - 1):
        raise ValueError("not LMDB's")
    other_magic, _, _, other_last, other_transaction = _META.unpack_from(header, page_bytes)
    if other_magic != _MAGIC:
        raise ValueError("not LMDB's")
    return page_bytes, last if transaction >= other_transaction else other_last


class UncleanEnds:
    """Counts in `file` how often the process ended before the state had been of use."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self) -> None:
        """The state is opened now. Raises StateBroken where that went wrong too often."""
        count = 0
        with suppress(OSError, ValueError):
            count = int(self._file.read_bytes()[:8])
        if count >= MAX_UNCLEAN_ENDS:
            raise StateBroken(f"the process ended {count} times while it was opened")
        self._file.write_text(str(count + 1), "ascii")

    def end(self) -> None:
        """The state was of use, or is closed."""
        self._file.unlink(missing_ok=True)
