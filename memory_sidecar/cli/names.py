"""`memory-sidecar def`, `refs`, `callers`, `map` and the others about names and their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import Styled, counted, place_in
from memory_sidecar.cli.options import (
    AT_LEAST_ONE,
    code_filter,
    with_call,
    with_places,
    with_sources,
)
from memory_sidecar.code import navigation
from memory_sidecar.code.central import draw_map
from memory_sidecar.code.diffs import changed_lines
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.navigation import MAX_DEPTH, NameQuery
from memory_sidecar.code.places import Line
from memory_sidecar.code.related import related_chunks
from memory_sidecar.code.results import CodeHit, DefinitionHit, MapEntry, ReferenceHit
from memory_sidecar.code.searched import LocalRows
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.model import CodeFilter, CodeQuery
from memory_sidecar.disk.registry import real_place

MAX_TOP_K = 10_000
TOP_K = 50
MAP_TOKENS = 1000
AROUND_HITS = 20
MAX_LINES = 1 << 30
DIM = {"dim": True}
T = TypeVar("T")

_AT_LINE = re.compile(r"(.+):(\d{1,9})(?:[-:]\d+)?")


def _with_filter(command: Callable[..., object]) -> Callable[..., object]:
    """Add what `search` has to say where to look; they come as one CodeFilter, `within`."""

    @click.option(
        *("-n", "--top-k"),
        type=click.IntRange(1, MAX_TOP_K),
        default=TOP_K,
        show_default=True,
        metavar="N",
        help="At most so many.",
    )
    @with_places
    @with_call
    @wraps(command)
    def called(
        call: Call,
        /,
        *,
        languages: tuple[str, ...],
        globs: tuple[str, ...],
        sources: tuple[str, ...],
        everywhere: bool,
        **given: Any,  # noqa: ANN401  what the command itself takes
    ) -> object:
        within = code_filter(
            call, sources=sources, languages=languages, globs=globs, everywhere=everywhere
        )
        return command(call, within=within, **given)

    return called


@click.command("def")
@click.argument("name")
@_with_filter
def definition(call: Call, *, name: str, within: CodeFilter, top_k: int) -> list[DefinitionHit]:
    """Show where NAME is defined: what it is, its signature, its lines.

    NAME may have what encloses it: total_price, Cart.total_price, shop::Cart.
    """
    asked = _asked(call, name, within, top_k)
    return call.show(_answer(call, asked, navigation.definitions), _print_definitions)


@click.command()
@click.argument("name")
@_with_filter
def refs(call: Call, *, name: str, within: CodeFilter, top_k: int) -> list[ReferenceHit]:
    """Show where NAME is used, the surest first.

    NAME may have what encloses it, or be FILE:LINE, which means what is defined there. Each place
    says how sure it is that this very definition is meant: exact, likely, or by name alone.
    """
    asked = _asked(call, name, within, top_k)
    return call.show(_answer(call, asked, navigation.references), _print_references)


@click.command()
@click.argument("name")
@click.option(
    "--depth",
    type=click.IntRange(1, MAX_DEPTH),
    default=1,
    show_default=True,
    metavar="N",
    help="Also what calls the callers, up to so many steps.",
)
@_with_filter
def callers(
    call: Call, *, name: str, depth: int, within: CodeFilter, top_k: int
) -> list[ReferenceHit]:
    """Show what calls NAME, or what stands at FILE:LINE."""
    asked = _asked(call, name, within, top_k)

    def ask(graph: Graph, asked: NameQuery) -> list[ReferenceHit]:
        return navigation.callers(graph, asked, depth=depth)

    return call.show(_answer(call, asked, ask), _print_references)


@click.command()
@click.argument("name")
@_with_filter
def callees(call: Call, *, name: str, within: CodeFilter, top_k: int) -> list[DefinitionHit]:
    """Show what NAME, or what stands at FILE:LINE, calls of what is indexed with it."""
    asked = _asked(call, name, within, top_k)
    return call.show(_answer(call, asked, navigation.callees), _print_definitions)


@click.command()
@click.argument("file")
@with_call
def outline(call: Call, file: str) -> list[DefinitionHit]:
    """List what FILE defines, in order, as it was indexed."""
    source, path = _located(call, file)
    within = CodeFilter(sources=(source,))
    found = call.codebase.navigate(
        within, lambda here: navigation.outline(here.graph, source, path), reporter=call.reporter
    )
    return call.show(call.masked(found), _print_outline)


@click.command()
@click.argument("place", metavar="FILE:LINE")
@_with_filter
def related(call: Call, *, place: str, within: CodeFilter, top_k: int) -> list[CodeHit]:
    """Show the code that is most like what stands at FILE:LINE, the likest first."""
    at = _at(call, place)
    if at is None:
        raise UsageError(f"{place!r} is no FILE:LINE", hint="for example src/cart.py:42")

    def ask(here: Snapshot) -> list[CodeHit]:
        local = LocalRows(here.connection, here.store, within)
        with call.codebase.sharing.searched(local, within, call.reporter) as rows:
            return related_chunks(rows, at, top_k=top_k)

    found = call.codebase.navigate(
        within,
        ask,
        reporter=call.reporter,
    )
    return call.show(call.masked(found), _print_related)


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Read a diff from standard input: only what it changed.")
@_with_filter
def impact(
    call: Call, *, files: tuple[str, ...], diff: bool, within: CodeFilter, top_k: int
) -> list[ReferenceHit]:
    """Show what uses what FILE defines, or with --diff what a diff changed.

    `git diff | memory-sidecar impact --diff` tells what a change may break.
    """
    files = () if diff and files == ("-",) else files
    if diff == bool(files):
        raise UsageError(
            "name files, or say --diff", hint="git diff | memory-sidecar impact --diff"
        )
    if absent := [name for name in files if not call.path(name).is_file()]:
        raise NotFound(f"there is no file {absent[0]}", hint="a place is what `callers` takes")
    changed = [(*_located(call, name), range(1, MAX_LINES)) for name in files]
    text = call.read_input().decode("utf-8", "replace") if diff else ""
    for path, lines in changed_lines(text):
        if (file := _found_above(call.cwd, path)) is not None:
            changed.append((*_located(call, str(file)), lines))
    found = call.codebase.navigate(
        within,
        lambda here: navigation.impact(here.graph, changed, within, top_k=top_k),
        reporter=call.reporter,
    )
    return call.show(call.masked(found), _print_references)


def _found_above(folder: Path, path: str) -> Path | None:
    """A path of a diff: from the top of its repository, behind one letter unless git leaves it."""
    names = (path[2:], path) if path[1:2] == "/" else (path,)
    found = (each / name for each in (folder, *folder.parents) for name in names)
    return next((each for each in found if each.is_file()), None)


@click.command("map")
@click.option(
    "--max-tokens",
    type=AT_LEAST_ONE,
    default=MAP_TOKENS,
    show_default=True,
    metavar="N",
    help="As long as that, about four characters each.",
)
@click.option("--around", metavar="FILE|QUERY", help="What leads away from there, not from all.")
@with_sources
@with_call
def show_map(
    call: Call, *, max_tokens: int, around: str | None, sources: tuple[str, ...]
) -> list[MapEntry]:
    """Show what is central in the project: the signatures that most of it leads to.

    With --around, what a file, or the files that answer a question, lead to.
    """
    within = code_filter(call, sources=sources)
    weights = _weights(call, around, within) if around else {}

    found = call.codebase.navigate(
        within,
        lambda here: draw_map(here.connection, within.sources, weights, max_tokens=max_tokens),
        reporter=call.reporter,
    )
    return call.show(call.masked(found), _print_map)


def _weights(call: Call, around: str, within: CodeFilter) -> dict[tuple[str, str], float]:
    """How much each file has to do with `around`: a file, or a question."""
    if call.path(around).is_file():
        return {_located(call, around): 1.0}
    query = CodeQuery(text=call.text(around), top_k=AROUND_HITS, filter=within)
    weights: dict[tuple[str, str], float] = {}
    for hit in call.codebase.search(query, reporter=call.reporter):
        key = hit.source, hit.filename
        weights[key] = max(weights.get(key, 0.0), hit.score)
    return weights


def _print_map(call: Call, entries: Sequence[MapEntry]) -> None:
    places, filename = _OpenablePaths(call), ""
    for entry in entries:
        if entry.filename != filename:
            filename = entry.filename
            call.print(places.at(entry.source, filename))
        depth = "  " if entry.enclosing else ""
        call.print(Styled(f"{entry.start_line:>6}  ", DIM), depth + entry.signature)
    if not entries:
        call.reporter.notice("nothing here uses what another file defines")


def _asked(call: Call, name: str, within: CodeFilter, top_k: int) -> NameQuery:
    return NameQuery(_at(call, name) or call.text(name), top_k, within)


def _at(call: Call, text: str) -> Line | None:
    """The place that FILE:LINE means."""
    at_line = _AT_LINE.fullmatch(text)
    if not at_line or not ("/" in text or call.path(at_line[1]).exists()):
        return None
    source, path = _located(call, at_line[1])
    return Line(source, path, int(at_line[2]))


def _located(call: Call, file: str) -> tuple[str, str]:
    """The source that `file` lies in, and its path there."""
    path = call.path(file)
    real = real_place(path)
    source = call.codebase.registry.containing(real.parent)
    if source is None:
        raise NotFound(f"no source contains {file}", hint=f"`memory-sidecar why {file}` says more")
    return source.name, real.relative_to(source.root).as_posix()


def _answer(call: Call, asked: NameQuery, ask: Callable[[Graph, NameQuery], T]) -> T:
    found = call.codebase.navigate(
        asked.filter, lambda here: ask(here.graph, asked), reporter=call.reporter
    )
    return call.masked(found)


def _print_definitions(call: Call, hits: Sequence[DefinitionHit]) -> None:
    places = _OpenablePaths(call)
    for hit in hits:
        sure = "" if hit.confidence == "exact" else f"  {hit.confidence}"
        where = places.at(hit.source, hit.filename, f"{hit.start_line}-{hit.end_line}")
        inside = f" in {hit.enclosing}" if hit.enclosing else ""
        call.print(where, f"  {hit.kind}{inside}", Styled(sure, DIM))
        call.print(f"  {hit.signature}")
    if not hits:
        call.reporter.notice("nothing found")


def _print_references(call: Call, hits: Sequence[ReferenceHit]) -> None:
    places = _OpenablePaths(call)
    for hit in hits:
        steps = f"  {counted(hit.depth, 'step')} away" if hit.depth > 1 else ""
        sure = hit.confidence + (f", {hit.others} others" if hit.others else "")
        where = places.at(hit.source, hit.filename, hit.start_line)
        inside = f"  {hit.enclosing}" if hit.enclosing else ""
        call.print(where, inside, Styled(f"  {hit.how}, {sure}{steps}", DIM))
        call.print(f"  {hit.code}")
    if not hits:
        call.reporter.notice("nothing that is indexed uses it")


def _print_related(call: Call, hits: Sequence[CodeHit]) -> None:
    places = _OpenablePaths(call)
    for hit in hits:
        where = places.at(hit.source, hit.filename, hit.location)
        what = hit.signature or hit.scope
        call.print(where, f"  {what}" if what else "", Styled(f"  {hit.score:.2f}", DIM))
    if not hits:
        call.reporter.notice("nothing is like it")


def _print_outline(call: Call, hits: Sequence[DefinitionHit]) -> None:
    for hit in hits:
        depth = hit.enclosing.count(".") + 1 if hit.enclosing else 0
        lines = f"{hit.start_line}-{hit.end_line}"
        call.print(Styled(f"{lines:>11}  ", DIM), "  " * depth + hit.signature)


class _OpenablePaths:
    """Names places as they open from where the call was made. Reads the registry once."""

    def __init__(self, call: Call) -> None:
        self._folder = call.cwd
        self._roots = {source.name: source.root for source in call.codebase.registry.all()}

    def at(self, source: str, filename: str, lines: object = "") -> Styled:
        suffix = f":{lines}" if lines else ""
        return place_in(self._roots.get(source), filename, suffix, folder=self._folder)
