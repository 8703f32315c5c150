"""The keyword arm: which words a text is found by, and what FTS5 makes of a query.

Identifiers are split the same way on both sides: `parseHttpResponse`, `parse_http_response` and
`parse.http.response` are all found by `http`, and by each other as a phrase.
"""

from __future__ import annotations

import re
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CAMEL_WORD = re.compile(r"\b[A-Za-z][a-z0-9]*[A-Z]\w*\b")
_WORD = re.compile(r"[^\W_]+(?:[._:\-/]*[^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)

MAX_QUERY_WORDS = 64
BODY_WEIGHT, SYMBOLS_WEIGHT, PATH_WEIGHT = 1.0, 2.0, 2.0

STOPWORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in "
    "into is it its me my not of on or our should so such that the their them then there these "
    "they this those to was we were what when where which who why will with would you your".split()
)


def index_words(text: str) -> str:
    """`text` as it is given to FTS5: camel humps set apart, whole camelCase words kept too."""
    whole = {word.lower() for word in _CAMEL_WORD.findall(text)}
    split = _CAMEL_HUMP.sub(" ", text)
    return f"{split}\n{' '.join(sorted(whole))}" if whole else split


def query_terms(text: str) -> list[str]:
    """The distinct words of a query, stopwords left out unless nothing else is there.

    An identifier gives its parts and, behind them, itself as a phrase of its parts.
    """
    terms: dict[str, None] = {}
    phrases: dict[str, None] = {}
    for word in _WORD.findall(text[: 64 * MAX_QUERY_WORDS]):
        parts = [part.lower() for part in _PART.findall(_CAMEL_HUMP.sub(" ", word))]
        terms.update(dict.fromkeys(parts))
        if len(parts) > 1:
            phrases[" ".join(parts)] = None
    meaningful = [term for term in terms if term not in STOPWORDS] or list(terms)
    return [*meaningful, *phrases][:MAX_QUERY_WORDS]


def match_expression(terms: list[str]) -> str:
    """An FTS5 expression that matches any of `terms`. Each is quoted, so none is syntax."""
    return " OR ".join(f'"{term}"' for term in terms)


def keyword_scores(
    connection: apsw.Connection, terms: list[str], *, limit: int | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """BM25 of the chunks that hold any of `terms`: ids and scores (higher is better), best first.

    With `limit=None` every match is returned, so that a filter can be applied to all of them.
    """
    if not terms:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    rows: list[Any] = connection.execute(
        f"SELECT rowid, -bm25(chunk_words, {BODY_WEIGHT}, {SYMBOLS_WEIGHT}, {PATH_WEIGHT}) AS score"
        " FROM chunk_words WHERE chunk_words MATCH ? ORDER BY score DESC, rowid LIMIT ?",
        (match_expression(terms), -1 if limit is None else limit),
    ).fetchall()
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    return ids, np.fromiter((row[1] for row in rows), np.float32, len(rows))
