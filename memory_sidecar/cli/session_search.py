"""`memory-sidecar session search` and `session list`"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.explain import explanation_json, explanation_line
from memory_sidecar.cli.form import Styled, title
from memory_sidecar.cli.options import (
    AT_LEAST_ONE,
    COUNT,
    TextCommand,
    joined,
    text_argument,
    with_agent,
)
from memory_sidecar.core.clock import iso_utc, system_clock
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.times import past_moment
from memory_sidecar.outputs import sessions as out
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import (
    TIERS,
    HitKind,
    Outcome,
    SessionFilter,
    SessionHead,
    SessionHit,
    SessionQuery,
)

MAX_TOP_K = 1000
SHOWN_CHARACTERS = 400
_PATH_SIGNS = (".", "/", "~", "\\")


def sessions_of(call: Call, agent: str) -> Sessions:
    """The sessions of `agent`, for this call."""
    return call.services.sessions(agent, call.db, reporter=call.reporter)


def filter_options(command: Callable[..., object]) -> Callable[..., object]:
    """The options by which sessions are chosen."""
    for option in (
        click.option("--before", metavar="TIME", help="Began before then."),
        click.option("--after", metavar="TIME", help="Began then or later; 7d is a week ago."),
        click.option(
            "--outcome", "outcomes", multiple=True, type=click.Choice([o.value for o in Outcome])
        ),
        click.option("--topic", "topics", multiple=True, metavar="T", help="Any of these."),
        click.option("--project", default="", metavar="P", help="Its path, or just its name."),
    ):
        command = option(command)
    return command


@click.command(cls=TextCommand)
@text_argument("query")
@click.option("--top-k", type=click.IntRange(1, MAX_TOP_K), default=10, show_default=True)
@click.option(
    "--tier",
    type=click.Choice(["1", "2", "all"]),
    default="all",
    show_default=True,
    help="1: summaries and topics. 2: messages and code.",
)
@filter_options
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in SearchMode]),
    default=SearchMode.HYBRID.value,
)
@click.option("--by-session", is_flag=True, help="Each session once, by its best parts.")
@click.option("--rerank", is_flag=True, help="Read the best hits again, closely: slower.")
@click.option("--explain", is_flag=True, help="Say what each score is made of.")
@with_agent
def search(
    call: Call,
    *,
    agent: str,
    query: tuple[str, ...],
    top_k: int,
    tier: str,
    mode: str,
    by_session: bool,
    rerank: bool,
    explain: bool,
    **chosen: Any,  # noqa: ANN401  the filter options
) -> None:
    """Find what was said and done in earlier sessions.

    A "phrase in quotes" and a prefix* must occur; the other words rank.
    """
    asked = SessionQuery(
        text=joined(call, query),
        kinds=TIERS[int(tier)] if tier != "all" else tuple(HitKind),
        top_k=top_k,
        mode=SearchMode(mode),
        filter=chosen_filter(call, **chosen),
        by_session=by_session,
        rerank=rerank,
    )
    hits = call.masked(sessions_of(call, agent).search(asked))
    call.reporter.close()
    if call.wants_json:
        call.print_json([hit_json(hit, explain=explain) for hit in hits])
        return
    for hit in hits:
        _print_hit(call, hit, explain=explain)
    if not hits:
        call.reporter.notice("no hits")


@click.command(name="list")
@filter_options
@click.option("--limit", type=AT_LEAST_ONE, default=20, show_default=True)
@click.option("--offset", type=COUNT, default=0)
@with_agent
def list_sessions(call: Call, *, agent: str, limit: int, offset: int, **chosen: Any) -> None:  # noqa: ANN401
    """Show sessions, the latest first."""
    wanted = chosen_filter(call, **chosen)
    heads = call.masked(sessions_of(call, agent).listed(wanted, limit=limit, offset=offset))
    call.reporter.close()
    if call.wants_json:
        call.print_json([head_json(head) for head in heads])
        return
    for head in heads:
        call.print(f"{iso_utc(head.created_at)[:16].replace('T', ' ')}  ", *_label(head))


def chosen_filter(
    call: Call,
    *,
    project: str,
    topics: tuple[str, ...],
    outcomes: tuple[str, ...],
    after: str | None,
    before: str | None,
) -> SessionFilter:
    """The filter that these options mean."""
    is_path = project.startswith(_PATH_SIGNS)
    return SessionFilter(
        project=str(call.path(project)) if is_path else project,
        topics=topics,
        outcomes=tuple(map(Outcome, outcomes)),
        after=past_moment(after, now_ms=system_clock()),
        before=past_moment(before, now_ms=system_clock()),
    )


def hit_json(hit: SessionHit, *, explain: bool) -> out.SessionHit:
    shown: out.SessionHit = {
        "kind": hit.kind.value,
        "session_id": hit.session.session_id,
        "title": hit.session.title,
        "text": hit.text,
        "score": round(hit.score, 6),
        "heading": hit.heading,
        "sequence": hit.sequence,
        "created_at": iso_utc(hit.created_at),
        "project_path": hit.session.project_path,
        "topics": list(hit.session.topics),
        "outcome": hit.session.outcome,
    }
    if explain:
        shown["explain"] = explanation_json(hit.explanation)
    return shown


def head_json(head: SessionHead) -> out.Head:
    return {
        "session_id": head.session_id,
        "title": head.title,
        "brief": head.brief,
        "project_path": head.project_path,
        "created_at": iso_utc(head.created_at),
        "updated_at": iso_utc(head.updated_at),
        "message_count": head.message_count,
        "topics": list(head.topics),
        "outcome": head.outcome,
        "pinned": head.is_pinned,
    }


def _print_hit(call: Call, hit: SessionHit, *, explain: bool) -> None:
    where = hit.session.session_id
    if hit.sequence is not None:
        where += f"#{hit.sequence}"
    heading = hit.heading or f"{iso_utc(hit.created_at)[:10]}, {hit.kind.value}"
    call.print(title(where), f"  {hit.score:.3f}  {' · '.join(heading.split(chr(10)))}")
    if explain:
        call.print(f"  {explanation_line(hit.explanation)}")
    text = hit.text.strip()
    shown = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS].rstrip() + " …"
    for line in shown.split("\n"):
        call.print(f"  {line}".rstrip())
    call.print()


def _label(head: SessionHead) -> tuple[Styled, str]:
    told = [head.title, f"{head.message_count} messages", head.outcome or "", *head.topics]
    return title(head.session_id), f"  {' · '.join(part for part in told if part)}"
