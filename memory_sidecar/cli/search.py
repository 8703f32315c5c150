"""`memory-sidecar search`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.explain import explanation_line
from memory_sidecar.cli.form import Styled, title
from memory_sidecar.cli.options import (
    AT_LEAST_ONE,
    COUNT,
    joined,
    known_language,
    text_argument,
    with_call,
)
from memory_sidecar.code.handlers import narrowed
from memory_sidecar.code.results import CodeHit, Freshness
from memory_sidecar.core.model import CodeFilter, CodeQuery, SearchMode

MAX_TOP_K = 1000
SHOWN_LINES = 12
DIM = {"dim": True}


@click.command()
@text_argument("query")
@click.option("--top-k", type=click.IntRange(1, MAX_TOP_K), default=10, show_default=True)
@click.option("--language", "languages", multiple=True, metavar="L", help="Any of these.")
@click.option("--path", "globs", multiple=True, metavar="GLOB", help="As in a .gitignore; any.")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Any of these.")
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in SearchMode]),
    default=SearchMode.HYBRID.value,
)
@click.option("--explain", is_flag=True, help="Say what each score is made of.")
@click.option("--max-tokens", type=AT_LEAST_ONE, help="Budget for all code together.")
@click.option(
    "--wait-fresh",
    "wait_fresh_ms",
    type=COUNT,
    metavar="MS",
    help="Index every save up to now first, for at most so long.",
)
@with_call
def search(
    call: Call,
    *,
    query: tuple[str, ...],
    top_k: int,
    languages: tuple[str, ...],
    globs: tuple[str, ...],
    sources: tuple[str, ...],
    mode: str,
    explain: bool,
    max_tokens: int | None,
    wait_fresh_ms: int | None,
) -> list[CodeHit]:
    """Find code by what it does or what it is called.

    Searches the source that the working directory lies in, or every source outside of all.
    """
    asked = CodeQuery(
        text=joined(call, query),
        top_k=top_k,
        mode=SearchMode(mode),
        filter=CodeFilter(
            sources=sources,
            languages=tuple(map(known_language, languages)),
            path_globs=globs,
        ),
        max_tokens=max_tokens,
        explain=explain,
    )
    codebase = call.codebase
    if call.db is None:
        asked = narrowed(asked, codebase.source_around(call.cwd))
    if wait_fresh_ms is not None:
        codebase.wait_fresh(wait_fresh_ms, reporter=call.reporter)
    return call.show(call.masked(codebase.search(asked, reporter=call.reporter)), _print_hits)


def _print_hits(call: Call, hits: list[CodeHit]) -> None:
    for hit in hits:
        _print_hit(call, hit)
    fresh = {hit.source: hit.freshness for hit in hits if hit.freshness}
    for name, freshness in fresh.items():
        call.reporter.notice(f"{name}: {_told(freshness)}")
    if not hits:
        call.reporter.notice("no hits")


def _print_hit(call: Call, hit: CodeHit) -> None:
    where = f"{hit.filename}:{hit.location}"
    what = hit.signature or hit.scope or ", ".join(hit.symbols[:3])
    call.print(title(where), f"  {hit.score:.3f}", *([Styled(f"  {what}", DIM)] if what else []))
    if hit.explain:
        call.print(f"  {explanation_line(hit.explain)}")
    lines = hit.code.split("\n")
    for number, line in enumerate(lines[:SHOWN_LINES], hit.start_line):
        call.print(f"{number:>6}  {line}".rstrip())
    if len(lines) > SHOWN_LINES:
        call.print(f"{'':>6}  … {len(lines) - SHOWN_LINES} more lines")
    call.print()


def _told(freshness: Freshness) -> str:
    if freshness.is_current is None:
        at = freshness.scanned_at
        state = f"as it was at {at}" if at else "its first scan goes on"
    else:
        state = "up to date" if freshness.is_current else "being brought up to date"
    waiting = freshness.vectors_pending
    return f"{state}, {waiting:,} chunks wait for a vector" if waiting else state
