"""Scores all candidates of a hybrid query at once, in arrays with one row for each candidate.

    relevance = cosine + w · (k - k₆₀) + max(0.15 · p, 0.3 · n) + 0.1 · d · (1 - 1 / c)
                - 0.2 for each kind of aside that the file is, + 0.2 or 0.3 for a guide
                + 0.1 for a test where tests of something are asked for
                + 0.15 · f + 0.2 · static cosine + boost by commits: see `history`
                + 0.3 · b - 0.1 in a module of tests beside the code that is not asked for
    w   0.2, or 0.4 if the question quotes code
    k   s / (s + i): s is the BM25 of the chunk, i the idf of all words of the question
    k₆₀ the same of the 60th candidate, asides not counted, or of the 12th if the question names a
        programming language; k - k₆₀ is at least 0
    p   share of the question's words, by idf, that stand in the path
    n   share of the question's words that match a word in the name of the file or of its folder,
        where one begins the other; a word that m > 5 candidate files match counts 5 / m
    d   share of the question's words that match a name which the file's candidates define
    c   number of candidates in the file
    f   share of the question's words, by idf, that the c candidates hold together, divided by the
        fourth root of c; 0 if the question names a programming language
    b   for the best candidate of a file: how far its next two there exceed the 30th of all, summed

A question that names a programming language uses no project's own words: many chunks hold its
words, so only the few chunks that stand out by them gain.

An aside is a test, documentation, an example or data (see `asides`) that the question does not ask
for; its path counts half. Docs are not asides where hardly any candidate is code, and lose 0.1
where a list or the value of a setting is asked for. A question of how to install, run or contribute
asks for a guide: prose gains, READMEs most.

The keyword share saturates instead of being divided by the best of the list, so that a weak best
match stays weak. Each term is here because ranking on named sets got worse without it, as
`benchmarks/retrieval.py` and `benchmarks/repositories.py` measure.

A curve makes the relevance a score in 0…1: 0.75 for a full match, and never above 0.9, whatever
boosts are added. Chunks that the query names get scores from 0.9 on, in the order of their
relevance. The second, third and fourth chunk of a file each keep less of their score than the one
before, so that the first ranks show several files; migrations in one folder count as one. The
first chunks at lines that the query names, such as the innermost frames of a traceback, come before
all others, in the order of these lines. So do the chunks that hold code which the query pastes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memory_sidecar.code.asides import in_tests
from memory_sidecar.code.directory import FileNumbers
from memory_sidecar.code.history import HistoryBoost
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.named import Defining, NamedRows
from memory_sidecar.code.question import NAME_WEIGHT, Question
from memory_sidecar.code.series import series_of
from memory_sidecar.code.store import split_symbols
from memory_sidecar.index.arms import Scores
from memory_sidecar.index.codes import Ids, Mask
from memory_sidecar.index.ids import mask_allowed
from memory_sidecar.index.scored import NAMED_FROM, ScoredRows, lift_named, saturate

DEFINED_WEIGHT = 0.1
FILE_WORDS_WEIGHT = 0.15
FILE_SHARE = 0.3  # a file's best chunk gains this share of what its next ones have above the level
FILE_CHUNKS = 2  # how many next ones; more would favour large files, which touch everything
COMMON_WORDS_RANK = 60  # the keyword share at this rank, without asides, is the common level
COMMON_WORDS_RANK_OF_LANGUAGE = 12  # where the question names a programming language
COMMON_RANK = 30  # the relevance at this rank is the common level
FURTHER_CHUNK = 0.85  # the share of its score that the second chunk of a file keeps; third: squared
FURTHER_CHUNKS = 3  # the highest power
LEADING_LINES = 5  # chunks at lines named by the question that come before all others
WEAK_BELOW = 0.58  # below are .4 % of best hits of questions with an answer, two thirds of others

INNER_TEST_PENALTY = 0.1  # of a chunk in a module of tests beside the code
STATIC_BESIDE = 0.2  # weight of the static cosine beside the model's
STATIC_ALONE = 0.5  # and where the model's vector is not there yet


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks to rank, with what each arm says of them; arrays are (n,), by ascending id."""

    ids: Ids
    cosine: Scores  # of the model's vector; NaN: the arm does not know the chunk
    static: Scores  # cosine of the static vector; NaN as above
    keyword: Scores  # share of BM25; NaN as above
    files: Sequence[ChunkFile]  # those in which a candidate lies
    history: Sequence[HistoryBoost | None]  # of each of `files`, by commits
    file_numbers: FileNumbers  # the place in `files` of each chunk's file

    def ordered(self, scores: Scores) -> list[int]:
        """Return all row numbers, best score first; equal scores by source, path and id."""
        files = self.files
        by_path = sorted(range(len(files)), key=files.__getitem__)
        places = np.empty(len(files), np.int64)
        places[by_path] = np.arange(len(files))
        rows: list[int] = np.lexsort((self.ids, places[self.file_numbers], -scores)).tolist()
        return rows


def rank_hybrid(
    candidates: Candidates,
    question: Question,
    named: NamedRows,
    *,
    path_terms: Sequence[PathTerms],
    words: Sequence[tuple[float, Ids]],
) -> ScoredRows:
    """Score `candidates` by all arms, by their paths and by what `question` names.

    `path_terms`, by file of `candidates`: what its path tells.
    `words`: each word's share of the question's idf, and the chunks that hold it.
    """
    nothing = np.zeros(len(candidates.ids))
    boosts = _file_boosts(candidates, question, path_terms, named.defining)
    is_aside = sum((boosts[kind] for kind in question.asides), nothing) < 0
    boosts["file_words"] = FILE_WORDS_WEIGHT * _word_shares_of_files(candidates, words)
    level_rank = COMMON_WORDS_RANK_OF_LANGUAGE if question.names_language else COMMON_WORDS_RANK
    by_words = question.keyword_weight * _above_level(candidates.keyword, is_aside, level_rank)
    by_vectors, full_vectors = _by_vectors(candidates)
    by_arms = {**by_vectors, "keyword": by_words}
    relevance: Scores = sum((by_arms | boosts).values(), nothing)
    boosts["same_file"] = _same_file_boosts(relevance, candidates.file_numbers)
    relevance += boosts["same_file"]
    if "tests" in question.asides:  # after the above: a file is about what its tests are about
        penalty = -INNER_TEST_PENALTY * _in_tests(candidates, named.defining)
        boosts["tests"] = boosts["tests"] + penalty
        relevance += penalty
    summands = by_arms | boosts
    full = full_vectors + question.keyword_weight + NAME_WEIGHT
    lifts = {
        "exact_symbol": np.array([each.is_name for each in named.defining], np.bool_),
        "exact_path": named.at_path[candidates.file_numbers],
        "exact_text": named.holds_text,
    }
    boosts |= {kind: is_lifted.astype(float) for kind, is_lifted in lifts.items()}
    share = saturate(relevance, full)
    leading = named.at_lines[:LEADING_LINES]
    scores, steps = _scores(share, lifts, _series_numbers(candidates), leading)
    ids, cosine, keyword = candidates.ids, candidates.cosine, candidates.keyword
    return ScoredRows(ids, cosine, keyword, summands, scores, boosts, steps)


def _by_vectors(candidates: Candidates) -> tuple[dict[str, Scores], float]:
    """Return the summands of the candidates' vectors, (n,) each, and their sum for a full match.

    A candidate without a model vector counts as an average one, adjusted by its static vector.
    """
    known, static = ~np.isnan(candidates.cosine), np.nan_to_num(candidates.static)
    average, full = 0.0, STATIC_ALONE * static.max(initial=0.0)
    if known.any():
        average = float((candidates.cosine - STATIC_ALONE * static)[known].mean())
        full = 1.0
    by_vectors = {
        "cosine": np.nan_to_num(candidates.cosine),
        "assumed": np.where(known, 0.0, average),
        "static": np.where(known, STATIC_BESIDE, STATIC_ALONE) * static,
    }
    return by_vectors, full


def _scores(
    share: Scores, named: Mapping[str, Mask], series_numbers: FileNumbers, leading: Ids
) -> tuple[Scores, dict[str, Scores]]:
    """Return the scores of chunks by their `share` of a full match, and the steps to these: (n,).

    `named`, by name of the step: whether the question names each chunk. `leading`: the rows of the
    chunks that come first, in their order.
    """
    steps, is_lifted = dict[str, Scores](), np.zeros(len(share), np.bool_)
    lifted = lift_named(share)
    for kind, is_named in named.items():
        steps[kind] = np.where(is_named & ~is_lifted, lifted, 0.0)  # once, however it is named
        is_lifted |= is_named
    scores: Scores = NAMED_FROM * share + sum(steps.values())
    rank = np.minimum(_ranks_within_files(scores, series_numbers), FURTHER_CHUNKS)
    steps["further_chunk"] = scores * (FURTHER_CHUNK**rank - 1)
    scores += steps["further_chunk"]
    steps["line"] = _leading(scores, leading)
    scores += steps["line"]
    return scores, steps


class PathTerms(NamedTuple):
    """What the path of a file tells of it, whatever the other candidates are."""

    penalties: dict[str, float]  # see `Question.penalties`
    coverage: float  # of the question's words, by idf, that stand in the path
    name_bits: int  # those in the name of the file or of its folder

    @classmethod
    def of(cls, question: Question, path: str, coverage: float) -> PathTerms:
        return cls(question.penalties(path), coverage, question.name_bits(path))


def _file_boosts(
    candidates: Candidates,
    question: Question,
    by_path: Sequence[PathTerms],
    defining: Sequence[Defining],
) -> dict[str, Scores]:
    """Return, by name of the boost, what each candidate gains or loses by its file: (n,) each."""
    count = np.bincount(candidates.file_numbers)
    defined_bits = [0] * len(candidates.files)
    for number, each in zip(candidates.file_numbers.tolist(), defining, strict=True):
        defined_bits[number] |= each.bits
    shares = np.array([question.share_of_bits(bits) for bits in defined_bits])
    name_shares = question.name_shares([each.name_bits for each in by_path])
    by_file = {
        **{
            kind: [each.penalties.get(kind, 0.0) for each in by_path]
            for kind in sorted(question.asides)  # sums depend on the order
        },
        "guide": [question.guide_boost(file.path) for file in candidates.files],
        "tests_of": [question.tests_boost(file.path) for file in candidates.files],
        "path": [
            question.path_boost(each.coverage, name_share, is_aside=bool(each.penalties))
            for each, name_share in zip(by_path, name_shares, strict=True)
        ],
        "history": [each.boost if each else 0.0 for each in candidates.history],
        "defined": DEFINED_WEIGHT * shares * (1 - 1 / count),
    }
    return {name: np.array(values)[candidates.file_numbers] for name, values in by_file.items()}


def _series_numbers(candidates: Candidates) -> FileNumbers:
    """Return a number for the series, or the file alone, of each candidate: (n,)."""
    series = [(file.source, series_of(file.path)) for file in candidates.files]
    number_of = {each: number for number, each in enumerate(dict.fromkeys(series))}
    return np.array([number_of[each] for each in series], np.int32)[candidates.file_numbers]


def _leading(scores: Scores, rows: Ids) -> Scores:
    """Return what puts `rows` before all others, in their order: (n,)."""
    steps = np.zeros(len(scores))
    if len(rows):
        best = np.delete(scores, rows).max(initial=NAMED_FROM)
        steps[rows] = np.linspace(1.0, best, len(rows) + 2)[1:-1] - scores[rows]
    return steps


def _in_tests(candidates: Candidates, defining: Sequence[Defining]) -> Mask:
    """Return which candidates are in modules of tests beside the code, as Rust has them: (n,)."""
    is_rust = [file.language == "rust" for file in candidates.files]
    numbered = zip(defining, candidates.file_numbers.tolist(), strict=True)
    inner = [is_rust[n] and in_tests(split_symbols(d.symbols), d.scope) for d, n in numbered]
    return np.array(inner, np.bool_)


def _word_shares_of_files(candidates: Candidates, words: Sequence[tuple[float, Ids]]) -> Scores:
    """Return, by candidate, the share of the question that its file's candidates hold: (n,).

    A file of many candidates is likelier to hold a word: the share, by idf, is divided by the
    fourth root of their number.
    """
    count = np.bincount(candidates.file_numbers)
    held = np.zeros(len(count))
    for share, holding in words:
        held[candidates.file_numbers[mask_allowed(candidates.ids, holding)]] += share
    return (held / np.sqrt(np.sqrt(count)))[candidates.file_numbers]


def _above_level(values: Scores, is_aside: Mask, rank: int) -> Scores:
    """Return how far each of `values` exceeds the `rank`-th best of those in no aside, or 0."""
    shares = np.nan_to_num(values)
    descending = -np.sort(-shares[~is_aside])
    level = descending[rank - 1] if len(descending) >= rank else 0.0
    return np.maximum(shares - level, 0.0)


def _same_file_boosts(relevance: Scores, file_numbers: FileNumbers) -> Scores:
    """Return what the best chunk of each file gains by the file's next best chunks; 0 for others.

    A file with several good chunks counts more than one with a single lucky one. Boosting the
    others, too, would fill the first ranks with one file.
    """
    boosts = np.zeros(len(relevance))
    if not len(relevance):
        return boosts
    common = np.sort(relevance)[-min(COMMON_RANK, len(relevance))]
    rank = _ranks_within_files(relevance, file_numbers)
    above = np.maximum(relevance - common, 0.0)
    above[(rank == 0) | (rank > FILE_CHUNKS)] = 0.0
    best = rank == 0
    boosts[best] = FILE_SHARE * np.bincount(file_numbers, above)[file_numbers[best]]
    return boosts


def _ranks_within_files(values: Scores, file_numbers: FileNumbers) -> Ids:
    """Return the rank of each chunk among the chunks of its file, from 0, highest value first."""
    order = np.lexsort((-values, file_numbers))  # file by file, the best first
    starts = np.flatnonzero(np.diff(file_numbers[order], prepend=-1))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return ranks
