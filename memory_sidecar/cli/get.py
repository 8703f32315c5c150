"""`memory-sidecar get`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import with_agent
from memory_sidecar.memories.results import Memory


@click.command()
@click.argument("path")
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@with_agent
def get(call: Call, *, agent: str, path: str, no_shared: bool) -> Memory:
    """Print the memory at PATH, as `query` and `list` name it. Its `.md` may be left out.

    The first letters suffice where they are of one memory alone. An atom of a dense-context root
    is also found by its id: EXP-042, or shop/EXP-042.

    The read is counted: what is used fades more slowly.
    """
    memory = memories_of(call, agent).get(path, with_shared=not no_shared)
    return call.show(call.masked(memory), _print_memory)


def _print_memory(call: Call, memory: Memory) -> None:
    call.print(memory.content)
