"""Gives a memory another name, another category, or to all agents."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from memory_sidecar.core.atomic import move_file
from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import Conflict, NotFound, PageBroken, PathRefused
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.frontmatter import edit_page, parse_page
from memory_sidecar.memories.directory import KnowledgeDirectory, MemoryFile
from memory_sidecar.memories.files import category_of, content_hash
from memory_sidecar.memories.names import (
    MEMORY_SUFFIX,
    check_category,
    check_known_category,
    check_new_path,
    check_path,
)
from memory_sidecar.memories.write import Meta, Written, edited

_LINKING_KEYS = ("supersedes", "evidence", "links", "citations")


@dataclass(frozen=True, slots=True)
class MovedFile(Written):
    """A file under its new path; its old one is among those that changed."""

    old: str


def move(
    directory: KnowledgeDirectory,
    path: str,
    to: str,
    *,
    linking: Iterable[str] = (),
    allow_secrets: bool = False,
) -> MovedFile:
    """Rename the memory at `path`, or move it to the category `to`.

    `to` is a category where one of that name exists, or where it ends in `/`. The file is moved as
    it is, to the byte; memories at the paths `linking` that name its old path are changed to name
    the new one. Raises NotFound, SecretRefused, and Conflict where the new path is taken.
    """
    path = check_path(path)
    _destination(path, to, directory)  # what cannot be a path is said before what is not there
    with directory.changing():
        old = directory.read(path)
        new = _destination(old.path, to, directory)
        if not allow_secrets:
            _refuse_secrets(old, to=to)
        if new == old.path:
            return MovedFile(old, False, (), old.path)
        target = directory.root / new
        with named_errors(target):
            is_free = move_file(directory.tree, directory.root / old.path, directory.tree, target)
        if not is_free:
            raise Conflict(f"{new} is there already", hint="choose another name")
        directory.tidy(old.path)
        relinked = _relink(directory, linking, old.path, new)
        return MovedFile(directory.read(new), False, (old.path, new, *relinked), old.path)


def share(
    own: KnowledgeDirectory,
    shared: KnowledgeDirectory,
    path: str,
    *,
    agent: str,
    now_ms: int,
    category: str | None = None,
    allow_secrets: bool = False,
) -> Written:
    """Put a copy of the agent's memory at `path` into `shared`, which says where it comes from.

    Its times, tags and evidence stay; what it supersedes among the agent's own does not. The same
    text that is there already is that memory. Raises SecretRefused.
    """
    file = own.read(check_path(path))
    if not allow_secrets:
        _refuse_secrets(file, category=category or "")
    folder = category_of(file.path) if category is None else check_category(category)
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
            if there is None:
                return Written(shared.create(target, text), True, (target,))
            if content_hash(there.page.content) == wanted:
                return Written(there, False, ())
    raise Conflict(f"{stem} is there already", hint="share it to another category")


def _refuse_secrets(file: MemoryFile, **destination: str) -> None:
    """Raises SecretRefused: a page that was written by hand has not been looked at before."""
    page = parse_page(file.text)
    refuse_credentials({**destination, **page.meta, "content": page.body})


def _destination(old: str, to: str, directory: KnowledgeDirectory) -> str:
    known = check_known_category(to)
    if to.endswith(("/", "\\")) or (known and directory.has_folder(known)):
        category = check_category(to.rstrip("/\\"))
        name = old.rpartition("/")[2]
        return f"{category}/{name}" if category else name
    return check_new_path(to)


def _relink(directory: KnowledgeDirectory, linking: Iterable[str], old: str, new: str) -> list[str]:
    names = {old: new, old.removesuffix(MEMORY_SUFFIX): new.removesuffix(MEMORY_SUFFIX)}
    changed = []
    for path in linking:
        try:
            file = directory.read(path)
        except (NotFound, PathRefused):  # or is no text
            continue
        meta: Meta = {}
        for key in _LINKING_KEYS:
            targets: tuple[str, ...] = getattr(file.page, key)
            if not names.keys().isdisjoint(targets):
                meta[key] = [names.get(target, target) for target in targets]
        if file.page.superseded_by in names:
            meta["superseded_by"] = names[file.page.superseded_by]
        if meta:
            with suppress(PageBroken):
                edited(directory, file, meta)
                changed.append(path)
    return changed
