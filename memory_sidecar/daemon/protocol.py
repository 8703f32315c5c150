"""The protocol between client and daemon: one JSON object per line, in UTF-8.

    client                                    daemon
    {"memory_sidecar": 1, "version": …}    →
                                           ←  {"memory_sidecar": 1, "version": …, "pid": …}
    {"type": "run", "arguments": […], …}   →
                                           ←  {"type": "out" | "err", "text": …}  any number
                                           ←  {"type": "page", "text": …}  if it sent its "rows"
                                           ←  {"type": "need_stdin"}
    {"type": "stdin", "data": base64}      →  "" at the end of the input
    {"type": "cancel"}                     →
                                           ←  {"type": "exit", "status": 0}  `has_begun` is
                                              false if it was cancelled before its turn

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
does without new ones. Imports next to nothing, because the thin client is built on it: of JSON only
the private C module of Python, since `json` imports `re`, which takes 10 ms; `json` itself where
that module is missing or has changed.
"""

from __future__ import annotations

from memory_sidecar import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Frame = dict[str, Any]

_SPACE = " \t\n\r"
_MARK = b"\xef\xbb\xbf"  # the byte order mark that some write before UTF-8


def from_json(data: bytes) -> Any:  # noqa: ANN401  whatever JSON can say
    """Parse `data`, JSON in UTF-8. Raises ValueError for anything else and for too deep nesting."""
    try:
        return _load(data.removeprefix(_MARK).decode("utf-8", "surrogatepass"))
    except (RecursionError, SystemError) as error:
        # SystemError: without `json` loaded, the C module cannot raise its JSONDecodeError.
        raise ValueError("not JSON") from error


def _c_codec() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """Return dumps and loads on the C module. Raises ImportError, AttributeError or TypeError."""
    import _json

    class ScannerOptions:
        """The attributes that the scanner reads from its decoder."""

        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = {
            "NaN": float("nan"),
            "Infinity": float("inf"),
            "-Infinity": float("-inf"),
        }.__getitem__

    scan = _json.make_scanner(ScannerOptions)  # type: ignore[arg-type]

    def refuse(value: object) -> None:
        raise TypeError(f"{type(value).__name__} is not JSON")

    encode = _json.make_encoder(
        None, refuse, _json.encode_basestring_ascii, None, ":", ",", False, False, True
    )

    def dump(value: Any) -> str:  # noqa: ANN401
        return "".join(encode(value, 0))

    def load(text: str) -> Any:  # noqa: ANN401
        text = text.strip(_SPACE)
        try:
            value, end = scan(text, 0)
        except StopIteration as error:
            raise ValueError("not JSON") from error
        if end != len(text):
            raise ValueError("more than one value")
        return value

    load(dump({"": [0, ""]}))
    return dump, load


def _json_codec() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    import json

    return json.JSONEncoder(separators=(",", ":")).encode, json.loads


try:
    to_json, _load = _c_codec()
except (ImportError, AttributeError, TypeError):
    to_json, _load = _json_codec()


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
