"""Network drives are polled besides being watched, as others' changes there cause no events."""

from __future__ import annotations

import os
from types import SimpleNamespace

import psutil
import pytest

from memory_sidecar.disk.remote import remote_folders


@pytest.fixture
def mounted(monkeypatch, tmp_path):
    """Mounts a file system of a type at a place of `tmp_path`, as far as psutil tells."""
    mounts = [("/", "ext4"), ("/elsewhere", "nfs4")]
    monkeypatch.setattr(
        psutil,
        "disk_partitions",
        lambda **_: [SimpleNamespace(mountpoint=place, fstype=kind) for place, kind in mounts],
    )

    def mount(place: str, kind: str) -> None:
        mounts.append((str(tmp_path.resolve() / place), kind))

    return mount


def remote_of(root, *folders):
    return sorted(remote_folders(root, folders))


def test_a_local_disk_has_no_remote_folders(mounted, tmp_path):
    mounted("", "fuseblk")
    assert remote_of(tmp_path, "", "a", "a/b") == []


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "virtiofs"])
def test_all_folders_of_a_network_drive_are_remote(mounted, tmp_path, kind):
    mounted("", kind)
    mounted("a/disk", "ext4")
    assert remote_of(tmp_path / "a", "", "b", "b/c", "disk", "disk/d") == ["", "b", "b/c"]


def test_a_network_drive_in_a_source_is_remote_alone(mounted, tmp_path):
    mounted("a", "ext4")
    mounted("b", "nfs")
    mounted("cover", "nfs")
    mounted("cover", "tmpfs")
    assert remote_of(tmp_path, "", "a", "b", "b/c", "bc", "cover") == ["b", "b/c"]


def test_a_link_to_a_network_drive_is_remote(mounted, tmp_path):
    (tmp_path / "drive").mkdir()
    (tmp_path / "link").symlink_to("drive")
    mounted("drive", "smb3")
    assert remote_of(tmp_path / "link", "", "a") == ["", "a"]


def test_what_others_change_on_a_network_drive_is_noticed(
    mounted, root, write, start_watch, heard, monkeypatch
):
    write("a.py", "sub/b.py")
    mounted(os.path.relpath(root, root.parent), "nfs4")
    monkeypatch.setattr("memory_sidecar.disk.inotify._CHANGES", 0x400)  # of its own end alone
    start_watch()
    (root / "sub/b.py").write_text("other = 1\n")
    heard.wait_for("sub/b.py")
