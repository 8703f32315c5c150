"""Folds near-identical copies among ranked chunks into the best of them. Pure.

Copies are chunks of different files that share most of their lines and stand for the same thing:
vendored code, worktrees of one repository, fixtures. Like methods of two classes are none, nor are
the first lines of files that begin alike: these are told apart by what they belong to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memory_sidecar.code.fusion import is_data
from memory_sidecar.code.lookup import StoredChunk

SHARED_LINES = 0.8  # of all different lines that two copies have together


@dataclass(slots=True)
class Fold:
    """A chunk, and the copies of it that rank behind it."""

    best: StoredChunk
    copies: list[StoredChunk] = field(default_factory=list)


def folded(chunks: Iterable[StoredChunk]) -> list[Fold]:
    """`chunks`, best first, each once or among the copies of one before it."""
    folds: list[Fold] = []
    alike: dict[object, list[tuple[Fold, frozenset[str]]]] = {}
    for chunk in chunks:
        lines = frozenset(filter(None, map(str.strip, chunk.chunk.code.splitlines())))
        others = alike.setdefault(_stands_for(chunk), [])
        for fold, known in others:
            if _file_of(chunk) != _file_of(fold.best) and _are_alike(lines, known):
                fold.copies.append(chunk)
                break
        else:
            folds.append(Fold(chunk))
            others.append((folds[-1], lines))
    return folds


def _stands_for(chunk: StoredChunk) -> object:
    """What copies have in common: what they define and lie in, else what their file is."""
    if chunk.chunk.scope or chunk.chunk.symbols:
        return chunk.chunk.scope, chunk.chunk.symbols
    return "data" if is_data(chunk.filename) else chunk.filename.rpartition("/")[2]


def _file_of(chunk: StoredChunk) -> tuple[str, str]:
    return chunk.source, chunk.filename


def _are_alike(lines: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(lines & others)
    return shared >= SHARED_LINES * (len(lines) + len(others) - shared)
