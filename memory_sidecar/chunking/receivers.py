"""Tells what stands before the dot of a member: a name, `self` and the like, or an expression."""

from __future__ import annotations

import re
from typing import TypeAlias

Dots: TypeAlias = tuple[bytes, ...]
"""What separates a receiver and its member in one language."""

_DOTS: dict[str, Dots] = {
    "c": (b".", b"->"),
    "cpp": (b".", b"->", b"::"),
    "lua": (b".", b":"),
    "php": (b"->", b"::", b"::$", b"\\"),
    **dict.fromkeys(("csharp", "java", "kotlin", "ruby", "rust"), (b".", b"::")),
}
SELVES = frozenset(b"self Self this super base parent static crate".split())
# Keywords of C# that may stand before a dot, as types.
PRIMITIVES = frozenset(
    b"bool byte char decimal double float int long object sbyte short string uint ulong".split()
)
_VALUES = frozenset(b"await meta".split())  # `read().await.len()`, `import.meta.url`
LAST_WORD = re.compile(rb"(?<!\w)\w+\Z")
_SUPER = re.compile(rb"\bsuper\s*(?:\([^()]*\)|<[^<>]*>)(?:@\w+)?\s*[.]\Z")
_MAX_SUPER = 100  # bytes

# Languages in which the dot of a chain may end a line; and the beginning of a comment, which may
# end with a dot, too.
_CHAINED = frozenset("csharp go java javascript kotlin ruby swift tsx typescript".split())
_COMMENT = re.compile(rb"//|#")


def dots_of(language: str) -> Dots:
    return _DOTS.get(language, (b".",))


def after_dot(data: bytes, last: int, start: int, language: str) -> int:
    """Return the byte after a dot that ends the line above the name at `start`; else `start`.

    `last` is the byte after the identifier before.
    """
    if data[start - 1] not in b"\t\n " or language not in _CHAINED:
        return start
    gap = data[last:start]
    chain = gap.rstrip()
    is_chained = chain.endswith(b".") and b"\n" in gap[len(chain) :]
    return last + len(chain) if is_chained and not _COMMENT.search(chain) else start


def is_behind_dot(data: bytes, byte: int, dots: Dots) -> bool:
    """Whether a name at `byte` is a member: not the `n` of `0..n`, `...n` or `m>n`."""
    first = max(byte - 3, 0)
    return data.endswith(dots, first, byte) and data[max(byte - 2, 0) : byte] != b".."


def is_behind_super(data: bytes, byte: int) -> bool:
    """Whether `super(Cart, self).` or `super<Cart>.` ends at `byte`."""
    return _SUPER.search(data, max(0, byte - _MAX_SUPER), byte) is not None


def receiver_in(gap: bytes, before: bytes, dots: Dots) -> str:
    """Return the receiver; `gap` is the text between the identifier `before` and the member."""
    if gap in dots:
        return decode_name(before.lstrip(b"@"))
    dot = next((dot for dot in dots if gap.endswith(dot)), None)
    if dot is None:
        return ""
    owner = gap.removesuffix(dot).rstrip(b" \t\n?!&")
    if not owner:
        return decode_name(before.lstrip(b"@"))
    if word := LAST_WORD.search(owner):
        is_value = word[0].isdigit() or word[0] in _VALUES
        is_known = word[0] in SELVES or word[0] in PRIMITIVES
        return word[0].decode() if is_known else "?" if is_value else ""
    return "?" if owner.endswith((b")", b"]", b"}", b">", b'"', b"'", b"`", b"/")) else ""


def decode_name(name: bytes) -> str:
    """Return a name as its definition has it: `` `when` `` of Kotlin, Scala and Swift is `when`."""
    return name.strip(b"`").decode(errors="replace")
