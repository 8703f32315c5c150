"""Scores the candidates of a hybrid query, all of them at once: arrays with a row for each.

`code.fusion` tells what relevance is made of. It becomes a score in 0…1: 0.75 for a full match, and
below 0.9 with all that other chunks lend. Chunks that the query names have scores from 0.9 on, in
the order of their relevance. Of the chunks of one file each further one counts less, so that the
first ranks show several files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory_sidecar.code.directory import ChunkFile, FileNumbers
from memory_sidecar.code.fusion import (
    DEFINED_WEIGHT,
    NAME_WEIGHT,
    Question,
)
from memory_sidecar.code.history import File, Lent
from memory_sidecar.core.model import Explanation
from memory_sidecar.index.arms import Scores, explained
from memory_sidecar.index.codes import Ids, Mask

FILE_SHARE = 0.3  # of what a file's next best chunks have above the common level
FILE_CHUNKS = 4
NAMED_FROM = 0.9  # the scores that only named chunks have
COMMON_WORDS_RANK = 60  # the candidate, no aside, whose keyword share is the common level
COMMON_RANK = 30  # the candidate whose relevance is the common level
FURTHER_CHUNK = 0.85  # the share of its score that each further chunk of a file keeps
FURTHER_CHUNKS = 3  # after which it is the same for all
WEAK_BELOW = 0.57  # 0.4 % of the best hits of questions with an answer, two thirds of those without

STATIC_BESIDE = 0.2  # of the static cosine, beside the model's
STATIC_ALONE = 0.5  # in its place, until that is there


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks under judgement, (n,) each, by ascending id."""

    ids: Ids
    cosine: Scores  # NaN: that arm has no opinion
    static: Scores  # the same
    keyword: Scores
    files: Sequence[ChunkFile]
    file_numbers: FileNumbers  # in `files`

    @classmethod
    def of(
        cls,
        ids: Ids,
        *,
        cosine: Scores,
        static: Scores,
        keyword: Scores,
        files: Sequence[ChunkFile],
        file_numbers: FileNumbers,
    ) -> Candidates:
        """`files` may be more than those that the candidates lie in."""
        numbers, inside = np.unique(file_numbers, return_inverse=True)
        return cls(
            ids, cosine, static, keyword, [files[n] for n in numbers], inside.astype(np.int32)
        )

    def ordered(self, scores: Scores) -> list[int]:
        """All rows, the best first; equal scores by path and line."""
        files = self.files
        by_path = sorted(range(len(files)), key=lambda n: (files[n].source, files[n].path))
        places = np.empty(len(files), np.int64)
        places[by_path] = np.arange(len(files))
        rows: list[int] = np.lexsort((self.ids, places[self.file_numbers], -scores)).tolist()
        return rows


@dataclass(frozen=True, slots=True)
class Ranked:
    """A score in 0…1 for each candidate, and what it is made of."""

    scores: Scores
    summands: dict[str, Scores]  # of the relevance
    boosts: dict[str, Scores]  # what lifted or lowered it
    steps: dict[str, Scores]  # after the relevance had become a score

    def explain(self, row: int, candidates: Candidates) -> Explanation:
        return explained(
            _of_row(self.summands, row),
            float(self.scores[row]),
            cosine=candidates.cosine[row],
            keyword=candidates.keyword[row],
            boosts=_of_row(self.boosts, row),
            steps=_of_row(self.steps, row),
        )


def rank_by(arm: str, scores: Scores) -> Ranked:
    """Rank by a single arm."""
    clipped = np.clip(np.nan_to_num(scores), 0.0, 1.0)
    return Ranked(clipped, {arm: clipped}, {}, {})


def rank_hybrid(
    candidates: Candidates,
    question: Question,
    *,
    coverage: Callable[[str], float],
    symbols: Sequence[str],
    defines: Mask,
    located: Mask,
    says: Mask,
    lent: Mapping[File, Lent],
) -> Ranked:
    """Score `candidates` by what both arms and their paths say, and by what `question` names.

    `coverage(path)` is the share of the question's words, by idf, that stand in a path. By file,
    `located` is whether the question names its path. By chunk, `symbols` are the names that it
    defines, with spaces between, `defines` whether the question names one of these, and `says`
    whether the chunk holds the question's words in a row. `lent` is what commits lend to files.
    """
    known = ~np.isnan(candidates.cosine)
    static = np.nan_to_num(candidates.static)
    # A chunk whose vector is still to come is taken for an average candidate, better or worse by
    # what its static vector says.
    average = 0.0
    if known.any():
        average = float((candidates.cosine - STATIC_ALONE * static)[known].mean())
    boosts = _boosts_of_files(candidates, question, coverage, symbols, lent)
    is_aside = sum((boosts[kind] for kind in question.asides), np.zeros(len(known))) < 0
    summands = {
        "cosine": np.nan_to_num(candidates.cosine),
        "assumed": np.where(known, 0.0, average),
        "static": np.where(known, STATIC_BESIDE, STATIC_ALONE) * static,
        "keyword": question.keyword_weight * _above_common(candidates.keyword, is_aside),
        **boosts,
    }
    relevance: Scores = sum(summands.values(), np.zeros(len(candidates.ids)))
    boosts["same_file"] = _lent_within_files(relevance, candidates.file_numbers)
    summands["same_file"] = boosts["same_file"]
    relevance += boosts["same_file"]
    located = located[candidates.file_numbers]
    boosts["exact_symbol"], boosts["exact_path"] = defines.astype(float), located.astype(float)
    boosts["exact_text"] = says.astype(float)
    meaning = 1.0 if known.any() else STATIC_ALONE * static.max(initial=0.0)
    full = meaning + question.keyword_weight + NAME_WEIGHT
    share: Scores = 1 - np.exp(-1.8 * np.maximum(relevance, 0.0) / full)
    lifted = NAMED_FROM + (1 - NAMED_FROM) * share - NAMED_FROM * share
    steps = {
        "exact_symbol": np.where(defines, lifted, 0.0),
        "exact_path": np.where(located & ~defines, lifted, 0.0),
        "exact_text": np.where(says & ~(located | defines), lifted, 0.0),
    }
    scores: Scores = NAMED_FROM * share + sum(steps.values())
    rank = np.minimum(_ranks_within_files(scores, candidates.file_numbers), FURTHER_CHUNKS)
    steps["further_chunk"] = scores * (FURTHER_CHUNK**rank - 1)
    return Ranked(scores + steps["further_chunk"], summands, boosts, steps)


def _boosts_of_files(
    candidates: Candidates,
    question: Question,
    coverage: Callable[[str], float],
    symbols: Sequence[str],
    lent: Mapping[File, Lent],
) -> dict[str, Scores]:
    count = np.bincount(candidates.file_numbers)
    defined = [0] * len(candidates.files)
    for number, each in zip(candidates.file_numbers.tolist(), symbols, strict=True):
        defined[number] |= question.matched_by(each)
    shares = np.array([question.share_of(matched) for matched in defined])
    paths = [file.path for file in candidates.files]
    penalties = [question.penalties(path) for path in paths]
    lenders = [lent.get((file.source, file.path)) for file in candidates.files]
    by_file = {
        **{kind: [each.get(kind, 0.0) for each in penalties] for kind in question.asides},
        "path": [
            question.path_boost(file.path, coverage(file.path), project=file.source)
            for file in candidates.files
        ],
        "guide": [question.guide_boost(path) for path in paths],
        "history": [lender.boost if lender else 0.0 for lender in lenders],
        "defined": DEFINED_WEIGHT * shares * (1 - 1 / count),
    }
    return {name: np.array(values)[candidates.file_numbers] for name, values in by_file.items()}


def _above_common(keyword: Scores, is_aside: Mask) -> Scores:
    """What of the keyword share tells a candidate from the others: what many have tells nothing."""
    shares = np.nan_to_num(keyword)
    falling = -np.sort(-shares[~is_aside])
    level = falling[COMMON_WORDS_RANK - 1] if len(falling) >= COMMON_WORDS_RANK else 0.0
    return np.maximum(shares - level, 0.0)


def _lent_within_files(relevance: Scores, file_numbers: FileNumbers) -> Scores:
    """A file with several good chunks counts more than one with a single lucky one.

    Its best chunk gains a share of what the next best have above the common level. Lifting the
    others too would fill the first ranks with one file.
    """
    lent = np.zeros(len(relevance))
    if not len(relevance):
        return lent
    common = np.sort(relevance)[-min(COMMON_RANK, len(relevance))]
    rank = _ranks_within_files(relevance, file_numbers)
    above = np.maximum(relevance - common, 0.0)
    above[(rank == 0) | (rank > FILE_CHUNKS)] = 0.0
    best = rank == 0
    lent[best] = FILE_SHARE * np.bincount(file_numbers, above)[file_numbers[best]]
    return lent


def _ranks_within_files(values: Scores, file_numbers: FileNumbers) -> Ids:
    """The place of each chunk among those of its file, from 0, by falling `values`."""
    order = np.lexsort((-values, file_numbers))  # file by file, the best first
    starts = np.flatnonzero(np.diff(file_numbers[order], prepend=-1))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return ranks


def _of_row(values: Mapping[str, Scores], row: int) -> dict[str, float]:
    return {name: float(column[row]) for name, column in values.items()}
