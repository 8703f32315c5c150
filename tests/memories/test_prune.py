"""What is removed or pruned lies in the archive, and comes back as it was."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from memory_sidecar.core.errors import Conflict, NotFound, PathRefused, StoreError
from memory_sidecar.core.opening import Tree
from memory_sidecar.memories.archive import Archive, PruneRule, prune_candidates
from memory_sidecar.memories.categories import delete, describe
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.model import StoredMemory
from memory_sidecar.memories.results import Archived, Memory
from memory_sidecar.memories.write import update
from tests.memories.conftest import DAY_MS, NOW, remove, tree


@pytest.fixture
def archive(tmp_path):
    return Archive(tmp_path / "archive" / "architect", Tree(tmp_path, is_own=True))


BATCH = "20260301T091200.000Z"


def test_a_removed_memory_comes_back_to_the_byte(directory, remember, archive):
    kept = remember("Stays.", "decision").file.path
    path = remember("Use SQLite.", "pitfall/deep", tags=("db",)).file.path
    before = tree(directory.root)
    archived = remove(directory, archive, "pitfall/deep/use-sqlite")
    assert archived == Archived(BATCH, "memories", path)
    assert archive.all() == [archived]
    assert sorted(file.name for file in directory.root.iterdir()) == ["decision"]
    assert archive.give_back(directory, archive.latest([("memories", path)])) == [path]
    assert tree(directory.root) == before
    assert tree(archive.root) == {}
    assert archive.all() == []
    assert kept in before


def test_every_version_is_kept(directory, remember, archive):
    for _ in range(11):
        path = remember("Use SQLite.").file.path
        remove(directory, archive, path)
    later = [f"{BATCH}-{number:03}" for number in range(11, 1, -1)]
    assert [archived.batch for archived in archive.all()] == [*later, BATCH]
    assert archive.latest([("memories", path)])[0].batch == f"{BATCH}-011"
    assert archive.latest([("memories", path)], batch=BATCH)[0].batch == BATCH


def test_restoring_overwrites_nothing(directory, remember, archive):
    one, two = remember("# One\n\nold").file, remember("Two").file
    for each in (one, two):
        remove(directory, archive, each.path)
    new = remember("# One\n\nnew").file
    before = tree(archive.root)
    with pytest.raises(Conflict):
        archive.give_back(directory, archive.all())
    assert tree(directory.root) == {new.path: new.text}
    assert tree(archive.root) == before
    (directory.root / two.path).write_text(two.text)  # somebody brought it back already
    archive.give_back(directory, archive.latest([("memories", "two")]))
    assert tree(directory.root) == {new.path: new.text, two.path: two.text}


def test_a_category_comes_back_before_its_memories(directory, remember, archive):
    path = remember("Use SQLite.", "pitfall").file.path
    _, page = describe(directory, "pitfall", "What went wrong.", now_ms=NOW)
    delete(directory, archive, "pitfall", with_memories=True, now_ms=NOW)
    wanted = archive.with_categories(archive.latest([("memories", path)]))
    (file,) = archive.root.rglob("use-sqlite.md")
    away = file.rename(file.with_suffix(""))
    with pytest.raises(StoreError):
        archive.give_back(directory, wanted)
    assert list(tree(directory.root)) == [page]
    away.rename(file)
    archive.give_back(directory, archive.with_categories(archive.latest([("memories", path)])))
    assert list(tree(directory.root)) == [page, path]


def test_what_cannot_be_removed_or_restored(directory, remember, archive):
    path = remember("Use SQLite.").file.path
    with pytest.raises(NotFound):
        remove(directory, archive, "missing")
    with pytest.raises(NotFound):
        archive.latest([("memories", "missing")])
    for outside in ("../architect/use-sqlite", "/etc/passwd"):
        with pytest.raises(PathRefused):
            remove(directory, archive, outside)
        with pytest.raises(PathRefused):
            archive.latest([("memories", outside)])
    assert list(tree(directory.root)) == [path]


# Pruning


def stored(path, *, strength=1.0, touched=NOW, **said):
    facts: dict[str, Any] = dict.fromkeys((each.name for each in fields(Memory)), "")
    facts |= {"path": path, "category": path.rpartition("/")[0], "pinned": False}
    facts |= {"superseded": False, "expired": False} | said
    return StoredMemory(
        memory=Memory(**facts), key=1, directory="memories", file=path, touched_at=touched,
        strength=strength,
    )  # fmt: skip


SOME = [
    stored("a/strong.md"),
    stored("a/used.md", strength=0.6, touched=NOW - DAY_MS),
    stored("a/b/old.md", strength=0.3, touched=NOW - 90 * DAY_MS),
    stored("ab/expired.md", strength=0.5, expired=True),
    stored("superseded.md", strength=0.4, superseded=True),
    stored("a/pinned.md", strength=1.0, pinned=True, expired=True, superseded=True),
]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (PruneRule(), []),
        (PruneRule(expired=True), ["ab/expired.md"]),
        (PruneRule(superseded=True), ["superseded.md"]),
        (PruneRule(unused_since=NOW - 30 * DAY_MS), ["a/b/old.md"]),
        (PruneRule(weaker_than=0.5), ["a/b/old.md", "superseded.md"]),
        (PruneRule(expired=True, weaker_than=0.35), ["a/b/old.md", "ab/expired.md"]),
        (PruneRule(keep=4), ["a/b/old.md", "superseded.md"]),
        # Three are left beside the pinned one: what goes for another reason is none of those kept.
        (PruneRule(expired=True, superseded=True, keep=4), ["superseded.md", "ab/expired.md"]),
        (
            PruneRule(weaker_than=2),
            ["a/b/old.md", "superseded.md", "ab/expired.md", "a/used.md", "a/strong.md"],
        ),
    ],
    ids=repr,
)
def test_a_rule_finds_what_it_names_the_weakest_first(rule, found):
    assert [each.file for each, _ in prune_candidates(SOME, rule)] == found


def test_each_candidate_has_the_first_reason_that_holds():
    rule = PruneRule(expired=True, superseded=True, unused_since=NOW - 30 * DAY_MS, keep=1)
    reasons = {each.file: reason for each, reason in prune_candidates(SOME, rule)}
    assert reasons == {
        "a/strong.md": "beyond the 1 strongest",
        "a/used.md": "beyond the 1 strongest",
        "a/b/old.md": "neither changed nor read for long",
        "ab/expired.md": "expired",
        "superseded.md": "superseded",
    }


def test_pruning_spares_what_changed_since_it_was_chosen(directory, remember, archive):
    names = ("one", "two", "three", "four")
    files = [remember(name).file for name in names]
    chosen = [(file.path, file.hash) for file in files[:3]]
    update(directory, "one", Changes(pinned=True), now_ms=NOW)
    update(directory, "two", Changes(content="changed"), now_ms=NOW)
    taken = archive.take_unchanged(directory, chosen, now_ms=NOW)
    assert [each.path for each in taken] == ["three.md"]
    assert sorted(tree(directory.root)) == ["four.md", "one.md", "two.md"]
    assert archive.take_unchanged(directory, chosen, now_ms=NOW) == []
