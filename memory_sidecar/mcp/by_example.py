"""The tools that find code by an example, a pattern or a place, in the toolset `names`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from memory_sidecar.code.directory import Line
from memory_sidecar.code.excerpt import MAX_LINE
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import Reporter, about, build_from
from memory_sidecar.core.visible import visible_line
from memory_sidecar.grep import handlers as structural
from memory_sidecar.grep.handlers import GrepQuery, Ground
from memory_sidecar.mcp.arguments import Arguments, Unlisted
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.code import (
    HITS_TOKENS,
    MAX_HITS,
    Hits,
    shorten_hits,
)
from memory_sidecar.mcp.listing import PlaceLine, list_rows
from memory_sidecar.mcp.names import MAX_PLACES, likeliest_file
from memory_sidecar.mcp.tool import Answer
from memory_sidecar.mcp.where import (
    chosen_sources,
    code_filter,
    notice_foreign,
    require_sources,
)


class OfPattern(Arguments):
    pattern: str = Field(description="Code; $X is one node, $$$ any number: open($FILE, $$$)")
    languages: list[str] = Field(default=[])
    paths: list[str] = Field(default=[])
    limit: Unlisted[int] = Field(default=30, ge=1, le=MAX_PLACES)  # named by an answer that is cut
    source: Unlisted[str] = ""


class OfPlace(Arguments):
    path: str = Field(description="path/cart.py:12")
    start_line: Unlisted[int] = Field(default=0, ge=0)  # 0: the line in `path`
    top_k: Unlisted[int] = Field(default=5, ge=1, le=MAX_HITS)
    max_tokens: Unlisted[int] = Field(default=HITS_TOKENS, ge=1)
    source: Unlisted[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    filename: Annotated[str, about("relative to the project, absolute outside of it")]
    location: Annotated[str, about("start-end in lines")]
    language: str
    code: str
    line: Annotated[str, about("the first one after decorators and attributes")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches(Answer):
    matches: tuple[Match, ...]

    def text(self) -> str:
        lines = list_rows(
            PlaceLine(visible_line(each.filename), each.location, "", each.line.strip()[:MAX_LINE])
            for each in self.matches
        )
        return "\n".join(lines) or "nothing found: words in comments and strings are not code"


def grep(caller: Caller, asked: OfPattern, report: Reporter) -> Matches:
    """Code by its structure, in the files as they are."""
    within = code_filter(caller, asked, report)
    names = within.sources
    roots = [each.root for each in require_sources(caller) if not names or each.name in names]
    found = structural.grep(
        GrepQuery(
            pattern=asked.pattern,
            languages=within.languages,
            path_globs=within.path_globs,
            limit=asked.limit,
            if_more="limit N shows more" if asked.limit < MAX_PLACES else "paths leave some out",
        ),
        roots,
        Ground(roots[0], caller.codebase.registry, caller.services.settings.max_file_bytes),
        report,
    )
    return Matches(matches=tuple(build_from(Match, hit.found, line=hit.line) for hit in found))


def related(caller: Caller, asked: OfPlace, report: Reporter) -> Hits:
    """The code most like that at a place."""
    within = CodeFilter(sources=chosen_sources(caller, asked.source, report))
    file = caller.codebase.navigate(
        within,
        lambda here: likeliest_file(caller, here.graph, asked.path, asked.source),
        reporter=report,
    )
    line = asked.start_line or file.first
    if not line:
        raise UsageError(f"{asked.path} names no line", hint="for example src/cart.py:42")
    notice_foreign(caller, file, asked.source, report)
    at = Line(file.source.name, file.path, line)
    found = caller.codebase.related(at, within, top_k=asked.top_k, reporter=report)
    return Hits(hits=shorten_hits(found, "", asked.max_tokens))
