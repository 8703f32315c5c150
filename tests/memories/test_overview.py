"""The memories of all agents at once, where one agent's database cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memory_sidecar.core.errors import StoreBusy
from memory_sidecar.memories import recall
from memory_sidecar.memories.lists import MemoryRows
from memory_sidecar.memories.model import MemoryList, MemoryQuery
from memory_sidecar.memories.overview import Overview
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


def test_the_best_of_all_agents_are_reread_once(make_agent, data_dir, notices, monkeypatch):
    for name in ("architect", "tester"):
        write_memory(data_dir / "knowledge" / name, "a/note.md", f"The tills of the {name} open")
    read: list[int] = []

    def judge(_question: str, texts: Sequence[str]) -> list[float]:
        read.append(len(texts))
        return [float("tester" in text) for text in texts]

    monkeypatch.setattr(recall, "make_judge", lambda *_: judge)
    overview = Overview([make_agent("architect"), make_agent("tester")], notices)
    hits = overview.query(MemoryQuery(text="when do tills open", top_k=1, rerank=True))
    assert (read, [hit.agent for hit in hits]) == ([2], ["tester"])
