"""The one way in which files are opened: below a folder that is vouched for no link is followed.

What others wrote into a folder (a clone, an archive, another program) may hold links out of it,
FIFOs and devices on which opening waits for ever, and files without an end. A `Tree` begins at a
folder that the user named; how its own path came about is the user's affair. Below it every
component is entered by a handle, so that nothing can be exchanged between looking and opening.
Windows has no such handles: there paths are opened as they are.

Paths are relative to the tree, with `/`, or absolute ones that begin like its own. Everything
raises OSError; what is there and will not be opened is a `FileRefused`, which carries the reason.
Imports little, for the sake of clients that must start at once.
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
    | getattr(os, "O_NONBLOCK", 0)  # else opening a FIFO waits for who writes to it
    | getattr(os, "O_BINARY", 0)
)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_CHUNK_BYTES = 1 << 16


class FileRefused(OSError):
    """What is there is not opened, for a `reason` in the words of `reasons`."""

    def __init__(self, number: int, reason: str, path: StrPath) -> None:
        super().__init__(number, reason, os.fspath(path))
        self.reason = reason


def real_path(path: StrPath) -> str:
    """As `os.path.realpath`, up to a link that may not be read: those of /proc. Does not raise."""
    try:
        return os.path.realpath(path)  # does not hang on a loop
    except OSError as error:
        return str(error.filename)
    except ValueError:  # NUL, or half of a surrogate pair
        return os.path.abspath(path)


def is_folder(path: str) -> bool:
    """Whether a folder is there and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def read_user_file(path: StrPath, limit_bytes: int) -> bytes:
    """The whole of a regular file that the user named, links followed.

    One of more than `limit_bytes` is a FileRefused.
    """
    above, name = os.path.split(os.path.realpath(path))
    return Tree(above).read(name, limit_bytes)


def is_utf8(path: str) -> bool:
    """Whether `path` can be stored and sent as text: one that is not holds escaped bytes."""
    if path.isascii():  # which is told at once
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_bytes(path: StrPath) -> str:
    """`path` with every byte that is not UTF-8 as `\\xNN`, as it is stored and shown."""
    text = os.fspath(path)
    return text if is_utf8(text) else os.fsencode(text).decode("utf-8", "backslashreplace")


def with_separator(folder: str) -> str:
    """What every path in `folder` begins with."""
    return folder.rstrip(os.sep) + os.sep


_SERVED: dict[str, Callable[[], bool]] = {}


def make_folders_only_while(is_ours: Callable[[], bool], folder: StrPath) -> None:
    """From now on this process makes nothing in `folder`, nor that, unless it still `is_ours`."""
    for path in (os.path.abspath(folder), os.path.realpath(folder)):
        _SERVED[path] = is_ours


def _may_make(path: str) -> bool:
    return all(is_ours() for top, is_ours in _SERVED.items() if _is_within(path, top))


def _is_within(path: str, top: str) -> bool:
    return f"{path}{os.sep}".startswith(with_separator(top))


class Tree:
    """The files below the folder `path`, which need not be there yet.

    What is made in a tree of our own is for the user alone (0600, 0700), and a file of another
    user is refused there. In other trees the umask decides, and owners do not matter.
    """

    __slots__ = ("is_own", "path")

    def __init__(self, path: StrPath, *, is_own: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.is_own = is_own

    def read(self, path: StrPath, limit_bytes: int) -> bytes:
        """The whole of a regular file of at most `limit_bytes`; a larger one is a FileRefused."""
        folder, name = self.enter_above(path)
        with folder:
            return folder.read(name, limit_bytes)[0]

    def open(self, path: StrPath, flags: int = os.O_RDONLY) -> int:
        """A descriptor of a regular file, for the caller to close.

        With O_CREAT the file is made, and the folders above it.
        """
        folder, name = self.enter_above(path, make=bool(flags & os.O_CREAT))
        with folder:
            return folder.open(name, flags)

    def status(self, path: StrPath) -> os.stat_result | None:
        """What is at `path`, a link as such; `None` for nothing."""
        try:
            folder, name = self.enter_above(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with folder:
            return folder.status(name or ".")

    def enter(self, path: StrPath = "", *, make: bool = False) -> Folder:
        """Open the folder at `path`. With `make` it need not be there, nor those above it.

        Raises FileNotFoundError, and NotADirectoryError for a file.
        """
        names = [name for name in self._relative(path).split("/") if name]
        if make:
            if not _may_make(self.path):
                raise FileNotFoundError(errno.ENOENT, "its folder was moved or removed", self.path)
            os.makedirs(self.path, self.folder_mode, exist_ok=True)
        folder = Folder(self, self.path, os.open(self.path, _FOLDER) if _HAS_HANDLES else None)
        for name in names:
            with folder:
                folder = folder.make(name) if make else folder.below(name)
        return folder

    def keep_private(self, path: StrPath) -> None:
        """Take from other users what they may do at `path`, where a file or folder of ours is."""
        folder, name = self.enter_above(path)
        with folder:
            status = folder.status(name)
            if status is None or os.name == "nt" or status.st_uid != os.geteuid():
                return
            if status.st_mode & 0o077 and not stat.S_ISLNK(status.st_mode):
                mode = stat.S_IMODE(status.st_mode) & 0o700
                os.chmod(folder.at(name), mode, dir_fd=folder.fd)

    def make(self, path: StrPath = "") -> None:
        """Make the folder at `path`, and those above it, unless they are there."""
        self.enter(path, make=True).close()

    def enter_above(self, path: StrPath, *, make: bool = False) -> tuple[Folder, str]:
        """The open folder that `path` lies in, and its name there."""
        above, _, name = self._relative(path).rpartition("/")
        return self.enter(above, make=make), name

    @property
    def file_mode(self) -> int:
        return 0o600 if self.is_own else 0o666

    @property
    def folder_mode(self) -> int:
        return 0o700 if self.is_own else 0o777

    def refuses_owner(self, status: os.stat_result) -> bool:
        """Whether that file belongs to another user, who does not own the tree's folder either."""
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
    """An open folder. What is done in it happens there, whatever becomes of its path meanwhile."""

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
        """What the functions of `os` take for `name` in here, beside `dir_fd=self.fd`."""
        return name if self.fd is not None else os.path.join(self.path, name)

    def path_of(self, name: str) -> str:
        """Of `name` in here, to be shown."""
        return os.path.join(self.path, name)

    def status(self, name: str) -> os.stat_result | None:
        """What is called `name` in here, a link as such; `None` for nothing."""
        try:
            return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)
        except OSError as error:
            if _is_absent(error):
                return None
            raise

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """A descriptor of the regular file `name` in here, made if `flags` hold O_CREAT."""
        try:
            opened = os.open(self.at(name), flags | _FILE, self.tree.file_mode, dir_fd=self.fd)
        except OSError as error:
            if error.errno == errno.ELOOP:  # what O_NOFOLLOW says of a link
                raise self._refusal(name, errno.ELOOP, reasons.SYMBOLIC_LINK) from None
            if error.errno in (errno.ENXIO, errno.EOPNOTSUPP, errno.EISDIR):
                raise self._refusal(name, errno.EINVAL, reasons.NOT_REGULAR) from None
            if _is_absent(error) and not flags & os.O_CREAT:
                raise self._absent(name) from None
            raise
        status = os.fstat(opened)
        if stat.S_ISREG(status.st_mode) and not self.tree.refuses_owner(status):
            return opened
        os.close(opened)
        if stat.S_ISREG(status.st_mode):
            raise self._refusal(name, errno.EPERM, reasons.FOREIGN)
        raise self._refusal(name, errno.EINVAL, reasons.NOT_REGULAR)

    def read(self, name: str, limit_bytes: int) -> tuple[bytes, os.stat_result]:
        """The whole of a regular file of at most `limit_bytes`, and its status when opened."""
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
        """Open the folder `name` in here."""
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
        """Open the folder `name` in here; a new one outlasts a loss of power."""
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
        """Have the disk hold what was made, renamed and removed in here.

        All of that has happened by now: a disk that refuses this cannot make it a failure.
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
    """Whether nothing is there: nothing has a name that is too long for any file."""
    return error.errno in (errno.ENOENT, errno.ENAMETOOLONG)
