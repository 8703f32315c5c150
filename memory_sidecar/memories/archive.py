"""What was removed, until someone wants it back.

    archive/<agent>/20260301T091200.000Z/memories/pitfall/cycle.md

A *batch* is what one call took away, named after its moment; in it lie the knowledge directories
by name, and in those the files as they were, to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.clock import iso_utc
from memory_sidecar.errors import Conflict, NotFound
from memory_sidecar.memories.directory import Directory
from memory_sidecar.sources.atomic import make_folders, move_file, sync_folder
from memory_sidecar.sources.memory_names import MEMORY_SUFFIX, check_path, inside
from memory_sidecar.sqlite import named_errors


@dataclass(frozen=True, slots=True)
class Archived:
    """A memory in the archive."""

    batch: str
    directory: str
    path: str


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of one agent, in the folder `root`."""

    root: Path

    def take(self, directory: Directory, path: str, *, now_ms: int) -> Archived:
        """Move the file at `path` here. For a caller who holds the directory's lock."""
        batch = batch_name(now_ms)
        for number in range(1, 1000):  # several removals of one name in a millisecond
            named = batch if number == 1 else f"{batch}-{number}"
            target = self.root / named / directory.name / path
            with named_errors(target):
                make_folders(target.parent)
                if _moved(inside(directory.root, path), target):
                    directory.tidy(path)
                    return Archived(named, directory.name, path)
        raise Conflict(f"{self.root / batch} holds {path} already", hint="try again")

    def all(self) -> list[Archived]:
        """The latest batch first, in the order of the paths."""
        if not self.root.is_dir():
            return []
        found = []
        for batch in sorted((path for path in self.root.iterdir() if path.is_dir()), reverse=True):
            for file in sorted(batch.rglob(f"*{MEMORY_SUFFIX}")):
                directory, _, path = file.relative_to(batch).as_posix().partition("/")
                if path:
                    found.append(Archived(batch.name, directory, path))
        return found

    def latest(self, directory: str, path: str, *, batch: str = "") -> Archived:
        """The newest version of a memory, or that of one batch. Raises NotFound."""
        path = check_path(path)
        for archived in self.all():
            if (archived.directory, archived.path) == (directory, path) and (
                batch in ("", archived.batch)
            ):
                return archived
        raise NotFound(
            f"the archive holds no {path}", hint="`memory-sidecar restore` lists what it holds"
        )

    def batch(self, name: str) -> list[Archived]:
        """What one call took away. Raises NotFound."""
        found = [archived for archived in self.all() if archived.batch == name]
        if not found:
            raise NotFound(
                f"the archive holds no batch {name!r}",
                hint="`memory-sidecar restore` lists what it holds",
            )
        return found

    def give_back(self, directory: Directory, archived: Sequence[Archived]) -> list[str]:
        """Put memories back where they were; returns their paths, also of those there already.

        Raises Conflict, before any is moved, where other memories have taken their places.
        """
        with directory.changing():
            places = {item: self._place(directory, item) for item in archived}
            for item, (source, target) in places.items():
                if target.exists() and target.read_bytes() != source.read_bytes():
                    raise Conflict(
                        f"{item.path} is there again, with another text",
                        hint="move or remove that first",
                    )
            for source, target in places.values():
                with named_errors(target):
                    make_folders(target.parent)
                    if not _moved(source, target):
                        source.unlink()  # the same text is there
                        sync_folder(source.parent)
                    self._tidy(source.parent)
        return [item.path for item in archived]

    def _place(self, directory: Directory, archived: Archived) -> tuple[Path, Path]:
        source = inside(self.root, f"{archived.batch}/{archived.directory}/{archived.path}")
        return source, inside(directory.root, archived.path)

    def _tidy(self, folder: Path) -> None:
        """Remove `folder` and those above it that hold nothing any more."""
        root = self.root.resolve()
        while folder != root and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def batch_name(now_ms: int) -> str:
    """What a batch taken away now is called."""
    return iso_utc(now_ms).replace("-", "").replace(":", "")


def _moved(source: Path, target: Path) -> bool:
    try:
        move_file(source, target)
    except FileExistsError:
        return False
    return True
