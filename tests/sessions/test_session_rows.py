"""The rows of sessions: under the names that hosts know, and each found or not found as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from memory_sidecar.agents.store import AgentStore
from memory_sidecar.core.model import FileStatus, SourceFile
from memory_sidecar.core.sqlite import Connection, connect
from memory_sidecar.core.times import system_clock
from memory_sidecar.index.embed import next_pending
from memory_sidecar.index.writing import ReadyVectors
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.store import CORPORA, SessionDocument, make_findable

SESSION = {
    "session_id": "a",
    "project_path": "/src/shop",
    "created_at": "2026-03-01T09:12:00Z",
    "topics": ["payment", "auth"],
    "messages": [
        {"role": "user", "content": "The token refreshes fail"},
        {"role": "assistant", "content": "A lock will help"},
    ],
    "summary": {
        "brief": "Locked the refresh",
        "key_decisions": ["Use one lock"],
        "technologies": ["Redis"],
        "outcome": "success",
    },
    "code_snippets": [{"language": "csharp", "code": "lock (key) {}", "file_path": "Token.cs"}],
}


def document_of(document):
    session = read_session(document)
    return SessionDocument(
        source="sessions",
        file=SourceFile(f"2026-03/{session.session_id}.json", 1, 1, 1),
        fingerprint="f",
        language="json",
        status=FileStatus.INDEXED,
        session=session,
        found=make_findable(session),
    )


def vectors_of(made):
    vector = np.ones(384, np.float32) / np.sqrt(384, dtype=np.float32)
    return dict.fromkeys(made.embedded_texts, vector)


@pytest.fixture
def store(tmp_path):
    store = AgentStore(tmp_path / "agent.sqlite", clock=system_clock)
    yield store
    store.close()


@pytest.fixture
def rows(store):
    """Rows of a query over what is committed."""

    def rows(sql, *values):
        with store.reading() as connection:
            return connection.execute(sql, values).fetchall()

    return rows


def test_a_session_becomes_rows_under_the_names_that_hosts_know(store, rows):
    store.write([document_of(SESSION)])
    assert rows(
        "SELECT session_id, project_path, project_hash, created_at, updated_at, message_count,"
        " metadata FROM sessions"
    ) == [("a", "/src/shop", "3cb8c763ca500a39", 1772356320000, 1772356320000, 2, "{}")]
    assert rows(
        "SELECT m.role, m.content, m.sequence, m.created_at FROM messages m"
        " JOIN sessions s ON s.id = m.session_id ORDER BY sequence"
    ) == [
        ("user", "The token refreshes fail", 0, 1772356320000),
        ("assistant", "A lock will help", 1, 1772356320000),
    ]
    assert rows(
        "SELECT brief, detailed, key_decisions, problems_solved, technologies, outcome, user_note"
        " FROM summaries"
    ) == [("Locked the refresh", None, '["Use one lock"]', "[]", '["Redis"]', "success", None)]
    assert rows("SELECT topic FROM topics ORDER BY id") == [("payment",), ("auth",)]
    assert rows("SELECT language, code, description, file_path FROM code_snippets") == [
        ("csharp", "lock (key) {}", None, "Token.cs")
    ]


@pytest.mark.parametrize(
    ("table", "expression"),
    [
        ("messages_fts", "refresh"),  # porter
        ("messages_fts", '"token refreshes"'),
        ("messages_fts", "tok*"),
        ("summaries_fts", "technologies : redis"),
        ("summaries_fts", "key_decisions : lock"),
        ("topics_fts", "auth*"),
    ],
)
def test_fts_tables_find_by_word_phrase_and_prefix(store, rows, table, expression):
    store.write([document_of(SESSION)])
    assert len(rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", expression)) == 1


def test_a_row_that_waits_is_embedded_by_the_text_it_is_known_by(store, rows):
    only = {"messages": [{"role": "user", "content": "x"}], "metadata": {"title": "T"}}
    alone = document_of(SESSION | only)
    for made in (document_of(SESSION | {"session_id": "b"}), alone):
        store.write([made])
        texts = [
            text for each in CORPORA for (text,) in rows(f"SELECT {each.text} FROM {each.rows}")
        ]
        assert {each.text for each in made.found} <= set(texts)


@pytest.mark.parametrize("with_vectors", [True, False])
def test_removing_a_session_leaves_nothing_of_it(store, rows, with_vectors):
    for session in (SESSION, SESSION | {"session_id": "b", "topics": ["other"]}):
        made = document_of(session)
        store.write([made], at_hand=ReadyVectors(vectors_of(made) if with_vectors else {}))
    store.write([], gone=[("sessions", "2026-03/a.json")])
    assert rows("SELECT session_id FROM sessions") == [("b",)]
    assert counts(rows) == {"sessions": 1, "messages": 2, "summaries": 1, "code_snippets": 1}
    for corpus in CORPORA:
        (waiting,) = rows(f"SELECT count(*) FROM {corpus.pending}")
        (known,) = rows(f"SELECT count(*) FROM {corpus.vector_table.name}")
        (all_of_them,) = rows(f"SELECT count(*) FROM {corpus.rows}")
        assert waiting[0] + known[0] == all_of_them[0]
        assert known[0] == (all_of_them[0] if with_vectors else 0)
    store.write([], gone=[("sessions", "2026-03/b.json")])
    assert set(counts(rows).values()) == {0}
    check_fts(store)
    for table in ("messages_fts", "summaries_fts", "topics_fts"):
        assert rows(f"SELECT rowid FROM {table} WHERE {table} MATCH 'lock OR token OR other'") == []


def test_replacing_a_session_replaces_what_finds_it(store, rows):
    store.write([document_of(SESSION)])
    changed = SESSION | {"messages": [{"role": "user", "content": "All is well"}]}
    store.write([document_of(changed)])
    assert rows("SELECT message_count FROM sessions") == [(1,)]
    assert rows("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'token'") == []
    assert len(rows("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'well'")) == 1
    check_fts(store)


def test_messages_of_a_session_have_ids_in_a_row(store, rows):
    for name in ("a", "b", "a"):
        store.write([document_of(SESSION | {"session_id": name})])
    for row, first, count in rows("SELECT id, first_message, message_count FROM sessions"):
        ids = rows("SELECT id FROM messages WHERE session_id = ? ORDER BY sequence", row)
        assert [one for (one,) in ids] == list(range(first, first + count))


def test_texts_that_wait_for_a_vector_are_the_texts_that_are_embedded(store):
    awkward = SESSION | {
        "messages": [{"role": "user", "content": "x" * 10_000}, {"role": "user", "content": ""}],
        "code_snippets": [{"code": "a"}, {"code": "b", "description": "d", "file_path": "f"}],
    }
    change = document_of(awkward)
    store.write([change])
    waiting = {each.text for each in next_pending(store, 100)}
    assert waiting == set(change.embedded_texts)


def test_a_session_without_a_summary_is_told_by_its_first_words(store, rows):
    plain = {key: value for key, value in SESSION.items() if key != "summary"}
    store.write([document_of(plain)])
    assert rows("SELECT brief, made_by FROM summaries") == [("The token refreshes fail", "opening")]


def test_first_words_are_told_of_a_language_without_spaces_too(store, rows):
    said = "我们应该把会话的令牌存到磁盘上" * 20
    store.write(
        [document_of({**SESSION, "summary": None, "messages": [{"role": "user", "content": said}]})]
    )
    assert rows("SELECT brief FROM summaries") == [(f"{said[:200]} …",)]


def test_updating_a_session_moves_its_time_once(store, tmp_path):
    store.write([document_of(SESSION)])
    connection = connect(tmp_path / "agent.sqlite")
    before = connection.execute("SELECT updated_at FROM sessions").get
    connection.pragma("recursive_triggers", True)
    connection.execute("UPDATE sessions SET metadata = '{}'")
    after = connection.execute("SELECT updated_at FROM sessions").get
    assert after > before
    connection.execute("UPDATE sessions SET updated_at = 5")
    assert connection.execute("SELECT updated_at FROM sessions").get == 5
    connection.close()


def test_deleting_a_session_by_hand_cascades_to_its_fts_rows(store, tmp_path):
    store.write([document_of(SESSION)])
    connection = connect(tmp_path / "agent.sqlite")
    connection.execute("DELETE FROM sessions")
    for table in ("messages", "summaries", "topics", "code_snippets"):
        assert connection.execute(f"SELECT count(*) FROM {table}").get == 0
    connection.close()
    check_fts(store)


def counts(rows) -> dict[str, int]:
    tables = ("sessions", "messages", "summaries", "code_snippets")
    return {table: rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables}


def check_fts(store: AgentStore) -> None:
    """FTS5's own comparison of each index with its content; raises where they differ."""
    connection: Connection = connect(Path(store.path))
    for table in ("messages_fts", "summaries_fts", "topics_fts"):
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    connection.close()


def test_json_columns_can_be_asked_with_json_each(store, rows):
    store.write([document_of(SESSION)])
    (decision,) = rows("SELECT value FROM summaries, json_each(key_decisions)")
    assert decision == ("Use one lock",)
    assert json.loads(rows("SELECT metadata FROM sessions")[0][0]) == {}
