"""`episodic-put`, `episodic-search` and `episodic-commit`, as the host calls them."""

from __future__ import annotations

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import pytest

from tests.sessions.conftest import memvid_environ  # noqa: F401  a fixture


@pytest.fixture
def journal(data_dir):
    return data_dir / "architect.mv2"


@pytest.fixture
def no_memvid(tmp_path):
    """Variables under which memvid is not found, wherever it is installed."""
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin")}


def test_the_host_puts_searches_and_commits(sidecar, journal, data_dir, no_memvid):
    text = "- We use one lock around the token refresh"
    done = sidecar(
        "episodic-put", text, "--file", journal, "--title", "Locks", "--tag", "topic:Auth",
        "--tag", "odd:a:b", **no_memvid,
    )  # fmt: skip
    assert done.status == 0
    assert done.err == "note: architect.mv2 was not written: memvid is not on the PATH\n"
    put = done.json
    assert (put["ok"], put["agent"], put["created"]) == (True, "architect", True)
    assert put["memvid"] == "not on the PATH"
    assert not journal.exists()

    done = sidecar("episodic-search", "token lock", "--file", journal, "--top-k", "3")
    assert done.status == 0
    (hit,) = done.json["hits"]
    assert (hit["text"], hit["title"]) == (text, "Locks")
    assert 0 < hit["score"] <= 1
    assert hit["uri"] == f"session:{put['session_id']}#0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", hit["timestamp"])

    done = sidecar("episodic-commit", "--file", journal)
    assert (done.status, done.json["ok"]) == (0, True)

    (file,) = (data_dir / "episodic" / "architect").rglob("*.json")
    document = json.loads(file.read_text("utf-8"))
    assert document["metadata"]["tags"] == {"topic": "Auth", "odd": "a:b"}
    assert document["topics"] == ["Auth"]


@pytest.fixture
def call(run, no_memvid):
    """A host's call in this process, as its exit status and document."""

    def call(*arguments):
        done = run(*arguments)
        return done.status, done.json

    return call


def test_a_repeated_put_is_the_same_entry(call, journal):
    first, again = (call("episodic-put", "one lock", "--file", journal)[1] for _ in range(2))
    assert (first["created"], again["created"]) == (True, False)
    assert first["session_id"] == again["session_id"]
    assert first["timestamp"] == again["timestamp"]
    assert len(call("episodic-search", "lock", "--file", journal)[1]["hits"]) == 1


def test_agents_do_not_see_each_others_journals(call, journal, run):
    call("episodic-put", "one lock", "--file", journal)
    other = journal.with_name("builder.mv2")
    done = run("episodic-search", "lock", "--file", other)
    assert (done.status, done.json) == (0, {"hits": []})
    assert "builder has no sessions yet" in done.err
    call("episodic-put", "another lock", "--file", other)
    (hit,) = call("episodic-search", "lock", "--file", other)[1]["hits"]
    assert hit["text"] == "another lock"


def test_the_folder_of_the_file_decides_where_it_goes(call, tmp_path, data_dir):
    call("episodic-put", "one lock", "--file", tmp_path / "elsewhere" / "architect.mv2")
    assert list((tmp_path / "elsewhere" / "episodic" / "architect").rglob("*.json"))
    assert not (data_dir / "episodic").exists()


def test_a_journal_may_lie_beside_the_sessions_of_its_agent(call, journal, data_dir):
    beside = data_dir / "episodic" / journal.name
    call("episodic-put", "one lock", "--file", beside)
    (hit,) = call("episodic-search", "lock", "--file", journal)[1]["hits"]
    assert hit["text"] == "one lock"
    assert call("episodic-search", "lock", "--file", beside)[1]["hits"] == [hit]
    assert not (data_dir / "episodic" / "episodic").exists()


@pytest.mark.parametrize("named", ["fold.mv2", "fold.mv2/a", "notes.txt"])
def test_what_can_be_no_journal_is_refused_in_a_line(run, tmp_path, named):
    (tmp_path / "fold.mv2").mkdir()
    for command in ("episodic-put", "episodic-search"):
        done = run(command, "one lock", "--file", tmp_path / named)
        assert (done.status, done.error["code"]) == (2, "usage")
    assert [each.name for each in tmp_path.rglob("*")] == ["fold.mv2"]


def test_a_journal_holds_what_else_is_saved_of_its_agent(call, journal, run, tmp_path):
    file = tmp_path / "s.json"
    file.write_text(json.dumps({"session_id": "s", "summary": {"brief": "Locked the refresh"}}))
    assert run("session", "save", file, "--agent", "architect").status == 0
    (hit,) = call("episodic-search", "locked", "--file", journal)[1]["hits"]
    assert (hit["text"], hit["uri"]) == ("Locked the refresh", "session:s")


def test_no_hits_are_no_error(call, journal):
    call("episodic-put", "one lock", "--file", journal)
    status, found = call("episodic-search", '"another phrase"', "--file", journal)
    assert (status, found) == (0, {"hits": []})


@pytest.mark.parametrize("name", ["nothing.mv2", "no name at all.mv2", "../x/.mv2"])
def test_commit_always_succeeds(call, data_dir, name):
    status, done = call("episodic-commit", "--file", data_dir / name)
    assert (status, done["ok"]) == (0, True)
    assert not data_dir.exists()


@pytest.mark.parametrize("named", [(), ("--file", ""), ("--file", "x" * 300 + ".mv2")])
def test_commit_succeeds_without_a_journal_that_can_be(call, named):
    status, done = call("episodic-commit", *named)
    assert (status, done["ok"], done["agent"]) == (0, True, "x" * 300 if "x" in str(named) else "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("episodic-put", "x"),
        ("episodic-put", " ", "--file", "a.mv2"),
        ("episodic-put", "x", "--file", "no name.mv2"),
        ("episodic-put", "x", "--file", "a.mv2", "--tag", ":v"),
        ("episodic-search", "", "--file", "a.mv2"),
        ("episodic-search", "x", "--file", "a.mv2", "--top-k", "0"),
    ],
)
def test_wrong_usage_is_status_2(run, arguments):
    done = run(*arguments)
    assert (done.status, done.error["code"]) == (2, "usage")


@pytest.fixture
def run_memvid(run, memvid_environ):  # noqa: F811
    """As `run`, with memvid on the PATH."""
    return partial(run, environ=run.keywords["environ"] | memvid_environ)


def test_with_memvid_the_file_is_written_too(run_memvid, journal):
    done = run_memvid("episodic-put", "one lock\n\nfor tokens", "--file", journal)
    if done.json["memvid"] == "failed":
        pytest.skip("memvid took longer than a host waits")
    assert (done.json["memvid"], done.err) == ("written", "")
    assert journal.stat().st_size > 0
    again = run_memvid("episodic-put", "one lock\n\nfor tokens", "--file", journal)
    assert again.json["memvid"] == "has it already"
    imported = run_memvid("session", "import", journal, "--agent", "architect", "--json")
    (session,) = imported.json["sessions"]
    assert (session["session_id"], session["changed"]) == (done.json["session_id"], False)
    other = run_memvid("session", "import", journal, "--agent", "other", "--json")
    assert other.json["sessions"][0]["created"] is True


def test_of_several_puts_at_once_the_file_has_each_that_was_written(
    sidecar,
    run_memvid,
    journal,
    memvid_environ,  # noqa: F811
):
    """Of two at once, memvid keeps one: each reads the file before the other has written it."""
    path = {"PATH": memvid_environ["PATH"]}

    def put(number: int) -> str:
        put = sidecar("episodic-put", f"lock {number} for tokens", "--file", journal, **path)
        return str(put.json["memvid"])

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(put, range(2)))
    if "written" not in outcomes:
        pytest.skip("memvid took longer than a host waits")
    found = run_memvid("session", "import", journal, "--agent", "other", "--json")
    assert len(found.json["sessions"]) >= outcomes.count("written")


def test_a_file_that_is_there_already_is_imported_once(run_memvid, tmp_path, data_dir):
    there = tmp_path / "elsewhere" / "builder.mv2"
    put = run_memvid("episodic-put", "one lock for all tokens", "--file", there)
    if put.json["memvid"] == "failed":
        pytest.skip("memvid took longer than a host waits")
    journal = data_dir / "builder.mv2"
    data_dir.mkdir(exist_ok=True)
    there.rename(journal)
    first = run_memvid("episodic-search", "lock", "--file", journal)
    assert [hit["text"] for hit in first.json["hits"]] == ["one lock for all tokens"]
    assert "note: imported builder.mv2: 1 of 1 entries are new\n" in first.err
    again = run_memvid("episodic-search", "lock", "--file", journal)
    assert (again.json, again.err) == (first.json, "")


def test_a_file_that_cannot_be_read_is_told_of(run, journal, no_memvid):
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text("junk")
    done = run("episodic-search", "lock", "--file", journal)
    assert (done.status, done.json) == (0, {"hits": []})
    assert "note: architect.mv2 is not searched: reading architect.mv2 needs memvid" in done.err


def test_a_host_that_updates_a_session_moves_its_time_with_an_old_sqlite_too(
    call, journal, data_dir
):
    put = call("episodic-put", "One lock around the token refresh", "--file", journal)[1]
    with closing(sqlite3.connect(data_dir / "knowledge" / "architect.sqlite")) as host, host:
        (before,) = host.execute("SELECT updated_at FROM sessions").fetchone()
        host.execute("UPDATE sessions SET metadata = '{}'")
        after = host.execute("SELECT session_id, updated_at FROM sessions").fetchall()
    assert after == [(put["session_id"], after[0][1])]
    assert 0 < after[0][1] - before < 60_000
