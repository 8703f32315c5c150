"""The commands of `session`, as a person and as a program reads them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

SESSION = {
    "session_id": "2026-03-01-payment",
    "project_path": "/src/shop",
    "created_at": "2026-03-01T09:12:00Z",
    "topics": ["payment"],
    "messages": [
        {"role": "user", "content": "the token refresh fails"},
        {"role": "assistant", "speaker": "Claude", "content": "a lock\nwill help"},
    ],
    "summary": {"brief": "Locked the refresh", "outcome": "success", "user_note": "Test first now"},
    "code_snippets": [{"language": "csharp", "code": "lock (key) {}", "file_path": "Token.cs"}],
}


@pytest.fixture
def saved(run, tmp_path):
    file = tmp_path / "session.json"
    file.write_text(json.dumps(SESSION))
    done = run("session", "save", file)
    assert (done.status, done.out) == (
        0,
        "saved 2026-03-01-payment: 2 messages, a summary, 1 snippet\n",
    )
    return file


def test_saving_again_says_so(run, saved):
    assert run("session", "save", saved).out.startswith("unchanged: 2026-03-01-payment")
    changed = json.dumps(SESSION | {"topics": ["auth"]}).encode()
    assert run("session", "save", stdin=changed).out.startswith("updated 2026-03-01-payment")


@pytest.mark.parametrize("command", ["save", "import"])
def test_a_session_as_it_is_shown_is_the_one_that_was_saved(run, saved, data_dir, command):
    (stored,) = data_dir.glob("episodic/*/*/*.json")
    before = stored.read_bytes()
    saved.write_text(run("session", "show", SESSION["session_id"], "--json").out)
    assert run("session", command, saved).out.startswith("unchanged: 2026-03-01-payment")
    assert stored.read_bytes() == before
    run("session", "delete", SESSION["session_id"])
    run("session", command, saved)
    assert stored.read_bytes() == before


def test_what_a_summary_has_no_place_for_is_told(run):
    document = {"summary": {"brief": "Locked it", "decisions": ["One lock"], "outcome": "success"}}
    done = run("session", "save", "--json", stdin=json.dumps(document).encode())
    assert "summary's decisions is kept, but not searched" in done.err
    assert "key_decisions" in done.err
    shown = run("session", "show", done.json["session_id"], "--json").json
    assert shown["summary"] == document["summary"]
    known = {"summary": {"brief": "Locked it", "key_decisions": ["One lock"]}}
    assert "searched" not in run("session", "save", stdin=json.dumps(known).encode()).err


def test_an_id_or_project_that_names_none_is_told(run):
    document = {"id": "mine", "project": "/shop", "messages": [{"role": "user", "content": "Why?"}]}
    done = run("session", "save", "--json", stdin=json.dumps(document).encode())
    assert "named by `session_id`" in done.err
    assert "is its `project_path`" in done.err
    assert run("session", "show", done.json["session_id"], "--json").json["id"] == "mine"
    named = json.dumps(document | {"session_id": "mine", "project_path": "/shop"}).encode()
    assert run("session", "save", "--json", stdin=named).err == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"messages": [{}], "messages": []}', "'messages' is there twice"),
        ('{"messages": [{"role": "robot", "content": "x"}]}', "messages[0].role: 'robot' is none"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(run, tmp_path, content, told):
    (tmp_path / "s.json").write_text(content)
    done = run("session", "save", "s.json")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert told in done.err


def test_a_file_that_is_not_there_is_not_found(run, tmp_path):
    assert run("session", "save", "nothing.json").status == 3
    assert run("session", "import", "nothing.jsonl").status == 3
    assert run("session", "save", tmp_path).status == 2


def test_a_session_is_shown_as_it_was_saved(run, saved):
    shown = run("session", "show", "2026-03-01-payment", "--json").json
    assert {key: shown[key] for key in SESSION} == SESSION
    assert shown["path"] == "2026-03/2026-03-01-payment.json"
    text = run("session", "show", "2026-03-01-payment").out
    assert text.startswith("2026-03-01-payment\n")  # its brief comes below
    for line in ("Locked the refresh (success)", "note: Test first now", "  a lock", "  will help"):
        assert f"{line}\n" in text
    assert "Claude, 2026-03-01 09:12 UTC\n" in text


def test_a_session_is_shown_by_the_address_of_a_hit_in_it(run, saved):
    hits = run("session", "search", "lock", "--tier", "2").out
    address = re.findall(r"^(2026-03-01-payment#[1-9])", hits, re.MULTILINE)[0]
    text = run("session", "show", address).out
    assert "Locked the refresh (success)" in text
    shown = run("session", "show", address, "--json").json
    first, *_, last = (each["content"] for each in shown["messages"])
    assert indent(last, "  ") in text
    assert indent(first, "  ") not in text
    assert run("session", "show", "session:2026-03-01-payment", "--json").json == shown
    beyond = run("session", "show", "2026-03-01-payment#99")
    assert (beyond.status, beyond.out) == (2, "")
    assert run("session", "delete", address).status == 3


def test_a_session_of_one_message_is_listed_as_such(run):
    run("session", "save", stdin=b'{"messages": [{"role": "user", "content": "Why?"}]}')
    assert "Why? · 1 message\n" in run("session", "list").out


def test_a_list_that_is_cut_says_where_it_goes_on(run, saved):
    run("session", "save", "-", stdin=b'{"messages": [{"role": "user", "content": "Why?"}]}')
    done = run("session", "list", "--limit", "1")
    assert (done.out.count("\n"), done.err) == (1, "note: earlier ones: --offset 1 shows them\n")
    assert run("session", "list", "--limit", "1", "--offset", "1").err == ""


def test_times_that_people_read_say_that_they_are_utc(run, saved):
    assert run("session", "list").out.startswith("2026-03-01 09:12 UTC  2026-03-01-payment")
    assert "  2026-03-01 09:12 UTC · " in run("session", "show", "2026-03-01-payment").out


def test_a_search_says_where_to_look_on(run, saved):
    text = run("session", "search", '"token refresh"', "--mode", "keyword").out
    assert text.startswith("2026-03-01-payment#0  ")
    assert "1 March 2026, 09:12 UTC, shop · user" in text
    (hit,) = run("session", "search", "locked", "--tier", "1", "--mode", "keyword", "--json").json
    assert (hit["kind"], hit["title"], hit["outcome"]) == (
        "summary",
        "Locked the refresh",
        "success",
    )
    explained = run("session", "search", "lock", "--explain", "--mode", "keyword", "--json").json
    assert all(hit["explain"]["cosine"] is None for hit in explained)


def test_a_hit_shows_what_was_found_in_it(run):
    told = "The parser stopped, since no header was found. " * 30 + "Only the linker knows zebras. "
    document = {
        "messages": [{"role": "user", "content": f"{told}{'Then all was built again. ' * 30}"}],
        "summary": {"brief": "Built it", "problems_solved": ["A giraffe in the cache: emptied it"]},
    }
    run("session", "save", stdin=json.dumps(document).encode())
    found = run("session", "search", "who knows zebras", "--mode", "keyword").out
    assert "  …\n" in found
    assert "linker knows zebras" in " ".join(found.split())
    found = run("session", "search", "giraffe", "--mode", "keyword").out
    assert found.endswith("  Built it\n  solved: A giraffe in the cache: emptied it\n\n")


def test_filters_are_options(run, saved, tmp_path):
    def found(*options):
        return len(run("session", "list", "--json", *options).json)

    assert found() == found("--project", "shop") == found("--project", "/src/shop/") == 1
    assert found("--project", ".") == found("--topic", "ui") == found("--outcome", "partial") == 0
    assert found("--after", "2026-03-01") == found("--before", "2026-03-02T00:00:00Z") == 1
    assert found("--after", "2026-03-02") == found("--before", "2026-03-01") == 0
    assert found("--after", "yesterday") == 0
    assert found("--before", "yesterday") == 1
    done = run("session", "list", "--after", "tomorrow")
    assert (done.status, "is not a time" in done.err) == (2, True)


def test_pruning_tells_what_would_go(run, saved):
    assert run("session", "prune").status == 2
    preview = run("session", "prune", "--keep-count", "0", "--dry-run", "--json").json
    assert [each["session_id"] for each in preview["sessions"]] == ["2026-03-01-payment"]
    assert len(run("session", "list", "--json").json) == 1
    pruned = run("session", "prune", "--keep-count", "0").out
    assert "1 session moved to the archive" in pruned
    assert run("session", "list", "--json").json == []
    folder, glob = pruned.split("`")[1].split()[-1].split("/*", 1)
    assert run("session", "import", *Path(folder).glob(f"*{glob}")).status == 0
    assert len(run("session", "list", "--json").json) == 1


def test_deleting_is_for_good(run, saved, data_dir):
    assert run("session", "delete", "2026-03-01-payment").out == "deleted 2026-03-01-payment\n"
    assert run("session", "show", "2026-03-01-payment").status == 3
    assert run("session", "delete", "2026-03-01-payment").status == 3
    assert not list(data_dir.rglob("2026-03-01-payment*"))


def test_promoting_tells_what_is_remembered(run, saved):
    preview = run("session", "promote", "2026-03-01-payment", "--dry-run").out
    assert preview == ("preference: Test first now\n  new\noutcome: Locked the refresh\n  new\n")
    done = run("session", "promote", "2026-03-01-payment").out
    assert "stored as preference/test-first-now.md" in done
    (one, two) = run("session", "promote", "2026-03-01-payment", "--json").json["memories"]
    assert one["fate"] == two["fate"] == "known"
    assert one["evidence"] == ["session:2026-03-01-payment"]


def test_transcripts_are_imported_and_broken_lines_told(run, tmp_path):
    lines = [json.dumps({"role": "user", "content": "the token refresh fails"}), '{"role": "us']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    done = run("session", "import", "t.jsonl", "--json")
    assert done.err == "note: t.jsonl: line 2 is not JSON, left out\n"
    (session,) = done.json["sessions"]
    assert (session["created"], session["message_count"]) == (True, 1)


def test_a_folder_is_told_from_what_is_not_there(run, tmp_path):
    (tmp_path / "transcripts").mkdir()
    done = run("session", "import", "transcripts", "--json")
    assert (done.status, done.error["message"]) == (2, f"{tmp_path / 'transcripts'} is a folder")
    assert "*.jsonl" in done.error["hint"]


@pytest.mark.parametrize("given", [b"", b"no JSON", b"[]", b"{}", b'{"transcript_path": 3}'])
def test_a_hook_without_a_transcript_fails_and_orders_no_agent_to_stop(run, given):
    done = run("session", "import", "-", "--json", stdin=given)
    assert (done.status, done.error["code"]) == (1, "usage")
    assert "transcript_path" in done.error["hint"]
    for mistyped in (("session", "import", "-", "--agnt", "a"), ("context", "access", "-", "-x")):
        assert run(*mistyped, stdin=given).status == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use stays there")
def test_a_hook_whose_folder_is_gone_orders_no_agent_to_stop(tmp_path):
    main = f"{sys.executable} -m memory_sidecar.client"
    for command, status in (("session import -", 1), ("context access", 1), ("status", 2)):
        gone = f"mkdir gone && cd gone && rmdir ../gone && exec {main} {command}"
        done = subprocess.run(["sh", "-c", gone], cwd=tmp_path, capture_output=True, check=False)
        assert b"the working directory cannot be used" in done.stderr
        assert b"run the command in a folder that exists" in done.stderr
        assert done.returncode == status


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        '{"type": "permission-mode", "sessionId": "s"}',
        '{"type": "user", "isSidechain": true, "sessionId": "s", "message": {"content": "x"}}',
    ],
    ids=["never written", "empty", "left at once", "of a subagent"],
)
def test_a_hook_at_the_end_of_a_session_in_which_nothing_was_said_is_quiet(run, tmp_path, content):
    if content is not None:
        (tmp_path / "t.jsonl").write_text(content)
    _assert_quiet_hook(run, str(tmp_path / "t.jsonl"))


def test_a_hook_of_a_session_that_codex_does_not_save_is_quiet(run):
    """An exit status of 2 would be taken for an order to go on."""
    _assert_quiet_hook(run, None)


def _assert_quiet_hook(run, transcript):
    event = {"transcript_path": transcript, "hook_event_name": "SessionEnd"}
    done = run("session", "import", "-", "--json", stdin=json.dumps(event).encode())
    assert (done.status, done.err) == (0, "")
    assert done.json == {"sessions": [], "failed": []}
