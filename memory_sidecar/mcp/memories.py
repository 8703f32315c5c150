"""The tools that read memories: the agent's own, and the shared ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType
from pydantic import Field

from memory_sidecar.code.excerpt import shorten, stems_of
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import Asked, SearchMode, budget
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.results import IsWeak, Reporter, Score, about, build_from, warn_if_weak
from memory_sidecar.core.times import parse_past_time
from memory_sidecar.mcp.arguments import Arguments, Unlisted
from memory_sidecar.mcp.budget import cut_to_fit, lines_within
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.pages import NextCursor
from memory_sidecar.mcp.quoting import in_tag, join_notes, quote, quote_line
from memory_sidecar.mcp.tool import StoredAnswer
from memory_sidecar.mcp.uris import MEMORY, memory_uri, parts_of
from memory_sidecar.memories.files import without_markup
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery, Sort
from memory_sidecar.memories.names import is_in, rest_of_title
from memory_sidecar.memories.results import Category, Memory, MemoryHead, MemoryHit

MAX_PAGE = 100
MAX_PROPERTY = 300  # characters of one, such as all evidence


class Filtered(Arguments):
    category: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    shared: bool = Field(default=True, description="False: yours only")

    def filter(self, caller: Caller, **more: object) -> MemoryFilter:
        """Return the filter of the arguments, of those called as its fields, and `more`."""
        return build_from(MemoryFilter, self, project=caller.project_named(self.project), **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryText(MemoryHead):
    """A memory with its text, as far as it fits."""

    content: str
    relevance: Score | UnsetType = UNSET
    is_weak: IsWeak | UnsetType = UNSET
    uri: str

    def text(self) -> str:
        return mark_memory(self, " weak match" if self.is_weak is True else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemories(StoredAnswer):
    memories: tuple[MemoryText, ...]
    next_cursor: NextCursor = ""

    def text(self) -> str:
        return join_notes([each.text() for each in self.memories], self.next_cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHeads(StoredAnswer):
    memories: tuple[MemoryHead, ...]
    next_cursor: NextCursor = ""

    def text(self) -> str:
        return join_notes([line_of(memory) for memory in self.memories], self.next_cursor, by="\n")


class SearchMemories(Filtered):
    query: str
    top_k: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=2000, ge=1)
    min_score: Unlisted[float] = Field(default=0, ge=0, le=1)
    all_projects: Unlisted[bool] = False  # true: prefer no project
    cursor: str = ""


def search_memories(caller: Caller, asked: SearchMemories, report: Reporter) -> FoundMemories:
    """Search what was learned. Do so before you decide, and when something fails."""
    page = caller.pages.page(asked.question, asked.cursor, asked.top_k)
    query = MemoryQuery(
        text=asked.query,
        top_k=page.depth,
        mode=SearchMode.HYBRID,
        min_score=asked.min_score,
        filter=asked.filter(caller),
        prefers="" if asked.all_projects else caller.project,
    )
    found = caller.ask(
        Asked.MEMORIES,
        asked.query,
        page,
        lambda: caller.memories(report).query(query, with_shared=asked.shared),
    )
    hits = page.fill(found, key_of)
    warn_if_weak(hits, report)
    shown = _cut_to_budget(hits, asked.max_tokens, report, stems_of(asked.query))
    return FoundMemories(memories=shown, next_cursor=page.cursor_after(shown))


class QueryMemories(Filtered):
    updated_after: str = Field(default="", description="Date or age: 7d")
    updated_before: str = ""
    source: str = Field(default="", description="Who wrote it")
    status: str = ""
    outdated: bool = Field(default=False, description="Also superseded, expired")
    sort: Literal["updated", "created", "strength", "tokens", "path"] = "updated"
    ascending: bool = False
    limit: int = Field(default=20, ge=1, le=MAX_PAGE)
    cursor: str = ""


def query_memories(caller: Caller, asked: QueryMemories, report: Reporter) -> MemoryHeads:
    """List memories by tags, age, author or status; search_memories takes words."""
    wanted = asked.filter(
        caller,
        updated_after=parse_past_time(asked.updated_after),
        updated_before=parse_past_time(asked.updated_before),
        statuses=(asked.status,) if asked.status else (),
        with_expired=asked.outdated,
        with_superseded=asked.outdated,
    )
    page = caller.pages.page(asked.question, asked.cursor, asked.limit)
    listed = MemoryList(
        filter=wanted,
        sort=Sort(asked.sort),
        is_descending=not asked.ascending,
        limit=page.depth,
    )
    shown = page.fill(caller.memories(report).list(listed, with_shared=asked.shared), key_of)
    return MemoryHeads(memories=_heads(shown), next_cursor=page.cursor_after(shown))


class GetRecentMemories(Filtered):
    limit: int = Field(default=10, ge=1, le=MAX_PAGE)
    max_tokens: int = Field(default=2000, ge=1)
    all_projects: Unlisted[bool] = False  # true: those of other projects do not come last
    cursor: str = ""


def get_recent_memories(
    caller: Caller, asked: GetRecentMemories, report: Reporter
) -> FoundMemories:
    """Read what was remembered or changed last, in your project first. To begin with."""
    page = caller.pages.page(asked.question, asked.cursor, asked.limit)
    listed = MemoryList(
        filter=asked.filter(caller),
        limit=page.depth,
        prefers="" if asked.all_projects else caller.project,
        without_pages=True,
    )
    found = page.fill(caller.memories(report).list(listed, with_shared=asked.shared), key_of)
    shown = _cut_to_budget(found, asked.max_tokens, report, share=4)
    return FoundMemories(memories=shown, next_cursor=page.cursor_after(shown))


class ListMemories(Arguments):
    category: str = ""
    shared: bool = False
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(StoredAnswer):
    categories: Annotated[tuple[Category, ...], about("Those below this one.")]
    memories: Annotated[tuple[MemoryHead, ...], about("Those in it and below.")]
    next_cursor: NextCursor = ""

    def text(self) -> str:
        categories = [
            quote_line(f"{each.path}/  {each.total_memories}  {each.description}")
            for each in self.categories
        ]
        return join_notes([*categories, *map(line_of, self.memories)], self.next_cursor, by="\n")


def list_memories(caller: Caller, asked: ListMemories, report: Reporter) -> Listing:
    """List categories and memories: yours, or with shared those of all agents."""
    remembered = caller.memories(report, shared=asked.shared)
    page = caller.pages.page(asked.question, asked.cursor, asked.limit)
    wanted = MemoryFilter(category=asked.category)
    categories = [
        each
        for each in remembered.categories()
        if is_in(each.path, wanted.category) and not is_in(wanted.category, each.path)
    ]
    listed = MemoryList(filter=wanted, sort=Sort.PATH, is_descending=False, limit=page.depth)
    shown = page.fill(remembered.list(listed), key_of)
    return Listing(
        categories=() if page.offset else tuple(categories),
        memories=_heads(shown),
        next_cursor=page.cursor_after(shown),
    )


class GetMemory(Arguments):
    path: str
    shared: Unlisted[bool] = False  # needed only where both have that path
    start_line: int = Field(default=1, ge=1)
    max_tokens: int = Field(default=6000, ge=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeMemory(StoredAnswer):
    memory: Memory
    next_start_line: Annotated[int, about("Where to go on; 0 when nothing was cut.")] = 0
    uri: str

    def text(self) -> str:
        cut = f"cut: go on with start_line {self.next_start_line}" if self.next_start_line else ""
        more = f"{properties_of(self.memory)} hash={self.memory.hash}"
        shown = mark_memory(self.memory, more)
        return join_notes([shown, *([cut] if cut else [])], "")


def get_memory(caller: Caller, asked: GetMemory, report: Reporter) -> WholeMemory:
    """Read a memory, by its path or id (EXP-042)."""
    memories, path = resolve_memory(caller, asked.path, report, shared=asked.shared)
    memory = memories.get(path)
    content, last = lines_within(memory.content, asked.start_line, None, asked.max_tokens, report)
    return WholeMemory(
        memory=replace(memory, content=content),
        next_start_line=last + 1 if last <= memory.content.count("\n") else 0,
        uri=memory_uri(memory.agent, memory.path),
    )


def resolve_memory(
    caller: Caller, path: str, report: Reporter, *, shared: bool = False
) -> tuple[Memories, str]:
    """Return the memories, own or `shared`, that `path` is in, and the path; a URI names both.

    Raises NotFound for the memories of another agent.
    """
    if path.startswith(f"{MEMORY}://"):
        _, owner, path = parts_of(path)
        if owner not in (caller.agent, SHARED):
            raise NotFound(f"{caller.agent} cannot read memories of {owner}")
        shared = owner == SHARED
    return caller.memories(report, shared=shared), path


def mark_memory(memory: Memory | MemoryText, more: str) -> str:
    """Put the quoted content of `memory` between tags; `more` goes into the opening one.

    The title stands above the content, unless the content has it or the title is cut from it.
    """
    lines = map(without_markup, memory.content.split("\n"))
    is_said = memory.title in memory.content or memory.title.endswith("…") or memory.title in lines
    content = memory.content if is_said else f"{memory.title}\n\n{memory.content}"
    tags = f" tags={','.join(memory.tag_list)}" if memory.tag_list else ""
    head = in_tag(f"{memory.path} {_marks(memory)}{tags}{more}")
    return f"<memory {head}>\n{quote(content)}\n</memory>"


def properties_of(memory: Memory) -> str:
    """Return what `memory` has besides tags, such as evidence, and what it is superseded by."""
    stated = {"status": memory.status, "expires": (memory.expires_at or "")[:10]}
    stated |= {name: ",".join(targets) for name, targets in memory.relations.items()}
    named = [f" {name}={shorten(text, MAX_PROPERTY)}" for name, text in stated.items() if text]
    return "".join(named) + (" pinned" if memory.pinned else "")


def key_of(memory: MemoryHead) -> tuple[str, str]:
    """What tells memories apart."""
    return memory.agent, memory.path


def line_of(memory: MemoryHead) -> str:
    rest = rest_of_title(memory.title, memory.path)
    return quote_line(f"{memory.path}  {_marks(memory)}  {rest}")


def _marks(memory: MemoryHead) -> str:
    shared = " (shared)" if memory.shared else ""
    made_in = f" of {memory.project}" if memory.project else ""
    return f"{memory.updated_at[:10]}{made_in}{shared}{' OUTDATED' if memory.is_outdated else ''}"


def _heads(found: Sequence[Memory]) -> tuple[MemoryHead, ...]:
    return tuple(build_from(MemoryHead, memory) for memory in found)


def _cut_to_budget(
    found: Sequence[Memory | MemoryHit],
    max_tokens: int,
    report: Reporter,
    stems: Collection[str] = (),
    *,
    share: int = 2,
) -> tuple[MemoryText, ...]:
    """Return the first of `found` that fit, at least one, cut to the lines that have `stems`.

    Each of several takes at most 1/`share` of the characters.
    """
    texts = [build_from(MemoryText, each, uri=memory_uri(each.agent, each.path)) for each in found]
    most = budget(max_tokens, "".join(each.content for each in texts))
    shown, is_cut = cut_to_fit(texts, most, "content", MemoryText.text, share=share, stems=stems)
    if is_cut:
        report.notice("some are cut: get_memory reads all of one")
    return tuple(shown)
