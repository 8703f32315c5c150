"""The protocol between client and daemon: one JSON object per line, in UTF-8.

    client                                    daemon
    {"memory_sidecar": 1, "version": …}    →
                                           ←  {"memory_sidecar": 1, "version": …, "pid": …}
    {"type": "run", "arguments": […], …}   →
                                           ←  {"type": "out" | "err", "text": …}  any number
                                           ←  {"type": "page", "text": …}  if it said its "rows"
                                           ←  {"type": "need_stdin"}
    {"type": "stdin", "data": base64}      →  "" at the end of the input
    {"type": "cancel"}                     →
                                           ←  {"type": "exit", "status": 0}

Instead of `exit`, a request may get `refused` (the daemon is stopping: ask the next one) or `alone`
(this request has crashed a daemon before: run it yourself). Instead of `run` a client may send
`stop` or `log_level`, each answered by `done`; or `converse`, with the fields of `run`:

    {"type": "converse", "arguments": […], …}  →
                                           ←  {"type": "conversing", …}

after which the connection carries lines that only the two ends understand, until one hangs up. A
conversation that is not granted ends like a `run`, with the problem as `err` and an `exit`.

These rules never change: the greeting has an integer `memory_sidecar`, raised when versions can no
longer talk to each other, and a `version`; a daemon's has `replaced` if its code on disk has
changed since; `stop` is understood at any number. A reader ignores fields that it does not know and
does without new ones. Imports next to nothing, because the thin client is built on it.
"""

from __future__ import annotations

from memory_sidecar import __version__
from memory_sidecar.daemon.plain_json import from_json, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Frame = dict[str, Any]

PROTOCOL = 1
MAX_FRAME_BYTES = 8 << 20
GREETING = "memory_sidecar"

# Exit statuses besides those of named errors; shells report signals in this way.
EXIT_FAILED, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 130, 141


class ProtocolError(Exception):
    """The other side does not speak this protocol."""


def encode(frame: Frame) -> bytes:
    """Encode `frame` as one line."""
    return to_json(frame).encode() + b"\n"


def decode(line: bytes) -> Frame:
    """Decode the frame in `line`. Raises ProtocolError for anything else."""
    try:
        frame = from_json(line)
    except ValueError as error:
        raise ProtocolError("not a frame") from error
    if not isinstance(frame, dict):
        raise ProtocolError("not a frame")
    return frame


def greeting(**more: object) -> Frame:
    """Make the first frame of either side."""
    return {GREETING: PROTOCOL, "version": __version__, **more}


def read_greeting(frame: Frame) -> tuple[int, str]:
    """Return protocol and version from a peer's greeting. Raises ProtocolError."""
    protocol, version = frame.get(GREETING), frame.get("version")
    if type(protocol) is not int or not isinstance(version, str):
        raise ProtocolError("not a greeting")
    return protocol, version


def is_older(version: str, than: str = __version__) -> bool:
    """Whether the release `version` came before `than`, comparing only the leading numbers."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    numbers = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return numbers
