"""The tools that search and read source code and list the indexed sources."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field, model_validator

from memory_sidecar.code.directory import parse_place
from memory_sidecar.code.excerpt import (
    MAX_LINE,
    Excerpt,
    best_part,
    elided,
    name_of,
    row_to_show,
    stems_of,
)
from memory_sidecar.code.files import read_file as read_source_file
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.query_names import names_in
from memory_sidecar.code.results import CodebaseStatus, CodeHit
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.errors import one_line
from memory_sidecar.core.model import Asked, SearchMode, budget
from memory_sidecar.core.results import (
    IsWeak,
    Reporter,
    Score,
    Time,
    about,
    build_from,
    pluralize,
    warn_if_weak,
)
from memory_sidecar.core.visible import visible_line
from memory_sidecar.mcp.arguments import Arguments, Unlisted, in_snake_case
from memory_sidecar.mcp.budget import first_fitting, lines_within
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.pages import NextCursor, further
from memory_sidecar.mcp.tool import Answer
from memory_sidecar.mcp.uris import source_uri
from memory_sidecar.mcp.where import code_filter, notice_foreign, path_and_sources, require_sources

MAX_HITS = 50
HITS_TOKENS = 650  # five hits; fewer show a relevant file sooner, more show more of it
MAX_COPIES = 3  # named with a hit
WEAK_SHARE = 1 / 3  # of the code that a hit of its rank may show
MAX_WAIT_MS = 30_000
_RANGES = ("lines", "range", "line_range", "view_range")  # what models call start_line "10-20"


class SearchCode(Arguments):
    query: str
    top_k: int = Field(default=5, ge=1, le=MAX_HITS)
    languages: list[str] = Field(default=[])
    paths: list[str] = Field(default=[], description="Globs: src/**/*.cs, !tests/**")
    source: str = Field(default="", description='A name, or "*" for all.')
    mode: SearchMode = SearchMode.HYBRID
    max_tokens: int = Field(default=HITS_TOKENS, ge=1)
    min_score: Unlisted[float] = Field(default=0, ge=0, le=1)
    wait_fresh_ms: int = Field(default=0, ge=0, le=MAX_WAIT_MS)  # for what was just saved
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class CodePassage:
    """A hit, with the lines of it that match the question best."""

    filename: Annotated[str, about("relative to its source")]
    location: Annotated[str, about("start-end in lines")]
    source: str
    what: Annotated[str, about("what is shown is called: Cart.add, or its signature")]
    code: Annotated[str, about("the lines that match best; … stands for others")]
    score: Score
    is_weak: IsWeak
    uri: str
    copies: Annotated[tuple[str, ...], about("where near-identical ones are")] = ()

    @property
    def where(self) -> str:
        also = f"  (also in {', '.join(self.copies)})" if self.copies else ""
        weak = "  weak match" if self.is_weak else ""
        shown = f"{self.filename}:{self.location}  {self.what}".rstrip() + weak + also
        return visible_line(shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits(Answer):
    hits: tuple[CodePassage, ...]
    next_cursor: NextCursor = ""

    def text(self) -> str:
        has_several = len({hit.source for hit in self.hits}) > 1
        shown = [
            f"{hit.where}{f'  [{hit.source}]' if has_several else ''}\n{hit.code}".rstrip()
            for hit in self.hits
        ]
        return "\n\n".join([*shown, *further(self.next_cursor)]) or "no hits"


def search_code(caller: Caller, asked: SearchCode, report: Reporter) -> Hits:
    """Find code by what it does, or by exact names. Use it before grep and reading files."""
    codebase = caller.codebase
    page = caller.pages.page(asked.question, asked.cursor, asked.top_k)
    query = CodeQuery(
        text=asked.query,
        top_k=page.depth,
        mode=asked.mode,
        min_score=asked.min_score,
        filter=code_filter(caller, asked, report),
    )
    if asked.wait_fresh_ms:
        codebase.wait_fresh(query.filter.sources, asked.wait_fresh_ms, reporter=report)
    found = page.fill(
        caller.ask(Asked.CODE, asked.query, page, lambda: codebase.search(query, reporter=report)),
        lambda hit: (hit.source, hit.filename, hit.scope, hit.code),
    )
    warn_if_weak(found, report)
    shown = shorten_hits(found, asked.query, asked.max_tokens)
    return Hits(hits=shown, next_cursor=page.cursor_after(shown))


def shorten_hits(
    hits: Sequence[CodeHit], question: str, max_tokens: int
) -> tuple[CodePassage, ...]:
    """Return the first of `hits` that fit into `max_tokens` together, each with its best lines.

    Every hit gets a line with its place. The rest of the budget goes to code, most to the first
    hit, less to weak ones, and what a hit leaves of its share to the next ones.
    """
    stems, names = stems_of(question), names_in(question)
    masked = mask_document(list(hits))
    left = budget(max_tokens, "".join(hit.code for hit in masked))
    passages = [_passage(hit, stems) for hit in masked]
    kept = first_fitting(passages, left, size=lambda hit: len(hit.where) + 2)
    left -= sum(len(hit.where) + 2 for hit in kept)
    weights = [(WEAK_SHARE if hit.is_weak else 1) / rank for rank, hit in enumerate(kept, 3)]
    shown = []
    for rank, (hit, found) in enumerate(zip(kept, masked, strict=False)):
        share = int(left * weights[rank] / sum(weights[rank:]))
        lines = [
            line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"
            for line in map(str.rstrip, found.code.split("\n"))
        ]
        around = row_to_show(found, lines, names, stems)
        part = best_part(lines, stems, max(share, 0), around=around)
        what = one_line(name_of(found, lines, part, stems))[:MAX_LINE] if part.lines else hit.what
        shown.append(replace(hit, code=elided(part, lines), what=what))
        left -= len(shown[-1].code) + len(what) - len(hit.what)
    return tuple(shown)


def _passage(hit: CodeHit, stems: Collection[str]) -> CodePassage:
    return build_from(
        CodePassage,
        hit,
        what=one_line(name_of(hit, (), Excerpt(0, ()), stems))[:MAX_LINE],
        uri=source_uri(hit.source, hit.filename),
        copies=tuple(f"{each.filename}:{each.location}" for each in hit.copies[:MAX_COPIES]),
    )


class ReadFile(Arguments):
    path: str
    source: str = ""
    start_line: int = Field(default=1, ge=0)  # 0: as 1
    end_line: int = Field(default=0, ge=-1)  # 0 or -1: the file's last
    limit: Unlisted[int] = Field(default=1 << 30, ge=1)  # of lines
    max_tokens: int = Field(default=6000, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _from_range(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Accept both lines in one: start_line "10-20", view_range [10, 20]."""
        name = next((each for each in given if in_snake_case(each) in _RANGES), "start_line")
        rest = {key: value for key, value in given.items() if key != name}
        lines = given.get(name)
        if isinstance(lines, list) and len(lines) == 2:
            return rest | {"start_line": lines[0], "end_line": lines[1]}
        _, first, last = parse_place(f"file:{lines}") or ("", 0, 0)
        end = {"end_line": last} if last else {}
        return rest | {"start_line": first} | end if first else given


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLines(Answer):
    source: str
    filename: str
    start_line: int
    end_line: int
    total_lines: int
    content: str
    next_start_line: Annotated[int, about("Where to go on; 0 when nothing was cut.")] = 0
    uri: str

    def text(self) -> str:
        cut = f"; go on with start_line {self.next_start_line}" if self.next_start_line else ""
        name = visible_line(self.filename)
        where = f"{name}:{self.start_line}-{self.end_line} of {self.total_lines}{cut}"
        return f"{where}\n{self.content}"


def read_file(caller: Caller, asked: ReadFile, report: Reporter) -> FileLines:
    """Read lines of an indexed file, as it is now: src/cart.py:10-20."""
    path, sources = path_and_sources(caller, asked.path, asked.source)
    file, text = read_source_file(caller.codebase, sources, path, by_ending=True)
    notice_foreign(caller, file, asked.source, report)
    text = text.removesuffix("\n")  # no empty line after the last line break
    total = text.count("\n") + 1
    is_said = "start_line" in asked.model_fields_set or asked.end_line > 0
    first, end = (asked.start_line, asked.end_line) if is_said else (file.first, file.last)
    last = min(max(end, 0) or total, total, (start := first or 1) + asked.limit - 1)
    content, end = lines_within(text, start, last, asked.max_tokens, report)
    return FileLines(
        source=file.source.name,
        filename=file.path,
        start_line=start,
        end_line=end,
        total_lines=total,
        content=content,
        next_start_line=end + 1 if end < last else 0,
        uri=source_uri(file.source.name, file.path),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource:
    name: str
    root: str
    is_yours: Annotated[bool, about("The one you work in, which is searched by default.")]
    files: int
    chunks: int
    state: Annotated[str, about("How fresh its index is.")]
    scanned_at: Annotated[Time | None, about("When it was last compared with the disk.")]

    def line(self) -> str:
        yours = " (yours)" if self.is_yours else ""
        return f"{self.name}{yours}: {pluralize(self.files, 'file')}, {self.state}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources(Answer):
    sources: tuple[ListedSource, ...]

    def text(self) -> str:
        return "\n".join(
            f"{each.line()}, {pluralize(each.chunks, 'chunk')}  {each.root}"
            for each in self.sources
        )


def list_sources(caller: Caller, _asked: Arguments, report: Reporter) -> Sources:
    """List what is indexed, and how fresh."""
    caller.codebase.registry.warn_if_lost(report)
    require_sources(caller)
    return Sources(sources=source_states(caller, caller.codebase.status(report)))


def source_states(caller: Caller, status: CodebaseStatus) -> tuple[ListedSource, ...]:
    """Return the state of every source in `status`."""
    yours = {source.name for source in caller.sources}
    return tuple(
        build_from(ListedSource, each, is_yours=each.name in yours, files=each.files_indexed)
        for each in status.sources
    )
