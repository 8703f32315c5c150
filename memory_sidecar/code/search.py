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

import numpy as np
from msgspec import UNSET, UnsetType

from memory_sidecar.code import copies, fusion
from memory_sidecar.code.copies import Fold, folded
from memory_sidecar.code.directory import Line
from memory_sidecar.code.fusion import Question
from memory_sidecar.code.history import File, Lent
from memory_sidecar.code.meant import Names, chunks_making, names_in
from memory_sidecar.code.ranking import WEAK_BELOW, Candidates, Ranked, rank_by, rank_hybrid
from memory_sidecar.code.results import CodeHit, Copy
from memory_sidecar.code.searched import Judging, Nearest, Searched
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.credentials import mask_part, may_be_cut
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN, CodeQuery, Explanation, SearchMode
from memory_sidecar.core.results import rounded
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import BESIDE, Arm
from memory_sidecar.index.keyword import Keywords, stems_of
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
    for ending in (".md", ".rst", "")
)
COPIES_READ = 10  # beyond the hits asked for, so that their copies are known
MESSAGE_DEPTH = 30  # of the keyword arm's best, looked at for a string that makes a message
PATHS_KEPT = 1 << 14
KEY_LINES = 120  # of a private key, the longest that is cut

_path_stems: dict[str, frozenset[str]] = {}


def search_code(
    query: CodeQuery,
    rows: Searched,
    connection: Connection,
    *,
    embed_query: EmbedQuery | None,
    embed_static: EmbedQuery | None = None,
) -> list[CodeHit]:
    """The best of `rows` for `query`, best first. Of `connection` only the tokenizer is used.

    Without `embed_query` there is no vector arm, without `embed_static`, (256,), no static one.

    Keyword and vector mode are the plain arms: the text as it is, by BM25 or cosine alone.
    """
    text = query.text[:MAX_QUERY_CHARACTERS]
    question, names = Question.of(text), names_in(text)
    is_hybrid = query.mode is SearchMode.HYBRID
    depth = max(DEPTH, query.top_k)
    scanning: Future[Judging] | None = None
    scanning_static: Future[Judging] | None = None
    if query.mode is not SearchMode.KEYWORD and embed_query is not None:
        # First of all: it takes longer than everything else together.
        wordings = question.wordings if is_hybrid else (text,)
        embeddings = [BESIDE.submit(embed_query, wording) for wording in wordings]
        scanning = BESIDE.submit(_scan, rows.by_vectors(), embeddings, depth)
    if is_hybrid and embed_static is not None:
        embeddings = [BESIDE.submit(embed_static, question.subject)]
        scanning_static = BESIDE.submit(_scan, rows.by_static(), embeddings, depth)
    named: list[int] = []
    said: Sequence[int] = ()
    keywords = Keywords.none()
    keyword_arm: Judging = Arm.silent()
    lent: Mapping[File, Lent] = {}
    if query.mode is not SearchMode.VECTOR:
        keywords = rows.keywords(question.subject if is_hybrid else text)
        keyword_arm = rows.by_words(keywords.rarest(KEYWORD_ROWS[query.mode]))
    if is_hybrid:
        names, said = rows.meant(names)
        if question.may_stand_so and not names.is_alone:
            likely = keyword_arm.best(MESSAGE_DEPTH).tolist()
            said = rows.saying(text) or chunks_making(text, likely, rows.read)
        named = [*rows.named(names), *said]
        if question.asks_for_guide:
            named += rows.named(Names((), (), is_alone=False, paths=FIRST_READ))
        lent = rows.lent(question.subject)
    static_arm = scanning_static.result() if scanning_static is not None else Arm.silent()
    found = [keyword_arm.best(depth), static_arm.best(depth), np.array(named, np.int64)]
    known: dict[int, tuple[list[str], str]] = {}
    if is_hybrid:  # while the model and its vectors are waited for
        known.update(rows.symbols(np.unique(np.concatenate(found)).tolist()))
    vector_arm = scanning.result() if scanning is not None else Arm.silent()
    wanted = np.unique(np.concatenate([*found, vector_arm.best(depth)]))
    files, file_numbers = rows.placed(wanted)
    candidates = Candidates.of(
        wanted,
        cosine=vector_arm.scores_of(wanted),
        static=static_arm.scores_of(wanted),
        keyword=keyword_arm.scores_of(wanted),
        files=files,
        file_numbers=file_numbers,
    )
    if is_hybrid:
        known.update(rows.symbols([row for row in wanted.tolist() if row not in known]))
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
    return _within_budget(_read_hits(rows, candidates, ranked, query, lent), query.max_tokens)


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
    return [hit_of(rows.around, stored[each], scores[each]) for each in best]


def forget() -> None:
    """Give back what is kept of the paths and names that questions have met."""
    _path_stems.clear()
    copies.forget()
    fusion.forget()


def _scan(nearest: Nearest, embeddings: Sequence[Future[Vector]], depth: int) -> Judging:
    """A vector arm, by the mean of `embeddings`, which were submitted before this."""
    question = np.stack([embedding.result() for embedding in embeddings]).mean(axis=0)
    return nearest(question, depth)


def _stems_of_path(connection: Connection, path: str) -> frozenset[str]:
    stems = _path_stems.get(path)
    if stems is None:
        if len(_path_stems) >= PATHS_KEPT:
            _path_stems.clear()
        stems = _path_stems[path] = frozenset(stems_of(connection, path))
    return stems


def _read_hits(
    searched: Searched,
    candidates: Candidates,
    ranked: Ranked,
    query: CodeQuery,
    lent: Mapping[File, Lent],
) -> list[CodeHit]:
    """The best of `candidates`, as many as are asked for, copies folded."""
    rows = candidates.ordered(ranked.scores)
    if query.min_score > 0:  # by the score as it is told: what was shown with it is found with it
        rows = [row for row in rows if rounded(float(ranked.scores[row])) >= query.min_score]
    folds = _best_folds(searched, candidates.ids[rows].tolist(), query.top_k)
    # What has no vector of the model yet is on another scale.
    is_told = (query.mode is SearchMode.HYBRID) & ~np.isnan(candidates.cosine)
    is_weak = is_told & (ranked.scores < WEAK_BELOW)
    rows_by_id = dict(zip(candidates.ids[rows].tolist(), rows, strict=True))
    return [
        hit_of(
            searched.around,
            fold.best,
            float(ranked.scores[row]),
            is_weak=bool(is_weak[row]),
            copies=fold.copies,
            why=_explained(candidates, ranked, row, lent) if query.explain else UNSET,
        )
        for fold in folds
        for row in [rows_by_id[fold.best.chunk_id]]
    ]


def _best_folds(rows: Searched, ids: Sequence[int], count: int) -> list[Fold]:
    """The first `count` of `ids` that are no copies; reads more of them until there are so many."""
    chunks: list[StoredChunk] = []
    folds: list[Fold] = []
    while len(folds) < count and len(chunks) < len(ids):
        part = ids[len(chunks) : len(chunks) + count + COPIES_READ]
        stored = {chunk.chunk_id: chunk for chunk in rows.read(part)}
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


Around = Callable[[StoredChunk, int], tuple[str, str]]
"""The text of its file before and behind a chunk, so many lines of it."""


def _without_cut_keys(around: Around, stored: StoredChunk) -> StoredChunk:
    """Mask the part of a private key that begins or ends in another chunk, which shows it cut.

    A key that lies in the chunk is left to those who show it.
    """
    chunk = stored.chunk
    if not may_be_cut(chunk.code):
        return stored
    before, after = around(stored, KEY_LINES)
    return replace(stored, chunk=replace(chunk, code=mask_part(before, chunk.code, after)))


def hit_of(
    around: Around,
    stored: StoredChunk,
    score: float,
    *,
    is_weak: bool = False,
    copies: Sequence[StoredChunk] = (),
    why: Explanation | UnsetType = UNSET,
) -> CodeHit:
    """A chunk as it is told, without parts of keys."""
    stored = _without_cut_keys(around, stored)
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


def _cut(hit: CodeHit, characters: int) -> CodeHit | None:
    if len(hit.code) <= characters:
        return hit
    end = hit.code.rfind("\n", 0, characters + 1)
    if end <= 0:
        return None
    code = hit.code[:end]
    end_line = hit.start_line + code.count("\n")
    return replace(hit, code=code, end_line=end_line, location=f"{hit.start_line}-{end_line}")
