"""Lines of JSON-RPC as far as those who carry them have to know them: their length and their ids.

A client waits for the id of its request, so that is looked for even in a line that is refused:
where all of it cannot be read, among the members that clients write first or last. Imports next to
nothing, for the process that a host starts.
"""

from __future__ import annotations

from memory_sidecar.daemon.plain_json import from_json
from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES, encode

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603

_EDGE_BYTES = 1 << 12  # of a line that is too long, kept at either end

_NAMED = rb'\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
_ID = rb'\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*'
_FIRST = rb"\s*\{(?:%s,)*%s[,}]" % (_NAMED, _ID)
_LAST = rb"[,{]%s(?:,%s)*\}\s*\Z" % (_ID, _NAMED)


class HeardLine:
    """A line as it comes in: all of it or, of one that is too long, its beginning and its end."""

    def __init__(self) -> None:
        self.length = 0
        self._kept = bytearray()

    def add(self, part: bytes) -> None:
        self.length += len(part)
        self._kept += part
        if self.is_too_long:
            del self._kept[_EDGE_BYTES:-_EDGE_BYTES]

    @property
    def kept(self) -> bytes:
        return bytes(self._kept)

    @property
    def is_too_long(self) -> bool:
        return self.length > MAX_FRAME_BYTES

    @property
    def refusal(self) -> bytes:
        """The answer to one that is too long."""
        told = f"the message has {self.length:,} bytes, more than {MAX_FRAME_BYTES:,}"
        return error_line(id_in(self.kept), INVALID_REQUEST, told)


def id_of(value: object) -> str | int | None:
    """`value`, if it can be the id of a request."""
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def id_in(line: bytes) -> str | int | None:
    """The id of the request that `line` says, where it cannot be read; `None` where none is seen.

    What a client answers has no method, and an id of ours.
    """
    import re  # takes 10 ms, which next to no conversation needs

    found = re.match(_FIRST, line) or re.search(_LAST, line[-_EDGE_BYTES:])
    return id_of(from_json(found[1])) if found and b'"method"' in line else None


def error_line(asked: str | int | None, code: int, message: str) -> bytes:
    """The answer to the request `asked`, as a line."""
    error = {"code": code, "message": f"memory-sidecar: {message}"}
    return encode({"jsonrpc": "2.0", "id": asked, "error": error})
