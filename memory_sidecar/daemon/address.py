"""Where the daemon of a data directory listens: `unix:PATH`, or on Windows `tcp:PORT:TOKEN`.

A running daemon has its address in `state/daemon.json`. The socket's path can be computed too, so
that systemd can listen before there is a daemon. It is short whatever the data directory is called:
a system allows about a hundred bytes. Imports next to nothing: the thin client asks it.
"""

from __future__ import annotations

import os
import sys

from memory_sidecar.daemon.plain_json import from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SOCKET_PATH_BYTES = 100  # Linux takes 107, macOS 103


def state_file(data_dir: str, name: str) -> str:
    """`daemon.lock`, `daemon.json`, `daemon.log`, `requests` of a data directory."""
    return os.path.join(data_dir, "state", name)


def known_addresses(data_dir: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Where to look for a daemon, the likeliest first."""
    announced = read_address(data_dir)
    if announced:
        yield announced
    if sys.platform != "win32":
        computed = "unix:" + socket_path(data_dir, environ)
        if computed != announced:
            yield computed


def read_address(data_dir: str) -> str | None:
    """What the daemon of `data_dir` announced; it may be gone since."""
    try:
        with open(state_file(data_dir, "daemon.json"), "rb") as file:
            address = from_json(file.read())["address"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address if isinstance(address, str) else None


def socket_path(data_dir: str, environ: Mapping[str, str]) -> str:
    """The socket of the daemon of `data_dir`."""
    import hashlib

    real = os.path.realpath(data_dir)
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:16] + ".sock"
    return os.path.join(_runtime_dir(environ, len(name)), name)


def _runtime_dir(environ: Mapping[str, str], name_bytes: int) -> str:
    session = environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(session) and os.path.isdir(session):
        folder = os.path.join(session, "memory-sidecar")
        if len(os.fsencode(folder)) + 1 + name_bytes <= MAX_SOCKET_PATH_BYTES:
            return folder
    for temporary in (environ.get("TMPDIR", ""), "/tmp"):  # noqa: S108  checked to be ours
        folder = os.path.join(temporary, f"memory-sidecar-{os.getuid()}")
        if os.path.isabs(folder) and len(os.fsencode(folder)) + 1 + name_bytes <= (
            MAX_SOCKET_PATH_BYTES
        ):
            break
    return folder
