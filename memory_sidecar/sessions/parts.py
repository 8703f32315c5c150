"""Reads the best rows of a search with their sessions, reranks them, and groups them by session.

The cross-encoder reads a hit together with the question:

    key = relevance + 0.04 · its score for question and passage (about -11 to 11)

It reads a message behind the one before it, which the message often answers: on LoCoMo's turns that
took recall@5 from .708 to .758. With today's relevance hit@1 is .580, and .513 without reranking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from memory_sidecar.core.groups import by_key
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.roots import IsDeleted
from memory_sidecar.embedding.models import Judge
from memory_sidecar.index.scored import Scored, ScoredRows, reorder
from memory_sidecar.sessions.lookup import FoundRow, read_heads, read_rows
from memory_sidecar.sessions.model import HitKind
from memory_sidecar.sessions.results import Head

MAX_HITS = 20  # that are reranked
JUDGE_WEIGHT = 0.04
PASSAGE_CHARACTERS = 600  # of a message, from its beginning, and as many of the one before
OTHERS_WEIGHT, OTHERS = 0.4, 3  # weight and number of a session's parts after the best one


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPart(Scored):
    """A row of a session, as it was found and read."""

    kind: HitKind
    row: FoundRow
    head: Head
    relevance: float
    is_weak: bool = False


def read_best(
    connection: Connection,
    found: Mapping[HitKind, ScoredRows],
    count: int,
    is_deleted: IsDeleted,
    *,
    with_copies: bool,
) -> tuple[list[SessionPart], int]:
    """Read the best `count` of `found` with their sessions, sorted, the latest of equals first.

    Also returns how many were left out because their files are gone, or as copies.
    """
    scores = sorted(chain(*(rows.scores.tolist() for rows in found.values())), reverse=True)
    least = scores[min(count, len(scores)) - 1] if scores else 0.0
    read = [
        (kind, rows, places[row.row_id], row)
        for kind, rows in found.items()
        for best in [np.flatnonzero(rows.scores >= least).tolist()]
        for places in [dict(zip(rows.ids[best].tolist(), best, strict=True))]
        for row in read_rows(connection, kind, places)
    ]
    heads = read_heads(connection, {row.session_row for *_, row in read}, is_deleted)
    parts = [
        SessionPart(
            kind=kind,
            row=row,
            head=heads[row.session_row],
            relevance=rows.relevance_of(at),
            score=float(rows.scores[at]),
            explanation=rows.explain(at),
        )
        for kind, rows, at, row in read
        if row.session_row in heads
    ]
    kept = sorted(parts, key=_sort_key)
    kept = kept if with_copies else _without_copies(kept)
    return kept, len(read) - len(kept)


def _without_copies(parts: Sequence[SessionPart]) -> list[SessionPart]:
    """Return `parts` without messages that are in another session as well, as that was forked."""
    first: dict[tuple[int, str, str], int] = {}
    return [
        each
        for each in parts
        for row in [each.row]
        if each.kind is not HitKind.MESSAGE
        or first.setdefault((row.created_at, row.heading, row.text), row.session_row)
        == row.session_row
    ]


def _sort_key(part: SessionPart) -> tuple[float, HitKind, int, str, int]:
    row, session_id = part.row, part.head.session_id
    return (-part.score, part.kind, -row.created_at, session_id, row.row_id)


def rerank(
    connection: Connection, parts: Sequence[SessionPart], question: str, judge: Judge
) -> list[SessionPart]:
    """Have `judge` reorder the first MAX_HITS of `parts`, which are sorted, the best first."""
    judged = parts[:MAX_HITS]
    messages = [each.row for each in judged if each.kind is HitKind.MESSAGE]
    before = _preceding_messages(connection, messages)
    passages = [_passage(each.kind, each.row, before.get(each.row.row_id)) for each in judged]
    told = zip(judged, judge(question, passages), strict=True)
    keys = [
        # A time counts twice, as for memories: `judge` sees no dates.
        each.relevance + each.explanation.boosts.get("time", 0.0) + JUDGE_WEIGHT * value
        for each, value in told
    ]
    return reorder(parts, [*keys, *(-math.inf for _ in parts[MAX_HITS:])])


def _preceding_messages(
    connection: Connection, messages: Sequence[FoundRow]
) -> dict[int, FoundRow]:
    """Read the message before each of `messages`, by the id of the later one."""
    wanted = {(row.session_row, (row.sequence or 0) - 1): row.row_id for row in messages}
    near = read_rows(connection, HitKind.MESSAGE, [row.row_id - 1 for row in messages])
    places = ((row, (row.session_row, row.sequence)) for row in near)
    return {wanted[place]: row for row, place in places if place in wanted}


def _passage(kind: HitKind, row: FoundRow, before: FoundRow | None) -> str:
    if kind is not HitKind.MESSAGE:
        return f"{row.heading}\n{row.text}"[: 2 * PASSAGE_CHARACTERS].strip()
    return "\n".join(
        f"{each.heading.rpartition(chr(10))[2]}: {each.text[:PASSAGE_CHARACTERS]}"
        for each in (before, row)
        if each is not None
    )


def group_by_session(parts: Sequence[SessionPart]) -> list[SessionPart]:
    """Keep the best part of each session, with the score of the whole session, the best first.

    Missing parts of a session count as zeros.
    """
    by_session = by_key((each.row.session_row, each) for each in sorted(parts, key=_sort_key))
    whole = []
    for best, *others in by_session.values():
        added = OTHERS_WEIGHT * sum(other.score for other in others[:OTHERS]) / OTHERS
        whole.append(best.with_score((best.score + added) / (1 + OTHERS_WEIGHT), "others"))
    return sorted(whole, key=_sort_key)
