"""Every error that a caller can meet, each with a code, a next step and an exit status.

    SidecarError                   1  failed
    ├── UsageError                 2  wrong usage
    │   ├── PathRefused            2  a path that leaves its root, or is no folder
    │   ├── SecretRefused          2  a text that seems to hold a key, a token or a password
    │   ├── SessionInvalid         2  a session's JSON breaks a rule; names the field
    │   └── EventInvalid           1  a hook's input; by 2 a hook orders a coding agent to stop
    ├── NotFound                   3  a memory, a source … that the caller named does not exist
    │   └── NoIndex                3  nothing has been indexed yet
    │       └── TeamEmpty          3  a team that has nothing yet
    ├── Conflict                   4  the file changed since it was read
    ├── SummarizerFailed           1  the configured command made no summary
    ├── MemvidFailed               1  the memvid command failed
    ├── CloneFailed                1  git could not clone or update a source
    ├── PageBroken                 1  a memory's frontmatter cannot be edited as it is
    ├── Interrupted              130  Ctrl-C
    ├── DaemonUnreachable          5  no daemon, and none could be started
    ├── DatabaseError              1
    │   ├── DatabaseUnreachable    1  the team's server does not answer
    │   └── DatabaseRefused        1  the server refuses: password, privilege, extension
    ├── ModelError                 1
    │   ├── ModelMissing           1  no embedding model on this machine
    │   └── ModelCorrupt           1  the model's files differ from the published ones
    └── StoreError                 1
        ├── StoreForeign           1  the file is not one of our databases
        ├── StoreCorrupt           1  one of our databases is damaged
        ├── StoreNewer             1  a newer version of memory-sidecar wrote the database
        └── CannotWrite            1  reading may still work
            ├── StoreReadOnly      1  the data directory cannot be written
            ├── StoreBusy          1  another process holds the writer's lock
            ├── DiskFull           1  no room left
            └── OutOfFiles         1  this process has as many files open as it may have

The message says what is wrong, the hint what to do next; both are one line.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from copyreg import __newobj__  # type: ignore[attr-defined]
from typing import Any, ClassVar

_DISK_FAILS = (errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENODEV, errno.EFBIG, errno.ENOLCK)


class SidecarError(Exception):
    """Base of all errors that end a command. `code` is stable, `hint` a next step or empty."""

    code: ClassVar[str] = "failed"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(one_line(message))
        self.hint = one_line(hint)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it be copied, and come from another process, whatever its class is made of."""
        return __newobj__, (type(self), *self.args), self.__dict__

    @property
    def message(self) -> str:
        """What is wrong, in one line."""
        return str(self.args[0])

    @property
    def with_hint(self) -> str:
        """The message and, if there is one, the hint."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def as_json(self) -> dict[str, dict[str, Any]]:
        """Return the JSON of this error, in the shape that the contract defines."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class UsageError(SidecarError):
    code = "usage"
    exit_status = 2


class PathRefused(UsageError):
    code = "path_refused"


class SessionInvalid(UsageError):
    code = "session_invalid"


class EventInvalid(UsageError):
    exit_status = 1


class SecretRefused(UsageError):
    code = "secret_refused"


class NotFound(SidecarError):
    code = "not_found"
    exit_status = 3


class NoIndex(NotFound):
    code = "no_index"


class TeamEmpty(NoIndex):
    pass


class Conflict(SidecarError):
    """The file changed since it was read. `current`: JSON properties of what is there now."""

    code = "conflict"
    exit_status = 4

    def __init__(
        self, message: str, *, hint: str = "", current: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.current = dict(current or {})

    def as_json(self) -> dict[str, dict[str, Any]]:
        document = super().as_json()
        return {"error": document["error"] | ({"current": self.current} if self.current else {})}


class SummarizerFailed(SidecarError):
    code = "summarizer_failed"


class MemvidFailed(SidecarError):
    code = "memvid_failed"


class CloneFailed(SidecarError):
    code = "clone_failed"


class PageBroken(SidecarError):
    code = "page_broken"


class Interrupted(SidecarError):
    """The user pressed Ctrl-C. `hint`: what becomes of the work."""

    code = "interrupted"
    exit_status = 130

    def __init__(self, *, hint: str = "") -> None:
        super().__init__("interrupted", hint=hint)


class DaemonUnreachable(SidecarError):
    code = "daemon_unreachable"
    exit_status = 5


class DatabaseError(SidecarError):
    code = "database"


class DatabaseUnreachable(DatabaseError):
    code = "database_unreachable"


class DatabaseRefused(DatabaseError):
    code = "database_refused"


class ModelError(SidecarError):
    code = "model"


class ModelMissing(ModelError):
    code = "model_missing"


class ModelCorrupt(ModelError):
    code = "model_corrupt"


class StoreError(SidecarError):
    code = "store"


class StoreForeign(StoreError):
    code = "store_foreign"


class StoreCorrupt(StoreError):
    """The database at `path` is one of ours and damaged."""

    code = "store_corrupt"

    def __init__(self, message: str, *, hint: str = "", path: str | os.PathLike[str]) -> None:
        super().__init__(message, hint=hint)
        self._path = os.path.realpath(path)

    def is_of(self, path: str | os.PathLike[str]) -> bool:
        """Whether the damage is in the database at `path`."""
        return self._path == os.path.realpath(path)


class StoreNewer(StoreError):
    code = "store_newer"


class CannotWrite(StoreError):
    """The database cannot be written now; the subclasses say why."""


class StoreReadOnly(CannotWrite):
    code = "store_read_only"


class StoreBusy(CannotWrite):
    code = "store_busy"


class DiskFull(CannotWrite):
    code = "disk_full"


class OutOfFiles(CannotWrite):
    code = "out_of_files"

    def __init__(self) -> None:
        super().__init__(
            "as many files are open as this process may open",
            hint="raise the limit, `ulimit -Hn`, then `memory-sidecar stop`",
        )


def as_sidecar_error(error: BaseException, *, hint: str, at: str = "") -> SidecarError:
    """Return `error` as a SidecarError: itself, what the system refused, or an internal error.

    `hint` is the hint of an internal error, and `at` is appended to its label: where it happened.
    """
    if isinstance(error, SidecarError):
        return error
    for cause in _causes(error):
        if isinstance(cause, (OSError, MemoryError)) and (named := system_error(cause)):
            return named
        if isinstance(cause, RuntimeError) and str(cause) == "can't start new thread":
            raised = "raise the limit of processes (`ulimit -u`, `pids.max` of a container)"
            return SidecarError("no thread can be started", hint=f"{raised}, then try again")
    refused = (errno.EACCES, errno.EPERM, errno.EROFS)
    if isinstance(error, OSError) and error.errno in refused and error.filename:
        return StoreReadOnly(f"{error.filename}: {error.strerror}", hint="check its permissions")
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return SidecarError(f"internal error{at}: {what}", hint=hint)


def system_error(
    error: OSError | MemoryError, where: str | os.PathLike[str] = ""
) -> SidecarError | None:
    """Return the error for what the system lacks (memory, open files, room, a sound disk), if any.

    `where` is the file that `error` is about, if `error` does not name one.
    """
    if isinstance(error, MemoryError) or error.errno == errno.ENOMEM:
        free = "free memory, or raise `ulimit -v` to 2 GB; then `memory-sidecar stop`"
        return StoreError(f"{where}: no memory left" if where else "no memory left", hint=free)
    if is_out_of_files(error):
        return OutOfFiles()
    where = where or error.filename
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no room left to write {where or 'the output'}", hint="free some space and try again"
        )
    if error.errno in _DISK_FAILS:
        return disk_fails(where or "the disk", error.strerror)
    return None


def disk_fails(where: str | os.PathLike[str], why: object) -> CannotWrite:
    return CannotWrite(
        f"{where} cannot be read or written: {why}",
        hint="a quota or a limit of file sizes (`ulimit -f`) is reached, or its disk fails or was"
        " taken away: see the system's log, and save what you need",
    )


def output_error(error: Exception) -> SidecarError:
    """Return the error for an output that cannot be written."""
    named = as_sidecar_error(error, hint="")
    if isinstance(named, DiskFull):
        return named
    return SidecarError(str(error), hint="check what it is redirected to")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and its causes, each once: Python lets an error be a cause of itself."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and not any(cause is each for each in seen):
        seen.append(cause)
        yield cause
        cause = cause.__cause__ or cause.__context__


def is_out_of_files(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def one_line(text: str) -> str:
    """Replace line breaks and control characters in `text` by single spaces."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())
