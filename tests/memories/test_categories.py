"""Categories are folders, and their descriptions survive everything."""

from __future__ import annotations

import os

import pytest

from memory_sidecar.core.errors import Conflict, NotFound, PathRefused, UsageError
from memory_sidecar.core.opening import Tree
from memory_sidecar.disk.frontmatter import parse_page
from memory_sidecar.memories.archive import Archive
from memory_sidecar.memories.categories import create, delete, describe, description_of
from tests.memories.conftest import NOW, tree


@pytest.fixture
def archive(tmp_path):
    return Archive(tmp_path / "archive", Tree(tmp_path, is_own=True))


def test_a_description_is_a_page(directory):
    made, page = create(directory, "decisions/storage", " Where data lies.\n", now_ms=NOW)
    assert (made.created, page) == (True, "decisions/storage/_category.md")
    assert tree(directory.root) == {
        page: "---\ncreated_at: 2026-03-01T09:12:00.000Z\n---\nWhere data lies.\n"
    }
    again, _ = create(directory, "decisions/storage", "Where data lies.", now_ms=NOW + 1)
    assert (again.created, again.description) == (False, "Where data lies.")
    assert create(directory, "decisions/storage", "", now_ms=NOW)[0] == again
    with pytest.raises(Conflict):
        create(directory, "decisions/storage", "Something else.", now_ms=NOW)


def test_a_category_without_description_is_there_too(directory):
    _, page = create(directory, "empty", "", now_ms=NOW)
    assert description_of(parse_page((directory.root / page).read_text())) == ""
    assert (directory.root / page).stat().st_size > 0
    create(directory, "empty", "Now it has one.", now_ms=NOW)
    assert description_of(parse_page((directory.root / page).read_text())) == "Now it has one."


def test_a_category_that_is_known_by_another_spelling_is_made_no_second_time(directory):
    create(directory, "Decisions", "", now_ms=NOW)
    described, _ = create(directory, "decision/Storage", "Where data lies", now_ms=NOW)
    assert described.category == "Decisions/Storage"
    described, _ = describe(directory, "decisions", "What we decided", now_ms=NOW)
    assert (described.category, described.created) == ("Decisions", False)


def test_describing_keeps_the_rest_of_the_page(directory, remember):
    remember("text", "a")
    page = directory.root / describe(directory, "a", "First.", now_ms=NOW)[1]
    page.write_text(page.read_text().replace("---\nFirst", "mine: kept # why\n---\n\nFirst"))
    describe(directory, "a", "Second.", now_ms=NOW)
    assert page.read_text().endswith("mine: kept # why\n---\n\nSecond.\n")
    page.write_text("---\ndescription: In a key\nmine: kept\n---\nNotes.\n")
    assert description_of(parse_page(page.read_text())) == "In a key"
    describe(directory, "a", "Third.", now_ms=NOW)
    assert page.read_text() == "---\ndescription: Third.\nmine: kept\n---\nNotes.\n"
    assert describe(directory, "", "The root.", now_ms=NOW)[1] == "_category.md"


def test_deleting_archives_what_is_in_it(directory, remember, archive):
    create(directory, "a/b", "Described.", now_ms=NOW)
    paths = [remember(f"text {n}", category).file.path for n, category in enumerate(("a", "a/b"))]
    other = remember("other", "ab").file
    before = tree(directory.root)
    with pytest.raises(Conflict, match="2 memories"):
        delete(directory, archive, "a", with_memories=False, now_ms=NOW)
    assert tree(directory.root) == before
    taken, _ = delete(directory, archive, "a", with_memories=True, now_ms=NOW)
    assert sorted(each.path for each in taken) == sorted([*paths, "a/b/_category.md"])
    assert tree(directory.root) == {other.path: other.text}
    assert not (directory.root / "a").exists()
    archive.give_back(directory, archive.all())
    assert tree(directory.root) == before


def test_what_a_person_named_otherwise_is_deleted_and_comes_back(directory, archive):
    page = directory.root / "My Notes/POOLS.MD"
    page.parent.mkdir(parents=True)
    page.write_text("Pools are small.\n")
    describe(directory, "My Notes", "Noted by hand.", now_ms=NOW)
    with pytest.raises(Conflict, match="1 memory"):
        delete(directory, archive, "My Notes", with_memories=False, now_ms=NOW)
    delete(directory, archive, "My Notes", with_memories=True, now_ms=NOW)
    assert not page.parent.exists()
    archived = ["My Notes/POOLS.MD", "My Notes/_category.md"]
    assert [each.path for each in archive.all()] == archived
    assert [each.path for each in archive.latest([("memories", "My")])] == archived[:1]
    archive.give_back(directory, archive.latest([("memories", path) for path in archived]))
    assert sorted(tree(directory.root)) == archived
    assert page.read_text() == "Pools are small.\n"


def test_files_that_are_no_memories_stay(directory, archive):
    create(directory, "a", "Described.", now_ms=NOW)
    (directory.root / "a/photo.png").write_bytes(b"png")
    (directory.root / "a/.obsidian").mkdir()
    (directory.root / "a/.obsidian/x.md").write_text("theirs")
    delete(directory, archive, "a", with_memories=True, now_ms=NOW)
    assert sorted(tree(directory.root)) == ["a/.obsidian/x.md", "a/photo.png"]


def test_a_category_is_deleted_by_another_spelling(directory, archive):
    create(directory, "Drafts/One", "", now_ms=NOW)
    create(directory, "Drafts/Two", "", now_ms=NOW)
    _, deleted = delete(directory, archive, "draft/one/", with_memories=False, now_ms=NOW)
    assert (deleted, sorted(tree(directory.root))) == ("Drafts/One", ["Drafts/Two/_category.md"])


def test_a_category_that_cannot_be_read_to_its_end_is_left_as_it_is(
    directory, remember, archive, monkeypatch
):
    for category in ("a", "a/b"):
        remember(f"text of {category}", category)
    before, scandir = tree(directory.root), os.scandir

    def scan(path):
        if os.fspath(path).endswith("a/b"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scan)
        with pytest.raises(PathRefused, match="a/b cannot be read"):
            delete(directory, archive, "a", with_memories=True, now_ms=NOW)
    assert tree(directory.root) == before


def test_what_is_no_category_is_refused(directory, archive):
    with pytest.raises(NotFound):
        describe(directory, "missing", "x", now_ms=NOW)
    with pytest.raises(NotFound):
        delete(directory, archive, "missing", with_memories=True, now_ms=NOW)
    with pytest.raises(UsageError):
        delete(directory, archive, "", with_memories=True, now_ms=NOW)
    with pytest.raises(UsageError):
        create(directory, "", "x", now_ms=NOW)
    (directory.root / ".obsidian").mkdir(parents=True)
    with pytest.raises(NotFound):
        describe(directory, ".obsidian", "x", now_ms=NOW)
    with pytest.raises(NotFound):
        delete(directory, archive, ".obsidian", with_memories=True, now_ms=NOW)
    for call in (create, describe):
        with pytest.raises(PathRefused):
            call(directory, "../x", "x", now_ms=NOW)
    with pytest.raises(PathRefused):
        delete(directory, archive, "../architect", with_memories=True, now_ms=NOW)
