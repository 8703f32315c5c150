"""Cuts results to a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from memory_sidecar.code.excerpt import shorten
from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import budget, estimate_tokens
from memory_sidecar.core.results import Reporter

T = TypeVar("T")

MIN_ITEM = 300
WEAK_PART = 8  # a weak match may take an eighth of the characters that another one may
MARKS = 500  # characters reserved for headings and for where to read on


def within(text: str, max_tokens: int) -> str:
    """Return `text`, or if it exceeds the budget by more than MARKS, its first lines and a note."""
    most = budget(max_tokens, text)
    if len(text) <= most + MARKS:
        return text
    kept = text[:most].rpartition("\n")[0] or text[:most]
    left = text.count("\n", len(kept)) or 1
    return f"{kept}\n… and {left} more lines: max_tokens {estimate_tokens(text)} shows all"


def lines_within(
    text: str, start: int, last: int | None, max_tokens: int, report: Reporter
) -> tuple[str, int]:
    """Return the lines `start` to `last`, 1-based, that fit, and the number of the last of them.

    Returns at least one line, cut with a notice if it alone is too long. Secrets are masked first,
    as half of one would not be recognised. Raises UsageError for lines that do not exist.
    """
    total = text.count("\n") + 1
    if start > total:
        raise UsageError(f"there is no line {start}", hint=f"there are lines 1-{total}")
    if last is not None and last < start:
        raise UsageError(f"line {last} is before line {start}", hint="leave end_line out for all")
    wanted = mask_credentials(text).split("\n")[start - 1 : last]
    most = budget(max_tokens, text)
    shown = first_fitting(wanted, most, size=lambda line: len(line) + 1)
    content, end = "\n".join(shown), start + len(shown) - 1
    if len(content) > most:
        report.notice(f"line {end} is cut: max_tokens {estimate_tokens(content)} shows all of it")
    return content[:most], end


def first_fitting(items: Iterable[T], characters: int, *, size: Callable[[T], int]) -> list[T]:
    """Return the first of `items` that have at most `characters` together; at least one."""
    kept: list[T] = []
    for item in items:
        characters -= size(item)
        if kept and characters < 0:
            break
        kept.append(item)
    return kept


def cut_to_fit(
    items: Sequence[T],
    characters: int,
    field: str,
    render: Callable[[T], str],
    *,
    share: int = 1,
    stems: Collection[str] = (),
) -> tuple[list[T], bool]:
    """Return the first of `items` that fit, and whether the text in `field` of any of them is cut.

    A text is cut to the lines that have `stems`. As `render` shows it, an item may take 1/`share`
    of the `characters`, or all of them if it is the only one; a weak item an eighth of that share;
    and any item MIN_ITEM.
    """
    most = characters // share

    def shortened(item: T) -> T:
        is_weak = getattr(item, "is_weak", False)
        allowed = most // WEAK_PART if is_weak else characters if len(items) == 1 else most
        whole, room = len(render(item)), max(allowed, MIN_ITEM)
        if whole <= room:
            return item
        text: str = getattr(item, field)
        bare = len(render(replace(item, **{field: ""})))  # type: ignore[type-var]
        # Cut in proportion, because `render` marks each line: for a thousand lines, the marks alone
        # may exceed the room.
        kept = len(text) * (room - bare) // max(whole - bare, 1)
        return replace(item, **{field: shorten(text, kept, stems)})  # type: ignore[type-var]

    short = [shortened(each) for each in items]
    kept = first_fitting(short, characters, size=lambda each: len(render(each)))
    return kept, any(each is not item for each, item in zip(kept, items, strict=False))
