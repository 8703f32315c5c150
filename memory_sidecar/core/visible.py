"""Makes texts of files and callers fit to print: none controls a terminal or forges a log line.

Pure functions.
"""

from __future__ import annotations

import json
import re

# C0 except tab and line feed, DEL, C1, the separators of lines and paragraphs, marks that change
# the direction of writing, and tags, which spell ASCII invisibly. A carriage return does no harm
# at the end of a line.
_STEERING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]|\r(?!\n)"
)

_BYTE = re.compile(r"[\udc80-\udcff]")

_FIRST_CHARACTERS, _LAST_CHARACTERS = 200, 400  # the last say what is wrong with what was passed
_MOST_CHARACTERS = 1000  # none of our own sentences is as long, few paths are


def visible(text: str) -> str:
    """Return `text` with every character that controls a terminal escaped: `\\x1b`, `\\u202e`."""
    return _STEERING.sub(_written_out, text)


def visible_json(document: str) -> str:
    """Return an equivalent JSON document with such characters escaped.

    Bytes that are not UTF-8, as in a path, become `\\xNN`, as in `core.opening.escape_bytes`: half
    of a surrogate pair would be no text for its readers.
    """
    visible_text = _STEERING.sub(lambda match: json.dumps(match[0])[1:-1], document)
    return _BYTE.sub(lambda match: f"\\\\x{ord(match[0]) & 0xFF:02x}", visible_text)


def visible_line(text: str) -> str:
    """Return `text` escaped, in one line."""
    return visible(text).replace("\r\n", "\\r\\n").replace("\n", "\\n")


def abridge(text: str) -> str:
    """Shorten a very long message, which repeats what a caller passed, in the middle."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_FIRST_CHARACTERS]} … {text[-_LAST_CHARACTERS:]}"


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
