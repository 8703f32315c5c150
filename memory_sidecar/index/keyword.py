"""The keyword arm: the keywords of a query, their weights, and BM25 by FTS5.

Identifiers are split the same way on both sides: `parseHttpResponse`, `parse_http_response` and
`parse.http.response` are all found by `http`, and by each other as a phrase. Scripts that set no
spaces between words are indexed by character and searched for by pairs of characters.

Which rows hold a word is read from its posting list, if that is short, else from the rows' texts.

FTS5 counts words in all rows, but a word that is rare in one project may be common in others. So
keywords can be counted `Among` the rows of one project, as if it had a table of its own.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import apsw
import numpy as np

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.ids import Among, mask_allowed
from memory_sidecar.index.report import counts_of_commit, row_count
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.words import MAX_QUERY_WORDS, STOPWORDS, index_words, words_and_phrases

BM25_HALF = 20.0  # the BM25 whose keyword share is a half, unless the question sets another
_CATEGORIES = ("categories", "L* N* Co M*")  # with marks, as the .sql files say for all `words`
COMMON_ROWS, COMMON_SHARE = 10, 0.5  # words in more rows, and a larger share, only cost time
_FIXED_POINT = 2.0**52  # BM25 is multiplied by it and truncated: as exact as a float from 1 on
MAX_ROWS_COUNTED = 5_000  # of one word: 0.7 ms; a commoner one is taken to be as common in any rows
_ALL_IDS = f"[[0, {2**63 - 1}]]"
# Rows that match, in ranges given as JSON. Without the limit that is read for each row found.
_MATCHES = (
    " FROM (SELECT value ->> 0 AS first, value ->> 1 AS last FROM json_each(?) LIMIT -1)"
    " CROSS JOIN {0} WHERE {0} MATCH ? AND {0}.rowid BETWEEN first AND last"
)


@dataclass(frozen=True, slots=True)
class Keywords:
    """The terms of a query (words and phrases), with the weight of each word."""

    terms: tuple[str, ...]
    idf: Mapping[str, float]  # of single words, by stem
    rows: Mapping[str, int]  # how many rows hold a word, by term
    among: Among | None = None  # the rows that were counted, and are looked in; None: all

    @property
    def whole(self) -> float:
        """The BM25 of a row of average length that holds each word of the query once."""
        return sum(self.idf.values()) or BM25_HALF  # a script without spaces has phrases alone

    def coverage(self, stems: Collection[str]) -> float:
        """Return the share, 0…1, of the words' weight that the words among `stems` have."""
        if self.idf.keys().isdisjoint(stems):
            return 0.0
        total = sum(self.idf.values())
        return sum(idf for stem, idf in self.idf.items() if stem in stems) / total

    def rarest(self, max_rows: int) -> Keywords:
        """Return a copy with all phrases, and the rarest words that `max_rows` rows hold in all.

        Scoring a row takes a microsecond, and the commonest words distinguish rows least.
        """
        kept, total = set[str](), 0
        for term in sorted(self.rows, key=lambda term: self.rows[term]):
            if total and total + self.rows[term] > max_rows:
                break
            total += self.rows[term]
            kept.add(term)
        terms = tuple(term for term in self.terms if term in kept or term not in self.rows)
        return replace(self, terms=terms)


CountRows = Callable[[Mapping[str, str]], tuple[int, Mapping[str, int]]]
"""How many rows there are, and how many hold each of some words, given with their stems."""


def keywords_of(
    connection: Connection, corpus: Corpus, text: str, among: Among | None = None
) -> Keywords:
    """Return the keywords of the query `text`, weighed by their frequency in `corpus`."""
    counter = row_counter(connection, corpus, among)
    return replace(weigh_keywords(text, counter), among=among)


def row_counter(connection: Connection, corpus: Corpus, among: Among | None) -> CountRows:
    """Return a function that counts the rows that hold words, in `corpus` or `among` some of it."""
    if among is None:
        return lambda words: document_frequencies(connection, corpus, words.values())

    def count(words: Mapping[str, str]) -> tuple[int, Mapping[str, int]]:
        rows, everywhere = document_frequencies(connection, corpus, words.values())
        holding: dict[str, int] = {}
        for word, stem in words.items():
            held = everywhere.get(stem, 0)
            if min(held, among.rows) > MAX_ROWS_COUNTED:
                holding[stem] = held * among.rows // rows
            elif held:
                holding[stem] = len(rows_with(connection, corpus, word, among))
        return among.rows, holding

    return count


def weigh_keywords(text: str, holding_of: CountRows) -> Keywords:
    """Return the keywords of a query: its distinct words, and identifiers as phrases of parts.

    Stopwords, and words that most rows hold, are left out unless no other word is left.
    """
    words, phrases = words_and_phrases(text)
    meaningful = [word for word in words if word not in STOPWORDS] or words
    stems = {word: stem for word in meaningful for stem in stems_of(word)[:1]}
    rows, holding = holding_of(stems)
    most = max(COMMON_ROWS, COMMON_SHARE * rows)
    rare = [w for w, stem in stems.items() if holding.get(stem, 0) <= most]
    # If no row holds any of the rare words, the common ones stay.
    kept = rare if any(holding.get(stems[w]) for w in rare) else list(stems)
    return Keywords(
        terms=(*kept, *phrases)[:MAX_QUERY_WORDS],
        idf={stems[word]: idf_of(holding.get(stems[word], 0), rows) for word in kept},
        rows={word: holding.get(stems[word], 0) for word in kept},
    )


def stems_of(text: str) -> list[str]:
    """Return the tokens that FTS5 makes of `text`, in order."""
    return indexed_tokens(index_words(text))


def indexed_tokens(words: str) -> list[str]:
    """Return the tokens that FTS5 makes of a result of `index_words`, in order."""
    return _tokens("porter", ["unicode61", *_CATEGORIES], words)


def unstemmed_tokens(text: str) -> list[str]:
    """Return the words of `text` as FTS5 folds them, without accents, before it stems them."""
    return _tokens("unicode61", [*_CATEGORIES], text)


def match_expression(terms: Iterable[str]) -> str:
    """Return an FTS5 expression that matches any of `terms`. Each is quoted, so none is syntax."""
    return " OR ".join(f'"{term}"' for term in terms)


def keyword_scores(
    connection: Connection, corpus: Corpus, keywords: Keywords, *, limit: int | None
) -> tuple[Ids, Floats]:
    """Return ids (n,) and BM25 (n,) of the rows that hold any keyword, the highest first.

    With `limit=None`, or if the keywords were counted among some rows, returns every match.
    """
    if not keywords.terms:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if keywords.among is None:
        return _scores(connection, corpus, keywords.terms, _ALL_IDS, limit)
    # One word at a time, to replace its idf in all rows by its idf among these.
    rows, holding = document_frequencies(connection, corpus, keywords.idf)
    found, scores = [], []
    for term in keywords.terms:
        ids, bm25 = _scores(connection, corpus, [term], keywords.among.ranges, None)
        if term in keywords.rows:  # else it is a phrase, which was not counted
            here = fts5_idf(keywords.rows[term], keywords.among.rows)
            bm25 *= here / fts5_idf(holding.get(stems_of(term)[0], 0), rows)
        found.append(ids)
        scores.append(bm25)
    ids, places = np.unique(np.concatenate(found), return_inverse=True)
    bm25 = np.bincount(places, np.concatenate(scores), len(ids)).astype(np.float32)
    order = np.argsort(-bm25, kind="stable")
    return ids[order], bm25[order]


def _scores(
    connection: Connection, corpus: Corpus, terms: Iterable[str], ranges: str, limit: int | None
) -> tuple[Ids, Floats]:
    words, weights = corpus.words, ", ".join(map(str, corpus.weights))
    # Returned as two texts, since each of a thousand rows would release the GIL and wait for it; of
    # whole numbers, which take a tenth of the time to read. NumPy sorts them in a tenth, too.
    # With a limit, else BM25 would be called in `group_concat`, where FTS5 has no row.
    listed, scored = connection.execute(
        "SELECT coalesce(group_concat(row), ''),"
        f" coalesce(group_concat(CAST(score * {_FIXED_POINT} AS INTEGER)), '') FROM (SELECT rowid"
        f" AS row, bm25({words}, {weights}) AS score{_MATCHES.format(words)} LIMIT -1)",
        (ranges, match_expression(terms)),
    ).get
    ids, scores = (np.fromstring(each, np.int64, sep=",") for each in (listed, scored))
    best = np.argsort(scores, kind="stable")[:limit]  # FTS5's scores are negative, the best lowest
    return ids[best], (scores[best] / -_FIXED_POINT).astype(np.float32)


def keyword_share(bm25: Floats, half: float = BM25_HALF) -> Floats:
    """Return `bm25` (n,) ≥ 0 as a saturating share in 0…1; that of `half` is 0.5."""
    return (bm25 / (bm25 + half)).astype(np.float32)


_tokenizing = threading.Lock()


@cache
def _tokenizers() -> apsw.Connection:
    """Return a connection without a file, for SQLite's tokenizers; the caller holds `_tokenizing`.

    All threads share it: opening one takes longer than tokenizing a question.
    """
    return apsw.Connection(":memory:")


def _tokens(name: str, arguments: list[str], text: str) -> list[str]:
    data = text.encode("utf-8", "replace")
    with _tokenizing:
        tokenizer = _tokenizers().fts5_tokenizer(name, arguments)
        tokens: Iterable[Any] = tokenizer(
            data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
    return list(tokens)


def document_frequencies(
    connection: Connection, corpus: Corpus, stems: Iterable[str]
) -> tuple[int, dict[str, int]]:
    """Return the number of rows in `corpus`, and how many of them hold each of `stems`.

    To count a stem, FTS5 reads its whole posting list, so this is done once for each commit.
    """
    counts = counts_of_commit.known(connection)
    keys = {stem: f"{corpus.vocabulary} {stem}" for stem in stems}
    if new := [stem for stem, key in keys.items() if key not in counts]:
        rows: list[Any] = connection.execute(
            f"SELECT term, doc FROM {corpus.vocabulary}"
            " WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(new)),),
        ).fetchall()
        counts |= dict.fromkeys((keys[stem] for stem in new), 0)
        counts |= {keys[stem]: count for stem, count in rows}
    return row_count(connection, corpus.rows), {stem: counts[key] for stem, key in keys.items()}


MAX_ROWS_READ = 40_000  # of all lists together, the shortest first: 6 ms


@dataclass(frozen=True, slots=True)
class Postings:
    """The posting lists of the words of a query, and the weight of each word."""

    lists: Mapping[str, Ids]  # by stem, each sorted
    unread: tuple[str, ...]  # stems whose lists are too long to read
    weights: Mapping[str, float]  # idf of every stem

    def coverage(self) -> tuple[Ids, Floats]:
        """Return the ids (n,) of all rows in the lists, ascending, and each one's coverage (n,).

        That is the share, 0…1, that the words in the row have of the weight of all words.
        """
        if not self.lists:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        lists = self.lists.values()
        ids, places = np.unique(np.concatenate([*lists]), return_inverse=True)
        weights = np.repeat([self.weights[stem] for stem in self.lists], [*map(len, lists)])
        return ids, (np.bincount(places, weights) / sum(self.weights.values())).astype(np.float32)


def read_postings(
    connection: Connection,
    corpus: Corpus,
    keywords: Keywords,
    known: dict[str, Ids] | None = None,
) -> Postings:
    """Read the posting lists of the query's rarest words, up to MAX_ROWS_READ rows.

    `known` has the lists that were read before in this snapshot, by word; new ones are added.
    """
    known = {} if known is None else known
    lists: dict[str, Ids] = {}
    unread: list[str] = []
    read = 0
    weights = dict(keywords.idf)
    words = sorted(_query_words(keywords), key=lambda word: keywords.rows.get(word[0], 0))
    for term, stem in words:
        if lists and read + keywords.rows.get(term, 0) > MAX_ROWS_READ:
            unread.append(stem)
            continue
        if term not in known:
            known[term] = rows_with(connection, corpus, term, keywords.among)
        lists[stem] = known[term]
        read += len(lists[stem])
        if stem not in weights:
            weights[stem] = idf_of(len(lists[stem]), row_count(connection, corpus.rows))
    return Postings(lists, tuple(unread), weights)


def rows_with_stems(
    connection: Connection, corpus: Corpus, ids: Collection[int], stems: Collection[str]
) -> dict[str, Ids]:
    """Return, by stem, which of the rows `ids` hold it, according to their texts.

    Asking FTS5 for 300 rows of a list of 90,000 takes four times as long.
    """
    held: dict[str, list[int]] = {stem: [] for stem in stems}
    texts = connection.execute(
        f"SELECT id, {corpus.text} FROM {corpus.rows}"
        " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(list(ids)),),
    )
    for row_id, text in texts:
        for stem in held.keys() & stems_of(text):
            held[stem].append(row_id)
    return {stem: np.array(rows, np.int64) for stem, rows in held.items()}


def _query_words(keywords: Keywords) -> Iterator[tuple[str, str]]:
    """Yield each word of a query as it is searched for, and as it is counted (its stem).

    An identifier counts by its parts; text without spaces counts by its pairs of characters.
    """
    for term in keywords.terms:
        stems = stems_of(term)
        if len(stems) == 1 and stems[0] in keywords.idf:
            yield term, stems[0]
        elif keywords.idf.keys().isdisjoint(stems):
            yield term, term


def rows_with(connection: Connection, corpus: Corpus, term: str, among: Among | None) -> Ids:
    # One text is read in a tenth of the time that as many rows take.
    listed = connection.execute(
        f"SELECT coalesce(group_concat(rowid), ''){_MATCHES.format(corpus.words)}",
        (among.ranges if among else _ALL_IDS, match_expression([term])),
    ).get
    ids = np.fromstring(listed, np.int64, sep=",")
    return ids[mask_allowed(ids, among.ids)] if among else ids


def idf_of(holding: int, rows: int) -> float:
    """Return the idf of a word that `holding` of `rows` rows hold.

    That of BM25 with its half smoothing, Robertson and Zaragoza 2009, kept positive.
    """
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5))


def fts5_idf(holding: int, rows: int) -> float:
    """Return FTS5's idf of a word that `holding` of `rows` rows hold; it may be more than these."""
    return max(math.log((max(rows - holding, 0) + 0.5) / (holding + 0.5)), 1e-6)
