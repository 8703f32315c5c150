"""Turns ranked chunks into hits: folds copies, masks keys that a chunk cuts, keeps to a budget.

Copies are chunks of different files that share most of their lines and define the same: vendored
code, worktrees of one repository, fixtures. Builds of one script (`shop.mjs` beside `shop.cjs.js`)
are cut at different lines, so a chunk of one may hold most of a chunk of the other. Similar methods
of two classes are not copies, nor are the first lines of files that begin alike: see `_fold_key`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from msgspec import UNSET, UnsetType

from memory_sidecar.code.asides import is_data
from memory_sidecar.code.results import CodeHit, Copy
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.credentials import find_credentials, mask_part, may_be_cut
from memory_sidecar.core.model import Explanation, budget
from memory_sidecar.core.results import rounded

COPIES_READ = 10  # chunks read beyond the hits asked for, to find their copies
SHARED_LINES = 0.8  # of the distinct lines of two copies together (Jaccard)
_BUILD = re.compile(r"((?:.*/)?[^/.]+)(?:\.[\w-]+)?\.[cm]?js")  # shop.js, shop.mjs, shop.cjs.js
KEY_LINES = 120  # read around a chunk to see a private key whole


Fold = list[StoredChunk]
"""A chunk, followed by the copies of it that rank behind it."""


def best_folds(rows: CodeRows, ids: Sequence[int], count: int) -> list[Fold]:
    """Fold the chunks with `ids`, best first, reading on until there are `count` distinct ones.

    Chunks of deleted files are left out.
    """
    chunks: list[StoredChunk] = []
    folds: list[Fold] = []
    for at in range(0, len(ids), count + COPIES_READ):
        part = ids[at : at + count + COPIES_READ]
        stored = {chunk.chunk_id: chunk for chunk in rows.read(part)}
        read = [stored[chunk_id] for chunk_id in part]
        chunks += [each for each in read if not rows.is_deleted(each.source, each.filename)]
        folds = _fold(chunks)
        if len(folds) >= count:
            break
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
    left = budget(max_tokens, "".join(hit.code for hit in hits))
    kept = []
    for hit in hits:
        cut = _cut(hit, left)
        if cut is None:
            break
        kept.append(cut)
        left -= len(cut.code)
    return kept


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
    """Return what copies share: scope and symbols, or without these a file name, or being data."""
    if chunk.chunk.scope or chunk.chunk.symbols:
        return chunk.chunk.scope, chunk.chunk.symbols
    return "data" if is_data(chunk.filename) else chunk.filename.rpartition("/")[2]


def _file_of(chunk: StoredChunk) -> tuple[str, str]:
    return chunk.source, chunk.filename


def _are_alike(chunk: StoredChunk, other: StoredChunk, are_builds: bool) -> bool:
    """Whether the chunks share most of their lines; of two builds, most of the shorter one's."""
    if chunk.chunk.code == other.chunk.code:
        return True
    lines, others = lines_of(chunk.chunk.code), lines_of(other.chunk.code)
    shared = len(lines & others)
    if are_builds:
        return shared >= SHARED_LINES * min(len(lines), len(others))
    return shared >= SHARED_LINES * (len(lines) + len(others) - shared)


@lru_cache(maxsize=64)  # within one query a chunk is compared with several others
def lines_of(code: str) -> frozenset[str]:
    """Return the distinct lines of `code` that are not blank, without indentation."""
    return frozenset(filter(None, map(str.strip, code.splitlines())))


def _without_cut_keys(rows: CodeRows, stored: StoredChunk) -> str:
    """Return the code, with parts of private keys masked that begin or end in another chunk."""
    code = stored.chunk.code
    if not may_be_cut(code):
        return code
    first, near = stored.chunk.start_line, rows.code_around(stored, KEY_LINES)
    before = "".join(f"{text}\n" for start, text in near if start < first)
    after = "".join(f"\n{text}" for start, text in near if start > first)
    around = before + code + after
    found = find_credentials(around)
    return mask_part(around, len(before), len(before) + len(code), found)


def _cut(hit: CodeHit, characters: int) -> CodeHit | None:
    if len(hit.code) <= characters:
        return hit
    end = hit.code.rfind("\n", 0, characters + 1)
    if end <= 0:
        return None
    code = hit.code[:end]
    end_line = hit.start_line + code.count("\n")
    return replace(hit, code=code, end_line=end_line, location=f"{hit.start_line}-{end_line}")
