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

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
from msgspec import UNSET, UnsetType

from memory_sidecar.code.copies import Fold, folded
from memory_sidecar.code.directory import allowed_chunks
from memory_sidecar.code.fusion import Question
from memory_sidecar.code.history import File, Lent, lent_by_history
from memory_sidecar.code.lookup import (
    StoredChunk,
    chunks_saying,
    named_chunks,
    names_in,
    read_around,
    read_chunks,
    read_symbols,
)
from memory_sidecar.code.ranking import WEAK_BELOW, Candidates, Ranked, rank_by, rank_hybrid
from memory_sidecar.code.results import CodeHit, Copy
from memory_sidecar.code.store import CHUNKS, CodeStore
from memory_sidecar.core.credentials import mask_part, may_be_cut
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN, CodeQuery, Explanation, SearchMode
from memory_sidecar.core.results import rounded
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import BESIDE, Arm, VectorArm, among
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.keyword import (
    Keywords,
    keyword_scores,
    keyword_share,
    keywords_of,
    stems_of,
)
from memory_sidecar.index.vectors import EmbedQuery, Vector, VectorView

MAX_QUERY_CHARACTERS = 4000  # the model sees no more, and some patterns are quadratic in it
DEPTH = 200  # candidates from each arm; 100 are as good on every measured set
KEYWORD_DEPTH = 1000  # of which the keyword share is known
# Scored at most, 1.5 µs each. CoSQA's questions have words in 4,000 rows: beside vectors, the
# rarest words of 2,000 rank as well as all of them.
KEYWORD_ROWS = {SearchMode.KEYWORD: 16_000, SearchMode.HYBRID: 2_000}
COPIES_READ = 10  # beyond the hits asked for, so that their copies are known
PATHS_KEPT = 1 << 14
KEY_LINES = 120  # of a private key, the longest that is cut

_path_stems: dict[str, frozenset[str]] = {}


def search_code(
    query: CodeQuery,
    connection: Connection,
    *,
    store: CodeStore,
    embed_query: EmbedQuery | None,
    embed_static: EmbedQuery | None = None,
) -> list[CodeHit]:
    """The best chunks for `query` in one commit, that of `connection`, best first.

    Without `embed_query` there is no vector arm, without `embed_static`, (256,), no static one.

    Keyword and vector mode are the plain arms: the text as it is, by BM25 or cosine alone.
    """
    text = query.text[:MAX_QUERY_CHARACTERS]
    question, names = Question.of(text), names_in(text)
    is_hybrid = query.mode is SearchMode.HYBRID
    depth = max(DEPTH, query.top_k)
    embeddings: list[Future[Vector]] = []
    if query.mode is not SearchMode.KEYWORD and embed_query is not None:
        # First of all: it takes longer than everything else together.
        wordings = question.wordings if is_hybrid else (text,)
        embeddings = [BESIDE.submit(embed_query, wording) for wording in wordings]
    directory = store.directory.read(connection)
    allowed = allowed_chunks(connection, directory, query.filter)
    scanning: Future[VectorArm] | None = None
    if embeddings:
        view = store.vectors[CHUNKS].view(connection)
        scanning = BESIDE.submit(_scan, view, embeddings, allowed, depth)
    named, said = np.empty(0, np.int64), list[int]()
    keywords, keyword_arm = Keywords.none(), Arm.silent()
    vector_arm: Arm | VectorArm = Arm.silent()
    static_arm: Arm | VectorArm = Arm.silent()
    lent: Mapping[File, Lent] = {}
    if is_hybrid:
        said = chunks_saying(connection, text) if question.may_stand_so else []
        named = np.array([*named_chunks(connection, names, directory), *said], np.int64)
        if embed_static is not None:
            view = store.static[CHUNKS].view(connection)
            static_arm = VectorArm(view, embed_static(question.subject), allowed, depth)
    if query.mode is not SearchMode.VECTOR:
        keywords = keywords_of(connection, CHUNKS, question.subject if is_hybrid else text)
        keyword_arm = _keyword_arm(connection, keywords.rarest(KEYWORD_ROWS[query.mode]), allowed)
    if is_hybrid:
        lent = lent_by_history(connection, question.subject, query.filter.sources)
    if scanning is not None:
        vector_arm = scanning.result()
    arms = (keyword_arm, static_arm, vector_arm)
    found = [*(arm.best(depth) for arm in arms), named[among(named, allowed)]]
    wanted = np.unique(np.concatenate(found))
    candidates = Candidates.of(
        wanted,
        cosine=vector_arm.scores_of(wanted),
        static=static_arm.scores_of(wanted),
        keyword=keyword_arm.scores_of(wanted),
        files=directory.files,
        file_numbers=directory.numbers_of(wanted),
    )
    if is_hybrid:
        known = read_symbols(connection, wanted.tolist())
        described = [known.get(chunk_id, ([], "")) for chunk_id in wanted.tolist()]
        ranked = rank_hybrid(
            candidates,
            question,
            coverage=lambda path: keywords.coverage(_stems_of_path(connection, path)),
            symbols=[" ".join(symbols) for symbols, _ in described],
            defines=np.array([names.defined_by(*each) for each in described], np.bool_),
            locates=names.locate,
            says=np.isin(wanted, said),
            lent=lent,
        )
    else:
        has_vectors = scanning is not None
        arm = ("cosine", candidates.cosine) if has_vectors else ("keyword", candidates.keyword)
        ranked = rank_by(*arm)
    return _within_budget(_read_hits(connection, candidates, ranked, query, lent), query.max_tokens)


def _scan(
    view: VectorView, embeddings: Sequence[Future[Vector]], allowed: Ids | None, depth: int
) -> VectorArm:
    """The vector arm, by the mean of `embeddings`, which were submitted before this."""
    question = np.stack([embedding.result() for embedding in embeddings]).mean(axis=0)
    return VectorArm(view, question, allowed, depth)


def _keyword_arm(connection: Connection, keywords: Keywords, allowed: Ids | None) -> Arm:
    limit = KEYWORD_DEPTH if allowed is None else None
    ids, bm25 = keyword_scores(connection, CHUNKS, keywords, limit=limit)
    return Arm.of(ids, keyword_share(bm25), allowed)


def _stems_of_path(connection: Connection, path: str) -> frozenset[str]:
    stems = _path_stems.get(path)
    if stems is None:
        if len(_path_stems) >= PATHS_KEPT:
            _path_stems.clear()
        stems = _path_stems[path] = frozenset(stems_of(connection, path))
    return stems


def _read_hits(
    connection: Connection,
    candidates: Candidates,
    ranked: Ranked,
    query: CodeQuery,
    lent: Mapping[File, Lent],
) -> list[CodeHit]:
    """The best of `candidates`, as many as are asked for, copies folded."""
    rows = candidates.best(ranked.scores, len(ranked.scores))
    rows = [row for row in rows if ranked.scores[row] >= query.min_score]
    folds = _best_folds(connection, candidates.ids[rows].tolist(), query.top_k)
    # What has no vector of the model yet is on another scale.
    is_told = (query.mode is SearchMode.HYBRID) & ~np.isnan(candidates.cosine)
    is_weak = is_told & (ranked.scores < WEAK_BELOW)
    rows_by_id = dict(zip(candidates.ids[rows].tolist(), rows, strict=True))
    return [
        hit_of(
            connection,
            fold.best,
            float(ranked.scores[row]),
            is_weak=bool(is_weak[row]),
            copies=fold.copies,
            why=_explained(candidates, ranked, row, lent) if query.explain else UNSET,
        )
        for fold in folds
        for row in [rows_by_id[fold.best.chunk_id]]
    ]


def _best_folds(connection: Connection, ids: Sequence[int], count: int) -> list[Fold]:
    """The first `count` of `ids` that are no copies; reads more of them until there are so many."""
    chunks: list[StoredChunk] = []
    folds: list[Fold] = []
    while len(folds) < count and len(chunks) < len(ids):
        part = ids[len(chunks) : len(chunks) + count + COPIES_READ]
        stored = {chunk.chunk_id: chunk for chunk in read_chunks(connection, part)}
        chunks += [stored[chunk_id] for chunk_id in part]
        folds = folded(chunks)
    return folds[:count]


def _explained(
    candidates: Candidates, ranked: Ranked, row: int, lent: Mapping[File, Lent]
) -> Explanation:
    file = candidates.files[candidates.file_numbers[row]]
    from_commits = lent.get((file.source, file.path))
    subjects = from_commits.subjects if from_commits else ()
    return replace(ranked.explain(row, candidates), commits=subjects)


def _without_cut_keys(connection: Connection, stored: StoredChunk) -> StoredChunk:
    """With the part masked of a key that begins or ends in another chunk, where none sees it whole.

    A key that lies in the chunk is left to those who show it.
    """
    chunk = stored.chunk
    if not may_be_cut(chunk.code):
        return stored
    before, after = read_around(connection, stored, lines=KEY_LINES)
    return replace(stored, chunk=replace(chunk, code=mask_part(before, chunk.code, after)))


def hit_of(
    connection: Connection,
    stored: StoredChunk,
    score: float,
    *,
    is_weak: bool = False,
    copies: Sequence[StoredChunk] = (),
    why: Explanation | UnsetType = UNSET,
) -> CodeHit:
    """A chunk as it is told, without parts of keys."""
    stored = _without_cut_keys(connection, stored)
    chunk = stored.chunk
    return CodeHit(
        filename=stored.filename,
        location=chunk.location,
        language=stored.language,
        code=chunk.code,
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


def _within_budget(hits: Sequence[CodeHit], max_tokens: int | None) -> list[CodeHit]:
    """As many hits as fit; the one that does not fit is cut at a line."""
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


def _cut(hit: CodeHit, characters: int) -> CodeHit | None:
    if len(hit.code) <= characters:
        return hit
    end = hit.code.rfind("\n", 0, characters + 1)
    if end <= 0:
        return None
    code = hit.code[:end]
    end_line = hit.start_line + code.count("\n")
    return replace(hit, code=code, end_line=end_line, location=f"{hit.start_line}-{end_line}")
