"""What was changed in files can be found, or no longer found, when the call returns."""

from __future__ import annotations

import json
import os
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.errors import (
    Conflict,
    NotFound,
    PathRefused,
    SecretRefused,
    SidecarError,
    UsageError,
)
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.times import compact_utc
from memory_sidecar.memories.archive import PruneRule
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.draft import Changes, Draft
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery, Sort, address
from memory_sidecar.memories.results import Archived
from tests.conftest import HashModels, Notices, write_memory

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z
DAY_MS = 86_400_000


class Knowledge:
    """The data directory of a test, with a clock that stands still until it is set."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.now = NOW
        self.notices = Notices()
        self._models = HashModels(data_dir / "embeddings.sqlite")
        self._agents: dict[str, Agent] = {}

    def agent(self, name: str = "architect") -> Agent:
        if name not in self._agents:
            shared = None if name == "shared" else self.agent("shared")
            self._agents[name] = Agent(
                DataDir(self.data_dir).agent(name),
                models=self._models,
                clock=lambda: self.now,
                shared=shared,
            )
        return self._agents[name]

    def memories(self, name: str = "architect") -> Memories:
        return Memories(self.agent(name), self.notices)

    def store(self, content: str, category: str = "", **given: Any) -> str:
        draft = Draft(content=content, category=category, **given)
        return self.memories().store(draft).path

    def found(self, text: str, *, mode: str = "keyword", agent: str = "architect") -> list[str]:
        query = MemoryQuery(text=text, mode=SearchMode(mode), top_k=3)
        hits = Memories(self.agent(agent), self.notices).query(query)
        return [hit.path for hit in hits]

    def listed(self, agent: str = "architect") -> dict[str, Any]:
        everything = MemoryList(filter=MemoryFilter(with_expired=True, with_superseded=True))
        rows = Memories(self.agent(agent), self.notices).list(everything)
        return {row.path: row for row in rows}

    def close(self) -> None:
        for agent in self._agents.values():
            agent.close()
        self._agents.clear()
        self._models.close()


@pytest.fixture
def knowledge(data_dir: Path) -> Iterator[Knowledge]:
    knowledge = Knowledge(data_dir)
    yield knowledge
    knowledge.close()


@pytest.fixture
def root(data_dir: Path) -> Path:
    return data_dir / "knowledge" / "architect"


def test_a_stored_memory_is_found_by_word_and_by_meaning(knowledge):
    path = knowledge.store("The payment module retries declined cards.", "pitfall")
    knowledge.store("Scenes are loaded in the background.", "pattern")
    for mode in ("keyword", "vector", "hybrid"):
        assert knowledge.found("declined cards", mode=mode)[0] == path
    assert knowledge.notices.said == []


def test_an_updated_memory_is_found_by_its_new_text_alone(knowledge):
    path = knowledge.store("The payment module retries declined cards.", summary="Payment")
    knowledge.memories().update(path, Changes(content="Scenes are loaded in the background."))
    assert knowledge.found("declined") == []
    assert knowledge.found("scenes") == [path]
    assert knowledge.listed()[path].id == knowledge.memories().update(path, Changes(tags=("x",))).id


def test_a_memory_is_known_wherever_it_was_moved_to(knowledge, root):
    path = knowledge.store("The payment module retries declined cards.", "pitfall")
    moved = knowledge.memories().move(path, "pitfall/cards")
    assert knowledge.store("The payment module retries declined cards.", "pitfall") == (moved.path)
    (root / moved.path).rename(root / "pitfall/by-hand.md")
    knowledge.close()
    assert knowledge.store("The payment module retries declined cards.", "pitfall") == (
        "pitfall/by-hand.md"
    )


def test_no_read_gives_what_was_deleted_by_hand_since_the_last_scan(knowledge, root, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "cash.md").write_text("The cash drawer is counted at nine.\n")
    (notes / "door.md").write_text("The door is locked at ten.\n")
    knowledge.agent().register(notes, name="shop")
    path = knowledge.store("The payment module retries declined cards.", "pitfall")
    memories = knowledge.memories()
    assert memories.get(path).content
    assert memories.get("shop:cash").content
    (root / path).unlink()
    (notes / "cash.md").unlink()
    for mode in ("keyword", "vector", "hybrid"):
        assert set(knowledge.found("declined cards, cash drawer", mode=mode)) <= {"shop:door.md"}
    assert list(knowledge.listed()) == ["shop:door.md"]
    for gone in (path, "shop:cash"):
        with pytest.raises(NotFound) as caught:
            memories.get(gone)
        assert "there is" not in caught.value.hint
    (notes / "door.md").unlink()  # an empty root may be a disk that is not mounted
    assert sorted(knowledge.listed()) == ["shop:cash.md", "shop:door.md"]


def test_others_are_given_in_place_of_memories_whose_files_are_gone(knowledge, root):
    kept = [knowledge.store(f"A card of the colour {at}.", "pattern") for at in range(3)]
    for at in range(30):
        path = knowledge.store(f"Declined cards are retried {at} times.", "pitfall")
        (root / path).unlink()
    memories = knowledge.memories()
    for limit in (1, 2, 3, 4):
        listed = memories.list(MemoryList(limit=limit))
        assert [each.path for each in listed] == kept[:limit]
        for mode in SearchMode:
            query = MemoryQuery(text="declined cards", top_k=limit, mode=mode)
            assert len(memories.query(query)) == min(limit, 3)


def test_a_page_begins_where_the_one_before_ends_though_files_are_gone(knowledge, root):
    paths = [knowledge.store(f"A card of the colour {at}.") for at in range(9)]
    memories = knowledge.memories()
    for at in (0, 2, 3, 7):
        (root / paths[at]).unlink()
    kept = [path for at, path in enumerate(paths) if at not in (0, 2, 3, 7)]
    for size in (1, 2, 3):
        pages = [
            memories.list(MemoryList(sort=Sort.PATH, is_descending=False, limit=size, offset=at))
            for at in range(0, 9, size)
        ]
        assert [each.path for page in pages for each in page] == kept


def test_a_moved_memory_keeps_its_reads_and_what_names_it(knowledge):
    old = knowledge.store("Use Postgres.", "decision")
    new = knowledge.store("Use SQLite.", "decision", supersedes=(old,))
    citing = knowledge.store("As decided.", evidence=(new.removesuffix(".md"),))
    for _ in range(3):
        Memories(knowledge.agent(), knowledge.notices).get(new)
    moved = knowledge.memories().move(new, "storage/")
    assert (moved.moved_from, moved.path) == (new, "storage/use-sqlite.md")
    assert set(moved.relinked) == {old, citing}
    listed = knowledge.listed()
    assert sorted(listed) == sorted([old, citing, moved.path])
    assert listed[moved.path].uses == 3
    assert listed[old].superseded
    assert knowledge.found("Postgres") == []


def test_a_kill_between_a_move_and_what_follows_it_loses_no_reads(knowledge, monkeypatch):
    path = knowledge.store("Use SQLite.", "decision")
    for _ in range(3):
        knowledge.memories().get(path)

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(KnowledgeDirectory, "tidy", kill)  # the file has just been moved
        with pytest.raises(KeyboardInterrupt):
            knowledge.memories().move(path, "storage/")
    knowledge.close()
    assert {path: each.uses for path, each in knowledge.listed().items()} == {
        "storage/use-sqlite.md": 3
    }


def test_a_move_that_fails_leaves_the_reads_where_they_were(knowledge, monkeypatch):
    path = knowledge.store("Use SQLite.", "decision")
    knowledge.memories().get(path)

    def fail(*_: object) -> None:
        raise Conflict("it exists by now")

    monkeypatch.setattr("memory_sidecar.memories.move._move_file", fail)
    with pytest.raises(Conflict):
        knowledge.memories().move(path, "storage/")
    knowledge.memories().get(path)
    assert knowledge.listed()[path].uses == 2


@pytest.mark.parametrize(
    ("directory", "named"),
    [*(("shop", named) for named in ("{}", "./{}", "shop:{}")), ("memories", "./{}")],
)
def test_what_links_to_a_memory_and_what_it_links_to_are_around_it(
    knowledge, tmp_path, root, directory, named
):
    folder = tmp_path / "notes" if directory == "shop" else root
    write_memory(folder, "x/a.md", "The first.", links=[named.format("b")])
    write_memory(folder, "b.md", "The second.", summary="Two", links=[named.format("x/a.md")])
    (tmp_path / "notes").mkdir(exist_ok=True)
    knowledge.agent().register(tmp_path / "notes", name="shop")
    first, second = (address(directory, each) for each in ("x/a.md", "b.md"))
    memories = knowledge.memories()
    found = memories.around(memories.peek(first))
    assert [(each.name, each.title) for each in found.names] == [(second, "Two")]
    assert [each.name for each in found.named_by] == [second]


def test_superseding_and_saying_again(knowledge):
    old = knowledge.store("Use Postgres.")
    knowledge.store("Use SQLite.", supersedes=(old,))
    assert knowledge.found("Postgres") == []
    knowledge.store("Use Postgres.")
    assert knowledge.found("Postgres") == [old]


def test_what_only_its_successor_says_ends_when_the_old_text_is_said_again(knowledge, root):
    write_memory(root, "old.md", "Use Postgres.")
    write_memory(root, "new.md", "Use SQLite.", supersedes=["old", "other.md"])
    assert knowledge.listed()["old.md"].superseded
    knowledge.store("Use Postgres.")
    assert not knowledge.listed()["old.md"].superseded
    assert "supersedes: [other.md]" in (root / "new.md").read_text()


@pytest.mark.parametrize("removal", [{}, {"for_good": True}])
def test_a_new_memory_takes_no_name_of_one_that_is_gone_and_was_superseded(knowledge, removal):
    old = knowledge.store("Use Postgres.")
    new = knowledge.store("Use SQLite.", supersedes=(old,))
    knowledge.memories().remove(old, **removal)
    again = knowledge.store("Use Postgres.")
    assert (knowledge.found("Postgres"), knowledge.found("SQLite")) == ([again], [new])


def test_a_new_memory_takes_no_name_of_one_that_is_gone_and_superseded_another(knowledge):
    old = knowledge.store("Use Postgres.")
    knowledge.memories().remove(knowledge.store("Use SQLite.", supersedes=(old,), summary="Disk"))
    new = knowledge.store("The disk is slow.", summary="Disk")
    assert (knowledge.found("slow"), knowledge.found("Postgres")) == ([new], [old])


def test_a_shared_copy_takes_no_name_of_one_that_is_gone_and_was_superseded(knowledge):
    shared = knowledge.memories("shared")
    old = shared.store(Draft(content="Use Postgres.", summary="Disk")).path
    shared.store(Draft(content="Use SQLite.", supersedes=(old,)))
    shared.remove(old)
    copy = knowledge.memories().share(knowledge.store("The disk is slow.", summary="Disk"))
    assert knowledge.found("slow", agent="other") == [copy.path]


def test_a_memory_is_moved_to_no_name_of_one_that_is_gone_and_was_superseded(knowledge, root):
    path = knowledge.store("Use Postgres.")
    write_memory(root, "new.md", "Use SQLite.", supersedes=["gone"])
    with pytest.raises(Conflict, match=r"still calls gone\.md"):
        knowledge.memories().move(path, "gone")
    assert knowledge.memories().move(path, "here").path == "here.md"
    assert knowledge.found("Postgres") == ["here.md"]


def test_a_move_of_a_superseded_memory_that_was_killed_is_completed(knowledge, root):
    old = knowledge.store("Use Postgres.")
    new = knowledge.store("Use SQLite.", supersedes=(old,))
    file = root / new
    file.write_text(file.read_text().replace(old, "here.md"))  # all that was done
    assert knowledge.memories().move(old, "here").path == "here.md"
    assert (knowledge.found("Postgres"), knowledge.found("SQLite")) == ([], [new])


def test_to_share_what_is_superseded_there_says_so(knowledge):
    path = knowledge.store("Use Postgres.")
    there = knowledge.memories().share(path).path
    knowledge.memories("shared").store(Draft(content="Use SQLite.", supersedes=(there,)))
    knowledge.memories().share(path)
    assert knowledge.notices.said == [f"{there} is superseded there: no search finds it"]


def neighbours(knowledge: Knowledge, path: str) -> tuple[list[str], list[str]]:
    """The paths of what the memory at `path` names, and of what names it."""
    memories = knowledge.memories()
    around = memories.around(memories.peek(path))
    return [each.name for each in around.names], [each.name for each in around.named_by]


@pytest.mark.parametrize("named", ["{}", "./{}", "notes:{}"])
def test_a_link_means_a_file_of_its_own_directory_first(knowledge, tmp_path, named):
    knowledge.store("Own tabs.", summary="Tabs")
    write_memory(tmp_path / "notes", "tabs.md", "Their tabs.")
    write_memory(tmp_path / "notes", "a.md", "Indent.", links=[named.format("tabs")])
    knowledge.agent().register(tmp_path / "notes", name="notes")
    assert neighbours(knowledge, "notes:a.md") == (["notes:tabs.md"], [])
    assert neighbours(knowledge, "notes:tabs.md") == ([], ["notes:a.md"])
    assert neighbours(knowledge, "tabs.md") == ([], [])


@pytest.mark.parametrize("named", ["EXP-001", "fly/EXP-001"])
def test_what_a_memory_outside_of_a_root_calls_an_atom_leads_there(knowledge, tmp_path, named):
    atom = "projects/fly/experiments/EXP-001.md"
    write_memory(tmp_path / "root", atom, "Pools were tried.")
    knowledge.agent().register(tmp_path / "root", name="root")
    path = knowledge.store("A pool of 32 is best.", "pitfall", evidence=(named,))
    memories = knowledge.memories()
    assert memories.get(path).relations == {"evidence": [named]}
    assert memories.get(named).path == f"root:{atom}"
    assert neighbours(knowledge, path) == ([f"root:{atom}"], [])
    assert neighbours(knowledge, f"root:{atom}") == ([], [path])


@pytest.mark.skipif(os.name == "nt", reason="needs such names")
@pytest.mark.parametrize(
    "path", ["a:b/use-tabs.md", "ab:c.md", "~draft.md", "back\\slash.md", "👩\u200d💻.md"]
)
def test_a_memory_is_changed_by_the_path_that_is_shown_whatever_it_is_called(knowledge, root, path):
    write_memory(root, path, "Use tabs.", links=["other.md"])
    other = knowledge.store("Indent by four.", summary="Other")
    (named,) = knowledge.found("tabs")
    memories = knowledge.memories()
    assert memories.update(named, Changes(tags=("style",))).path == named
    assert memories.move(other, "moved").relinked == (named,)
    newer = knowledge.store("Use spaces.", supersedes=(named,))
    assert memories.get(named).relations["superseded_by"] == [newer]
    memories.remove(named)
    assert memories.restore([named]).restored == (named,)


@pytest.mark.parametrize("key", ["supersedes", "superseded_by"])
def test_of_two_that_supersede_each_other_the_newer_one_stays(knowledge, root, key):
    write_memory(root, "new.md", "Use tabs.", created_at="2026-02-02", **{key: ["old.md"]})
    write_memory(root, "old.md", "Use spaces.", created_at="2026-02-01", supersedes=["new.md"])
    hidden = [path for path, each in knowledge.listed().items() if each.superseded]
    assert hidden == ["old.md" if key == "supersedes" else "new.md"]


@pytest.mark.parametrize("is_indexed", [True, False])
def test_lines_that_end_as_on_windows_are_no_other_text(knowledge, root, is_indexed):
    file = write_memory(root, "mine.md", "One line.\nAnother line.")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    if is_indexed:
        assert knowledge.listed()["mine.md"].content == "One line.\nAnother line."
    assert knowledge.store("One line.\nAnother line.") == "mine.md"


def test_a_memory_needs_no_suffix_however_that_is_written(knowledge, root):
    write_memory(root, "POOLS.MD", "Pools are small.")
    assert knowledge.memories().update("POOLS", Changes(tags=("x",))).changed
    assert knowledge.memories().remove("POOLS").removed
    assert knowledge.memories().restore(["POOLS"]).restored == ("POOLS.MD",)


def test_letters_are_the_same_composed_and_decomposed(knowledge, root):
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    write_memory(root, f"{decomposed}/{decomposed}.md")
    path = f"{composed}/{composed}.md"
    assert knowledge.memories().get(path).path == f"{decomposed}/{decomposed}.md"
    wanted = MemoryList(filter=MemoryFilter(category=composed))
    assert len(knowledge.memories().list(wanted)) == 1
    assert knowledge.store("Another", composed).startswith(f"{decomposed}/")
    assert knowledge.memories().remove(path).removed
    assert knowledge.memories().restore([path]).restored == (f"{decomposed}/{decomposed}.md",)


def test_a_file_from_macos_in_a_folder_of_ours_is_found(knowledge, root):
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    knowledge.store("First", composed)
    write_memory(root, f"{composed}/{decomposed}.md", "By hand.")
    path = f"{composed}/{composed}.md"
    assert knowledge.memories().get(path).content == "By hand."
    assert knowledge.memories().update(path, Changes(tags=("x",))).changed
    assert knowledge.memories().remove(path).removed
    assert knowledge.memories().restore([path]).restored == (f"{composed}/{decomposed}.md",)


@pytest.mark.skipif(sys.platform == "darwin", reason="both are one file there")
def test_of_two_names_that_differ_in_composition_the_one_that_was_read_is_changed(knowledge, root):
    composed, decomposed = (unicodedata.normalize(form, "café.md") for form in ("NFC", "NFD"))
    for path in (composed, decomposed):
        write_memory(root, path, f"{len(path)} letters.")
    memories = knowledge.memories()
    for path in (decomposed, composed):
        assert memories.get(path).content == f"{len(path)} letters."
        assert memories.remove(path).path == path


def test_removed_memories_are_not_found_until_they_are_restored(knowledge):
    path = knowledge.store("Use SQLite.", "decision")
    removed = knowledge.memories().remove(path)
    assert knowledge.found("SQLite") == []
    assert knowledge.memories().list_archive() == [Archived(removed.batch, "memories", path)]
    assert knowledge.memories().restore([path]).restored == (path,)
    assert knowledge.found("SQLite") == [path]
    assert knowledge.memories().remove(path, for_good=True).batch is None
    assert knowledge.memories().list_archive() == []
    assert knowledge.found("SQLite") == []


def test_the_strongest_of_a_category_are_kept(knowledge):
    paths = []
    for n, category in enumerate(("a/one", "a/two", "b", "a", "ab")):
        paths.append(knowledge.store(f"Text {n}", category))
        knowledge.now += DAY_MS
    rule = PruneRule(keep=1, category="A/")
    pruned = knowledge.memories().prune(rule, dry_run=True)
    assert [each.path for each in pruned.memories] == paths[:2]


def test_pruning_previews_archives_and_comes_back(knowledge):
    expired = knowledge.store("Deploy on Friday.", expires_at=NOW + DAY_MS)
    pinned = knowledge.store("Never on Friday.", expires_at=NOW + DAY_MS, pinned=True)
    knowledge.now += 400 * DAY_MS
    fresh = knowledge.store("Deploy on Monday.")
    rule = PruneRule(expired=True)
    preview = knowledge.memories().prune(rule, dry_run=True)
    assert [(each.path, each.reason) for each in preview.memories] == [(expired, "expired")]
    assert sorted(knowledge.listed()) == sorted([expired, pinned, fresh])
    pruned = knowledge.memories().prune(rule, dry_run=False)
    assert ([each.path for each in pruned.memories], pruned.archived) == ([expired], 1)
    assert sorted(knowledge.listed()) == sorted([pinned, fresh])
    batch = pruned.batch
    assert knowledge.memories().restore([], batch=batch).restored == (expired,)
    weak = knowledge.memories().prune(PruneRule(weaker_than=0.2), dry_run=True)
    assert [each.path for each in weak.memories] == [expired]
    with pytest.raises(NotFound):
        knowledge.memories().restore([], batch=batch)


@pytest.mark.parametrize("keep", [None, 0])
def test_pruning_that_is_cut_short_makes_no_superseded_memory_current(knowledge, data_dir, keep):
    first = knowledge.store("Use Postgres.", "a")
    knowledge.now += DAY_MS
    second = knowledge.store("Use MySQL.", "b", supersedes=(first,))
    knowledge.now += DAY_MS
    third = knowledge.store("Use SQLite.", "c", supersedes=(second,))
    knowledge.now += DAY_MS
    knowledge.memories().update(first, Changes(tags=("db",)))  # the strongest of them, now
    rule = PruneRule(superseded=True, keep=keep)
    batch = compact_utc(knowledge.now)
    in_the_way = data_dir / "archive" / "architect" / batch / "memories" / "a"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    with pytest.raises(SidecarError):
        knowledge.memories().prune(rule, dry_run=False)
    assert knowledge.listed()[first].superseded
    in_the_way.unlink()
    pruned = knowledge.memories().prune(rule, dry_run=False)
    assert pruned.archived == (2 if keep is None else 3)
    assert [*knowledge.listed()] == ([third] if keep is None else [])


def test_pruning_names_only_what_it_archived(knowledge, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "old.md").write_text("---\nexpires_at: 2020-01-01\n---\nDeploy on Friday.\n")
    expired = knowledge.store("Deploy on Saturday.", expires_at=NOW - DAY_MS)
    knowledge.agent().register(notes, name="notes")
    rule = PruneRule(expired=True)
    assert len(knowledge.memories().prune(rule, dry_run=True).memories) == 2
    notes.rename(tmp_path / "unmounted")
    pruned = knowledge.memories().prune(rule, dry_run=False)
    assert ([each.path for each in pruned.memories], pruned.archived) == ([expired], 1)


def test_all_that_link_to_a_memory_are_named(knowledge, root):
    hub = knowledge.store("The hub of all.")
    (root / "spoke").mkdir(parents=True)
    for number in range(120):
        (root / f"spoke/{number}.md").write_text(f"---\nlinks: [{hub}]\n---\nSpoke.\n")
    memories = knowledge.memories()
    assert len(memories.around(memories.peek(hub)).named_by) == 120


def test_near_duplicates_are_named_but_not_those_that_are_gone(knowledge):
    first = knowledge.store("one two three four five six seven eight nine ten")
    other = "one two three four five six seven eight nine ten!"
    second = knowledge.memories().store(Draft(content=f"{other} again and again"))
    assert [near.path for near in second.near_duplicates] == []
    third = knowledge.memories().store(Draft(content=other.replace("ten!", "ten eleven")))
    assert [near.path for near in third.near_duplicates] == [first]
    assert third.near_duplicates[0].cosine == pytest.approx(0.95, abs=0.02)
    assert third.near_duplicates[0].summary.startswith("one two three")
    knowledge.memories().remove(first)
    knowledge.memories().remove(third.path)
    again = knowledge.memories().store(Draft(content=other.replace("ten!", "ten eleven")))
    assert again.near_duplicates == ()


def test_what_is_said_of_another_project_is_no_contradiction(knowledge):
    same = "Mails of the worker that could not be sent to a customer are retried"
    old, new = f"{same} 3 times", f"{same} 5 times now"
    store = knowledge.memories().store
    paths = [store(Draft(content=f"{old} {p}", project=p)).path for p in ("shop", "")]
    hub = store(Draft(content=f"{old} hub", project="hub")).path
    shared = knowledge.memories().share(hub)

    found = store(Draft(content=new, project="shop")).may_contradict

    assert {each.path for each in found} == {*paths}
    assert {each.why for each in found} == {"speaks of a change"}
    found = store(Draft(content=f"{new} hub", project="hub")).may_contradict
    assert (shared.path, True) in {(each.path, each.shared) for each in found}


def test_without_a_model_near_duplicates_are_said_not_to_be_looked_for(knowledge):
    knowledge._models.version = ""
    first = knowledge.memories().store(Draft(content="one two three"))
    assert first.near_duplicates == ()
    assert knowledge.notices.has("not looked for what says nearly the same: no model here")


def test_a_near_duplicate_in_a_script_that_the_model_hardly_knows_shares_words(
    knowledge, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.memories.around.NEAR_DUPLICATE", -1.0)  # all are alike
    first = knowledge.store("ต้องรันการทดสอบทั้งหมดก่อนปล่อยเวอร์ชัน")
    other = knowledge.memories().store(Draft(content="สำรองฐานข้อมูลทุกคืน"))
    assert other.near_duplicates == ()
    again = knowledge.memories().store(Draft(content="ต้องรันการทดสอบทั้งหมดก่อนปล่อยเวอร์ชันใหม่"))
    assert [near.path for near in again.near_duplicates] == [first]


def test_a_near_duplicate_among_the_shared_is_named_whatever_their_database_is(knowledge, data_dir):
    text = "one two three four five six seven eight nine ten"
    shared = knowledge.memories().share(knowledge.store(text), moves=True)
    found = knowledge.memories("tester").store(Draft(content=f"{text} eleven")).near_duplicates
    assert [(near.path, near.shared) for near in found] == [(shared.path, True)]
    knowledge.agent("shared").close()
    (data_dir / "knowledge" / "shared.sqlite").write_bytes(b"damaged" * 1000)
    again = knowledge.memories("other").store(Draft(content=f"{text} eleven"))
    assert (again.created, again.near_duplicates) == (True, ())


def test_a_page_written_by_hand_is_looked_at_before_all_may_read_it(knowledge, root):
    path = knowledge.store("Use SQLite.", "decision")
    file = root / path
    key = "ghp" + "_" + "k7Zq2Wm9Xv4Rb1Tn8Ls5Yd3Hf6Jc0PgAeUo9"
    for field, line in (("token", f"token: {key}\n---\nUse SQLite."), ("content", f"---\n{key}")):
        file.write_text(f"---\n{line}\n")
        with pytest.raises(SecretRefused, match=f"^{field}.*GitHub"):
            knowledge.memories().share(path)
    assert not (knowledge.data_dir / "knowledge" / "shared").exists()
    shared = knowledge.memories().share(path, allow_secrets=True)
    assert (shared.agent, shared.created) == ("shared", True)


def test_shared_memories_are_read_by_all_and_own_ones_by_nobody_else(knowledge, data_dir):
    path = knowledge.store("Use SQLite.", "decision", tags=("db",))
    assert knowledge.memories("tester").store(Draft(content="Mocks lie.")).near_duplicates == ()
    assert knowledge.found("SQLite", agent="tester") == []
    shared = knowledge.memories().share(path)
    page = (data_dir / "knowledge" / "shared" / shared.path).read_text()
    assert (shared.agent, f"shared_from: architect/{path}" in page) == ("shared", True)
    assert knowledge.found("SQLite", agent="tester") == [path]
    assert sorted(knowledge.listed()) == [path]
    moved = knowledge.memories().share(path, category="all", moves=True)
    assert moved.path == "all/use-sqlite.md"
    assert knowledge.listed() == {}
    with pytest.raises(UsageError):
        knowledge.memories("shared").share(moved.path)
    with pytest.raises(NotFound):
        knowledge.memories("tester").update(path, Changes(summary="mine"))
    for path in ("../architect/decision/use-sqlite", "memories:../architect/x"):
        with pytest.raises(PathRefused):
            knowledge.memories("tester").remove(path)


def test_memories_of_a_registered_directory_are_changed_where_they_lie(knowledge, tmp_path):
    project = tmp_path / "project" / "memory"
    project.mkdir(parents=True)
    (project / "note.md").write_text("The build needs Java.\n")
    knowledge.store("Use SQLite.")
    knowledge.agent().register(project, name="shop")
    changed = knowledge.memories().update("shop:note", Changes(tags=("build",)))
    assert changed.path == "shop:note.md"
    assert "tags: [build]" in (project / "note.md").read_text()
    moved = knowledge.memories().move("shop:note", "tools/java")
    assert (moved.moved_from, moved.path) == ("shop:note.md", "shop:tools/java.md")
    assert knowledge.found("Java") == ["shop:tools/java.md"]
    knowledge.memories().remove("shop:tools/java")
    assert knowledge.found("Java") == []
    assert knowledge.memories().restore(["shop:tools/java"]).restored == ("shop:tools/java.md",)
    assert knowledge.found("Java") == ["shop:tools/java.md"]
    stored = knowledge.memories().store(Draft(content="Tests need Docker."), directory="shop")
    assert stored.path == "shop:tests-need-docker.md"
    assert (project / "tests-need-docker.md").is_file()
    assert knowledge.found("Docker") == [stored.path]
    for number, superseded in enumerate((stored.path, "tests-need-docker")):
        newer = Draft(content=f"Tests need Podman {number}.", supersedes=(superseded,))
        assert knowledge.memories().store(newer, directory="shop").supersedes == (
            "tests-need-docker.md",
        )
    knowledge.store("Tests need nothing.", summary="Tests need docker")
    elsewhere = Draft(content="Tests need Colima.", supersedes=(stored.path,))
    with pytest.raises(UsageError, match="in another knowledge directory"):
        knowledge.memories().store(elsewhere)
    moved = knowledge.memories().move(stored.path, "tools/")
    assert moved.relinked == ("shop:tests-need-podman-0.md", "shop:tests-need-podman-1.md")
    with pytest.raises(UsageError):
        knowledge.memories().move("shop:tools/java", "memories:x")
    with pytest.raises(NotFound):
        knowledge.memories().update("nowhere:x", Changes(summary="s"))
    with pytest.raises(NotFound):
        knowledge.memories().store(Draft(content="x"), directory="nowhere")


@pytest.mark.parametrize("named", ["{}", "./{}", "shop:{}"])
def test_a_memory_of_a_registered_directory_may_be_named_by_its_address(knowledge, tmp_path, named):
    def page(file: str, key: str, other: str) -> None:
        write_memory(tmp_path / "notes", file, f"{file} is so.", **{key: named.format(other)})

    page("a.md", "links", "old")
    page("old.md", "superseded_by", "new.md")
    page("new.md", "supersedes", "old.md")
    knowledge.agent().register(tmp_path / "notes", name="shop")
    moved = knowledge.memories().move("shop:old", "x/")
    assert moved.relinked == ("shop:a.md", "shop:new.md")
    knowledge.memories().remove("shop:new", for_good=True)
    assert "superseded_by" not in (tmp_path / "notes/x/old.md").read_text()


def test_categories_are_listed_with_what_they_are_for(knowledge, root):
    knowledge.store("Use SQLite.", "decision/storage")
    memories = knowledge.memories()
    memories.describe_category("empty", "Nothing yet.", creates=True)
    memories.describe_category("decision", "What was decided.", creates=False)
    assert [
        (row.path, row.parent_path, row.description, row.memories) for row in memories.categories()
    ] == [
        ("decision", None, "What was decided.", 0),
        ("decision/storage", "decision", "", 1),
        ("empty", None, "Nothing yet.", 0),
    ]
    outdated = knowledge.store("Use flat files.", "decision/storage")
    memories.update(outdated, Changes(status="invalidated"))
    decision, storage, _ = memories.categories()
    assert storage.tokens == storage.total_tokens == decision.total_tokens > decision.tokens == 0
    assert (decision.memories, decision.total_memories) == (0, 1)
    with pytest.raises(Conflict):
        memories.delete_category("decision", with_memories=False)
    assert memories.delete_category("decision", with_memories=True).archived == 2
    assert [row.path for row in memories.categories()] == ["empty"]
    assert knowledge.found("SQLite") == []
    (root / "empty/_category.md").write_text("Edited by hand.\n")
    knowledge.close()
    assert [row.description for row in knowledge.memories().categories()] == ["Edited by hand."]


def test_the_first_memory_that_is_restored_brings_its_category_with_it(knowledge):
    one, two = (knowledge.store(text, "decision") for text in ("Use SQLite.", "Use CBOR."))
    memories = knowledge.memories()
    memories.describe_category("decision", "What was decided.", creates=False)
    memories.delete_category("decision", with_memories=True)
    assert memories.restore([one]).restored == (one, "decision/_category.md")
    assert memories.restore([two]).restored == (two,)
    assert [row.description for row in memories.categories()] == ["What was decided."]
    assert memories.list_archive() == []


def test_a_category_described_anew_holds_up_no_batch(knowledge, root):
    path = knowledge.store("Use SQLite.", "decision")
    memories = knowledge.memories()
    memories.describe_category("decision", "Of old.", creates=False)
    batch = memories.delete_category("decision", with_memories=True).batch
    memories.describe_category("decision", "Of now.", creates=True)
    assert memories.restore([], batch=batch).restored == (path,)
    assert [row.description for row in memories.categories()] == ["Of now."]
    assert [each.path for each in memories.list_archive()] == ["decision/_category.md"]
    with pytest.raises(Conflict):
        memories.restore([], batch=batch)


def test_a_lost_database_knows_all_again(knowledge, data_dir):
    paths = [knowledge.store(f"Fact {n} about storage.", "facts") for n in range(5)]
    ids = {path: row.id for path, row in knowledge.listed().items()}
    knowledge.close()
    for file in data_dir.rglob("*.sqlite*"):
        file.unlink()
    paths.append(knowledge.store("Fact 5 about storage.", "facts"))
    again = {path: row.id for path, row in knowledge.listed().items()}
    assert sorted(again) == sorted(paths)
    assert ids.items() <= again.items()


def test_callers_at_once_lose_nothing(knowledge):
    knowledge.store("The first one makes the database.")

    def write(number: int) -> None:
        for step in range(10):
            knowledge.store(f"Fact {step} from caller {number}.")
            knowledge.store(f"Fact {step} that everybody stores.")

    callers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    contents = [row.content for row in knowledge.listed().values()]
    assert len(contents) == len(set(contents)) == 1 + 40 + 10


def test_what_cannot_be_changed_leaves_all_as_it_was(knowledge, root):
    path = knowledge.store("Use SQLite.")
    other = knowledge.store("Mocks lie.")
    before = {file: file.read_bytes() for file in root.rglob("*.md")}
    memories = knowledge.memories()
    refused: list[tuple[type[Exception], Callable[[], object]]] = [
        (Conflict, lambda: memories.update(path, Changes(summary="s"), if_hash="0")),
        (Conflict, lambda: memories.remove(path, if_hash="0")),
        (Conflict, lambda: memories.move(path, other)),
        (NotFound, lambda: memories.store(Draft(content="x", supersedes=("gone",)))),
        (UsageError, lambda: memories.move(path, "a b")),
    ]
    for error, change in refused:
        with pytest.raises(error):
            change()
    assert {file: file.read_bytes() for file in root.rglob("*.md")} == before
    assert sorted(knowledge.listed()) == sorted([path, other])


def test_reads_are_counted_beside_the_files(knowledge, root, data_dir):
    path = knowledge.store("Use SQLite.")
    before = (root / path).stat()
    Memories(knowledge.agent(), knowledge.notices).get(path)
    assert (root / path).stat() == before or (root / path).stat().st_mtime_ns == before.st_mtime_ns
    (log,) = data_dir.rglob("access.jsonl")
    line = json.loads(log.read_text().splitlines()[-1])
    assert (line["file"], line["tool"]) == (path, "get")


def test_a_file_that_is_no_memory_is_told_from_none(knowledge):
    knowledge.store("hello", "c")
    folder = knowledge.agent().paths.memories / "c"
    (folder / "empty.md").touch()
    (folder / "binary.md").write_bytes(b"a\0b")
    (folder / "notes.txt").write_text("hello")
    (folder / ".hidden.md").write_text("hello")
    (folder / "link.md").symlink_to("hello.md")
    (folder / "out").symlink_to(folder.parents[3])
    for path, reason in (
        ("c/empty", "empty"),
        ("c/binary.md", "binary"),
        ("c/notes.txt", "its name cannot be that of a memory"),
        ("c/.hidden.md", "its name cannot be that of a memory"),
        ("c/link.md", "symbolic link"),
    ):
        with pytest.raises(NotFound) as left_out:
            knowledge.memories().get(path)
        assert left_out.value.message == f"{path} exists, but is not a memory: {reason}"
        assert left_out.value.hint == "it is found as soon as that has changed"
    outside = folder.parents[3] / "outside.txt"
    outside.write_text("theirs")
    for path in ("c/nothing", "c/out/outside.txt", "../outside.txt", str(outside), ""):
        with pytest.raises(NotFound, match="architect has no memory"):
            knowledge.memories().get(path)
