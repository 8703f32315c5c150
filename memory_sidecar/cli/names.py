"""`memory-sidecar def`, `refs`, `callers`, `callees`, `outline`, `related` and `impact`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from itertools import groupby
from shlex import quote
from typing import Any, TypeVar

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import DIM, Styled
from memory_sidecar.cli.numbers import Count
from memory_sidecar.cli.options import TOP_K_NAMES, Command, with_call
from memory_sidecar.cli.within import Within, with_places
from memory_sidecar.code import directory, navigation
from memory_sidecar.code.directory import Line, parse_place
from memory_sidecar.code.files import find_place
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.headings import names_around, outline_depths, outline_file
from memory_sidecar.code.impact import Alteration, changed_files, place_changes
from memory_sidecar.code.impact import impact as impact_of
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.code.navigation import MAX_DEPTH, NameQuery, report_notices
from memory_sidecar.code.results import CodeHit, Cut, DefinitionHit, ReferenceHit, count_by_file
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.paths import real_place
from memory_sidecar.core.results import name_first, pluralize

MAX_TOP_K = 10_000
TOP_K = 50
MOST_RELATED = 10  # as many as `search`: further hits resemble it too little to help
NOTHING_RELATED = "nothing resembles it"
T = TypeVar("T")


def with_filter(command: Command, top_k: int = TOP_K) -> Command:
    """Add --top-k and the options of where to look, which are passed as a CodeFilter, `within`.

    A command about a file searches the source of that file, whatever the working directory;
    `related` searches the source around the working directory, if there is one.
    """

    @click.option(
        *TOP_K_NAMES,
        type=Count(1, MAX_TOP_K),
        default=top_k,
        show_default=True,
        metavar="N",
        help="At most N.",
    )
    @with_places
    @with_call
    @wraps(command)
    def wrapper(call: Call, /, *, within: Within, **given: object) -> object:
        return command(
            call, within=within.filter(call, sources_of(call, _files_in(call, given))), **given
        )

    return wrapper


def _files_in(call: Call, given: Mapping[str, Any]) -> list[str]:
    """Return the files, given as FILE… or FILE:LINE, whose sources the command is to search."""
    if "place" in given and call.codebase.registry.containing(call.cwd):
        return []
    place = parse_place(given.get("name") or given.get("place") or "")
    return [*given.get("files", ()), *([place[0]] if place else [])]


def sources_of(call: Call, files: Iterable[str]) -> tuple[str, ...]:
    """Return the sources, each once, that contain the existing ones of `files`."""
    paths = (path for path in map(call.path, files) if path.is_file())
    folders = dict.fromkeys(real_place(path).parent for path in paths)
    found = map(call.codebase.registry.containing, folders)  # each call reads the list of sources
    return tuple(dict.fromkeys(source.name for source in found if source))


@click.command("def")
@click.argument("name")
@with_filter
def definition(call: Call, *, name: str, within: CodeFilter, top_k: int) -> list[DefinitionHit]:
    """Show where NAME is defined: what it is, its signature, its lines.

    NAME may have what encloses it: total_price, Cart.total_price, shop::Cart.
    """
    found = _ask_graph(call, navigation.definitions, name, within, top_k)
    return _show_definitions(call, found)


@click.command()
@click.argument("name")
@with_filter
def refs(call: Call, *, name: str, within: CodeFilter, top_k: int) -> list[ReferenceHit]:
    """Show where NAME is used, the surest first.

    NAME may have what encloses it, or be FILE:LINE, which means what is defined there. Each place
    says how sure it is that this very definition is meant: exact, likely, or by name alone.
    """
    return show_references(call, _ask_graph(call, navigation.references, name, within, top_k))


@click.command()
@click.argument("name")
@click.option(
    "--depth",
    type=Count(1, MAX_DEPTH),
    default=1,
    show_default=True,
    metavar="N",
    help="Also callers of callers, up to N steps.",
)
@with_filter
def callers(
    call: Call, *, name: str, depth: int, within: CodeFilter, top_k: int
) -> list[ReferenceHit]:
    """Show what calls NAME, or the code at FILE:LINE."""
    ask = partial(navigation.callers, depth=depth)
    return show_references(call, _ask_graph(call, ask, name, within, top_k), verb="calls")


@click.command()
@click.argument("name")
@with_filter
def callees(call: Call, *, name: str, within: CodeFilter, top_k: int) -> list[DefinitionHit]:
    """Show what NAME, or the code at FILE:LINE, calls, as far as that is indexed."""
    return _show_definitions(call, _ask_graph(call, navigation.callees, name, within, top_k))


@click.command()
@click.argument("file")
@with_call
def outline(call: Call, file: str) -> list[DefinitionHit]:
    """List what FILE defines, or the headings of Markdown and rst, in order, as it was indexed."""
    at = _parse_line(call, file)
    source, path = (at.source, at.path) if at else locate(call, file)
    found = call.mask(
        call.codebase.navigate(
            CodeFilter(sources=(source,)),
            lambda here: outline_file(here.graph, source, path),
            reporter=call.reporter,
        )
    )
    lines = (line for line, _ in groupby(_outline_lines(found)))  # `a = b = 1` is one line
    return call.show(found, lines)


@click.command()
@click.argument("place", metavar="FILE:LINE")
@partial(with_filter, top_k=MOST_RELATED)
def related(call: Call, *, place: str, within: CodeFilter, top_k: int) -> list[CodeHit]:
    """Show the code that is most like what stands at FILE:LINE, the most similar first."""
    parsed = parse_place(place)
    if parsed is None:
        raise UsageError(f"{place!r} is no FILE:LINE", hint="for example src/cart.py:42")
    at = Line(*locate(call, parsed[0], within.sources), parsed[1])
    found = call.mask(call.codebase.related(at, within, top_k=top_k, reporter=call.reporter))
    return call.show(found, (_related_line(call, hit) for hit in found), nothing=NOTHING_RELATED)


def _parse_line(call: Call, text: str, sources: Sequence[str] = ()) -> Line | None:
    """Parse FILE:LINE; `None` for any other text. Raises NotFound if no source has the file.

    The path may also be relative to one of `sources`.

    `cart.py:3` is always parsed; `price(3)` and `Cart#L3` may be names, and are parsed only with a
    `/`, or if the file exists.
    """
    place = parse_place(text)
    is_place = place and (text[len(place[0])] == ":" or "/" in text or call.path(place[0]).exists())
    if not place or not is_place:
        return None
    return Line(*locate(call, place[0], sources), place[1])


def locate(call: Call, file: str, sources: Sequence[str] = ()) -> tuple[str, str]:
    """Return the source that contains `file`, and its path there. Raises NotFound.

    A relative `file` that is not there is looked for in `sources`.
    """
    path = call.path(without_lines(call, file))
    if sources and not path.exists():
        inside = (call.places.roots[name] / file for name in sources if name in call.places.roots)
        path = next((each for each in inside if each.exists()), path)
    place = find_place(call.codebase.registry, path)
    if place is None:
        hint = f"`memory-sidecar why {quote(file)}` says more"
        raise NotFound(f"no source contains {file}", hint=hint)
    return place


def without_lines(call: Call, file: str) -> str:
    """Return `file` without the line numbers that a hit appends, if only then the file exists."""
    exists = os.path.exists  # never raises, even if the text is a long question
    return directory.without_lines(file, lambda each: exists(call.cwd / each))


def _ask_graph(
    call: Call, ask: Callable[[Graph, NameQuery], Cut[T]], name: str, within: CodeFilter, top_k: int
) -> list[T]:
    """Return the results of `ask` about `name`, which may be FILE:LINE."""
    what = _parse_line(call, name, within.sources) or call.text(name)
    asked = NameQuery(what=what, top_k=top_k, filter=within)
    return ask_code(call, within, lambda here: ask(here.graph, asked))


def ask_code(call: Call, within: CodeFilter, ask: Callable[[Snapshot], Cut[T]]) -> list[T]:
    """Return the results of `ask`, masked; a notice says how many more there are."""
    found = call.codebase.navigate(within, ask, reporter=call.reporter)
    if found.more:
        every = len(found) + found.more
        way = f"--top-k {every} shows all" if every <= MAX_TOP_K else "--path leaves some out"
        left = count_by_file(found.more_in, lambda it: call.places.at(it.source, it.path).text)
        more = ", in ".join(filter(None, (f"{found.more} more", left)))
        call.reporter.notice(f"{more}: {way}")
    report_notices(found, call.reporter)
    return call.mask(list(found))


def _show_definitions(call: Call, hits: list[DefinitionHit]) -> list[DefinitionHit]:
    def describe(hit: DefinitionHit) -> TextLine:
        sure = "" if hit.confidence == "exact" else f"  {hit.confidence}"
        where = call.places.at(hit.source, hit.filename, f"{hit.start_line}-{hit.end_line}")
        inside = f" in {hit.enclosing}" if hit.enclosing else ""
        return where, f"  {hit.kind}{inside}", Styled(sure, DIM), f"\n  {hit.signature}"

    return call.show(hits, map(describe, hits), nothing="nothing found")


def show_references(
    call: Call, hits: list[ReferenceHit], *, verb: str = "uses"
) -> list[ReferenceHit]:
    """Show each use; if there is none, a notice says that nothing `verb` what was asked for."""
    has_names = len({hit.name for hit in hits}) > 1

    def describe(hit: ReferenceHit) -> TextLine:
        how: str = "use" if hit.how == "other" else hit.how
        how += f" of {hit.name}" if has_names else ""
        steps = f"  {pluralize(hit.depth, 'step')} away" if hit.depth > 1 else ""
        sure = hit.confidence + (f", {pluralize(hit.others, 'other')}" if hit.others else "")
        sure += ", of a removed definition" if hit.is_gone is True else ""
        where = call.places.at(hit.source, hit.filename, hit.start_line)
        inside = f"  {hit.enclosing}" if hit.enclosing else ""
        return where, inside, Styled(f"  {how}, {sure}{steps}", DIM), f"\n  {hit.code}"

    return call.show(hits, map(describe, hits), nothing=f"nothing that is indexed here {verb} it")


def _related_line(call: Call, hit: CodeHit) -> TextLine:
    where = call.places.at(hit.source, hit.filename, hit.location)
    what = hit.signature or hit.scope
    return where, f"  {what}" if what else "", Styled(f"  {hit.score:.2f}", DIM)


def _outline_lines(hits: Sequence[DefinitionHit]) -> Iterator[TextLine]:
    for hit, depth, around in zip(hits, outline_depths(hits), names_around(hits), strict=True):
        if around:
            yield f"{'':11}  ", "  " * (depth - 1), f"in {around}"
        lines = f"{hit.start_line}-{hit.end_line}"
        yield Styled(f"{lines:>11}  ", DIM), "  " * depth + hit.signature


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Read a diff from standard input instead of files.")
@with_filter
def impact(
    call: Call, *, files: tuple[str, ...], diff: bool, within: CodeFilter, top_k: int
) -> list[ReferenceHit]:
    """Show what uses what FILE defines, or with --diff what a diff changed.

    `git diff | memory-sidecar impact --diff` tells what a change may break, and what still uses
    what it removed.
    """
    files = () if diff and files == ("-",) else files
    if diff == bool(files):
        raise UsageError(
            "name files, or pass --diff", hint="git diff | memory-sidecar impact --diff"
        )
    if absent := [name for name in files if not call.path(name).is_file()]:
        raise NotFound(f"there is no file {absent[0]}", hint="for a name, use `refs` or `callers`")
    changed = [Alteration(*locate(call, name)) for name in files]
    text = call.read_input().decode("utf-8", "replace") if diff else ""
    if diff and not text.strip():
        call.reporter.notice("the diff is empty: nothing changed")
        return call.show([], ())
    altered = [*changed_files(text)]
    if diff and not altered:
        call.reporter.notice("no lines are changed by what was read, or it is no unified diff")
        return call.show([], ())
    placed, outside = place_changes(altered, call.cwd, call.codebase.registry)
    if outside:
        call.reporter.notice(f"no source contains {name_first([*map(str, outside)], 1)}")
    changed += placed
    found = ask_code(call, within, lambda here: impact_of(here.graph, changed, within, top_k=top_k))
    return show_references(call, found)
