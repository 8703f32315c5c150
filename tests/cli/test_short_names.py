"""The first letters of a path or an id name it, where they are of one alone."""

from __future__ import annotations

import json

import pytest

from tests.conftest import write_memory


@pytest.fixture
def stored(serve, data_dir):
    """Runs a command of `a`, who has three memories, an atom and two sessions."""
    own = data_dir / "knowledge" / "a"
    write_memory(own, "pitfall/totals-are-cents.md", "Totals are cents")
    write_memory(own, "pitfall/totals-are-rounded.md", "Totals are rounded")
    write_memory(own, "pattern/cart.md", "Carts are emptied at night")
    write_memory(own, "projects/shop/experiments/EXP-042.md", "Pools", id="EXP-042")
    for name in ("2026-03-01-payment", "2026-03-02-cart"):
        said = f"The total of {name} was not a number, since it was summed as a text."
        session = {"session_id": name, "messages": [{"role": "user", "content": said}]}
        done = serve("session", "save", "--agent", "a", stdin=json.dumps(session).encode())
        assert done.status == 0
    return lambda *words: serve(*words, "--agent", "a")


def test_first_letters_name_a_memory_for_every_command(stored):
    assert stored("get", "pat").out == "Carts are emptied at night\n"
    assert stored("get", "pitfall/totals-are-c", "--json").json["path"].endswith("cents.md")
    assert stored("update", "pattern/c", "Carts are emptied at noon").status == 0
    assert stored("get", "pattern/cart").out == "Carts are emptied at noon\n"
    moved = stored("move", "pattern/c", "decisions/", "--json").json
    assert (moved["moved_from"], moved["path"]) == ("pattern/cart.md", "decisions/cart.md")
    assert stored("share", "decis", "--json").json["path"] == "decisions/cart.md"
    assert stored("remove", "decis", "--json").json["path"] == "decisions/cart.md"
    assert stored("restore", "decis", "--json").json["restored"] == ["decisions/cart.md"]


def test_an_atom_is_named_by_its_id_for_every_command(stored):
    assert stored("get", "EXP-042").out == "Pools\n"
    assert stored("update", "EXP-042", "--tag", "pool").status == 0
    assert stored("get", "EXP-042", "--json").json["tag_list"] == ["pool"]
    removed = stored("remove", "EXP-042", "--json").json
    assert removed["path"] == "projects/shop/experiments/EXP-042.md"


def test_the_archive_names_memories_as_restore_takes_them(stored, tmp_path):
    write_memory(tmp_path / "team", "pitfall/cache.md", "Caches lie")
    assert stored("source", "add", tmp_path / "team").status == 0
    assert stored("remove", "team:pitfall/cache").status == 0
    (line,) = stored("restore").out.splitlines()
    path = line.split()[-1]
    assert path == "team:pitfall/cache.md"
    write_memory(tmp_path / "team", "pitfall/cache.md", "Caches do not lie")
    assert f"{path} exists again" in stored("restore", path).err
    (tmp_path / "team/pitfall/cache.md").unlink()
    assert stored("restore", path).out == f"restored {path}\n"
    assert f"holds no {path}" in stored("restore", path).err


def test_first_letters_name_a_session(stored):
    assert "2026-03-01-payment" in stored("session", "show", "2026-03-01").out
    promoted = stored("session", "promote", "2026-03-01", "--dry-run", "--json").json
    assert promoted["session_id"] == "2026-03-01-payment"
    gone = stored("session", "delete", "2026-03-02-c", "--json").json
    assert gone["session_id"] == "2026-03-02-cart"
    assert stored("session", "show", "2026-03-02").status == 3


def test_nothing_is_changed_by_the_whole_name_of_something_that_is_gone(stored, data_dir):
    own = data_dir / "knowledge" / "a"
    write_memory(own, "decisions/use-tabs.md", "Use tabs")
    write_memory(own, "decisions/phase-12.md", "Phase 12")
    for words, there in (
        (("remove", "pattern", "--for-good"), "pattern/cart.md"),
        (("update", "decisions/use", "Use spaces"), "decisions/use-tabs.md"),
        (("move", "decisions/use", "pattern/"), "decisions/use-tabs.md"),
        (("remove", "decisions/phase-1"), "decisions/phase-12.md"),
        (("session", "delete", "2026-03-01"), "2026-03-01-payment"),
    ):
        done = stored(*words)
        assert (done.status, there in done.err) == (3, True), words
        assert (own / "decisions/use-tabs.md").read_text().endswith("Use tabs\n"), words
        assert (own / "decisions/phase-12.md").exists(), words
        assert (own / "pattern/cart.md").exists(), words
        assert stored("session", "show", "2026-03-01").status == 0, words
    can_be_no_others = ("remove", "pitfall/totals-are-c", "--for-good")
    assert stored(*can_be_no_others).status == 0


def test_letters_of_several_name_them_all_in_one_line(stored):
    for words, candidates in (
        (("get", "pitfall/"), ("totals-are-cents.md", "totals-are-rounded.md")),
        (("update", "pitfall/totals", "x"), ("totals-are-cents.md", "totals-are-rounded.md")),
        (("remove", "p"), ("pattern/cart.md", "pitfall/totals-are-cents.md")),
        (("session", "show", "2026"), ("2026-03-01-payment", "2026-03-02-cart")),
        (("session", "delete", "2026-03"), ("2026-03-01-payment", "2026-03-02-cart")),
    ):
        done = stored(*words)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), words
        assert all(candidate in done.err for candidate in candidates), words
        assert stored("get", "pitfall/totals-are-cents").status == 0


def test_what_nothing_begins_with_is_not_found(stored):
    for words in (("get", "x"), ("remove", "x"), ("session", "delete", "x")):
        assert stored(*words).status == 3, words
