"""The registered sources of one database: a small JSON file that its owner's processes change.

Every change reads, edits and atomically replaces the file under a lock, so that two processes
lose nothing. Keys that this version does not know are kept. The content is validated like the
arguments of a call, because names become parts of paths. Registering a source writes nothing into
its folder.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import (
    NotFound,
    PathRefused,
    SidecarError,
    StoreForeign,
    StoreNewer,
    UsageError,
)
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Source
from memory_sidecar.core.opening import FileRefused, Tree, real_path
from memory_sidecar.core.paths import FOLDER_NAME, FOLDER_NAME_RULE, OWN_FOLDERS
from memory_sidecar.core.results import Reporter, convert, pluralize
from memory_sidecar.core.short_names import known_names
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.ignores import check_excludes, is_git_folder, worktree_around
from memory_sidecar.disk.roots import readable_folder, require_name

VERSION = 1
MAX_REGISTRY_BYTES = 16 << 20
MAX_NAME_LENGTH = 64
RESERVED = frozenset({"sources.json", "sources.lock", "writer.lock"})
"""Files of the state folder, in which every source has a folder of its name."""
Recovered = tuple[Sequence[tuple[str, str]], str]  # name and root of each source; where from


class Registry:
    """The sources in the file at `path`, read again at every call.

    While it is missing, or empty as after a power cut, they are those of its copy, or else of
    `recover`.
    Every method raises StoreForeign for a file that is broken, StoreNewer for one of a later
    version; those that change it StoreBusy, StoreReadOnly and DiskFull.
    """

    def __init__(
        self,
        path: Path,
        *,
        reserved: frozenset[str] = frozenset(),
        data_dirs: Sequence[Path] = (),
        tree: Tree | None = None,
        recover: Callable[[], Recovered] = lambda: ((), ""),
    ) -> None:
        """`reserved` are names, in lower case, that no source may have.

        `recover` returns the sources that the database has rows of, or what became of these.
        A folder in `data_dirs`, our own data, can be no source. No link is followed on the way to
        the file below `tree`, by default the folder three levels above it.
        """
        self._path = path
        self._copy = path.with_name(f"{path.name}~")  # a name that no source can have
        self._tree = tree or Tree(path.parents[2], is_own=True)
        self._reserved = RESERVED | reserved
        self._data_dirs = data_dirs
        self._recover = recover

    def all(self) -> list[Source]:
        """Return all sources in the order of registration."""
        return self._sources(*self._read())

    def get(self, name: str) -> Source:
        """Return the source called `name`. Raises NotFound."""
        sources = self.all()
        return sources[_index_of(name, sources)]

    def warn_if_lost(self, reporter: Reporter) -> None:
        """Give a notice if the file is missing or empty, and where its sources were taken from."""
        document, origin = self._read()
        if origin:
            count = pluralize(len(self._sources(document, origin)), "source")
            again = "`memory-sidecar source add PATH` writes the list again"
            reporter.notice(f"{self._path} is {self._lost}: {count} taken from {origin}; {again}")

    def name_of(self, given: str, here: Path) -> str:
        """Return the name of the source whose root is the path `given`, relative to `here`.

        Returns `given` itself if a source is called so, or none has that root. Raises UsageError
        for "", which would be the source at `here`.
        """
        if not given:
            hint = "`memory-sidecar source list` shows the names"
            raise UsageError("the name of a source is empty", hint=hint)
        names = {source.root: source.name for source in self.all()}
        return given if given in names.values() else names.get(_resolve(here / given), given)

    def containing(self, path: Path, *, with_worktrees: bool = False) -> Source | None:
        """Return the innermost source whose root is `path`, or lies above it, if any.

        A path in a worktree of the source's repository does not belong to it, unless
        `with_worktrees`. Raises PathRefused if git's files there cannot be read.
        """
        real = _resolve(path)
        around = [source for source in self.all() if real.is_relative_to(source.root)]
        source = max(around, key=lambda source: len(source.root.parts), default=None)
        is_part = source is None or with_worktrees or not worktree_around(source.root, real)
        return source if is_part else None

    def add(
        self,
        root: Path,
        *,
        name: str | None = None,
        excludes: tuple[str, ...] = (),
        force: bool = False,
        address: str = "",
        branch: str = "",
    ) -> Source:
        """Register the folder `root` and return its source, which may exist already.

        By default `name` is made from the folder's. `excludes` are added to those of a registered
        source. `address` is given for a clone that we made. Raises NotFound if `root` is missing,
        PathRefused if it is not a readable folder, holds our own data, or, without `force`, the
        user's home; UsageError for an exclude that is no glob, and a name that is taken, invalid,
        or not that of a registered `root`.
        """
        real = readable_folder(root)
        check_excludes(excludes)
        with self._editing() as (entries, sources):
            known = next((source for source in sources if source.root == real), None)
            if known is None:
                if not address:
                    self.check_new_root(real, force=force)
                taken = self._reserved | {source.name.lower() for source in sources}
                name = _new_name(name, real, taken)
                source = Source(name, real, _distinct(excludes), address, branch)
                entries.append({})
                index = len(sources)
            else:
                if name not in (None, known.name):
                    raise UsageError(
                        f"{real} is registered as {known.name!r} already",
                        hint=f"use that name, or `memory-sidecar source remove {known.name}` first",
                    )
                source = replace(known, excludes=_distinct(known.excludes + excludes))
                index = sources.index(known)
            entries[index].update(_entry(source))
        return source

    def move(self, name: str, root: Path, *, force: bool = False) -> Source:
        """Change the root of the source called `name` to `root`; return the changed source.

        Raises NotFound, PathRefused as `add` does, and UsageError if `root` is another source.
        """
        real = readable_folder(root)
        with self._editing() as (entries, sources):
            index = _index_of(name, sources)
            there = next((source for source in sources if source.root == real), None)
            if there is not None and there.name != name:
                raise UsageError(
                    f"{real} is the source {there.name!r} already",
                    hint=f"`memory-sidecar source remove {there.name}` forgets that one",
                )
            self.check_new_root(real, force=force)
            moved = sources[index].moved_to(real)
            entries[index].update(_entry(moved))
        return moved

    def publish(self, name: str, *, publishes: bool = True) -> Source:
        """Note whether this machine indexes the source for the team. Raises NotFound."""
        with self._editing() as (entries, sources):
            index = _index_of(name, sources)
            entries[index]["publishes"] = publishes
        return replace(sources[index], publishes=publishes)

    def remove(self, name: str) -> Source:
        """Remove a source from the list and return it; the caller deletes its rows.

        Raises NotFound.
        """
        with self._editing() as (entries, sources):
            index = _index_of(name, sources)
            del entries[index]
        return sources[index]

    def check_new_root(self, real: Path, *, force: bool = False) -> None:
        """Raise PathRefused if no source can be the folder `real`, its path without links."""
        require_name(real)
        if is_git_folder(os.fspath(real)):
            raise PathRefused(
                f"{real} is git's own folder, or a bare repository: it holds no checked out files",
                hint=f"`memory-sidecar index {quote(real.as_uri())}` indexes a clone of it",
            )
        for data_dir in map(_resolve, self._data_dirs):
            if real == data_dir or any(real.is_relative_to(data_dir / own) for own in OWN_FOLDERS):
                raise PathRefused(
                    f"{real} holds the data of memory-sidecar itself",
                    hint="name the folder of a project; memories and sessions are indexed anyway",
                )
        if _resolve(Path("~")).is_relative_to(real) and not force:
            raise PathRefused(
                f"{real} is your home folder, or contains it",
                hint="name the folder of a project, or allow it with --force",
            )

    @contextmanager
    def _editing(self) -> Iterator[tuple[list[dict[str, Any]], list[Source]]]:
        """Yield the entries of the file, to be edited and then saved, and their sources."""
        file = self._path.with_suffix(".lock")
        with hold_lock(self._tree, file, what=f"{self._path} is"):
            document, origin = self._read()
            before = "" if origin else json.dumps(document, indent=2)
            sources = self._sources(document, origin)  # raises StoreForeign without one
            yield document["sources"], sources
            after = json.dumps(document, indent=2)
            content = f"{after}\n".encode("ascii")  # the rest is escaped
            if after != before:
                with named_errors(self._path):
                    replace_file(self._tree, self._path, content)
            with suppress(SidecarError), named_errors(self._copy):  # else the next change writes it
                if self._content(self._copy) != content:  # also if another version changed the list
                    replace_file(self._tree, self._copy, content)

    def _content(self, file: Path) -> bytes | None:
        """Return the content of `file`: None if it is missing, b"" if it is blank."""
        with named_errors(file):
            try:
                content = self._tree.read(file, MAX_REGISTRY_BYTES)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except FileRefused as error:
                raise self._broken(error.reason, file.name) from error
        return content if content.strip(b"\0 \t\r\n") else b""

    def _read(self) -> tuple[dict[str, Any], str]:
        """Return the list and, if it is not the file's, where it was taken from, else ""."""
        content, origin = self._content(self._path), ""
        if not content:
            kept = self._content(self._copy)
            blank = "the database" if (content, kept) != (None, None) else ""
            content, origin = kept, self._copy.name
        if not content:
            found, origin = self._recover()
            own = [{"name": n, "root": root} for n, root in found if n not in self._reserved]
            return {"version": VERSION, "sources": own}, origin or blank
        try:
            document = json.loads(content)
            version = document["version"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._broken(f"{type(error).__name__}: {error}", origin) from error
        if not isinstance(version, int):
            raise self._broken(f"its version is {version!r}", origin)
        if version > VERSION:
            raise StoreNewer(
                f"{self._path} was written by a newer version of memory-sidecar",
                hint="update memory-sidecar",
            )
        return dict(document), origin

    def _sources(self, document: dict[str, Any], origin: str) -> list[Source]:
        try:
            sources = convert(document.get("sources"), list[Source], dec_hook=_path)
        except msgspec.ValidationError as error:
            raise self._broken(str(error), origin) from error
        taken = set(self._reserved)
        for source in sources:
            if not FOLDER_NAME.fullmatch(source.name) or source.name.lower() in taken:
                raise self._broken(f"{source.name!r} cannot name a source, or is taken", origin)
            if not source.root.is_absolute() or ".." in source.root.parts:
                raise self._broken(f"{str(source.root)!r} is not an absolute path", origin)
            taken.add(source.name.lower())
        return sources

    def _broken(self, why: str, origin: str) -> StoreForeign:
        if origin == self._copy.name:
            return StoreForeign(
                f"{self._path} is {self._lost}, and its copy {origin} no list of sources ({why})",
                hint=f"fix {origin}, or move it away: the sources are then those of the database,"
                " without excludes and addresses",
            )
        return StoreForeign(
            f"{self._path} is not a readable list of sources ({why})",
            hint=f"fix it, or move it away: {self._copy.name}, or `source add`, replaces it",
        )

    @property
    def _lost(self) -> str:
        return "empty" if self._path.exists() else "missing"


def _entry(source: Source) -> dict[str, Any]:
    return asdict(source) | {"root": os.fspath(source.root)}


def _resolve(path: Path) -> Path:
    return Path(real_path(os.path.expanduser(path)))  # noqa: PTH111  neither ever fails


def _new_name(asked: str | None, root: Path, taken: frozenset[str]) -> str:
    if asked is None:
        plain = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", root.name))  # é as e
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-._")[:MAX_NAME_LENGTH]
        slug, number = slug or "source", 1
        name = slug
        while name.lower() in taken:
            number += 1
            ending = f"-{number}"
            name = slug[: MAX_NAME_LENGTH - len(ending)] + ending
        return name
    if not FOLDER_NAME.fullmatch(asked):
        raise UsageError(f"{asked!r} cannot be the name of a source", hint=FOLDER_NAME_RULE)
    if asked.lower() in taken:
        raise UsageError(
            f"the name {asked!r} is taken",
            hint="choose another name, or see `memory-sidecar source list`",
        )
    return asked


def _distinct(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(globs))


def _path(kind: type, value: object) -> object:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return kind(value)


def _index_of(name: str, sources: list[Source]) -> int:
    """Return the index of the source called `name`. Raises NotFound."""
    for index, source in enumerate(sources):
        if source.name == name:
            return index
    hint = known_names(name, [source.name for source in sources])
    raise NotFound(f"no source is named {name!r}", hint=hint)
