"""Turns ranked chunks into hits: folds copies, masks keys that a chunk cuts, chooses what to show.

Copies are chunks of different files that share most of their lines and define the same: vendored
code, worktrees of one repository, fixtures. Builds of one script (`shop.mjs` beside `shop.cjs.js`)
are cut at other lines, so that a chunk of one may hold most of one of the other. Similar methods of
two classes are no copies, nor are the first lines of files that begin alike: see `_fold_key`.

Of a hit a few lines are shown, and in them words highlighted. A word matches the question if both
have the same stem, so that `retries` shows `retry`. This is cruder than ranking: it only has to
show a reader where to look.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import wrap

from msgspec import UNSET, UnsetType

from memory_sidecar.code.asides import is_data
from memory_sidecar.code.question import without_framing
from memory_sidecar.code.results import CodeHit, Copy
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.credentials import mask_across_edges, mask_credentials, may_be_cut
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN, Explanation
from memory_sidecar.core.results import rounded
from memory_sidecar.index.words import STOPWORDS, plain_words

COPIES_READ = 10  # chunks read beyond the hits asked for, to find their copies
SHARED_LINES = 0.8  # of the distinct lines of two copies together (Jaccard)
_BUILD = re.compile(r"((?:.*/)?[^/.]+)(?:\.[\w-]+)?\.[cm]?js")  # shop.js, shop.mjs, shop.cjs.js
KEY_LINES = 120  # read around a chunk to see a private key whole


Fold = list[StoredChunk]
"""A chunk, followed by the copies of it that rank behind it."""


def best_folds(rows: CodeRows, ids: Sequence[int], count: int) -> list[Fold]:
    """Fold the chunks with `ids`, best first, reading on until there are `count` distinct ones."""
    chunks: list[StoredChunk] = []
    folds: list[Fold] = []
    while len(folds) < count and len(chunks) < len(ids):
        part = ids[len(chunks) : len(chunks) + count + COPIES_READ]
        stored = {chunk.chunk_id: chunk for chunk in rows.read(part)}
        chunks += [stored[chunk_id] for chunk_id in part]
        folds = _fold(chunks)
    return folds[:count]


def make_hit(
    rows: CodeRows,
    stored: StoredChunk,
    score: float,
    *,
    is_weak: bool = False,
    copies: Sequence[StoredChunk] = (),
    why: Explanation | UnsetType = UNSET,
) -> CodeHit:
    """Make a hit of a chunk, with the parts of private keys in it masked."""
    chunk = stored.chunk
    return CodeHit(
        filename=stored.filename,
        location=chunk.location,
        language=stored.language,
        code=_without_cut_keys(rows, stored),
        score=rounded(score),
        source=stored.source,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        symbols=chunk.symbols,
        scope=chunk.scope,
        signature=chunk.signature,
        is_weak=is_weak,
        copies=tuple(Copy(each.filename, each.chunk.location, each.source) for each in copies),
        explain=why,
    )


def cut_to_budget(hits: Sequence[CodeHit], max_tokens: int | None) -> list[CodeHit]:
    """Return the hits that fit into the budget, all for None; the last is cut at a line to fit."""
    if max_tokens is None:
        return list(hits)
    left = max_tokens * CHARACTERS_PER_TOKEN
    kept = []
    for hit in hits:
        cut = _cut(hit, left)
        if cut is None:
            break
        kept.append(cut)
        left -= len(cut.code)
    return kept


def clear_caches() -> None:
    """Empty the cache of chunks compared last."""
    _lines_of.cache_clear()


def _fold(chunks: Iterable[StoredChunk]) -> list[Fold]:
    """Return `chunks` in their order, each copy folded into the first that it is a copy of."""
    folds: list[Fold] = []
    alike: dict[object, list[Fold]] = {}
    for chunk in chunks:
        build = _BUILD.fullmatch(chunk.filename)
        keys = [_fold_key(chunk), *([(chunk.source, build[1])] if build else [])]
        for fold, is_build in (
            (f, at > 0) for at, key in enumerate(keys) for f in alike.get(key, [])
        ):
            if _file_of(chunk) != _file_of(fold[0]) and _are_alike(chunk, fold[0], is_build):
                fold.append(chunk)
                break
        else:
            folds.append([chunk])
            for key in keys:
                alike.setdefault(key, []).append(folds[-1])
    return folds


def _fold_key(chunk: StoredChunk) -> object:
    """Return what copies must share: scope and symbols; without these the name of their file."""
    if chunk.chunk.scope or chunk.chunk.symbols:
        return chunk.chunk.scope, chunk.chunk.symbols
    return "data" if is_data(chunk.filename) else chunk.filename.rpartition("/")[2]


def _file_of(chunk: StoredChunk) -> tuple[str, str]:
    return chunk.source, chunk.filename


def _are_alike(chunk: StoredChunk, other: StoredChunk, are_builds: bool) -> bool:
    """Whether the chunks share most of their lines; of two builds, most of the shorter one's."""
    if chunk.chunk.code == other.chunk.code:
        return True
    lines, others = _lines_of(chunk.chunk.code), _lines_of(other.chunk.code)
    shared = len(lines & others)
    if are_builds:
        return shared >= SHARED_LINES * min(len(lines), len(others))
    return shared >= SHARED_LINES * (len(lines) + len(others) - shared)


@lru_cache(maxsize=64)  # within one query a chunk is compared with several others
def _lines_of(code: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, code.splitlines())))


def _without_cut_keys(rows: CodeRows, stored: StoredChunk) -> str:
    """Return the code with masked parts of private keys that begin or end in another chunk.

    Keys that lie in the chunk as a whole are masked where hits are printed.
    """
    code = stored.chunk.code
    if not may_be_cut(code):
        return code
    before, after = rows.text_around(stored, KEY_LINES)
    return mask_across_edges(before, code, after)


def _cut(hit: CodeHit, characters: int) -> CodeHit | None:
    if len(hit.code) <= characters:
        return hit
    end = hit.code.rfind("\n", 0, characters + 1)
    if end <= 0:
        return None
    code = hit.code[:end]
    end_line = hit.start_line + code.count("\n")
    return replace(hit, code=code, end_line=end_line, location=f"{hit.start_line}-{end_line}")


LINES = 5
MAX_LINE = 160  # characters of a line of prose
MAX_LOOKED_THROUGH = 100_000  # characters of a text that are searched for the question
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+(?![^\W_A-Z])")  # of an identifier: get, URL, Parts
_ENDING = re.compile(r"(?:ies|ing|ed|es|s|y|e)$")
_MIN_STEM = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text; `first` is the index of the first, from 0."""

    first: int
    lines: tuple[str, ...]


def stems_of(question: str) -> frozenset[str]:
    """Return the stems of the words of what `question` is about, without stop words."""
    return frozenset(map(_stem, set(plain_words(without_framing(question))) - STOPWORDS))


def excerpt(
    lines: Sequence[str],
    stems: Collection[str],
    *,
    at_most: int = LINES,
    around: int | None = None,
) -> Excerpt:
    """Return the run of `at_most` lines with the most of `stems`, rare ones counting more.

    Without any it is the beginning; if a row to show is given, the lines `around` that. Blank lines
    at the edges are left out, so it may be shorter.
    """
    last = max(len(lines) - at_most, 0)
    found = [{_stem(word) for word in plain_words(line)} & set(stems) for line in lines]
    rows = Counter(stem for each in found for stem in each)
    filled = [row for row, line in enumerate(lines) if line.strip()] or [0]

    def worth(start: int) -> tuple[float, int, int]:
        window = found[start : start + at_most]
        inside: set[str] = set().union(*window)
        hits = [row for row, each in enumerate(window) if each]
        # Among equals prefer matches in the middle, then the first.
        off = abs(hits[0] + hits[-1] - (at_most - 1)) if hits else 0
        return sum(1 / rows[stem] for stem in inside), len(hits), -off

    if around is not None:
        best = min(max(around - at_most // 2, 0), last)
    else:
        best = max(range(last + 1), key=worth) if any(found) else filled[0]
    window = range(best, min(best + at_most, len(lines)))
    kept = [row for row in window if lines[row].strip()] or [best]
    return Excerpt(kept[0], tuple(lines[kept[0] : kept[-1] + 1]))


def excerpt_within(
    lines: Sequence[str],
    stems: Collection[str],
    *,
    characters: int,
    around: int | None = None,
) -> Excerpt:
    """Return the `excerpt` of as many lines as fit into `characters`, none if not one fits."""
    at_most = len(lines)
    while at_most > 0:
        found = excerpt(lines, stems, at_most=at_most, around=around)
        size = sum(len(line) + 1 for line in found.lines)
        if size <= characters:
            return found
        at_most = min(at_most - 1, at_most * characters // size)
    return Excerpt(0, ())


def shorten(text: str, characters: int, stems: Collection[str] = ()) -> str:
    """Cut prose to the `characters` with the most of `stems`; `…` stands for what is left out.

    Long lines are wrapped. Secrets are masked first.
    """
    if len(text) <= characters:
        return text
    characters = max(characters, 0)
    width = min(MAX_LINE, characters - len("…\n…\n") - 1)
    if width < 1:
        return "…"[:characters]
    lines = [
        part
        for line in mask_credentials(text[:MAX_LOOKED_THROUGH])[0].splitlines()
        for part in wrap(line, width) or [""]
    ]
    return elided(best_part(lines, stems, characters), lines)


def best_part(
    lines: Sequence[str], stems: Collection[str], characters: int, *, around: int | None = None
) -> Excerpt:
    """Return the best of `lines`, or those `around` a row, that fit into `characters`, `elided`."""
    if sum(len(line) + 1 for line in lines) <= characters:
        return Excerpt(0, tuple(lines))
    return excerpt_within(lines, stems, characters=characters - len("…\n…\n"), around=around)


def elided(part: Excerpt, lines: Sequence[str]) -> str:
    """Return the text of `part` with `…` for each side at which some of `lines` are left out."""
    if not part.lines:
        return ""
    before = ["…"] * (part.first > 0)
    behind = ["…"] * (part.first + len(part.lines) < len(lines))
    return "\n".join([*before, *part.lines, *behind])


def names_shown(symbols: Sequence[str], lines: Sequence[str], part: Excerpt) -> tuple[str, ...]:
    """Return those of `symbols`, defined in `lines` in order, that `part` of these is about.

    They are the one in which it begins, and those that its lines name. One that is indented more
    than the first gets the name of that before it: `Cart.add`. Empty if `part` is all of `lines`.
    """
    stop = part.first + len(part.lines)
    if len(part.lines) == len(lines):
        return ()
    names: list[str] = []
    row, outer = 0, ""
    for number, symbol in enumerate(symbols):
        word = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
        row = next((each for each in range(row, stop) if word.search(lines[each])), stop)
        if row == stop:
            break
        indent = len(lines[row]) - len(lines[row].lstrip())
        if number == 0:
            outer, margin = symbol, indent
        name = f"{outer}.{symbol}" if number and indent > margin else symbol
        names = [*names, name] if row > part.first else [name]
    return tuple(names)


def spans(line: str, stems: Collection[str]) -> list[tuple[int, int]]:
    """Return the (start, end) of each word in `line` that has one of `stems`."""
    return [found.span() for found in _WORD.finditer(line) if _stem(found[0].lower()) in stems]


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= _MIN_STEM else word
