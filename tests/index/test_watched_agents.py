"""The daemon follows the files of every agent, also of those that come later."""

from __future__ import annotations

import threading

import pytest

from memory_sidecar.agents import written
from memory_sidecar.agents.watching import Watching
from memory_sidecar.core.results import Silent
from memory_sidecar.core.sqlite import column
from memory_sidecar.index.embed import count_waiting
from memory_sidecar.index.scheduler import MAX_AT_ONCE
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryList, MemoryQuery
from tests.conftest import HashEmbedder, write_memory
from tests.waiting import eventually, held_back


@pytest.fixture
def live(services):
    live = Watching(services)
    yield live
    live.close()


def holds(services, name, *paths):
    """Wait until the memories of an agent are these."""

    def are_there():
        with services.agent(name).data.open().reading() as connection:
            return column(connection, "SELECT path FROM memories ORDER BY path") == sorted(paths)

    eventually(are_there)


def test_agents_are_watched_from_the_start_or_from_their_first_use(services, live, data_dir):
    knowledge = data_dir / "knowledge"
    write_memory(knowledge / "first", "one.md", "The first.")
    live.start()
    holds(services, "first", "one.md")
    write_memory(knowledge / "first", "two.md", "The second.")
    holds(services, "first", "one.md", "two.md")
    later = services.agent("later")
    write_memory(knowledge / "later", "three.md", "The third.")
    later.index_written(["three.md"], reporter=Silent())
    write_memory(knowledge / "later", "four.md", "The fourth.")
    holds(services, "later", "four.md", "three.md")


def test_a_change_is_taken_up_while_many_agents_wait_for_vectors(
    services, live, data_dir, monkeypatch
):
    knowledge = data_dir / "knowledge"
    write_memory(knowledge / "first", "one.md", "The first.")
    live.start()
    holds(services, "first", "one.md")
    go_on, held = threading.Event(), threading.Semaphore(0)
    embed = HashEmbedder.embed_passages

    def slowly(embedder, texts, *, stop=None):
        if any("backlog" in text for text in texts):
            held.release()
            assert go_on.wait(60)
        return embed(embedder, texts, stop=stop)

    monkeypatch.setattr(HashEmbedder, "embed_passages", slowly)
    try:
        for number in range(MAX_AT_ONCE):
            write_memory(knowledge / f"slow{number}", "one.md", "A backlog.")
            services.agent(f"slow{number}").on_use()
            assert held.acquire(timeout=30)
        write_memory(knowledge / "first", "two.md", "The second.")
        holds(services, "first", "one.md", "two.md")
    finally:
        go_on.set()


def test_who_writes_what_took_long_does_not_wait_for_vectors_as_well(
    services, live, data_dir, monkeypatch
):
    write_memory(data_dir / "knowledge" / "first", "one.md", "The first.")
    live.start()
    holds(services, "first", "one.md")
    agent = services.agent("first")
    eventually(lambda: not count_waiting(agent.data.open()))
    monkeypatch.setattr(written, "AT_ONCE_S", 0.0)
    write_memory(data_dir / "knowledge" / "first", "two.md", "The second.")
    with held_back(monkeypatch, HashEmbedder, "embed_passages"):
        agent.index_written(["two.md"], reporter=Silent())
        holds(services, "first", "one.md", "two.md")
        assert count_waiting(agent.data.open()) == 1
    eventually(lambda: not count_waiting(agent.data.open()))


def test_the_first_files_of_an_agent_wait_for_few_vectors_too(
    services, live, data_dir, monkeypatch
):
    live.start()
    names = [f"{number:03}.md" for number in range(written.AT_ONCE + 1)]
    with held_back(monkeypatch, HashEmbedder, "embed_passages"):
        for name in names:
            write_memory(data_dir / "knowledge" / "new", name, f"What {name} says.")
        services.agent("new").index_written(names, reporter=Silent())
        holds(services, "new", *names)


def test_a_registered_directory_is_watched_at_once(services, live, data_dir, tmp_path):
    write_memory(data_dir / "knowledge" / "first", "one.md", "The first.")
    live.start()
    holds(services, "first", "one.md")
    write_memory(tmp_path / "notes", "two.md", "The second.")
    services.agent("first").register(tmp_path / "notes")
    holds(services, "first", "notes:two.md", "one.md")
    write_memory(tmp_path / "notes", "three.md", "The third.")
    holds(services, "first", "notes:three.md", "notes:two.md", "one.md")
    services.agent("first").remove("notes", reporter=Silent())
    holds(services, "first", "one.md")


def test_an_answer_names_the_directory_that_cannot_be_followed(
    services, live, data_dir, tmp_path, notices
):
    write_memory(data_dir / "knowledge" / "first", "one.md", "The first.")
    write_memory(tmp_path / "notes", "two.md", "The second.")
    live.start()
    agent = services.agent("first")
    agent.register(tmp_path / "notes")
    holds(services, "first", "notes:two.md", "one.md")
    (tmp_path / "notes").rename(tmp_path / "elsewhere")
    eventually(lambda: "is not there" in agent.data.states()["notes"].problem)
    found = Memories(agent, notices).list(MemoryList())
    assert {each.path for each in found} == {"notes:two.md", "one.md"}
    told = f"{tmp_path / 'notes'} is not there: answering from what was indexed of notes"
    assert notices.said == [told]


def test_asking_for_an_agent_that_is_none_leaves_nothing(services, live, data_dir):
    live.start()
    assert Memories(services.agent("typo"), Silent()).list(MemoryList()) == []
    assert not (data_dir / "knowledge").exists()


def test_a_question_right_after_a_rename_finds_the_new_name(services, live, data_dir):
    folder = data_dir / "knowledge" / "first"
    file = write_memory(folder, "one.md", "The retry queue is drained first.")
    live.start()
    holds(services, "first", "one.md")
    recall = Memories(services.agent("first"), Silent())

    for number in range(5):
        file = file.rename(folder / f"name{number}.md")
        found = recall.query(MemoryQuery(text="retry queue"))
        assert [hit.path for hit in found] == [file.name]


def test_a_list_right_after_a_folder_was_renamed_has_its_new_name(services, live, data_dir):
    folder = data_dir / "knowledge" / "first"
    write_memory(folder, "old/one.md", "The first.")
    write_memory(folder, "old/two.md", "The second.")
    live.start()
    holds(services, "first", "old/one.md", "old/two.md")

    (folder / "old").rename(folder / "new")

    listed = Memories(services.agent("first"), Silent()).list(MemoryList())
    assert sorted(each.path for each in listed) == ["new/one.md", "new/two.md"]
