"""An agent's database follows its files, and is nobody else's."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.store import AgentStore
from memory_sidecar.core.errors import (
    ModelCorrupt,
    NotFound,
    PathRefused,
    StoreForeign,
    UsageError,
)
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.results import Silent
from memory_sidecar.disk.usage import log_reads
from memory_sidecar.index.apply import ENGINE_DESCRIPTORS
from memory_sidecar.index.engine_state import EngineState
from memory_sidecar.index.report import count_vectors
from memory_sidecar.index.scheduler import Scheduler
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery, Sort
from memory_sidecar.memories.reads import count_reads
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionFilter
from tests.conftest import HashModels, Notices, write_memory
from tests.waiting import eventually, held_back

if sys.platform != "win32":
    import resource

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z
USER = {"role": "user", "content": "the token refresh fails"}


@pytest.fixture
def folder(data_dir):
    return data_dir / "knowledge" / "architect"


def paths(agent, reporter=None, **wanted):
    asked = MemoryList(filter=MemoryFilter(**wanted), sort=Sort.PATH, is_descending=False)
    return [row.path for row in Memories(agent, reporter or Silent()).list(asked)]


def found(agent, text, reporter=None, mode="hybrid"):
    query = MemoryQuery(text=text, mode=SearchMode(mode), top_k=3)
    return [hit.path for hit in Memories(agent, reporter or Silent()).query(query)]


def test_an_agent_without_memories_has_none_and_leaves_nothing(make_agent, data_dir):
    agent = make_agent("nobody")
    reporter = Notices()
    assert found(agent, "x", reporter) == []
    assert reporter.has("nobody has no memories yet")
    assert paths(agent) == []
    with pytest.raises(NotFound):
        Memories(agent, Silent()).get("x")
    assert not (data_dir / "knowledge").exists()


def test_an_agent_without_memories_reads_the_shared_ones(make_agent, data_dir):
    write_memory(data_dir / "knowledge" / "shared", "rule.md", "Write tests first.")
    assert found(make_agent("newcomer"), "tests first") == ["rule.md"]
    assert not (data_dir / "knowledge" / "newcomer.sqlite").exists()


def test_what_was_taken_up_is_found_by_word_and_by_meaning(make_agent, folder):
    agent = make_agent()
    write_memory(folder, "a/new.md", "Retry with a growing delay.")
    agent.index_written(["a/new.md"], reporter=Silent())
    for mode in SearchMode:
        assert found(agent, "growing delay", mode=mode) == ["a/new.md"]
    (folder / "a" / "new.md").unlink()
    agent.index_written(["a/new.md"], reporter=Silent())
    assert found(agent, "growing delay") == []


def test_changes_made_while_nobody_watched_are_found_by_the_next_process(make_agent, folder):
    write_memory(folder, "kept.md", "Kept as it is.")
    gone = write_memory(folder, "gone.md", "Soon gone.")
    assert paths(make_agent()) == ["gone.md", "kept.md"]
    gone.unlink()
    write_memory(folder, "added.md", "Came with a pull.")
    write_memory(folder, "kept.md", "Another text by hand.")
    agent = make_agent()
    assert paths(agent) == ["added.md", "kept.md"]
    assert found(agent, "another text by hand")[0] == "kept.md"


def vectors_pending(agent: Agent) -> int:
    with agent.short_connection() as connection:
        return count_vectors(connection, AgentStore.SCHEMA.corpora).pending


def test_a_disk_that_fails_under_the_engine_costs_a_notice_that_names_the_file(
    make_agent, folder, notices, monkeypatch
):
    write_memory(folder, "kept.md", "Kept as it is.")
    assert paths(make_agent()) == ["kept.md"]
    write_memory(folder, "added.md", "Came with a pull.")

    def fail(state: EngineState) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(EngineState, "note_opening", fail)
    agent = make_agent()
    assert paths(agent, notices) == ["kept.md"]
    state = agent.paths.flow_state("memories")
    assert notices.has(f"not indexed yet: {state} cannot be read or written: Input/output error")


def test_a_disk_that_fails_once_the_engine_is_open_leaves_it_usable(
    make_agent, folder, notices, monkeypatch
):
    def fail(state: EngineState) -> NoReturn:
        raise OSError(errno.EIO, "Input/output error")

    write_memory(folder, "kept.md", "Kept as it is.")
    assert paths(make_agent()) == ["kept.md"]
    write_memory(folder, "added.md", "Came with a pull.")
    agent = make_agent()
    with monkeypatch.context() as failing:
        failing.setattr(EngineState, "note_made", fail)
        assert paths(agent, notices) == ["kept.md"]
    assert notices.has("Input/output error")
    assert paths(agent) == ["added.md", "kept.md"]


def test_a_disk_that_fails_after_a_memory_is_written_costs_a_notice(make_agent, folder, notices):
    def fail() -> NoReturn:
        raise OSError(errno.EIO, "Input/output error", str(folder))

    agent = make_agent()
    agent.on_use = fail
    stored = Memories(agent, notices).store(Draft(content="Kept though the disk fails."))
    assert (folder / stored.path).is_file()
    assert notices.has(f"written, but not indexed yet: {folder} cannot be read or written")
    assert paths(make_agent()) == [stored.path]


def test_a_live_agent_follows_its_files(make_agent, folder):
    write_memory(folder, "one.md", "The first.")
    agent = make_agent()
    scheduler = Scheduler()
    scheduler.add(agent.data)
    scheduler.start()
    try:
        eventually(lambda: paths(agent) == ["one.md"])
        write_memory(folder, "deep/two.md", "The second.")
        eventually(lambda: paths(agent) == ["deep/two.md", "one.md"])
        (folder / "one.md").rename(folder / "deep" / "one.md")
        eventually(lambda: paths(agent) == ["deep/one.md", "deep/two.md"])
        eventually(lambda: vectors_pending(agent) == 0)
        assert found(agent, "the second", mode="vector")[:1] == ["deep/two.md"]
    finally:
        scheduler.close(until_s=time.monotonic() + 20)


@pytest.fixture
def begun(make_agent, folder):
    """A watched agent whose first pass was interrupted, or has just begun, as after an upgrade."""
    for number in range(20):
        write_memory(folder, f"{number:02}.md", f"Number {number}.")
    agent = make_agent()
    agent.data.open().begin_source("memories", root=folder, state_id="begun")
    scheduler = Scheduler()
    scheduler.add(agent.data)
    yield agent, scheduler.start
    scheduler.close(until_s=time.monotonic() + 20)


def test_the_first_answer_of_a_live_agent_waits_for_rows_where_it_has_none(
    begun, notices, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.index.database.FIRST_LOOK_S", 0.0)
    agent, start = begun
    start()
    assert len(paths(agent, notices)) == 20
    assert notices.said == []


def test_a_new_directory_is_waited_for_beside_memories_that_have_rows(
    make_agent, folder, tmp_path, notices, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.index.database.FIRST_LOOK_S", 0.0)
    write_memory(folder, "one.md", "The first.")
    assert paths(make_agent()) == ["one.md"]
    for number in range(20):
        write_memory(tmp_path / "notes", f"{number:02}.md", f"Number {number}.")
    agent = make_agent()
    agent.register(tmp_path / "notes")
    scheduler = Scheduler()
    scheduler.add(agent.data)
    scheduler.start()
    try:
        assert len(paths(agent, notices)) == 21
        assert not notices.has("notes")
    finally:
        scheduler.close(until_s=time.monotonic() + 20)


def write_slices(folder, monkeypatch) -> list[str]:
    """Write 20 memories, of which 8 are embedded at a time; return their files."""
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_TEXTS", 8)
    files = [f"{number:02}.md" for number in range(20)]
    for number, file in enumerate(files):
        write_memory(folder, file, f"Number {number}.")
    return files


def test_a_question_without_a_daemon_waits_for_many_vectors_only_a_while(
    make_agent, folder, notices, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.agents.agent.EMBED_WITHIN_S", 0.0)
    write_slices(folder, monkeypatch)
    agent = make_agent()
    assert found(agent, "number", notices)
    assert notices.has("% done")
    left = vectors_pending(agent)
    assert found(agent, "number")
    assert 0 < vectors_pending(agent) < left


def test_a_caller_without_a_daemon_waits_for_vectors_of_what_it_wrote_only_a_while(
    make_agent, folder, notices, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.agents.written.EMBED_WITHIN_S", 0.0)
    files = write_slices(folder, monkeypatch)
    agent = make_agent()
    agent.index(files, reporter=notices, directory="memories")
    assert vectors_pending(agent) == 12
    assert len(paths(agent)) == 20


def test_a_first_pass_that_takes_long_is_waited_for_once(begun, notices, monkeypatch):
    patience = "memory_sidecar.index.database.MISSING_PATIENCE_S"
    agent, start = begun
    with held_back(monkeypatch, MemoryBuilder, "build"):
        start()
        monkeypatch.setattr(patience, 0.2)
        assert paths(agent, notices) == []
        monkeypatch.setattr(patience, 3600.0)
        assert paths(agent, notices) == []
        said = "architect is not completely indexed yet: ask again for what this answer lacks"
        assert notices.said == [said, said]
    assert agent.data.wait_fresh(patience_s=60.0)
    notices.said.clear()
    assert len(paths(agent, notices)) == 20
    assert notices.said == []


SUBJECTS = ("cache", "queue", "price", "token", "scene")
ASIDES = (
    "fails",
    "of the worker",
    "K-003",
    "is slow",
    "日本",
    "never",
    "and",
    "stops",
    "area",
    "x",
)
QUESTIONS = [f"{subject} {aside}" for subject in SUBJECTS for aside in ASIDES]


def answers(agent):
    """Everything that fifty questions and some lists tell, as text."""
    told: list[Any] = []
    for number, text in enumerate(QUESTIONS):
        wanted = MemoryFilter(with_superseded=number % 2 > 0)
        query = MemoryQuery(
            text=text, mode=list(SearchMode)[number % 3], filter=wanted, explain=True
        )
        hits = Memories(agent, Silent()).query(query)
        told += hits
    for sort in Sort:
        told += Memories(agent, Silent()).list(MemoryList(sort=sort))
    assert len(told) > 500
    return "\n".join(map(str, told))


def test_a_database_made_again_gives_the_same_answers_to_the_byte(make_agent, folder, data_dir):
    words = "cache queue price token scene worker fails slow never stops draft 日本語".split()
    for number in range(60):
        text = " ".join(words[(number * step) % len(words)] for step in range(1, 9))
        meta = {
            "tags": [words[number % 5], f"area:{words[number % 7]}"],
            "summary": f"About {number}",
        }
        write_memory(folder, f"{words[number % 4]}/{number % 9}/note-{number}.md", text, **meta)
    write_memory(folder, "projects/p/knowledge/K-003.md", "The cache is slow.", status="superseded")
    write_memory(folder, "newer.md", "The queue is fast.", supersedes=["queue/1/note-1"])
    (folder / "cache" / "_category.md").write_text("---\ndescription: Caches\n---\n")
    write_memory(data_dir / "knowledge" / "shared", "rule.md", "The token never fails.")
    agent = make_agent(clock=lambda: NOW)
    assert paths(agent)
    for number in range(0, 60, 7):  # so that its rows are not in the order of a first run
        path = f"{words[number % 4]}/{number % 9}/note-{number}.md"
        write_memory(folder, path, f"token scene {number}", tags=["area:draft"])
        agent.index_written([path], reporter=Silent())
    Memories(agent, Silent()).get("newer")
    before = answers(agent)
    agent.close()
    for database in (data_dir / "knowledge").glob("*.sqlite*"):
        database.unlink()
    (data_dir / "embeddings.sqlite").unlink()
    agent = make_agent(clock=lambda: NOW)
    agent.rebuild(reporter=Silent())
    assert answers(agent) == before


def test_a_lost_database_is_made_again_with_a_notice(make_agent, folder, data_dir, notices):
    write_memory(folder, "one.md", "The first.")
    assert paths(make_agent()) == ["one.md"]
    for database in (data_dir / "knowledge").glob("*.sqlite*"):
        database.unlink()
    agent = make_agent()
    assert found(agent, "the first", notices) == ["one.md"]
    assert notices.has("indexing it")


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_list_waits_for_no_vectors_and_a_query_for_those_of_memories(
    make_agent, folder, data_dir, monkeypatch, is_lost
):
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_TEXTS", 1)
    Sessions(make_agent(), Silent()).save({"session_id": "a", "messages": [USER]})
    (saved,) = data_dir.rglob("a.json")
    if is_lost:
        for database in data_dir.rglob("*.sqlite*"):
            database.unlink()
    # As a process leaves it that is killed before it embeds.
    other = saved.read_text().replace('"a"', '"b"').replace("refresh", "renewal")
    saved.with_name("b.json").write_text(other)
    write_memory(folder, "retry.md", "Retry with a growing delay.")
    agent = make_agent()
    embedded = agent.data.models.embedder.embedded
    assert paths(agent) == ["retry.md"]
    assert len(Sessions(agent, Silent()).list_sessions(SessionFilter())) == 2
    assert Memories(agent, Silent()).get("retry").uses == 0
    assert found(agent, "growing delay", mode="keyword") == ["retry.md"]
    assert embedded == []
    assert found(agent, "growing delay", mode="vector") == ["retry.md"]
    assert embedded == ["Retry with a growing delay."]
    agent.index_written(["retry.md"], reporter=Silent())
    assert len(embedded) == 1
    assert agent.rebuild(reporter=Silent()).vectors_pending == 0
    assert len(embedded) > 1


def test_a_damaged_database_is_made_again_with_a_notice(make_agent, folder, data_dir, notices):
    write_memory(folder, "one.md", "The first.")
    agent = make_agent()
    assert paths(agent) == ["one.md"]
    agent.close()
    database = data_dir / "knowledge" / "architect.sqlite"
    content = bytearray(database.read_bytes())
    content[100 : len(content)] = os.urandom(len(content) - 100)
    database.write_bytes(content)
    for leftover in (data_dir / "knowledge").glob("*.sqlite-*"):
        leftover.unlink()
    agent = make_agent()
    assert found(agent, "the first", notices) == ["one.md"]
    assert notices.has("rebuilding it")
    write_memory(folder, "two.md", "The second.")
    agent.index_written(["two.md"], reporter=notices)
    assert paths(agent) == ["one.md", "two.md"]


def test_no_agent_sees_what_another_one_has(make_agent, data_dir):
    for name in ("architect", "tester"):
        write_memory(data_dir / "knowledge" / name, f"{name}.md", f"Only for the {name}.")
    architect, tester = make_agent(), make_agent("tester")
    assert found(architect, "only for the tester") == ["architect.md"]
    assert paths(tester) == ["tester.md"]
    for path in ("tester.md", "../tester/tester.md", "../tester/tester"):
        with pytest.raises(NotFound):
            Memories(architect, Silent()).get(path)
    for root in (data_dir / "knowledge" / "tester", data_dir / "knowledge", data_dir):
        with pytest.raises(PathRefused):
            architect.register(root)


def test_a_database_belongs_to_one_agent(make_agent, folder, data_dir):
    write_memory(folder, "one.md", "The first.")
    assert paths(make_agent()) == ["one.md"]
    database = data_dir / "knowledge" / "architect.sqlite"
    models = HashModels(data_dir / "embeddings.sqlite")
    other = Agent(AgentPaths(database, "tester"), models=models, clock=lambda: NOW, shared=None)
    write_memory(data_dir / "knowledge" / "tester", "two.md", "The second.")
    for ask in (lambda: paths(other), lambda: other.index_written(["two.md"], reporter=Silent())):
        with pytest.raises(UsageError, match="holds what is 'architect''s"):
            ask()
    other.close()
    models.close()
    assert paths(make_agent()) == ["one.md"]


@pytest.mark.parametrize(
    "name", ["knowledge", "knowledge/architect", "knowledge/.state", "episodic/architect"]
)
def test_none_of_its_folders_may_be_a_link(make_agent, data_dir, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    write_memory(elsewhere, "one.md", "The first.")
    (data_dir / name).parent.mkdir(parents=True, exist_ok=True)
    (data_dir / name).symlink_to(elsewhere)
    for ask in (paths, lambda agent: agent.rebuild(reporter=Silent())):
        with pytest.raises(PathRefused, match="symbolic link"):
            ask(make_agent())
    assert [file.name for file in elsewhere.rglob("*")] == ["one.md"]


def test_reads_are_counted_and_outlast_the_database(make_agent, folder, data_dir):
    file = write_memory(folder, "one.md", "The first.")
    before = file.read_bytes()
    agent = make_agent(clock=lambda: NOW)
    for _ in range(3):
        read = Memories(agent, Silent()).get("one")
    assert (read.agent, read.uses, read.content) == ("architect", 2, "The first.")
    assert file.read_bytes() == before
    agent.close()
    (data_dir / "knowledge" / "architect.sqlite").unlink()
    assert Memories(make_agent(clock=lambda: NOW), Silent()).get("one.md").uses == 3
    log = data_dir / "knowledge" / ".state" / "architect" / "access.jsonl"
    assert [json.loads(line)["file"] for line in log.read_text().splitlines()] == ["one.md"] * 4


def test_asking_is_not_reading(make_agent, folder):
    write_memory(folder, "one.md", "The first.")
    agent = make_agent(clock=lambda: NOW)
    found(agent, "the first")
    paths(agent)
    assert Memories(agent, Silent()).get("one").uses == 0


def test_a_registered_directory_is_read_and_left_alone(make_agent, folder, tmp_path, notices):
    notes = tmp_path / "project" / ".cortex" / "memory"
    write_memory(notes, "decisions/db.md", "We use one database for each agent.")
    write_memory(folder, "own.md", "Own words.")
    agent = make_agent()
    source = agent.register(notes)
    assert source.name == "memory"
    assert paths(agent) == ["memory:decisions/db.md", "own.md"]
    assert paths(agent, category="decisions") == ["memory:decisions/db.md"]
    assert Memories(agent, Silent()).get("memory:decisions/db").path == "memory:decisions/db.md"
    assert list(notes.rglob("*.*")) == [notes / "decisions" / "db.md"]
    agent.remove("memory", reporter=Silent())
    assert paths(agent) == ["own.md"]
    assert (notes / "decisions" / "db.md").exists()


def test_an_index_of_a_directory_waits_for_the_vectors_of_that_alone(make_agent, folder, tmp_path):
    notes = tmp_path / "notes"
    write_memory(notes, "db.md", "We use one database for each agent.")
    write_memory(folder, "own.md", "Own words.")
    agent = make_agent()
    registered = agent.register(notes)
    assert agent.data.update(agent.sources(), Silent(), embed=False).vectors_pending == 2
    report = agent.data.update([registered], Silent())
    assert (report.vectors_embedded, report.vectors_pending) == (1, 0)
    assert agent.data.update([agent.source("memories")], Silent()).vectors_embedded == 1


def test_a_registered_directory_that_is_gone_keeps_its_rows(make_agent, folder, tmp_path):
    notes = tmp_path / "mount" / "notes"
    write_memory(notes, "db.md", "We use one database for each agent.")
    write_memory(folder, "own.md", "Own words.")
    agent = make_agent()
    agent.register(notes)
    assert paths(agent) == ["notes:db.md", "own.md"]
    notes.parent.rename(tmp_path / "elsewhere")
    assert paths(make_agent()) == ["notes:db.md", "own.md"]
    notes.mkdir(parents=True)
    assert paths(make_agent()) == ["notes:db.md", "own.md"]


def test_all_own_memories_may_go(make_agent, folder):
    write_memory(folder, "own.md", "Own words.")
    assert paths(make_agent()) == ["own.md"]
    shutil.rmtree(folder)
    folder.mkdir()
    assert paths(make_agent()) == []
    write_memory(folder, "own.md", "Own words.")
    assert paths(make_agent()) == ["own.md"]
    shutil.rmtree(folder)
    assert paths(make_agent()) == []


def test_a_list_with_the_shared_ones_is_one_list(make_agent, folder, data_dir):
    for number in range(6):
        owner = folder if number % 2 else data_dir / "knowledge" / "shared"
        write_memory(owner, f"{number}.md", updated_at=f"2026-01-0{number + 1}")
    agent = make_agent()

    def listed(**asked):
        rows = Memories(agent, Silent()).list(MemoryList(**asked), with_shared=True)
        return "".join(row.path[0] for row in rows)

    assert listed() == "543210"
    assert listed(limit=2, offset=1) == "43"
    assert listed(limit=2, offset=5) == "0"
    for sort in Sort:
        assert listed(sort=sort, is_descending=False) in ("012345", "543210"[::-1])


def test_a_writer_without_the_lock_waits_for_whoever_has_it(make_agent, folder):
    write_memory(folder, "one.md", "The first.")
    watching, writing = make_agent(), make_agent()
    scheduler = Scheduler()
    scheduler.add(watching.data)
    scheduler.start()
    try:
        eventually(lambda: paths(watching) == ["one.md"])
        write_memory(folder, "two.md", "The second.")
        writing.index_written(["two.md"], reporter=Silent())
        assert paths(writing) == ["one.md", "two.md"]
    finally:
        scheduler.close(until_s=time.monotonic() + 20)


def test_what_was_saved_by_hand_is_found_though_another_process_writes(
    make_agent, folder, data_dir, notices, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.index.database.FIRST_LOOK_S", 60.0)
    write_memory(folder, "one.md", "The first.")
    assert paths(make_agent()) == ["one.md"]
    write_memory(folder, "two.md", "The second.")
    agent = make_agent()
    other_process = WriterLock(agent.paths.writer_lock, data_dir=data_dir)
    assert other_process.acquire()
    with ThreadPoolExecutor(1) as pool:
        listed = pool.submit(paths, agent, notices)
        eventually(lambda: notices.has("waiting: ") or listed.done())
        other_process.release()
        assert listed.result() == ["one.md", "two.md"]


def test_a_question_beside_a_process_that_writes_for_long_says_if_something_is_missing(
    make_agent, folder, data_dir, notices
):
    write_memory(folder, "one.md", "The first.")
    assert paths(make_agent()) == ["one.md"]
    agent = make_agent()
    other_process = WriterLock(agent.paths.writer_lock, data_dir=data_dir)
    assert other_process.acquire()
    assert paths(agent, notices) == ["one.md"]
    assert notices.said == []  # nothing has changed
    agent = make_agent()
    write_memory(folder, "two.md", "The second.")
    assert paths(agent, notices) == ["one.md"]
    assert notices.has("what has changed is not indexed yet: ")
    other_process.release()
    assert paths(agent) == ["one.md", "two.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits this process")
def test_a_question_of_a_process_that_may_open_few_files_says_why_something_is_missing(
    make_agent, folder, notices
):
    write_memory(folder, "one.md", "The first.")
    assert paths(make_agent()) == ["one.md"]
    write_memory(folder, "two.md", "The second.")
    agent = make_agent()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Opened, since a thread in accept() has a number that is listed nowhere.
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(ENGINE_DESCRIPTORS + 1)]
    for number in opened:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened[-1], limits[1]))
    try:
        assert paths(agent, notices) == ["one.md"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert notices.has("not indexed yet: as many files are open as this process may open")
    assert paths(make_agent()) == ["one.md", "two.md"]


def test_first_rows_that_another_process_keeps_from_being_written_are_waited_for_once(
    make_agent, folder, data_dir, notices, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.index.database.MISSING_PATIENCE_S", 0.2)
    monkeypatch.setattr("memory_sidecar.index.database.FIRST_LOOK_S", 0.0)
    write_memory(folder, "one.md", "The first.")
    agent = make_agent()
    other_process = WriterLock(agent.paths.writer_lock, data_dir=data_dir)
    assert other_process.acquire()
    for _ in range(2):
        assert paths(agent, notices) == []
    assert sum(each.startswith("waiting: ") for each in notices.said) == 1
    other_process.release()
    assert paths(agent) == ["one.md"]


def test_first_rows_of_both_agents_are_waited_for_together(
    make_agent, folder, data_dir, notices, monkeypatch
):
    patience = "memory_sidecar.index.database.MISSING_PATIENCE_S"
    monkeypatch.setattr(patience, 0.2)
    go_on, gone_on = threading.Event(), list[bool]()
    build = MemoryBuilder.build

    def held(builder: MemoryBuilder, file: Any) -> Any:
        monkeypatch.setattr(patience, 3600.0)  # of a wait that begins only now
        gone_on.append(go_on.wait(20))
        return build(builder, file)

    monkeypatch.setattr(MemoryBuilder, "build", held)
    write_memory(folder, "one.md")
    write_memory(data_dir / "knowledge" / "shared", "two.md")
    agent = make_agent()
    scheduler = Scheduler()
    scheduler.add(agent.data)
    scheduler.add(agent.shared.data)
    try:
        assert Memories(agent, notices).list(MemoryList(), with_shared=True) == []
        assert not gone_on
    finally:
        go_on.set()
        scheduler.close(until_s=time.monotonic() + 20)


def test_an_older_database_that_is_made_anew_by_now_is_no_news(make_agent, folder, notices):
    write_memory(folder, "one.md", "The first.")
    before = make_agent()
    assert paths(before) == ["one.md"]
    with before.data.open().writing() as write:
        write.connection.pragma("user_version", AgentStore.SCHEMA.version - 1)
    before.data.close()
    agent = make_agent()
    scheduler = Scheduler()
    scheduler.add(agent.data)
    scheduler.start()
    try:
        assert agent.data.wait_fresh(patience_s=60.0)
        assert paths(agent, notices) == ["one.md"]
        assert notices.said == []
    finally:
        scheduler.close(until_s=time.monotonic() + 20)


def test_a_cross_encoder_that_does_not_load_costs_a_notice(make_agent, folder, notices):
    class Broken:
        def judge(self, question, texts):
            raise ModelCorrupt("it does not load", hint="get it anew")

    for number in range(3):
        write_memory(folder, f"{number}.md", f"The retry queue {number}.")
    agent = make_agent()
    before = found(agent, "retry queue")
    agent.data.models._reranker = Broken()
    assert found(agent, "retry queue", notices) == before
    assert notices.has("not reranked: it does not load")


def test_a_shared_database_that_cannot_be_used_costs_a_notice(
    make_agent, folder, data_dir, notices
):
    write_memory(folder, "one.md", "The first.")
    write_memory(data_dir / "knowledge" / "shared", "two.md", "The second.")
    (data_dir / "knowledge" / "shared.sqlite").write_bytes(b"something else" * 100)
    assert found(make_agent(), "the first", notices) == ["one.md"]
    assert notices.has("without shared memories")
    with pytest.raises(StoreForeign):
        found(make_agent("newcomer"), "the first")


@pytest.mark.parametrize("agent", ["newcomer", "shared"])
def test_a_folder_registered_for_a_new_agent_is_found_by_meaning(
    make_agent, tmp_path, notices, agent
):
    write_memory(tmp_path / "notes", "retry.md", "Retry with a growing delay.")
    registered = make_agent(agent)
    scheduler = Scheduler()
    scheduler.add(registered.data)
    scheduler.start()
    try:
        registered.register(tmp_path / "notes")
        asked = MemoryQuery(text="growing delay", top_k=1, explain=True)
        eventually(
            lambda: any(
                hit.explain and hit.explain.cosine
                for hit in Memories(registered, Silent()).query(asked)
            )
        )
        assert found(registered, "growing delay", mode="vector") == ["notes:retry.md"]
    finally:
        scheduler.close(until_s=time.monotonic() + 20)
    notices.said.clear()
    assert found(make_agent(agent), "growing delay", notices) == ["notes:retry.md"]
    assert notices.said == []


def test_a_remedy_that_is_named_works(make_agent, folder, notices):
    write_memory(folder, "retry.md", "Retry with a growing delay.")
    found(make_agent(), "growing delay")
    agent = make_agent(model="2")
    agent.data._has_compared_files = True  # as a reader beside the process that has the lock
    assert found(agent, "growing delay", notices) == ["retry.md"]
    assert notices.has("another model; `memory-sidecar reindex --agent architect` makes new ones")
    notices.said.clear()
    agent.rebuild(reporter=Silent())
    assert found(agent, "growing delay", notices, mode="vector") == ["retry.md"]
    assert notices.said == []


def test_reads_of_many_threads_are_counted_once(make_agent, folder):
    write_memory(folder, "one.md", "The first.")
    agent = make_agent(clock=lambda: NOW)
    assert paths(agent) == ["one.md"]
    log_reads(agent.paths.tree, agent.paths.access_log, ["one.md"] * 1_000, tool="get", at_ms=NOW)
    readers = [threading.Thread(target=count_reads, args=[agent]) for _ in range(6)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert Memories(agent, Silent()).get("one").uses == 1_000
