"""`memory-sidecar query`: finds memories that answer a question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import explanation_line
from memory_sidecar.cli.memory_form import (
    body_lines,
    memories_of,
    memory_line,
    note_team,
    with_filters,
)
from memory_sidecar.cli.numbers import AT_LEAST_ONE
from memory_sidecar.cli.options import (
    TextCommand,
    text_argument,
    with_agent,
    with_min_score,
    with_mode,
    with_top_k,
)
from memory_sidecar.code.excerpt import excerpt, rows_to_search, stems_of
from memory_sidecar.core.model import Asked
from memory_sidecar.core.results import pluralize
from memory_sidecar.memories.model import MemoryFilter, MemoryQuery
from memory_sidecar.memories.results import MemoryHit

SHOWN_LINES = 8


@click.command(cls=TextCommand)
@text_argument("text", option="--query")
@with_top_k
@with_mode
@click.option("--all-projects", is_flag=True, help="Do not prefer the project you are in.")
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Have a cross-encoder read the best ones once more: better, but slower. As the setting "
    "`rerank` says, which is on.",
)
@click.option("--explain", is_flag=True, help="Show the terms of each relevance.")
@click.option("--max-tokens", type=AT_LEAST_ONE, help="Budget; summaries first, then whole texts.")
@with_min_score
@with_agent
@with_filters
def query(
    call: Call,
    *,
    agent: str,
    wanted: MemoryFilter,
    text: str,
    all_projects: bool,
    no_shared: bool,
    **options: Any,  # noqa: ANN401  fields of `MemoryQuery`
) -> list[MemoryHit]:
    """Find memories by what they say: the agent's own, and those that all agents share.

    In a source, memories made in other ones rank a little lower; --project asks for those of one
    alone. What is expired or superseded is left out unless asked for.
    """
    asked = MemoryQuery(
        text=call.text(text),
        filter=wanted,
        prefers="" if all_projects else call.services.project_of(call.cwd),
        **options,
    )
    return show_memories(call, agent, asked, with_shared=not no_shared)


def show_memories(
    call: Call, agent: str, asked: MemoryQuery, *, with_shared: bool = True
) -> list[MemoryHit]:
    """Search the memories of `agent`, log the question, and print and return the hits."""
    found = call.services.questions.ask_and_log(
        Asked.MEMORIES,
        agent,
        asked.text,
        lambda: memories_of(call, agent).query(asked, with_shared=with_shared),
    )
    if asked.explain:
        note_team(call)
    hits = call.mask(found)
    return call.show_hits(hits, _hit_lines(call, hits, asked.text), room=asked.max_tokens)


def _hit_lines(call: Call, hits: list[MemoryHit], question: str) -> Iterator[TextLine]:
    stems = stems_of(question)
    for hit in hits:
        lines = body_lines(hit, hit.content.strip("\n"))
        rows = rows_to_search(lines, stems)
        part = excerpt(lines[rows.start : rows.stop], stems, at_most=SHOWN_LINES)
        first = rows.start + part.first
        weak, score = "  weak match" if hit.is_weak else "", f"{hit.relevance:.3f}  "
        yield memory_line(call, hit, part.lines, score=score, quality=weak)
        if hit.explain:
            yield f"  {explanation_line(hit.explain)}"
        if first:
            yield "  …"
        for line in part.lines:
            yield f"  {line}".rstrip()
        if behind := len(lines) - first - len(part.lines):
            yield f"  … {pluralize(behind, 'more line')}"
        yield ""
