"""A query becomes hits: this is the whole way, top-down.

    query ──▶ keyword arm: BM25 of every chunk that holds one of its words
          ├─▶ history arm: what commits that say the like lend to the files they changed
          ├─▶ static arm: cosine of every chunk, by the sums of token vectors
          └─▶ vector arm: cosine of every chunk that has been through the model
    filters apply inside each ──▶ the best of each, judged by all ──▶ fusion ──▶ hits

Every arm answers for all candidates, so that a chunk which one arm found is judged by the others
too, and any can move the others' first. Everything is read from one commit; the text of a
chunk is read last, of the hits alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache

import numpy as np
from msgspec import UNSET

from memory_sidecar.code import fusion, hits
from memory_sidecar.code.directory import Line
from memory_sidecar.code.fusion import Question
from memory_sidecar.code.history import File, HistoryBoost
from memory_sidecar.code.hits import best_folds, hit_of, within_budget
from memory_sidecar.code.messages import chunks_with_template
from memory_sidecar.code.query_names import QueryNames, names_in
from memory_sidecar.code.ranking import WEAK_BELOW, Candidates, Ranked, rank_by_arm, rank_hybrid
from memory_sidecar.code.results import CodeHit
from memory_sidecar.code.searched import Judging, Nearest, Searched
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import CodeQuery, Explanation, SearchMode
from memory_sidecar.core.results import rounded
from memory_sidecar.index.arms import BESIDE, Arm
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.keyword import stems_of
from memory_sidecar.index.vectors import EmbedQuery, Vector

MAX_QUERY_CHARACTERS = 4000  # the model sees no more, and some patterns are quadratic in it
DEPTH = 90  # candidates from each arm
# Scored at most, 1.5 µs each. CoSQA's questions have words in 4,000 rows: beside vectors, the
# rarest words of 1,000 rank as well as all of them.
KEYWORD_ROWS = {SearchMode.KEYWORD: 16_000, SearchMode.HYBRID: 1_000}
# Candidates wherever a guide is asked for: of "how do I run the tests" the arms find tests.
FIRST_READ = tuple(
    f"{name}{ending}"
    for name in ("README", "Readme", "readme", "CONTRIBUTING")
    for ending in (".md", ".markdown", ".rst", "")
)
LEAST_SAID_ASIDE = 5  # words of a message that stands in an aside; fewer are a phrase of many docs
MESSAGE_DEPTH = 30  # of the keyword arm's best, looked at for a string that makes a message
PATHS_KEPT = 1 << 14
SILENT = Arm.silent()


def search_code(
    query: CodeQuery,
    rows: Searched,
    *,
    embed_query: EmbedQuery | None,
    embed_static: EmbedQuery | None = None,
) -> list[CodeHit]:
    """The best of `rows` for `query`, best first.

    Without `embed_query` there is no vector arm, without `embed_static`, (256,), no static one.

    Keyword and vector mode are the plain arms: the text as it is, by BM25 or cosine alone.
    """
    text = query.text[:MAX_QUERY_CHARACTERS]
    depth = max(DEPTH, query.top_k)
    history: Mapping[File, HistoryBoost] = {}
    if query.mode is SearchMode.KEYWORD:
        keywords = rows.keywords(text).rarest(KEYWORD_ROWS[query.mode])
        candidates = _judged(rows, keyword=rows.by_words(keywords), depth=depth)
        ranked = rank_by_arm("keyword", candidates.keyword)
    elif query.mode is SearchMode.VECTOR:
        meaning = _begin(rows.by_vectors, embed_query, (text,), depth)
        candidates = _judged(rows, meaning=meaning(), depth=depth)
        ranked = rank_by_arm("cosine", candidates.cosine)
    else:
        candidates, ranked, history = _hybrid(
            Question.of(text),
            rows,
            embed_query=embed_query,
            embed_static=embed_static,
            depth=depth,
        )
    return within_budget(_read_hits(rows, candidates, ranked, query, history), query.max_tokens)


def _hybrid(
    question: Question,
    rows: Searched,
    *,
    embed_query: EmbedQuery | None,
    embed_static: EmbedQuery | None,
    depth: int,
) -> tuple[Candidates, Ranked, Mapping[File, HistoryBoost]]:
    """What all arms find, ranked, and what commits lend to files. As `search_code`."""
    # First of all: it takes longer than everything else together.
    meaning_of = _begin(rows.by_vectors, embed_query, question.wordings, depth)
    static_of = _begin(rows.by_static, embed_static, (question.subject,), depth)
    keywords = rows.keywords(question.subject)
    words = rows.by_words(keywords.rarest(KEYWORD_ROWS[SearchMode.HYBRID]))
    names, said = rows.meant(names_in(question.text))
    if question.may_be_message and not names.is_single_word:
        likely = words.best(MESSAGE_DEPTH).tolist()
        said = _saying(rows, question) or chunks_with_template(question.text, likely, rows.read)
    named = [*rows.named(names), *said]
    if question.asks_for_guide:
        named += rows.named(QueryNames((), (), is_single_word=False, paths=FIRST_READ))
    history = rows.history_boosts(question.subject)
    static = static_of()
    found = np.concatenate([words.best(depth), static.best(depth), np.array(named, np.int64)])
    # While the model and its vectors are waited for.
    known = dict(rows.symbols(np.unique(found).tolist()))
    meaning = meaning_of()
    candidates = _judged(
        rows, meaning=meaning, static=static, keyword=words, depth=depth, found=found
    )
    ids: list[int] = candidates.ids.tolist()
    known.update(rows.symbols([each for each in ids if each not in known]))
    described = [known.get(each, ([], "")) for each in ids]
    ranked = rank_hybrid(
        candidates,
        question,
        coverage=lambda path: keywords.coverage(_stems_of_path(path)),
        symbols=[" ".join(symbols) for symbols, _ in described],
        defines_name=np.array([names.are_defined_by(*each) for each in described], np.bool_),
        at_named_path=np.array(
            names.match_paths([file.path for file in candidates.files]), np.bool_
        ),
        holds_message=np.isin(candidates.ids, said),
        history=history,
    )
    return candidates, ranked, history


def _begin(
    nearest: Callable[[], Nearest], embed: EmbedQuery | None, wordings: Sequence[str], depth: int
) -> Callable[[], Judging]:
    """Have a vector arm asked beside; what is returned waits for it. Silent without `embed`."""
    if embed is None:
        return lambda: SILENT
    embeddings = [BESIDE.submit(embed, wording) for wording in wordings]
    return BESIDE.submit(_scan, nearest(), embeddings, depth).result


def _scan(nearest: Nearest, embeddings: Sequence[Future[Vector]], depth: int) -> Judging:
    """A vector arm, by the mean of `embeddings`, which were submitted before this."""
    question = np.stack([embedding.result() for embedding in embeddings]).mean(axis=0)
    return nearest(question, depth)


def _judged(
    rows: Searched,
    *,
    depth: int,
    meaning: Judging = SILENT,
    static: Judging = SILENT,
    keyword: Judging = SILENT,
    found: Ids = SILENT.ids,
) -> Candidates:
    """The best of each arm, and what was `found` besides, judged by all arms."""
    best = [arm.best(depth) for arm in (meaning, static, keyword)]
    ids = np.unique(np.concatenate([*best, found]))
    files, file_numbers = rows.placed(ids)
    return Candidates.of(
        ids,
        cosine=meaning.scores_of(ids),
        static=static.scores_of(ids),
        keyword=keyword.scores_of(ids),
        files=files,
        file_numbers=file_numbers,
    )


def related_chunks(rows: Searched, at: Line, *, top_k: int) -> list[CodeHit]:
    """The chunks of `rows` most like that at a line, the likest first; `score` is the cosine.

    By the model's vector where there is one, else by the static one. Raises NotFound for a place
    that no chunk holds, or none with a vector.
    """
    chunk = rows.chunk_at(at)
    if chunk is None:
        hint = f"`memory-sidecar why {at.path}` says more"
        raise NotFound(f"nothing is indexed at {at.path}:{at.line}", hint=hint)
    for nearest, static in ((rows.by_vectors, False), (rows.by_static, True)):
        vector = rows.vector_of(chunk, static=static)
        if vector is not None:
            arm = nearest()(vector, top_k + 1)
            break
    else:
        raise NotFound(f"{at.path}:{at.line} has no vector yet", hint="ask again in a moment")
    ids = np.unique(arm.best(top_k + 1))
    scores = dict(zip(ids.tolist(), arm.scores_of(ids).tolist(), strict=True))
    scores.pop(chunk, None)
    best = sorted(scores, key=lambda each: (-scores[each], each))[:top_k]
    stored = {each.chunk_id: each for each in rows.read(best)}
    return [hit_of(rows, stored[each], scores[each]) for each in best]


def clear_caches() -> None:
    """Give back what is kept of the paths and names that questions have met."""
    _stems_of_path.cache_clear()
    hits.clear_caches()
    fusion.clear_caches()


def _saying(rows: Searched, question: Question) -> Sequence[int]:
    """The chunks that hold the words of a message in a row, an aside only letter by letter.

    What docs and logs of changes say of a feature is what a question about it says, too; so a
    message of few words counts in none of them.
    """
    said = rows.saying(question.text)
    words = question.text.split()
    counts_aside = len(words) >= LEAST_SAID_ASIDE
    text = " ".join(words)
    return [
        stored.chunk_id
        for stored in (rows.read(said) if said else ())
        if not question.penalties(stored.filename)
        or (counts_aside and text in " ".join(stored.chunk.code.split()))
    ]


@lru_cache(maxsize=PATHS_KEPT)
def _stems_of_path(path: str) -> frozenset[str]:
    return frozenset(stems_of(path))


def _read_hits(
    searched: Searched,
    candidates: Candidates,
    ranked: Ranked,
    query: CodeQuery,
    history: Mapping[File, HistoryBoost],
) -> list[CodeHit]:
    """The best of `candidates`, as many as are asked for, copies folded."""
    rows = candidates.ordered(ranked.scores)
    if query.min_score > 0:  # by the score as it is told: what was shown with it is found with it
        rows = [row for row in rows if rounded(float(ranked.scores[row])) >= query.min_score]
    folds = best_folds(searched, candidates.ids[rows].tolist(), query.top_k)
    # What has no vector of the model yet is on another scale.
    is_told = (query.mode is SearchMode.HYBRID) & ~np.isnan(candidates.cosine)
    is_weak = is_told & (ranked.scores < WEAK_BELOW)
    rows_by_id = dict(zip(candidates.ids[rows].tolist(), rows, strict=True))
    return [
        hit_of(
            searched,
            fold.best,
            float(ranked.scores[row]),
            is_weak=bool(is_weak[row]),
            copies=fold.copies,
            why=_explained(candidates, ranked, row, history) if query.explain else UNSET,
        )
        for fold in folds
        for row in [rows_by_id[fold.best.chunk_id]]
    ]


def _explained(
    candidates: Candidates, ranked: Ranked, row: int, history: Mapping[File, HistoryBoost]
) -> Explanation:
    file = candidates.files[candidates.file_numbers[row]]
    from_commits = history.get((file.source, file.path))
    subjects = from_commits.subjects if from_commits else ()
    return replace(ranked.explain(row, candidates), commits=subjects)
