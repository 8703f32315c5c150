"""The memories of all agents at once, where one agent's database cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memory_sidecar.core.errors import StoreBusy
from memory_sidecar.core.model import SearchMode
from memory_sidecar.index.vectors import stored_vector
from memory_sidecar.memories import recall, search
from memory_sidecar.memories.lists import MemoryRows
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery
from memory_sidecar.memories.overview import Overview
from memory_sidecar.memories.recall import Recall
from tests.conftest import write_memory


@pytest.mark.parametrize("step", ["places", "read"])
def test_an_agent_that_cannot_be_read_is_left_out_of_the_list(
    make_agent, data_dir, notices, monkeypatch, step
):
    for name in ("architect", "tester"):
        write_memory(data_dir / "knowledge" / name, "a/note.md", "The tills open at nine")
    overview = Overview([make_agent("architect"), make_agent("tester")], notices)
    assert {each.agent for each in overview.list_memories(MemoryList())} == {"architect", "tester"}
    works = getattr(MemoryRows, step)

    def fail(rows, *arguments):
        if rows.agent == "tester":
            raise StoreBusy("the disk is gone")
        return works(rows, *arguments)

    monkeypatch.setattr(MemoryRows, step, fail)
    assert [each.agent for each in overview.list_memories(MemoryList())] == ["architect"]
    assert notices.has("without tester: the disk is gone")


@pytest.fixture
def overview(make_agent, data_dir, notices) -> Overview:
    """An architect and a tester, each of whom has a memory of the project shop, with its tag."""
    for name in ("architect", "tester"):
        facts = {"project": "shop", "tags": [name]}
        folder = data_dir / "knowledge" / name
        write_memory(folder, "a/note.md", f"The tills of the {name} open", **facts)
    return Overview([make_agent("architect"), make_agent("tester")], notices)


def test_the_best_of_all_agents_are_reread_once(overview, monkeypatch):
    read: list[tuple[str, int]] = []

    def judge(question: str, texts: Sequence[str]) -> list[float]:
        read.append((question, len(texts)))
        return [float("tester" in text) for text in texts]

    monkeypatch.setattr(recall, "make_judge", lambda *_: judge)
    hits = overview.query(MemoryQuery(text="in shop, when do tills open", top_k=1, rerank=True))
    assert read == [("when do tills open", 2)]
    assert [hit.agent for hit in hits] == ["tester"]


@pytest.fixture
def judge(monkeypatch) -> None:
    """A cross-encoder that likes what says "make" a little better."""
    monkeypatch.setattr(
        recall, "make_judge", lambda *_: lambda _, texts: [1.0 * ("make" in text) for text in texts]
    )


def test_of_near_memories_of_two_agents_the_newer_comes_first(
    make_agent, data_dir, notices, monkeypatch, judge
):
    for name, day, tool in (("architect", "2026-01-01", "make"), ("tester", "2026-02-01", "just")):
        text = f"In the shop all tills and all the shelves are built with {tool}."
        write_memory(data_dir / "knowledge" / name, "a.md", text, created_at=day, updated_at=day)
    overview = Overview([make_agent("architect"), make_agent("tester")], notices)
    asked = MemoryQuery(text="how are all the tills and shelves in the shop built", rerank=True)
    assert [hit.agent for hit in overview.query(asked)] == ["tester", "architect"]
    monkeypatch.setattr(search, "MAX_JUDGED", 0)  # without vectors
    assert [hit.agent for hit in overview.query(asked)] == ["architect", "tester"]


@pytest.mark.parametrize("reranks", [False, True])
def test_vectors_of_memories_are_read_only_for_reranking(
    make_agent, data_dir, notices, monkeypatch, judge, reranks
):
    read: list[int] = []

    def reading(connection, table, row_id):
        read.append(row_id)
        return stored_vector(connection, table, row_id)

    monkeypatch.setattr(search, "stored_vector", reading)
    write_memory(data_dir / "knowledge" / "architect", "a.md", "The till is built with make.")
    reader = Recall(make_agent("architect"), notices)
    for mode in SearchMode:
        reader.query(MemoryQuery(text="what is the till built with", mode=mode, rerank=reranks))
    assert len(read) == reranks


def test_a_tag_of_one_agent_alone_is_not_called_unknown(overview, notices):
    wanted = MemoryFilter(tags=("tester",))
    assert overview.query(MemoryQuery(text="when do tills open", filter=wanted, rerank=False))
    assert not notices.has("no memory has the tag")


def test_one_agent_and_what_is_shared_are_answered_as_that_agent_is(make_agent, data_dir, notices):
    for name in ("architect", "shared"):
        write_memory(data_dir / "knowledge" / name, "a/copied.md", "The tills open at nine")
    write_memory(data_dir / "knowledge" / "architect", "b.md", "A till is closed", project="shop")
    write_memory(data_dir / "knowledge" / "shared", "c.md", "The tills of a mill", project="mill")
    agent, shared = make_agent("architect"), make_agent("shared")
    for text in ("when do tills open", "in shop, when do tills open"):
        query = MemoryQuery(text=text, rerank=False)
        hits = Recall(agent, notices).query(query)
        assert Overview([agent, shared], notices).query(query) == hits
        assert [hit.path for hit in hits].count("a/copied.md") == 1
        own = Recall(agent, notices).query(query, with_shared=False)
        assert Overview([agent], notices).query(query) == own != hits


def test_what_one_of_several_agents_has_shared_is_found_once(make_agent, data_dir, notices):
    for name in ("architect", "tester", "shared"):
        write_memory(data_dir / "knowledge" / name, f"{name}.md", f"A till of the {name} is shut")
    for name in ("tester", "shared"):
        write_memory(data_dir / "knowledge" / name, "copied.md", "The tills open at nine")
    agents = [make_agent(name) for name in ("architect", "tester", "shared")]
    hits = Overview(agents, notices).query(MemoryQuery(text="tills open at nine", rerank=False))
    assert [hit.agent for hit in hits if hit.path == "copied.md"] == ["tester"]
    assert len(hits) == 4
