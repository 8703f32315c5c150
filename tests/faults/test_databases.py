"""A database file that is old, new, broken or somebody else's."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.sqlite import APPLICATION_ID
from memory_sidecar.index import store_file
from tests.conftest import write_other_project
from tests.faults.conftest import everyday


@pytest.fixture
def db(run, project, known_vectors, data_dir: Path) -> Path:
    """A database with `project` in it, and nothing else open."""
    assert run("index", project).status == 0
    return data_dir / "codebase.sqlite"


def make_older(db: Path) -> None:
    """Have it be of a schema before the first: only the header tells."""
    with db.open("r+b") as file:
        file.seek(60)
        file.write((-1).to_bytes(4, signed=True))


def set_version(db: Path, version: int) -> None:
    connection = sqlite3.connect(db)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


COMMANDS = [("index",), ("search", "--all", "total_price"), ("status",), ("reindex", "--all")]


@pytest.fixture(params=COMMANDS, ids=" ".join)
def command(request: pytest.FixtureRequest) -> tuple[str, ...]:
    arguments: tuple[str, ...] = request.param
    return arguments


MENDS = [("doctor", "--fix"), ("reindex", "--all"), ("search", "--all", "total_price"), ("index",)]


@pytest.mark.parametrize("answer", [("index",), ("search", "--all", "total_price")], ids=" ".join)
def test_an_older_schema_is_set_aside_until_it_is_made_again(run, db, answer):
    before = run("search", "--all", "total_price", "--json").out
    set_version(db, CodeStore.SCHEMA.version + 1000)
    make_older(db)
    done = run(*answer, "--json")
    assert done.status == 0
    assert "older version: rebuilding it" in done.err
    assert "holds nothing" not in done.err  # it is said once
    assert run("search", "--all", "total_price", "--json").out == before
    assert not list(db.parent.glob("*.old*"))


def test_what_was_set_aside_stays_while_it_alone_knows_a_source_and_goes_with_that(
    run, db, tmp_path
):
    away = write_other_project(tmp_path / "away")
    assert run("index", away).status == 0
    away.rename(tmp_path / "unplugged")
    make_older(db)
    old = db.with_name("codebase.sqlite.old")
    lists = list((db.parent / "state" / "codebase").glob("sources.json*"))
    for command in (("index",), ("search", "--all", "total_price"), ("index", "--full")):
        assert run(*command).status == 0
        assert b"switch_on" in old.read_bytes()
    assert run("source", "remove", "away").status == 0
    assert not list(db.parent.glob("*.old*"))
    for file in lists:
        file.unlink()
    assert [each["name"] for each in run("source", "list", "--json").json] == ["project"]


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
def test_a_pipe_in_the_place_of_what_was_set_aside_is_not_waited_for(run, db):
    pipe = db.with_name("codebase.sqlite.old")
    os.mkfifo(pipe)
    db.with_name("codebase.sqlite.old-wal").write_bytes(b"")
    assert run("index").status == 0
    assert pipe.is_fifo()


def test_what_was_set_aside_of_no_database_of_ours_stays(run, db):
    db.write_text("my notes\n" * 1000)
    for command in (("index",), ("index", "--full"), ("source", "remove", "project")):
        assert run(*command).status == 0
        assert db.with_name("codebase.sqlite.old").read_text() == "my notes\n" * 1000


def test_the_doctor_leaves_an_older_schema_alone_until_it_is_to_mend(run, db):
    set_version(db, CodeStore.SCHEMA.version + 1000)
    make_older(db)
    before = db.read_bytes()
    done = run("doctor")
    assert done.status == 0
    assert f"{db} is of an older version" in done.out
    assert db.read_bytes() == before
    assert run("doctor", "--fix").status == 0
    assert run("search", "--all", "total_price").err == ""


@pytest.mark.parametrize("asked", [*COMMANDS, ("doctor",)], ids=" ".join)
def test_an_older_schema_that_a_process_writes_is_left_to_it(run, db, asked, monkeypatch):
    monkeypatch.setattr(store_file, "OLDER_PATIENCE_S", 0.0)
    set_version(db, CodeStore.SCHEMA.version + 1000)
    make_older(db)
    before = db.read_bytes()
    older = WriterLock(StorePaths(db).writer_lock, data_dir=db.parent)
    assert older.acquire()
    done = run(*asked)
    assert done.status == 1
    assert f"process {os.getpid()}, data directory {db.parent}" in done.out + done.err
    assert db.read_bytes() == before
    older.release()
    assert run("search", "--all", "total_price").status == 0


def test_a_newer_schema_is_refused_and_left(run, db, command):
    set_version(db, CodeStore.SCHEMA.version + 1)
    before = db.read_bytes()
    done = run(*command, "--json")
    assert (done.status, done.error["code"]) == (1, "store_newer")
    assert done.error["hint"].startswith(f"update memory-sidecar, or delete {db}*")
    assert db.read_bytes() == before


def test_a_text_file_is_refused_and_left(run, db, project, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes\n" * 1000)
    for command in (["index", project], ["search", "total_price"], ["status"], ["index"]):
        done = run(*command, "--json", "--db", notes)
        assert (done.status, done.error["code"]) == (1, "store_foreign")
    assert notes.read_text() == "my notes\n" * 1000


@pytest.mark.parametrize("mends", everyday(MENDS, every=2), ids=" ".join)
def test_a_text_file_in_the_place_of_a_database_of_ours_is_set_aside(run, db, mends):
    before = run("search", "--all", "total_price", "--json").out
    db.write_text("my notes\n" * 1000)
    done = run(*mends, "--json")
    assert done.status == 0
    assert f"{db} is damaged" in done.err
    assert run("search", "--all", "total_price", "--json").out == before
    assert db.with_name("codebase.sqlite.old").read_text() == "my notes\n" * 1000


def test_the_status_says_in_one_line_that_it_sets_a_damaged_database_aside(run, db):
    db.write_text("my notes\n" * 1000)
    told = f"note: {db} is damaged (file is not a database): rebuilding it\n"
    assert run("status", "--json").err == told
    assert run("status", "--json").err == ""


def test_the_loss_of_the_database_and_of_its_list_of_sources_is_told(run, db, project):
    for file in (db.parent / "state" / "codebase").glob("sources.json*"):
        file.unlink()
    db.write_text("my notes\n" * 1000)
    for damage in (
        f"{db} is damaged (file is not a database)",
        f"that with rows was set aside as {db}.old",
    ):
        for question in (("search", "total_price"), ("reindex", "--all")):
            done = run(*question)
            assert (
                f"sources.json is missing: 0 sources taken from the database: {damage}" in done.err
            )
            assert done.status == 3
        run("status")  # sets it aside
    assert run("index", project).status == 0
    assert run("search", "total_price", "--all").err == ""


def test_the_status_of_an_older_database_whose_list_of_sources_is_lost_names_them(run, db):
    for file in (db.parent / "state" / "codebase").glob("sources.json*"):
        file.unlink()
    make_older(db)
    done = run("status", "--json")
    assert done.status == 0
    assert "sources.json is missing: 1 source taken from the database, without" in done.err
    assert [each["name"] for each in done.json["sources"]] == ["project"]


@pytest.mark.parametrize("answer", COMMANDS, ids=" ".join)
def test_an_older_database_whose_list_of_sources_is_lost_keeps_them(run, db, tmp_path, answer):
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "a.py").write_text("def okapi(): pass\n")
    run("index", tmp_path / "second")
    for file in (db.parent / "state" / "codebase").glob("sources.json*"):
        file.unlink()
    make_older(db)
    done = run(*answer, "--json")
    assert (done.status, done.err.count("2 sources taken from the database")) == (0, 1)
    assert run("search", "okapi", "--all").out
    assert {each["name"] for each in run("source", "list", "--json").json} == {"project", "second"}


def test_a_text_file_in_the_place_of_an_agents_database_is_set_aside(run, data_dir):
    assert run("store", "carts are emptied at night", "--agent", "a").status == 0
    before = run("query", "carts", "--agent", "a", "--json").json
    db = data_dir / "knowledge" / "a.sqlite"
    db.write_text("my notes\n" * 1000)
    assert run("store", "carts are red", "--agent", "a").status == 0
    assert len(run("query", "carts", "--agent", "a", "--json").json) == len(before) + 1
    assert db.with_name("a.sqlite.old").read_text() == "my notes\n" * 1000


def test_another_programs_database_is_refused_and_left(run, db, command):
    db.unlink()
    connection = sqlite3.connect(db)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
    connection.commit()
    connection.close()
    before = db.read_bytes()
    done = run(*command, "--json")
    assert (done.status, done.error["code"]) == (1, "store_foreign")
    assert db.read_bytes()[100:] == before[100:]


def test_our_own_vector_cache_is_no_database_of_code(run, project, known_vectors, data_dir):
    cache = data_dir / "embeddings.sqlite"
    done = run("index", project, "--db", cache)
    assert (done.status, done.error["code"]) == (1, "store_foreign")
    with closing(sqlite3.connect(cache)) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone()[0] > 0


@pytest.mark.parametrize(
    ("left", "answer"),
    [(0.9, ("index",)), (0.5, ("search", "--all", "total_price")), (0.05, ("reindex", "--all"))],
)
def test_a_truncated_database_is_made_again(run, db, left, answer):
    before = run("search", "--all", "total_price", "--json").out
    size = db.stat().st_size
    with db.open("r+b") as file:
        file.truncate(max(int(size * left), 100))
    done = run(*answer, "--json")
    assert (done.status, json.loads(done.out) != []) == (0, True)
    assert run("search", "--all", "total_price", "--json").out == before
    assert run("doctor", "--json").status == 0


def test_damage_in_the_middle_is_made_again(run, db):
    before = run("search", "--all", "total_price", "--json").out
    content = bytearray(db.read_bytes())
    content[4096 : len(content) - 4096] = b"\xaa" * (len(content) - 8192)
    db.write_bytes(content)
    done = run("doctor", "--fix", "--json")
    assert done.status == 0
    assert run("search", "--all", "total_price", "--json").out == before


def test_an_empty_file_is_made_a_database(run, db):
    before = run("search", "--all", "total_price", "--json").out
    db.write_bytes(b"")
    assert run("search", "--all", "total_price", "--json").out == before


@pytest.mark.parametrize("mends", everyday(MENDS, every=2), ids=" ".join)
@pytest.mark.parametrize("damage", ["first bytes", "emptied"])
def test_what_was_ours_is_made_again_without_its_log(run, db, damage, mends):
    before = run("search", "--all", "total_price", "--json").out
    log = db.with_name("codebase.sqlite-wal")
    log.write_bytes(b"what was not in the file yet")
    if damage == "emptied":
        db.write_bytes(b"")
    else:
        with db.open("r+b") as file:
            file.write(b"\xff" * 16)
    done = run(*mends, "--json")
    assert done.status == 0
    assert run("search", "--all", "total_price", "--json").out == before
    assert run("doctor", "--json").status == 0
    if damage != "emptied":
        assert "rebuilding it" in done.err
        assert not list(db.parent.glob("*.old*"))


@pytest.mark.parametrize("damage", ["first bytes", "emptied", "deleted"])
@pytest.mark.parametrize("mends", everyday(MENDS, every=2), ids=" ".join)
def test_what_becomes_of_an_open_database_is_noticed(
    serve, project, known_vectors, data_dir, damage, mends
):
    assert serve("index", project).status == 0
    before = serve("search", "--all", "total_price", "--json").out
    db = data_dir / "codebase.sqlite"
    if damage == "deleted":
        db.unlink()
    elif damage == "emptied":
        db.write_bytes(b"")
    else:
        with db.open("r+b") as file:
            file.write(b"\xff" * 16)
    assert serve(*mends, "--json").status == 0
    assert serve("search", "--all", "total_price", "--json").out == before
    assert serve("doctor", "--json").status == 0


def test_an_agents_database_that_is_damaged_while_it_is_open_answers_all_the_same(serve, data_dir):
    for number in range(3):
        text = f"a lesson on retries, number {number}"
        assert serve("store", text, "--agent", "a", "--category", "pitfall").status == 0
    asked = ("query", "retries", "--agent", "a", "--no-rerank", "--json")
    before = serve(*asked).out
    assert len(json.loads(before)) == 3
    db = data_dir / "knowledge" / "a.sqlite"
    for damaged in (b"", b"\xff" * 16, b"\0" * 8192):
        with db.open("r+b") as file:
            file.write(damaged)
            file.truncate(len(damaged) if not damaged else None)
        assert serve(*asked).out == before
        assert serve("doctor", "--json").status == 0


def test_a_folder_in_its_place_is_refused(run, db, command):
    db.unlink()
    db.mkdir()
    done = run(*command, "--json")
    assert done.status == 1
    assert done.error["code"] == "store_foreign"


def test_a_broken_registry_is_named(run, db, command):
    registry = db.parent / "state" / "codebase" / "sources.json"
    registry.write_text('{"version": 1, "sources": [')
    done = run(*command, "--json")
    assert (done.status, done.error["code"]) == (1, "store_foreign")
    assert str(registry) in done.error["message"]


@pytest.mark.parametrize("left", [b"", b"\n", b"\0" * 512])
@pytest.mark.parametrize("origin", ["sources.json~", "the database"])
def test_the_sources_of_an_emptied_registry_come_from_elsewhere(run, db, project, left, origin):
    registry = db.parent / "state" / "codebase" / "sources.json"
    before = json.loads(registry.read_text())
    registry.write_bytes(left)
    if origin == "the database":
        registry.with_name("sources.json~").write_bytes(left)
    for command in (["status"], ["source", "list"], ["search", "total_price", "--all"]):
        done = run(*command, "--json")
        assert done.err.count(f"sources.json is empty: 1 source taken from {origin}") == 1
        assert "project" in done.out
    done = run("index", project, "--json").json
    assert (done["files_processed"], done["sources"]) == (0, ["project"])
    assert json.loads(registry.read_text()) == before
    assert run("source", "list", "--json").err == ""


@pytest.mark.parametrize("lost", ["sources.json*", "**/*"], ids=["the list", "all state"])
def test_the_sources_of_a_deleted_registry_come_from_the_database(run, db, project, lost):
    registry = db.parent / "state" / "codebase" / "sources.json"
    before = json.loads(registry.read_text())
    for path in [path for path in registry.parent.glob(lost) if path.is_file()]:
        path.unlink()
    done = run("search", "total_price", "--all", "--json")
    assert done.json
    assert "sources.json is missing: 1 source taken from the database" in done.err
    assert run("index", project, "--json").json["sources"] == ["project"]
    assert json.loads(registry.read_text()) == before


def test_an_emptied_registry_keeps_what_the_user_left_out(run, db, project):
    (project / "notes.txt").write_text("the vault opens at nine\n")
    run("index", project, "--exclude", "*.txt", "--json")
    registry = db.parent / "state" / "codebase" / "sources.json"
    before = json.loads(registry.read_text())
    registry.write_bytes(b"")
    assert run("index", "--json").status == 0
    found = run("search", "the vault opens at nine", "--all", "--mode", "keyword", "--json").json
    assert "notes.txt" not in {each["filename"] for each in found}
    run("index", project, "--json")
    assert json.loads(registry.read_text()) == before


@pytest.mark.parametrize("origin", ["sources.json~", "the database"])
def test_the_directories_of_a_lost_registry_come_from_elsewhere(run, db, tmp_path, origin):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "till.md").write_text("# The till opens at nine\n")
    run("source", "add", notes, "--agent", "a", "--json")
    before = run("list", "--agent", "a", "--json").json
    registry = db.parent / "knowledge" / ".state" / "a" / "sources.json"
    registry.unlink()
    if origin == "the database":
        registry.with_name("sources.json~").unlink()
    done = run("list", "--agent", "a", "--json")
    assert done.json == before != []
    assert f"sources.json is missing: 1 source taken from {origin}" in done.err


def test_a_source_of_an_emptied_registry_can_be_removed(run, db):
    (db.parent / "state" / "codebase" / "sources.json").write_bytes(b"")
    assert run("source", "remove", "project", "--json").json["name"] == "project"
    assert run("source", "list", "--json").json == []


def test_no_other_source_is_lost_while_the_registry_is_empty(run, db, tmp_path):
    (db.parent / "state" / "codebase" / "sources.json").write_bytes(b"")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "more.py").write_text("def more(): ...")
    assert run("index", tmp_path / "other", "--json").status == 0
    assert [each["name"] for each in run("source", "list", "--json").json] == ["project", "other"]
    assert run("search", "total_price", "--all", "--json").json


def test_a_broken_state_folder_is_made_again(run, db, project):
    before = run("search", "--all", "total_price", "--json").out
    for path in (db.parent / "state" / "codebase" / "project" / "cocoindex").rglob("*.mdb"):
        path.write_bytes(b"no such thing")
    (project / "new.py").write_text("def brand_new(): pass\n")
    assert run("index", "--json").status == 0
    assert run("search", "--all", "brand_new", "--json").json[0]["filename"] == "new.py"
    assert (
        run("search", "--all", "total_price", "--top-k", "1", "--json").json[0]["filename"]
        == (json.loads(before)[0]["filename"])
    )


def test_our_id_is_in_the_header(db):
    assert db.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4)
