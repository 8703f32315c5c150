"""`memory-sidecar map`: shows what is central in a project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import DIM, Styled
from memory_sidecar.cli.names import locate, sources_of, without_lines
from memory_sidecar.cli.numbers import AT_LEAST_ONE
from memory_sidecar.cli.options import with_call
from memory_sidecar.cli.within import Within, with_all, with_sources
from memory_sidecar.code.central import MAP_TOKENS, draw_map
from memory_sidecar.code.focus import AROUND_HITS, Focus, focus_at, focus_of, is_path
from memory_sidecar.code.headings import map_lines
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.results import MapEntry
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.core.results import pluralize


@click.command("map")
@click.option(
    "--max-tokens",
    type=AT_LEAST_ONE,
    default=MAP_TOKENS,
    show_default=True,
    metavar="N",
    help="Length in tokens of about four characters.",
)
@click.option("--around", metavar="PATH|QUERY", help="Only what the code around there depends on.")
@with_sources
@with_all
@with_call
def show_map(
    call: Call, *, max_tokens: int, around: str | None, sources: tuple[str, ...], everywhere: bool
) -> list[MapEntry]:
    """Show what is central in the project: the signatures that most of it depends on.

    With --around, what a file depends on, or the files that answer a question; for a question also
    what these define. Around a folder, what is central in it.
    """
    around = around and without_lines(call, around)
    place = around if around and (is_path(around) or _is_there(call.cwd / around)) else ""
    within = Within(sources, everywhere=everywhere).filter(
        call, sources_of(call, [place] if place else [])
    )
    asked = Focus() if around is None or place else _question_focus(call, around, within)

    def ask(here: Snapshot) -> list[MapEntry]:
        focus = focus_at(here.graph, *locate(call, place)) if place else asked
        return draw_map(here.graph, within.sources, focus, max_tokens=max_tokens)

    found = call.mask(call.codebase.navigate(within, ask, reporter=call.reporter))
    nothing = "nothing here uses what another file defines"
    if max_tokens < MAP_TOKENS:
        nothing += f", or it does not fit into {pluralize(max_tokens, 'token')}"
    return call.show(found, _map_lines(call, found), nothing=nothing)


def _is_there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  never raises, even if a question is too long


def _question_focus(call: Call, question: str, within: CodeFilter) -> Focus:
    query = CodeQuery(text=call.text(question), top_k=AROUND_HITS, filter=within)
    return focus_of(call.codebase.search(query, reporter=call.reporter))


def _map_lines(call: Call, entries: Sequence[MapEntry]) -> Iterator[TextLine]:
    for file, of_file in groupby(entries, key=lambda entry: (entry.source, entry.filename)):
        yield call.places.at(*file)
        for row, text in map_lines(list(of_file)):
            yield Styled(f"{row:>6}  ", DIM), text
