"""`memory-sidecar recent`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import print_memories, with_filters
from memory_sidecar.cli.options import COUNT, with_agent
from memory_sidecar.memories.model import MemoryFilter, MemoryList

RECENT_LIMIT = 10


@click.command()
@click.option("--limit", type=COUNT, default=RECENT_LIMIT, show_default=True)
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@with_agent
@with_filters
def recent(call: Call, *, agent: str, wanted: MemoryFilter, limit: int, no_shared: bool) -> None:
    """Show what was remembered or changed last, with what it says.

    Pages around the atoms of a dense-context root are left out: `list` has them.
    """
    asked = MemoryList(filter=wanted, limit=limit, without_pages=True)
    print_memories(call, agent, asked, with_content=True, with_shared=not no_shared)
