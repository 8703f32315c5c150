"""The archive of removed memories, from which `restore` takes them, and the rule of `prune`.

    archive/<agent>/20260301T091200.000Z/memories/pitfall/cycle.md

A *batch* is what one call removed, named after the time of the call. Its folder has a folder for
each knowledge directory, by name, and in that the files, unchanged to the byte.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from memory_sidecar.core.atomic import (
    delete_file,
    move_file,
    remove_empty_folders,
    sweep,
)
from memory_sidecar.core.errors import Conflict, NotFound, PathRefused
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.short_names import sole_match
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import compact_utc
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES
from memory_sidecar.disk.roots import check_root
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.model import StoredMemory, address
from memory_sidecar.memories.names import check_path, is_category_page, is_markdown, spellings
from memory_sidecar.memories.results import Archived


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of one agent: the folder `root` in the tree `data` of the data directory."""

    root: Path
    data: Tree

    def take(self, directory: KnowledgeDirectory, path: str, *, now_ms: int) -> Archived:
        """Move the file at `path` into the archive. The caller holds the directory's lock."""
        batch = compact_utc(now_ms)
        for number in range(1, 1000):  # for several removals of one name in a millisecond
            named = batch if number == 1 else f"{batch}-{number:03}"  # they sort by time
            target = self.root / named / directory.name / path
            with named_errors(target):
                if move_file(directory.tree, directory.root / path, self.data, target):
                    directory.tidy(path)
                    return Archived(named, directory.name, path)
        raise Conflict(f"{self.root / batch} holds {path} already", hint="try again")

    def take_unchanged(
        self, directory: KnowledgeDirectory, seen: Iterable[tuple[str, str]], *, now_ms: int
    ) -> list[Archived]:
        """Move the files in `seen`, pairs of path and hash, that still have that hash.

        A file that is gone, or was changed since, is left out. Temporary files of crashed writers
        are deleted.
        """
        taken = []
        with directory.changing():
            sweep(directory.tree, directory.root)
            for path, file_hash in seen:
                with suppress(PathRefused):
                    file = directory.find(path)
                    if file is not None and file.hash == file_hash:
                        taken.append(self.take(directory, path, now_ms=now_ms))
        return taken

    def all(self, *, batch: str = "") -> list[Archived]:
        """List the files in the archive, or in `batch` of it, by path, the latest batch first.

        Raises PathRefused if it cannot be read.
        """
        with named_errors(self.root), suppress(NotADirectoryError, PermissionError):
            try:
                self.data.enter(self.root).close()  # which refuses a link
            except FileNotFoundError:
                return []
        check_root(os.fspath(self.root), if_gone="move away what is in its place")
        found = []
        named = (path for path in self.root.iterdir() if batch in ("", path.name))
        batches = (path for path in named if path.is_dir() and not path.is_symlink())
        for folder in sorted(batches, reverse=True):
            for file in sorted(filter(lambda each: is_markdown(each.name), folder.rglob("*"))):
                directory, _, path = file.relative_to(folder).as_posix().partition("/")
                if path:
                    found.append(Archived(folder.name, directory, path))
        return found

    def latest(self, named: Iterable[tuple[str, str]], *, batch: str = "") -> list[Archived]:
        """Return the newest archived version of each memory, or the one in `batch`.

        `named`: the directory and the path of each, or the beginning of that path, except for the
        page of a category. Raises NotFound, and UsageError if several paths begin so.
        """
        held: dict[str, dict[str, Archived]] = defaultdict(dict)
        for each in self.all(batch=batch):
            held[each.directory].setdefault(each.path, each)
        return [_latest(held[directory], directory, path) for directory, path in named]

    def with_categories(self, archived: Sequence[Archived]) -> list[Archived]:
        """Return `archived` and the pages of their categories that went with them, if any."""
        folders = {
            (each.batch, each.directory, folder)
            for each in archived
            for folder in PurePosixPath(each.path).parents
        }
        pages = (each for each in self.all() if is_category_page(each.path))
        theirs = [
            page
            for page in pages
            if (page.batch, page.directory, PurePosixPath(page.path).parent) in folders
        ]
        return [*archived, *theirs]

    def batch(self, name: str) -> list[Archived]:
        """List what the batch called `name` holds. Raises NotFound."""
        found = self.all(batch=name) if name else []
        if not found:
            raise NotFound(
                f"the archive holds no batch {name!r}",
                hint="`memory-sidecar restore` lists what it holds",
            )
        return found

    def give_back(self, directory: KnowledgeDirectory, archived: Sequence[Archived]) -> list[str]:
        """Move memories back to where they were; return their paths, even of those already there.

        Raises Conflict, before any is moved, if a file with another text is in the place of one.
        """
        with directory.changing():
            for item in archived:
                if not self.is_free(directory, item):
                    raise Conflict(
                        f"{address(item.directory, item.path)} exists again, with another text",
                        hint="move or remove that first",
                    )
            # Pages of categories first: they are found by their memories in the archive, so after a
            # kill they would be left there.
            for item in sorted(archived, key=lambda each: not is_category_page(each.path)):
                source, target = self._file(item), directory.root / item.path
                with named_errors(target):
                    if not move_file(self.data, source, directory.tree, target):
                        delete_file(self.data, source)  # the same text is there
                    remove_empty_folders(self.data, source, keep=self.root)
        return [item.path for item in archived]

    def is_free(self, directory: KnowledgeDirectory, archived: Archived) -> bool:
        """Whether the memory can go back: nothing, or the same text, is in its place."""
        target = directory.root / archived.path
        with named_errors(target):
            if directory.tree.status(target) is None:
                return True
            there = directory.tree.read(target, MAX_PAGE_BYTES)
            return there == self.data.read(self._file(archived), MAX_PAGE_BYTES)

    def _file(self, archived: Archived) -> Path:
        return self.root / archived.batch / archived.directory / archived.path


def _latest(held: Mapping[str, Archived], directory: str, path: str) -> Archived:
    """Return what `path` names or begins of `held`, which has the latest file for each path."""
    names = (path,) if path in held else spellings(check_path(path))
    if held.keys().isdisjoint(names):
        begun = sorted(p for p in held if p.startswith(path) and not is_category_page(p))
        names = (sole_match(path, begun) or names[0],)
    if found := [held[name] for name in names if name in held]:
        return max(found, key=lambda each: each.batch)
    raise NotFound(
        f"the archive holds no {address(directory, names[0])}",
        hint="`memory-sidecar restore` lists what it holds",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """Chooses the memories to prune: those in `category` to which any of the criteria applies.

    Pinned memories are always kept.
    """

    category: str = ""  # and everything below it
    expired: bool = False
    superseded: bool = False
    unused_since: int | None = None  # epoch milliseconds: neither changed nor read since then
    weaker_than: float | None = None  # strength, 0…1
    keep: int | None = None  # prune all but this many of the strongest


def prune_candidates(
    memories: Iterable[StoredMemory], rule: PruneRule
) -> list[tuple[StoredMemory, str]]:
    """Choose those of `memories`, all in the rule's category, that `rule` applies to, and say why.

    The weakest come first, and among equally strong ones the earliest.
    """
    strongest = sorted(memories, key=lambda m: (-m.strength, -m.touched_at, m.memory.path))
    unpinned = [each for each in strongest if not each.memory.pinned]
    reasons = {each.memory.path: _reason(each, rule) for each in unpinned}
    if rule.keep is not None:  # those that another criterion applies to do not count as kept
        staying = [each.memory.path for each in unpinned if not reasons[each.memory.path]]
        pinned = len(strongest) - len(unpinned)
        beyond = staying[max(rule.keep - pinned, 0) :]
        reasons |= dict.fromkeys(beyond, f"beyond the {rule.keep} strongest")
    return [(each, why) for each in reversed(unpinned) if (why := reasons[each.memory.path])]


def _reason(stored: StoredMemory, rule: PruneRule) -> str:
    if rule.expired and stored.memory.expired:
        return "expired"
    if rule.superseded and stored.memory.superseded:
        return "superseded"
    if rule.unused_since is not None and stored.touched_at < rule.unused_since:
        return "neither changed nor read for long"
    if rule.weaker_than is not None and stored.strength < rule.weaker_than:
        return f"strength {stored.strength:.3f}"
    return ""
