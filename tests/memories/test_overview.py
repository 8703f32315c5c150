"""The memories of all agents at once, where one agent's database cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memory_sidecar.core.errors import StoreBusy
from memory_sidecar.memories import recall
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
