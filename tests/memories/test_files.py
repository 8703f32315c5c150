"""What a memory's file means, however it was written."""

from __future__ import annotations

import pytest

from memory_sidecar.core.atomic import file_hash
from memory_sidecar.memories.files import (
    content_hash,
    memory_id,
    memory_slug,
    read_memory,
    tags_by_key,
    texts,
    title_of,
)

MARCH_1 = 1_772_356_320_000  # 2026-03-01T09:12:00Z


def test_a_memory_says_what_its_frontmatter_says():
    memory = read_memory(
        "---\ncreated_at: 2026-03-01T09:12:00Z\nupdated_at: 2026-03-01T09:12:00.250Z\n"
        "source: agent:architect\ntags: [payment, area:build]\nsummary: A cycle\nstatus: valid\n"
        "expires_at: 2026-03-02\npinned: true\nevidence: [session:2026-03-01]\nlinks: [a.md]\n"
        "supersedes: [old.md]\nsuperseded_by: new.md\n---\n\n"
        "Avoid it.\n\nAlways.\n\n",
        mtime_ms=1,
    )
    assert memory.content == "Avoid it.\n\nAlways."
    assert (memory.created_at, memory.updated_at) == (MARCH_1, MARCH_1 + 250)
    assert (memory.source, memory.summary, memory.status) == ("agent:architect", "A cycle", "valid")
    assert memory.tags == ("payment", "area:build")
    assert memory.pinned
    assert (memory.evidence, memory.links) == (("session:2026-03-01",), ("a.md",))
    assert (memory.supersedes, memory.superseded_by) == (("old.md",), ("new.md",))
    assert memory.expires_at == MARCH_1 + (14 * 60 + 48) * 60_000
    assert memory.is_expired(memory.expires_at)
    assert not memory.is_expired(memory.expires_at - 1)


def test_the_keys_of_other_tools_are_understood():
    page = "---\n{}\n---\nText.\n".format
    note = read_memory(
        page(
            "title: Totals\ncreated: 2026-03-01T09:12:00Z\nmodified: 2026-03-02\n"
            "tags: '#ux #shop/tax'"
        ),
        mtime_ms=7,
    )
    assert (note.summary, note.tags) == ("Totals", ("ux", "shop/tax"))
    assert note.created_at == MARCH_1
    assert note.updated_at == MARCH_1 + (14 * 60 + 48) * 60_000
    told = read_memory(page("name: totals\ndescription: >\n  In cents,\n  always"), mtime_ms=7)
    assert told.summary == "In cents, always"
    blank = read_memory(page("summary: ' '\ntitle: Totals\ntags: ['#1 in taxes', ux]"), mtime_ms=7)
    assert (blank.summary, blank.tags) == ("Totals", ("1 in taxes", "ux"))
    edited = read_memory(page("updated_at: 2026-02-01\nupdated: 2026-03-01T09:12:00Z"), mtime_ms=7)
    assert edited.updated_at == MARCH_1
    linted = read_memory(page("date created: Sunday, March 1st 2026, 9:12:00 am"), mtime_ms=7)
    assert linted.created_at == MARCH_1
    odd = read_memory(page("created: 3/1/2026"), mtime_ms=7)
    assert (odd.created_at, odd.problem) == (7, "")


def test_a_summary_left_empty_falls_back_to_other_keys_and_one_of_no_letters_hides_them():
    page = "---\nsummary: {}\ndescription: In cents\n---\nText.\n".format
    assert read_memory(page(""), mtime_ms=7).summary == "In cents"
    assert read_memory(page('""'), mtime_ms=7).summary == ""


def test_a_bare_page_is_a_memory():
    memory = read_memory("Just text.\n", mtime_ms=7)
    assert (memory.content, memory.created_at, memory.updated_at) == ("Just text.", 7, 7)
    assert (memory.source, memory.tags, memory.expires_at) == ("unknown", (), None)
    assert (memory.pinned, memory.problem) == (False, "")


def test_a_key_without_a_value_hides_no_other():
    memory = read_memory("---\ncreated_at:\ndate: 2026-03-01T09:12:00Z\n---\nText.\n", mtime_ms=7)
    assert (memory.created_at, memory.has_created_at) == (MARCH_1, True)


def test_leading_blanks_of_the_first_line_are_content():
    assert read_memory("---\na: 1\n---\n\n    code\n", mtime_ms=0).content == "    code"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, ()),
        ("a", ("a",)),
        ("a, b,, a", ("a", "b")),
        (["a", 12, True, None, "a"], ("a", "12", "true")),
        ({"area": "build", "x": None}, ("area:build", "x:")),
        (7, ("7",)),
        ([{"area": "build"}, ["x", "y"]], ("area:build", "x, y")),
    ],
)
def test_lists_in_any_form(value, found):
    assert texts(value) == found


def test_tags_as_hosts_read_them():
    assert tags_by_key(["area:build", "url:http://x", "plain", "area:other"]) == {
        "area": "build",
        "url": "http://x",
        "plain": "",
    }
    assert tags_by_key([]) is None


def test_ids_are_positive_int32_and_never_change():
    assert memory_id("architect", "pitfall/strategy.md") == 147_075_531
    ids = {memory_id(agent, f"{n}.md") for agent in ("a", "b") for n in range(1000)}
    assert len(ids) == 2000
    assert min(ids) >= 1
    assert max(ids) < 2**31


def test_content_is_the_same_whatever_its_line_endings():
    assert content_hash("a\nb") == content_hash("\r\na\r\nb\r\n\r\n")
    assert content_hash("a\nb") != content_hash("a b")
    assert file_hash(b"a\n") != file_hash(b"a\r\n")


def test_a_new_file_is_called_after_its_summary_or_first_words():
    assert memory_slug("# Use SQLite\n\nBecause.") == "use-sqlite"
    assert memory_slug("# Use SQLite", summary="Storage decision") == "storage-decision"
    assert memory_slug("---\n🎉\nthen words") == "then-words"
    assert memory_slug("🎉") == "memory"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("# Totals are cents\nof tax, too", "Totals are cents"),
        ("---\nkind: pitfall\n---\nTotals are cents", "Totals are cents"),
        ("---\ntitle: Totals\n---\nThey are cents", "Totals"),
        ("---\ntitle: |\n  Totals\n  of tax\n---\nThey are cents", "Totals"),
        ("---\n- of tax\n---\nTotals are cents", "- of tax"),
        ("---\ntitle: [\n---\n", "title: ["),
        ("****\n\nTotals", "Totals"),
        ("*\n" * 60 + "Totals\nof tax", "Totals"),
        ("🦊\n🐻", "🦊"),
        ("## > Quoted ##", "Quoted"),
        ("Use records in C#", "Use records in C#"),
        ("__init__.py stays empty, as does __main__", "__init__.py stays empty, as does __main__"),
        ("**kwargs hide a typo, *args too", "**kwargs hide a typo, *args too"),
        ("Never return List<String>", "Never return List<String>"),
        ("#ux is for Jonas", "#ux is for Jonas"),
        ("**Totals:** in cents", "Totals: in cents"),
        ("_Totals are cents._", "Totals are cents."),
    ],
)
def test_a_memory_is_called_by_its_first_line_with_words(content, title):
    assert title_of("", content) == title
