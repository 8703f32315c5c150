"""No secret is stored by accident or printed, and nothing that is printed steers a terminal."""

from __future__ import annotations

import io
import json
import random
import re
import shlex
import string
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title
from tests.conftest import write_memory

KEY = "ghp_" + "x7" * 18
MASK = "«masked: GitHub token»"
STEERING = "\x1b[2J\x1b]0;title\x07 \x9b31m \u2028 \u202e \U000e0041 \x08 a\rb"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("store", f"Push with {KEY}"), "content"),
        (("store", "Push", "--summary", KEY), "summary"),
        (("store", "Push", "--tag", KEY), "tags[0]"),
        (("store", "Push", "--source", KEY), "source"),
        (("store", "Push", "--status", KEY), "status"),
        (("store", "Push", "--evidence", "a", "--evidence", KEY), "evidence[1]"),
        (("store", "Push", "--link", KEY), "links[0]"),
        (("store", "Push", "--citation", KEY), "citations[0]"),
        (("update", "note", "--source", KEY), "source"),
        (("update", "note", "--evidence", KEY), "evidence[0]"),
        (("update", "note", "--link", KEY), "links[0]"),
        (("move", "note", KEY), "to"),
        (("move", "note", f"{KEY}/"), "to"),
        (("share", "note", "--category", KEY), "category"),
        (("category", "create", "codebase", KEY), "description"),
        (("category", "describe", "pitfall", KEY), "description"),
        (("episodic-put", KEY, "--file", "default.mv2"), "messages[0].content"),
        (("episodic-put", "a", "--title", KEY, "--file", "default.mv2"), "metadata.title"),
        (("episodic-put", "a", "--tag", f"k:{KEY}", "--file", "default.mv2"), "metadata.tags.k"),
        (("context", "new", "experiment", KEY, "--root", "root"), "summary"),
        (("context", "new", "experiment", "a", "--body", KEY, "--root", "root"), "body"),
    ],
    ids=lambda each: " ".join(each[:4]).replace(KEY, "KEY") if isinstance(each, tuple) else each,
)
def test_every_text_that_is_stored_is_checked(run, data_dir, tmp_path, arguments, field):
    write_memory(data_dir / "knowledge/default", "note.md")
    write_memory(data_dir / "knowledge/default", "pitfall/other.md")
    if arguments[0] == "context":
        assert run("context", "init", tmp_path / "root", "--project", "shop").status == 0
    arguments = tuple(str(tmp_path / word) if word == "root" else word for word in arguments)
    done = run(*arguments, "--json")
    assert (done.status, done.error["code"]) == (2, "secret_refused")
    assert done.error["message"].startswith(f"{field} seems to contain a secret (GitHub token)")
    assert KEY not in done.out + done.err
    for file in tmp_path.rglob("*"):
        assert KEY not in str(file)
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
    assert run(*arguments, "--allow-secrets").status == 0


@pytest.mark.parametrize("command", [("move", "note", "kept/"), ("share", "note")], ids=" ".join)
def test_a_page_that_was_written_by_hand_is_looked_at_before_it_goes_elsewhere(
    run, data_dir, command
):
    write_memory(data_dir / "knowledge/default", "note.md", f"Push with {KEY}")
    done = run(*command, "--json")
    assert (done.status, done.error["code"]) == (2, "secret_refused")
    assert KEY not in done.out + done.err
    assert (data_dir / "knowledge/default/note.md").exists()
    assert run(*command, "--allow-secrets").status == 0


@pytest.mark.parametrize(
    "part",
    [
        {"summary": {"brief": f"Pushed with {KEY}"}},
        {"summary": {"brief": "Pushed", "key_decisions": [f"Push with {KEY}"]}},
        {"code_snippets": [{"code": f"push({KEY!r})"}]},
        {"metadata": {"about": {"it": [KEY]}}},
        {"metadata": {"api_key": "a8f5f167f44f4964e6c998dee827110c"}},
        {"topics": [KEY]},
        {"project_path": f"/src/{KEY}"},
    ],
    ids=str,
)
def test_every_part_of_a_session_is_checked(run, part):
    document = json.dumps({"messages": [{"role": "user", "content": "Push"}], **part}).encode()
    assert run("session", "save", "--json", stdin=document).error["code"] == "secret_refused"
    assert run("session", "save", "--allow-secrets", stdin=document).status == 0


def test_an_imported_transcript_is_kept_with_its_secrets_masked(run, tmp_path):
    lines = [
        {"role": "user", "content": f"the key is {KEY}"},
        {"role": "assistant", "content": "I"},
    ]
    file = tmp_path / "talk.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run("session", "import", file, "--json")
    assert done.status == 0
    assert "note: talk.jsonl: masked 1 likely secret\n" in done.err
    shown = run("session", "show", done.json["sessions"][0]["session_id"], "--json").json
    assert shown["messages"][0]["content"] == f"the key is {MASK}"
    assert run("session", "import", file, "--json").json["sessions"][0]["changed"] is False


@pytest.fixture
def leaky(run, data_dir, tmp_path):
    """Texts with a secret and control characters in a source, memories and sessions."""
    text = f"The deploy key {KEY} {STEERING} ends"
    write_memory(data_dir / "knowledge/default", "note.md", text, summary=text, tags=["k"])
    write_memory(data_dir / "knowledge/default", "_category.md", text)
    project = tmp_path / "project"
    project.mkdir()
    lines = text.replace("\r", " ")
    (project / "deploy\x1b[2J.py").write_text(f"def deploy(x):\n    x = '{lines}'\n", "utf-8")
    (project / f"{KEY}.bin").write_bytes(b"\0")
    (project / "keys").mkdir()
    (project / "keys" / f"{KEY}.py").write_text("def unlock(): ...\n")
    assert run("index", project).status == 0
    told: dict[str, Any] = {"session_id": "s", "messages": [{"role": "user", "content": text}]}
    told["summary"] = {"brief": text, "key_decisions": [text]}
    document = json.dumps(told).encode()
    assert run("session", "save", "--allow-secrets", stdin=document).status == 0
    return project


READING = [
    ("search", "--all", "deploy", "--mode", "keyword"),
    ("grep", "def deploy($X): $$$", "project"),
    ("query", "deploy", "--mode", "keyword"),
    ("get", "note"),
    ("list",),
    ("list", "--content"),
    ("recent",),
    ("category", "list"),
    ("session", "search", "deploy", "--mode", "keyword"),
    ("session", "list"),
    ("session", "start"),
    ("session", "show", "s"),
    ("session", "promote", "s", "--dry-run"),
    ("session", "prune", "--keep-days", "0", "--dry-run"),
    ("episodic-search", "deploy", "--file", "data/default.mv2"),
    ("status", "--skipped"),
    ("index",),
    ("reindex", "--all"),
]


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_no_reading_command_prints_a_secret_or_what_steers_a_terminal(run, leaky, form):
    for command in READING:
        done = run(*command, *form)
        assert done.status == 0, (command, done)
        printed = done.out + done.err
        assert KEY not in printed, command
        assert command[0] == "category" or "masked" in printed, command
        assert not set("\x1b\x07\x08\x9b\u2028\u202e\U000e0041") & set(printed), command
        assert "\r" not in printed, command


@pytest.mark.parametrize("pattern", ["password = $X", "(string) @match"])
def test_a_part_of_a_line_that_names_its_secret_is_masked_in_each_capture(run, tmp_path, pattern):
    secret = "hunter2-Sup3rS3cretV4lue"
    (tmp_path / "é.py").write_text(
        f'password = "{secret}"\né = "é"; f(password="{secret}", b="c")\n'
    )
    done = run("grep", pattern, tmp_path / "é.py", "--json")
    assert done.json
    assert "value of a secret" in done.out
    assert secret not in done.out


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_no_error_prints_a_secret(run, leaky, form):
    done = run("outline", leaky / "keys", *form)
    assert done.status == 3
    assert f"name a file such as keys/{MASK}.py" in done.err


def test_a_check_masks_the_name_of_a_file(run, data_dir):
    broken = data_dir / "knowledge/default" / f"{KEY}.md"
    broken.parent.mkdir(parents=True)
    broken.write_text("---\nbroken: [\n---\nx\n")
    assert run("list").status == 0
    done = run("doctor")
    assert f"{MASK}.md" in done.out
    assert KEY not in done.out + done.err


def test_what_a_hint_repeats_steers_no_terminal(run, tmp_path):
    named = ("--data-dir", str(tmp_path / "\x1b[31mx"))
    assert run("store", "a note", *named).status == 0
    done = run("judged", "remove", "q", *named)
    assert rf"judged list --data-dir '{tmp_path}/\x1b[31mx'" in done.err


def test_colours_of_a_terminal_are_ours_alone():
    out = io.StringIO()
    call = Call((), Path(), {}, io.BytesIO(), out, out, True, False, 80)
    call.print(title("a\x1b[2Jb"), " \x1b[31mred", "\tand\nso on \r\n")
    assert out.getvalue() == "\x1b[36m\x1b[1ma\\x1b[2Jb\x1b[0m \\x1b[31mred\tand\nso on \r\n\n"


def test_json_says_the_same_with_and_without_control_characters(run, data_dir):
    text = f"A note {STEERING}".replace("\r", " ")
    write_memory(data_dir / "knowledge/default", "note.md", text)
    done = run("get", "note", "--json")
    assert done.json["content"] == text
    assert done.out.count("\n") == 1


def test_a_file_that_may_hold_secrets_is_not_found_and_said_to_be_left_out(run, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text(f"DEPLOY_KEY={KEY}\n")
    (project / "deploy.py").write_text("def deploy(): ...\n")
    assert run("index", project).status == 0
    search = ("search", "--all", "DEPLOY_KEY", "--mode", "keyword", "--json")
    assert ".env" not in {hit["filename"] for hit in run(*search).json}
    skipped = run("status", "--skipped").out.splitlines()
    assert "project: project/.env: may hold secrets" in skipped
    assert run("index", project, "--exclude", "!.env", "--full").status == 0
    assert (".env", True) in {(hit["filename"], MASK in hit["code"]) for hit in run(*search).json}
    assert "indexed as it was asked for, 1 chunk" in run("why", project / ".env").out


def test_why_names_what_left_a_file_out_and_how_to_include_it(run, tmp_path):
    project = tmp_path / "project"
    (project / "made").mkdir(parents=True)
    (project / ".env").write_text(f"DEPLOY_KEY={KEY}\n")
    (project / "made" / "deploy.py").write_text("def deploy(): ...\n")
    assert run("index", project, "--exclude", "made/").status == 0
    left_out = run("why", project / ".env").out
    assert "skipped: may hold secrets" in left_out
    _, *command = shlex.split(left_out.partition("`")[2].partition("`")[0])
    assert run(*command).status == 0
    assert ".env: indexed" in run("why", project / ".env").out

    assert "ignored by made/ (--exclude)" in run("why", project / "made" / "deploy.py").out
    assert run("source", "remove", "project").status == 0
    assert run("index", project).status == 0
    assert "deploy.py: indexed" in run("why", project / "made" / "deploy.py").out


def private_key(lines: int) -> list[str]:
    """What looks like one, a line at a time."""
    base64 = random.Random(1).choices(string.ascii_letters + string.digits + "+/", k=64 * lines)
    body = ["".join(base64[at : at + 64]) for at in range(0, len(base64), 64)]
    return ["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----"]


@pytest.mark.parametrize("lines", [25, 50], ids=["in two", "in three"])
@pytest.mark.parametrize("name", ["deploy.py", "deploy.md", "deploy.txt"])
def test_a_key_that_is_cut_by_the_borders_of_chunks_is_masked_in_each(run, tmp_path, name, lines):
    project = tmp_path / "project"
    project.mkdir()
    key = private_key(lines)
    text = "\n".join(['deploy_key = """', *key, '"""', "", "def deploy_with(it):", "    ..."])
    (project / name).write_text(text)
    assert run("index", project).status == 0
    inside = key[len(key) // 2]
    words = " ".join(["deploy_key deploy_with", *re.split(r"\W+", inside)])
    done = run("search", "--all", words, "--mode", "keyword", "--top-k", "50", "--json")
    assert len(done.json) > 1, "the key lies in several chunks"
    assert not [line for line in key[1:-1] if line in done.out]
    assert re.search(r"note: masked \d+ likely secrets\n", done.err)
    for hit in done.json:
        assert hit["code"].count("\n") == hit["end_line"] - hit["start_line"]


def test_a_secret_stored_on_purpose_names_no_file_and_no_tag_is_shown(run, data_dir):
    told = f"api_key = {KEY.lower()}"
    stored = run("store", told, "--category", "p", "--allow-secrets", "--json").json
    write_memory(data_dir / "knowledge/default", "p/tagged.md", "Push", tags=[KEY])
    assert KEY.lower() not in stored["path"].replace("-", "_")
    for command in (("list",), ("get", "p/tagged"), ("query", "push key"), ("recent",)):
        for form in ((), ("--json",)):
            shown = run(*command, *form)
            assert shown.status == 0
            assert KEY.lower()[4:] not in (shown.out + shown.err).lower()
    assert run("remove", stored["path"]).status == 0
    assert KEY.lower()[4:] not in run("restore").out


def test_names_and_paths_of_sources_are_masked(run, tmp_path):
    folder = tmp_path / KEY / f"{KEY}\x1b[2J"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    name = f"{KEY}-"
    told = [run("source", "add", folder, "--name", name), run("index", "--wait", "keyword")]
    told += [run("status"), run("source", "list"), run("trust", folder), run("trust", "--list")]
    told += [run(*command, "--json") for command in (("status",), ("source", "list"))]
    told += [run("source", "move", name, folder), run("source", "remove", name)]
    for done in told:
        assert done.status == 0, done.err
        assert MASK in done.out
        assert KEY not in done.out + done.err
        assert "\x1b" not in done.out + done.err
