"""The words of one project weigh as if no other were in the database."""

from __future__ import annotations

import json

import numpy as np
import pytest

from memory_sidecar.code.store import CHUNKS
from memory_sidecar.index import keyword
from memory_sidecar.index.ids import Among
from memory_sidecar.index.keyword import keyword_scores, keywords_of, read_postings

SHOP = {1: "parse the price", 2: "parse the order", 30: "round the price", 31: "round the bill"}
SHOP |= dict.fromkeys(range(32, 38), "other things")
PARSER = dict.fromkeys(range(3, 13), "parse the token")  # where *parse* tells nothing
PARSER |= dict.fromkeys(range(13, 30), "other things")
OF_SHOP = Among.of(np.array([*SHOP, 40]), len(SHOP))  # 40 was deleted


@pytest.mark.parametrize("query", ["parsing the price", "price", "parsePrice", "nothing", "the"])
def test_words_weigh_as_in_a_database_of_these_rows_alone(make_database, query):
    alone, together = make_database(SHOP), make_database(SHOP | PARSER)
    keywords, wanted = (
        keywords_of(together, CHUNKS, query, OF_SHOP),
        keywords_of(alone, CHUNKS, query),
    )
    assert (keywords.terms, keywords.idf, keywords.rows) == (wanted.terms, wanted.idf, wanted.rows)
    lists = [
        read_postings(*each).lists
        for each in [(together, CHUNKS, keywords), (alone, CHUNKS, wanted)]
    ]
    held, expected = ({stem: ids.tolist() for stem, ids in each.items()} for each in lists)
    assert held == expected


def test_rows_rank_as_in_a_database_of_these_alone(make_database):
    def ranked(connection, among=None):
        keywords = keywords_of(connection, CHUNKS, "parse round order", among)
        return keyword_scores(connection, CHUNKS, keywords, limit=None)

    together = make_database(SHOP | PARSER)
    (wanted, bm25), (found, scores) = ranked(make_database(SHOP)), ranked(together, OF_SHOP)
    of_shop = dict(zip(found.tolist(), scores.tolist(), strict=True))
    beside = dict(zip(*map(np.ndarray.tolist, ranked(together)), strict=True))
    for row, score in zip(wanted.tolist(), bm25.tolist(), strict=True):
        assert of_shop[row] == pytest.approx(score, rel=0.05)  # of nearly equal mean lengths
    assert beside[1] < beside[30] / 2  # as *parse* is common there
    assert of_shop[1] == of_shop[30]


def test_a_word_that_many_rows_hold_is_taken_to_be_as_common_elsewhere(make_database, monkeypatch):
    monkeypatch.setattr(keyword, "MAX_ROWS_COUNTED", 5)
    together = make_database(SHOP | PARSER)
    keywords = keywords_of(together, CHUNKS, "parse the price", OF_SHOP)
    assert keywords.rows == {"price": 2, "parse": 3}  # 12 of 37 rows are 3.2 of 10


def test_of_many_ranges_those_with_the_least_between_them_are_joined():
    runs = [
        range(1, 10),
        range(11, 20),
        range(40, 50),
        range(70, 80),
        range(82, 90),
        range(200, 210),
    ]
    ids = np.concatenate([np.array(run) for run in runs])
    ranges = Among.of(ids, len(ids)).ranges
    assert json.loads(ranges) == [[1, 19], [40, 49], [70, 89], [200, 209]]
    assert json.loads(Among.of(np.empty(0, np.int64), 0).ranges) == []
