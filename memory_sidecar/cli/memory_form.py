"""Options that filter memories, and the form in which memories are shown to a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.fitting import fit_line
from memory_sidecar.cli.form import title
from memory_sidecar.cli.numbers import FRACTION
from memory_sidecar.cli.options import Command
from memory_sidecar.core.times import parse_past_time
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.memories.files import repeats_title, without_markup
from memory_sidecar.memories.model import MemoryFilter
from memory_sidecar.memories.results import Facts, Listed, Memory

if TYPE_CHECKING:
    from memory_sidecar.memories.handlers import Memories

TIME_HELP = "A date, `last week`, or a while ago: 7d, 12h, 6mo."
STRENGTH_HELP = "From 1 (just stored or read) to 0 (long unused)."

_OPTIONS = (
    click.option("--category", default="", metavar="C", help="In this category or below it."),
    click.option(
        "--tag", "tags", multiple=True, metavar="T", help="Any of these; `key:` for any value."
    ),
    click.option("--after", "updated_after", metavar="TIME", help=f"Changed since. {TIME_HELP}"),
    click.option("--before", "updated_before", metavar="TIME", help="Not changed since."),
    click.option("--created-after", metavar="TIME", help="Stored since."),
    click.option("--created-before", metavar="TIME", help="Stored before then."),
    click.option("--source", default="", help="Who or what wrote it."),
    click.option("--status", "statuses", multiple=True, metavar="S", help="Any of these."),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice([kind.value for kind in AtomKind]),
        help="Atoms of a dense-context root, of any of these kinds.",
    ),
    click.option("--project", default="", help="Stored in this project, or an atom of it."),
    click.option("--hot", is_flag=True, help="Read five times or more."),
    click.option("--cold", is_flag=True, help="Two weeks old and never read."),
    click.option("--stronger-than", type=FRACTION, metavar="STRENGTH", help=STRENGTH_HELP),
    click.option("--weaker-than", type=FRACTION, metavar="STRENGTH", help="The same."),
    click.option("--include-expired", "with_expired", is_flag=True, help="Also what has expired."),
    click.option(
        "--include-superseded", "with_superseded", is_flag=True, help="Also what was replaced."
    ),
)
_FILTER_FIELDS = tuple(MemoryFilter.__dataclass_fields__)
_TIME_FIELDS = ("updated_after", "updated_before", "created_after", "created_before")


def with_filters(command: Command) -> Command:
    """Add the options that filter memories, passed as a MemoryFilter, `wanted`."""

    @wraps(command)
    def wrapper(call: Call, **given: Any) -> object:  # noqa: ANN401  options of any kind
        chosen = {name: given.pop(name) for name in _FILTER_FIELDS}
        for name in _TIME_FIELDS:
            chosen[name] = parse_past_time(chosen[name])
        chosen["project"] = call.services.project_named(chosen["project"], call.path)
        return command(call, wanted=MemoryFilter(**chosen), **given)

    return reduce(lambda made, option: option(made), reversed(_OPTIONS), wrapper)


def memories_of(call: Call, agent: str) -> Memories:
    """Open the memories of `agent` for this call."""
    from memory_sidecar.memories.handlers import Memories  # late: a search in code needs none

    return Memories(call.services.agent(agent, call.db), call.reporter)


def memory_line(
    call: Call, memory: Facts, below: Sequence[str], *, score: str = "", quality: str = ""
) -> TextLine:
    """Return the line that shows a memory: `score`, its path, date, marks, `quality` and title.

    The title is left out if it is only the beginning of the first line shown `below`.
    """
    marks = [
        *(["shared"] if memory.shared else []),
        *memory.outdated_marks,
        *(["pinned"] if memory.pinned else []),
        *([f"of {memory.project}"] if memory.project and not memory.kind else []),
    ]
    marked = f" [{', '.join(marks)}]" if marks else ""
    day = memory.updated_at[:10]
    first = without_markup(next(iter(below), ""))
    is_cut = memory.title.endswith("…") and first.startswith(memory.title[:-1])
    head = (score, title(memory.path), f"  {day}{marked}{quality}")
    return fit_line(call, head, "" if is_cut else memory.title)


def body_lines(memory: Facts, text: str) -> list[str]:
    """Return the lines of a memory's `text` to show below its title, which they do not repeat."""
    first, _, rest = text.strip("\n").partition("\n")
    if repeats_title(first, memory.title):
        text = rest.lstrip("\n")
    return text.split("\n") if text else []


def memory_lines(call: Call, memories: Sequence[Memory | Listed]) -> Iterator[TextLine]:
    """Yield a line for each memory, and its content below, if there is any."""
    for memory in memories:
        content = memory.content if isinstance(memory.content, str) else None
        lines = [] if content is None else body_lines(memory, content)
        yield memory_line(call, memory, lines)
        yield from (f"  {line}" for line in lines)
        if content is not None:
            yield ""


def note_team(call: Call) -> None:
    """Report, if a team's database is set, which one answered and how fast it is."""
    if call.services.settings.database:
        from memory_sidecar.agents.team_status import team_line, team_status

        if (team := team_status(call.services)) is not None:
            call.reporter.notice(f"team: {team_line(team)}")
