"""`memory-sidecar map`: what is central in a project."""

from __future__ import annotations

from collections.abc import Sequence

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import DIM, Styled
from memory_sidecar.cli.names import located
from memory_sidecar.cli.options import AT_LEAST_ONE, code_filter, with_call, with_sources
from memory_sidecar.code.central import draw_map
from memory_sidecar.code.results import MapEntry
from memory_sidecar.core.model import CodeFilter, CodeQuery

MAP_TOKENS = 1000
AROUND_HITS = 20


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
        return {located(call, around): 1.0}
    query = CodeQuery(text=call.text(around), top_k=AROUND_HITS, filter=within)
    weights: dict[tuple[str, str], float] = {}
    for hit in call.codebase.search(query, reporter=call.reporter):
        key = hit.source, hit.filename
        weights[key] = max(weights.get(key, 0.0), hit.score)
    return weights


def _print_map(call: Call, entries: Sequence[MapEntry]) -> None:
    file = ("", "")
    for entry in entries:
        if file != (file := (entry.source, entry.filename)):
            call.print(call.places.at(*file))
        depth = "  " if entry.enclosing else ""
        call.print(Styled(f"{entry.start_line:>6}  ", DIM), depth + entry.signature)
    if not entries:
        call.reporter.notice("nothing here uses what another file defines")
