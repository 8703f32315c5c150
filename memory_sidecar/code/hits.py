"""The best of what was ranked, as it is told: copies folded, cut keys masked, within a budget.

Copies are vendored code, worktrees of one repository, fixtures: chunks of different files that
share most of their lines and stand for the same thing. Like methods of two classes are none, nor
are the first lines of files that begin alike: these are told apart by what they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from msgspec import UNSET, UnsetType

from memory_sidecar.code.fusion import is_data
from memory_sidecar.code.results import CodeHit, Copy
from memory_sidecar.code.searched import Searched
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.credentials import mask_across_edges, may_be_cut
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN, Explanation
from memory_sidecar.core.results import rounded

COPIES_READ = 10  # beyond the hits asked for, so that their copies are known
SHARED_LINES = 0.8  # of all different lines that two copies have together
KEY_LINES = 120  # of a private key, the longest that is cut


@dataclass(slots=True)
class Fold:
    """A chunk, and the copies of it that rank behind it."""

    best: StoredChunk
    copies: list[StoredChunk] = field(default_factory=list)


def best_folds(rows: Searched, ids: Sequence[int], count: int) -> list[Fold]:
    """The first `count` of `ids` that are no copies; reads more of them until there are so many."""
    chunks: list[StoredChunk] = []
    folds: list[Fold] = []
    while len(folds) < count and len(chunks) < len(ids):
        part = ids[len(chunks) : len(chunks) + count + COPIES_READ]
        stored = {chunk.chunk_id: chunk for chunk in rows.read(part)}
        chunks += [stored[chunk_id] for chunk_id in part]
        folds = _folded(chunks)
    return folds[:count]


def hit_of(
    rows: Searched,
    stored: StoredChunk,
    score: float,
    *,
    is_weak: bool = False,
    copies: Sequence[StoredChunk] = (),
    why: Explanation | UnsetType = UNSET,
) -> CodeHit:
    """A chunk of `rows` as it is told, without parts of keys."""
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


def within_budget(hits: Sequence[CodeHit], max_tokens: int | None) -> list[CodeHit]:
    """As many hits as fit into the budget; the first that does not is cut at a line."""
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
    """Give back what is kept of the chunks that were compared last."""
    _lines_of.cache_clear()


def _folded(chunks: Iterable[StoredChunk]) -> list[Fold]:
    """`chunks`, best first, each once or among the copies of one before it."""
    folds: list[Fold] = []
    alike: dict[object, list[Fold]] = {}
    for chunk in chunks:
        others = alike.setdefault(_stands_for(chunk), [])
        for fold in others:
            if _file_of(chunk) != _file_of(fold.best) and _are_alike(chunk, fold.best):
                fold.copies.append(chunk)
                break
        else:
            folds.append(Fold(chunk))
            others.append(folds[-1])
    return folds


def _stands_for(chunk: StoredChunk) -> object:
    """What copies have in common: what they define and lie in, else what their file is."""
    if chunk.chunk.scope or chunk.chunk.symbols:
        return chunk.chunk.scope, chunk.chunk.symbols
    return "data" if is_data(chunk.filename) else chunk.filename.rpartition("/")[2]


def _file_of(chunk: StoredChunk) -> tuple[str, str]:
    return chunk.source, chunk.filename


def _are_alike(chunk: StoredChunk, other: StoredChunk) -> bool:
    if chunk.chunk.code == other.chunk.code:
        return True
    lines, others = _lines_of(chunk.chunk.code), _lines_of(other.chunk.code)
    shared = len(lines & others)
    return shared >= SHARED_LINES * (len(lines) + len(others) - shared)


@lru_cache(maxsize=64)  # of one question, of which more chunks may be compared with the same
def _lines_of(code: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, code.splitlines())))


def _without_cut_keys(rows: Searched, stored: StoredChunk) -> str:
    """The code, the part of a private key masked that begins or ends in another chunk.

    A key that lies in the chunk is left to those who show it.
    """
    code = stored.chunk.code
    if not may_be_cut(code):
        return code
    before, after = rows.around(stored, KEY_LINES)
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
