"""Reads a query that looks like code as pasted code, and tells how much of it a text holds.

Lines are compared without blanks, and without the marks and numbers that a diff or a listing puts
before them. So code is found in another indent, and with some lines changed, by its other lines.
Only
`chunks_with_snippet` reads chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.question import Question
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.index.words import MAX_PHRASE_WORDS, plain_words

MIN_LINE_WORDS = 3  # of a line that is looked for
MIN_SNIPPET_WORDS = 6  # of the lines that a file must hold: fewer stand anywhere
MAX_COPIES = 3  # files that hold the same of a snippet; what more hold distinguishes none of them
MAX_CHUNKS_OF_LINE = 50  # that are read for each line
MAX_LINES_LOOKED_FOR = 5  # those with the most words; each takes a phrase query

_MARK_OF_CODE = re.compile(r"[(){}\[\];=<>]")
_BEFORE_CODE = re.compile(r"[\s\d:|>+-]*")


def chunks_with_snippet(question: Question, rows: CodeRows) -> list[int]:
    """Return the chunks of the file that holds the most of pasted code: see `fullest_chunks`."""
    lines = pasted_lines(question.pasted)
    if not lines:
        return []
    phrases = phrases_of(question.pasted)
    ids = {each for words in phrases for each in rows.phrase_chunks(words, MAX_CHUNKS_OF_LINE)}
    held: dict[str, dict[int, set[str]]] = {}
    for each in rows.texts_of(sorted(ids)):
        if found := lines_held(lines, each.code):
            held.setdefault(each.filename, {})[each.chunk_id] = found
    return fullest_chunks(held, lines)


def pasted_lines(text: str) -> Mapping[str, int]:
    """Return the distinct lines of `text` as they are compared, with the words of each.

    Empty for a text of one line without a mark that words seldom have.
    """
    lines = {_bare(line): len(plain_words(line)) for line in text.splitlines()}
    return lines if len(lines) > 1 or _MARK_OF_CODE.search(text) else {}


def phrases_of(text: str) -> list[str]:
    """Return the words of those lines of `text` that are likeliest to stand in few chunks."""
    lines = (_BEFORE_CODE.sub("", line, count=1) for line in text.splitlines() if line.isascii())
    words = {" ".join(each): len(each) for each in map(plain_words, lines)}
    longest = sorted(words, key=lambda each: -words[each])[:MAX_LINES_LOOKED_FOR]
    return [
        " ".join(each.split()[:MAX_PHRASE_WORDS])
        for each in longest
        if words[each] >= MIN_LINE_WORDS
    ]


def lines_held(lines: Mapping[str, int], code: str) -> set[str]:
    """Return those of `lines` that are lines of `code`."""
    return {each for each in map(_bare, code.splitlines()) if each in lines}


def fullest_chunks(
    held: Mapping[str, Mapping[int, Set[str]]], lines: Mapping[str, int]
) -> list[int]:
    """Return the ids of the chunks of the file that holds the most of `lines`, the fullest first.

    `held`: the lines that each chunk holds, by file. A chunk is left out if those before it hold
    its lines. Copies of the file count, too, if they are few; one that is an aside does not.
    """

    def words(found: Iterable[str]) -> int:
        return sum(lines[line] for line in found)

    fullness = {
        path: (words(set[str]().union(*chunks.values())), not is_aside(path))
        for path, chunks in held.items()
    }
    most = max(fullness.values(), default=(0, True))
    files = [path for path in held if fullness[path] == most]
    if most[0] < MIN_SNIPPET_WORDS or len(files) > MAX_COPIES:
        return []
    ids: list[int] = []
    for path in files:
        seen: set[str] = set()
        for chunk_id, found in sorted(held[path].items(), key=lambda each: -words(each[1])):
            if found - seen:
                ids.append(chunk_id)
                seen |= found
    return ids


def _bare(line: str) -> str:
    return "".join(_BEFORE_CODE.sub("", line, count=1).split())
