"""`memory-sidecar list`"""

from __future__ import annotations

import click
from msgspec import UNSET

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of, print_memories, with_filters
from memory_sidecar.cli.options import COUNT, with_agent
from memory_sidecar.core.results import told_as
from memory_sidecar.memories.model import MemoryFilter, MemoryList, Sort
from memory_sidecar.memories.results import Listed

# Lists go by the names that the columns have, too.
_SORTS = {sort.value: sort for sort in Sort} | {
    "updated_at": Sort.UPDATED,
    "created_at": Sort.CREATED,
    "token_estimate": Sort.TOKENS,
}


@click.command(name="list")
@click.option(
    "--sort",
    type=click.Choice(list(_SORTS)),
    metavar=f"[{'|'.join(Sort)}]",
    help="Ascending, unless --desc; without --sort, the latest change first.",
)
@click.option("--desc", is_flag=True, help="The other way round.")
@click.option("--limit", type=COUNT)
@click.option("--offset", type=COUNT, default=0)
@click.option("--content", "with_content", is_flag=True, help="With what they say.")
@click.option("--shared", "with_shared", is_flag=True, help="Also what all agents share.")
@with_agent
@with_filters
def list_memories(
    call: Call,
    *,
    agent: str,
    wanted: MemoryFilter,
    sort: str | None,
    desc: bool,
    limit: int | None,
    offset: int,
    with_content: bool,
    with_shared: bool,
) -> list[Listed]:
    """List memories by what they are: category, tags, age, source, status.

    What is expired or superseded is left out unless asked for.
    """
    asked = MemoryList(
        filter=wanted,
        sort=_SORTS[sort] if sort else Sort.UPDATED,
        is_descending=desc if sort else True,
        limit=limit,
        offset=offset,
    )
    found = memories_of(call, agent).list(asked, with_shared=with_shared)
    content = {} if with_content else {"content": UNSET}
    shown = [told_as(Listed, memory, **content) for memory in found]
    return call.show(call.masked(shown), print_memories)
