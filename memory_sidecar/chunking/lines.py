"""A text as lines that are counted the way editors do: a break is LF, CRLF or a lone CR.

A span is `(first row, row after the last)`, from 0; only a Chunk counts from 1. Form feeds and
the line breaks that only Unicode knows are characters of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TypeAlias

from memory_sidecar.core.model import Chunk

Span: TypeAlias = tuple[int, int]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Lines:
    """The rows of a text, their UTF-8 bytes, and the size of any span of them."""

    def __init__(self, text: str) -> None:
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            self.data = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which no store or model can take
            text = _SURROGATE.sub("\ufffd", text)
            self.data = text.encode()
        self.rows = text.split("\n")
        lengths = self.rows if len(self.data) == len(text) else self.data.split(b"\n")
        self._bytes_before = list(accumulate(map(len, lengths), initial=0))

    def size(self, start: int, stop: int) -> int:
        """Bytes of the rows, line breaks included."""
        return self._bytes_before[stop] - self._bytes_before[start] + stop - start

    def text(self, start: int, stop: int) -> str:
        """The rows joined, without the last line break."""
        return "\n".join(self.rows[start:stop])

    def is_blank(self, start: int, stop: int) -> bool:
        """Whether no row of the span holds more than white space."""
        rows = self.rows
        return all(not rows[row] or rows[row].isspace() for row in range(start, stop))

    def trim(self, start: int, stop: int) -> Span:
        """The span without blank rows at its ends; empty where all are blank."""
        rows = self.rows
        while start < stop and (not rows[start] or rows[start].isspace()):
            start += 1
        while start < stop and (not rows[stop - 1] or rows[stop - 1].isspace()):
            stop -= 1
        return start, stop

    def chunks(self, spans: Iterable[Span], scope: str = "") -> Iterator[Chunk]:
        """Each span without blank rows at its ends, as a Chunk; none for one that is all blank."""
        for span in spans:
            start, stop = self.trim(*span)
            if start < stop:
                yield Chunk(start + 1, stop, self.text(start, stop), scope=scope)
