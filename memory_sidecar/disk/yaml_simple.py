"""Reads the frontmatter that most pages have, one `key: value` a line, without a YAML parser.

It says nothing where the parser could say anything else; whoever asked then asks the parser, which
takes ten times as long. Of a page as `store` writes it, that is most of what reading it takes.
"""

from __future__ import annotations

import re

MAX_CHARACTERS = 1 << 13  # beyond, limits that the parser's reader has may be in reach

_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_WHOLE_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}|0")

_FIRST = r"[^\x00-#%-'*,\-:-@\[-^`{-\x7f]"  # begins nothing but a plain text
_PLAIN = rf"{_FIRST}[^\r\n]*+"
_QUOTED = r""""[^"\\\r\n]*+"|'[^'\r\n]*+'"""  # nothing escaped
_IN_LIST = r"[^,\[\]{}?:#\r\n]"  # ends no text in brackets
_ITEM = rf"(?:{_QUOTED}|{_FIRST}(?:{_IN_LIST}|:(?=[A-Za-z0-9])|(?<! )#)*+)"
_LIST = rf"\[((?:{_ITEM}(?:, ?{_ITEM})*+)?+)\]"
_LINE = re.compile(
    rf"([A-Za-z_][A-Za-z0-9_-]{{0,99}}+):(?: (?:({_PLAIN})|({_QUOTED})|{_LIST}))?+\r?\n"
)
_ITEMS = re.compile(_ITEM)


def simple_mapping(source: str) -> dict[str, object] | None:
    """What the mapping `source` says; `None` where that takes a YAML parser to tell."""
    # What YAML forbids or takes for a line break is none of it printable.
    if not source.replace("\r\n", "\n").replace("\n", "").isprintable():
        return None
    meta: dict[str, object] = {}
    end = 0
    for line in _LINE.finditer(source):
        key, plain, quoted, items = line.groups()
        if line.start() != end or key in meta:
            return None
        end = line.end()
        if plain is not None:
            if ": " in plain or " #" in plain or plain[-1] in ": ":
                return None
            meta[key] = plain_scalar(plain)
        elif quoted is not None:
            meta[key] = quoted[1:-1]
        elif items is not None:
            meta[key] = _listed(items)
        else:
            meta[key] = None
    return meta if end == len(source) <= MAX_CHARACTERS else None


def plain_scalar(text: str) -> object:
    """A text without quotes: `true`, `false`, `null` and whole numbers are what they look like."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    # Looked at first, since nearly all are words.
    is_number = text[-1] in "0123456789" and _WHOLE_NUMBER.fullmatch(text)
    return int(text) if is_number else text


def _listed(items: str) -> list[object]:
    if '"' in items or "'" in items:
        return [
            item[1:-1] if item[0] in "\"'" else plain_scalar(item.rstrip(" "))
            for item in _ITEMS.findall(items)
        ]
    return [plain_scalar(item.strip(" ")) for item in items.split(",")] if items else []
