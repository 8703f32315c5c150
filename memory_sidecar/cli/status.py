"""`memory-sidecar status`, `growth` and `why`: shows what is indexed, and what is not and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import NoReturn

import click
from rich.cells import set_cell_size

from memory_sidecar.agents.growth import Growth, growth_of
from memory_sidecar.agents.status import AgentStatus, Status, status_of
from memory_sidecar.agents.team_status import team_line
from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import path_from, title
from memory_sidecar.cli.numbers import Count
from memory_sidecar.cli.options import with_call, with_data_dir
from memory_sidecar.code.results import Why
from memory_sidecar.core.credentials import first_words, mask_document
from memory_sidecar.core.errors import UsageError, one_line
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.reasons import ASKED_FOR
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.times import format_duration, shown_utc
from memory_sidecar.core.visible import visible_line
from memory_sidecar.daemon.protocol import EXIT_INTERRUPTED
from memory_sidecar.index.report import pace_in_words
from memory_sidecar.memories.names import check_agent

REDRAW_S = 1.0
REDRAW = "\x1b[{lines}F\x1b[J"  # moves the cursor up by `lines` and erases all below
MAX_WEEKS = 104
MAX_QUESTION = 200  # characters printed of a question
_COLUMNS = ("memories", "sessions", "reads", "questions", "unanswered")


@click.command()
@click.option("--skipped", is_flag=True, help="List the files that are left out, and why.")
@click.option("--failed", is_flag=True, help="List the files that could not be indexed, and why.")
@click.option("--watch", is_flag=True, help="Refresh every second, until interrupted.")
@with_call
def status(call: Call, skipped: bool, failed: bool, watch: bool) -> Status:
    """Show what is indexed and remembered, how fresh it is, and what is missing."""
    if watch:
        if call.wants_json or skipped or failed:
            raise UsageError(
                "--watch takes no other option", hint="with --json, call again instead"
            )
        _watch(call)
    listed = (*([FileStatus.SKIPPED] if skipped else []), *([FileStatus.FAILED] if failed else []))
    found = call.mask(_status(call, listed))
    return call.show(found, _status_lines(call, found))


def _status_lines(call: Call, found: Status) -> Iterator[str]:
    yield from _summary(call, found)
    roots = {source.name: Path(source.root) for source in found.sources}
    for file in found.files or ():
        path = path_from(roots[file.source] / file.path, call.cwd) if file.source in roots else ""
        yield visible_line(f"{file.source}: {path or file.path}: {file.reason}")


def _summary(call: Call, found: Status) -> list[str]:
    return [visible_line(call.hint(line)) for line in _lines(found)]


def _watch(call: Call) -> NoReturn:
    """Print the status every second: in place on a terminal, else one below the other."""
    shown = 0
    while True:
        lines = _summary(call, mask_document(_status(call)))
        if call.is_terminal and call.environ.get("TERM") != "dumb":
            lines = lines[: max(call.rows - 1, 1)] if call.rows else lines  # what the screen holds
            lines = [set_cell_size(line, call.columns - 1).rstrip() for line in lines]
            call.stdout.write(REDRAW.format(lines=shown) if shown else "")
        elif shown:
            call.stdout.write("\n")
        call.print("\n".join(lines))
        call.stdout.flush()
        shown = len(lines)
        try:
            is_over = call.cancelled.wait(REDRAW_S)
        except KeyboardInterrupt:
            is_over = True
        if is_over:
            raise click.exceptions.Exit(EXIT_INTERRUPTED)


def _status(call: Call, listed: Sequence[FileStatus] = ()) -> Status:
    log = call.host.log if call.host else ""
    return status_of(call.services, call.db, call.reporter, daemon_log=log, listed=listed)


def _lines(found: Status) -> Iterator[str]:
    for source in found.sources:
        parts = (
            pluralize(source.files_indexed, "file"),
            pluralize(source.chunks, "chunk"),
            f"{source.files_skipped:,} skipped" if source.files_skipped else "",
            f"{source.files_failed:,} failed" if source.files_failed else "",
            source.state,
        )
        yield f"{source.name}: {', '.join(filter(None, parts))}  ({source.root})"
        if source.live and source.live.notice:
            yield f"  {source.live.notice}"
    if found.sources:
        pace = pace_in_words(found.vectors_per_second, found.vectors_seconds_left)
        yield f"vectors: {found.vectors:,} of {found.chunks:,}{pace}"
    else:
        yield "no source is indexed: `memory-sidecar index PATH`"
    for agent in found.agents:
        yield f"agent {agent.name}: {_describe_agent(agent)}"
    if found.model_problem:
        yield f"model: {found.model_problem.message}"
    else:
        yield f"model: {found.model}{', loaded' if found.model_loaded else ''}"
    yield f"database: {found.db} ({found.db_bytes / 1e6:.1f} MB)"
    if found.team:
        yield f"team: {team_line(found.team)}"
    if daemon := found.daemon:
        up, memory = format_duration(daemon.uptime_seconds), f"{daemon.resident_bytes / 1e6:.0f} MB"
        yield f"daemon: process {daemon.pid}, up {up}, {memory}, log {daemon.log}"
    if last := found.last_error:
        yield f"last error: {shown_utc(last.at)}: {last.message}"


def _describe_agent(agent: AgentStatus) -> str:
    embedded = agent.texts - agent.vectors_pending
    outdated = f" ({agent.memories_outdated:,} outdated)" if agent.memories_outdated else ""
    parts = [
        pluralize(agent.memories, "memory", "memories") + outdated,
        *([pluralize(agent.sessions, "session")] if agent.sessions else []),
        *([f"vectors {embedded:,} of {agent.texts:,}"] if agent.vectors_pending else []),
    ]
    return ", ".join([*parts, *filter(None, [agent.state])])


@click.command()
@click.option("--agent", metavar="A", help="Only of this agent.")
@click.option(
    "--weeks",
    type=Count(1, MAX_WEEKS),
    default=12,
    show_default=True,
    metavar="N",
    help="How many weeks, up to the current one.",
)
@with_data_dir
def growth(call: Call, *, agent: str | None, weeks: int) -> Growth:
    """Show what comes in by week, what is read and what never, and how questions fare.

    Questions are noted in the data directory alone, unless the setting `keep_questions` says no.
    """
    of = "" if agent is None else check_agent(agent)
    found = growth_of(call.services, of, weeks=weeks, reporter=call.reporter)
    found = call.mask(found)
    return call.show(found, _growth_lines(call, found))


def _growth_lines(call: Call, found: Growth) -> Iterator[TextLine]:
    yield "week of     ", *(f"{name:>11}" for name in _COLUMNS)
    weeks = dropwhile(lambda week: not any(getattr(week, name) for name in _COLUMNS), found.weeks)
    for week in [*weeks] or found.weeks[-1:]:
        yield week.begins[:10], "  ", *(f"{getattr(week, name):11,}" for name in _COLUMNS)
    reads = f"{found.hot:,} hot, {found.cold:,} cold, {found.never_read:,} never read"
    yield f"{pluralize(found.memories, 'memory', 'memories')}: {reads}"
    for memory in found.most_read:
        whose = f"  {memory.agent}" if len(found.agents) > 1 else ""
        yield f"{memory.uses + memory.refs:5,} reads  ", title(memory.path), whose
    for each in found.latency:
        half, most = f"{each.p50_ms:,.1f} ms", f"{each.p95_ms:,.1f} ms"
        yield f"{each.kind}: {pluralize(each.questions, 'question')}, p50 {half}, p95 {most}"
    for asked in found.unanswered:
        text = first_words(one_line(asked.text), MAX_QUESTION, "…")
        yield f"no good hit: {text}  ({asked.kind}, {pluralize(asked.times, 'time')})"
    if not found.keeps_questions:
        call.reporter.notice("questions are not recorded: the setting keep_questions is off")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@with_call
def why(call: Call, paths: tuple[str, ...]) -> Why | list[Why]:
    """Say whether PATH is indexed, and if not, why: by which rule of which file it is ignored.

    PATH is a file or a folder, from where you are. The JSON of several is an array.
    """
    found = call.mask([call.codebase.why(call.path(path)) for path in paths])
    lines = (line for each in found for line in _why_lines(call, each))
    return call.show(found[0] if len(found) == 1 else found, lines)


def _why_lines(call: Call, found: Why) -> Iterator[TextLine]:
    where = title(path_from(Path(found.path), call.cwd))
    of = f" (source {found.source})" if found.source else ""
    yield where, f": {_describe_fate(found)}{of}"
    if found.hint:
        yield call.hint(f"  {found.hint}")


def _describe_fate(found: Why) -> str:
    if found.fate == "indexed" and found.hint:
        return f"indexed {found.reason}"
    if found.fate == "indexed":
        vectors = f"{found.vectors:,} with a vector" if found.chunks else "nothing to search in it"
        how = " as it was " if found.reason == ASKED_FOR else " " if found.reason else ""
        return f"indexed{how}{found.reason}, {pluralize(found.chunks, 'chunk')}, {vectors}"
    if found.fate in ("skipped", "failed"):
        return f"{found.fate}: {found.reason}"
    return found.reason
