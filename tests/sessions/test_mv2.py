"""memvid's own command, for real: see `memvid_environ` for where it comes from."""

from __future__ import annotations

import pytest

from memory_sidecar.core.errors import MemvidFailed
from memory_sidecar.sessions.journal import Entry, entry_document
from memory_sidecar.sessions.mv2 import Memvid
from tests.sessions.conftest import NOW


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
    Entry("-- looks like options\ntitle: x\nuri: mv2://y", "", {}, NOW + 120_000),
]


def test_what_was_put_comes_back(memvid, tmp_path):
    file = tmp_path / "new folder" / "a.mv2"
    for entry in ENTRIES:
        memvid.put(file, entry, timeout_s=60)
    found = list(memvid.entries(file))
    assert [each.text.split() for each in found] == [each.text.split() for each in ENTRIES]
    assert [each.title for each in found] == ['A "title"', "", ""]
    assert [dict(each.tags) for each in found] == [dict(each.tags) for each in ENTRIES]
    assert [each.created_at for each in found] == [each.created_at for each in ENTRIES]
    for put, read in zip(ENTRIES, found, strict=True):
        assert entry_document(put)["session_id"] == entry_document(read)["session_id"]


def test_what_is_no_mv2_file_is_told_in_one_line(memvid, tmp_path):
    (tmp_path / "a.mv2").write_text("junk")
    with pytest.raises(MemvidFailed) as caught:
        list(memvid.entries(tmp_path / "a.mv2"))
    assert "a.mv2 failed: " in caught.value.message
    assert "\n" not in caught.value.message
