"""`memory-sidecar search`, and the form of its hits: place, name, score and the lines that match.

    shop/cart.py:12-30  Cart.total  0.83
       14  def total(self):
       15      return sum(item.price for item in self.items)

On a terminal with colours the path is a link, the code is highlighted by its syntax, and the words
of the question are bold.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import DIM, Places, Styled, explanation_line
from memory_sidecar.cli.memory_form import note_team
from memory_sidecar.cli.numbers import AT_LEAST_ONE, COUNT, Count
from memory_sidecar.cli.options import (
    MAX_TOP_K,
    TOP_K_NAMES,
    TextCommand,
    text_argument,
    with_call,
    with_min_score,
    with_mode,
)
from memory_sidecar.cli.query import show_memories
from memory_sidecar.cli.within import Within, with_places
from memory_sidecar.code.excerpt import (
    MAX_COLOURED,
    Excerpt,
    excerpt,
    name_of,
    row_to_show,
    spans,
    stems_of,
)
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.query_names import names_in
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Asked
from memory_sidecar.core.visible import visible
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.memories.results import MemoryHit

TOP_K = 10
TOP_K_ON_TERMINAL = 5  # what a screen shows

PALE = ("bright_green", "bright_cyan")
GUTTER = "{:>6}  "
FOUND = "bold underline"


@click.command(cls=TextCommand)
@text_argument("query", option="--query")
@click.option(
    *TOP_K_NAMES, type=Count(1, MAX_TOP_K), metavar="N",
    help=f"At most N hits: {TOP_K_ON_TERMINAL} on a terminal, else {TOP_K}.",
)  # fmt: skip
@with_places
@click.option("--full", is_flag=True, help="Whole chunks, not only the lines that matched.")
@click.option("--files", is_flag=True, help="Only the paths of the files, best first.")
@click.option("--no-pager", is_flag=True, help="Print everything at once.")
@with_mode
@click.option("--explain", is_flag=True, help="Show the terms of each score.")
@click.option("--max-tokens", type=AT_LEAST_ONE, help="Budget in tokens for all code together.")
@with_min_score
@click.option(
    "--wait-fresh",
    "wait_fresh_ms",
    type=COUNT,
    metavar="MS",
    help="First wait until every save is indexed, at most MS.",
)
@click.option("--agent", metavar="A", help="Search the memories of A instead, like `query`.")
@with_call
def search(
    call: Call,
    *,
    query: str,
    top_k: int | None,
    within: Within,
    full: bool,
    files: bool,
    no_pager: bool,
    wait_fresh_ms: int | None,
    agent: str | None,
    **options: Any,  # noqa: ANN401  fields of both `CodeQuery` and `MemoryQuery`
) -> list[CodeHit] | list[MemoryHit]:
    """Find code by what it does or what it is called.

    Searches the source that the working directory lies in; --source names others, --all means
    every one, and --db all that is in that database.
    """
    if top_k is None:
        top_k = TOP_K_ON_TERMINAL if call.is_terminal and not call.wants_json else TOP_K
    if files and (full or options["explain"] or options["max_tokens"]):
        hint = "leave out --full, --explain and --max-tokens"
        raise UsageError("--files shows only paths", hint=hint)
    text = call.text(query)
    if agent is not None:
        if within != Within(()) or full or files or wait_fresh_ms is not None:
            raise UsageError(
                "--agent searches memories, which the options about code do not fit",
                hint="use `memory-sidecar query`, which has options for memories",
            )
        here = call.services.project_of(call.cwd)
        remembered = MemoryQuery(text=text, top_k=top_k, prefers=here, **options)
        return show_memories(call, agent, remembered)
    asked = CodeQuery(
        text=text, top_k=top_k, filter=within.filter(call), one_per_file=files, **options
    )
    hits = call.mask(_search_code(call, asked, wait_fresh_ms))
    if not call.wants_json:
        shown = HitView(
            question=text,
            places=call.places,
            names_source=len(asked.filter.sources or call.places.roots) > 1,
            full=full,
            only_files=files,
        )
        call.print_paged(hit_lines(call, hits, shown), uses_pager=not no_pager)
        fresh = {hit.source: hit.freshness for hit in hits if hit.freshness}
        for name, freshness in fresh.items():
            call.reporter.notice(f"{name}: {freshness.in_words}")
    return call.show_hits(hits, (), room=asked.max_tokens)


def _search_code(call: Call, asked: CodeQuery, wait_fresh_ms: int | None) -> list[CodeHit]:
    """Search code, once every save is indexed if the caller waits for that; log the question."""
    codebase = call.codebase
    if wait_fresh_ms is not None:
        codebase.wait_fresh(asked.filter.sources, wait_fresh_ms, reporter=call.reporter)
    if asked.explain:
        note_team(call)  # before the search, which includes a server that answers again
    return call.services.questions.ask_and_log(
        Asked.CODE,
        call.default_agent,
        asked.text,
        lambda: codebase.search(asked, reporter=call.reporter),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """The form in which a caller wants the hits."""

    question: str
    places: Places
    names_source: bool  # if several sources were searched
    full: bool  # whole chunks
    only_files: bool

    def path(self, source: str, filename: str, lines: str = "") -> list[Styled]:
        """Return `filename` relative to the working directory, with its source if wanted."""
        named = [Styled(f"{source}  ", DIM)] if self.names_source else []
        return [*named, self.places.at(source, filename, lines)]


def hit_lines(call: Call, hits: Sequence[CodeHit], shown: HitView) -> list[str]:
    """Return the lines that show `hits`, best first."""
    if shown.only_files:
        return [call.line(*shown.path(hit.source, hit.filename)) for hit in hits]
    stems, names = stems_of(shown.question), names_in(shown.question)
    lines: list[str] = []
    for hit in hits:
        code = visible(hit.code).split("\n")
        part = Excerpt(0, tuple(code))
        if not shown.full:
            part = excerpt(code, stems, around=row_to_show(hit, code, names, stems))
        what = name_of(hit, code, part, stems)
        score = f"  {hit.score:.2f}{'  weak match' if hit.is_weak else ''}"
        where = shown.path(hit.source, hit.filename, hit.location)
        lines.append(call.line(*where, f"  {what}" if what else "", Styled(score, DIM)))
        for first in hit.copies[:1]:
            more = f" and {len(hit.copies) - 1} more" if len(hit.copies) > 1 else ""
            where = shown.path(first.source, first.filename, first.location)
            lines.append(call.line(Styled("  also in ", DIM), *where, Styled(more, DIM)))
        if hit.explain:
            lines.append(call.line(f"  {explanation_line(hit.explain)}"))
        drawn = (
            _highlight(call, hit.language, code, part, stems) if call.uses_colour else part.lines
        )
        for number, line in enumerate(drawn, hit.start_line + part.first):
            lines.append(call.line(Styled(GUTTER.format(number), DIM)) + line.rstrip())
        lines.append("")
    return lines


def _highlight(
    call: Call, language: str, code: Sequence[str], part: Excerpt, stems: frozenset[str]
) -> list[str]:
    """Return the lines of `part`, an excerpt of `code`, with the escape sequences of colours."""
    from pygments.token import Error
    from rich.console import Console
    from rich.style import Style
    from rich.syntax import ANSI_DARK, ANSI_LIGHT, ANSISyntaxTheme, Syntax

    # These colours of the terminal can be read on any background; on white, bright green and cyan
    # would have a contrast of 1.3 to 2.1. Only the words found are underlined, and no character is
    # marked as an error: a chunk may begin inside a docstring.
    styles = {
        token: (ANSI_LIGHT[token] if each.color and each.color.name in PALE else each)
        + Style(underline=False)
        for token, each in ANSI_DARK.items()
    }
    theme = ANSISyntaxTheme({**styles, Error: Style()})
    out = io.StringIO()
    width = max(call.columns - len(GUTTER.format(0)), 20) if call.is_terminal else None
    console = Console(
        file=out, force_terminal=True, color_system="standard", width=width or 1000, _environ={}
    )
    # The whole chunk is highlighted, because a docstring or comment may span several lines.
    text = "\n".join(code)
    lexer = language if len(text) <= MAX_COLOURED else "text"
    drawn = Syntax("", lexer, theme=theme).highlight(text).split("\n")
    for number, line in enumerate(part.lines, part.first):
        shown = drawn[number] if number < len(drawn) and drawn[number].plain == line else None
        if shown is None:  # the lexer changed the text
            shown = console.render_str(line, markup=False, highlight=False, emoji=False)
        for start, end in spans(line, stems):
            shown.stylize(FOUND, start, end)
        if width:
            shown.truncate(width, overflow="ellipsis")
        console.print(shown, soft_wrap=True, highlight=False)
    return out.getvalue().split("\n")[:-1]
