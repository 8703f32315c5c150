"""Which rows hold a word: short lists are read whole, long ones are asked for few rows."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from memory_sidecar.core.sqlite import Connection, integers
from memory_sidecar.index.keyword import Keywords, match_expression, stems_of
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.vectors import Ids

MAX_ROWS_READ = 40_000  # of all lists together, the shortest first: 6 ms


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows that hold the words of a query, and what each word tells of it."""

    lists: Mapping[str, Ids]  # by stem, each sorted
    unread: tuple[str, ...]  # stems that so many rows hold that their lists were not read
    weights: Mapping[str, float]  # idf of every stem


def read_postings(connection: Connection, corpus: Corpus, keywords: Keywords) -> Postings:
    """The lists of the query's rarest words, as many as may be read."""
    lists: dict[str, Ids] = {}
    unread: list[str] = []
    read = 0
    weights = dict(keywords.idf)
    words = sorted(_words(connection, keywords), key=lambda word: keywords.rows.get(word[0], 0))
    for term, stem in words:
        if lists and read + keywords.rows.get(term, 0) > MAX_ROWS_READ:
            unread.append(stem)
            continue
        lists[stem] = _rows_with(connection, corpus, term)
        read += len(lists[stem])
        if stem not in weights:
            weights[stem] = _idf(connection, corpus, len(lists[stem]))
    return Postings(lists, tuple(unread), weights)


def held_words(
    connection: Connection, corpus: Corpus, ids: Collection[int], stems: Collection[str]
) -> dict[str, Ids]:
    """Which of the rows `ids` hold each of `stems`, by reading their texts.

    Asking FTS5 for 300 rows of a list of 90,000 takes four times as long.
    """
    held: dict[str, list[int]] = {stem: [] for stem in stems}
    texts = connection.execute(
        f"SELECT id, {corpus.text} FROM {corpus.rows}"
        " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(list(ids)),),
    )
    for row_id, text in texts:
        for stem in held.keys() & stems_of(connection, text):
            held[stem].append(row_id)
    return {stem: np.array(rows, np.int64) for stem, rows in held.items()}


def _words(connection: Connection, keywords: Keywords) -> Iterator[tuple[str, str]]:
    """The words of a query with their stems, as they are asked for and as they are counted.

    An identifier counts by its parts; what has no spaces counts by its pairs of characters.
    """
    for term in keywords.terms:
        stems = stems_of(connection, term)
        if len(stems) == 1 and stems[0] in keywords.idf:
            yield term, stems[0]
        elif keywords.idf.keys().isdisjoint(stems):
            yield term, term


def _rows_with(connection: Connection, corpus: Corpus, term: str) -> Ids:
    # One text is read in a tenth of the time that as many rows take.
    listed = connection.execute(
        f"SELECT group_concat(rowid) FROM {corpus.words} WHERE {corpus.words} MATCH ?",
        (match_expression([term]),),
    ).get
    return np.fromstring(listed, np.int64, sep=",") if listed else np.empty(0, np.int64)


def _idf(connection: Connection, corpus: Corpus, holding: int) -> float:
    """As `keywords_of` weighs a word."""
    (rows,) = integers(connection.execute(f"SELECT count(*) FROM {corpus.rows}"))
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5))
