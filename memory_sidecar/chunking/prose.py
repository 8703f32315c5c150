"""Cuts Markdown at its headings. A fenced block stays whole up to 4,000 bytes.

The scope of a chunk is the path of its headings, "Setup > Linux". Front matter is a chunk of its
own. Headings are the two kinds of CommonMark, ATX and setext; those of HTML, and those in a
comment, do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory_sidecar.chunking.lines import MAX_BYTES, MIN_BYTES, Lines, Span, pack, split
from memory_sidecar.core.model import Chunk

MAX_FENCE_BYTES = 4_000
_MAX_TITLE = 200  # characters, since each chunk of its section has them; a paragraph may follow `#`
LEVELS = 6  # of headings

_LANGUAGE = "markdown"
_FRONT_MATTER = {"---": ("---", "..."), "+++": ("+++",)}
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_COMMENT = re.compile(r" {0,3}<!--")
_ATX = re.compile(r" {0,3}(#{1,6})([ \t].*)?")
_SETEXT = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*")
_RST_LINE = re.compile(r"([!-/:-@\[-`{-~])\1+")
_NO_PARAGRAPH = re.compile(r" {4}|\t|\s*(?:[-*+>|<#=]|\d+[.)])")


@dataclass(slots=True)
class MarkdownSection:
    """The rows of a heading and of the text up to the next heading of any level."""

    start: int
    level: int  # 0 before the first heading
    scope: str
    title: str = ""
    stop: int = 0
    fences: list[Span] = field(default_factory=list)


def chunk_markdown(lines: Lines) -> Iterator[Chunk]:
    """Yield the chunks of a Markdown or MDX document."""
    body = _front_matter_stop(lines.rows)
    if body:
        yield from lines.chunks(split(lines, (0, body), _LANGUAGE))
    for section in _join_tiny(lines, _sections(lines.rows, body)):
        yield from lines.chunks(_cut(lines, section), section.scope)


def sections_of(rows: Sequence[str]) -> Iterator[MarkdownSection]:
    """Yield the sections of a Markdown document; the first may have no heading."""
    if rows:
        yield from _sections(rows, _front_matter_stop(rows))


def rst_sections_of(rows: Sequence[str]) -> Iterator[MarkdownSection]:
    """Yield the sections of a reStructuredText document that have a heading.

    The characters that underline a heading, or also stand above it, mark its level. New ones mark
    the next deeper level.
    """
    levels: dict[str, int] = {}
    body = 0  # the row after the last heading
    for row in range(1, len(rows)):
        line, title = rows[row].rstrip(), rows[row - 1].strip()
        above = rows[row - 2].rstrip() if row - 2 >= body else ""
        if (
            _RST_LINE.fullmatch(line)
            and row > body
            and above in ("", line)
            and 0 < len(title) <= len(line)
            and not _RST_LINE.fullmatch(title)
            and (above or rows[row - 1][0] != " ")
        ):
            level = levels.setdefault(line[0] + above[:1], len(levels) + 1)
            start, body = row - 2 if above else row - 1, row + 1
            yield MarkdownSection(start, min(level, LEVELS), "", title)


def _front_matter_stop(rows: Sequence[str]) -> int:
    """Return the row after the front matter; 0 without one.

    As in Pandoc, `---` before a blank row is a thematic break.
    """
    closing = _FRONT_MATTER.get(rows[0].removeprefix("\ufeff").rstrip())
    if closing and len(rows) > 1 and rows[1].strip():
        for row in range(1, len(rows)):
            if rows[row].rstrip() in closing:
                return row + 1
    return 0


def _sections(rows: Sequence[str], body: int) -> Iterator[MarkdownSection]:
    """Yield the sections from row `body` on; the first may have no heading."""
    titles: list[tuple[int, str]] = []
    section = MarkdownSection(body, 0, "")
    fence = ""  # the opening fence of the current block
    in_comment = False
    for row in range(body, len(rows)):
        text = rows[row]
        if in_comment or (not fence and _COMMENT.match(text)):
            in_comment = "-->" not in text
            continue
        if mark := _FENCE.match(text):
            if not fence and not (mark[1][0] == "`" and "`" in mark[2]):
                fence = mark[1]
                section.fences.append((row, len(rows)))
            elif fence and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
                section.fences[-1] = (section.fences[-1][0], row + 1)
            continue
        if fence or not (heading := _heading(rows, row, section)):
            continue
        start, level, title = heading
        titles = [outer for outer in titles if outer[0] < level] + [(level, title)]
        section.stop = start
        yield section
        scope = " > ".join(title[:_MAX_TITLE] for _, title in titles if title)
        section = MarkdownSection(start, level, scope, title)
    section.stop = len(rows)
    yield section


def _heading(
    rows: Sequence[str], row: int, section: MarkdownSection
) -> tuple[int, int, str] | None:
    """Return first row, level and title of the heading that ends in `row`; `None` for none."""
    text = rows[row]
    if "#" in text and (atx := _ATX.fullmatch(text)):
        return row, len(atx[1]), _without_closing((atx[2] or "").strip())
    if row - 1 < section.start or not (setext := _SETEXT.fullmatch(text)):
        return None
    title = rows[row - 1]
    in_paragraph = row - 2 >= section.start and rows[row - 2].strip()
    heads_section = row - 2 == section.start and section.level
    if not title.strip() or _NO_PARAGRAPH.match(title) or (in_paragraph and not heads_section):
        return None
    return row - 1, 1 if setext[1] else 2, title.strip()


def _without_closing(title: str) -> str:
    """Return `title` without a closing sequence of `#`."""
    rest = title.rstrip("#")
    return rest.rstrip() if not rest or rest[-1] in " \t" else title


def _join_tiny(lines: Lines, sections: Iterator[MarkdownSection]) -> Iterator[MarkdownSection]:
    """Yield the sections, tiny ones joined to the parent or sibling before them if both fit."""
    before = next(sections)  # a document has one even without headings
    for section in sections:
        sizes = lines.size(before.start, before.stop), lines.size(section.start, section.stop)
        joins = min(sizes) < MIN_BYTES and sum(sizes) <= MAX_BYTES
        if joins and section.level >= before.level > 0:
            before.stop = section.stop
            before.fences += section.fences
            continue
        yield before
        before = section
    yield before


def _cut(lines: Lines, section: MarkdownSection) -> list[Span]:
    """Cut a section into spans that fit a chunk, between paragraphs and around fences."""
    if lines.size(section.start, section.stop) <= MAX_BYTES:
        return [(section.start, section.stop)]
    parts = _parts(lines, section)
    return pack(
        lines, ([part] if whole else split(lines, part, _LANGUAGE) for part, whole in parts)
    )


def _parts(lines: Lines, section: MarkdownSection) -> Iterator[tuple[Span, bool]]:
    """Yield paragraphs and fences, with the blank rows after them; True: keep it whole."""
    row = section.start
    for start, stop in [*section.fences, (section.stop, section.stop)]:
        yield from ((part, False) for part in _paragraphs(lines, row, start))
        end = stop
        while end < section.stop and lines.is_blank(end):
            end += 1
        if start < end:
            yield (start, end), lines.size(start, stop) <= MAX_FENCE_BYTES
        row = end


def _paragraphs(lines: Lines, start: int, stop: int) -> Iterator[Span]:
    begin = start
    for row in range(start + 1, stop):
        if lines.is_blank(row - 1) and not lines.is_blank(row):
            yield begin, row
            begin = row
    if begin < stop:
        yield begin, stop
