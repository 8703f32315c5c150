"""`status`: what it tells of sources and agents, and its live view."""

from __future__ import annotations

import io
import re
import threading

import pytest
from rich.cells import cell_len

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.host import Host
from memory_sidecar.cli.main import run as run_call
from memory_sidecar.core.results import pluralize
from tests.conftest import write_memory


@pytest.fixture
def status(run):
    return lambda *options: run("status", *options)


def agent_of(done, name="bob"):
    (agent,) = (each for each in done.json["agents"] if each["name"] == name)
    return agent


def test_agents_are_listed_where_no_source_is(run, status, known_vectors):
    run("store", "Carts are emptied at night", "--agent", "bob", "--category", "pitfall")
    session = b'{"messages": [{"role": "user", "content": "Why are carts empty?"}]}'
    run("session", "save", "-", "--agent", "bob", stdin=session)
    done = status("--json")
    assert (done.status, done.err, done.json["sources"]) == (0, "", [])
    agent = agent_of(done)
    assert (agent["memories"], agent["sessions"], agent["problem"]) == (1, 1, "")
    assert agent["texts"] >= 2
    assert agent["is_current"] is None  # nobody watches
    text = status().out
    assert "agent bob: 1 memory, 1 session\n" in text
    assert "no source is indexed: `memory-sidecar index PATH`" in text


def test_what_lists_leave_out_is_told_apart(run, status, data_dir):
    folder = data_dir / "knowledge" / "bob"
    write_memory(folder, "old.md", expires_at="2020-01-01")
    write_memory(folder, "past.md", status="superseded", expires_at="2020-01-01")
    write_memory(folder, "new.md")
    assert [each["path"] for each in run("list", "--agent", "bob", "--json").json] == ["new.md"]
    agent = agent_of(status("--json"))
    assert (agent["memories"], agent["memories_outdated"]) == (3, 2)
    assert "agent bob: 3 memories (2 outdated), " in status().out


def test_a_file_that_is_no_memory_is_said(run, status, data_dir):
    folder = data_dir / "knowledge" / "bob"
    write_memory(folder, "new.md")
    (folder / "odd.md").write_bytes(b"\x00\xff\x00")
    assert run("list", "--agent", "bob").status == 0
    assert agent_of(status("--json"))["files_unread"] == 1
    assert ", 1 file not read, see `memory-sidecar doctor`\n" in status().out


def test_times_are_shown_as_everywhere(run, indexed):
    assert re.search(r", scanned \d{4}-\d\d-\d\d \d\d:\d\d UTC  ", run("status").out)


def test_asking_makes_no_database(status, data_dir):
    (data_dir / "knowledge" / "bob" / "pitfall").mkdir(parents=True)
    before = sorted(data_dir.rglob("*"))
    agent = agent_of(status("--json"))
    assert (agent["memories"], "not indexed yet" in agent["problem"]) == (0, True)
    assert sorted(data_dir.rglob("*")) == before
    (data_dir / "knowledge" / "bob.sqlite").touch()  # as a full disk may leave it
    assert "not indexed yet" in agent_of(status("--json"))["problem"]


def test_a_damaged_database_is_the_problem_of_its_agent_alone(status, indexed, data_dir):
    (data_dir / "knowledge").mkdir(exist_ok=True)
    (data_dir / "knowledge" / "bob.sqlite").write_text("no database at all" * 100)
    done = status("--json")
    assert done.status == 0
    assert done.json["chunks"] > 0
    assert agent_of(done)["problem"] != ""


def test_a_database_of_ones_own_is_told_of_alone(run, indexed, data_dir):
    run("store", "Carts are emptied at night", "--agent", "bob")
    done = run("status", "--db", data_dir / "codebase.sqlite", "--json")
    assert (done.status, done.json["agents"]) == (0, [])


def test_the_live_view_goes_on_until_it_is_cancelled(run, indexed):
    cancelled = threading.Event()
    cancelled.set()
    done = run("status", "--watch", cancelled=cancelled)
    assert (done.status, done.err) == (130, "")
    assert done.out.count("vectors: ") == 1
    assert "\x1b" not in done.out  # it is no terminal


@pytest.mark.parametrize(("rows", "most"), [(0, 100), (4, 3), (1, 1)])
def test_the_live_view_fits_the_terminal_with_wide_characters(run, tmp_path, data_dir, rows, most):
    wide = tmp_path / ("漢字" * 40)
    wide.mkdir()
    assert run("index", wide).status == 0
    cancelled = threading.Event()
    cancelled.set()
    out = io.StringIO()
    call = Call(
        arguments=("status", "--watch", "--data-dir", str(data_dir)),
        cwd=tmp_path,
        environ={},
        stdin=io.BytesIO(),
        stdout=out,
        stderr=io.StringIO(),
        is_terminal=True,
        shows_progress=False,
        columns=200,
        rows=rows,
        cancelled=cancelled,
    )
    assert run_call(call) == 130
    shown = out.getvalue().splitlines()
    assert "漢字" in shown[0]
    assert max(map(cell_len, shown)) < 200
    assert len(shown) <= most


@pytest.mark.parametrize(
    ("host", "goes_on"),
    [
        (None, ", and the next call goes on from there"),
        (
            Host("daemon.log"),
            ", and this daemon or the next goes on with what waits: "
            "`memory-sidecar status --watch` shows it",
        ),
    ],
)
def test_who_interrupts_an_index_is_told_what_goes_on(run, project, known_vectors, host, goes_on):
    cancelled = threading.Event()
    cancelled.set()
    done = run("index", project, cancelled=cancelled, host=host)
    assert (done.status, done.out) == (130, "")
    assert (done.error["code"], done.error["message"]) == ("interrupted", "interrupted")
    assert done.error["hint"] == f"what was committed stays{goes_on}"


@pytest.mark.parametrize("option", ["--json", "--skipped", "--failed"])
def test_the_live_view_is_text_alone(status, indexed, option):
    done = status("--watch", option)
    assert (done.status, done.out) == (2, "")


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (2000, "2,000 files")]
)
def test_one_is_not_many(number, text):
    assert pluralize(number, "file") == text


@pytest.mark.parametrize("is_indexed", [False, True], ids=["never indexed", "indexed before"])
def test_a_source_that_cannot_be_indexed_says_why_where_nothing_watches_it(
    run, project, tmp_path, known_vectors, is_indexed
):
    assert run("source", "add", project).status == 0
    if is_indexed:
        assert run("index", project).status == 0
    (tmp_path / "rules").write_text("*.log\n")
    (project / ".gitignore").symlink_to(tmp_path / "rules")
    (source,) = run("status", "--json").json["sources"]
    assert source["problem"].startswith(f"{project}/.gitignore")
    assert source["problem"] in run("status").out
    (project / ".gitignore").unlink()
    (source,) = run("status", "--json").json["sources"]
    assert source["problem"] == ""
