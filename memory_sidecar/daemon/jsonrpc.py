"""What forwarding JSON-RPC needs to know of each line: its length and its id.

A client waits for an answer with the id of its request, so the id is found even in a line that is
refused: if the line cannot be parsed, among the members that clients write first or last. Imports
next to nothing, for the process that a host starts.
"""

from __future__ import annotations

from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES, encode, from_json

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603

_EDGE_BYTES = 1 << 12  # kept of both ends of a line that is too long

_NAMED = rb'\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
_ID = rb'\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*'
_FIRST = rb"\s*\{(?:%s,)*%s[,}]" % (_NAMED, _ID)
_LAST = rb"[,{]%s(?:,%s)*\}\s*\Z" % (_ID, _NAMED)


class IncomingLine:
    """A line while it is received. If it gets too long, only its two ends are kept."""

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
        """The error line that answers a line that is too long."""
        why = f"the message has {self.length:,} bytes, more than {MAX_FRAME_BYTES:,}"
        return error_line(find_id(self.kept), INVALID_REQUEST, why)


def valid_id(value: object) -> str | int | None:
    """Return `value` if it can be the id of a request, else `None`.

    A text with half of a surrogate pair, or with U+FFFD, cannot: no answer could repeat it.
    """
    if isinstance(value, str):
        whole = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return None if "\ufffd" in whole else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def find_id(line: bytes) -> str | int | None:
    """Search the unparsable `line` for the id of its request; `None` if there is none.

    A line without a method is a client's answer, whose id is one of ours: that does not count.
    """
    import re  # takes 10 ms, and hardly any conversation needs it

    found = re.match(_FIRST, line) or re.search(_LAST, line[-_EDGE_BYTES:])
    return valid_id(from_json(found[1])) if found and b'"method"' in line else None


def error_line(request_id: str | int | None, code: int, message: str) -> bytes:
    """Encode the error answer to the request with the id `request_id`."""
    error = {"code": code, "message": f"memory-sidecar: {message}"}
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error})
