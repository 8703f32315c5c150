"""A text as lines, and spans of them merged up to a target size and split above a maximum.

Lines are counted as in editors: a break is LF, CRLF or a lone CR. A span is `(first row, row after
the last)`, from 0; only a Chunk counts from 1. Form feeds and other line breaks of Unicode are
characters of a line. All sizes are UTF-8 bytes. Spans are cut only between lines, so that a line
longer than the maximum stays one chunk.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from memory_sidecar.core.model import Chunk

if TYPE_CHECKING:
    from cocoindex._internal.core import RecursiveSplitter

# Part of every fingerprint: raise it with any change that cuts or describes a file differently.
CHUNKER_VERSION = "55"

Span: TypeAlias = tuple[int, int]

MIN_BYTES = 250
TARGET_BYTES = 1_000
MAX_BYTES = 1_500

_SURROGATE = re.compile("[\ud800-\udfff]")

# Languages, by our names, that are split by CocoIndex's grammar of them. Others are split as plain
# text. CocoIndex also has grammars of Dart, HCL, Scala and TOML, which would move existing chunks.
_SPLITTABLE = frozenset(
    "bash c cpp csharp css go html java javascript json kotlin lua markdown php python ruby rust"
    " sql swift tsx typescript xml yaml".split()
)

# Some grammars take time that grows with the square of the length of invalid text.
_MAX_SYNTAX_BYTES = 32 * 1024

# Texts on which the splitter's grammars may crash: they do at 250 open blocks, a mark of 256 bytes.
_CRASHING = {
    **dict.fromkeys(("markdown", "yaml"), re.compile(r"^[\s>*+\d.)?:-]{100}", re.MULTILINE)),
    "ruby": re.compile(r"<<[-~]?(?:\w{60}|[\"'`][^\n\"'`]{60})"),
}


class Lines:
    """A text as rows, with its UTF-8 bytes and the size of any span."""

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
        """Return the bytes of the rows, including line breaks."""
        return self._bytes_before[stop] - self._bytes_before[start] + stop - start

    def row_at(self, byte: int) -> int:
        """Return the row that holds the `byte`."""
        return bisect_right(range(len(self.rows)), byte, key=lambda row: self.size(0, row)) - 1

    def text(self, start: int, stop: int) -> str:
        """Return the rows joined, without the last line break."""
        return "\n".join(self.rows[start:stop])

    def is_blank(self, row: int) -> bool:
        """Whether a row holds no more than white space."""
        text = self.rows[row]
        return not text or text.isspace()

    def trim(self, start: int, stop: int) -> Span:
        """Return the span without blank rows at its ends; empty if all are blank."""
        while start < stop and self.is_blank(start):
            start += 1
        while start < stop and self.is_blank(stop - 1):
            stop -= 1
        return start, stop

    def chunks(self, spans: Iterable[Span], scope: str = "") -> Iterator[Chunk]:
        """Yield a Chunk for each span that is not all blank, without blank rows at its ends."""
        for span in spans:
            start, stop = self.trim(*span)
            if start < stop:
                yield Chunk(start + 1, stop, self.text(start, stop), scope=scope)


def pack(lines: Lines, parts: Iterable[list[Span]]) -> list[Span]:
    """Merge adjacent parts up to the target; parts that are cut into several spans stay apart."""
    packed: list[Span] = []
    before_is_whole = False
    for spans in parts:
        is_whole = len(spans) == 1
        if is_whole and before_is_whole and lines.size(packed[-1][0], spans[0][1]) <= TARGET_BYTES:
            packed[-1] = (packed[-1][0], spans[0][1])
        else:
            packed += spans
        before_is_whole = is_whole
    return _merge_tiny(lines, packed)


def split(lines: Lines, span: Span, language: str) -> list[Span]:
    """Cut a span larger than the maximum between lines, where CocoIndex's splitter cuts."""
    start, stop = span
    if stop - start == 1 or lines.size(start, stop) <= MAX_BYTES:
        return [span]
    text = lines.text(start, stop)
    if lines.size(start, stop) > _MAX_SYNTAX_BYTES or not _is_harmless(text, language):
        language = ""
    parts = _splitter().split(text, TARGET_BYTES, MIN_BYTES, 0, language or None)
    rows = sorted({start, *(start + part.start_line - 1 for part in parts[1:])})
    pieces: list[Span] = []
    for piece in zip(rows, [*rows[1:], stop], strict=True):
        pieces.extend(_cut_by_lines(lines, piece))
    return _merge_tiny(lines, pieces)


def _is_harmless(text: str, language: str) -> bool:
    """Whether CocoIndex's splitter can parse `text` in `language`, and not for minutes."""
    crashing = _CRASHING.get(language)
    return (
        language in _SPLITTABLE
        and not (crashing and crashing.search(text))
        and not _is_given_up(text, language)
    )


def _is_given_up(text: str, language: str) -> bool:
    # Here, since it takes 9 ms to load, and memories seldom are longer than a chunk.
    from memory_sidecar.chunking.syntax import has_grammar, parse_guarded

    # Patient, since a part of a file may have denser tokens than a whole one.
    return has_grammar(language) and parse_guarded(text.encode(), language, patience=4) is None


def _merge_tiny(lines: Lines, spans: Iterable[Span]) -> list[Span]:
    """Merge tiny spans with an adjacent one if both fit the maximum."""
    merged: list[Span] = []
    for start, stop in spans:
        if merged:
            before, at = merged[-1]
            tiny = min(lines.size(before, at), lines.size(start, stop)) < MIN_BYTES
            if tiny and lines.size(before, stop) <= MAX_BYTES:
                merged[-1] = (before, stop)
                continue
        merged.append((start, stop))
    return merged


def _cut_by_lines(lines: Lines, span: Span) -> Iterator[Span]:
    """Yield the span in pieces that fit the target, or whole if it fits the maximum."""
    start, stop = span
    if lines.size(start, stop) > MAX_BYTES:
        for row in range(start + 1, stop):
            if lines.size(start, row + 1) > TARGET_BYTES:
                yield start, row
                start = row
    yield start, stop


@cache
def _splitter() -> RecursiveSplitter:
    """Return CocoIndex's splitter, loading only its compiled part.

    A worker needs no more. That takes 0.02 s and 15 MB, all of CocoIndex 0.45 s and 46 MB.
    """
    name = "cocoindex._internal.core"
    core = sys.modules.get(name)
    if core is None:
        package = find_spec("cocoindex")
        assert package is not None
        folders = package.submodule_search_locations or ()
        spec = PathFinder.find_spec(name, [f"{folder}/_internal" for folder in folders])
        assert spec is not None
        assert spec.loader is not None
        core = module_from_spec(spec)
        spec.loader.exec_module(core)
        sys.modules[name] = core
    splitter: RecursiveSplitter = core.RecursiveSplitter(custom_languages=[])
    return splitter
