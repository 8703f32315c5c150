"""`memory-sidecar search`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.explain import explanation_json, explanation_line
from memory_sidecar.cli.form import Styled, title
from memory_sidecar.cli.options import (
    AT_LEAST_ONE,
    COUNT,
    joined,
    known_language,
    text_argument,
    with_call,
)
from memory_sidecar.code.handlers import Freshness, narrowed
from memory_sidecar.core.clock import iso_utc
from memory_sidecar.core.model import CodeFilter, CodeHit, CodeQuery, SearchMode
from memory_sidecar.outputs import code as out

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
) -> None:
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
    )
    codebase = call.codebase
    if call.db is None:
        asked = narrowed(asked, codebase.source_around(call.cwd))
    if wait_fresh_ms is not None:
        codebase.wait_fresh(wait_fresh_ms, reporter=call.reporter)
    hits = call.masked(codebase.search(asked, reporter=call.reporter))
    call.reporter.close()
    freshness = codebase.freshness() if explain else {}
    if call.wants_json:
        call.print_json([hit_json(hit, freshness.get(hit.source)) for hit in hits])
        return
    for hit in hits:
        _print_hit(call, hit, explain=explain)
    for name in dict.fromkeys(hit.source for hit in hits if hit.source in freshness):
        call.reporter.notice(f"{name}: {_told(freshness[name])}")
    if not hits:
        call.reporter.notice("no hits")


def hit_json(hit: CodeHit, freshness: Freshness | None) -> out.CodeHit:
    """A hit as the contract has it; explained where its freshness is given."""
    shown: out.CodeHit = {
        "filename": hit.filename,
        "location": hit.chunk.location,
        "language": hit.language,
        "code": hit.chunk.code,
        "score": round(hit.score, 6),
        "source": hit.source,
        "start_line": hit.chunk.start_line,
        "end_line": hit.chunk.end_line,
        "symbols": list(hit.chunk.symbols),
        "scope": hit.chunk.scope,
        "signature": hit.chunk.signature,
    }
    if freshness is not None:
        shown["explain"] = explanation_json(hit.explanation)
        scanned_at = freshness.scanned_at
        shown["freshness"] = {
            "is_current": freshness.is_current,
            "scanned_at": iso_utc(scanned_at) if scanned_at is not None else None,
            "vectors_pending": freshness.vectors_pending,
        }
    return shown


def _print_hit(call: Call, hit: CodeHit, *, explain: bool) -> None:
    where = f"{hit.filename}:{hit.chunk.location}"
    what = hit.chunk.signature or hit.chunk.scope or ", ".join(hit.chunk.symbols[:3])
    call.print(title(where), f"  {hit.score:.3f}", *([Styled(f"  {what}", DIM)] if what else []))
    if explain:
        call.print(f"  {explanation_line(hit.explanation)}")
    lines = hit.chunk.code.split("\n")
    for number, line in enumerate(lines[:SHOWN_LINES], hit.chunk.start_line):
        call.print(f"{number:>6}  {line}".rstrip())
    if len(lines) > SHOWN_LINES:
        call.print(f"{'':>6}  … {len(lines) - SHOWN_LINES} more lines")
    call.print()


def _told(freshness: Freshness) -> str:
    if freshness.is_current is None:
        at = freshness.scanned_at
        state = f"as it was at {iso_utc(at)}" if at is not None else "its first scan goes on"
    else:
        state = "up to date" if freshness.is_current else "being brought up to date"
    waiting = freshness.vectors_pending
    return f"{state}, {waiting:,} chunks wait for a vector" if waiting else state
