"""The tools about names in source code, in the toolset `names`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from memory_sidecar.code import navigation
from memory_sidecar.code.central import MAP_TOKENS, draw_map
from memory_sidecar.code.directory import Line, parse_place
from memory_sidecar.code.files import NamedPath, only_ending, resolve_paths
from memory_sidecar.code.focus import AROUND_HITS, Focus, focus_at, focus_of, is_path
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.headings import map_lines
from memory_sidecar.code.impact import Alteration, ChangedFile, changed_files, place_changes
from memory_sidecar.code.impact import impact as impact_of
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.navigation import MAX_DEPTH, NameQuery, report_notices
from memory_sidecar.code.results import Cut, DefinitionHit, MapEntry, ReferenceHit, count_by_file
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.core.errors import NotFound, PathRefused, UsageError
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.results import Reporter, about, name_first
from memory_sidecar.core.visible import visible_line
from memory_sidecar.index.report import is_indexed, list_files
from memory_sidecar.mcp.arguments import Arguments, Unlisted
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.listing import PlaceLine, list_rows
from memory_sidecar.mcp.tool import Answer
from memory_sidecar.mcp.where import (
    chosen_sources,
    code_filter,
    notice_foreign,
    path_and_sources,
)

MAX_PLACES = 200
MOST_DOUBTFUL = 5  # uses by name alone of a name that many define, unless more are asked for
More = Annotated[int, about("found besides")]
Hit = DefinitionHit | ReferenceHit | MapEntry
H = TypeVar("H", DefinitionHit, ReferenceHit)
T = TypeVar("T")


class OfUses(Arguments):
    top_k: Unlisted[int] = Field(default=30, ge=1, le=MAX_PLACES)  # named by an answer that is cut
    languages: Unlisted[list[str]] = Field(default=[])
    paths: list[str] = Field(default=[])
    source: str = ""


class OfName(OfUses):
    name: str = Field(description="total, Cart.total or path/cart.py:12")


class OfChange(OfUses):
    diff: str = Field(default="", description="What git diff prints")
    files: list[str] = Field(default=[], description="Instead: all that these define")
    name: Unlisted[str] = ""  # as other servers' tools of this name take it


class OfCallers(OfName):
    depth: int = Field(default=1, ge=1, le=MAX_DEPTH)


class OfMap(Arguments):
    around: str = Field(default="", description="A file, folder or question; else all")
    max_tokens: int = Field(default=MAP_TOKENS, ge=1)
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions(Answer):
    definitions: tuple[DefinitionHit, ...]
    more: More = 0

    is_doubted: ClassVar[bool] = False  # whether it says how sure each is

    def text(self) -> str:
        row_of = partial(_definition_row, is_doubted=self.is_doubted)
        return _list_hits(self.definitions, row_of, _left_out(self.definitions, self.more))


class Callees(Definitions):
    is_doubted = True


@dataclass(frozen=True, slots=True, kw_only=True)
class References(Answer):
    references: tuple[ReferenceHit, ...]
    more: More = 0
    more_in: Annotated[str, about("the files with most of these")] = ""

    @classmethod
    def of(cls, found: Cut[ReferenceHit]) -> References:
        sources = {*(hit.source for hit in found), *(file.source for file in found.more_in)}
        has_several = len(sources) > 1
        left = count_by_file(
            found.more_in, lambda it: f"[{it.source}] {it.path}" if has_several else it.path
        )
        return cls(references=tuple(found), more=found.more, more_in=left)

    def text(self) -> str:
        lasts = {run[0]: run[-1].start_line for run in _runs(self.references)}
        row_of = partial(_reference_row, lasts=lasts)
        left = _left_out(self.references, self.more, self.more_in)
        return _list_hits([*lasts], row_of, left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Answer):
    definitions: tuple[MapEntry, ...]

    def text(self) -> str:
        files = groupby(self.definitions, key=lambda entry: file_label(entry, self.definitions))
        lines = list[str]()
        for file, entries in files:
            lines += [file, *(f"{row:>5}  {text}" for row, text in map_lines([*entries]))]
        nothing = "nothing found that has room in max_tokens, or that another file uses"
        return "\n".join(lines) or nothing


def define(caller: Caller, asked: OfName, report: Reporter) -> Definitions:
    """Where a name is defined."""
    found = _ask(caller, asked, navigation.definitions, report)
    return Definitions(definitions=tuple(found), more=found.more)


def refs(caller: Caller, asked: OfName, report: Reporter) -> References:
    """Where a name is used, the surest first: exact, likely, or by name alone."""
    found = _ask(caller, asked, navigation.references, report)
    return References.of(found)


def callers(caller: Caller, asked: OfCallers, report: Reporter) -> References:
    """What calls a name, and what calls that, up to `depth` steps."""
    found = _ask(caller, asked, partial(navigation.callers, depth=asked.depth), report)
    return References.of(found)


def callees(caller: Caller, asked: OfName, report: Reporter) -> Callees:
    """What a name calls."""
    found = _ask(caller, asked, navigation.callees, report)
    return Callees(definitions=tuple(found), more=found.more)


def impact(caller: Caller, asked: OfChange, report: Reporter) -> References:
    """What a change may break: uses of what it changed or removed."""
    if asked.name:
        return refs(caller, OfName(**asked.model_dump(exclude={"diff", "files"})), report)
    changes = [*changed_files(asked.diff)]
    if not (changes or asked.files):
        why = "it is no unified diff, or changes no line" if asked.diff else "no change is named"
        raise UsageError(why, hint="pass what `git diff` prints as diff, or name files")
    within = code_filter(caller, asked, report)

    def ask(here: Snapshot) -> Cut[ReferenceHit]:
        files = [likeliest_file(caller, here.graph, path, asked.source) for path in asked.files]
        for file in files:
            notice_foreign(caller, file, asked.source, report)
        changed = [Alteration(each.source.name, each.path, lines=_lines_of(each)) for each in files]
        changed += _place_changes(caller, here.graph, asked.source, changes, report)
        around = _around(within, (each.source for each in changed))
        return impact_of(here.graph, changed, around, top_k=asked.top_k)

    found = caller.codebase.navigate(within, ask, reporter=report)
    report_notices(found, report)
    return References.of(found)


def _lines_of(file: NamedPath) -> range | None:
    first, last = sorted((file.first, file.last or file.first))
    return range(first, last + 1) if first else None


def _place_changes(
    caller: Caller, graph: Graph, source: str, changes: Sequence[ChangedFile], report: Reporter
) -> list[Alteration]:
    """Find the indexed and the deleted files of a diff in the first folder that has any.

    A notice names the other files, whether they exist or not.
    """
    registry = caller.codebase.registry
    named = chosen_sources(caller, source, report) if source else ()
    placed = list[Alteration]()
    for folder in [registry.get(name).root for name in named] or caller.folders:
        found, _ = place_changes(changes, folder, registry)
        placed = [each for each in found if _is_known(graph, each)]
        if placed:
            break
    others = {change.path for change in changes} - {each.by.path for each in placed if each.by}
    if others:
        report.notice(f"nothing is indexed of {name_first(sorted(others), 1)}")
    return placed


def _is_known(graph: Graph, file: Alteration) -> bool:
    """Whether a client may know `file`: it is indexed, or the diff deletes it."""
    is_gone = file.by is not None and file.by.is_gone
    return is_gone or is_indexed(graph.connection, file.source, file.path)


def show_map(caller: Caller, asked: OfMap, report: Reporter) -> Map:
    """The signatures that most of a project depends on: what to know of it first."""
    within = source_filter(caller, asked.source, report)
    focus = _focus(caller, asked, within, report) if asked.around else Focus()
    sources = _around(within, (source for source, _ in focus.files)).sources

    def ask(here: Snapshot) -> list[MapEntry]:
        return draw_map(here.graph, sources, focus, max_tokens=asked.max_tokens)

    return Map(definitions=tuple(caller.codebase.navigate(within, ask, reporter=report)))


def _focus(caller: Caller, asked: OfMap, within: CodeFilter, report: Reporter) -> Focus:
    """Return the file, folder or question that a map is for. Raises NotFound."""

    def ask(here: Snapshot) -> Focus | None:
        try:
            at = likeliest_file(caller, here.graph, asked.around, asked.source)
            focus = focus_at(here.graph, at.source.name, at.path)
        except NotFound:
            if is_path(asked.around):
                raise
            return None
        notice_foreign(caller, at, asked.source, report)
        return focus

    if focus := caller.codebase.navigate(within, ask, reporter=report):
        return focus
    query = CodeQuery(text=asked.around, top_k=AROUND_HITS, filter=within)
    return focus_of(caller.codebase.search(query, reporter=report))


def _ask(
    caller: Caller, asked: OfName, ask: Callable[[Graph, NameQuery], Cut[T]], report: Reporter
) -> Cut[T]:
    most = None if "top_k" in asked.model_fields_set else MOST_DOUBTFUL
    within = code_filter(caller, asked, report)
    query = partial(NameQuery, top_k=asked.top_k, most_doubtful=most)

    def answer(here: Snapshot) -> Cut[T]:
        graph = here.graph
        if not parse_place(asked.name):
            return ask(graph, query(what=asked.name, filter=within))
        file = _file(caller, graph, asked.name, asked.source, report)
        place = Line(file.source.name, file.path, file.first)
        return ask(graph, query(what=place, filter=_around(within, [place.source])))

    found = caller.codebase.navigate(within, answer, reporter=report)
    report_notices(found, report)
    return found


def _around(within: CodeFilter, sources: Iterable[str]) -> CodeFilter:
    """Return `within`, or a filter of those `sources`, of files asked about, that it leaves out."""
    foreign = tuple(name for name in dict.fromkeys(sources) if name not in within.sources)
    return replace(within, sources=foreign) if within.sources and foreign else within


def source_filter(caller: Caller, source: str, report: Reporter) -> CodeFilter:
    return CodeFilter(sources=chosen_sources(caller, source, report))


def _file(caller: Caller, graph: Graph, path: str, source: str, report: Reporter) -> NamedPath:
    """Resolve `path` to a file whose names are indexed. Raises NotFound."""
    file = likeliest_file(caller, graph, path, source)
    navigation.known_file(graph, file.source.name, file.path)
    notice_foreign(caller, file, source, report)
    return file


def likeliest_file(caller: Caller, graph: Graph, path: str, source: str) -> NamedPath:
    """Resolve `path` to a file that is indexed, if there is one. Raises NotFound."""
    wanted, sources = path_and_sources(caller, path, source)
    try:
        meant = resolve_paths(sources, wanted)
    except PathRefused as refused:
        raise NotFound(f"no definition is known in {path}", hint=refused.message) from refused
    known = (each for each in meant if is_indexed(graph.connection, each.source.name, each.path))
    return (
        next(known, None)
        or only_ending(list_files(graph.connection, FileStatus.INDEXED), meant)
        or next((each for each in meant if each.first), meant[0])
    )


def file_label(hit: Hit, hits: Sequence[Hit]) -> str:
    """Return the path of a hit's file, after its source if `hits` are of several."""
    has_several = any(each.source != hit.source for each in hits)
    return visible_line(f"[{hit.source}] {hit.filename}" if has_several else hit.filename)


def _list_hits(hits: Sequence[H], row_of: Callable[[H, str], PlaceLine], left: str) -> str:
    """List `hits` by the `row_of` each, above what is said of those that are `left` out."""
    lines = [*list_rows(row_of(each, file_label(each, hits)) for each in hits), left]
    return "\n".join(filter(None, lines)) or "nothing found"


def _left_out(shown: Sequence[Hit], more: int, more_in: str = "") -> str:
    """Say how many `more` there are than those `shown`, where, and what gives them."""
    way = "a larger top_k gives them" if len(shown) < MAX_PLACES else "paths leave some out"
    count = ", in ".join(filter(None, (f"{more} more", more_in)))
    return visible_line(f"{count}: {way}") if more else ""


def _definition_row(hit: DefinitionHit, file: str, *, is_doubted: bool) -> PlaceLine:
    inside = f" in {hit.enclosing}" if hit.enclosing else ""
    sure = f" ({hit.confidence})" if is_doubted and hit.confidence != "exact" else ""
    return PlaceLine(file, f"{hit.start_line}-{hit.end_line}{inside}", sure, hit.signature)


def _runs(hits: Iterable[ReferenceHit]) -> Iterator[list[ReferenceHit]]:
    """Group `hits` by the code in which one follows the other, as where a struct is filled."""
    run = list[ReferenceHit]()
    for hit in hits:
        if run and not _continues(run[-1], hit):
            yield run
            run = []
        run.append(hit)
    if run:
        yield run


def _continues(before: ReferenceHit, hit: ReferenceHit) -> bool:
    """Whether `hit` uses another field than `before`, in the same code, a line or two below."""
    is_field = hit.how not in ("call", "type", "import") and hit.name != before.name
    is_below = 0 < hit.start_line - before.start_line <= 2
    return is_field and is_below and _code_around(hit) == _code_around(before)


def _code_around(hit: ReferenceHit) -> tuple[object, ...]:
    return hit.source, hit.filename, hit.enclosing, hit.confidence, hit.depth, hit.is_gone


def _reference_row(hit: ReferenceHit, file: str, *, lasts: Mapping[ReferenceHit, int]) -> PlaceLine:
    steps = f", {hit.depth} steps" if hit.depth > 1 else ""
    inside = f" in {hit.enclosing}" if hit.enclosing else ""
    gone = ", of a removed definition" if hit.is_gone is True else ""
    sure = f" ({hit.confidence}{steps}{gone})"
    if (last := lasts[hit]) == hit.start_line:
        return PlaceLine(file, f"{hit.start_line}{inside}", sure, hit.code)
    return PlaceLine(file, f"{hit.start_line}-{last}{inside}", sure, f"{hit.code} …")
