"""Every filter and every order of a list, over real rows."""

from __future__ import annotations

from typing import Any

import pytest

from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.results import Silent
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, Sort
from tests.conftest import write_memory

DAY_MS = 86_400_000
NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z


@pytest.fixture
def listed(make_agent, data_dir):
    """`listed(category="a", ...)`: the names of what a list with that filter has."""
    folder = data_dir / "knowledge" / "architect"
    write_memory(folder, "a/one.md", "x" * 400, updated_at="2026-01-01", tags=["red", "area:ui"])
    write_memory(folder, "a/b/two.md", "x" * 40, updated_at="2026-02-01", tags=["area:db", "#ux"])
    write_memory(folder, "ab/three.md", created_at="2025-01-01", source="agent:tester")
    write_memory(folder, "four.md", expires_at="2026-02-28", status="Draft")
    write_memory(folder, "five.md", status="superseded")
    write_memory(folder, "six.md", supersedes=["seven"], pinned=True)
    write_memory(folder, "seven.md")
    atoms = folder / "projects" / "p"
    write_memory(atoms, "knowledge/K-001.md", status="invalidated", refs=7)
    write_memory(atoms, "patterns/PAT-001.md", date="2026-01-01")
    agent = make_agent(clock=lambda: NOW)

    def listed(sort=Sort.PATH, *, descending=False, limit=None, offset=0, **wanted):
        asked = MemoryList(
            filter=MemoryFilter(**wanted),
            sort=sort,
            is_descending=descending,
            limit=limit,
            offset=offset,
        )
        found = Memories(agent, Silent()).list(asked)
        return [row.path.rpartition("/")[2].removesuffix(".md") for row in found]

    return listed


def test_what_is_expired_or_superseded_hides(listed):
    visible = ["two", "one", "three", "K-001", "PAT-001", "six"]
    assert listed() == visible
    assert set(listed(with_expired=True)) == {*visible, "four"}
    assert set(listed(with_superseded=True)) == {*visible, "five", "seven"}


def test_an_atom_that_no_longer_holds_stays_and_says_so(make_agent, listed):
    assert "K-001" in listed()
    (found,) = Memories(make_agent(clock=lambda: NOW), Silent()).list(
        MemoryList(filter=MemoryFilter(kinds=("knowledge",)))
    )
    assert (found.superseded, found.status) == (True, "invalidated")


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"category": "a"}, ["two", "one"]),
    ({"category": "a/b"}, ["two"]),
    ({"tags": ("red", "area:db")}, ["two", "one"]),
    ({"tags": ("area:",)}, ["two", "one"]),
    ({"tags": ("area", "re", "redd")}, []),
    ({"tags": ("ux",)}, ["two"]),
    ({"tags": ("#red", "#ux")}, ["two", "one"]),
    ({"updated_after": NOW - 27 * DAY_MS}, ["three", "K-001", "PAT-001", "six"]),
    ({"updated_before": NOW - 27 * DAY_MS}, ["two", "one"]),
    ({"created_before": NOW - 300 * DAY_MS}, ["three"]),
    ({"created_before": 0}, []),  # 1970, as an age of 99 years is understood
    ({"updated_before": 0, "category": "a"}, []),
    ({"weaker_than": 0.0}, []),
    ({"created_after": NOW, "category": "a"}, ["two", "one"]),
    ({"source": "agent:tester"}, ["three"]),
    ({"statuses": ("superseded", "draft")}, ["five", "seven"]),
    ({"statuses": ("draft",), "with_expired": True}, ["four"]),
    ({"kinds": ("pattern",)}, ["PAT-001"]),
    ({"project": "p"}, ["K-001", "PAT-001"]),
    ({"hot": True}, ["K-001"]),
    ({"cold": True, "source": "agent:tester"}, ["three"]),
    ({"tags": ("area:ui",), "category": "a", "project": "p"}, []),
]


def test_a_filter_keeps_what_satisfies_it(listed):
    for wanted, names in FILTERS:
        assert listed(**wanted) == names, wanted


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        (Sort.UPDATED, "one", "six"),
        (Sort.CREATED, "three", "six"),
        (Sort.TOKENS, "three", "one"),
        (Sort.READS, "two", "K-001"),
        (Sort.STRENGTH, "one", "six"),
        (Sort.PATH, "two", "six"),
    ],
)
def test_a_list_is_ordered_and_equal_ones_go_by_path(listed, sort, first, last):
    ascending = listed(sort)
    assert (ascending[0], ascending[-1]) == (first, last)
    whole = listed(sort, descending=True)
    assert [*listed(sort, descending=True, limit=2), *listed(sort, descending=True, offset=2)] == (
        whole
    )
    assert sorted(whole) == sorted(ascending)


def test_a_successor_that_goes_lets_the_old_one_return(make_agent, data_dir):
    folder = data_dir / "knowledge" / "architect"
    write_memory(folder, "old.md")
    new = write_memory(folder, "new.md", supersedes=["old.md"])
    agent = make_agent()

    def paths():
        found = Memories(agent, Silent()).list(MemoryList(sort=Sort.PATH))
        return sorted(row.path for row in found)

    assert paths() == ["new.md"]
    new.unlink()
    agent.index_written(["new.md"], reporter=Silent())
    assert paths() == ["old.md"]


def test_a_memory_is_read_as_its_file_is_now(make_agent, data_dir):
    folder = data_dir / "knowledge" / "architect"
    changed, gone = write_memory(folder, "changed.md"), write_memory(folder, "gone.md")
    memories = Memories(make_agent(), Silent())
    assert len(memories.list(MemoryList())) == 2  # and so its files were compared
    write_memory(folder, "changed.md", "By hand.")
    gone.unlink()
    assert memories.get(changed.name).content == "By hand."
    with pytest.raises(NotFound):
        memories.get(gone.name)


def test_categories_are_those_in_use_or_described(make_agent, data_dir):
    folder = data_dir / "knowledge" / "architect"
    only = write_memory(folder, "a/b/only.md")
    (folder / "a" / "_category.md").write_text("---\ndescription: What a is\n---\n")
    (folder / "empty").mkdir()
    (folder / "empty" / "_category.md").write_text("Described by its body\n")
    agent = make_agent()

    def categories():
        every = "SELECT * FROM categories ORDER BY path"
        return agent.answer(lambda _, connection: connection.execute(every).fetchall(), Silent())

    described = [("a", None, "What a is"), ("empty", None, "Described by its body")]
    assert categories() == [described[0], ("a/b", "a", None), described[1]]
    only.unlink()
    agent.index_written(["a/b/only.md"], reporter=Silent())
    assert categories() == described
