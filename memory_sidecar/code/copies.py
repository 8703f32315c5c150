"""Folds copies among the hits of a search: vendored code, worktrees of one repository, fixtures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from memory_sidecar.code.fusion import is_data
from memory_sidecar.code.store import StoredChunk

SHARED_LINES = 0.8  # of all different lines that two copies have together


@dataclass(slots=True)
class Fold:
    """A chunk, and the copies of it that rank behind it.

    Copies are chunks of different files that share most of their lines and stand for the same
    thing. Like methods of two classes are none, nor are the first lines of files that begin alike:
    these are told apart by what they belong to.
    """

    best: StoredChunk
    copies: list[StoredChunk] = field(default_factory=list)


def folded(chunks: Iterable[StoredChunk]) -> list[Fold]:
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


def forget() -> None:
    """Give back what is kept of the chunks that were compared last."""
    _lines_of.cache_clear()


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
