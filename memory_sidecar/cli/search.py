"""`memory-sidecar search`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.hits import HitView, hit_lines, note_quality, note_team
from memory_sidecar.cli.memory_form import project_around
from memory_sidecar.cli.options import (
    AT_LEAST_ONE,
    COUNT,
    MAX_TOP_K,
    code_filter,
    joined,
    text_argument,
    with_call,
    with_min_score,
    with_mode,
    with_places,
)
from memory_sidecar.cli.query import show_memories
from memory_sidecar.code.results import CodeHit, Freshness
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Asked, CodeQuery, SearchMode
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.memories.results import MemoryHit

TOP_K = 10
TOP_K_ON_TERMINAL = 5  # what a screen shows


@click.command()
@text_argument("query", option="--query")
@click.option(
    *("-n", "--top-k"), type=click.IntRange(1, MAX_TOP_K), metavar="N",
    help=f"At most so many hits: {TOP_K_ON_TERMINAL} on a terminal, else {TOP_K}.",
)  # fmt: skip
@with_places
@click.option("--full", is_flag=True, help="Whole chunks, not only the lines that matched.")
@click.option("--files", is_flag=True, help="Only the paths of the files, best first.")
@click.option("--no-pager", is_flag=True, help="Print, even more than the terminal holds.")
@with_mode
@click.option("--explain", is_flag=True, help="Say what each score is made of.")
@click.option("--max-tokens", type=AT_LEAST_ONE, help="Budget for all code together.")
@with_min_score
@click.option(
    "--wait-fresh",
    "wait_fresh_ms",
    type=COUNT,
    metavar="MS",
    help="Index every save up to now first, for at most so long.",
)
@click.option("--agent", metavar="A", help="Search the memories of A instead, as `query` does.")
@with_call
def search(
    call: Call,
    *,
    query: tuple[str, ...],
    top_k: int | None,
    languages: tuple[str, ...],
    globs: tuple[str, ...],
    sources: tuple[str, ...],
    everywhere: bool,
    full: bool,
    files: bool,
    no_pager: bool,
    mode: str,
    explain: bool,
    max_tokens: int | None,
    min_score: float,
    wait_fresh_ms: int | None,
    agent: str | None,
) -> list[CodeHit] | list[MemoryHit]:
    """Find code by what it does or what it is called.

    Searches the source that the working directory lies in; --source names others, --all means
    every one, and --db all that is in that database.
    """
    if everywhere and sources:
        raise UsageError("--all and --source exclude each other", hint="leave one of them out")
    if top_k is None:
        top_k = TOP_K_ON_TERMINAL if call.is_terminal and not call.wants_json else TOP_K
    text = joined(call, query)
    if agent is not None:
        if languages or globs or sources or wait_fresh_ms is not None:
            raise UsageError(
                "--agent searches memories: these have no language, source or path",
                hint="`memory-sidecar query` has the options that they have",
            )
        remembered = MemoryQuery(
            text=text,
            top_k=top_k,
            mode=SearchMode(mode),
            max_tokens=max_tokens,
            min_score=min_score,
            explain=explain,
            prefers=project_around(call),
        )
        return show_memories(call, agent, remembered)
    codebase = call.codebase
    within = code_filter(
        call, sources=sources, languages=languages, globs=globs, everywhere=everywhere
    )
    asked = CodeQuery(
        text=text,
        top_k=top_k,
        mode=SearchMode(mode),
        filter=within,
        max_tokens=max_tokens,
        min_score=min_score,
        explain=explain,
    )
    if wait_fresh_ms is not None:
        codebase.wait_fresh(wait_fresh_ms, reporter=call.reporter)
    hits = call.masked(
        call.services.questions.asking(
            Asked.CODE,
            call.environ.get("MEMORY_SIDECAR_AGENT") or call.services.settings.agent,
            text,
            lambda: codebase.search(asked, reporter=call.reporter),
        )
    )

    if explain:
        note_team(call)

    def print_hits(call: Call, hits: list[CodeHit]) -> None:
        roots = {source.name: source.root for source in codebase.registry.all()}
        shown = HitView(
            question=text,
            roots=roots,
            names_source=len(within.sources or roots) > 1,
            full=full,
            only_files=files,
        )
        call.print_paged(hit_lines(call, hits, shown), uses_pager=not no_pager)
        fresh = {hit.source: hit.freshness for hit in hits if hit.freshness}
        for name, freshness in fresh.items():
            call.reporter.notice(f"{name}: {_told(freshness)}")
        note_quality(call, hits)

    return call.show(hits, print_hits)


def _told(freshness: Freshness) -> str:
    if freshness.is_current is None:
        at = freshness.scanned_at
        state = f"as it was at {at}" if at else "its first scan goes on"
    else:
        state = "up to date" if freshness.is_current else "being brought up to date"
    waiting = freshness.vectors_pending
    return f"{state}, {waiting:,} chunks wait for a vector" if waiting else state
