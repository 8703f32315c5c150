"""Chooses the few lines of a text to show, and the words in them to highlight. Pure functions.

A word matches the question if both have the same stem, so that `retries` shows `retry`. This is
cruder than ranking: it only has to show a reader where to look.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import fsum
from typing import TYPE_CHECKING

from memory_sidecar.code.framing import without_framing
from memory_sidecar.core.credentials import find_credentials, mask_part
from memory_sidecar.core.model import MAX_QUERY_CHARACTERS
from memory_sidecar.index.words import (
    MARKS,
    STOPWORDS,
    UNSPACED,
    count_unspaced,
    plain_words,
    terms_of,
)

if TYPE_CHECKING:
    from memory_sidecar.code.query_names import QueryNames
    from memory_sidecar.code.results import CodeHit

LINES = 5
MAX_LINE = 160  # characters of a line of prose
MAX_SIGNATURE = 72
MAX_NAMES = 3  # of a hit, that head it
MAX_COLOURED = 4_000  # characters; on odd texts lexers take quadratic time: 30 s for 40,000
MAX_LOOKED_THROUGH = 100_000  # characters of a text that are searched for the question
LONGEST_KEY = 8_000  # characters of a private key
_WORD = re.compile(  # of an identifier: get, URL, Parts
    rf"[A-Z]?(?:(?![_A-Z{UNSPACED}])[\w{MARKS}])+|[A-Z]+(?![^\W_A-Z{UNSPACED}])"
)
_IDENTIFIER = re.compile(r"\b\w+(?:_|[a-z](?=[A-Z]))\w+")  # of several words: save_page, savePage
_ARGUMENTS = re.compile(r"<[^<>]*>")  # of a type
_EXTENDING = re.compile(r"(?:\w+ )*?(?:impl|extension)\b(?:.* for|(?!.* for)) &?(?:\w+::)*([\w.]+)")
_ENDING = re.compile(r"(?:ies|ing|ed|es|s|y|e)$")
_MIN_STEM = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text; `first` is the index of the first, from 0."""

    first: int
    lines: tuple[str, ...]


def stems_of(question: str) -> frozenset[str]:
    """Return the stems of the words of what `question` is about, without stop words."""
    return frozenset(_terms(without_framing(question[:MAX_QUERY_CHARACTERS]), STOPWORDS))


def excerpt(
    lines: Sequence[str], stems: Collection[str], *, at_most: int = LINES, around: int | None = None
) -> Excerpt:
    """Return the run of `at_most` lines with the most of `stems`, rare ones counting more.

    If no line has one, it is the beginning. With `around`, a row, it is the lines around that row
    instead. Blank lines at the edges are left out, so it may be shorter.
    """
    last = max(len(lines) - at_most, 0)
    found = [_terms(line) & set(stems) for line in lines]
    rows = Counter(stem for each in found for stem in each)
    filled = [row for row, line in enumerate(lines) if line.strip()] or [0]

    def worth(start: int) -> tuple[float, int, int]:
        window = found[start : start + at_most]
        inside: set[str] = set().union(*window)
        hits = [row for row, each in enumerate(window) if each]
        # Among equals prefer matches in the middle, then the first.
        off = abs(hits[0] + hits[-1] - (at_most - 1)) if hits else 0
        # `fsum`: a plain sum would depend on the order of the set, which differs between processes.
        return fsum(1 / rows[stem] for stem in inside), len(hits), -off

    if around is not None:
        best = min(max(around - at_most // 2, 0), last)
    else:
        best = max(range(last + 1), key=worth) if any(found) else filled[0]
    window = range(best, min(best + at_most, len(lines)))
    kept = [row for row in window if lines[row].strip()] or [best]
    return Excerpt(kept[0], tuple(lines[kept[0] : kept[-1] + 1]))


def rows_to_search(lines: Sequence[str], stems: Collection[str]) -> range:
    """Return the rows of `lines` to look through for `stems`, of MAX_LOOKED_THROUGH characters.

    Of a longer text it is the part with the most of `stems`, those in few parts counting more.
    """
    starts, size = [0], 0
    for row, line in enumerate(lines):
        size += len(line) + 1
        if size > MAX_LOOKED_THROUGH and row > starts[-1]:
            starts.append(row)
            size = len(line) + 1
    parts = [range(*ends) for ends in pairwise([*starts, len(lines)])]
    if len(parts) == 1:
        return parts[0]
    texts = ("\n".join(lines[part.start : part.stop]).lower() for part in parts)
    found = [[stem for stem in stems if stem in text] for text in texts]
    counts = Counter(chain.from_iterable(found))
    worth = [fsum(1 / counts[stem] for stem in each) for each in found]
    return parts[worth.index(max(worth))]


def shorten(text: str, characters: int, stems: Collection[str] = ()) -> str:
    """Cut prose to the `characters` with the most of `stems`; `…` stands for what is left out.

    Long lines are cut between words. Secrets are masked first.
    """
    if len(text) <= characters:
        return text
    characters = max(characters, 0)
    width = min(MAX_LINE, characters - len("…\n…\n") - 1)
    if width < 1:
        return "…"[:characters]
    # The parts of a line together are that line, with its end, so that no break is added.
    wrapper = textwrap.TextWrapper(
        width, expand_tabs=False, replace_whitespace=False, drop_whitespace=False
    )
    lines = text.splitlines(keepends=True)
    rows = rows_to_search(lines, stems)
    start = sum(map(len, lines[: rows.start]))
    size = min(sum(map(len, lines[rows.start : rows.stop])), MAX_LOOKED_THROUGH)
    begin = max(start - LONGEST_KEY, 0)  # of what may tell that the first rows are of a key
    near = text[begin : start + size]
    searched = mask_part(near, start - begin, len(near), find_credentials(near))
    parts = [part for line in searched.splitlines(keepends=True) for part in wrapper.wrap(line)]
    best = best_part(parts, stems, characters)
    above, below = [""] * (rows.start > 0), [""] * (rows.stop < len(lines))
    placed = Excerpt(best.first + len(above), best.lines)
    return elided(placed, [*above, *parts, *below], between="")


def best_part(
    lines: Sequence[str], stems: Collection[str], characters: int, *, around: int | None = None
) -> Excerpt:
    """Return all of `lines`, or the `excerpt` of as many as fit into `characters`, `elided`.

    No lines if not one fits.
    """
    if sum(len(line) + 1 for line in lines) <= characters:
        return Excerpt(0, tuple(lines))
    characters -= len("…\n…\n")
    at_most = len(lines)
    while at_most > 0:
        found = excerpt(lines, stems, at_most=at_most, around=around)
        size = sum(len(line) + 1 for line in found.lines)
        if size <= characters:
            return found
        at_most = min(at_most - 1, at_most * characters // size)
    return Excerpt(0, ())


def elided(part: Excerpt, lines: Sequence[str], between: str = "\n") -> str:
    """Return the text of `part` with `…` for each side at which some of `lines` are left out."""
    if not part.lines:
        return ""
    before = "…\n" if part.first else ""
    behind = "\n…" if part.first + len(part.lines) < len(lines) else ""
    text = between.join(part.lines)
    return before + (text.rstrip() if behind else text) + behind


def row_to_show(
    hit: CodeHit, lines: Sequence[str], names: QueryNames, stems: Collection[str]
) -> int | None:
    """Return the row of `lines`, the code of `hit`, that its excerpt has to show, if any.

    That is a line which `names` has; else, if the lines with the most of `stems` show none of the
    symbols in `names`, the one where `hit` defines the first of these.
    """
    row = names.row_in(hit)
    asked = {name[-1] for name in names.symbols}.intersection(hit.symbols)
    if row is not None or not asked:
        return row
    shown = ".".join(names_shown(hit.symbols, lines, excerpt(lines, stems)))
    if not asked.isdisjoint(shown.split(".")):
        return None
    rows = zip(hit.symbols, _definition_rows(hit.symbols, lines), strict=True)
    return next((row for symbol, row in rows if symbol in asked and row is not None), None)


_NAME = re.compile(r"\w+")
_LEAD = re.compile(r"/?\*|//|#(?!\w)|--|@\w|\[\w")  # of a line above a definition


def names_shown(symbols: Sequence[str], lines: Sequence[str], part: Excerpt) -> tuple[str, ...]:
    """Return those of `symbols`, defined in `lines` in this order, that `part` of `lines` shows.

    They are the symbol in which `part` begins and those that begin in it. A symbol indented below
    another gets that one's name before it: `Cart.add`. Empty if `part` is all of `lines`.
    """
    stop = part.first + len(part.lines)
    if len(part.lines) == len(lines):
        return ()
    names: list[str] = []
    margin, outer = 0, ""
    for symbol, row in zip(symbols, _definition_rows(symbols, lines), strict=True):
        if row is None:
            continue
        indent, begins = _indent(lines[row]), row
        while begins and _indent(lines[begins - 1]) >= indent and _is_lead(lines[begins - 1]):
            begins -= 1
        if begins >= stop:
            break
        if outer and indent > margin:
            name = f"{outer}.{symbol}"
        else:
            name = outer = symbol
            margin = indent
        names = [*names, name] if begins > part.first else [name]
    return tuple(names)


def _definition_rows(symbols: Sequence[str], lines: Sequence[str]) -> list[int | None]:
    """Return where each of `symbols` is likely to be defined in `lines`; None if nowhere.

    It is the least indented of the lines that name the symbol and precede the next symbol's line; a
    comment only if no other line names the symbol. Of 6,200 symbols in ten repositories, 2 % are
    placed wrong.
    """
    comments: dict[str, list[int]] = {symbol: [] for symbol in symbols}
    others: dict[str, list[int]] = {symbol: [] for symbol in symbols}
    signs = [symbol for symbol in others if not _NAME.fullmatch(symbol)]  # operator==, valid?
    for row, line in enumerate(lines):
        rows = comments if _is_lead(line) else others
        words = {*_NAME.findall(line), *(each for each in signs if each in line)}
        for symbol in words & rows.keys():
            rows[symbol].append(row)
    found = [others[symbol] or comments[symbol] for symbol in symbols]
    first, earliest = 0, []
    for rows_of_one in found:
        first = min((row for row in rows_of_one if row >= first), default=first)
        earliest.append(first)
    last, placed = len(lines), list[int | None]()
    for rows_of_one, first in zip(reversed(found), reversed(earliest), strict=True):
        possible = [row for row in rows_of_one if first <= row <= last]
        last = min(possible, key=lambda row: _indent(lines[row]), default=last)
        placed.append(last if possible else None)
    return placed[::-1]


def _is_lead(line: str) -> bool:
    return _LEAD.match(line.lstrip()) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def name_of(hit: CodeHit, lines: Sequence[str], part: Excerpt, stems: Collection[str] = ()) -> str:
    """Return what `hit` is called where `part` of its `lines` is shown: `Cart.add, remove`.

    Up to three names that `part` shows, those with one of `stems` before others, behind what
    encloses them; if there are none, the signature of `hit`. If `hit` begins with an `impl` or
    `extension`, the extended type comes first.
    """
    is_whole = len(part.lines) == len(lines)
    names = hit.symbols if is_whole else names_shown(hit.symbols, lines, part)
    if len(names) > MAX_NAMES:
        asked = sorted(names, key=lambda name: _terms(name).isdisjoint(stems))[:MAX_NAMES]
        names = tuple(name for name in names if name in asked)[:MAX_NAMES]
    outer, _, innermost = hit.scope.rpartition(".")
    enclosing = outer if names[:1] == (innermost,) else hit.scope  # not `innermost` twice
    if names and hit.language in ("rust", "swift"):
        extended = _type_extended(hit.signature)
        names = (*([extended] if extended not in ("", *names) else ()), *names)
    called = ".".join(filter(None, (enclosing, ", ".join(names))))
    return called or textwrap.shorten(hit.signature, MAX_SIGNATURE, placeholder=" …")


def _type_extended(signature: str) -> str:
    """Return the type that an `impl` of Rust or `extension` of Swift extends; else empty."""
    head = signature.partition(" where ")[0].replace("->", "")
    while head != (head := _ARGUMENTS.sub("", head)):
        pass
    found = _EXTENDING.match(head)
    return found[1] if found else ""


def spans(line: str, stems: Collection[str]) -> list[tuple[int, int]]:
    """Return the (start, end) of each word or pair of characters in `line` with one of `stems`."""
    pairs = "|".join(re.escape(stem.replace(" ", "")) for stem in stems if count_unspaced(stem))
    at = [each.span() for each in re.finditer(pairs, line, re.IGNORECASE)] if pairs else []
    words = (each for each in _WORD.finditer(line) if not _terms(each[0]).isdisjoint(stems))
    return at + [each.span() for each in words]


def _terms(text: str, without: Collection[str] = ()) -> set[str]:
    """Return the stems of the words in `text`; identifiers count as a whole, too."""
    terms = chain.from_iterable(map(terms_of, plain_words(text)))
    stems = {_stem(term) for term in terms if term not in without}
    return stems.union(map(str.lower, _IDENTIFIER.findall(text)))


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= _MIN_STEM else word
