"""How much of a result is given at once: by count, with a cursor for the rest, and by tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN

T = TypeVar("T")

_CURSOR = re.compile(r"from-(\d{1,9})")


def offset_of(cursor: str) -> int:
    """How many results came before `cursor`; "" is the beginning. Raises UsageError."""
    if not cursor:
        return 0
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise UsageError(
            f"{cursor!r} is no cursor", hint="pass the `next_cursor` of the result before, or none"
        )
    return int(found[1])


def cursor_at(offset: int) -> str:
    return f"from-{offset}"


def cursor_after(offset: int, shown: Sequence[object], found: Sequence[object]) -> str:
    """For what of `found`, which begins at `offset`, is not `shown`; "" where all of it is."""
    return cursor_at(offset + len(shown)) if len(shown) < len(found) else ""


def lines_within(text: str, start: int, last: int | None, max_tokens: int) -> tuple[str, int]:
    """Lines `start` to `last`, 1-based, as far as they fit, and the number of the last of them.

    At least one line; one that is too long by itself is cut. Secrets are masked, as the half of one
    would not be known for what it is.
    """
    wanted = mask_credentials(text)[0].split("\n")[start - 1 : last]
    shown = within_tokens(wanted, max_tokens, characters=lambda line: len(line) + 1)
    return "\n".join(shown)[: max_tokens * CHARACTERS_PER_TOKEN], start + len(shown) - 1


def within_tokens(
    items: Sequence[T], max_tokens: int, *, characters: Callable[[T], int]
) -> list[T]:
    """The first of `items`, and those after it that fit into `max_tokens` together with it."""
    left = max_tokens * CHARACTERS_PER_TOKEN
    kept: list[T] = []
    for item in items:
        left -= characters(item)
        if kept and left < 0:
            break
        kept.append(item)
    return kept
