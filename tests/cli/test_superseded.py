"""What a memory supersedes hides as long as that memory is there, however it goes."""

from __future__ import annotations

import pytest

from tests.conftest import write_memory


def listed(serve) -> list[str]:
    return [each["path"] for each in serve("list", "--agent", "a", "--json").json]


@pytest.fixture
def own(serve, data_dir):
    write_memory(data_dir / "knowledge" / "a", "d/old.md", "The old way")
    done = serve("store", "The new way", "--category", "d", "--agent", "a", "--supersedes", "d/old")
    assert done.status == 0
    assert listed(serve) == ["d/the-new-way.md"]
    return data_dir / "knowledge" / "a"


@pytest.mark.parametrize(
    "words",
    [
        ("remove", "d/the-new-way"),
        ("remove", "d/the-new-way", "--for-good"),
        ("share", "d/the-new-way", "--move"),
        ("move", "d/the-new-way", "e/"),
        (),
    ],
    ids=" ".join,
)
def test_it_is_back_when_that_one_goes_and_hides_when_it_comes_again(serve, own, words):
    if words:
        assert serve(*words, "--agent", "a").status == 0
    else:
        (own / "d/the-new-way.md").unlink()
        assert serve("reindex", "--agent", "a").status == 0
    if words[:1] == ("move",):
        assert listed(serve) == ["e/the-new-way.md"]
        return
    assert listed(serve) == ["d/old.md"]
    assert ("d/old.md -> d/the-new-way.md" in serve("doctor").out) is (not words)
    assert ("superseded_by" in (own / "d/old.md").read_text()) is ("--for-good" not in words)
    if words == ("remove", "d/the-new-way"):
        assert serve("restore", "d/the-new-way", "--agent", "a").status == 0
        assert listed(serve) == ["d/the-new-way.md"]


def test_asking_for_its_status_does_not_bring_it_back(serve, own):
    assert serve("update", "d/old", "--status", "active", "--agent", "a").status == 0
    for given, count in (("active",), 0), (("active", "Superseded"), 1), ((), 0):
        words = [word for each in given for word in ("--status", each)]
        found = serve("list", *words, "--agent", "a", "--json").json
        assert [each["path"] for each in found].count("d/old.md") == count, given
    asked = ("list", "--status", "active", "--include-superseded", "--agent", "a", "--json")
    assert [each["path"] for each in serve(*asked).json] == ["d/old.md"]


def test_a_successor_that_was_renamed_by_hand_is_named_as_it_is_called_now(serve, own):
    (own / "d/the-new-way.md").rename(own / "d/renamed.md")
    assert serve("reindex", "--agent", "a").status == 0
    assert listed(serve) == ["d/renamed.md"]
    shown = serve("get", "d/old", "--agent", "a", "--json").json
    assert shown["relations"] == {"superseded_by": ["d/renamed.md"]}
    assert "is outdated: superseded by d/renamed.md" in serve("get", "d/old", "--agent", "a").err
    said = "d/old.md -> d/the-new-way.md, but by d/renamed.md"
    assert said in serve("doctor").out
    (own / "d/renamed.md").unlink()
    assert serve("reindex", "--agent", "a").status == 0
    assert serve("doctor").out.count("d/old.md -> d/the-new-way.md") == 1
    assert "but by" not in serve("doctor").out


@pytest.mark.parametrize("count", [2, 3])
def test_those_that_supersede_each_other_are_named(serve, data_dir, count):
    own = data_dir / "knowledge" / "a"
    for number in range(count):
        write_memory(own, f"d/{number}.md", f"Way {number}", supersedes=[f"d/{number - 1}.md"])
    assert "each other" not in serve("doctor").out
    write_memory(own, "d/0.md", "Way 0", supersedes=[f"d/{count - 1}.md"])
    write_memory(own, "d/last.md", "The last way", supersedes=["d/0.md", "d/last.md"])
    assert serve("reindex", "--agent", "a").status == 0
    ring = "; ".join(f"d/{number}.md" for number in range(count))
    assert f"{count} supersede each other: {ring}" in serve("doctor").out


def test_of_two_rings_both_are_named_and_what_leads_from_one_to_the_other_is_not(serve, data_dir):
    own = data_dir / "knowledge" / "a"
    older = {"a": "b", "b": "a", "c": "d", "d": "c", "between": "a"}
    for name, target in older.items():
        write_memory(own, f"{name}.md", f"Way {name}", supersedes=[f"{target}.md"])
    write_memory(own, "c.md", "Way c", supersedes=["d.md", "between.md"])
    assert serve("reindex", "--agent", "a").status == 0
    assert "4 supersede each other: a.md; b.md; c.md; d.md" in serve("doctor").out


def test_what_one_of_another_directory_supersedes_hides(serve, data_dir):
    own = data_dir / "knowledge" / "a"
    write_memory(own, "d/old.md", "The old way", superseded_by="notes:d/new.md")
    write_memory(own, "d/older.md", "The older way", superseded_by="d/gone.md")
    write_memory(own, "d/oldest.md", "The oldest way", superseded_by="d/older.md")
    assert listed(serve) == ["d/older.md"]


def test_what_is_outdated_is_said_to_be_whatever_its_own_status(serve, data_dir):
    own = data_dir / "knowledge" / "a"
    write_memory(own, "d/old.md", "The old way", status="active", superseded_by="d/new.md")
    write_memory(own, "d/new.md", "The new way")
    write_memory(own, "d/late.md", "The late way", expires_at="2020-01-01T00:00:00Z")
    shown = serve("list", "--agent", "a", "--include-superseded", "--include-expired").out
    assert "[superseded]" in shown
    assert "[active]" not in shown
    for name, said in (("old", "superseded by d/new.md"), ("late", "expired")):
        done = serve("get", f"d/{name}", "--agent", "a")
        assert (done.status, done.out) == (0, f"The {name} way\n")
        assert f"note: d/{name}.md is outdated: {said}\n" in done.err
    assert "outdated" not in serve("get", "d/new", "--agent", "a").err
