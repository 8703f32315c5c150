"""Writes the files of new and changed memories. The caller indexes them.

Storing is idempotent by content: the same text in the same category is the same memory, however
often it is stored. Storing it again adds new tags, evidence and links, and makes a memory current
again that has expired or was superseded or invalidated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import chain

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.errors import Conflict, NotFound, PageBroken, PathRefused, UsageError
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.atoms import Standing, standing_of
from memory_sidecar.disk.frontmatter import edit_page, new_page, with_body
from memory_sidecar.memories.directory import KnowledgeDirectory, MemoryFile
from memory_sidecar.memories.draft import PROPERTIES, Changes, Draft, without_own_frontmatter
from memory_sidecar.memories.files import (
    UNKNOWN_SOURCE,
    MemoryPage,
    as_value,
    category_of,
    content_hash,
    memory_slug,
    normalised_content,
    read_memory,
)
from memory_sidecar.memories.model import Relation, names_in
from memory_sidecar.memories.names import MEMORY_SUFFIX, check_path, is_markdown

EDIT_TRIES = 3

Meta = dict[str, object | None]
"""Keys of a frontmatter to set; `None` removes a key."""

_FILING = frozenset({"tags", "project", "pinned", "links"})
"""Keys that file a memory without changing what it says: its `updated_at` stays."""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of one change: the memory's file, and all files that changed with it."""

    file: MemoryFile
    is_new: bool
    changed: tuple[str, ...]  # paths of all files that were written or removed


def store(
    directory: KnowledgeDirectory,
    draft: Draft,
    *,
    now_ms: int,
    same_content: Iterable[str] = (),
    reserved: Collection[str] = (),
    linking: Iterable[str] = (),
) -> Written:
    """Write a new memory, or merge `draft` into the one of its category with the same content.

    `same_content`: paths where such a memory may be, besides the path that `draft` would get;
    `reserved`: paths that a new memory must not get;
    `linking`: paths of memories that may say that they supersede it, besides those it names.
    Raises NotFound for a superseded memory that is not there, and PageBroken.
    """
    with directory.changing():
        category = directory.known_category(draft.category)
        superseded = _require_present(directory, draft.supersedes)
        draft = replace(draft, supersedes=superseded)
        names = _candidate_names(draft, category)
        places = (path for path in (*names, *same_content) if category_of(path) == category)
        existing = _find_existing(directory, draft, places)
        if existing is None:
            text = new_page(_new_meta(draft, now_ms), _as_body(draft.content))
            file = _create(directory, names, text, reserved)
            changed = [file.path]
        else:
            file, changed = _merge_draft(directory, existing, draft, now_ms)
            # Its successors are those that it names, and those at `linking`, which it may not know.
            successors = (*existing.page.superseded_by, *linking)
            changed += relink(directory, successors, existing.path, None, Relation.SUPERSEDES)
        changed += _link_superseded(directory, file.path, superseded)
        return Written(file, existing is None, tuple(changed))


def update(
    directory: KnowledgeDirectory, path: str, changes: Changes, *, now_ms: int, if_hash: str = ""
) -> Written:
    """Change the memory at `path`. Writes no file if nothing changes.

    Raises NotFound, PageBroken, UsageError for a text with another frontmatter of this memory, and
    Conflict if its hash is not `if_hash`, or if it would supersede a memory that supersedes it.
    """
    with directory.changing():
        old = directory.read(path, if_hash=if_hash)
        superseded = _require_present(directory, changes.supersedes)
        changes = replace(changes, supersedes=superseded)
        _check_order(directory, old, superseded)
        meta = _meta_changes(old.path, old.page, changes)
        text = edit_page(old.text, meta)
        if changes.summary == "" and read_memory(text, mtime_ms=0).summary:
            meta["summary"] = ""  # hides what another key of the note tells
            text = edit_page(text, meta)
        is_filed = _FILING.issuperset(meta)
        if changes.content is not None:
            body = _as_body(without_own_frontmatter(changes.content, old.text))
            if content_hash(body) != content_hash(old.page.content):
                text = with_body(edit_page(text, _missing_times(old)), body)
                is_filed = False
        file, changed = _rewrite(directory, old, text, None if is_filed else now_ms)
        changed += _link_superseded(directory, file.path, superseded)
        return Written(file, False, tuple(changed))


def edit(
    directory: KnowledgeDirectory, path: str, change: Callable[[MemoryPage], Meta]
) -> list[str]:
    """Set what `change` returns, and the times that it lacks, in the frontmatter at `path`.

    Returns the path on disk, or nothing if `change` returns nothing. If a person saves the file
    meanwhile, it is read again, because the change that causes this one, such as a move, is made in
    any case. Raises NotFound, PathRefused, PageBroken, and Conflict if each of EDIT_TRIES tries
    meets another text.
    """
    for tries_left in reversed(range(EDIT_TRIES)):
        old = directory.read(path)
        meta = change(old.page)
        if not meta:
            break
        try:
            directory.overwrite(old, edit_page(old.text, _missing_times(old) | meta))
        except Conflict:
            if not tries_left:
                raise
        else:
            return [old.path]
    return []


def delete(directory: KnowledgeDirectory, path: str, linking: Iterable[str]) -> list[str]:
    """Delete the memory at `path`; return the paths of all files that changed.

    The pages at `linking` that name it as their successor are changed first, because after a kill
    in between the memory must still be there to be deleted again.
    """
    changed = relink(directory, linking, path, None, Relation.SUPERSEDED_BY)
    directory.delete(path)
    return [path, *changed]


def relink(
    directory: KnowledgeDirectory,
    paths: Iterable[str],
    old: str,
    new: str | None,
    *relations: Relation,
) -> list[str]:
    """Have the pages at `paths` name `new`, or nothing, where one of `relations` names `old`.

    Returns the paths of those changed. Pages that are gone, or no text files, are left out.
    """
    names = names_in(directory.name, old, new or old)

    def relinked(page: MemoryPage) -> Meta:
        meta: Meta = {}
        for key in relations:
            targets = getattr(page, key)
            if not names.keys().isdisjoint(targets):
                now = [names.get(each, each) for each in targets if new or each not in names]
                meta[key] = as_value(now) if key is Relation.SUPERSEDED_BY else now or None
        return meta

    changed: list[str] = []
    for path in dict.fromkeys(paths):
        with suppress(UsageError, NotFound, PageBroken):  # written by hand, it may name no page
            changed += edit(directory, path, relinked)
    return changed


# Storing


def _candidate_names(draft: Draft, category: str) -> tuple[str, str]:
    """Return the paths to try for a new memory: if another memory has the first, the second."""
    folder = f"{category}/" if category else ""
    slug = memory_slug(*(mask_credentials(text or "") for text in (draft.content, draft.summary)))
    unique = f"{slug}-{content_hash(draft.content)[:8]}"
    return f"{folder}{slug}{MEMORY_SUFFIX}", f"{folder}{unique}{MEMORY_SUFFIX}"


def _find_existing(
    directory: KnowledgeDirectory, draft: Draft, paths: Iterable[str]
) -> MemoryFile | None:
    """Find the memory at one of `paths` with the draft's content."""
    wanted = content_hash(draft.content)
    for path in paths:
        with suppress(PathRefused):  # a folder or a link that the user made
            found = directory.find(path)
            if found is not None and content_hash(found.page.content) == wanted:
                return found
    return None


def _create(
    directory: KnowledgeDirectory, names: tuple[str, str], text: str, reserved: Collection[str]
) -> MemoryFile:
    """Create the file at the first of `names` that is free, else with a number after the last."""
    stem = names[-1].removesuffix(MEMORY_SUFFIX)
    more = (f"{stem}-{number}{MEMORY_SUFFIX}" for number in range(2, 1000))
    for path in (each for each in chain(names, more) if each not in reserved):
        try:
            return directory.create(path, text)
        except FileExistsError:
            continue
    raise UsageError(f"too many memories are called {stem}", hint="give it a --summary")


def _new_meta(draft: Draft, now_ms: int) -> dict[str, object]:
    """Make the frontmatter of a new page, without empty values."""
    said_at = now_ms if draft.said_at is None else min(draft.said_at, now_ms)
    empty = MemoryPage(content="", created_at=now_ms, updated_at=now_ms, source="")
    meta: Meta = {"created_at": iso_utc(now_ms), "updated_at": iso_utc(said_at)}
    meta["source"] = UNKNOWN_SOURCE
    meta |= _meta_changes("", empty, draft)
    return {key: value for key, value in meta.items() if value}


def _merge_draft(
    directory: KnowledgeDirectory, old: MemoryFile, draft: Draft, now_ms: int
) -> tuple[MemoryFile, list[str]]:
    """Add the draft's tags and relations to `old`, which has its content, and make it current."""
    page = old.page
    meta = _meta_changes(old.path, page, replace(draft, project=None))
    if page.project and draft.project not in (None, page.project):
        meta["project"] = None  # it holds in more than one project
    if draft.expires_at is None and page.is_expired(now_ms):
        meta["expires_at"] = None
    if page.superseded_by:
        meta["superseded_by"] = None
    if draft.status is None and standing_of(page.status.lower()) is not Standing.ACTIVE:
        meta["status"] = None
    return _rewrite(directory, old, edit_page(old.text, meta), now_ms)


# Changing


def _meta_changes(path: str, page: MemoryPage, changes: Changes) -> Meta:
    """Return the keys that `changes` sets in the frontmatter of `page`, in the order of `Changes`.

    `page` lies at `path`.
    """
    given = {name: getattr(changes, name) for name in PROPERTIES}
    meta: Meta = {name: value or None for name, value in given.items() if value is not None}
    for name in ("project", "summary"):  # another tool's page may have that under another key
        if given[name] == getattr(page, name):
            meta.pop(name, None)
    keys = tuple(each for each in changes.remove_tags if each.endswith(":"))  # all tags of each
    kept = [t for t in page.tags if t not in changes.remove_tags and not t.startswith(keys)]
    tags = tuple(dict.fromkeys((*kept, *changes.tags)))
    if tags != page.tags:
        meta["tags"] = list(tags) or None
    if changes.expires_at is not None or changes.never_expires:
        meta["expires_at"] = iso_utc(changes.expires_at) if changes.expires_at is not None else None
    for key in ("citations", "evidence", "links", "supersedes"):
        there = getattr(page, key)
        new = [each for each in getattr(changes, key) if each not in there and each != path]
        if new:
            meta[key] = [*there, *new]
    return {each.name: meta[each.name] for each in fields(Changes) if each.name in meta}


def _rewrite(
    directory: KnowledgeDirectory, old: MemoryFile, text: str, updated_at: int | None
) -> tuple[MemoryFile, list[str]]:
    """Write `text` over `old`, unless it is the same; return the paths. None keeps `updated_at`."""
    if text == old.text:
        return old, []
    meta = _missing_times(old)
    if updated_at is not None:
        meta["updated_at"] = iso_utc(updated_at)
    return directory.replace(old, edit_page(text, meta)), [old.path]


def _missing_times(old: MemoryFile) -> Meta:
    """Return the times that the page lacks, from the mtime of its file, which a write changes."""
    page = old.page
    return {
        key: iso_utc(ms)
        for key, ms, is_given in (
            ("created_at", page.created_at, page.has_created_at),
            ("updated_at", page.updated_at, page.has_updated_at),
        )
        if not is_given
    }


def _require_present(directory: KnowledgeDirectory, paths: Iterable[str]) -> tuple[str, ...]:
    """Check that the files at `paths` exist and can be edited; return their paths on disk.

    Raises NotFound and PageBroken, before anything is written.
    """
    files = [directory.read(path) for path in paths]
    for file in files:
        try:
            edit_page(file.text, {})
        except PageBroken as error:
            raise PageBroken(f"{file.path}: {error.message}", hint=error.hint) from error
    return tuple(file.path for file in files)


def _check_order(directory: KnowledgeDirectory, old: MemoryFile, superseded: Iterable[str]) -> None:
    """Raise Conflict if one of `superseded` supersedes `old`, directly or through others."""
    left, seen = [(each, each) for each in superseded if each != old.path], {old.path}
    named = old.page.superseded_by
    successors = {each if is_markdown(each) else each + MEMORY_SUFFIX for each in named}
    while left:
        first, each = left.pop()
        with suppress(UsageError):  # written by hand
            if (file := directory.find(check_path(each))) is None:
                continue
            further = [check_path(target) for target in file.page.supersedes]
            if old.path in further or each in successors:
                raise Conflict(
                    f"{first} supersedes {old.path} already",
                    hint=f"store the text of {old.path} again: that makes it current",
                )
            left += [(first, target) for target in further if target not in seen]
            seen.update(further)


def _link_superseded(
    directory: KnowledgeDirectory, path: str, superseded: Iterable[str]
) -> list[str]:
    """Write `superseded_by: path` into each of `superseded`; return the paths of those changed."""

    def with_path(page: MemoryPage) -> Meta:
        return {} if path in page.superseded_by else {"superseded_by": as_value([path])}

    others = (each for each in superseded if each != path)
    return [changed for each in others for changed in edit(directory, each, with_path)]


def _as_body(content: str) -> str:
    return normalised_content(content) + "\n"
