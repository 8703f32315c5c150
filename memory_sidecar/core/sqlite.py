"""Opens SQLite databases in one way, and turns their errors into named ones with a next step.

`apsw` carries its own SQLite with FTS5 and extension loading, which the standard library's
module may lack. WAL lets readers see the last commit while one writer works. A connection
belongs to the thread that uses it at the moment; it is not shared between two at once.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import apsw

from memory_sidecar.core import reasons
from memory_sidecar.core.atomic import what_is_refused
from memory_sidecar.core.errors import (
    DiskFull,
    OutOfFiles,
    PathRefused,
    SidecarError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreReadOnly,
    disk_fails,
    system_error,
)
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.paths import has_had_rows
from memory_sidecar.core.process import require_descriptors

Connection = apsw.Connection
FTS5ExtensionApi = apsw.FTS5ExtensionApi
SQLITE_VERSION = apsw.sqlite_lib_version()  # of the one that `apsw` carries

BUSY_TIMEOUT_MS = 10_000
_RETRY_S = 0.01
CACHE_KIB = 64 * 1024  # of a writer, which sorts and merges in it
READER_CACHE_KIB = 2 * 1024  # of each of several readers; the system caches the file as well
FULL_BELOW_BYTES = 1 << 20
APPLICATION_ID = 0x6D656D73  # "mems", in the header of each of our files
_VFS_WITHOUT_LOCKS = "win32-none" if os.name == "nt" else "unix-none"
_NO_FILES_BESIDE = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)


def connect(path: Path, *, read_only: bool = False, cache_kib: int | None = None) -> Connection:
    """Open `path` (made if missing, unless `read_only`) with sqlite-vec loaded and WAL on.

    Raises StoreForeign for a file that is no SQLite database, StoreReadOnly and DiskFull where
    the disk refuses, StoreBusy where another process holds it for longer than the time-out.
    """
    with named_errors(path):
        import sqlite_vec  # here, since it imports numpy, which not every process needs

        _check_files(path, is_made=not read_only)
        connection = _open_reader(path) if read_only else apsw.Connection(str(path))
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
            if not read_only:
                connection.pragma("auto_vacuum", "incremental")  # takes effect in a new file only
                _write_ahead(connection)
            connection.pragma("synchronous", "normal")
            connection.pragma("temp_store", "memory")
            usual_kib = READER_CACHE_KIB if read_only else CACHE_KIB
            connection.pragma("cache_size", -(cache_kib or usual_kib))
            connection.pragma("foreign_keys", True)
            # Else a statement is planned again for the values of each use, but nothing tells more.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        except BaseException:
            connection.close()
            raise
    return connection


def _open_reader(path: Path) -> apsw.Connection:
    """Open `path` for reading the last commit, also on a full or read-only disk.

    Readers need an index of the log, the `-shm` file. Where that can be neither created nor used,
    no other process can write either: then the log is read without locks, and without a log the
    database alone. `is_reusable` tells such connections apart.
    """
    name = path.absolute().as_uri()
    try:
        return _try_reader(name)
    except _NO_FILES_BESIDE:
        wal = path.with_name(path.name + "-wal")
        for query in (f"?vfs={_VFS_WITHOUT_LOCKS}", "" if wal.exists() else "?immutable=1"):
            with suppress(*_NO_FILES_BESIDE):
                return _try_reader(name + query, is_lockless=True)
        raise


def _try_reader(name: str, *, is_lockless: bool = False) -> apsw.Connection:
    connection = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        if is_lockless:
            connection.pragma("locking_mode", "exclusive")  # keeps its index of the log in memory
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # it holds no lock
        connection.pragma("schema_version")
    except BaseException:
        connection.close()
        raise
    return connection


def is_reusable(connection: apsw.Connection) -> bool:
    """Whether an idle reader may be used again: it sees later commits, and blocks no writer."""
    is_lockless = connection.pragma("locking_mode") == "exclusive"
    return not is_lockless and os.access(os.path.dirname(connection.filename), os.W_OK)  # noqa: PTH120


def _check_files(path: Path, *, is_made: bool) -> None:
    """Raise FileRefused unless the database's files are regular or missing; create it if `is_made`.

    SQLite would follow a link, and block for ever at a FIFO. The check opens no file: closing it
    would drop every lock that this process holds on it.
    """
    tree = Tree(path.parent, is_own=True)
    if is_made:
        tree.make()
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + suffix)
        status = tree.status(file)
        if status is not None and stat.S_ISLNK(status.st_mode):
            raise FileRefused(errno.ELOOP, reasons.SYMBOLIC_LINK, file)
        if status is not None and not (stat.S_ISREG(status.st_mode) or path.is_dir()):
            raise FileRefused(errno.EINVAL, reasons.NOT_REGULAR, file)
        if status is None and not suffix and is_made:
            with suppress(FileExistsError):  # with 0600, which SQLite copies for the files beside
                os.close(tree.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL))


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    """Commit all of the block or nothing of it; takes SQLite's write lock at once."""
    with named_errors(Path(connection.filename)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def give_back_free_pages(connection: apsw.Connection) -> None:
    """Shrink the file by the pages that deletions have freed."""
    with named_errors(Path(connection.filename)):
        connection.execute("PRAGMA incremental_vacuum").fetchall()


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """One read transaction: every query of the block sees the same commit."""
    with named_errors(Path(connection.filename)):
        connection.execute("BEGIN")
        try:
            yield
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")


def _write_ahead(connection: apsw.Connection) -> None:
    """Turn on WAL, with a retry of our own.

    If two connections do so at once with a new file, SQLite refuses one of them immediately,
    without the busy time-out, since they would wait for each other.
    """
    if connection.readonly("main"):  # as SQLite silently opens what cannot be written
        raise apsw.ReadOnlyError("it can only be read")
    until_s = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until_s:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def damage_of(db: Path) -> str:
    """Return the first problem that SQLite's quick check finds in `db`, "" for none."""
    connection = connect(db, read_only=True)
    try:
        with named_errors(db):
            problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    finally:
        connection.close()
    return "" if problems == ["ok"] else problems[0]


def set_aside(path: Path) -> None:
    """Rename an unusable database, with its log, to `<name>.old`, replacing an earlier one.

    The log first: if it were left behind, SQLite would apply it to the next database.
    """
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    for suffix in ("-wal", ""):
        part, old = (path.with_name(path.name + kept + suffix) for kept in ("", ".old"))
        if part.exists():
            part.replace(old)
        else:
            old.unlink(missing_ok=True)


def column(
    connection: Connection, sql: str, values: Sequence[object] | Mapping[str, object] = ()
) -> list[Any]:
    """Return the first column of the rows that `sql` selects."""
    return [row[0] for row in connection.execute(sql, cast("Any", values))]


def rows_at_once(
    connection: Connection, columns: str, rest: str, values: Sequence[object] | Mapping[str, object]
) -> list[list[Any]]:
    """Return the rows of `SELECT columns FROM rest`, none of them a BLOB, read as one text.

    Stepping to a row releases the GIL: beside a busy thread, 100 rows took 68 ms.
    """
    listed = f"SELECT json_group_array(json_array({columns})) FROM {rest}"  # noqa: S608  ours
    return list(json.loads(column(connection, listed, values)[0]))


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the disk about `path` into errors with a next step."""
    try:
        yield
    except apsw.Error as error:
        raise _named(error, path) from error
    except OSError as error:
        raise _named_os(error, path) from error


def _named(error: apsw.Error, path: Path) -> SidecarError:
    match error:
        case apsw.Error() if path.is_dir():
            return StoreForeign(f"{path} is a folder", hint="name a file with --db")
        case apsw.NotADBError() | apsw.CorruptError() | apsw.IOError() if (
            damage := _damage_in(error)
        ) and is_ours(path):
            return StoreCorrupt(
                f"{path} is damaged ({damage})",
                hint="everything in it can be made again: `memory-sidecar reindex --all`",
                path=path,
            )
        case apsw.NotADBError() | apsw.CorruptError():
            return StoreForeign(
                f"{path} is not one of our databases ({error})",
                hint="move it away to have it made anew, or name another with --db",
            )
        case apsw.FullError():
            return _disk_full(path)
        case apsw.IOError() if is_full(path.parent):
            return _disk_full(path)
        case _ if _may_open_no_more():
            return OutOfFiles()
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return StoreReadOnly(
                f"cannot open or write {path} ({error})",
                hint="check its permissions, or choose another place with --data-dir",
            )
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(
                f"{path} is held by another process",
                hint="wait for it to finish; `memory-sidecar doctor` tells if its disk lacks locks",
            )
        case apsw.IOError():
            return disk_fails(path, error)
        case _:
            return StoreError(f"{path}: {error}", hint="`memory-sidecar doctor` tells more")


def _damage_in(error: apsw.Error) -> str:
    """Return what `error` says of damage, "" for none: a disk that fails has another code."""
    if isinstance(error, apsw.IOError):
        code = getattr(error, "extendedresult", 0)  # which the types of apsw lack
        return "it, or its log, was cut off" if code == apsw.SQLITE_IOERR_SHORT_READ else ""
    return str(error)


def is_ours(path: Path) -> bool:
    """Whether the header (https://sqlite.org/fileformat.html) has our application id, or is zeros.

    No other program writes zeros. Until the first checkpoint, our id and all tables are in the log
    alone: a file without a table passes, as a copy of it may be followed by one of a later log. So
    does what is no database, in the place of one of ours.
    """
    with suppress(OSError), path.open("rb") as file:
        header = file.read(105)
        has_no_table = header[100:101] == b"\r" and not any(header[103:105])
        is_ours = header[68:72] == APPLICATION_ID.to_bytes(4) or not any(header[:72])
        return is_ours or has_no_table or (header[:6] != b"SQLite" and has_had_rows(path))
    return False


def _disk_full(path: Path) -> DiskFull:
    return DiskFull(f"no room left to write {path}", hint="free some space and try again")


def is_full(folder: Path) -> bool:
    """Whether the disk is full: a write that fits only in part fails as an I/O error."""
    with suppress(OSError):
        return shutil.disk_usage(folder).free < FULL_BELOW_BYTES
    return False


def _may_open_no_more() -> bool:
    """Whether no connection can be opened: SQLite does not say so, and may have closed its own."""
    with suppress(OutOfFiles):
        require_descriptors(4)  # the database, its log, the index of that, and sqlite-vec
        return False
    return True


def _named_os(error: OSError, path: Path) -> SidecarError:
    if isinstance(error, FileRefused):
        return PathRefused(
            f"{error.filename} is not opened: {error.reason}",
            hint=f"{error.remedy}, or name another",
        )
    if error.errno == errno.EIO and is_full(path.parent):
        return _disk_full(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return StoreReadOnly(
            f"cannot {what_is_refused(error, path)}: {error.strerror}",
            hint="check its permissions; for the data, --data-dir names another place",
        )
    return system_error(error, path) or StoreError(
        f"{path}: {error.strerror or error}", hint="`memory-sidecar doctor` tells more"
    )
