"""How hits of code read: where, what, and the few lines that show why.

    shop/cart.py:12-30  Cart.total  0.83
       14  def total(self):
       15      return sum(item.price for item in self.items)

On a terminal that has colours the path is a link, the code is coloured by its syntax, and the words
that the question asked for stand out.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from msgspec import UNSET

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import Styled, place_in
from memory_sidecar.code.excerpt import Excerpt, excerpt, spans, stems_of
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.model import Explanation
from memory_sidecar.core.results import Judged, tell_weak
from memory_sidecar.core.visible import visible

DIM = {"dim": True}
GUTTER = "{:>6}  "
THEME = "ansi_dark"  # the terminal's own colours, so that any background does
FOUND = "bold underline"
SUBJECT_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """What of the hits a caller wants to read."""

    question: str
    roots: Mapping[str, Path]  # of every source, by name
    names_source: bool  # as several were searched
    full: bool  # whole chunks
    only_files: bool


def note_quality(call: Call, hits: Sequence[Judged]) -> None:
    """Tell who reads `hits` that there are none, or none worth the name."""
    if not hits:
        call.reporter.notice("no hits")
    tell_weak(hits, call.reporter)


def hit_lines(call: Call, hits: Sequence[CodeHit], shown: HitView) -> list[str]:
    """The lines that show `hits`, best first."""
    if shown.only_files:
        files = dict.fromkeys((hit.source, hit.filename) for hit in hits)
        return [call.line(*_path(call, source, name, shown)) for source, name in files]
    stems = stems_of(shown.question)
    lines: list[str] = []
    for hit in hits:
        lines.append(_heading(call, hit, shown))
        if hit.copies:
            lines.append(_copies(call, hit, shown))
        if hit.explain:
            lines.append(call.line(f"  {explanation_line(hit.explain)}"))
        code = visible(hit.code).split("\n")
        part = Excerpt(0, tuple(code)) if shown.full else excerpt(code, stems)
        drawn = _coloured(call, hit.language, code, part, stems) if call.uses_colour else part.lines
        for number, line in enumerate(drawn, hit.start_line + part.first):
            lines.append(call.line(Styled(GUTTER.format(number), DIM)) + line.rstrip())
        lines.append("")
    return lines


def _path(
    call: Call, source: str, filename: str, shown: HitView, *, location: str = ""
) -> list[str | Styled]:
    """`filename` as it opens from where the call was made, behind its source's name if need be."""
    named: list[str | Styled] = [Styled(f"{source}  ", DIM)] if shown.names_source else []
    return [*named, place_in(shown.roots.get(source), filename, location, folder=call.cwd)]


def _heading(call: Call, hit: CodeHit, shown: HitView) -> str:
    what = hit.scope or ", ".join(hit.symbols[:3]) or hit.signature
    return call.line(
        *_path(call, hit.source, hit.filename, shown, location=f":{hit.location}"),
        *([f"  {what}"] if what else []),
        Styled(f"  {hit.score:.2f}{'  weak match' if hit.is_weak else ''}", DIM),
    )


def _copies(call: Call, hit: CodeHit, shown: HitView) -> str:
    """A line for the near-identical chunks that `hit` stands for."""
    first = hit.copies[0]
    path = _path(call, first.source, first.filename, shown, location=f":{first.location}")
    more = f" and {len(hit.copies) - 1} more" if len(hit.copies) > 1 else ""
    return call.line(Styled("  also in ", DIM), *path, Styled(more, DIM))


def _coloured(
    call: Call, language: str, code: Sequence[str], part: Excerpt, stems: frozenset[str]
) -> list[str]:
    """The lines of `part`, one of `code`, for a terminal."""
    from rich.console import Console
    from rich.syntax import Syntax

    out = io.StringIO()
    width = max(call.columns - len(GUTTER.format(0)), 20) if call.is_terminal else None
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        width=width or 1000,
        _environ={},
    )
    # The whole chunk tells what its lines are: a docstring, a comment of several lines.
    drawn = Syntax("", language, theme=THEME).highlight("\n".join(code)).split("\n")
    for number, line in enumerate(part.lines, part.first):
        text = drawn[number] if number < len(drawn) and drawn[number].plain == line else None
        if text is None:  # a lexer that does not give back what it was given
            text = console.render_str(line, markup=False, highlight=False, emoji=False)
        for start, end in spans(line, stems):
            text.stylize(FOUND, start, end)
        if width:
            text.truncate(width, overflow="ellipsis")
        console.print(text, soft_wrap=True, highlight=False)
    return out.getvalue().split("\n")[:-1]


def explanation_line(why: Explanation) -> str:
    """The terms as a sum, with what the arms said themselves."""
    arms = {"cosine": why.cosine, "keyword": why.keyword}
    told = []
    for name, value in why.terms.items():
        arm = arms.get(name)
        own = "" if arm is None else f" ({arm:.3f})"
        if name == "history" and why.commits is not UNSET:
            own = f" ({_first_of(why.commits)})"
        told.append(f"{value:+.3f} {name}{own}")
    return " ".join(told) or "nothing speaks for it"


def _first_of(subjects: Sequence[str]) -> str:
    more = f", {len(subjects) - 1} more" if len(subjects) > 1 else ""
    return f"'{shorten(subjects[0], SUBJECT_CHARACTERS, placeholder=' …')}'{more}"


def note_team(call: Call) -> None:
    """Say which database of a team stands behind the answer, and how fast it is."""
    if call.services.settings.database:
        from memory_sidecar.agents.team_status import team_line, team_status

        if (team := team_status(call.services)) is not None:
            call.reporter.notice(f"team: {team_line(team)}")
