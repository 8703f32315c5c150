"""Reads sessions by project, topics, time and outcome, and their rows by text or id."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from memory_sidecar.core.results import Reporter
from memory_sidecar.core.short_names import nearest_names
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.roots import NONE_DELETED, IsDeleted, first_present
from memory_sidecar.index.agent_database import Ask
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.keyword import indexed_tokens, stems_of, unstemmed_tokens
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.words import index_words
from memory_sidecar.sessions.documents import normalise_project_path, project_hash
from memory_sidecar.sessions.model import HitKind, Outcome, SessionFilter, Summary
from memory_sidecar.sessions.results import Head
from memory_sidecar.sessions.store import MESSAGES, OPENING, SNIPPETS, SUMMARIES

T = TypeVar("T")

_ENDED = (
    "max(s.created_at, ifnull((SELECT m.created_at FROM messages m"
    " WHERE m.id = s.first_message + s.message_count - 1), 0))"
)
"""The SQL for when the last message of the session `s` was said: one resumed daily is never old."""

CORPUS_OF: dict[HitKind, Corpus] = {
    HitKind.SUMMARY: SUMMARIES,
    HitKind.MESSAGE: MESSAGES,
    HitKind.SNIPPET: SNIPPETS,
}


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A summary, message or snippet with the columns that a hit shows."""

    row_id: int
    session_row: int
    text: str
    heading: str
    sequence: int | None
    created_at: int


def list_sessions(
    connection: Connection,
    wanted: SessionFilter,
    is_deleted: IsDeleted,
    *,
    limit: int | None = None,
    offset: int = 0,
) -> list[Head]:
    """List the sessions that satisfy `wanted`, by when they ended, the latest first.

    One whose file is gone is left out, and the next one listed instead.
    """
    condition, values = _condition(wanted)

    def fetch(count: int) -> list[Any]:
        return connection.execute(
            "SELECT s.id, s.source, s.path FROM sessions s JOIN summaries u ON u.session_id = s.id"
            f" WHERE {condition} ORDER BY {_ENDED} DESC, s.session_id LIMIT ?",
            (*values, count),
        ).fetchall()

    stop = None if limit is None else offset + limit
    present = first_present(fetch, lambda row: not is_deleted(*row[1:]), stop)
    rows = [row for row, *_ in present[offset:stop]]
    heads = read_heads(connection, rows, NONE_DELETED)
    return [heads[row] for row in rows]


def allowed_rows(
    connection: Connection, kind: HitKind, wanted: SessionFilter, *, without_stand_ins: bool
) -> Ids | None:
    """Select the rows of `kind` in sessions that satisfy `wanted`: sorted ids, `None` for all.

    `without_stand_ins` leaves out the stand-ins for missing summaries, which repeat first messages,
    but not those with the title of a conversation.
    """
    without_stand_ins = without_stand_ins and kind is HitKind.SUMMARY
    if wanted == SessionFilter() and not without_stand_ins:
        return None
    condition, values = _condition(wanted)
    if without_stand_ins:
        condition += " AND (u.made_by <> ? OR (s.title <> '' AND s.message_count > 1))"
        values = (*values, OPENING)
    inside = f"FROM sessions s JOIN summaries u ON u.session_id = s.id WHERE {condition}"
    if kind is HitKind.MESSAGE:
        # A session's messages have consecutive ids: reading 200,000 of them would take 40 ms.
        ranges: list[Any] = connection.execute(
            f"SELECT s.first_message, s.message_count {inside} ORDER BY s.first_message", values
        ).fetchall()
        return _expand_ranges(ranges)
    rows = CORPUS_OF[kind].rows
    ids = column(
        connection,
        f"SELECT id FROM {rows} WHERE session_id IN (SELECT s.id {inside}) ORDER BY id",
        values,
    )
    return np.array(ids, np.int64)


def rows_written(connection: Connection, kind: HitKind, start: int, end: int) -> Ids:
    """Select the rows of `kind` from `start` to `end`, epoch ms, as sorted ids."""
    written = f"SELECT id FROM {CORPUS_OF[kind].rows} WHERE created_at >= ? AND created_at < ?"
    return np.sort(np.array(column(connection, written, (start, end)), np.int64))


def rows_with_all(
    connection: Connection, kind: HitKind, *, phrases: Sequence[str], prefixes: Sequence[str]
) -> Ids:
    """Select the rows of `kind` that hold all phrases and prefixes, as sorted ids.

    At least one phrase or prefix must be given.
    """
    matching = [_rows_with_phrase(connection, kind, phrase) for phrase in phrases]
    matching += [_rows_with_prefix(connection, kind, prefix) for prefix in prefixes]
    return np.array(sorted(set.intersection(*matching)), np.int64)


def read_rows(connection: Connection, kind: HitKind, ids: Collection[int]) -> list[FoundRow]:
    """Read the rows with these ids; missing ones are left out."""
    rows = connection.execute(_SHOWN[kind], (json.dumps(list(ids)),))
    if kind is not HitKind.SUMMARY:
        return [FoundRow(*row) for row in rows]
    return [
        FoundRow(row_id, session, "\n".join(_read_summary(*parts).lines), "", None, created_at)
        for row_id, session, created_at, *parts in rows
    ]


def _read_summary(brief: str, detailed: str, note: str, *arrays: str) -> Summary:
    decisions, problems, technologies = map(tuple, map(json.loads, arrays))
    return Summary(
        brief=brief,
        detailed=detailed,
        key_decisions=decisions,
        problems_solved=problems,
        technologies=technologies,
        user_note=note,
    )


def read_heads(
    connection: Connection, rows: Collection[int], is_deleted: IsDeleted
) -> dict[int, Head]:
    """Read the heads of the sessions in these rows of `sessions`, by row.

    Those whose files are gone are left out.
    """
    columns = ", ".join(sql for sql, _ in _HEAD.values())
    found: Any = connection.execute(
        f"SELECT s.source, s.path, s.id, {columns}"
        " FROM sessions s JOIN summaries u ON u.session_id = s.id"
        " WHERE s.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(rows)),),
    )
    return {
        row: Head(**{
            name: shown(value)
            for (name, (_, shown)), value in zip(_HEAD.items(), values, strict=True)
        })
        for source, path, row, *values in found
        if not is_deleted(source, path)
    }  # fmt: skip


_HEAD: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "session_id": ("s.session_id", str),
    "title": ("iif(s.title <> '', s.title, u.brief)", str),
    "brief": ("u.brief", str),
    "project_path": ("s.project_path", str),
    "created_at": ("s.created_at", iso_utc),
    "updated_at": ("s.updated_at", iso_utc),
    "ended_at": (_ENDED, iso_utc),
    "message_count": ("s.message_count", int),
    "topics": (
        "(SELECT json_group_array(topic) FROM"
        " (SELECT topic FROM topics t WHERE t.session_id = s.id ORDER BY t.id))",
        lambda topics: tuple(json.loads(topics)),
    ),
    "outcome": ("u.outcome", lambda outcome: Outcome(outcome) if outcome else None),
    "pinned": ("s.metadata ->> '$.pinned'", bool),
}
"""How each field of `Head` is read from the rows, and shown."""

_SHOWN = {
    HitKind.SUMMARY: "SELECT u.id, u.session_id, s.created_at, u.brief,"
    " ifnull(u.detailed, ''), ifnull(u.user_note, ''),"
    " u.key_decisions, u.problems_solved, u.technologies"
    " FROM summaries u JOIN sessions s ON s.id = u.session_id"
    " WHERE u.id IN (SELECT value FROM json_each(?))",
    HitKind.MESSAGE: "SELECT id, session_id, content, heading, sequence, created_at FROM messages"
    " WHERE id IN (SELECT value FROM json_each(?))",
    HitKind.SNIPPET: "SELECT id, session_id, code, concat_ws(char(10), file_path, description),"
    " NULL, created_at FROM code_snippets WHERE id IN (SELECT value FROM json_each(?))",
}


def noting_unknown(ask: Ask[list[T]], wanted: SessionFilter, reporter: Reporter) -> Ask[list[T]]:
    """Return `ask`, with a notice if it finds nothing: what of `wanted` no session has."""

    def answer(store: DerivedStore, connection: Connection) -> list[T]:
        found = ask(store, connection)
        for notice in () if found else _unknown_values(connection, wanted):
            reporter.notice(notice)
        return found

    return answer


def _unknown_values(connection: Connection, wanted: SessionFilter) -> Iterator[str]:
    projects, topics = wanted.projects, wanted.topics
    for has, part, asked, names in (
        ("is of the project", SessionFilter(projects=projects), projects, "project FROM sessions"),
        ("has the topic", SessionFilter(topics=topics), topics, "topic FROM topics"),
    ):
        condition, values = _condition(part)
        has_any = column(connection, f"SELECT 1 FROM sessions s WHERE {condition} LIMIT 1", values)
        known = [*filter(None, column(connection, f"SELECT DISTINCT {names}"))]
        if known and not has_any:
            named = ", ".join(asked)
            yield f"no session {has} {named}: there is {nearest_names(named, known)}"


def _condition(wanted: SessionFilter) -> tuple[str, tuple[Any, ...]]:
    """Translate `wanted` to a condition on `sessions s` and `summaries u`, and its values."""
    parts, values = ["TRUE"], list[Any]()
    if wanted.projects:
        projects = [*map(normalise_project_path, wanted.projects)]  # a name may end in a slash, too
        parts.append(
            "(s.project_hash IN (SELECT value FROM json_each(?))"
            " OR s.project IN (SELECT value FROM json_each(?)))"
        )
        values += [json.dumps([*map(project_hash, projects)]), json.dumps(projects)]
    if wanted.topics:
        parts.append(
            "s.id IN (SELECT session_id FROM topics"
            " WHERE topic IN (SELECT value FROM json_each(?)))"
        )
        values.append(json.dumps([topic.strip().lower() for topic in wanted.topics]))
    if wanted.outcomes:
        parts.append("u.outcome IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(wanted.outcomes))
    for moment, comparison in ((wanted.after, f"{_ENDED} >="), (wanted.before, "s.created_at <")):
        if moment is not None:
            parts.append(f"{comparison} ?")
            values.append(moment)
    return " AND ".join(parts), tuple(values)


def _expand_ranges(ranges: Sequence[tuple[int, int]]) -> Ids:
    """List the numbers in `ranges`, which are pairs of first number and count, ascending."""
    if not ranges:
        return np.empty(0, np.int64)
    firsts, counts = np.array(ranges, np.int64).T
    before = np.cumsum(counts) - counts
    spread: Ids = np.repeat(firsts - before, counts) + np.arange(counts.sum())
    return spread


def _rows_with_phrase(connection: Connection, kind: HitKind, phrase: str) -> set[int]:
    found = _rows_matching(connection, kind, _EXPRESSION, f'"{phrase}"')
    split = index_words(" ".join(phrase.split())).partition("\n")[0]
    if kind is HitKind.SNIPPET or not phrase.isascii():
        found |= _rows_in_words(connection, kind, f'"{split}"')
    wanted = f" {' '.join(indexed_tokens(split))} "
    return found | _rows_titled(
        connection, kind, lambda title: wanted in f" {' '.join(stems_of(title))} "
    )


def _rows_with_prefix(connection: Connection, kind: HitKind, prefix: str) -> set[int]:
    if not prefix.isascii():  # the other tables split words at marks
        split = index_words(prefix).partition("\n")[0]
        wanted = f" {' '.join(indexed_tokens(split))}"
        return _rows_in_words(connection, kind, f'"{split}"*') | _rows_titled(
            connection, kind, lambda title: wanted in f" {' '.join(stems_of(title))}"
        )
    found = _rows_matching(connection, kind, _EXPRESSION, f'"{prefix}"*')
    tokens = unstemmed_tokens(prefix)
    if len(tokens) == 1:
        found |= _rows_matching(connection, kind, _TERM, tokens[0])
        found |= _rows_titled(
            connection,
            kind,
            lambda title: any(word.startswith(tokens[0]) for word in unstemmed_tokens(title)),
        )
    return found


def _rows_in_words(connection: Connection, kind: HitKind, value: str) -> set[int]:
    """Select rows by the `words` table of `kind`.

    It alone splits scripts without spaces, and snippets have no other FTS table.
    """
    return set(column(connection, _EXPRESSION.format(CORPUS_OF[kind].words), (value,)))


def _rows_titled(connection: Connection, kind: HitKind, matches: Callable[[str], bool]) -> set[int]:
    """Select the rows of `kind` that are found by the title of their session, if it `matches`."""
    if kind not in _BY_TITLE:
        return set()
    titles = connection.execute("SELECT id, title FROM sessions WHERE title <> ''")
    matching = [row for row, title in titles if matches(title)]
    return set(column(connection, _BY_TITLE[kind], (json.dumps(matching),)))


def _rows_matching(connection: Connection, kind: HitKind, sql: str, value: str) -> set[int]:
    """Select the rows that `sql` finds in the FTS table of `kind`, summaries also by topics."""
    found = set(column(connection, sql.format(_SEARCHED[kind]), (value,)))
    if kind is HitKind.SUMMARY:
        by_topic = f"{_BY_TOPIC} ({sql.format('topics_fts')})"
        found |= set(column(connection, by_topic, (value,)))
    return found


_EXPRESSION = "SELECT rowid FROM {0} WHERE {0} MATCH ?1"
_TERM = "SELECT doc FROM {0}_terms WHERE term >= ?1 AND term < ?1 || char(0x10ffff)"
_SEARCHED = {
    HitKind.SUMMARY: "summaries_fts",
    HitKind.MESSAGE: "messages_fts",
    HitKind.SNIPPET: SNIPPETS.words,
}
_BY_TITLE = {
    HitKind.SUMMARY: "SELECT id FROM summaries WHERE session_id IN"
    " (SELECT value FROM json_each(?))",
    HitKind.MESSAGE: "SELECT first_message FROM sessions WHERE message_count = 1"
    " AND id IN (SELECT value FROM json_each(?))",
}
_BY_TOPIC = "SELECT u.id FROM summaries u JOIN topics t USING (session_id) WHERE t.id IN"
