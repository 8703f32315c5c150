"""`memory-sidecar get`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of, memory_json
from memory_sidecar.cli.options import with_agent


@click.command()
@click.argument("path")
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@with_agent
def get(call: Call, *, agent: str, path: str, no_shared: bool) -> None:
    """Print the memory at PATH, as `query` and `list` name it. Its `.md` may be left out.

    An atom of a dense-context root is also found by its id: EXP-042, or shop/EXP-042.

    The read is counted: what is used fades more slowly.
    """
    owner, stored = call.masked(memories_of(call, agent).get(path, with_shared=not no_shared))
    call.reporter.close()
    if call.wants_json:
        call.print_json({"content": stored.memory.content} | memory_json(owner, stored))
    else:
        call.print(stored.memory.content)
