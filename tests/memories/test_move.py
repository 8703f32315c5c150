"""Moved and shared memories stay what they are, and what names them follows."""

from __future__ import annotations

import pytest

from memory_sidecar.core.errors import Conflict, NotFound, PathRefused, SidecarError, UsageError
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.move import move, share
from memory_sidecar.memories.write import update
from tests.memories.conftest import DAY_MS, NOW, tree

LATER = NOW + DAY_MS


def test_a_person_who_saves_a_linking_memory_meanwhile_hinders_no_move(
    directory, remember, monkeypatch
):
    old = remember("Use SQLite.").file.path
    linking = remember("As decided.", evidence=(old,)).file.path
    file, overwrite = directory.root / linking, KnowledgeDirectory.overwrite
    saved: list[str] = []

    def save_before_the_first(directory, page, text):
        if not saved:
            file.write_text(file.read_text() + "And more.\n")
            saved.append(page.path)
        return overwrite(directory, page, text)

    monkeypatch.setattr(KnowledgeDirectory, "overwrite", save_before_the_first)
    moved = move(directory, old, "storage/", linking=[linking])
    assert moved.changed == (old, "storage/use-sqlite.md", linking)
    assert saved == [linking]
    assert "evidence: [storage/use-sqlite.md]" in file.read_text()
    assert file.read_text().endswith("And more.\n")


@pytest.mark.parametrize(
    ("to", "new"),
    [
        ("pitfall/renamed", "pitfall/renamed.md"),
        ("decisions/storage/renamed.md", "decisions/storage/renamed.md"),
        ("decisions/", "decisions/use-sqlite.md"),
        ("renamed", "renamed.md"),
    ],
)
def test_a_moved_file_is_the_same_to_the_byte(directory, remember, to, new):
    old = remember("Use SQLite.", "pitfall").file
    file = directory.root / old.path
    before = file.stat()
    moved = move(directory, old.path, to)
    assert tree(directory.root) == {new: old.text}
    assert (directory.root / new).stat().st_mtime_ns == before.st_mtime_ns
    assert (moved.file.path, moved.changed) == (new, (old.path, new))


def test_a_new_path_that_differs_from_another_in_case_alone_is_refused(directory, remember):
    remember("Use Postgres.", "pitfall")
    old = remember("Use SQLite.", "pitfall").file.path
    with pytest.raises(Conflict, match=r"use-postgres\.md differ in case alone"):
        move(directory, old, "pitfall/Use-Postgres")
    assert move(directory, old, "pitfall/Use-SQLite").file.path == "pitfall/Use-SQLite.md"


def test_a_category_that_is_there_needs_no_slash(directory, remember):
    remember("Use Postgres.", "decisions/storage")
    old = remember("Use SQLite.", "pitfall").file.path
    assert move(directory, old, "decisions/storage").file.path == "decisions/storage/use-sqlite.md"
    assert move(directory, "decisions/storage/use-sqlite", "decisions.md").file.path == (
        "decisions.md"
    )


@pytest.mark.parametrize(
    ("to", "new"),
    [
        ("Daily Notes", "Daily Notes/Retry Budget.md"),
        ("Daily Notes/", "Daily Notes/Retry Budget.md"),
        ("daily", "daily.md"),
        ("pitfall/Retry Budget", "pitfall/Retry Budget.md"),
        ("Daily Notes/Retries of 2026.md", "Daily Notes/Retries of 2026.md"),
    ],
)
def test_a_note_keeps_the_spaces_of_its_name(directory, remember, to, new):
    remember("Use SQLite.", "pitfall")
    (directory.root / "Daily Notes").mkdir()
    (directory.root / "Retry Budget.md").write_text("At most three.\n")
    assert move(directory, "Retry Budget", to).file.path == new


@pytest.mark.parametrize("to", ["New Folder/", "New Folder/x", "pitfall/ x", "Why: x", "con .md"])
def test_a_name_that_some_disks_refuse_is_not_made(directory, remember, to):
    (directory.root / "pitfall").mkdir(parents=True)
    (directory.root / "Retry Budget.md").write_text("At most three.\n")
    with pytest.raises(UsageError):
        move(directory, "Retry Budget", to)
    with pytest.raises(UsageError):
        move(directory, remember("Use SQLite.").file.path, "use the file")


def test_what_names_a_moved_memory_follows(directory, remember):
    old = remember("Use Postgres.", "decision").file.path
    new = remember("Use SQLite.", "decision", supersedes=(old,)).file.path
    other = remember("See there.", links=("decision/use-sqlite", "else"), evidence=(new,)).file.path
    moved = move(directory, new, "storage/", linking=[old, other, "gone.md"])
    assert moved.changed == (new, "storage/use-sqlite.md", old, other)
    assert directory.read(old).page.superseded_by == ("storage/use-sqlite.md",)
    page = directory.read(other).page
    assert page.links == ("storage/use-sqlite", "else")
    assert page.evidence == ("storage/use-sqlite.md",)
    assert page.updated_at == NOW


def test_a_move_that_is_killed_is_completed_by_the_same_call(directory, remember, monkeypatch):
    old = remember("Use SQLite.", "decision").file
    linking = [remember(text, links=(old.path,)).file.path for text in ("See.", "See there.")]
    overwrite = KnowledgeDirectory.overwrite

    def killed(directory, page, text):
        if page.path == linking[1]:
            raise KeyboardInterrupt
        return overwrite(directory, page, text)

    monkeypatch.setattr(KnowledgeDirectory, "overwrite", killed)
    with pytest.raises(KeyboardInterrupt):
        move(directory, old.path, "storage/", linking=linking)
    monkeypatch.undo()
    assert directory.read(old.path).text == old.text
    moved = move(directory, old.path, "storage/", linking=linking)
    assert {directory.read(each).page.links for each in linking} == {("storage/use-sqlite.md",)}
    assert moved.file.text == old.text


def test_a_move_that_fails_leaves_what_names_the_memory(directory, remember):
    old = remember("Use SQLite.", "decision").file.path
    linking = remember("See there.", links=(old,)).file.path
    before = tree(directory.root)
    (directory.root / "storage").write_text("no folder")
    with pytest.raises(SidecarError):
        move(directory, old, "storage/", linking=[linking])
    (directory.root / "storage").unlink()
    assert tree(directory.root) == before


def test_what_names_a_moved_memory_and_is_no_text_stays(directory, remember):
    old = remember("Use SQLite.", "pitfall").file.path
    (directory.root / "binary.md").write_bytes(b"\xff" + old.encode())
    moved = move(directory, old, "decisions/", linking=["binary.md"])
    assert moved.changed == (old, "decisions/use-sqlite.md")


def test_nothing_is_overwritten_by_a_move(directory, remember):
    one, two = remember("One.", "a").file, remember("Two.", "b").file
    with pytest.raises(Conflict):
        move(directory, one.path, two.path)
    with pytest.raises(NotFound):
        move(directory, "missing", "c")
    for to in ("../c", "/c", "a/../../c"):
        with pytest.raises(PathRefused):
            move(directory, one.path, to)
    for to in ("", "a/_category.md", "a b", ".hidden/"):
        with pytest.raises(UsageError):
            move(directory, one.path, to)
    assert tree(directory.root) == {one.path: one.text, two.path: two.text}
    assert move(directory, one.path, one.path).changed == ()


# Sharing


@pytest.fixture
def shared(tmp_path, directory):
    return KnowledgeDirectory(
        "memories", tmp_path / "knowledge" / "shared", directory.locks, directory.data
    )


def test_a_shared_memory_says_where_it_comes_from(directory, remember, shared):
    old = remember("Use Postgres.", "decision").file.path
    own = remember("Use SQLite.", "decision", tags=("db",), supersedes=(old,)).file
    written = share(own, shared, agent="architect", now_ms=LATER)
    page = written.file.page
    assert written.is_new
    assert written.file.path == own.path
    assert (page.content, page.tags) == ("Use SQLite.", ("db",))
    assert (page.created_at, page.updated_at) == (NOW, NOW)
    assert "shared_from: architect/decision/use-sqlite.md" in written.file.text
    assert page.supersedes == ()
    assert directory.read(own.path) == own
    again = share(own, shared, agent="architect", now_ms=LATER)
    assert (again.is_new, again.changed) == (False, ())


def test_a_shared_memory_does_not_replace_that_of_another_agent(directory, remember, shared):
    path = remember("# Note\n\none").file.path
    share(directory.read(path), shared, agent="architect", now_ms=NOW)
    update(directory, path, Changes(content="# Note\n\ntwo"), now_ms=NOW)
    share(directory.read(path), shared, agent="architect", now_ms=NOW)
    share(directory.read(path), shared, agent="architect", now_ms=NOW, category="notes/all")
    assert sorted(tree(shared.root)) == ["note-architect.md", "note.md", "notes/all/note.md"]


@pytest.mark.parametrize(
    ("named", "follows"),
    [
        ("superseded_by: {}, other.md", "superseded_by: [storage/use-sqlite.md, other.md]"),
        ("superseded_by: [other, {}]", "superseded_by: [other, storage/use-sqlite.md]"),
        ("supersedes: ./{} # so", "supersedes: [storage/use-sqlite.md] # so"),
    ],
)
def test_a_link_that_a_person_wrote_follows(directory, remember, named, follows):
    moved = remember("Use SQLite.").file.path
    page = directory.create("by-hand.md", f"---\n{named.format(moved)}\n---\nUse files.\n")
    assert move(directory, moved, "storage/", linking=[page.path]).changed[2:] == (page.path,)
    assert directory.read(page.path).text.startswith(f"---\n{follows}\n")
