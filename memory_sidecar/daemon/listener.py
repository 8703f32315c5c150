"""The socket that a daemon listens on, and the file that announces its address.

On Unix no other user can open the socket. On Windows any user of the machine could, so a client has
to send a token that only this user can read.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar import __version__
from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.daemon.address import is_private, read_announcement, socket_paths, state_file
from memory_sidecar.daemon.lock import is_gone
from memory_sidecar.daemon.systemd import passed_socket

BACKLOG = 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listener:
    """A listening socket with its address; the daemon owns one."""

    socket: socket.socket
    address: str
    token: str = ""
    path: Path | None = None  # of a Unix socket
    is_ours: bool = True  # False: passed by systemd, which keeps it

    @classmethod
    def open(cls, data_dir: str, environ: Mapping[str, str]) -> Listener:
        """Listen for `data_dir`, whose lock the caller holds. Raises OSError, DaemonUnreachable."""
        if passed := passed_socket(environ):
            name = passed.getsockname()
            if _is_reached_at(name):
                return cls(passed, f"unix:{name}", path=Path(name), is_ours=False)
            passed.close()  # a daemon that was started by hand has put its own in that place
        if sys.platform == "win32":
            listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
            token = secrets.token_urlsafe(32)
            return cls(listening, f"tcp:{listening.getsockname()[1]}:{token}", token)
        for path in map(Path, socket_paths(data_dir, environ)):
            try:
                listening = _listen(path)
            except OSError as error:
                _log.warning("no socket at %s: %s", path, error)
            else:
                return cls(listening, f"unix:{path}", path=path)
        raise DaemonUnreachable(
            "no folder can hold a socket", hint="set XDG_RUNTIME_DIR to a folder of yours"
        )

    @property
    def is_in_place(self) -> bool:
        """Whether clients can still find the socket."""
        try:
            return self.path is None or bool(self.path.stat())
        except OSError as error:
            return not is_gone(error)

    def announce(self, data_dir: str) -> None:
        """Write the address where clients look first, unless it is there.

        Where it cannot be written, a client with the same environment still finds a Unix socket.
        """
        if read_announcement(data_dir) == (self.address, os.getpid()):
            return
        path = Path(state_file(data_dir, "daemon.json"))
        new = path.with_suffix(".new")
        content = {"address": self.address, "pid": os.getpid(), "version": __version__}
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
            fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(content, file)
            new.replace(path)

    def retract(self, data_dir: str) -> None:
        """Remove the socket and the address, while the lock is still held."""
        with contextlib.suppress(OSError):
            Path(state_file(data_dir, "daemon.json")).unlink()
        with contextlib.suppress(OSError):
            if self.path and self.is_ours:
                self.path.unlink()


def _is_reached_at(path: str) -> bool:
    """Whether a client that connects to `path` reaches a listening socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        return client.connect_ex(path) in (0, errno.EAGAIN)  # EAGAIN: its backlog is full


def _listen(path: Path) -> socket.socket:
    """Listen at `path`, replacing the socket of a dead daemon: the caller holds the lock."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.lstat().st_uid == os.getuid() and not path.parent.is_symlink():
        path.parent.chmod(0o700)
    if not is_private(str(path)):
        raise PermissionError("the folder belongs to another user")
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    finally:
        os.umask(before)
    return listening
