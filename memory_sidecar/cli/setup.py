"""`memory-sidecar setup`: adds memory-sidecar to the settings of coding agents, or removes it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated

import click

from memory_sidecar.agents.skills import all_skills
from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import Styled, title
from memory_sidecar.cli.options import with_data_dir
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.installation import own_command
from memory_sidecar.core.projects import DATA_DIR_OPTION, DATA_DIR_VARIABLE
from memory_sidecar.core.results import about
from memory_sidecar.memories.names import check_agent
from memory_sidecar.setup.agents import CODING_AGENTS, CodingAgent
from memory_sidecar.setup.plan import Plan, Step, StepOutcome, Wish

NAMES = [agent.name for agent in CODING_AGENTS]


@dataclass(frozen=True, slots=True)
class SetUp:
    """The changes to the settings of coding agents."""

    written: Annotated[bool, about("false for a dry run, and where there is nothing to change")]
    steps: tuple[Step, ...]


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...", type=click.Choice(NAMES))
@click.option("--undo", is_flag=True, help="Remove exactly what was written.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--agent", "owner", metavar="A", help="Whose memories they share; by default yours.")
@with_data_dir
def setup(
    call: Call, *, agents: tuple[str, ...], undo: bool, dry_run: bool, yes: bool, owner: str | None
) -> SetUp:
    """Tell coding agents of memory-sidecar: its MCP server, skills and hooks.

    AGENT is any of claude, codex, cursor, opencode, vscode, gemini, windsurf and zed; by default
    every one that is installed. Shows what it changes in which file, and asks before it writes.
    """
    if undo and owner is not None:
        raise UsageError("--undo needs no --agent", hint="name a coding agent to undo only that")
    plan = Plan(call.environ)
    chosen = _choose_agents(call, agents, plan, undo=undo)
    if undo:
        plan.take_back([agent.name for agent in chosen])
    else:
        wish = _make_wish(call, owner)
        for agent in chosen:
            plan.add(agent, wish)
    may_write = not dry_run and any(step.outcome.is_change for step in plan.steps)
    asks = may_write and not yes
    if asks:
        call.confirm(step_lines(plan.steps, is_done=False), "Write this?")
    if may_write or (undo and plan.steps and not dry_run):  # also to drop the notes of what is gone
        plan.carry_out()
    shown = () if asks else plan.steps
    done = SetUp(may_write, tuple(plan.steps))
    call.show(done, _lines_of(done, steps=shown, undo=undo))
    if done.written and not undo:
        _offer_sessions(call, chosen, owner)
    plan.require_all()
    return done


def _choose_agents(
    call: Call, names: tuple[str, ...], plan: Plan, *, undo: bool
) -> list[CodingAgent]:
    if names:
        return [agent for agent in CODING_AGENTS if agent.name in names]
    if undo:
        known = plan.known_agents()
        return [agent for agent in CODING_AGENTS if agent.name in known]
    installed = [agent for agent in CODING_AGENTS if agent.is_installed(call.environ)]
    if not installed:
        raise NotFound(
            "no known coding agent is installed",
            hint=f"name one to set it up anyway: {', '.join(NAMES)}",
        )
    return installed


def _offer_sessions(call: Call, agents: Sequence[CodingAgent], owner: str | None) -> None:
    """Say which command imports the sessions that `agents` had before."""
    if patterns := [each for agent in agents if (each := agent.find_sessions(call.environ))]:
        whose = f" --agent {owner}" if owner else ""
        command = f"`memory-sidecar session import {' '.join(patterns)}{whose}`"
        call.reporter.notice(call.hint(f"{command} makes their earlier sessions searchable"))


def _make_wish(call: Call, owner: str | None) -> Wish:
    named = call.data_dir or call.environ.get(DATA_DIR_VARIABLE)
    data_dir = [DATA_DIR_OPTION, str(call.path(str(named)))] if named else []
    options = [*(["--agent", check_agent(owner)] if owner else []), *data_dir]
    command = own_command()
    return Wish(
        entry={"command": command[0], "args": [*command[1:], "mcp", *options]},
        hooks={
            "SessionStart": {
                "matcher": "startup|clear|compact",  # a resumed session has the text already
                "hooks": [_make_hook(command, ["session", "start", *options], is_read=True)],
            },
            "PostToolUse": {
                "matcher": "Read|Grep",
                "hooks": [_make_hook(command, ["context", "access", "-", *data_dir])],
            },
            "SessionEnd": {"hooks": [_make_hook(command, ["session", "import", "-", *options])]},
        },
        skills={skill.name: Path(skill.path).read_text("utf-8") for skill in all_skills()},
    )


def _make_hook(
    command: list[str], arguments: list[str], *, is_read: bool = False
) -> dict[str, str]:
    """Make a hook that runs `command` with `arguments`; its agent reads the output if `is_read`."""
    line = shlex.join([*command, *arguments])
    return {"type": "command", "command": line if is_read else f"{line} >/dev/null"}


def _lines_of(done: SetUp, *, steps: Sequence[Step], undo: bool) -> Iterator[TextLine]:
    yield from step_lines(steps, is_done=done.written)
    if any(step.outcome is StepOutcome.FAILED for step in done.steps):
        return  # the error that follows names them
    if done.written:
        yield "taken back" if undo else "written; `memory-sidecar setup --undo` removes it"
    elif any(step.outcome.is_change for step in done.steps):
        yield "nothing was written; --yes writes it"
    else:
        yield "nothing to change"


def step_lines(steps: Sequence[Step], *, is_done: bool) -> Iterator[str | Styled]:
    """Return the lines that show `steps` by coding agent, alike ones in one line."""
    in_order = sorted(steps, key=lambda step: NAMES.index(step.agent))  # --undo mixes them
    for agent, of_agent in groupby(in_order, key=lambda step: step.agent):
        yield title(agent)
        for (outcome, reason, kind, place), alike in groupby(of_agent, key=_of_one_line):
            names = [step.what.removeprefix(f"{kind} ") for step in alike]
            what = f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names)}"
            yield f"  {outcome.describe(reason, is_done=is_done)}: {what}  {place}"


def _of_one_line(step: Step) -> tuple[StepOutcome, str, str, str]:
    """Return what the steps that are shown in one line have in common: skills, or hooks."""
    kind = step.what.partition(" ")[0]
    place = str(Path(step.path).parents[1]) if kind == "skill" else step.path
    return step.outcome, step.reason, kind, place
