"""Renames a memory's file, moves it to another category, or copies it to the shared agent."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable

from memory_sidecar.core.atomic import move_file
from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import Conflict, SidecarError
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.frontmatter import edit_page, parse_page
from memory_sidecar.memories.directory import KnowledgeDirectory, MemoryFile
from memory_sidecar.memories.files import category_of, content_hash
from memory_sidecar.memories.model import Relation
from memory_sidecar.memories.names import (
    MEMORY_SUFFIX,
    check_category,
    check_known_category,
    check_new_path,
    check_path,
)
from memory_sidecar.memories.write import Meta, Written, relink

_SPACE = re.compile(r" (?!\.)")  # not before a point: Windows takes `con .md` for a device


def move(
    directory: KnowledgeDirectory,
    path: str,
    to: str,
    *,
    note: Callable[[str, str], None] = lambda _old, _new: None,
    linking: Iterable[str] = (),
    reserved: Collection[str] = (),
    allow_secrets: bool = False,
) -> Written:
    """Rename the memory at `path`, or move it to the category `to`.

    `to` is a category if one of that name exists, or if it ends in `/`. The file is moved byte for
    byte, after the pages at `linking` that name its old path have been changed to name the new one,
    and after `note(old, new)`: after a kill in between, the same call completes the move. Raises
    NotFound, SecretRefused, and Conflict if the new path is taken, or one of `reserved`.
    """
    with directory.changing():
        old = directory.read(path)
        new = _destination(old.path, to, directory)
        if not allow_secrets:
            _refuse_secrets(old, to=to)
        if new == old.path:
            return Written(old, False, ())
        if twin := directory.twin_of(new, besides=old.path):
            raise Conflict(f"{new} and {twin} differ in case alone", hint="choose another name")
        if new.casefold() != old.path.casefold() and os.path.lexists(directory.root / new):
            raise _taken(new)
        if new in reserved:
            raise Conflict(
                f"a page still calls {new}, which is gone, its older or newer version",
                hint="choose another name",
            )
        others = [each for each in linking if each != old.path]
        try:
            relinked = relink(directory, others, old.path, new, *Relation)
            note(old.path, new)
            try:
                _move_file(directory, old.path, new)
            except SidecarError:
                note(new, old.path)
                raise
        except SidecarError:
            relink(directory, others, new, old.path, *Relation)
            raise
        directory.tidy(old.path)
        return Written(directory.read(new), False, (old.path, new, *relinked))


def _move_file(directory: KnowledgeDirectory, old: str, new: str) -> None:
    target = directory.root / new
    with named_errors(target):
        is_free = move_file(directory.tree, directory.root / old, directory.tree, target)
    if not is_free:
        raise _taken(new)


def _taken(path: str) -> Conflict:
    return Conflict(f"{path} exists already", hint="choose another name")


def share(
    file: MemoryFile,
    shared: KnowledgeDirectory,
    *,
    agent: str,
    now_ms: int,
    category: str | None = None,
    reserved: Collection[str] = (),
    allow_secrets: bool = False,
) -> Written:
    """Copy `file`, a memory of `agent`, into `shared`, with a note of where it comes from.

    Its times, tags and evidence are copied, but not what it supersedes or is superseded by. If
    `shared` already has a file of that name with the same text, that is the copy. `reserved`: paths
    that a new copy must not get. Raises SecretRefused, and Conflict if all its names are taken.
    """
    if not allow_secrets:
        _refuse_secrets(file, category=category or "")
    folder = category_of(file.path) if category is None else check_category(category)
    folder = shared.known_category(folder)
    origin = f"{agent}/{file.path}"
    meta: Meta = {
        "created_at": iso_utc(file.page.created_at),
        "updated_at": iso_utc(file.page.updated_at),
        "shared_from": origin,
        "shared_at": iso_utc(now_ms),
        "supersedes": None,
        "superseded_by": None,
    }
    text = edit_page(file.text, meta)
    name = file.path.rpartition("/")[2].removesuffix(MEMORY_SUFFIX)
    stem = f"{folder}/{name}" if folder else name
    wanted = content_hash(file.page.content)
    with shared.changing():
        for place in (stem, f"{stem}-{agent}", f"{stem}-{wanted[:8]}"):
            target = check_path(place)
            there = shared.find(target)
            if there is None and target not in reserved:
                return Written(shared.create(target, text), True, (target,))
            if there and content_hash(there.page.content) == wanted:
                return Written(there, False, ())
    raise Conflict(f"{stem} exists already", hint="share it to another category")


def _refuse_secrets(file: MemoryFile, **destination: str) -> None:
    """Raise SecretRefused for a secret in `file`: a file written by hand was not checked before."""
    page = parse_page(file.text)
    refuse_credentials({**destination, **page.meta, "content": page.body})


def _destination(old: str, to: str, directory: KnowledgeDirectory) -> str:
    """Return the path that `old` gets when it is moved to `to`, a category or a new path.

    Folders that are there keep their names, and what has spaces in its name, as notes of other
    tools have, may have some in the new one.
    """
    known, name = check_known_category(to), old.rpartition("/")[2]
    if to.endswith(("/", "\\")) or (known and directory.has_folder(known)):
        folder = known
    else:
        folder, _, given = check_path(to).rpartition("/")
        if given != name:
            check_new_path(_SPACE.sub("-", given) if " " in name else given)
            name = given[: -len(MEMORY_SUFFIX)] + MEMORY_SUFFIX
    if not (folder and directory.has_folder(folder)):
        folder = directory.known_category(check_category(folder))
    return f"{folder}/{name}" if folder else name
