"""The state folder of one source: CocoIndex's own state, and whether it may be opened.

LMDB maps that state into memory, and believes it. A file that is shorter than its header says ends
the process at the first page that is missing (SIGBUS), and so may other damage, each time anew. So
the length is compared before, and three ends of the process that came before the state was of any
use count as damage. Everything in the folder is derived.

The layout of a page is that of LMDB 0.9 (`MDB_meta` in mdb.c) on 64 bits.
"""

from __future__ import annotations

import shutil
import struct
from contextlib import suppress
from pathlib import Path

from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.sqlite import named_errors

MAX_UNCLEAN_ENDS = 3
_DATA = "mdb/data.mdb"  # of LMDB, below CocoIndex's folder
_MAGIC = 0xBEEFC0DE
_META = struct.Struct("=16x II 16x I 92x QQ")  # page header, magic, version, …, page size, …
_HEADER_BYTES = 1 << 17  # holds both meta pages, whatever the page size


class StateBroken(Exception):
    """CocoIndex's state cannot be read: it is damaged, or of another format."""


class EngineState:
    """The folder `folder`. One thread uses it, which holds the database's writer lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = folder / "cocoindex"
        self._opened = folder / "opened"  # how often it was begun to be used, and not ended
        self._beginning = folder / "beginning"  # there while CocoIndex's state is being made
        self._id = folder / "state_id"

    @property
    def paired_with(self) -> str:
        """The id that it shares with the rows which it belongs to, "" for none."""
        return self._id.read_bytes().decode("ascii", "replace") if self._id.is_file() else ""

    @property
    def is_empty(self) -> bool:
        """Whether CocoIndex knows no file: its state was not made yet, or was taken away."""
        return knows_nothing(self.engine) or self._beginning.exists()

    def pair(self, state_id: str) -> None:
        """Note that this state belongs to the rows with `state_id`, which is committed already."""
        with named_errors(self.folder):
            self._id.write_text(state_id, encoding="ascii")

    def clear(self) -> None:
        """Begin with a state that knows no file. Raises as `remove_state`, and DiskFull."""
        with named_errors(self.folder):
            remove_state(self.folder)
            _tree_of(self.folder).make(self.folder)

    def set_aside(self) -> Path:
        """Keep what cannot be read for a person who wants to know why; returns where."""
        aside = self.folder.with_name(f"{self.folder.name}.broken")
        with named_errors(self.folder):
            remove_state(aside)
            self.folder.replace(aside)
        return aside

    def begin(self) -> None:
        """CocoIndex's state is opened now. Raises StateBroken where that went wrong too often.

        One whose making was interrupted is made anew: the first run of an app deletes whatever it
        did not mount itself, and would do so to the files that come with it.
        """
        count = 0
        with suppress(OSError, ValueError):
            count = int(self._opened.read_bytes()[:8])
        if count >= MAX_UNCLEAN_ENDS:
            raise StateBroken(f"the process ended {count} times while it was opened")
        self._opened.write_text(str(count + 1), "ascii")
        if self.is_empty:
            remove_state(self.engine)
            self._beginning.touch()

    def begun(self) -> None:
        """CocoIndex's state is made: from now on it is of use, however the process ends."""
        self._beginning.unlink(missing_ok=True)

    def end(self) -> None:
        """CocoIndex's state was of use, or is closed."""
        self._opened.unlink(missing_ok=True)


def remove_state(folder: Path) -> None:
    """Remove a source's folder of state, as far as that goes; never through a link.

    Raises PathRefused where the folder that it should lie in is a link.
    """
    try:
        above, name = _tree_of(folder).enter_above(folder)
    except FileNotFoundError:
        return
    except FileRefused as error:
        raise PathRefused(
            f"{error.filename} is a {error.reason}", hint="make it a folder, or remove it"
        ) from error
    with above:
        shutil.rmtree(above.at(name), ignore_errors=True, dir_fd=above.fd)  # but no link


def _tree_of(folder: Path) -> Tree:
    return Tree(folder.parents[2], is_own=True)


def knows_nothing(folder: Path) -> bool:
    """Whether CocoIndex's state in `folder` is still to be made."""
    return not (folder / _DATA).exists()


def check_state(folder: Path) -> None:
    """Raises StateBroken. A state that is not there is none that is broken."""
    for file in folder.glob(_DATA):
        with file.open("rb") as opened:
            header = opened.read(_HEADER_BYTES)
        size = file.stat().st_size
        try:
            page_bytes, last = _last_page(header)
        except (struct.error, ValueError) as error:
            raise StateBroken(f"its header is damaged: {error}") from error
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
