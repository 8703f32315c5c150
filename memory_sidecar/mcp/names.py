"""The tools about names in source code: offered where the host asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, TypeVar

from pydantic import Field

from memory_sidecar.code import navigation
from memory_sidecar.code.central import draw_map
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.navigation import MAX_DEPTH, NameQuery
from memory_sidecar.code.places import Line
from memory_sidecar.code.results import Cut, DefinitionHit, MapEntry, ReferenceHit
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.core.results import about
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.code import chosen_sources, language_of, searched_sources
from memory_sidecar.mcp.tool import Answer, Arguments

MAX_PLACES = 200
MAP_TOKENS = 1000
More = Annotated[int, about("found besides: a larger top_k gives them")]
Hit = DefinitionHit | ReferenceHit | MapEntry
T = TypeVar("T")


class OfName(Arguments):
    name: str = Field(description="total, Cart.total or path/cart.py:12")
    top_k: int = Field(default=30, ge=1, le=MAX_PLACES)
    languages: list[str] = Field(default=[])
    paths: list[str] = Field(default=[], description="Globs")
    source: str = ""


class OfCallers(OfName):
    depth: int = Field(default=1, ge=1, le=MAX_DEPTH)


class OfFile(Arguments):
    path: str
    source: str = ""


class OfMap(Arguments):
    around: str = Field(default="", description="A file that it is for; else all")
    max_tokens: int = Field(default=MAP_TOKENS, ge=1)
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions(Answer):
    definitions: tuple[DefinitionHit, ...]
    more: More = 0

    def text(self) -> str:
        hits = self.definitions
        lines = [_definition_line(each, _named(each, hits)) for each in hits]
        return "\n".join([*lines, *_told(self.more)]) or "nothing found"


@dataclass(frozen=True, slots=True, kw_only=True)
class References(Answer):
    references: tuple[ReferenceHit, ...]
    more: More = 0

    def text(self) -> str:
        hits = self.references
        lines = [_reference_line(each, _named(each, hits)) for each in hits]
        return "\n".join([*lines, *_told(self.more)]) or "nothing indexed uses it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Answer):
    definitions: tuple[MapEntry, ...]

    def text(self) -> str:
        files = groupby(self.definitions, key=lambda entry: _named(entry, self.definitions))
        return "\n".join(
            line
            for file, entries in files
            for line in (file, *(f"{each.start_line:>5}  {each.signature}" for each in entries))
        )


def define(caller: Caller, asked: OfName, report: Reporter) -> Definitions:
    """Where a name is defined."""
    found = _ask(caller, asked, navigation.definitions, report)
    return Definitions(definitions=tuple(found), more=found.more)


def refs(caller: Caller, asked: OfName, report: Reporter) -> References:
    """Where a name is used, the surest first: exact, likely, or by name alone."""
    found = _ask(caller, asked, navigation.references, report)
    return References(references=tuple(found), more=found.more)


def callers(caller: Caller, asked: OfCallers, report: Reporter) -> References:
    """What calls a name, and what calls that, up to `depth` steps."""

    def ask(graph: Graph, query: NameQuery) -> Cut[ReferenceHit]:
        return navigation.callers(graph, query, depth=asked.depth)

    found = _ask(caller, asked, ask, report)
    return References(references=tuple(found), more=found.more)


def callees(caller: Caller, asked: OfName, report: Reporter) -> Definitions:
    """What a name calls."""
    found = _ask(caller, asked, navigation.callees, report)
    return Definitions(definitions=tuple(found), more=found.more)


def outline(caller: Caller, asked: OfFile, report: Reporter) -> Definitions:
    """What a file defines."""

    def ask(here: Snapshot) -> list[DefinitionHit]:
        source = _source_of(caller, here.graph, asked.path, asked.source)
        return navigation.outline(here.graph, source, asked.path)

    found = caller.codebase.navigate(_within(caller, asked.source), ask, reporter=report)
    return Definitions(definitions=tuple(found))


def show_map(caller: Caller, asked: OfMap, report: Reporter) -> Map:
    """The signatures that most of a project leads to: what to know of it first."""
    within = _within(caller, asked.source)

    def ask(here: Snapshot) -> list[MapEntry]:
        start: dict[tuple[str, str], float] = {}
        if asked.around:
            start = {
                (_source_of(caller, here.graph, asked.around, asked.source), asked.around): 1.0
            }
        return draw_map(here.connection, within.sources, start, max_tokens=asked.max_tokens)

    return Map(definitions=tuple(caller.codebase.navigate(within, ask, reporter=report)))


def _ask(
    caller: Caller,
    asked: OfName,
    ask: Callable[[Graph, NameQuery], Cut[T]],
    report: Reporter,
) -> Cut[T]:
    within = CodeFilter(
        sources=chosen_sources(caller, asked.source),
        languages=tuple(map(language_of, asked.languages)),
        path_globs=tuple(asked.paths),
    )

    def answer(here: Snapshot) -> Cut[T]:
        graph = here.graph
        path, _, line = asked.name.rpartition(":")
        what: str | Line = asked.name
        if path and line.isdecimal():
            what = Line(_source_of(caller, graph, path, asked.source), path, int(line))
        return ask(graph, NameQuery(what, asked.top_k, within))

    return caller.codebase.navigate(within, answer, reporter=report)


def _within(caller: Caller, source: str) -> CodeFilter:
    return CodeFilter(sources=chosen_sources(caller, source))


def _source_of(caller: Caller, graph: Graph, path: str, source: str) -> str:
    """The source that has names in the file at `path`. Raises NotFound."""
    for each in searched_sources(caller, source):
        if graph.file(each.name, path) is not None:
            return each.name
    raise NotFound(
        f"no definition is known in {path}", hint="search_code gives paths that it takes"
    )


def _named(hit: Hit, hits: Sequence[Hit]) -> str:
    """The file of a hit, with its source where those of `hits` are several."""
    has_several = any(each.source != hit.source for each in hits)
    return f"[{hit.source}] {hit.filename}" if has_several else hit.filename


def _told(more: int) -> list[str]:
    return [f"{more} more: a larger top_k gives them"] if more else []


def _definition_line(hit: DefinitionHit, file: str) -> str:
    where = f"{file}:{hit.start_line}-{hit.end_line}"
    sure = "" if hit.confidence == "exact" else f"  ({hit.confidence})"
    return f"{where}  {hit.signature}{sure}"


def _reference_line(hit: ReferenceHit, file: str) -> str:
    steps = f", {hit.depth} steps" if hit.depth > 1 else ""
    inside = f" in {hit.enclosing}" if hit.enclosing else ""
    return f"{file}:{hit.start_line}{inside} ({hit.confidence}{steps})  {hit.code}"
