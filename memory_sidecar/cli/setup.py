"""`memory-sidecar setup`"""

from __future__ import annotations

import shlex
import sys
from itertools import groupby

import click

from memory_sidecar.agents.skills import all_skills
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title
from memory_sidecar.cli.options import with_call
from memory_sidecar.cli.service import own_command
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.locate import DATA_DIR_OPTION, DATA_DIR_VARIABLE, data_dir_option
from memory_sidecar.memories.names import check_agent
from memory_sidecar.setup.agents import CODING_AGENTS, CodingAgent
from memory_sidecar.setup.plan import Outcome, Plan, Wish

NAMES = [agent.name for agent in CODING_AGENTS]


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option("--undo", is_flag=True, help="Take back exactly what was written.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--agent", "owner", metavar="A", help="Whose memories they share; yours by default.")
@with_call
def setup(
    call: Call, *, agents: tuple[str, ...], undo: bool, dry_run: bool, yes: bool, owner: str | None
) -> None:
    """Have coding agents know memory-sidecar: MCP server, skills and hooks.

    AGENT is any of claude, codex, cursor, vscode, gemini, windsurf and zed; by default every one
    that is installed. Shows what it changes in which file, and asks before it writes.
    """
    plan = Plan(call.environ)
    chosen = _chosen(call, agents, plan, undo=undo)
    if undo:
        plan.take_back([agent.name for agent in chosen])
    else:
        wish = _wish(call, owner)
        for agent in chosen:
            plan.add(agent, wish)
    changes = any(step.outcome in (Outcome.ADDED, Outcome.REMOVED) for step in plan.steps)
    is_written = changes and not dry_run and (yes or call.wants_json)
    if not call.wants_json:
        _show(call, plan)
        if changes and not dry_run and not yes:
            is_written = _asked("Write this?")
    if is_written or (undo and not dry_run and not changes):
        plan.carry_out()
    if call.wants_json:
        steps = [
            {
                "agent": step.agent,
                "what": step.what,
                "path": step.path,
                "outcome": step.outcome.value,
                "reason": step.reason,
            }
            for step in plan.steps
        ]
        call.print_json({"written": is_written, "steps": steps})
    elif is_written:
        call.print("written; `memory-sidecar setup --undo` takes it back" if not undo else "done")
    elif not changes:
        call.print("nothing to change")
    else:
        call.print("nothing was written" + ("" if dry_run else "; --yes writes it"))


def _chosen(call: Call, names: tuple[str, ...], plan: Plan, *, undo: bool) -> list[CodingAgent]:
    for name in names:
        if name not in NAMES:
            raise UsageError(f"unknown coding agent {name!r}", hint=f"any of {', '.join(NAMES)}")
    if names:
        return [agent for agent in CODING_AGENTS if agent.name in names]
    if undo:
        known = plan.known_agents()
        return [agent for agent in CODING_AGENTS if agent.name in known]
    installed = [agent for agent in CODING_AGENTS if agent.is_installed(call.environ)]
    if not installed:
        raise NotFound(
            "no coding agent is installed that this knows",
            hint=f"name one to set it up all the same: {', '.join(NAMES)}",
        )
    return installed


def _wish(call: Call, owner: str | None) -> Wish:
    options = ["--agent", check_agent(owner)] if owner else []
    named = data_dir_option(call.arguments) or call.environ.get(DATA_DIR_VARIABLE)
    if named:
        options += [DATA_DIR_OPTION, str(call.path(named))]
    command = own_command()
    return Wish(
        entry={"command": command[0], "args": [*command[1:], "mcp", *options]},
        hooks={
            "PostToolUse": {
                "matcher": "Read|Grep",
                "hooks": [_hook(command, ["context", "access", "-"])],
            },
            "SessionEnd": {"hooks": [_hook(command, ["session", "import", "-", *options])]},
        },
        skills={skill.name: skill.file.read_text("utf-8") for skill in all_skills()},
    )


def _hook(command: list[str], arguments: list[str]) -> dict[str, str]:
    return {"type": "command", "command": shlex.join([*command, *arguments]) + " >/dev/null"}


def _show(call: Call, plan: Plan) -> None:
    for agent, steps in groupby(plan.steps, key=lambda step: step.agent):
        call.print(title(agent))
        for step in steps:
            why = f" ({step.reason})" if step.reason else ""
            call.print(f"  {step.outcome}{why}: {step.what}  {step.path}")


def _asked(question: str) -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and click.confirm(question, err=True)
