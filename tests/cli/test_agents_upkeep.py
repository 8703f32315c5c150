"""Rebuilding agents, their knowledge directories, and what the doctor says of their files."""

from __future__ import annotations

import pytest

from memory_sidecar.core.times import iso_utc, system_clock
from tests.conftest import write_memory


@pytest.fixture
def knowledge(data_dir):
    """Two agents, one with faulty files."""
    folder = data_dir / "knowledge"
    write_memory(folder / "architect", "one.md", "The first.")
    write_memory(folder / "tester", "two.md", "The second.")
    return folder


def checks(done, agent):
    """Texts of the checks of `agent` that failed."""
    return [each["text"] for each in done.json if each["agent"] == agent and not each["ok"]]


def test_an_agent_is_rebuilt_alone_or_with_all(serve, knowledge):
    assert serve("list", "--agent", "architect", "--json").status == 0
    report = serve("reindex", "--agent", "architect", "--json").json
    assert (report["agent"], report["files_processed"]) == ("architect", 1)
    everything = serve("reindex", "--all", "--json").json
    assert [each["agent"] for each in everything["agents"]] == ["architect", "tester"]
    assert "agent tester:" in serve("reindex", "--all").out
    assert serve("reindex", "--agent", "nobody", "--json").error["code"] == "no_index"
    assert serve("reindex", "--agent", "architect", "--all", "--json").error["code"] == "usage"


def test_a_knowledge_directory_without_files_keeps_none_from_being_rebuilt(
    serve, knowledge, tmp_path
):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert serve("source", "add", empty, "--agent", "architect").status == 0
    assert serve("list", "--agent", "architect").status == 0
    assert serve("reindex", "--all").status == 0


def test_a_broken_agent_does_not_keep_the_others_from_being_rebuilt(serve, knowledge):
    (knowledge / "architect.sqlite").write_bytes(b"something else")
    done = serve("reindex", "--all", "--json")
    assert done.error["code"] == "store_foreign"
    assert (knowledge / "architect.sqlite").read_bytes() == b"something else"
    assert (knowledge / "tester.sqlite").exists()


def test_a_knowledge_directory_is_registered_listed_and_forgotten(serve, knowledge, tmp_path):
    notes = tmp_path / "notes"
    write_memory(notes, "deep/idea.md", "An idea.")
    added = serve("source", "add", notes, "--agent", "architect", "--json").json
    assert (added["name"], added["root"]) == ("notes", notes.as_posix())
    listed = serve("list", "--agent", "architect", "--json").json
    assert {row["path"] for row in listed} == {"one.md", "notes:deep/idea.md"}
    assert len(serve("list", "--agent", "tester", "--json").json) == 1
    assert serve("source", "list", "--agent", "architect", "--json").json == [added]
    assert serve("source", "list", "--json").json == []
    (tmp_path / "other").mkdir()
    other = ("source", "add", tmp_path / "other", "--agent", "architect", "--json")
    taken = serve(*other, "--name", "Memories")
    assert taken.error["code"] == "usage"
    serve("source", "remove", "notes", "--agent", "architect")
    assert len(serve("list", "--agent", "architect", "--json").json) == 1


def test_the_doctor_names_faulty_files(serve, knowledge):
    folder = knowledge / "architect"
    (folder / "broken.md").write_text("---\ntags: [a\n---\nText\n")
    (folder / "merged.md").write_text("Text\n<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n")
    write_memory(folder, "x.md", id="X-1")
    write_memory(folder, "y.md", id="X-1")
    write_memory(folder, "p/knowledge/K-001.md", id="K-001", status="superseded")
    write_memory(folder, "q/knowledge/K-001.md", id="K-001", superseded_by="K-002")
    write_memory(folder, "this.md", supersedes=["that"])
    write_memory(folder, "that.md", supersedes=["this"])
    for agent in ("architect", "tester"):
        serve("reindex", "--agent", agent)
    found = serve("doctor", "--json")
    broken, doubled, missing, cycle = checks(found, "architect")
    assert "broken.md: line 3" in broken
    assert "merged.md: line 2: a merge conflict" in broken
    assert doubled.endswith("X-1: x.md, y.md")
    assert missing.endswith("q/knowledge/K-001.md -> q/knowledge/K-002.md")
    assert cycle.endswith("that.md; this.md")
    assert checks(found, "tester") == []


def test_the_doctor_tells_what_is_stale_cold_challenged_or_doubled(serve, knowledge):
    folder = knowledge / "architect"
    long_ago = {"created_at": "2010-01-01", "updated_at": "2010-01-01"}
    today = {"created_at": iso_utc(system_clock()), "updated_at": iso_utc(system_clock())}
    write_memory(folder, "one.md", **today)
    write_memory(folder, "ancient.md", **long_ago)
    write_memory(folder, "pinned.md", pinned=True, **long_ago)
    write_memory(folder, "doubted.md", status="challenged", **today)
    serve("get", "pinned", "--agent", "architect")
    found = serve("doctor", "--json").json
    told = [each for each in found if each["check"] == "agent architect, memories"]
    assert all(each["ok"] for each in told)
    assert [each["text"] for each in told] == [
        "1 stale, hardly any strength left: ancient.md",
        "1 cold, two weeks old and never read: ancient.md",
        "1 contradicted, their status is challenged: doubted.md",
        "1 held several times, word for word: ancient.md = doubted.md = one.md = pinned.md",
    ]


def test_the_doctor_repairs_a_damaged_database(serve, knowledge, run):
    run("list", "--agent", "architect")
    database = knowledge / "architect.sqlite"
    content = bytearray(database.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    database.write_bytes(content)
    assert "damaged" in checks(serve("doctor", "--json"), "architect")[0]
    assert checks(serve("doctor", "--json", "--fix"), "architect") == []
    assert len(run("list", "--agent", "architect", "--json").json) == 1
