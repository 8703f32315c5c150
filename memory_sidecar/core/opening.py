"""Opens files below a folder without following a link: the only way files are opened here.

A folder that others have written to (a clone, an archive, another program) may hold links out of
it, FIFOs and devices on which opening blocks for ever, and endless files. A `Tree` begins at a
folder that the user named; links in the path of that folder are followed. Below it every component
is opened by a handle, so that nothing can be replaced between check and use. Windows has no such
handles: there paths are opened as they are.

Paths are relative to the tree, with `/`, or absolute paths inside of it. Trees and folders raise
OSError; an existing file that is not opened is a `FileRefused`, with the reason. Imports little,
since clients have to start at once.
"""

from __future__ import annotations

import errno
import os
import stat

from memory_sidecar.core import reasons

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    StrPath = str | os.PathLike[str]

_HAS_HANDLES = os.open in os.supports_dir_fd
_FILE = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # else opening a FIFO waits for a writer
    | getattr(os, "O_BINARY", 0)
)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_CHUNK_BYTES = 1 << 16
MAX_PATH_BYTES = 4095  # the limit of Linux; a system with a lower one reports it itself


class FileRefused(OSError):
    """A file or folder exists, but is not opened.

    `reason` is one of the module `reasons`, `remedy` what the user may do.
    """

    def __init__(self, number: int, reason: str, path: StrPath) -> None:
        super().__init__(number, reason, os.fspath(path))
        self.reason = reason
        is_large = reason.startswith(reasons.TOO_LARGE)
        self.remedy = "make it smaller" if is_large else "put the file itself there"


def real_path(path: StrPath) -> str:
    """Resolve links as `os.path.realpath` does, up to one that may not be read. Never raises."""
    try:
        return os.path.realpath(path)  # does not hang on a loop
    except OSError as error:
        return str(error.filename)
    except ValueError:  # NUL, or half of a surrogate pair
        return os.path.abspath(path)


def is_folder(path: str) -> bool:
    """Whether `path` is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def read_user_file(path: StrPath, limit_bytes: int) -> bytes:
    """Read a regular file that the user named, following links.

    Raises FileRefused if it is larger than `limit_bytes`.
    """
    above, name = os.path.split(os.path.realpath(path))
    return Tree(above).read(name, limit_bytes)


def is_utf8(path: str) -> bool:
    """Whether `path` can be stored and sent as text: one that is not holds escaped bytes."""
    if path.isascii():  # which takes no time
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_bytes(path: StrPath) -> str:
    """Write every byte of `path` that is not UTF-8 as `\\xNN`, as paths are stored and shown."""
    text = os.fspath(path)
    return text if is_utf8(text) else os.fsencode(text).decode("utf-8", "backslashreplace")


def with_separator(folder: str) -> str:
    """Return the prefix of all paths in `folder`."""
    return folder.rstrip(os.sep) + os.sep


_SERVED: dict[str, Callable[[], bool]] = {}


def make_folders_only_while(is_ours: Callable[[], bool], folder: StrPath) -> None:
    """Let this process create `folder`, and files in it, only while `is_ours()` is true."""
    for path in (os.path.abspath(folder), os.path.realpath(folder)):
        _SERVED[path] = is_ours


def _is_within(path: str, top: str) -> bool:
    return f"{path}{os.sep}".startswith(with_separator(top))


class Tree:
    """The files below the folder `path`, which need not exist yet.

    A tree that `is_own` belongs to this program: files are created for the user alone (0600, 0700),
    and files of other users are refused. In other trees the umask applies, and any owner is fine.
    """

    __slots__ = ("is_own", "path")

    def __init__(self, path: StrPath, *, is_own: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.is_own = is_own

    def read(self, path: StrPath, limit_bytes: int) -> bytes:
        """Read a regular file; a larger one than `limit_bytes` is a FileRefused."""
        folder, name = self.enter_above(path)
        with folder:
            return folder.read(name, limit_bytes)[0]

    def open(self, path: StrPath, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor of a regular file, which the caller closes.

        With O_CREAT, creates the file and the folders above it.
        """
        folder, name = self.enter_above(path, make=bool(flags & os.O_CREAT))
        with folder:
            return folder.open(name, flags)

    def status(self, path: StrPath) -> os.stat_result | None:
        """Return the status of `path` without following a link; `None` if nothing is there."""
        try:
            folder, name = self.enter_above(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with folder:
            return folder.status(name or ".")

    def enter(self, path: StrPath = "", *, make: bool = False) -> Folder:
        """Open the folder at `path`; with `make`, create it and those above it if missing.

        Raises FileNotFoundError, and NotADirectoryError for a file.
        """
        names = [name for name in self._relative(path).split("/") if name]
        if make:
            served = (is_ours for top, is_ours in _SERVED.items() if _is_within(self.path, top))
            if not all(is_ours() for is_ours in served):
                raise FileNotFoundError(errno.ENOENT, "its folder was moved or removed", self.path)
            os.makedirs(self.path, self.folder_mode, exist_ok=True)
        folder = Folder(self, self.path, os.open(self.path, _FOLDER) if _HAS_HANDLES else None)
        for name in names:
            with folder:
                folder = folder.make(name) if make else folder.below(name)
        return folder

    def keep_private(self, path: StrPath) -> None:
        """Remove the permissions of other users on the file or folder at `path`, if it is ours."""
        folder, name = self.enter_above(path)
        with folder:
            status = folder.status(name)
            if status is None or os.name == "nt" or status.st_uid != os.geteuid():
                return
            if status.st_mode & 0o077 and not stat.S_ISLNK(status.st_mode):
                mode = stat.S_IMODE(status.st_mode) & 0o700
                os.chmod(folder.at(name), mode, dir_fd=folder.fd)

    def make(self, path: StrPath = "") -> None:
        """Create the folder at `path`, and those above it, if they are missing."""
        self.enter(path, make=True).close()

    def enter_above(self, path: StrPath, *, make: bool = False) -> tuple[Folder, str]:
        """Open the folder that `path` lies in; return it and the last component of `path`."""
        above, _, name = self._relative(path).rpartition("/")
        return self.enter(above, make=make), name

    @property
    def file_mode(self) -> int:
        return 0o600 if self.is_own else 0o666

    @property
    def folder_mode(self) -> int:
        return 0o700 if self.is_own else 0o777

    def refuses_owner(self, status: os.stat_result) -> bool:
        """Whether the file belongs to neither this user nor the owner of our own tree's folder."""
        if not self.is_own or os.name == "nt" or status.st_uid == os.geteuid():
            return False
        return status.st_uid != os.stat(self.path).st_uid

    def _relative(self, path: StrPath) -> str:
        text = os.fspath(path)
        try:
            is_fine = b"\0" not in os.fsencode(text)
        except UnicodeEncodeError:  # half of a surrogate pair
            is_fine = False
        if is_fine and os.path.isabs(text):
            text = os.path.abspath(text)
            is_fine = _is_within(text, self.path)
            text = text[len(self.path.rstrip(os.sep)) + 1 :]
        if os.sep != "/":
            text = text.replace(os.sep, "/")
        if not is_fine or ".." in text.split("/"):
            raise FileRefused(errno.EINVAL, reasons.NO_PATH, path)
        return text


class Folder:
    """An open folder: operations reach this very folder, even if it is moved meanwhile."""

    __slots__ = ("fd", "path", "tree")

    def __init__(self, tree: Tree, path: str, fd: int | None) -> None:
        self.tree = tree
        self.path = path
        self.fd = fd  # `None` on a system without handles

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)

    def at(self, name: str) -> str:
        """Return the path of `name` to pass to functions of `os` with `dir_fd=self.fd`."""
        return name if self.fd is not None else os.path.join(self.path, name)

    def path_of(self, name: str) -> str:
        """Return the full path of `name` in this folder, for messages."""
        return os.path.join(self.path, name)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of `name` without following a link; `None` if nothing is there."""
        try:
            return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)
        except OSError as error:
            if _is_absent(error):
                return None
            raise

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor of the regular file `name`, created if `flags` hold O_CREAT."""
        try:
            opened = os.open(self.at(name), flags | _FILE, self.tree.file_mode, dir_fd=self.fd)
        except OSError as error:
            if error.errno == errno.ELOOP:  # what O_NOFOLLOW says of a link
                raise self._refusal(name, errno.ELOOP, reasons.SYMBOLIC_LINK) from None
            if error.errno in (errno.ENXIO, errno.EOPNOTSUPP, errno.EISDIR):
                raise self._refusal(name, errno.EINVAL, reasons.NOT_REGULAR) from None
            if _is_absent(error) and not flags & os.O_CREAT:
                raise self._absent(name) from None
            error.filename = self.path_of(name)
            raise
        status = os.fstat(opened)
        if stat.S_ISREG(status.st_mode) and not self.tree.refuses_owner(status):
            return opened
        os.close(opened)
        if stat.S_ISREG(status.st_mode):
            raise self._refusal(name, errno.EPERM, reasons.FOREIGN)
        raise self._refusal(name, errno.EINVAL, reasons.NOT_REGULAR)

    def read(self, name: str, limit_bytes: int) -> tuple[bytes, os.stat_result]:
        """Read a regular file of at most `limit_bytes`; return it and its status when opened."""
        descriptor = self.open(name)
        try:
            status = os.fstat(descriptor)
            chunks: list[bytes] = []
            left = limit_bytes + 1 if status.st_size <= limit_bytes else 0
            at_once = status.st_size + _CHUNK_BYTES
            while left > 0 and (chunk := os.read(descriptor, min(left, at_once))):
                chunks.append(chunk)
                left -= len(chunk)
        finally:
            os.close(descriptor)
        if left <= 0:
            raise self._refusal(name, errno.EFBIG, reasons.larger_than(limit_bytes))
        return b"".join(chunks), status

    def below(self, name: str) -> Folder:
        """Open the folder `name` in this folder."""
        path = self.path_of(name)
        if self.fd is None:
            os.scandir(path).close()
            return Folder(self.tree, path, None)
        try:
            return Folder(self.tree, path, os.open(name, _FOLDER | _FILE, dir_fd=self.fd))
        except OSError as error:
            status = self.status(name) if error.errno in (errno.ENOTDIR, errno.ELOOP) else None
            if status is not None and stat.S_ISLNK(status.st_mode):
                raise self._refusal(name, errno.ELOOP, reasons.SYMBOLIC_LINK) from None
            if _is_absent(error):
                raise self._absent(name) from None
            raise

    def make(self, name: str) -> Folder:
        """Open the folder `name` in this folder, created and synced if it is missing."""
        try:
            return self.below(name)
        except FileNotFoundError:
            try:
                os.mkdir(self.at(name), self.tree.folder_mode, dir_fd=self.fd)
            except FileExistsError:
                return self.below(name)  # another process was first
        self.sync()
        return self.below(name)

    def sync(self) -> None:
        """Sync what was created, renamed and removed in this folder to the disk.

        Ignores errors: those changes have already happened.
        """
        if self.fd is None:
            return
        try:
            descriptor = os.open(".", os.O_RDONLY, dir_fd=self.fd)
        except OSError:
            return
        try:
            os.fsync(descriptor)
        except OSError:
            pass
        finally:
            os.close(descriptor)

    def _refusal(self, name: str, number: int, reason: str) -> FileRefused:
        return FileRefused(number, reason, self.path_of(name))

    def _absent(self, name: str) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path_of(name))


def _is_absent(error: OSError) -> bool:
    """Whether `error` means that nothing is there, as for a name too long for any file."""
    return error.errno in (errno.ENOENT, errno.ENAMETOOLONG)
