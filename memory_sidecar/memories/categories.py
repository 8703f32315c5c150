"""Creates, describes and deletes categories: folders, described by a `_category.md` in each."""

from __future__ import annotations

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import Conflict, NotFound, PathRefused, UsageError
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.frontmatter import (
    MAX_PAGE_BYTES,
    Page,
    edit_page,
    new_page,
    parse_page,
    with_body,
)
from memory_sidecar.memories.archive import Archive
from memory_sidecar.memories.directory import KnowledgeDirectory, MemoryFile
from memory_sidecar.memories.names import (
    CATEGORY_FILE,
    check_category,
    check_known_category,
    is_category_page,
    is_hidden,
)
from memory_sidecar.memories.results import Archived, Described
from memory_sidecar.memories.walk import walk_memories

_LEFT_ALONE = frozenset({reasons.SYMBOLIC_LINK, reasons.NOT_REGULAR, reasons.NAME_NOT_UTF8})


def create(
    directory: KnowledgeDirectory, category: str, description: str, *, now_ms: int
) -> tuple[Described, str]:
    """Create a category, with a description if that is not ""; return the path of its page, too.

    An existing one without a description gets it. Raises Conflict if it has another description.
    """
    category = directory.known_category(check_category(category))
    if not category:
        raise UsageError("the root exists already", hint="name a category to make below it")
    with directory.changing():
        page = directory.find(_page_path(category))
        there = description_of(parse_page(page.text)) if page else ""
        if page is None or not there:
            return _write(directory, category, page, description, now_ms)
        if description not in ("", there):
            raise Conflict(
                f"{category} is described already: {there}",
                hint=f"`memory-sidecar category describe {category} TEXT` changes that",
            )
        return Described(category, there, created=False), page.path


def describe(
    directory: KnowledgeDirectory, category: str, description: str, *, now_ms: int
) -> tuple[Described, str]:
    """Set the description of a category; return the path of its page, too.

    Raises NotFound for a category without a folder.
    """
    category = directory.known_category(check_known_category(category))
    # Checked before the lock is taken, because taking it makes the folders of an agent.
    if category and not _exists(directory, category):
        raise NotFound(
            f"there is no category {category}",
            hint=f"`memory-sidecar category create {category}` makes it",
        )
    with directory.changing():
        page = directory.find(_page_path(category))
        return _write(directory, category, page, description, now_ms)


def delete(
    directory: KnowledgeDirectory,
    archive: Archive,
    category: str,
    *,
    with_memories: bool,
    now_ms: int,
) -> tuple[list[Archived], str]:
    """Archive the page of a category, and all below it; return these files, and the path to rescan.

    Raises NotFound, PathRefused if it cannot be read, and Conflict if it holds memories, unless
    `with_memories`. Other files stay, and so do their folders.
    """
    category = directory.known_category(check_known_category(category))
    if not category:
        raise UsageError("the root cannot be deleted", hint="name a category")
    folder = directory.root / category
    if not _exists(directory, category):
        raise NotFound(f"there is no category {category}", hint="`memory-sidecar category list`")
    with directory.changing():
        scan = walk_memories(directory.root, max_file_bytes=MAX_PAGE_BYTES, under=[category])
        if scan.unreadable:
            raise PathRefused(
                f"{directory.root / scan.unreadable[0]} cannot be read",
                hint="check its permissions and its disk",
            )
        paths = [file.path for file in scan.files if file.skip_reason not in _LEFT_ALONE]
        if (memories := sum(not is_category_page(path) for path in paths)) and not with_memories:
            raise Conflict(
                f"{category} holds {pluralize(memories, 'memory', 'memories')}",
                hint="move them, or give --with-memories to archive them",
            )
        taken = [archive.take(directory, path, now_ms=now_ms) for path in paths]
        if folder.is_dir():
            directory.tidy(f"{category}/{CATEGORY_FILE}")
        return taken, category


def description_of(page: Page) -> str:
    """Return the description on the page of a category: its `description`, or else its body."""
    given = page.meta.get("description")
    return given.strip() if isinstance(given, str) else page.body.strip()


def _exists(directory: KnowledgeDirectory, category: str) -> bool:
    return not is_hidden(category) and directory.has_folder(category)


def _page_path(category: str) -> str:
    return f"{category}/{CATEGORY_FILE}" if category else CATEGORY_FILE


def _write(
    directory: KnowledgeDirectory,
    category: str,
    page: MemoryFile | None,
    description: str,
    now_ms: int,
) -> tuple[Described, str]:
    """Write `description` where `page` has it, or make the page; return the page's path, too."""
    description = description.strip()
    body = f"{description}\n" if description else ""
    if page is None:
        meta = {"created_at": iso_utc(now_ms)}
        page = directory.create(_page_path(category), new_page(meta, body))
        return Described(category, description, created=True), page.path
    if isinstance(parse_page(page.text).meta.get("description"), str):
        text = edit_page(page.text, {"description": description or None})
    else:
        text = with_body(page.text, body)
    if text != page.text:
        directory.overwrite(page, text)
    return Described(category, description, created=False), page.path
