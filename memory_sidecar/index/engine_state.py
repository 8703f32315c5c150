"""The state folder of one source: CocoIndex's own state, and whether it is safe to open.

CocoIndex keeps its state in LMDB, which maps the file into memory unchecked. In a file that is
shorter than its header says, the first missing page kills the process (SIGBUS), and other damage
may, too, at every start. So the length is checked first, and if the process ends three times
between opening the state and the first batch, the state counts as damaged. It can be made again.

The page layout is that of LMDB 0.9 (`MDB_meta` in mdb.c) on 64 bits.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
import struct
from contextlib import suppress
from pathlib import Path

from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.sqlite import is_ours, named_errors

MAX_UNCLEAN_ENDS = 3
MAX_KEY_BYTES = 240  # LMDB takes keys of some 500, and CocoIndex doubles some characters
_DATA = "mdb/data.mdb"  # of LMDB, below CocoIndex's folder
_MAGIC = 0xBEEFC0DE
_META = struct.Struct("=16x II 16x I 92x QQ")  # page header, magic, version, …, page size, …
_HEADER_BYTES = 1 << 17  # holds both meta pages, whatever the page size


class StateBroken(Exception):
    """CocoIndex's state is damaged, or of another format."""


class EngineState:
    """The state folder of a source. Used by one thread, which holds the writer lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = folder / "cocoindex"
        self._opened = folder / "opened"  # how often it was opened since it was last usable
        self._beginning = folder / "beginning"  # exists while CocoIndex's state is being made
        self._id = folder / "state_id"

    @property
    def paired_with(self) -> str:
        """The id that the state shares with the rows of its source, "" for none."""
        with named_errors(self._id):
            return self._id.read_bytes().decode("ascii", "replace") if self._id.is_file() else ""

    @property
    def is_empty(self) -> bool:
        """Whether CocoIndex knows no file, as its state was not made yet, or was deleted."""
        return is_unmade(self.engine) or self._beginning.exists()

    def pair(self, state_id: str) -> None:
        """Note that this state belongs to the rows with `state_id`, which must be committed."""
        with named_errors(self.folder):
            self._id.write_text(state_id, encoding="ascii")

    def clear(self) -> None:
        """Make CocoIndex forget every file. Raises as `remove_state` does, and DiskFull.

        The crash log in the folder stays: a file that crashed the process would do so again.
        """
        with named_errors(self.folder):
            _tree_of(self.folder).make(self.folder)
            remove_state(self.engine)
            for file in (self._opened, self._beginning, self._id):
                file.unlink(missing_ok=True)

    def note_opening(self) -> None:
        """Note that CocoIndex opens its state now. Raises StateBroken after too many bad ends.

        Deletes a state whose making was interrupted: its next run would still be the first of the
        app, which deletes every file that it did not mount itself, and so those of the first batch.
        """
        count = 0
        with suppress(FileNotFoundError, ValueError):
            count = int(self._opened.read_bytes()[:8])
        if count >= MAX_UNCLEAN_ENDS:
            raise StateBroken(f"the process ended {count} times while it was opened")
        self._opened.write_text(str(count + 1), "ascii")
        if self.is_empty:
            remove_state(self.engine)
            self._beginning.touch()

    def note_made(self) -> None:
        """Note that CocoIndex's state is complete, however the process ends from now on."""
        self._beginning.unlink(missing_ok=True)

    def note_usable(self) -> None:
        """Reset the count: CocoIndex worked with its state, or failed without a crash."""
        self._opened.unlink(missing_ok=True)


def kept_aside(paths: StorePaths) -> list[Path]:
    """List what was set aside of a damaged or outdated database, and of its sources' states."""
    old = [paths.db.with_name(paths.db.name + suffix) for suffix in (".old", ".old-wal")]
    return [
        *(each for each in old if each.is_file()),
        *sorted(paths.state.glob("*/cocoindex.broken")),  # by earlier versions
    ]


def drop_aside(paths: StorePaths) -> None:
    """Delete what `kept_aside` lists, as far as the disk allows, but no file of another program."""
    kept = kept_aside(paths)
    old = paths.db.with_name(f"{paths.db.name}.old")
    if old in kept and is_ours(old):
        for file in (each for each in kept if each.is_file()):
            with suppress(OSError):
                file.unlink()
    for folder in (each for each in kept if each.is_dir()):
        remove_state(folder)


def bytes_of(path: Path) -> int:
    """Return the size of a file, or of all files below a folder, as far as it can be read."""
    size = 0
    for each in (path, *path.rglob("*")):
        with suppress(OSError):
            status = each.lstat()
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return size


def remove_state(folder: Path) -> None:
    """Remove the state folder of a source, as far as the disk allows, without following links.

    Raises PathRefused where a folder above it is a link.
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
        shutil.rmtree(above.at(name), ignore_errors=True, dir_fd=above.fd)  # follows no link


def _tree_of(folder: Path) -> Tree:
    return Tree(folder.parents[2], is_own=True)


def engine_key(path: str) -> str:
    """Return CocoIndex's key of the file at `path`: the path, or a hash if that is too long."""
    encoded = path.encode()
    if len(encoded) <= MAX_KEY_BYTES:
        return path
    return f"/{hashlib.blake2b(encoded, digest_size=16).hexdigest()}"


def is_unmade(folder: Path) -> bool:
    """Whether CocoIndex has no state in `folder` yet."""
    return not (folder / _DATA).exists()


def check_state(folder: Path) -> None:
    """Raise StateBroken if the state in `folder` is damaged; a missing one is not."""
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
    """Return the bytes of a page, and the number of the last page by the newest meta page."""
    magic, _, page_bytes, last, transaction = _META.unpack_from(header)
    if magic != _MAGIC or page_bytes < 256 or page_bytes & (page_bytes - 1):
        raise ValueError("not LMDB's")
    other_magic, _, _, other_last, other_transaction = _META.unpack_from(header, page_bytes)
    if other_magic != _MAGIC:
        raise ValueError("not LMDB's")
    return page_bytes, last if transaction >= other_transaction else other_last
