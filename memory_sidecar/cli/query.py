"""`memory-sidecar query`"""

from __future__ import annotations

from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.explain import explanation_json, explanation_line
from memory_sidecar.cli.memory_form import (
    body_lines,
    memories_of,
    memory_json,
    memory_line,
    with_filters,
)
from memory_sidecar.cli.options import AT_LEAST_ONE, TextCommand, joined, text_argument, with_agent
from memory_sidecar.core.model import SearchMode
from memory_sidecar.memories.hit import MemoryHit
from memory_sidecar.memories.model import MemoryFilter, MemoryQuery

MAX_TOP_K = 1000
SHOWN_LINES = 8


@click.command(cls=TextCommand)
@text_argument("text")
@click.option("--top-k", type=click.IntRange(1, MAX_TOP_K), default=10, show_default=True)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in SearchMode]),
    default=SearchMode.HYBRID.value,
)
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Have a cross-encoder read the best ones once more: better, but slower. As the setting "
    "`rerank` says, which is on.",
)
@click.option("--explain", is_flag=True, help="Say what each relevance is made of.")
@click.option("--max-tokens", type=AT_LEAST_ONE, help="Budget: summaries first, then whole texts.")
@with_agent
@with_filters
def query(
    call: Call,
    *,
    agent: str,
    wanted: MemoryFilter,
    text: tuple[str, ...],
    top_k: int,
    mode: str,
    no_shared: bool,
    rerank: bool | None,
    explain: bool,
    max_tokens: int | None,
) -> None:
    """Find memories by what they say: the agent's own, and those that all agents share.

    What is expired or superseded is left out unless asked for.
    """
    asked = MemoryQuery(
        text=joined(call, text),
        top_k=top_k,
        mode=SearchMode(mode),
        filter=wanted,
        max_tokens=max_tokens,
        rerank=rerank,
    )
    hits = call.masked(memories_of(call, agent).query(asked, with_shared=not no_shared))
    call.reporter.close()
    if call.wants_json:
        call.print_json([hit_json(hit, explain=explain) for hit in hits])
        return
    for hit in hits:
        _print_hit(call, hit, explain=explain)
    if not hits:
        call.reporter.notice("no hits")


def hit_json(hit: MemoryHit, *, explain: bool) -> dict[str, Any]:
    """A hit as the contract has it."""
    shown = {
        "content": hit.text,
        "relevance": round(hit.score, 6),
        "shown": hit.shown.value,
        "start_line": hit.passage.start_line,
        "end_line": hit.passage.end_line,
        "heading": hit.passage.heading,
    }
    shown |= memory_json(hit.agent, hit.found)
    if explain:
        shown["explain"] = explanation_json(hit.explanation)
    return shown


def _print_hit(call: Call, hit: MemoryHit, *, explain: bool) -> None:
    call.print(f"{hit.score:.3f}  ", *memory_line(hit.agent, hit.found))
    if explain:
        call.print(f"  {explanation_line(hit.explanation)}")
    lines = body_lines(hit.found, hit.text)
    for line in lines[:SHOWN_LINES]:
        call.print(f"  {line}".rstrip())
    if len(lines) > SHOWN_LINES:
        call.print(f"  … {len(lines) - SHOWN_LINES} more lines")
    call.print()
