"""The tools that read memories: the agent's own, and those that all agents share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from memory_sidecar.core.clock import iso_utc
from memory_sidecar.core.errors import NoIndex
from memory_sidecar.core.model import SearchMode
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.memory_shapes import (
    MemoryHead,
    MemoryText,
    Remembered,
    head_of,
    line_of,
    marked,
    quoted_line,
    text_of,
    told,
)
from memory_sidecar.mcp.moments import past_moment
from memory_sidecar.mcp.paging import cursor_at, lines_within, offset_of, within_tokens
from memory_sidecar.mcp.tool import Arguments
from memory_sidecar.memories.model import (
    MemoryFilter,
    MemoryList,
    MemoryQuery,
    Sort,
    StoredMemory,
)

MAX_PAGE = 100

T = TypeVar("T")


class Filtered(Arguments):
    category: str = Field(default="", description="Only there and below: decisions/storage.")
    tags: list[str] = Field(default=[], description="Any of; `key:` stands for a key's every tag.")
    shared: bool = Field(default=True, description="Also what all agents share.")

    def filter(self, **more: object) -> MemoryFilter:
        return MemoryFilter(
            category=self.category or None,
            tags=tuple(self.tags),
            **more,  # type: ignore[arg-type]
        )


class Memories(Remembered):
    memories: list[MemoryText]
    next_cursor: str = Field(default="", description="For further ones; empty when there are none.")

    def text(self) -> str:
        return told([marked(memory) for memory in self.memories], self.next_cursor)


class MemoryHeads(Remembered):
    memories: list[MemoryHead]
    next_cursor: str = Field(default="", description="For further ones; empty when there are none.")

    def text(self) -> str:
        return told([line_of(memory) for memory in self.memories], self.next_cursor, by="\n")


class SearchMemories(Filtered):
    query: str = Field(description="What you want to know, in words.")
    top_k: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=4000, ge=1, description="Budget for the content of all.")
    cursor: str = Field(default="", description="next_cursor of the result before.")


def search_memories(caller: Caller, asked: SearchMemories, report: Reporter) -> Memories:
    """Search what was remembered, by meaning and by words.

    Do so before deciding what may have been decided before, and when something goes wrong that may
    have gone wrong before.
    """
    offset = offset_of(asked.cursor)
    query = MemoryQuery(
        text=asked.query,
        top_k=offset + asked.top_k + 1,
        mode=SearchMode.HYBRID,
        filter=asked.filter(),
    )
    try:
        hits = caller.memories(report).query(query, with_shared=asked.shared)[offset:]
    except NoIndex as nothing:
        return Memories(memories=[], notices=[nothing.message])
    found = [
        text_of(hit.agent, hit.found, score=hit.score, content=hit.found.memory.content)
        for hit in hits
    ]
    shown = _within(found[: asked.top_k], asked.max_tokens)
    return Memories(memories=shown, next_cursor=_next(offset, shown, found))


class QueryMemories(Filtered):
    updated_after: str = Field(default="", description="A date, a moment, or so long ago: 7d, 12h.")
    updated_before: str = ""
    source: str = Field(default="", description="Who wrote it.")
    status: str = ""
    outdated: bool = Field(default=False, description="Also superseded and expired ones.")
    sort: Literal["updated", "created", "strength", "tokens", "path"] = "updated"
    ascending: bool = False
    limit: int = Field(default=20, ge=1, le=MAX_PAGE)
    cursor: str = Field(default="", description="next_cursor of the result before.")


def query_memories(caller: Caller, asked: QueryMemories, report: Reporter) -> MemoryHeads:
    """List memories by what they are: category, tags, age, author, status. Needs no text."""
    wanted = asked.filter(
        updated_after=past_moment(asked.updated_after),
        updated_before=past_moment(asked.updated_before),
        source=asked.source,
        statuses=(asked.status,) if asked.status else (),
        with_expired=asked.outdated,
        with_superseded=asked.outdated,
    )
    offset = offset_of(asked.cursor)
    listed = MemoryList(
        filter=wanted,
        sort=Sort(asked.sort),
        is_descending=not asked.ascending,
        limit=asked.limit + 1,
        offset=offset,
    )
    found = _listed(caller, listed, report, with_shared=asked.shared)
    heads = [head_of(agent, memory) for agent, memory in found]
    shown = heads[: asked.limit]
    return MemoryHeads(memories=shown, next_cursor=_next(offset, shown, heads))


class GetRecentMemories(Filtered):
    limit: int = Field(default=10, ge=1, le=MAX_PAGE)
    max_tokens: int = Field(default=2000, ge=1, description="Budget for the content of all.")
    cursor: str = Field(default="", description="next_cursor of the result before.")


def get_recent_memories(caller: Caller, asked: GetRecentMemories, report: Reporter) -> Memories:
    """Read what was remembered or changed last, the latest first. Good at the start of work."""
    offset = offset_of(asked.cursor)
    listed = MemoryList(
        filter=asked.filter(), limit=asked.limit + 1, offset=offset, without_pages=True
    )
    found = [
        text_of(agent, stored, content=stored.memory.content)
        for agent, stored in _listed(caller, listed, report, with_shared=asked.shared)
    ]
    shown = _within(found[: asked.limit], asked.max_tokens)
    return Memories(memories=shown, next_cursor=_next(offset, shown, found))


class ListMemories(Arguments):
    category: str = Field(default="", description="Empty for the root.")
    shared: bool = Field(
        default=False, description="Those that all agents share, instead of yours."
    )
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str = Field(default="", description="next_cursor of the result before.")


class Category(BaseModel):
    path: str
    description: str
    memories: int = Field(description="In it, not below it.")


class Listing(Remembered):
    categories: list[Category] = Field(description="Those below this one.")
    memories: list[MemoryHead] = Field(description="Those in this category itself.")
    next_cursor: str = Field(
        default="", description="For further memories; empty when there are none."
    )

    def text(self) -> str:
        categories = [
            quoted_line(f"{each.path}/  {each.memories}  {each.description}")
            for each in self.categories
        ]
        return told([*categories, *map(line_of, self.memories)], self.next_cursor, by="\n")


def list_memories(caller: Caller, asked: ListMemories, report: Reporter) -> Listing:
    """See which categories there are, and what lies in one of them."""
    remembered = caller.memories(report, shared=asked.shared)
    offset = offset_of(asked.cursor)
    category = asked.category.strip("/")
    try:
        below = f"{category}/" if category else ""
        categories = [
            Category(path=row.path, description=row.description, memories=row.memories)
            for row in remembered.categories()
            if row.path.startswith(below) and row.path != category
        ]
        stored = remembered.list(
            MemoryList(
                filter=MemoryFilter(category=category or None), sort=Sort.PATH, is_descending=False
            )
        )
    except NoIndex as nothing:
        return Listing(categories=[], memories=[], notices=[nothing.message])
    here = [head_of(name, each) for name, each in stored if each.memory.category == category]
    shown = here[offset : offset + asked.limit]
    return Listing(
        categories=[] if offset else categories,
        memories=shown,
        next_cursor=_next(offset, shown, here[offset:]),
    )


class GetMemory(Arguments):
    path: str
    shared: bool = Field(
        default=False, description="One that all agents share, where you have one too."
    )
    start_line: int = Field(default=1, ge=1)
    max_tokens: int = Field(default=6000, ge=1, description="What is longer is cut after a line.")


class WholeMemory(Remembered):
    memory: MemoryText
    created_at: str
    source: str = Field(description="Who wrote it.")
    hash: str = Field(description="For update_memory: if_hash.")
    evidence: list[str]
    links: list[str]
    superseded_by: list[str]
    next_start_line: int = Field(default=0, description="Where to go on; 0 when nothing was cut.")

    def text(self) -> str:
        cut = f"cut: go on with start_line {self.next_start_line}" if self.next_start_line else ""
        return told([marked(self.memory), *([cut] if cut else [])], "")


def get_memory(caller: Caller, asked: GetMemory, report: Reporter) -> WholeMemory:
    """Read one memory, whole."""
    name, stored = caller.memories(report, shared=asked.shared).get(asked.path)
    memory = stored.memory
    lines = memory.content.split("\n")
    content, last = lines_within(lines, asked.start_line, len(lines), asked.max_tokens)
    targets = [(relation.value, target) for relation, target in memory.relations]
    return WholeMemory(
        memory=text_of(name, stored, content=content),
        created_at=iso_utc(memory.created_at),
        source=memory.source,
        hash=memory.file_hash,
        evidence=[target for key, target in targets if key == "evidence"],
        links=[target for key, target in targets if key == "links"],
        superseded_by=[target for key, target in targets if key == "superseded_by"],
        next_start_line=last + 1 if last < len(lines) else 0,
    )


def _listed(
    caller: Caller, wanted: MemoryList, report: Reporter, *, with_shared: bool
) -> list[tuple[str, StoredMemory]]:
    try:
        return caller.memories(report).list(wanted, with_shared=with_shared)
    except NoIndex as nothing:
        report.notice(nothing.message)
        return []


def _within(found: Sequence[MemoryText], max_tokens: int) -> list[MemoryText]:
    shown = within_tokens(found, max_tokens, characters=lambda memory: len(memory.content))
    if len(shown) != 1:
        return shown
    first = shown[0]  # which may be too long by itself
    content, _ = lines_within(first.content.split("\n"), 1, None, max_tokens)
    return [first.model_copy(update={"content": content})]


def _next(offset: int, shown: Sequence[T], found: Sequence[T]) -> str:
    return cursor_at(offset + len(shown)) if len(shown) < len(found) else ""
