"""The socket that a daemon listens on, and the file that says where it is.

On Unix nobody else can open the socket; on Windows anyone on the machine could, so a client has to
show a token that only this user can read.
"""

from __future__ import annotations

import contextlib
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
from memory_sidecar.daemon.address import socket_path, state_file
from memory_sidecar.daemon.systemd import passed_socket
from memory_sidecar.errors import DaemonUnreachable

BACKLOG = 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listener:
    """A listening socket."""

    socket: socket.socket
    address: str
    token: str = ""
    path: Path | None = None  # of a Unix socket
    is_ours: bool = True  # systemd keeps the ones that it passed

    @classmethod
    def open(cls, data_dir: str, environ: Mapping[str, str]) -> Listener:
        """For the holder of the lock of `data_dir`. Raises OSError, DaemonUnreachable."""
        if passed := passed_socket(environ):
            path = passed.getsockname()
            return cls(passed, f"unix:{path}", path=Path(path), is_ours=False)
        if sys.platform == "win32":
            listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
            token = secrets.token_urlsafe(32)
            return cls(listening, f"tcp:{listening.getsockname()[1]}:{token}", token)
        path = Path(socket_path(data_dir, environ))
        _make_private(path.parent)
        path.unlink(missing_ok=True)  # we hold the lock: whoever listened there is dead
        listening = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
        return cls(listening, f"unix:{path}", path=path)

    @property
    def is_in_place(self) -> bool:
        """Whether clients can still find it."""
        return self.path is None or self.path.exists()

    def announce(self, data_dir: str) -> None:
        """Write the address where clients look for it first; a Unix socket is found without."""
        path = Path(state_file(data_dir, "daemon.json"))
        new = path.with_suffix(".new")
        content = {"address": self.address, "pid": os.getpid(), "version": __version__}
        try:
            new.unlink(missing_ok=True)
            fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(content, file)
            new.replace(path)
        except OSError as error:
            _log.warning("the address cannot be written: %s", error)

    def retract(self, data_dir: str) -> None:
        """Take socket and address away, while the lock is still held."""
        with contextlib.suppress(OSError):
            Path(state_file(data_dir, "daemon.json")).unlink()
        if self.path and self.is_ours:
            self.path.unlink(missing_ok=True)


def _make_private(folder: Path) -> None:
    """Make `folder`, or see to it that it is ours alone. Raises DaemonUnreachable."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.getuid():
        raise DaemonUnreachable(
            f"{folder} belongs to somebody else", hint="set XDG_RUNTIME_DIR to a folder of yours"
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)
