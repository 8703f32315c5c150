"""Tells which folders lie on a network drive, by the types of the file systems that are mounted.

On such a drive, and in a folder that a virtual machine shares with its host, only changes made
through this mount cause events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

# Types of file systems, as Linux and macOS name them. `fuseblk` is a local disk.
_REMOTE = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|afs|afpfs|ceph|davfs2?|webdav|lustre|ncpfs|fuse\..+|virtiofs|fakeowner"
    r"|vboxsf|vmhgfs|prl_fs"
)


def remote_folders(root: Path, folders: Collection[str]) -> frozenset[str]:
    """Return those of `folders`, relative to `root` with `/`, that lie on a network drive."""
    import psutil

    real = Path(os.path.realpath(root))
    # If several are mounted at one place, the last one covers the others.
    type_at = {Path(each.mountpoint): each.fstype for each in psutil.disk_partitions(all=True)}
    remote = {place for place, kind in type_at.items() if _REMOTE.fullmatch(kind)}
    if not any(real in (place, *place.parents) or place in real.parents for place in remote):
        return frozenset()

    def place_of(path: Path) -> Path | None:
        return next((each for each in (path, *path.parents) if each in type_at), None)

    return frozenset(folder for folder in folders if place_of(real / folder) in remote)
