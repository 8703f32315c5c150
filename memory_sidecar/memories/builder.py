"""Builds memory documents from the files of a knowledge directory, as a pass over a source asks.

A file is indexed even if its frontmatter is broken: the problem is stored with the memory, for
`doctor`, and the keys that could be read count. `index.source` shows the whole pass.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from memory_sidecar.chunking.lines import CHUNKER_VERSION, Lines
from memory_sidecar.chunking.prose import chunk_markdown
from memory_sidecar.core import reasons
from memory_sidecar.core.atomic import file_hash
from memory_sidecar.core.model import Document, FileStatus, Scan, Source, SourceFile, Stamp
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.disk.atoms import (
    GENERATED_LIST,
    PAGE,
    AtomId,
    Standing,
    atom_facts,
    is_page_path,
    project_folder,
    standing_of,
    text_of,
)
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES, Page, line_breaks, parse_page
from memory_sidecar.index.document import Builder, build_errors, fingerprint, skipped_document
from memory_sidecar.memories.categories import description_of
from memory_sidecar.memories.files import MemoryPage, category_of, memory_id, parse_memory
from memory_sidecar.memories.model import (
    OWN_DIRECTORY,
    IndexedMemory,
    Relation,
    address,
    address_of,
    parse_address,
)
from memory_sidecar.memories.names import is_category_page
from memory_sidecar.memories.store import (
    CategoryDocument,
    MemoryChunk,
    MemoryDocument,
    make_findable,
)
from memory_sidecar.memories.walk import walk_memories

_VERSION = f"memories 10, chunks {CHUNKER_VERSION}"
_TEMPLATES = re.compile(r"(?:.*/)?(?:(_templates)|templates?)/.*", re.IGNORECASE)
_PLACE_TO_FILL_IN = re.compile(rb"\{\{[^{}\n]*\}\}|<%[^%\n]*%>")
_GENERATED_INDEX = re.compile(r"(?:.*/)?(?:experiments|knowledge|patterns)/index\.md")


class MemoryBuilder(Builder):
    """Builds documents from the files of one knowledge directory."""

    version = _VERSION

    def __init__(
        self,
        directory: Source,
        *,
        agent: str,
        trusts_empty_root: bool,
        is_unfilled: Callable[[str, str], bool] = lambda _path, _text: False,
    ) -> None:
        """`trusts_empty_root`: whether an absent root means no memories, not an unmounted disk.

        `is_unfilled`: whether a page, given its path and text, is still an empty template.
        """
        self.trusts_empty_root = trusts_empty_root
        self._is_unfilled = is_unfilled
        self._directory = directory
        self._owner = agent if directory.name == OWN_DIRECTORY else directory.name

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        del known  # only sources with ignore rules use it
        if self.trusts_empty_root and not os.path.lexists(self._directory.root):
            return Scan((), (), ())
        scan = walk_memories(self._directory.root, max_file_bytes=MAX_PAGE_BYTES, under=under)
        files = (
            replace(file, skip_reason=reasons.OWN_INDEX)
            if _GENERATED_INDEX.fullmatch(file.path)
            else file
            for file in scan.files
        )
        return replace(scan, files=tuple(files))

    def build(self, file: SourceFile) -> Document:
        try:
            with build_errors():
                data = Tree(self._directory.root).read(file.path, MAX_PAGE_BYTES)
        except FileRefused as refusal:
            return self._skipped(file, refusal.reason)
        if b"\0" in data:
            return self._skipped(file, reasons.BINARY)
        if not data.strip():
            return self._skipped(file, reasons.EMPTY)
        if is_page_path(file.path) and self._is_unfilled(file.path, data.decode(errors="replace")):
            return self._skipped(file, reasons.UNFILLED)
        page = _decode_page(data)
        if _is_template(file.path, data, page):
            return self._skipped(file, reasons.TEMPLATE)
        content_hash = file_hash(data)
        if is_category_page(file.path):
            return self._category(file, page, content_hash)
        return self._memory(file, page, content_hash)

    def _skipped(self, file: SourceFile, reason: str) -> Document:
        return skipped_document(self._directory, file, reason, version=_VERSION)

    def _category(self, file: SourceFile, page: Page, content_hash: str) -> Document:
        return CategoryDocument(
            source=self._directory.name,
            file=file,
            fingerprint=fingerprint(_VERSION, content_hash),
            language="markdown",
            status=FileStatus.INDEXED,
            category=category_of(file.path),
            description=description_of(page),
        )

    def _memory(self, file: SourceFile, page: Page, content_hash: str) -> Document:
        mtime_ms = file.mtime_ns // 1_000_000
        read = parse_memory(page, mtime_ms=mtime_ms)
        memory = self._make_memory(file, page, read, content_hash)
        chunks = _chunks(read, read.body_line + _blank_lines_before(page.body))
        # The file's mtime counts only for a page that lacks its own times: a copy is no change.
        has_own_times = mtime_ms not in (memory.page.created_at, memory.page.updated_at)
        return MemoryDocument(
            source=self._directory.name,
            file=file,
            fingerprint=fingerprint(_VERSION, content_hash, "" if has_own_times else str(mtime_ms)),
            language="markdown",
            status=FileStatus.INDEXED,
            memory=memory,
            chunks=chunks,
            found=tuple(make_findable(memory, chunk) for chunk in chunks),
        )

    def _make_memory(
        self, file: SourceFile, page: Page, read: MemoryPage, content_hash: str
    ) -> IndexedMemory:
        """Complete the parsed memory `read` with what follows from its path, as for an atom."""
        atom = atom_facts(file.path, page.meta)
        status = atom.status if atom else read.status.lower()
        standing = standing_of(status)
        if (
            standing is Standing.ACTIVE
            and (atom or self._has_successor_elsewhere(read))
            and read.superseded_by
        ):
            standing = Standing.SUPERSEDED
        updated_at = read.updated_at
        if atom and read.has_created_at and not read.has_updated_at:
            updated_at = read.created_at  # not the file's mtime, which counting reads changes
        memory = IndexedMemory(
            path=address(self._directory.name, file.path),
            id=memory_id(self._owner, file.path),
            hash=content_hash,
            category=category_of(file.path),
            page=replace(read, status=status, updated_at=updated_at),
            standing=standing.value,
            relations=tuple(self._relations(file.path, read)),
            declared_id=text_of(page.meta.get("id")),
            project=read.project,
        )
        if atom is None:
            return replace(memory, kind=PAGE) if is_page_path(file.path) else memory
        return replace(
            memory,
            kind=atom.kind.value,
            atom_id=str(atom.id),
            project=atom.project,
            refs=atom.refs,
            last_ref=atom.last_ref,
        )

    def _relations(self, path: str, read: MemoryPage) -> Iterator[tuple[Relation, str]]:
        """Yield the relations of the memory at `path`, with memories and atoms as addresses."""
        for relation in Relation:
            is_of_memories = relation in (Relation.SUPERSEDES, Relation.SUPERSEDED_BY)
            for target in getattr(read, relation):
                named = address_of(self._directory.name, target) if is_of_memories else target
                yield relation, self._atom_address(path, target) or named

    def _has_successor_elsewhere(self, read: MemoryPage) -> bool:
        """Whether the page names a successor in another knowledge directory.

        Such a successor is taken to exist; the database knows whether one in this directory does.
        """
        named = [address_of(self._directory.name, each) for each in read.superseded_by]
        return any(parse_address(each)[0] != self._directory.name for each in named)

    def _atom_address(self, path: str, target: str) -> str | None:
        """Return the address of the atom `target` in the project of `path`.

        None if `target` is no id, or the page is in no project: its readers find the atom by id.
        """
        atom, project = AtomId.parse(target), project_folder(path)
        if atom is None or project is None:
            return None
        folder = f"{project}/{atom.kind.folder}" if project else atom.kind.folder
        return address(self._directory.name, f"{folder}/{target}.md")


def _is_template(path: str, data: bytes, page: Page) -> bool:
    """Whether the file at `path` is what notes are made of, as vaults keep it in a folder of these.

    In one called `templates`, where there may also be notes about templates, only such a file is
    one that has places to fill in: `{{title}}` or `<% tp.date.now() %>`. What was stored here is
    no template, whatever its category is called.
    """
    folder = _TEMPLATES.fullmatch(path)
    if folder is None or "created_at" in page.meta:
        return False
    return bool(folder[1] or _PLACE_TO_FILL_IN.search(data))


def _decode_page(data: bytes) -> Page:
    """Parse a page. Bytes that are not UTF-8 are replaced, and noted as the page's problem."""
    try:
        return parse_page(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        page = parse_page(data.decode("utf-8", "replace"))
        return replace(page, problem=page.problem or f"byte {error.start}: not UTF-8")


def _chunks(page: MemoryPage, first_line: int) -> tuple[MemoryChunk, ...]:
    """Cut the content at its headings into chunks, with line numbers of the file.

    If the memory has no content, the summary is the only chunk.
    """
    if not page.content:
        text = page.summary
        return (MemoryChunk(text, "", "", first_line, first_line),) if text else ()
    chunks = chunk_markdown(Lines(GENERATED_LIST.sub(_blank_lines, page.content)))
    return tuple(
        MemoryChunk(
            text=chunk.code,
            context=_context(page, chunk.code, chunk.scope, is_first=number == 0),
            heading=chunk.scope,
            start_line=chunk.start_line + first_line - 1,
            end_line=chunk.end_line + first_line - 1,
        )
        for number, chunk in enumerate(chunks)
    )


def _blank_lines(found: re.Match[str]) -> str:
    """Replace a generated list by blank lines: it names all pages, and would match any question."""
    return "\n" * found.group().count("\n")


def _context(page: MemoryPage, text: str, heading: str, *, is_first: bool) -> str:
    """Return the summary or heading that says what a chunk is about; "" if its text does."""
    about = page.summary if is_first else heading or page.summary
    return "" if about in text else about


def _blank_lines_before(body: str) -> int:
    """Count the line breaks before the content of `body`."""
    return line_breaks(body[: len(body) - len(body.lstrip("\r\n"))])
