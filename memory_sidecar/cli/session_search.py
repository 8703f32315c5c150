"""`memory-sidecar session search` and `session list`: finds sessions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import click

from memory_sidecar.agents.session_projects import session_projects
from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.fitting import fit_line
from memory_sidecar.cli.form import explanation_line, title
from memory_sidecar.cli.numbers import AT_LEAST_ONE, COUNT
from memory_sidecar.cli.options import (
    Command,
    TextCommand,
    text_argument,
    with_agent,
    with_min_score,
    with_mode,
    with_top_k,
)
from memory_sidecar.code.excerpt import shorten, stems_of
from memory_sidecar.core.model import Asked
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.times import shown_utc
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import TIERS, HitKind, Outcome, SessionFilter, SessionQuery
from memory_sidecar.sessions.results import Head, SessionHit

SHOWN_CHARACTERS = 400


def sessions_of(call: Call, agent: str) -> Sessions:
    """Open the sessions of `agent` for this call."""
    return call.services.sessions(agent, call.db, reporter=call.reporter)


def with_filter(command: Command) -> Command:
    """Add the options that filter sessions, passed as a SessionFilter, `wanted`."""

    @click.option(
        "--project", "projects", multiple=True, metavar="P", help="Any of these: paths, or names."
    )
    @click.option("--topic", "topics", multiple=True, metavar="T", help="Any of these.")
    @click.option(
        "--outcome",
        "outcomes",
        multiple=True,
        type=click.Choice([o.value for o in Outcome]),
        help="Any of these.",
    )
    @click.option("--after", metavar="TIME", help="Went on then or later; 7d is a week ago.")
    @click.option("--before", metavar="TIME", help="Began before then.")
    @wraps(command)
    def wrapper(call: Call, **given: Any) -> object:  # noqa: ANN401  options of any kind
        chosen = {name: given.pop(name) for name in SessionFilter.__dataclass_fields__}
        chosen["projects"] = [
            project
            for each in chosen["projects"]
            for project in session_projects(each, call.path, call.services)
        ]
        return command(call, wanted=SessionFilter.parse(**chosen), **given)

    return wrapper


@click.command(cls=TextCommand)
@text_argument("query")
@with_top_k
@click.option(
    "--tier",
    type=click.Choice(["1", "2", "all"]),
    default="all",
    show_default=True,
    help="1: summaries and topics. 2: messages and code.",
)
@with_mode
@click.option("--by-session", is_flag=True, help="Each session once, ranked by its best parts.")
@click.option("--rerank", is_flag=True, help="Reread the best hits by a cross-encoder: slower.")
@click.option("--explain", is_flag=True, help="Show the terms of each score.")
@with_min_score
@with_agent
@with_filter
def search(
    call: Call,
    *,
    agent: str,
    wanted: SessionFilter,
    query: str,
    tier: str,
    **options: Any,  # noqa: ANN401  fields of `SessionQuery`
) -> list[SessionHit]:
    """Find what was said and done in earlier sessions.

    A "phrase in quotes" and a prefix* must occur; the other words rank.
    """
    asked = SessionQuery(
        text=call.text(query),
        kinds=TIERS[int(tier)] if tier != "all" else tuple(HitKind),
        filter=wanted,
        **options,
    )
    hits = call.services.questions.ask_and_log(
        Asked.SESSIONS, agent, asked.text, lambda: sessions_of(call, agent).search(asked)
    )
    hits = call.mask(hits)
    return call.show_hits(hits, _hit_lines(call, hits, asked.text))


@click.command(name="list")
@click.option("-n", "--limit", type=AT_LEAST_ONE, default=20, show_default=True, help="At most N.")
@click.option("--offset", type=COUNT, default=0, help="How many to pass over.")
@with_agent
@with_filter
def list_sessions(
    call: Call, *, agent: str, wanted: SessionFilter, limit: int, offset: int
) -> list[Head]:
    """Show sessions, the latest first."""
    found = sessions_of(call, agent).list_sessions(wanted, limit=limit + 1, offset=offset)
    heads = call.mask(found[:limit])
    if len(found) > limit:
        call.reporter.notice(f"earlier ones: --offset {offset + limit} shows them")
    nothing = "no such session" if wanted != SessionFilter() else ""  # "": another notice says it
    return call.show(heads, (_head_line(call, head) for head in heads), nothing=nothing)


def _hit_lines(call: Call, hits: list[SessionHit], question: str) -> Iterator[TextLine]:
    stems = stems_of(question)
    for hit in hits:
        where = hit.session_id if hit.sequence is None else f"{hit.session_id}#{hit.sequence}"
        weak = "  weak match" if hit.is_weak else ""
        yield fit_line(call, (title(where), f"  {hit.score:.3f}{weak}"), hit.headline)
        if hit.explain:
            yield f"  {explanation_line(hit.explain)}"
        yield from indent_lines(shorten(hit.text.strip(), SHOWN_CHARACTERS, stems))
        yield ""


def indent_lines(text: str) -> Iterator[str]:
    """Yield the lines of `text`, indented by two spaces."""
    return (f"  {line}".rstrip() for line in text.split("\n"))


def _head_line(call: Call, head: Head) -> TextLine:
    said = pluralize(head.message_count, "message")
    what = " · ".join(filter(None, (head.title, said, head.outcome, *head.topics)))
    return fit_line(call, (f"{shown_utc(head.ended_at)}  ", title(head.session_id)), what)
