"""`memory-sidecar skills`"""

from __future__ import annotations

import click

from memory_sidecar.agents.skills import Skill, all_skills, install_skills
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call, with_help
from memory_sidecar.outputs import upkeep as out


@click.group()
@with_help
def skills() -> None:
    """Skills for coding agents: when and how to search, index and remember."""


@skills.command(name="list")
@with_call
def list_skills(call: Call) -> None:
    """Show the skills that come with this version."""
    _print(call, all_skills())


@skills.command()
@click.argument("folder", metavar="DIR")
@click.option("--force", is_flag=True, help="Replace skills of these names that were changed.")
@with_call
def install(call: Call, folder: str, force: bool) -> None:
    """Copy the skills into DIR, where an agent looks for them: `.claude/skills`, `.agents/skills`.

    Skills that are there and say something else are left alone, and so are then all others.
    """
    _print(call, install_skills(call.path(folder), force=force))


def _print(call: Call, shown: list[Skill]) -> None:
    if call.wants_json:
        call.print_json([_skill_json(skill) for skill in shown])
        return
    for skill in shown:
        call.print(f"{skill.name}: {skill.file}")
        call.print(f"  {skill.description}")


def _skill_json(skill: Skill) -> out.Skill:
    return {
        "name": skill.name,
        "description": skill.description,
        "path": skill.file.as_posix(),
    }
