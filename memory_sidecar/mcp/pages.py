"""Pages of a long answer: the cursor to the next one, and what those before it have shown.

An answer changes between two pages: files are saved, memories come to the front, and a search that
looks deeper ranks differently. So a conversation remembers which hits it has shown for its latest
questions, and the next page has those not yet shown, whatever their ranks are by then. For older
questions the cursor is an offset.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, TypeVar

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import about

T = TypeVar("T")

QUESTIONS_KEPT = 32

NextCursor = Annotated[str, about("For further ones; empty when there are none.")]

_CURSOR = re.compile(r"from-(\d{1,9})")


def offset_of(cursor: str) -> int:
    """Return how many results come before `cursor`; "" is the start. Raises UsageError."""
    if not cursor:
        return 0
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise UsageError(
            f"{cursor!r} is not a cursor",
            hint="pass the `next_cursor` of the result before, or none",
        )
    return int(found[1])


def cursor_after(offset: int, shown: Sequence[object], found: Sequence[object]) -> str:
    """Return the cursor after `shown`, the start of `found` at `offset`; "" if that is all."""
    return f"from-{offset + len(shown)}" if len(shown) < len(found) else ""


def further(cursor: str, what: str = "ones") -> list[str]:
    """Return the line that tells an agent how to go on; none where that was all."""
    return [f'further {what}: cursor "{cursor}"'] if cursor else []


class Pages:
    """The hits that one conversation has been shown, by question. Thread-safe."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, list[int]] = OrderedDict()  # hashes, in order
        self._lock = threading.Lock()

    def page(self, question: str, cursor: str, size: int) -> AnswerPage:
        """Begin the page at `cursor` of the answer to `question`. Raises UsageError."""
        offset = offset_of(cursor)
        with self._lock:
            shown = self._shown.get(question, [])
        before = shown[:offset] if len(shown) >= offset else None
        return AnswerPage(self, question, offset, size, before)

    def keep(self, question: str, shown: list[int]) -> None:
        """Remember `shown`, the hashes of what the pages up to now have shown."""
        with self._lock:
            self._shown[question] = shown
            self._shown.move_to_end(question)
            if len(self._shown) > QUESTIONS_KEPT:
                self._shown.popitem(last=False)


class AnswerPage:
    """One page that is being made: at most `size` items, after the first `offset` of the answer."""

    def __init__(
        self, pages: Pages, question: str, offset: int, size: int, before: list[int] | None
    ) -> None:
        """`before`: hashes of what earlier pages showed; `None` if unknown."""
        self.offset = offset
        self._size = size
        self._pages = pages
        self._question = question
        self._before = before
        self._found: list[int] = []

    @property
    def depth(self) -> int:
        """How many items to find: up to the page's end, and one that tells of a next page."""
        return self.offset + self._size + 1

    def fill(self, found: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
        """Return the items of the page: the first of `found` that were not shown yet.

        `found`: the first `depth` items of the answer. `key` tells items apart, also after they
        have moved.
        """
        before = set(self._before or ())
        left = found[self.offset :] if self._before is None else found
        kept = [each for each in left if hash(key(each)) not in before]
        self._found = [hash(key(each)) for each in kept]
        return kept[: self._size]

    def cursor_after(self, shown: Sequence[object]) -> str:
        """Return the cursor after `shown`, the first items of the page; "" if that is all."""
        if self._before is not None:
            self._pages.keep(self._question, [*self._before, *self._found[: len(shown)]])
        return cursor_after(self.offset, shown, self._found)
