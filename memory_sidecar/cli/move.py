"""`memory-sidecar move` and `memory-sidecar share`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import allow_secrets_option, with_agent
from memory_sidecar.cli.store import show_remembered
from memory_sidecar.memories.results import Moved, Remembered


@click.command()
@click.argument("path", metavar="FROM")
@click.argument("to", metavar="TO")
@allow_secrets_option
@with_agent
def move(call: Call, *, agent: str, path: str, to: str, allow_secrets: bool) -> Moved:
    """Rename the memory FROM, or move it to another category.

    TO is its new path, or the category: one that is there, or a new one with `/` at its end. Its
    file stays as it is, its reads count on, and memories that name it follow.
    """
    moved = memories_of(call, agent).move(path, to, allow_secrets=allow_secrets)
    return call.show(moved, _print_moved)


def _print_moved(call: Call, moved: Moved) -> None:
    call.print(f"{moved.moved_from} is {moved.path} now")
    for each in moved.relinked:
        call.print(f"relinked {each}")


@click.command()
@click.argument("path")
@click.option("--category", metavar="C", help="Where to; its own category otherwise.")
@click.option("--move", "moves", is_flag=True, help="Take it from the agent's own memories.")
@allow_secrets_option
@with_agent
def share(
    call: Call, *, agent: str, path: str, category: str | None, moves: bool, allow_secrets: bool
) -> Remembered:
    """Let all agents read the memory at PATH: a copy goes to `shared`, saying whose it was."""
    remembered = memories_of(call, agent).share(
        path, category=category, moves=moves, allow_secrets=allow_secrets
    )
    return show_remembered(call, remembered, "shared" if remembered.created else "shared already:")
