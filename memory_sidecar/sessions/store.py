"""Writes and deletes the rows of sessions in an agent's database, with their words and vectors.

Triggers keep the FTS tables that the contract names in step with their rows; see `texts.sql`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_sidecar.core.model import Document, Findable
from memory_sidecar.index.schema import Corpus, SqlFile, read_identity, write_identity
from memory_sidecar.index.words import index_words
from memory_sidecar.index.writing import Write
from memory_sidecar.sessions.documents import project_hash
from memory_sidecar.sessions.model import EMBEDDED_CHARACTERS, Session, Summary

SESSIONS = "sessions"
"""The name of the source that an agent's folder of sessions is; no registered directory has it."""


def _texts(table: str, *columns: str) -> SqlFile:
    """Return the script of the FTS table that finds phrases and prefixes in these columns."""
    new, old = (", ".join(f"{row}.{each}" for each in columns) for row in ("NEW", "OLD"))
    names = {"table": table, "columns": ", ".join(columns), "new": new, "old": old}
    return SqlFile("sessions/texts.sql", names)


SCRIPTS = (
    SqlFile("sessions/sessions.sql"),
    _texts(
        *("summaries", "brief", "detailed", "key_decisions", "problems_solved", "technologies"),
        "user_note",
    ),
    _texts("messages", "content"),
    _texts("topics", "topic"),
)

_SOURCE = "(SELECT source FROM sessions WHERE sessions.id = {}.session_id)"
SUMMARIES = Corpus(
    name="summary", rows="summaries", text="embedded", source=_SOURCE.format("summaries")
)
MESSAGES = Corpus(
    name="message",
    rows="messages",
    text="heading || ': ' || substr((SELECT iif(message_count = 1 AND title <> '',"
    " title || char(10), '') FROM sessions WHERE sessions.id = messages.session_id)"
    f" || content, 1, {EMBEDDED_CHARACTERS})",
    source=_SOURCE.format("messages"),
)
SNIPPETS = Corpus(
    name="snippet",
    rows="code_snippets",
    text="coalesce(description || char(10), '') || coalesce(file_path || char(10), '') || code",
    source=_SOURCE.format("code_snippets"),
)
CORPORA = (SUMMARIES, MESSAGES, SNIPPETS)

VERSION = "sessions 7"
"""The version of the conversion from session to rows: rows of another version are rebuilt."""

_HEAD = (
    "session_id, source, path, project_path, project_hash, project, created_at, updated_at,"
    " message_count, title, metadata"
)
_VALUES = ", ".join("?" * 11)

LEAST_ROOM = 32  # ids reserved for a session's messages, at least; else twice as many as it has

OPENING = "opening"  # `made_by` of the row that stands in for a missing summary


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDocument(Document):
    """The document of a session file. `found` is in the order: summary, messages, snippets."""

    session: Session


def make_findable(session: Session) -> tuple[Findable, ...]:
    """Make the index entry of each row of `session`, in the order of `SessionDocument.found`.

    A session's only message is found by the session's title, too, such as a journal entry's.
    """
    title = _title_within(session)
    title = f"{title}\n" if title else ""
    messages = ((session.heading(each), title + each.content) for each in session.messages)
    snippets = ((each.description, each.file_path, each.code) for each in session.code_snippets)
    return (
        _make_entry(session.overview),
        *(
            _make_entry(f"{heading}: {content}", f"{heading}: {content[:EMBEDDED_CHARACTERS]}")
            for heading, content in messages
        ),
        *(_make_entry("\n".join(filter(None, parts))) for parts in snippets),
    )


def _title_within(session: Session) -> str:
    """Return the title that the only message of `session` is found by; "" if there are several."""
    return session.title if len(session.messages) == 1 else ""


def _make_entry(text: str, embedded: str | None = None) -> Findable:
    """Make an index entry of the words of `text`, and of `embedded` or else `text` to embed."""
    return Findable((index_words(text),), text if embedded is None else embedded)


def replace_session(write: Write, document: SessionDocument) -> None:
    """Replace the rows of a session, if there are any, in the transaction of `write`.

    If the session only became longer, its old messages keep their rows, words and vectors, unless
    these include the title: see `_title_within`.
    """
    row_id, known = _continued_row(write, document) or (0, 0)
    if known:
        for corpus in (SUMMARIES, SNIPPETS):
            write.delete_rows(corpus, "session_id = ?", (row_id,))
        write.connection.execute("DELETE FROM topics WHERE session_id = ?", (row_id,))
        _write_head(
            write, document, f"UPDATE sessions SET ({_HEAD}) = ({_VALUES}) WHERE id = {row_id}"
        )
    else:
        delete_sessions(write, document.source, document.file.path)
        first = int(read_identity(write.connection, "next_message") or 1)
        end = first + max(2 * len(document.session.messages), LEAST_ROOM)
        write_identity(write.connection, "next_message", str(end))
        _write_head(
            write,
            document,
            f"INSERT INTO sessions ({_HEAD}, first_message, end_message)"
            f" VALUES ({_VALUES}, {first}, {end})",
        )
        row_id = write.connection.last_insert_rowid()
    session, (summary, *others) = document.session, document.found
    messages, snippets = others[: len(session.messages)], others[len(session.messages) :]
    _insert_summary(write, row_id, session, summary)
    _insert_messages(write, row_id, session, messages, since=known)
    _insert_snippets(write, row_id, session, snippets)
    write.connection.executemany(
        "INSERT INTO topics (session_id, topic) VALUES (?, ?)",
        [(row_id, topic) for topic in session.topics],
    )


def delete_sessions(write: Write, source: str, path: str | None) -> None:
    """Delete the session of the file `path`, or without it all of `source`, with all their rows."""
    condition, values = "source = ?1 AND (?2 IS NULL OR path = ?2)", (source, path)
    inside = f"session_id IN (SELECT id FROM sessions WHERE {condition})"
    for corpus in CORPORA:
        write.delete_rows(corpus, inside, values)
    write.connection.execute(f"DELETE FROM sessions WHERE {condition}", values)


def _continued_row(write: Write, document: SessionDocument) -> tuple[int, int] | None:
    """Find the row of a session that at most became longer, and how many messages it has so far.

    `None` if a message or the title in it differs, or if too few ids are reserved for the new ones.
    `updated_at` must differ, or the trigger of `sessions` would set it.
    """
    session = document.session
    row: Any = write.connection.execute(
        "SELECT s.id, s.message_count FROM sessions s JOIN sources ON name = source AND chunker = ?"
        " WHERE source = ? AND path = ? AND updated_at <> ? AND end_message - first_message >= ?"
        " AND iif(message_count = 1, title, '') = ?",
        (
            *(VERSION, document.source, document.file.path),
            *(session.updated_at, len(session.messages), _title_within(session)),
        ),
    ).fetchone()
    if row is None:
        return None
    known: Any = write.connection.execute(
        "SELECT role, content, created_at, heading FROM messages WHERE session_id = ?"
        " ORDER BY sequence",
        row[:1],
    ).fetchall()
    now = [(m.role, m.content, m.created_at, session.heading(m)) for m in session.messages]
    return row if known == now[: len(known)] else None


def _write_head(write: Write, document: SessionDocument, statement: str) -> None:
    session = document.session
    write.connection.execute(
        statement,
        (
            *(session.session_id, document.source, document.file.path),
            *(session.project_path, project_hash(session.project_path), session.project),
            *(session.created_at, session.updated_at, len(session.messages)),
            *(session.title, json.dumps(session.metadata, ensure_ascii=False)),
        ),
    )


def _insert_summary(write: Write, session_row: int, session: Session, found: Findable) -> None:
    summary = session.summary or Summary(brief=session.called, made_by=OPENING)
    write.connection.execute(
        "INSERT INTO summaries (session_id, brief, detailed, key_decisions, problems_solved,"
        " technologies, outcome, user_note, created_at, made_by, embedded)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(session_row, summary.brief, summary.detailed or None, _array(summary.key_decisions)),
            *(_array(summary.problems_solved), _array(summary.technologies), summary.outcome),
            *(summary.user_note or None, session.updated_at, summary.made_by, found.text),
        ),
    )
    write.index_row(SUMMARIES, found)


def _insert_messages(
    write: Write, session_row: int, session: Session, found: Sequence[Findable], *, since: int
) -> None:
    steps, words = (*session.steps_to_questions(),)[since:], (*session.stated_words(),)[since:]
    rows = zip(session.messages[since:], steps, words, found[since:], strict=True)
    for sequence, (message, answers, stated, how) in enumerate(rows, start=since):
        write.connection.execute(
            "INSERT INTO messages (id, session_id, role, content, sequence, created_at, stated,"
            " answers, heading) SELECT first_message + ?1, id, ?2, ?3, ?1, ?4, ?5, ?6, ?7"
            " FROM sessions WHERE id = ?8",
            (
                *(sequence, message.role, message.content, message.created_at, stated),
                *(answers, session.heading(message), session_row),
            ),
        )
        write.index_row(MESSAGES, how)


def _insert_snippets(
    write: Write, session_row: int, session: Session, found: Sequence[Findable]
) -> None:
    for snippet, how in zip(session.code_snippets, found, strict=True):
        write.connection.execute(
            "INSERT INTO code_snippets (session_id, language, code, description, file_path,"
            " created_at) VALUES (?, ?, ?, ?, ?, ?)",
            (
                *(session_row, snippet.language or None, snippet.code),
                *(snippet.description or None, snippet.file_path or None, session.created_at),
            ),
        )
        write.index_row(SNIPPETS, how)


def _array(items: tuple[str, ...]) -> str:
    return json.dumps(items, ensure_ascii=False)
