"""Session files: one for each session, for life."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_sidecar.core.errors import NotFound, PathRefused, SessionInvalid
from memory_sidecar.core.opening import Tree
from memory_sidecar.sessions.files import SessionFiles, new_path

MARCH = 1_772_356_320_000  # 2026-03-01T09:12:00Z


@pytest.fixture
def files(tmp_path):
    return SessionFiles(tmp_path / "episodic" / "architect", Tree(tmp_path, is_own=True))


def write(files, session_id, began_at=MARCH, **content):
    path = files.find(session_id) or new_path(session_id, began_at=began_at)
    files.write(path, {"session_id": session_id, **content})
    return path


def test_a_session_lies_in_the_month_in_which_it_began(files):
    assert write(files, "a") == "2026-03/a.json"
    assert files.load("a").document == {"session_id": "a"}


def test_a_session_keeps_its_file(files):
    write(files, "a")
    assert write(files, "a", began_at=MARCH + 40 * 86_400_000, more=1) == "2026-03/a.json"
    assert files.load("a").document["more"] == 1
    assert [file.path for file in files.scan().files] == ["2026-03/a.json"]


def test_an_id_that_cannot_name_a_file_finds_none(files, tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    assert files.find("../../../secret") is None
    with pytest.raises(NotFound):
        files.delete("../../../secret")


def test_a_second_file_of_the_same_name_is_skipped(files):
    write(files, "a")
    (files.root / "2026-04").mkdir()
    (files.root / "2026-04" / "a.json").write_text("{}")
    first, second = files.scan().files
    assert (first.path, first.skip_reason) == ("2026-03/a.json", "")
    assert (second.path, second.skip_reason) == ("2026-04/a.json", "2026-03/a.json is the same")
    # Whichever of them is asked for, both are looked at.
    assert files.scan(["2026-04/a.json"]).files == (first, second)
    (files.root / "2026-03" / "a.json").unlink()
    (left,) = files.scan(["2026-03/a.json"]).files
    assert (left.path, left.skip_reason) == ("2026-04/a.json", "")


def test_many_of_many_months_are_listed_not_looked_for_in_every_month(files, monkeypatch):
    paths = [write(files, f"a{n}", began_at=MARCH + n * 31 * 86_400_000) for n in range(30)]
    looked_at: list[Path] = []

    def lstat(path: Path) -> os.stat_result:
        looked_at.append(path)
        return os.lstat(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert [file.path for file in files.scan(paths).files] == sorted(paths)
    assert len(looked_at) == len(paths)


def test_only_what_can_be_a_session_is_seen(files):
    write(files, "a")
    for name in ("2026-03/b.txt", "2026-03/.sidecar-tmp-1.json", "notes.json", "2026-3/c.json"):
        (files.root / name).parent.mkdir(exist_ok=True)
        (files.root / name).write_text("{}")
    (files.root / "2026-03" / "d.json").symlink_to(files.root / "notes.json")
    scan = files.scan()
    assert [file.path for file in scan.files] == ["2026-03/a.json", "2026-03/d.json"]
    assert scan.folders == ("", "2026-03")
    with pytest.raises(SessionInvalid, match="symbolic link"):
        files.read_bytes("2026-03/d.json")


def test_a_month_or_the_root_means_everything(files):
    write(files, "a")
    everything = files.scan()
    assert files.scan(["2026-03"]) == files.scan([""]) == everything
    assert files.scan(["2026-03/b.json"]).files == files.scan([".lock"]).files == ()


def test_no_folder_holds_no_sessions(files):
    assert files.scan().files == ()
    assert files.scan().verifies_absence("2026-03/a.json")
    assert files.load("a") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_listed_is_not_taken_for_gone(files):
    write(files, "a")
    (files.root / "2026-03").chmod(0)
    try:
        assert not files.scan().verifies_absence("2026-03/a.json")
        files.root.chmod(0)
        with pytest.raises(PathRefused):
            files.scan()
    finally:
        files.root.chmod(0o755)
        (files.root / "2026-03").chmod(0o755)


def test_an_archived_session_leaves_and_can_be_read_there(files, tmp_path):
    write(files, "a", more=1)
    archive = tmp_path / "archive"
    assert files.archive("a", archive) == ["2026-03/a.json"]
    assert files.load("a") is None
    archived = SessionFiles(archive).load("a")
    assert archived is not None
    assert archived.document["more"] == 1


def test_a_broken_file_is_named(files):
    write(files, "a")
    (files.root / "2026-03" / "a.json").write_text("{")
    with pytest.raises(SessionInvalid) as caught:
        files.load("a")
    assert "2026-03/a.json: not JSON" in caught.value.message


def test_writing_leaves_no_other_file_behind(files):
    write(files, "a")
    with pytest.raises(ValueError):
        write(files, "a", number=float("nan"))
    assert [path.name for path in (files.root / "2026-03").iterdir()] == ["a.json"]
    assert files.load("a").document == {"session_id": "a"}
