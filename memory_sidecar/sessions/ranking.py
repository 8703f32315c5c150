"""Computes the relevance of rows, and the gain of messages from their conversation.

All values are arrays over rows. `search.py` has the formula; docs/ranking-experiments.md says what
each constant gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Arm, Scores
from memory_sidecar.index.codes import Ids, Mask
from memory_sidecar.index.ids import distinct, locate, mask_allowed, places_of
from memory_sidecar.index.keyword import Postings
from memory_sidecar.index.words import STOPWORDS, plain_words
from memory_sidecar.sessions.model import Role

COVERAGE_WEIGHT = 0.3
AROUND_WEIGHT = 0.2  # of the coverage by the messages from REACH before to REACH after
SESSION_WEIGHT = 0.2  # of the BM25 of the whole session
ANSWER_WEIGHT = 0.3  # of what a question has above the common level, for its answer
SPEAKER_WEIGHT = 0.04  # for a message by the speaker whom the question names
ASKER_WEIGHT = 0.1  # for a message by the user, if the question is what *I* said
BREVITY_WEIGHT = 0.2  # what a message loses that states nothing
BRIEF = 5  # a message that states this many words loses half of that
OWN = re.compile(r"\b(?:did|have|had) i\b", re.IGNORECASE)
ASKING = frozenset("ask asks asked asking question questions".split())
REACH = 2
K1, B = 1.2, 0.75  # of BM25, over a session's messages that hold a word
COMMON_RANK = 50  # the row whose relevance is the common level
LENDING_STEPS = np.array([-2, -1, 1, 2])  # from a message to those that gain from it
LENT_SHARES = np.array([0.2, 0.3, 0.3, 0.2])
MAX_EQUAL = 2000  # last rows of equal score, as for a query that is only a prefix
WEAK_BELOW = 0.53  # below are under 2 % of best hits of questions with an answer, most of others
CANDIDATES = 200  # best rows whose average cosine is assumed for a row without a vector


@dataclass(frozen=True)
class Rows:
    """The scores of all rows that either arm knows: arrays (n,), by ascending id."""

    ids: Ids
    cosine: Scores  # NaN: no vector yet
    coverage: Scores

    @classmethod
    def of(cls, vector: Arm, lists: Iterable[Ids], allowed: Ids | None) -> Rows:
        """Make rows of those of `vector` and the allowed ones in `lists`, with coverage 0."""
        rows = cls(vector.ids, vector.scores.astype(np.float64), np.zeros(len(vector.ids)))
        listed = [ids[np.isnan(vector.scores_of(ids))] for ids in lists]
        waiting = [found for ids in listed if len(found := ids[mask_allowed(ids, allowed)])]
        return rows.with_more(distinct(*waiting)) if waiting else rows

    @property
    def has_vectors(self) -> bool:
        return bool(len(self.cosine)) and not np.isnan(self.cosine).all()

    def covered(self, lists: Mapping[str, Ids], weights: Mapping[str, float]) -> Rows:
        """Return these rows with coverage by the words in `lists`, each its share of `weights`."""
        total, coverage = sum(weights.values()), self.coverage.copy()
        for stem, ids in lists.items():
            coverage[places_of(ids, self.ids)] += weights[stem] / total
        return replace(self, coverage=coverage)

    @cached_property
    def relevance(self) -> Scores:
        """Cosine + weighted coverage; a row without a vector gets an average cosine."""
        covered = COVERAGE_WEIGHT * self.coverage
        waiting = np.isnan(self.cosine)
        if not waiting.any():
            return self.cosine + covered
        known = self.cosine[~waiting]
        average = float(known[best_places(known, CANDIDATES)].mean()) if len(known) else 0.0
        return np.where(waiting, average, self.cosine) + covered

    def with_more(self, ids: Ids) -> Rows:
        """Return these rows with `ids` added, which have neither cosine nor coverage."""
        if len(places_of(ids, self.ids)) == len(ids):
            return self
        every = distinct(self.ids, ids)
        cosine, coverage = np.full(len(every), np.nan), np.zeros(len(every))
        places = np.searchsorted(every, self.ids)
        cosine[places], coverage[places] = self.cosine, self.coverage
        return Rows(every, cosine, coverage)

    @property
    def common_level(self) -> float:
        """The relevance of the row at COMMON_RANK: a message lends only what is above it.

        With fewer rows the lowest relevance, or 0 without vectors.
        """
        if len(self.relevance) >= COMMON_RANK:
            return float(np.partition(self.relevance, -COMMON_RANK)[-COMMON_RANK])
        return float(self.relevance.min()) if self.has_vectors else 0.0


def best_places(scores: npt.NDArray[np.floating[Any]], count: int) -> Ids:
    """Return the places of the `count` highest scores, ascending, with all that equal the last.

    Which of equal rows are shown is decided later, and not by ids, which a rebuild changes.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    least = np.partition(scores, -count)[-count]
    chosen = scores > least
    chosen[np.flatnonzero(scores == least)[:MAX_EQUAL]] = True
    return np.flatnonzero(chosen)


@dataclass(frozen=True, slots=True)
class Conversations:
    """Sessions as ranges of consecutive message ids, `first` to `end` exclusive.

    Ascending arrays (n,).
    """

    first: Ids
    end: Ids

    @classmethod
    def of_messages(cls, connection: Connection, messages: Ids) -> Conversations:
        """Read the sessions that `messages` belong to."""
        rows: list[Any] = connection.execute(
            "SELECT DISTINCT s.first_message, s.first_message + s.message_count FROM messages m"
            " JOIN sessions s ON s.id = m.session_id"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY 1",
            (json.dumps(messages.tolist()),),
        ).fetchall()
        first, end = np.array(rows, np.int64).reshape(-1, 2).T
        return cls(first, end)

    def lend(self, messages: Ids, surplus: Scores) -> tuple[Ids, Scores]:
        """Lend a share of each positive `surplus` of `messages` to the messages beside them.

        Returns the ids that gain, ascending, and their gains.
        """
        first, end = self._bounds(messages)
        near = messages[:, None] + LENDING_STEPS
        gains = (near >= first[:, None]) & (near < end[:, None]) & (surplus > 0)[:, None]
        ids = distinct(near[gains])
        places = np.searchsorted(ids, near[gains])
        shares = (surplus[:, None] * LENT_SHARES)[gains]
        lent: Scores = np.bincount(places, weights=shares, minlength=len(ids)).astype(np.float64)
        return ids, lent

    def coverage_around(self, messages: Ids, postings: Postings) -> tuple[Scores, Scores]:
        """Compute how well the text around each message, and its session, cover the question.

        Returns two arrays (n,) of 0…1: the share of the question's IDF in the messages around, and
        the session's BM25 as a share of its maximum. Words whose postings are not read, since very
        many rows hold them, count as absent.
        """
        first, end = self._bounds(messages)
        low, high = np.maximum(messages - REACH, first), np.minimum(messages + REACH + 1, end)
        lengths = self.end - self.first
        damping = K1 * (1 - B + B * (end - first) / (lengths.mean() if len(lengths) else 1))
        around, session = np.zeros(len(messages)), np.zeros(len(messages))
        total = sum(postings.weights.values())
        for stem, rows in postings.lists.items():
            share = postings.weights[stem] / total
            around += share * (_count(rows, low, high) > 0)
            held = _count(rows, first, end)
            session += share * held / (held + damping)
        return around, session

    def _bounds(self, messages: Ids) -> tuple[Ids, Ids]:
        """Return first and end of the session of each of `messages`."""
        at = np.searchsorted(self.first, messages, side="right") - 1
        return self.first[at], self.end[at]


@dataclass(frozen=True, slots=True)
class Statements:
    """What messages state: arrays (n,) beside their ids, which ascend."""

    words: Scores  # outside of questions and code
    asked: Ids  # the question before each, -1 for none
    is_answer: Mask  # of the messages after the same question the one that states most
    speakers: tuple[str, ...]  # names, or roles

    @classmethod
    def of_messages(cls, connection: Connection, messages: Ids) -> Statements:
        """Read what is known of `messages`, which ascend."""
        rows: list[Any] = connection.execute(
            "SELECT stated, answers, heading FROM messages"
            " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(messages.tolist()),),
        ).fetchall()
        words, answers, headings = zip(*rows, strict=True) if rows else ((), (), ())
        speakers = tuple(heading.rpartition("\n")[2] for heading in headings)
        stated, steps = np.array(words, np.float64), np.array(answers, np.int64)
        asked = np.where(steps > 0, messages - steps, -1)
        longest_last = np.lexsort((stated, asked))
        is_answer = steps > 0
        is_answer[longest_last[:-1]] &= np.diff(asked[longest_last]) > 0
        return cls(stated, asked, is_answer, speakers)

    @property
    def brevity(self) -> Scores:
        """How little each message states, 1 for nothing; an answer may be short, so it has 0."""
        return ~self.is_answer * (BRIEF / (BRIEF + self.words))

    def lent_to_answers(self, questions: Ids, surplus: Scores) -> Scores:
        """Return the positive `surplus` of the question of each answer, 0 without one.

        `questions`: (m,), ascending, with a surplus each.
        """
        at, known = locate(self.asked, questions)
        answered = known & self.is_answer
        lent = np.zeros(len(self.asked))
        lent[answered] = np.maximum(surplus[at[answered]], 0.0)
        return lent

    def said_by_named(self, question: str) -> Scores:
        """Return 1 for each message by the speaker that `question` names, if only one, else 0."""
        words = set(plain_words(question)) - STOPWORDS
        names = set(self.speakers).difference(Role)
        named = {name for name in names if not words.isdisjoint(plain_words(name))}
        return np.array([len(named) == 1 and each in named for each in self.speakers], np.float64)

    def said_by_asker(self, question: str) -> Scores:
        """Return 1 for each message by the user if `question` asks what *I* did, else 0."""
        is_own = bool(OWN.search(question))
        return np.array([is_own and each == Role.USER for each in self.speakers], np.float64)


def _count(rows: Ids, low: Ids, high: Ids) -> Ids:
    """Count the `rows`, which ascend, in each of the ranges from `low` to `high` exclusive."""
    counts: Ids = np.searchsorted(rows, high) - np.searchsorted(rows, low)
    return counts
