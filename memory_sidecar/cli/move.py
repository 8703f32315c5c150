"""`memory-sidecar move` and `memory-sidecar share`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import allow_secrets_option, with_agent
from memory_sidecar.cli.store import print_remembered, remembered_json


@click.command()
@click.argument("path", metavar="FROM")
@click.argument("to", metavar="TO")
@with_agent
def move(call: Call, *, agent: str, path: str, to: str) -> None:
    """Rename the memory FROM; TO ending with `/` is a category to move it to.

    Its file stays as it is, its reads count on, and memories that name it follow.
    """
    moved, remembered = memories_of(call, agent).move(path, to)
    call.reporter.close()
    relinked = [each for each in moved.changed if each not in (moved.old, moved.file.path)]
    if call.wants_json:
        call.print_json(
            remembered_json(remembered) | {"moved_from": moved.old, "relinked": relinked}
        )
        return
    call.print(f"{moved.old} is {remembered.path} now")
    for each in relinked:
        call.print(f"relinked {each}")


@click.command()
@click.argument("path")
@click.option("--category", metavar="C", help="Where to; its own category otherwise.")
@click.option("--move", "moves", is_flag=True, help="Take it from the agent's own memories.")
@allow_secrets_option
@with_agent
def share(
    call: Call, *, agent: str, path: str, category: str | None, moves: bool, allow_secrets: bool
) -> None:
    """Let all agents read the memory at PATH: a copy goes to `shared`, saying whose it was."""
    remembered = memories_of(call, agent).share(
        path, category=category, moves=moves, allow_secrets=allow_secrets
    )
    print_remembered(call, remembered, "shared" if remembered.written.is_new else "shared already:")
