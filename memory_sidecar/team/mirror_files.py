"""The files that are exchanged with a team, as they are on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from errno import EILSEQ, EINVAL, ENAMETOOLONG, ENOTDIR
from pathlib import Path

from memory_sidecar.core.atomic import file_hash, move_file, remove_empty_folders
from memory_sidecar.core.credentials import find_credentials
from memory_sidecar.core.model import Scan
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.team.mirror_state import UNKNOWN, Known, MirrorState

NO_FILE_NAME = "its name cannot be a file name on this machine"
UNUSABLE_PATH = dict.fromkeys((ENAMETOOLONG, EINVAL, EILSEQ), NO_FILE_NAME) | {
    ENOTDIR: "there is a file in the place of its folder"
}
"""Why another machine's file cannot be written here, by the error that the system gives."""
WRITERS = 4  # files that are written at once


@dataclass(frozen=True, slots=True)
class MirroredFolder:
    """A folder whose files are exchanged, under the paths `<name>/<path in it>`."""

    name: str
    root: Path
    tree: Tree  # of our own files, which holds `root`
    max_bytes: int
    scan: Callable[[Collection[str] | None], Scan]  # below the given paths, or everything for None
    changing: Callable[[], AbstractContextManager[None]]  # locks out other writers of ours
    is_path: Callable[[str], bool]  # whether a file in it may have this path
    are_alike: Callable[[bytes, bytes], bool]  # whether two contents differ in nothing but times

    def read(self, path: str) -> bytes | None:
        """Read a file; `None` if it is missing. Raises FileRefused for what is no regular file."""
        try:
            return self.tree.read(self.root / path, self.max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def archive(self, path: str, batch: Path) -> bool:
        """Move a file into the archive folder `batch`; call it within `changing`."""
        file = self.root / path
        with named_errors(file):
            is_moved = move_file(self.tree, file, self.tree, batch / self.name / path)
            remove_empty_folders(self.tree, file, keep=self.root)
        return is_moved

    def read_if_readable(self, path: str) -> bytes | None:
        """Read a file; `None` if it is missing or unreadable."""
        try:
            return self.read(path)
        except OSError:
            return None


class MirroredFolders:
    """The folders of one agent, whose files have paths that begin with the name of their folder."""

    def __init__(self, folders: Sequence[MirroredFolder]) -> None:
        self._by_name = {each.name: each for each in folders}

    def __iter__(self) -> Iterator[MirroredFolder]:
        return iter(self._by_name.values())

    def place_of(self, path: str) -> tuple[MirroredFolder, str] | None:
        """Return the folder of a file and its path in it; `None` for a path that is not allowed."""
        name, _, rest = path.partition("/")
        folder = self._by_name.get(name)
        return (folder, rest) if folder is not None and folder.is_path(rest) else None

    def read(self, path: str) -> bytes | None:
        """Read a file; `None` if it is missing or unreadable, or its path is not allowed."""
        place = self.place_of(path)
        return place[0].read_if_readable(place[1]) if place else None

    def hashes_of(self, paths: Collection[str]) -> dict[str, Known]:
        """Return those of `paths` that are readable here, with their hash."""
        read = ((path, self.read(path)) for path in paths)
        return {path: Known(file_hash(data), UNKNOWN) for path, data in read if data is not None}

    def scan(self, state: MirrorState, changed: Collection[str]) -> dict[str, Known]:
        """Return all files by path; those that cannot be read are as known before.

        Compares only files that commands changed or removed; all if none did or the team is owed.
        """
        named = tuple(f"{path}/" for path in {*changed, *state.removed})
        compares_all = state.owes or not named
        found: dict[str, Known] = {}
        for folder in self:
            start = f"{folder.name}/"
            known = {path: each for path, each in state.files.items() if path.startswith(start)}
            others = {p: each for p, each in known.items() if not f"{p}/".startswith(named)}
            under = None
            if not compares_all:
                found |= others
                under = [path.removeprefix(start) for path in changed if path.startswith(start)]
                if not under:
                    continue
            on_disk = folder.scan(under)
            if on_disk.unreadable or not on_disk.files:  # an empty folder may be an unmounted disk
                found |= others
            for file in on_disk.files:
                path = start + file.path
                before = known.get(path)
                is_same = bool(file.skip_reason) or (before and before.stamp == file.stamp)
                content = None if is_same else folder.read_if_readable(file.path)
                if content is not None:
                    found[path] = Known(file_hash(content), file.stamp)
                elif before is not None:  # unreadable, but not removed
                    found[path] = before
        return found


def run_at_once(work: Callable[[str], None], paths: Collection[str]) -> None:
    """Run `work`, which waits for the disk, on each of `paths`; raises the first error.

    Syncing four files at once takes a sixth of the time: the file system syncs them together.
    """
    with ThreadPoolExecutor(WRITERS) as pool:
        for _ in pool.map(work, paths):
            pass


def reason_not_to_give(data: bytes | None, *, with_secrets: bool) -> str:
    """Return why a file with this content (None: unreadable) is not given; "" if it may be."""
    if data is None:
        return "its name or its kind cannot be shared with other machines"
    if b"\0" in data:
        return "binary"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    if not with_secrets and (found := find_credentials(text)):
        return f"it seems to contain a secret ({found[0].kind}); --allow-secrets sends it anyway"
    return ""
