"""One text of a journal is one session, and memvid's own command keeps it: see `memvid_environ`."""

from __future__ import annotations

import os
import stat

import pytest

from memory_sidecar.core.errors import MemvidFailed
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.mv2 import Entry, Memvid, entry_document
from tests.sessions.conftest import DAY_MS, NOW


def test_no_memvid_on_the_path_is_none(tmp_path):
    assert Memvid.find({"PATH": str(tmp_path)}) is None
    assert Memvid.find({}) is None


@pytest.fixture(scope="module")
def memvid(memvid_environ):
    found = Memvid.find(memvid_environ)
    assert found is not None
    return found


ENTRIES = [
    Entry("Über alles\n\nzwei", 'A "title"', {"project": "shop", "note": "a=b"}, NOW),
    Entry("words " * 2000, "", {}, NOW + 60_000),
    Entry("-- looks like options\ntitle: x\nuri: mv2://y", "-T", {"-k": "-v"}, NOW + 120_000),
]


def test_what_was_put_comes_back(memvid, tmp_path):
    file = tmp_path / "new folder" / "a.mv2"
    for entry in ENTRIES:
        memvid.put(file, entry, timeout_s=60)
    found = list(memvid.entries(file))
    assert [each.text.split() for each in found] == [each.text.split() for each in ENTRIES]
    assert [each.title for each in found] == ['A "title"', "", "-T"]
    assert [dict(each.tags) for each in found] == [dict(each.tags) for each in ENTRIES]
    assert [each.created_at for each in found] == [each.created_at for each in ENTRIES]
    for put, read in zip(ENTRIES, found, strict=True):
        assert entry_document(put)["session_id"] == entry_document(read)["session_id"]


@pytest.mark.skipif(os.name == "nt", reason="needs rights")
def test_a_journal_is_made_for_its_user_alone(memvid, tmp_path):
    memvid.put(tmp_path / "a.mv2", Entry("The bank refuses twice", "", {}, NOW), timeout_s=60)
    assert stat.S_IMODE((tmp_path / "a.mv2").stat().st_mode) == 0o600


def test_what_is_no_mv2_file_is_told_in_one_line(memvid, tmp_path):
    (tmp_path / "a.mv2").write_text("junk")
    with pytest.raises(MemvidFailed) as caught:
        list(memvid.entries(tmp_path / "a.mv2"))
    assert "a.mv2 failed: " in caught.value.message
    assert "\n" not in caught.value.message


def entry(text="Use one lock", *, title="Locks", at=NOW, **tags):
    return Entry(text, title, tags, at)


def test_an_entry_is_a_session_of_one_message():
    session = read_session(entry_document(entry(topic="Auth", project="shop", x="y")))
    (message,) = session.messages
    assert (message.role, message.content) == ("assistant", "Use one lock")
    assert session.title == "Locks"
    assert session.topics == ("auth",)
    assert session.project == "shop"
    assert session.metadata["tags"] == {"topic": "Auth", "project": "shop", "x": "y"}


def test_the_same_text_on_the_same_day_is_the_same_session():
    first = entry_document(entry())["session_id"]
    assert entry_document(entry(at=NOW + 5000))["session_id"] == first
    assert entry_document(entry("Use  one\n\nlock"))["session_id"] == first
    assert entry_document(entry(at=NOW + DAY_MS))["session_id"] != first
    assert entry_document(entry(title=""))["session_id"] != first
