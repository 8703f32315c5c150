"""`memory-sidecar recent`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of, print_memories, with_filters
from memory_sidecar.cli.options import COUNT, with_agent
from memory_sidecar.memories.model import MemoryFilter, MemoryList
from memory_sidecar.memories.results import Memory

RECENT_LIMIT = 10


@click.command()
@click.option("--limit", type=COUNT, default=RECENT_LIMIT, show_default=True)
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@with_agent
@with_filters
def recent(
    call: Call, *, agent: str, wanted: MemoryFilter, limit: int, no_shared: bool
) -> list[Memory]:
    """Show what was remembered or changed last, with what it says.

    Pages around the atoms of a dense-context root are left out: `list` has them.
    """
    asked = MemoryList(filter=wanted, limit=limit, without_pages=True)
    found = memories_of(call, agent).list(asked, with_shared=not no_shared)
    return call.show(call.masked(found), print_memories)
