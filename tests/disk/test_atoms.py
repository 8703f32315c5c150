from __future__ import annotations

import time
from datetime import date

import pytest

from memory_sidecar.disk.atoms import (
    GENERATED_LIST,
    AtomId,
    AtomKind,
    Standing,
    atom_facts,
    ids_in,
    is_atom_path,
    texts_of,
)


@pytest.mark.parametrize("text", ["EXP-001", "EXP-012b", "K-8", "PAT-1234", "EXP-0"])
def test_an_id_is_written_as_it_was_read(text):
    assert str(AtomId.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "EXP-", "EXP-1bc", "K-1b", "PAT-1a", "exp-1", "EXP-1.md", "EXP-\u0661", "DR-0001"),
        "EXP-" + "9" * 5000,  # more digits than Python reads
    ],
)
def test_what_is_no_id(text):
    assert AtomId.parse(text) is None


def test_ids_sort_by_number():
    ids = [AtomId.parse(text) for text in ("EXP-10", "EXP-9", "EXP-9b")]
    assert [str(each) for each in sorted(filter(None, ids))] == ["EXP-9", "EXP-9b", "EXP-10"]


def test_ids_are_found_in_text_as_words():
    assert ids_in("See EXP-012b (and `K-1`), not PAT-002-x or xEXP-3.") == ("EXP-012b", "K-1")


@pytest.mark.parametrize(
    ("path", "is_atom"),
    [
        ("/r/projects/p/experiments/EXP-001.md", True),
        ("knowledge/K-1.md", True),
        ("experiments/index.md", False),
        ("experiments/EXP-001.txt", False),
        ("notes/EXP-001.md", False),
        ("experiments/deep/EXP-001.md", False),
    ],
)
def test_the_path_of_an_atom(path, is_atom):
    assert is_atom_path(path) is is_atom


def test_file_and_folder_decide_what_an_atom_is():
    meta = {"id": "EXP-9", "project": "else", "summary": "a\nb", "date": "2026-03-09T10:00:00Z"}
    facts = atom_facts("projects/fly/knowledge/K-008.md", meta)
    assert facts is not None
    assert (str(facts.id), facts.kind, facts.project) == ("K-008", AtomKind.KNOWLEDGE, "fly")
    assert (facts.summary, facts.date, facts.refs) == ("a b", date(2026, 3, 9), 0)


@pytest.mark.parametrize(
    ("status", "word", "standing"),
    [
        (None, "", Standing.ACTIVE),
        ("valid", "valid", Standing.ACTIVE),
        ("challenged:EXP-9", "challenged", Standing.ACTIVE),
        ("Superseded by EXP-9", "superseded", Standing.SUPERSEDED),
        ("refined:K-2", "refined", Standing.SUPERSEDED),
        ("invalidated", "invalidated", Standing.INVALIDATED),
        ("wrong-word", "wrong", Standing.ACTIVE),
        (["valid"], "", Standing.ACTIVE),
    ],
)
def test_a_status_says_how_far_to_rely_on_it(status, word, standing):
    facts = atom_facts("knowledge/K-1.md", {"status": status})
    assert facts is not None
    assert (facts.status, facts.standing) == (word, standing)


@pytest.mark.parametrize(("refs", "count"), [(7, 7), ("7", 7), (-1, 0), (True, 0), ("many", 0)])
def test_refs_are_a_number_or_none(refs, count):
    facts = atom_facts("knowledge/K-1.md", {"refs": refs})
    assert facts is not None
    assert facts.refs == count


def test_what_was_never_read_is_cold_two_weeks_after_its_date():
    today = date(2026, 5, 6)

    def facts(refs: int, day: str):
        found = atom_facts("knowledge/K-1.md", {"refs": refs, "date": day})
        assert found is not None
        return found

    assert facts(0, "2026-04-21").is_cold(today)
    assert not facts(0, "2026-04-22").is_cold(today)
    assert not facts(1, "2020-01-01").is_cold(today)
    assert not facts(0, "some day").is_cold(today)


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (["a", 1, None, ""], ("a", "1")),
        ("EXP-1, EXP-2", ("EXP-1", "EXP-2")),
        (None, ()),
        ({"a": 1}, ()),
    ],
)
def test_a_list_may_be_written_in_several_ways(value, texts):
    assert texts_of(value) == texts


def test_lists_that_begin_and_never_end_take_no_time():
    begins = "<!-- context:a -->\n"
    began = time.thread_time()
    left = GENERATED_LIST.sub("", f"{begins * 50_000}x<!-- /context:a -->y")
    assert time.thread_time() - began < 10
    assert left == begins * 49_999 + "y"
