"""Turns a query into hits. This module is the whole pipeline, top-down.

    query ──▶ keyword arm: BM25 of every chunk that holds one of its words
          ├─▶ history arm: boosts for files changed by commits with matching messages
          ├─▶ static arm: cosine of every chunk, by sums of token vectors
          └─▶ vector arm: cosine of every chunk that the model has embedded
    filters apply inside each arm ──▶ the best of each, scored by all ──▶ ranking ──▶ hits

A chunk that one arm finds is scored by all others, too, so that each arm can reorder what the
others found. Everything is read from one snapshot; the text of chunks is read last, for hits,
except where a question may quote it (`named`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cache, lru_cache, partial

import numpy as np
from msgspec import UNSET

from memory_sidecar.code.asides import asides_of, is_code, without_docs
from memory_sidecar.code.directory import Line
from memory_sidecar.code.history import FileKey, HistoryBoost
from memory_sidecar.code.hits import best_folds, cut_to_budget, lines_of, make_hit
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.named import find_named
from memory_sidecar.code.question import Question, matchable_words, name_words
from memory_sidecar.code.ranking import WEAK_BELOW, Candidates, PathTerms, rank_hybrid
from memory_sidecar.code.results import CodeHit
from memory_sidecar.code.rows import CodeRows, SearchArm
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import Explanation, SearchMode
from memory_sidecar.core.results import Reporter, rounded
from memory_sidecar.disk.globs import path_matches
from memory_sidecar.disk.roots import first_present
from memory_sidecar.index.arms import SEARCH_POOL, Arm
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.ids import distinct
from memory_sidecar.index.keyword import stems_of
from memory_sidecar.index.scored import ScoredRows
from memory_sidecar.index.vectors import EmbedQuery, Vector
from memory_sidecar.index.words import is_mostly_foreign, name_apart

DEPTH = 90  # candidates that each arm contributes
# How many rows to score by BM25, about, at 1.5 µs each; the words that most rows hold are left out.
# CoSQA's questions have words in 4,000 rows; beside vectors, scoring 1,000 ranks as well.
KEYWORD_ROWS = {SearchMode.KEYWORD: 16_000, SearchMode.HYBRID: 1_000}
LEAST_CODE = 0.12  # share of the candidates; if fewer are code, docs are no asides
PATHS_KEPT = 1 << 14
SILENT = Arm.silent()
NO_HISTORY: Mapping[FileKey, HistoryBoost] = {}


def search_code(
    query: CodeQuery,
    rows: CodeRows,
    question: Question | None,
    embeddings: Sequence[Future[Vector]] = (),
    embed_static: EmbedQuery | None = None,
) -> list[CodeHit]:
    """Return the best of `rows` for `query`, best first.

    `question`, and the texts whose `embeddings` the model makes, come from `take_apart`. Without
    embeddings there is no vector arm, without `embed_static`, which returns (256,), no static one.
    Keyword and vector mode rank the text as it is by one arm alone.
    """
    depth = max(DEPTH, query.top_k)
    if question is not None:
        candidates, ranked = _hybrid(
            question, rows, embeddings=embeddings, embed_static=embed_static, depth=depth
        )
    elif query.mode is SearchMode.VECTOR:
        vector = _submit_search(rows, embeddings, depth)()
        candidates = _candidates(rows, distinct(vector.best(depth)), vector=vector)
        ranked = ScoredRows.by_arm(query.mode, candidates.ids, candidates.cosine)
    else:
        # By itself, BM25 ranks better with the idf of all sources.
        keywords = rows.keywords(query.searched, everywhere=True).rarest(KEYWORD_ROWS[query.mode])
        words = rows.keyword_arm(keywords)
        candidates = _candidates(rows, distinct(words.best(depth)), keyword=words)
        ranked = ScoredRows.by_arm(query.mode, candidates.ids, candidates.keyword)
    return cut_to_budget(_read_hits(rows, candidates, ranked, query), query.max_tokens)


def take_apart(query: CodeQuery, sources: Collection[str]) -> tuple[Question | None, Sequence[str]]:
    """Return the question of a hybrid `query`, asked of `sources`, and the texts for the model.

    The mean of the texts' vectors counts. In other modes there is no question, and the text is used
    as it is.
    """
    if query.mode is SearchMode.HYBRID:
        question = Question.of(query.searched, sources)
        return question, question.wordings
    return None, (query.searched,) if query.mode is SearchMode.VECTOR else ()


def _hybrid(
    question: Question,
    rows: CodeRows,
    *,
    embeddings: Sequence[Future[Vector]],
    embed_static: EmbedQuery | None,
    depth: int,
) -> tuple[Candidates, ScoredRows]:
    """Return what all arms find, and its ranking. See `search_code`."""
    # First: embedding takes longer than everything else together.
    wait_vector = _submit_search(rows, embeddings, depth)
    static_of = [SEARCH_POOL.submit(embed_static, question.subject)] if embed_static else ()
    wait_static = _submit_search(rows, static_of, depth, static=True)
    keywords = rows.keywords(question.subject)
    asked = keywords.rarest(KEYWORD_ROWS[SearchMode.HYBRID])
    words = rows.keyword_arm(asked)
    if is_mostly_foreign(question.subject) and len(words.best(1)):  # else its cosine is all we have
        wait_vector = _submit_search(rows, (), depth)
    named = find_named(question, keywords, rows)
    history = rows.history_boosts(question.subject)
    holding = {} if question.names_language else rows.chunks_by_word(asked)
    static = wait_static()
    found = distinct(words.best(depth), static.best(depth), np.array(named.ids, np.int64))

    @cache
    def path_terms(path: str) -> PathTerms:
        return PathTerms.of(question, path, keywords.coverage(_stems_of_path(path)))

    # Done while the model still works.
    defined = named.definitions_in(found.tolist(), question, rows)
    files, file_numbers = rows.files_of(found)
    numbers = Counter(file_numbers.tolist())
    of_code = sum(
        n for each, n in numbers.items() if is_code(files[each].path, files[each].language)
    )
    if of_code < LEAST_CODE * len(found):
        question = replace(question, asides=without_docs(question.asides))
    for number in numbers:
        path_terms(files[number].path)
    vector = wait_vector()
    found = distinct(found, vector.best(depth))
    candidates = _candidates(
        rows, found, vector=vector, static=static, keyword=words, history=history
    )
    ids: list[int] = found.tolist()
    others = [each for each in ids if each not in defined]
    defined |= named.definitions_in(others, question, rows)
    paths = [file.path for file in candidates.files]
    ranked = rank_hybrid(
        candidates,
        question,
        named.among(candidates.ids, paths, defined),
        path_terms=[path_terms(path) for path in paths],
        words=[(keywords.coverage((stem,)), ids) for stem, ids in holding.items()],
    )
    return candidates, ranked


def _submit_search(
    rows: CodeRows, embeddings: Sequence[Future[Vector]], depth: int, *, static: bool = False
) -> Callable[[], SearchArm]:
    """Start a vector search in another thread; the function returned waits for its arm.

    It searches by the mean of `embeddings`, which must have been submitted before this. Without
    embeddings, the arm knows no row.
    """
    if not embeddings:
        return lambda: SILENT
    nearest = rows.vector_search(static=static)

    def search() -> SearchArm:
        question = np.stack([embedding.result() for embedding in embeddings]).mean(axis=0)
        return nearest(question, depth)

    return SEARCH_POOL.submit(search).result


def _candidates(
    rows: CodeRows,
    ids: Ids,
    *,
    vector: SearchArm = SILENT,
    static: SearchArm = SILENT,
    keyword: SearchArm = SILENT,
    history: Mapping[FileKey, HistoryBoost] = NO_HISTORY,
) -> Candidates:
    """Return the chunks `ids`, which ascend, scored by every arm."""
    files, file_numbers = rows.files_of(ids)
    numbers = distinct(file_numbers.astype(np.int64))
    kept = [files[number] for number in numbers.tolist()]
    return Candidates(
        ids,
        cosine=vector.scores_of(ids),
        static=static.scores_of(ids),
        keyword=keyword.scores_of(ids),
        files=kept,
        history=[history.get((file.source, file.path)) for file in kept],
        file_numbers=np.searchsorted(numbers, file_numbers).astype(np.int32),
    )


def related_chunks(
    rows: CodeRows,
    at: Line,
    *,
    own: range,
    why: Callable[[], str],
    top_k: int,
    reporter: Reporter,
) -> list[CodeHit]:
    """Return the chunks of `rows` most similar to the one at a line; `score` is the cosine.

    Chunks that hold any of the lines `own` of its file are left out. Compares the model's
    vectors if the chunk has one, else static vectors; while vectors of the model are missing, a
    notice says which. Raises NotFound if no chunk holds the line, or the chunk has no vector.
    `why` tells why its file is not indexed, if so.
    """
    chunk = rows.chunk_at(at)
    if chunk is None:
        hint = why() or "name a line with code"
        raise NotFound(f"nothing is indexed at {at.path}:{at.line}", hint=hint)
    for static in (False, True):
        vector = rows.vector_of(chunk, static=static)
        if vector is not None:
            nearest = partial(rows.vector_search(static=static), vector)
            break
    else:
        raise NotFound(f"{at.path}:{at.line} has no vector yet", hint="ask again in a moment")
    if (counts := rows.vector_counts()).pending:
        outcome = "comparing static vectors" if static else "leaving out the others"
        counts.notice_pending(reporter, outcome)

    def fetch(count: int) -> list[tuple[StoredChunk, float]]:
        depth = max(count + 1, DEPTH)  # so that among equal ones the path decides, not the row
        arm = nearest(depth)
        ids = distinct(arm.best(depth))
        scores = dict(zip(ids.tolist(), arm.scores_of(ids).tolist(), strict=True))
        scores.pop(chunk, None)
        found = [(each, scores[each.chunk_id]) for each in rows.read([*scores])]
        found.sort(key=lambda pair: (-pair[1], *pair[0].place))
        return found[:count]

    def is_other(found: tuple[StoredChunk, float]) -> bool:
        each = found[0]
        is_beside = (each.source, each.filename) == (at.source, at.path)
        lines = range(each.chunk.start_line, each.chunk.end_line + 1)
        is_own = is_beside and max(lines.start, own.start) < min(lines.stop, own.stop)
        return not is_own and not rows.is_deleted(each.source, each.filename)

    return [make_hit(rows, *found) for found in first_present(fetch, is_other, top_k)]


def clear_caches() -> None:
    """Empty the caches of paths, names and texts that questions have met."""
    of_paths = asides_of, name_words, path_matches, _stems_of_path
    for cached in (*of_paths, lines_of, matchable_words, name_apart):
        cached.cache_clear()


@lru_cache(maxsize=PATHS_KEPT)
def _stems_of_path(path: str) -> frozenset[str]:
    return frozenset(stems_of(path))


def _read_hits(
    rows: CodeRows, candidates: Candidates, ranked: ScoredRows, query: CodeQuery
) -> list[CodeHit]:
    """Return the best of `candidates`, as many as are asked for, with copies folded."""
    order = candidates.ordered(ranked.scores)
    if query.min_score > 0:  # compared as shown: a hit shown with a score is found by that score
        order = [at for at in order if rounded(float(ranked.scores[at])) >= query.min_score]
    if query.one_per_file:
        _, best_of_files = np.unique(candidates.file_numbers[order], return_index=True)
        order = [order[at] for at in np.sort(best_of_files)]
    folds = best_folds(rows, candidates.ids[order].tolist(), query.top_k)
    # The score of a chunk without a model vector is on another scale.
    is_comparable = (query.mode is SearchMode.HYBRID) & ~np.isnan(candidates.cosine)
    is_weak = is_comparable & (ranked.scores < WEAK_BELOW)
    place_of = dict(zip(candidates.ids[order].tolist(), order, strict=True))
    return [
        make_hit(
            rows,
            best,
            float(ranked.scores[at]),
            is_weak=bool(is_weak[at]),
            copies=copies,
            why=_explain(candidates, ranked, at) if query.explain else UNSET,
        )
        for best, *copies in folds
        for at in [place_of[best.chunk_id]]
    ]


def _explain(candidates: Candidates, ranked: ScoredRows, row: int) -> Explanation:
    by_commits = candidates.history[candidates.file_numbers[row]]
    subjects = by_commits.subjects if by_commits else ()
    return replace(ranked.explain(row), commits=subjects)
