"""Storing and changing memories: once each, with nothing lost that someone else wrote."""

from __future__ import annotations

import os
import threading
import unicodedata

import pytest

from memory_sidecar.core.errors import (
    Conflict,
    NotFound,
    PageBroken,
    PathRefused,
    SidecarError,
    UsageError,
)
from memory_sidecar.core.opening import Tree
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.draft import MAX_CONTENT_BYTES, Changes, Draft
from memory_sidecar.memories.files import content_hash
from memory_sidecar.memories.write import delete, store, update
from tests.memories.conftest import DAY_MS, NOW, tree

LATER = NOW + DAY_MS


def test_a_memory_is_a_page_that_people_can_read(directory, remember):
    written = remember(
        "Avoid the Strategy pattern in the payment module: it makes a circular dependency.",
        "pitfall",
        tags=("payment", "area:build"),
        source="agent:architect",
        summary="Strategy pattern in payment makes a dependency cycle",
        evidence=("session:2026-03-01-payment",),
    )
    assert tree(directory.root) == {
        "pitfall/strategy-pattern-in-payment-makes-a-dependency-cycle.md": (
            "---\n"
            "created_at: 2026-03-01T09:12:00.000Z\n"
            "updated_at: 2026-03-01T09:12:00.000Z\n"
            "source: agent:architect\n"
            "tags: [payment, area:build]\n"
            "summary: Strategy pattern in payment makes a dependency cycle\n"
            "evidence: [session:2026-03-01-payment]\n"
            "---\n"
            "Avoid the Strategy pattern in the payment module: it makes a circular dependency.\n"
        )
    }
    assert written.is_new
    assert written.changed == (written.file.path,)
    assert written.file == directory.read(written.file.path)


@pytest.mark.parametrize(
    "content",
    [
        "-rf is no option",
        "---\nlooks: like frontmatter\n---\n",
        "\n\n    indented code\n\ttabs\n",
        "quotes \" and ' and `ticks`",
        "日本語の記憶 🎉❤️",
        "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n",
        "word " * 20_000,
        "a\r\nb\r\n",
        "\u2028 \x07 control",
        "# Heading\n\n- list",
    ],
    ids=lambda content: repr(content)[:30],
)
def test_any_text_is_kept(directory, remember, content):
    path = remember(content).file.path
    kept = directory.read(path).page.content
    assert content_hash(kept) == content_hash(content)
    assert kept == content.replace("\r\n", "\n").strip("\n").rstrip()
    assert not remember(content).is_new


@pytest.mark.parametrize("content", ["", " \n\t", "a\0b", "x" * (MAX_CONTENT_BYTES + 1)], ids=len)
def test_what_is_no_memory_is_refused_before_anything_is_written(directory, remember, content):
    with pytest.raises(UsageError):
        remember(content)
    assert not directory.root.exists()


def test_the_same_content_is_the_same_memory(directory, remember):
    first = remember("Use SQLite.", "decision", tags=("db",))
    before = tree(directory.root)
    again = remember("Use SQLite.\r\n\r\n", "decision", at=LATER, tags=("db",))
    assert (again.is_new, again.changed) == (False, ())
    assert again.file == first.file
    assert tree(directory.root) == before


def test_saying_it_again_adds_what_is_new(directory, remember):
    remember("Use SQLite.", "decision", tags=("db", "x:1"), summary="Storage")
    again = remember(
        "Use SQLite.",
        "decision",
        at=LATER,
        tags=("x:1", "new"),
        summary="Storage",
        evidence=("EXP-1",),
        pinned=True,
    )
    page = again.file.page
    assert not again.is_new
    assert page.tags == ("db", "x:1", "new")
    assert (page.summary, page.evidence, page.pinned) == ("Storage", ("EXP-1",), True)
    assert (page.created_at, page.updated_at) == (NOW, LATER)


def test_the_same_content_in_another_category_is_another_memory(remember):
    assert remember("Use SQLite.", "decision").is_new
    assert remember("Use SQLite.", "decision/old").is_new
    assert remember("Use SQLite.").is_new


def test_other_content_of_the_same_name_gets_a_name_of_its_own(directory, remember):
    paths = [remember(f"# Note\n\n{n}").file.path for n in range(3)]
    assert paths[0] == "note.md"
    assert len(set(paths)) == 3
    assert all(path.startswith("note") for path in paths)
    assert [remember(f"# Note\n\n{n}").file.path for n in range(3)] == paths


def test_a_memory_is_found_where_it_was_renamed_to(directory, remember):
    old = directory.root / remember("Use SQLite.", "decision").file.path
    old.rename(old.with_name("renamed.md"))
    again = store(
        directory,
        Draft(content="Use SQLite.", category="decision"),
        now_ms=LATER,
        same_content=["decision/gone.md", "decision/renamed.md"],
    )
    assert (again.is_new, again.file.path) == (False, "decision/renamed.md")


def test_a_file_that_someone_put_there_is_not_overwritten(directory, remember):
    directory.root.mkdir(parents=True)
    (directory.root / "note.md").write_text("by hand")
    (directory.root / "words.md").mkdir()
    assert remember("Note").file.path != "note.md"
    assert remember("Words").file.path != "words.md"
    assert (directory.root / "note.md").read_text() == "by hand"


def test_nothing_leaves_the_directory(directory, remember, tmp_path):
    directory.root.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (directory.root / "link").symlink_to(tmp_path / "other")
    for category in ("../other", "/tmp", "link", "link/below", "a/../../other"):
        with pytest.raises(PathRefused):
            remember("text", category)
    assert list((tmp_path / "other").iterdir()) == []


def test_an_expired_memory_comes_back_when_it_is_said_again(remember):
    first = remember("Deploy on Friday.", expires_at=NOW + 1000)
    assert first.file.page.expires_at == NOW + 1000
    assert remember("Deploy on Friday.", at=NOW + 500).file.page.expires_at == NOW + 1000
    assert remember("Deploy on Friday.", at=LATER).file.page.expires_at is None


def test_a_directory_that_is_gone_is_not_made_again(tmp_path):
    mounted = KnowledgeDirectory("usb", tmp_path / "usb", tmp_path / "locks", Tree(tmp_path))
    with pytest.raises(NotFound):
        store(mounted, Draft(content="text"), now_ms=NOW)
    assert not mounted.root.exists()


# Superseding


def test_both_sides_say_what_supersedes_what(directory, remember):
    old = remember("Use Postgres.", "decision").file.path
    new = remember("Use SQLite.", "decision", supersedes=(old,))
    assert new.changed == ("decision/use-sqlite.md", old)
    assert new.file.page.supersedes == (old,)
    assert directory.read(old).page.superseded_by == (new.file.path,)
    again = remember("Use SQLite.", "decision", at=LATER, supersedes=(old,))
    assert again.changed == ()


@pytest.mark.parametrize(
    "written",
    ["[a.md, b.md]", "5", "../../etc", ".hidden", "_category.md", "{a: b}", "[[x, {y: z}]]"],
)
def test_an_odd_successor_written_by_hand_does_not_keep_a_memory_from_being_said_again(
    directory, remember, written
):
    path = remember("Use SQLite").file.path
    file = directory.root / path
    file.write_text(file.read_text().replace("---\n", f"---\nsuperseded_by: {written}\n", 1))
    again = remember("Use SQLite")
    assert (again.file.path, again.changed) == (path, (path,))
    assert "superseded_by" not in file.read_text()


def test_every_successor_of_a_list_lets_go_and_a_broken_one_is_left_as_it_is(directory, remember):
    path = remember("Use SQLite").file.path
    kept = [remember(text, supersedes=[path]).file.path for text in ("Use LMDB", "Use DuckDB")]
    broken = directory.root / remember("Use files", supersedes=[path]).file.path
    broken.write_text(broken.read_text().replace("---\n", "---\ntags: [a\n", 1))
    before = broken.read_text()
    file = directory.root / path
    named = ", ".join([*kept, broken.name])
    lines = file.read_text().splitlines()
    lines = [f"superseded_by: [{named}]" if "superseded_by" in line else line for line in lines]
    file.write_text("\n".join(lines) + "\n")
    assert set(remember("Use SQLite").changed) == {path, *kept}
    assert [directory.read(each).page.supersedes for each in kept] == [(), ()]
    assert broken.read_text() == before


def test_a_superseded_memory_that_is_said_again_counts_again(directory, remember):
    old = remember("Use Postgres.").file.path
    new = remember("Use SQLite.", supersedes=("use-postgres",)).file.path
    back = remember("Use Postgres.", at=LATER)
    assert back.changed == (old, new)
    assert back.file.page.superseded_by == ()
    assert directory.read(new).page.supersedes == ()


@pytest.mark.parametrize("status", ["superseded", "Stale", "invalidated"])
def test_what_a_status_takes_out_of_use_counts_again_once_it_is_said_again(
    directory, remember, status
):
    path = remember("Use Postgres.", status=status).file.path
    assert remember("Use Postgres.", at=LATER, status=status).changed == ()
    assert remember("Use Postgres.", at=LATER).file.page.status == ""
    update(directory, path, Changes(status="challenged"), now_ms=LATER)
    assert remember("Use Postgres.", at=LATER).file.page.status == "challenged"


def test_two_may_change_their_minds(directory, remember):
    one = remember("Use Postgres.").file.path
    two = remember("Use SQLite.", supersedes=(one,)).file.path
    remember("Use Postgres.", at=LATER, supersedes=(two,))
    assert directory.read(one).page.supersedes == (two,)
    assert directory.read(one).page.superseded_by == ()
    assert directory.read(two).page.superseded_by == (one,)
    assert directory.read(two).page.supersedes == ()


def test_what_is_superseded_is_named_as_its_file_is_called(directory, remember):
    """By another spelling, such as that of a caller on Linux, its row would not be found."""
    composed, decomposed = (unicodedata.normalize(form, "café.md") for form in ("NFC", "NFD"))
    directory.root.mkdir(parents=True)
    (directory.root / decomposed).write_text("Use tables.\n")
    newer = remember("Use files.", supersedes=(composed,)).file
    assert newer.page.supersedes == (decomposed,)
    assert directory.read(decomposed).page.superseded_by == (newer.path,)


def test_what_supersedes_nothing_is_not_written(directory, remember):
    with pytest.raises(NotFound):
        remember("Use SQLite.", supersedes=("missing.md",))
    assert tree(directory.root) == {}


# Updating


def test_an_update_changes_only_what_it_names(directory, remember):
    path = remember("Use SQLite.", tags=("db", "x:1", "x:2"), summary="Storage").file.path
    file = directory.root / path
    file.write_text(file.read_text().replace("tags:", "mine: [kept]  # a comment\ntags:"))
    changes = Changes(tags=("new",), remove_tags=("x:", "absent"), status="valid")
    updated = update(directory, path, changes, now_ms=LATER)
    assert file.read_text() == (
        "---\n"
        "created_at: 2026-03-01T09:12:00.000Z\n"
        "updated_at: 2026-03-02T09:12:00.000Z\n"
        "source: unknown\n"
        "mine: [kept]  # a comment\n"
        "tags: [db, new]\n"
        "summary: Storage\n"
        "status: valid\n"
        "---\n"
        "Use SQLite.\n"
    )
    assert updated.file.hash == directory.read(path).hash


def test_a_change_of_how_a_memory_is_filed_keeps_its_date(directory, remember):
    path = remember("Use SQLite.", tags=("db",)).file.path
    filing = Changes(tags=("new",), remove_tags=("db",), pinned=True, project="shop", links=("a",))
    update(directory, path, filing, now_ms=LATER)
    page = directory.read(path).page
    assert (page.tags, page.pinned, page.project, page.links) == (("new",), True, "shop", ("a",))
    assert page.updated_at == NOW
    update(directory, path, Changes(tags=("x",), content="Use DuckDB."), now_ms=LATER)
    assert directory.read(path).page.updated_at == LATER


def test_a_bare_page_keeps_its_date_when_it_is_tagged(directory):
    directory.root.mkdir(parents=True)
    (file := directory.root / "hand.md").write_text("By hand.\n")
    os.utime(file, (NOW / 1000, NOW / 1000))
    update(directory, "hand", Changes(tags=("x",)), now_ms=LATER)
    assert directory.read("hand").page.updated_at == NOW


def test_an_emptied_summary_hides_what_another_key_of_a_note_tells(directory):
    directory.root.mkdir(parents=True)
    (file := directory.root / "note.md").write_text("---\ndescription: Totals\n---\nIn cents.\n")
    update(directory, "note", Changes(summary="In euros"), now_ms=NOW)
    update(directory, "note", Changes(summary=""), now_ms=LATER)
    assert directory.read("note").page.summary == ""
    assert "description: Totals\n" in file.read_text()
    assert update(directory, "note", Changes(summary=""), now_ms=LATER).changed == ()
    update(directory, "note", Changes(summary="In euros"), now_ms=LATER)
    assert directory.read("note").page.summary == "In euros"


def test_an_update_of_the_text_keeps_the_rest(directory, remember):
    path = remember("Use SQLite.", tags=("db",)).file.path
    updated = update(directory, path, Changes(content="Use\nDuckDB."), now_ms=LATER)
    assert updated.file.page.content == "Use\nDuckDB."
    assert (updated.file.page.tags, updated.file.page.created_at) == (("db",), NOW)


def test_an_empty_value_removes_a_property(directory, remember):
    given = {"summary": "s", "status": "valid", "pinned": True, "expires_at": LATER}
    path = remember("Use SQLite.", tags=("a",), **given).file.path
    changes = Changes(summary="", status="", pinned=False, never_expires=True, remove_tags=("a",))
    update(directory, path, changes, now_ms=LATER)
    text = directory.read(path).text
    assert not any(key in text for key in ("summary", "status", "pinned", "expires_at", "tags"))


def test_an_update_without_effect_writes_nothing(directory, remember):
    path = remember("Use SQLite.", tags=("db",), summary="s").file.path
    same = Changes(content="Use SQLite.\n", tags=("db",), summary="s", never_expires=True)
    assert update(directory, path, same, now_ms=LATER).changed == ()
    with pytest.raises(UsageError):
        Changes()


def test_a_newer_file_is_not_overwritten(directory, remember):
    written = remember("Use SQLite.")
    path, hash_ = written.file.path, written.file.hash
    current = update(directory, path, Changes(content="v2"), now_ms=NOW, if_hash=hash_.upper())
    with pytest.raises(Conflict) as conflict:
        update(directory, path, Changes(content="v3"), now_ms=NOW, if_hash=hash_)
    text = directory.read(path).text
    assert conflict.value.current == {"path": path, "hash": current.file.hash, "text": text}
    assert text.endswith("v2\n")


def test_the_whole_file_that_a_conflict_holds_can_be_edited_and_passed_back(directory, remember):
    old = remember("Use SQLite.", tags=("db",)).file
    with pytest.raises(Conflict) as conflict:
        update(directory, old.path, Changes(content="v3"), now_ms=NOW, if_hash="0" * 16)
    merged = conflict.value.current["text"].replace("SQLite", "SQLite 3").replace("\n", "\r\n")
    new = update(directory, old.path, Changes(content=merged), now_ms=LATER, if_hash=old.hash)
    assert new.file.text.endswith("---\nUse SQLite 3.\n")
    assert new.file.text.count("created_at") == 1
    for wrong in (merged.replace("db", "sql"), merged.partition("Use")[0]):
        with pytest.raises(UsageError):
            update(directory, old.path, Changes(content=wrong), now_ms=LATER)
    other = Changes(content="---\ntitle: A page\n---\nof its own")
    assert update(directory, old.path, other, now_ms=LATER).file.page.content == other.content


def test_a_time_that_cannot_be_read_is_that_of_the_file(directory, remember):
    path = remember("Text.").file.path
    file = directory.root / path
    file.write_text("---\ncreated_at: last week\n---\nText.\n")
    written = update(directory, path, Changes(tags=("x",)), now_ms=LATER)
    assert written.file.page.created_at == file.stat().st_mtime_ns // 1_000_000
    assert "created_at: last week\n" in file.read_text()


def test_a_person_who_saves_in_between_loses_nothing(directory, remember, monkeypatch):
    path = remember("The old text.").file.path
    real = os.fsync

    def save_meanwhile(descriptor):
        real(descriptor)
        (directory.root / path).write_text("What a person wrote.\n")

    monkeypatch.setattr(os, "fsync", save_meanwhile)
    with pytest.raises(Conflict, match="in the meantime"):
        update(directory, path, Changes(content="The new text."), now_ms=NOW)
    assert tree(directory.root) == {path: "What a person wrote.\n"}


def test_a_page_by_hand_keeps_its_form_and_its_times(directory):
    directory.root.mkdir(parents=True)
    file = directory.root / "hand.md"
    file.write_bytes(b"\xef\xbb\xbfBy hand.\r\nTwice.\r\n")
    before = directory.read("hand.md").page
    update(directory, "hand", Changes(tags=("x",), status="valid"), now_ms=LATER)
    page = directory.read("hand.md").page
    assert (page.content, page.tags) == (before.content, ("x",))
    assert (page.created_at, page.updated_at) == (before.created_at, LATER)
    assert file.read_bytes().startswith(b"\xef\xbb\xbf---\r\n")
    assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")


def test_a_broken_page_is_left_alone_until_it_is_mended(directory):
    directory.root.mkdir(parents=True)
    (directory.root / "hand.md").write_text("---\nsummary: a: b\n---\nBy hand.\n")
    with pytest.raises(PageBroken, match="line 2"):
        update(directory, "hand.md", Changes(content="new"), now_ms=LATER)
    assert directory.read("hand.md").page.content == "By hand."


@pytest.mark.parametrize(
    "written", ["created_at: 05/03/2024", "date: March 5, 2024", "created_at: yesterday # or so"]
)
def test_a_time_written_in_words_of_its_own_stays_when_the_page_changes(directory, written):
    directory.root.mkdir(parents=True)
    (directory.root / "hand.md").write_text(f"---\n{written}\n---\nBy hand.\n")
    text = update(directory, "hand.md", Changes(tags=("x",)), now_ms=LATER).file.text
    stamps = [line for line in text.splitlines() if line.startswith(("created_at", "date"))]
    assert stamps == [written]


NOTE = "---\ntitle: Totals\ncreated: 01.03.2026\ntags: ['#ux', '#a b']\n---\nIn cents.\n"


def test_a_note_of_another_tool_is_changed_in_what_changes_alone(directory):
    directory.root.mkdir(parents=True)
    (note := directory.root / "note.md").write_text(NOTE)
    shown = directory.read("note.md").page
    same = Changes(content=shown.content, summary=shown.summary, tags=("#ux", *shown.tags))
    assert update(directory, "note.md", same, now_ms=LATER).changed == ()
    assert note.read_text() == NOTE
    changed = update(directory, "note.md", Changes(remove_tags=("#ux",)), now_ms=LATER).file.page
    assert changed.tags == ("a b",)
    assert changed.created_at == shown.created_at


def test_what_cannot_be_read_is_named(directory):
    (directory.root / "folder.md").mkdir(parents=True)
    (directory.root / "latin.md").write_bytes(b"\xff")
    for path in ("missing", "below/folder", "latin.md/x"):
        with pytest.raises(NotFound):
            update(directory, path, Changes(summary="s"), now_ms=NOW)
    for path in ("folder", "latin"):
        with pytest.raises(PathRefused):
            update(directory, path, Changes(summary="s"), now_ms=NOW)


def test_a_name_that_another_system_spelled_is_found(directory):
    directory.root.mkdir(parents=True)
    spelled = unicodedata.normalize("NFD", "über.md")
    (directory.root / spelled).write_text("text")
    assert directory.read("über.md").page.content == "text"


def test_writers_at_once_lose_nothing(directory, remember):
    path = remember("Shared.").file.path
    others = [
        KnowledgeDirectory("memories", directory.root, directory.locks, directory.data)
        for _ in range(4)
    ]

    def write(number):
        for step in range(10):
            tag = Changes(tags=(f"{number}:{step}",))
            update(others[number], path, tag, now_ms=NOW)
            store(others[number], Draft(content=f"{step % 5} same for all"), now_ms=NOW)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(directory.read(path).page.tags) == 40
    assert len(tree(directory.root)) == 6


# Times


@pytest.mark.parametrize("tag", ["", " ", ":", " :x", "a\nb", "x" * 300, "\x1b[31m"], ids=repr)
def test_what_is_no_tag(tag):
    with pytest.raises(UsageError):
        Draft(content="text", tags=(tag,))


def test_what_cannot_say_that_it_is_superseded_keeps_all_as_it_is(directory, remember):
    broken = directory.root / remember("Use files").file.path
    broken.write_text("---\ntags: [a\n---\nUse files\n")
    other = remember("Use tables").file
    before = tree(directory.root)
    with pytest.raises(PageBroken, match=rf"^{broken.name}: the frontmatter is broken"):
        remember("Use queues", supersedes=[broken.name])
    with pytest.raises(PageBroken, match=rf"^{broken.name}: the frontmatter is broken"):
        update(directory, other.path, Changes(supersedes=(broken.name,)), now_ms=NOW)
    assert tree(directory.root) == before


@pytest.mark.parametrize("steps", [1, 2])
def test_nothing_supersedes_what_supersedes_it(directory, remember, steps):
    paths = [remember("Use way 0.").file.path]
    for step in range(1, steps + 1):
        paths.append(remember(f"Use way {step}.", supersedes=(paths[-1],)).file.path)
    before = [directory.read(path).text for path in paths]
    with pytest.raises(Conflict, match="already"):
        update(directory, paths[0], Changes(supersedes=(paths[-1],)), now_ms=LATER)
    assert [directory.read(path).text for path in paths] == before


@pytest.mark.parametrize("named", ["use-sqlite.md", "use-sqlite", "[use-files, use-sqlite]"])
def test_nothing_supersedes_what_its_own_page_alone_calls_its_successor(directory, remember, named):
    old, new = (remember(text).file.path for text in ("Use Postgres.", "Use SQLite."))
    file = directory.root / old
    file.write_text(file.read_text().replace("---\n", f"---\nsuperseded_by: {named}\n", 1))
    before = tree(directory.root)
    with pytest.raises(Conflict, match="already") as conflict:
        update(directory, old, Changes(supersedes=(new,)), now_ms=LATER)
    assert "again" in conflict.value.hint
    assert tree(directory.root) == before
    remember("Use Postgres.", at=LATER)
    assert update(directory, old, Changes(supersedes=(new,)), now_ms=LATER).changed == (old, new)


@pytest.mark.parametrize("written", ["{}, {}", "[{}, {}]"])
def test_of_two_successors_the_one_that_is_deleted_is_named_no_longer(directory, remember, written):
    old = remember("Use Postgres.").file.path
    gone, kept = (remember(text).file.path for text in ("Use SQLite.", "Use LMDB."))
    file = directory.root / old
    line = f"superseded_by: {written.format(gone, kept)}"
    file.write_text(file.read_text().replace("---\n", f"---\n{line}\n", 1))
    assert delete(directory, gone, [old]) == [gone, old]
    assert directory.read(old).page.superseded_by == (kept,)


def test_a_successor_with_a_comma_in_its_name_is_one(directory, remember):
    old = remember("Use Postgres.").file.path
    new = directory.create("a, b.md", "Use SQLite.\n").path
    update(directory, new, Changes(supersedes=(old,)), now_ms=LATER)
    assert directory.read(old).page.superseded_by == (new,)
    assert not update(directory, new, Changes(supersedes=(old,)), now_ms=LATER).changed


def test_a_deletion_that_is_cut_short_can_be_done_again(directory, remember):
    resource = pytest.importorskip("resource", reason="limits the size of a file that is written")
    old = remember("Use Postgres.").file.path
    new = remember("Use SQLite.", supersedes=(old,)).file.path
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(SidecarError):
            delete(directory, new, [old])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert delete(directory, directory.read(new).path, [old]) == [new, old]
    assert not directory.read(old).page.superseded_by
    assert [*tree(directory.root)] == [old]
