"""Where the daemon of a data directory listens: `unix:PATH`, or on Windows `tcp:PORT:TOKEN`.

A running daemon has its address in `state/daemon.json`. Any user may have put that file there, so
on Unix it counts only if it names a socket in a folder of ours that no other user can enter. The
socket's path can also be computed, so that systemd can listen before there is a daemon. It is
short, however long the path of the data directory, since systems allow about a hundred bytes.
Imports next to nothing, because the thin client uses it.
"""

from __future__ import annotations

import os
import stat
import sys

from memory_sidecar.daemon.protocol import from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SOCKET_PATH_BYTES = 100  # Linux takes 107, macOS 103
MAX_ANNOUNCED_BYTES = 4096
NAME_BYTES = 21


def state_file(data_dir: str, name: str) -> str:
    """Return the path of a state file: `daemon.lock`, `daemon.json`, `daemon.log`, `requests`."""
    return os.path.join(data_dir, "state", name)


def known_addresses(data_dir: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield addresses to try, the likeliest first; on Unix only those safe from other users."""
    announced = read_address(data_dir) or ""
    if sys.platform == "win32":
        if announced:
            yield announced
        return
    kind, _, path = announced.partition(":")
    if kind == "unix" and len(os.path.basename(path)) == NAME_BYTES and is_private(path):
        yield announced
    for path in socket_paths(data_dir, environ):
        if is_private(path) and announced != f"unix:{path}":
            yield f"unix:{path}"


def read_address(data_dir: str) -> str | None:
    """Return the address that the daemon of `data_dir` announced, possibly outdated, or `None`."""
    announced = read_announcement(data_dir)
    return announced[0] if announced else None


def read_announcement(data_dir: str) -> tuple[str, object] | None:
    """Return the address as `read_address` does, and the pid of the daemon."""
    try:
        fd = os.open(state_file(data_dir, "daemon.json"), os.O_RDONLY | SAFELY)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    try:
        if not is_own_file(fd):
            return None
        announced = from_json(os.read(fd, MAX_ANNOUNCED_BYTES))
        address, pid = announced["address"], announced.get("pid")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(fd)
    return (address, pid) if isinstance(address, str) else None


def socket_paths(data_dir: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the socket paths for `data_dir`, the best first. Their folders need not exist."""
    import hashlib

    real = os.fsencode(os.path.realpath(data_dir))
    name = hashlib.sha256(real).hexdigest()[: NAME_BYTES - len(".sock")] + ".sock"
    user = os.getuid()
    session = environ.get("XDG_RUNTIME_DIR", "")
    state = environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folders = (
        os.path.join(session if _is_folder_of(user, session) else "", "memory-sidecar"),
        os.path.join(environ.get("TMPDIR", ""), f"memory-sidecar-{user}"),
        f"/tmp/memory-sidecar-{user}",  # noqa: S108  checked to be ours
        os.path.join(state, "memory-sidecar"),
    )
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isabs(path) and len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
            yield path


def is_private(path: str) -> bool:
    """Whether the folder of `path` is this user's, not a link, and closed to all others."""
    try:
        found = os.lstat(os.path.dirname(path))
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


# Never follow a link or block on a FIFO that a repository may have brought.
SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def is_own_file(fd: int) -> bool:
    """Whether `fd` is a regular file of this user."""
    found = os.fstat(fd)
    return stat.S_ISREG(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.getuid())


def _is_folder_of(user: int, folder: str) -> bool:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user
