"""`store TEXT --agent A --category C --db D/knowledge/A.sqlite [--tag k:v]…`, as the host calls it.

And what the other commands that change memories print.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def host_store(sidecar, data_dir):
    """The host's own argument list, in a fresh process."""

    def host_store(text, *, agent="architect", category="pitfall", tags=(), **options):
        db = data_dir / "knowledge" / f"{agent}.sqlite"
        given = [word for tag in tags for word in ("--tag", tag)]
        arguments = ("store", text, "--agent", agent, "--category", category, "--db", db, *given)
        return sidecar(*arguments, **options)

    return host_store


@pytest.fixture
def memories(data_dir):
    return data_dir / "knowledge" / "architect"


def test_the_host_reads_an_id_and_where_it_went(host_store, memories):
    tags = ("owned_path_0:src/Shop/Order.cs", "owned_path_1:src/Shop", "plain")
    done = host_store("Plan: - 2 steps", category="planning-pitfall", tags=tags)
    assert (done.status, done.err) == (0, "")
    found = done.json
    assert 1 <= found["id"] < 2**31
    assert (found["agent"], found["category"]) == ("architect", "planning-pitfall")
    assert found["created"] is True
    assert found["tags"] == {
        "owned_path_0": "src/Shop/Order.cs",
        "owned_path_1": "src/Shop",
        "plain": "",
    }
    assert (memories / found["path"]).read_text("utf-8").endswith("---\nPlan: - 2 steps\n")
    assert MOMENT.fullmatch(found["created_at"])
    assert found["near_duplicates"] == []


AWKWARD = [
    "-rf deletes everything, --force too",
    "--category is an option, this is a text",
    "- a list item\n- another",
    "\"double\" and 'single' and `ticks` and $HOME and \\n",
    "日本語 🎉 Größe\u2028",
    "# Heading\r\n\r\nWindows lines\r\n",
    "---\nfront: matter\n---\n",
]


def test_any_text_arrives_as_it_is(serve, memories):
    for text in AWKWARD:
        done = serve("store", text, "--agent", "architect", "--category", "c", "--tag", "k:v")
        assert done.status == 0, done.err
        kept = (memories / done.json["path"]).read_bytes().decode("utf-8")
        body = kept.split("\n---\n", 1)[1]
        assert body.rstrip("\n") == text.replace("\r\n", "\n").strip("\n")
        assert done.json["tags"] == {"k": "v"}


def test_standard_input_and_a_hundred_kilobytes(serve, memories):
    text = "Wörter und 言葉. " * 5000
    done = serve("store", "-", "--agent", "architect", stdin=text.encode())
    assert done.json["category"] == ""
    kept = (memories / done.json["path"]).read_text("utf-8")
    assert len(kept.encode()) > 100_000
    assert kept.split("\n---\n", 1)[1].strip() == text.strip()


def test_the_same_call_again_gives_the_same_memory(serve, memories):
    call = ("store", "Use SQLite.", "--agent", "architect", "--category", "decision")
    first, again = serve(*call).json, serve(*call).json
    assert again == first | {"created": False, "changed": False}
    assert len(list(memories.rglob("*.md"))) == 1


def test_near_duplicates_are_named(serve):
    call = ("--agent", "architect", "--category", "pitfall", "--json")
    first = serve("store", "The Strategy pattern makes a cycle in payment.", *call).json
    again = serve("store", "The Strategy pattern makes a cycle in payments!", *call).json
    (near,) = again["near_duplicates"]
    assert near["path"] == first["path"]
    assert 0.93 <= near["cosine"] <= 1
    assert again["may_contradict"] == []


def test_a_memory_that_may_no_longer_hold_is_named_until_it_is_superseded(serve):
    call = ("--agent", "architect", "--category", "decision", "--json")
    old = serve("store", "Seat holds live in Redis for 8 minutes.", *call).json
    new = serve("store", "Seat holds live in Redis for 12 minutes now.", *call).json
    assert new["near_duplicates"] == []
    (against,) = new["may_contradict"]
    assert against == {
        "path": old["path"],
        "summary": "Seat holds live in Redis for 8 minutes.",
        "why": "speaks of a change",
        "shared": False,
    }
    other = serve("store", "The quay opens at six.", *call).json["path"]
    text = "Seat holds live in Redis for 9 minutes."
    told = serve("update", other, text, "--agent", "architect").out
    assert f"\nmay contradict: {new['path']} (other numbers) Seat holds" in told
    command = told.partition("to replace 2 memories: `memory-sidecar ")[2].partition("`")[0]
    assert serve(*shlex.split(command), "--json").json["supersedes"] == [old["path"], new["path"]]

    text = "Seat holds live in Redis for 10 minutes."
    again = serve("store", text, *call, "--supersedes", other).json
    assert again["may_contradict"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("store",),
        ("store", ""),
        ("store", " \n"),
        ("store", "x", "--agent", "../x"),
        ("store", "x", "--agent", ""),
        ("store", "x", "--category", "../x"),
        ("store", "x", "--category", "a b"),
        ("store", "x", "--tag", ""),
        ("store", "x", "--expires", "soon"),
        ("store", "x\udcff"),
        ("store", "-x"),
        ("update", "x"),
        ("update", "../x", "y"),
        ("remove", "/etc/passwd"),
        ("move", "a", "../b"),
        ("prune", "--weaker-than", "7"),
        ("prune", "--unused-for", "long"),
        ("category", "create", ".."),
    ],
    ids=repr,
)
def test_wrong_usage_is_status_2_and_writes_nothing(run, data_dir, arguments):
    done = run(*arguments, "--json")
    assert done.status == 2, done
    assert json.loads(done.err.splitlines()[-1])["error"]["hint"] != ""
    assert not list(data_dir.rglob("*.md"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("update", "x", "y"),
        ("remove", "x"),
        ("move", "x", "y"),
        ("share", "x"),
        ("restore", "x"),
        ("restore", "--batch", "x"),
        ("category", "describe", "x", "y"),
        ("category", "delete", "x"),
        ("store", "x", "--supersedes", "missing"),
    ],
    ids=repr,
)
def test_what_is_not_there_is_status_3(run, data_dir, arguments):
    done = run(*arguments, "--json")
    assert done.status == 3, done
    assert not list(data_dir.rglob("*.md"))


def test_a_secret_is_not_stored_by_accident(serve, memories):
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    call = ("store", f"The token is {key}", "--agent", "architect", "--json")
    done = serve(*call)
    assert done.status != 0
    assert key not in done.err
    assert not memories.exists()
    assert serve(*call, "--allow-secrets").status == 0


def test_a_conflict_is_status_4_with_the_current_text(serve, memories):
    stored = serve("store", "Use SQLite.", "--agent", "architect").json
    path, old = stored["path"], stored["hash"]
    update = ("update", path, "--agent", "architect", "--json", "--if-hash")
    changed = serve(*update, old, "--tag", "db").json
    assert (changed["changed"], changed["tags"]) == (True, {"db": ""})
    done = serve(*update, old, "Use Postgres.")
    assert (done.status, done.out) == (4, "")
    error = json.loads(done.err)["error"]
    assert error["code"] == "conflict"
    assert error["current"] == {
        "path": path,
        "hash": changed["hash"],
        "text": (memories / path).read_text("utf-8"),
    }


def test_changes_and_their_output(serve, memories):
    agent = ("--agent", "architect", "--json")
    path = serve("store", "Use SQLite.", "--category", "decision", *agent).json["path"]
    made = serve("category", "create", "storage", "Where data lies.", *agent).json
    assert made == {"category": "storage", "description": "Where data lies.", "created": True}
    moved = serve("move", path, "storage/", *agent).json
    assert (moved["path"], moved["moved_from"]) == ("storage/use-sqlite.md", path)
    assert serve("category", "list", *agent).json == [
        {
            "path": "storage",
            "parent_path": None,
            "description": "Where data lies.",
            "memories": 1,
            "tokens": 3,
            "total_memories": 1,
            "total_tokens": 3,
        }
    ]
    shared = serve("share", moved["path"], *agent).json
    assert (shared["agent"], shared["path"]) == ("shared", "storage/use-sqlite.md")
    removed = serve("remove", moved["path"], *agent).json
    assert removed["removed"] is True
    assert serve("restore", *agent).json == [
        {"batch": removed["batch"], "directory": "memories", "path": moved["path"]}
    ]
    assert serve("restore", moved["path"], *agent).json["restored"] == [moved["path"]]
    dry = serve("prune", "--keep", "0", "--dry-run", *agent).json
    assert [each["path"] for each in dry["memories"]] == [moved["path"]]
    assert (dry["archived"], dry["batch"]) == (0, None)
    pruned = serve("prune", "--keep", "0", *agent).json
    assert pruned["archived"] == 1
    assert not (memories / moved["path"]).exists()
    assert serve("restore", "--batch", pruned["batch"], *agent).status == 0
    deleted = serve("category", "delete", "storage", "--with-memories", *agent).json
    assert (deleted["category"], deleted["archived"]) == ("storage", 1)
    assert not memories.joinpath("storage").exists()


def test_people_get_lines(run, memories):
    assert re.fullmatch(r"\{.*\}\n", run("store", "Use SQLite.", "--agent", "architect").out)
    for arguments, words in [
        (("update", "use-sqlite", "--tag", "db"), "changed use-sqlite.md\n"),
        (("move", "use-sqlite", "db/"), "use-sqlite.md is db/use-sqlite.md now\n"),
        (
            ("remove", "db/use-sqlite"),
            "removed db/use-sqlite.md; `memory-sidecar restore db/use-sqlite.md --agent architect`"
            " brings it back\n",
        ),
        (("prune",), "0 archived\n"),
        (("category", "create", "x", "What", "for"), "x: What for\n"),
    ]:
        assert run(*arguments, "--agent", "architect").out == words
