"""`memory-sidecar list`, `recent` and `get` show memories; `category` is about their folders."""

from __future__ import annotations

from typing import Any, TypeVar

import click
from msgspec import UNSET

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import title
from memory_sidecar.cli.memory_form import memories_of, memory_lines, with_filters
from memory_sidecar.cli.numbers import COUNT
from memory_sidecar.cli.options import (
    allow_secrets_option,
    command_group,
    text_argument,
    with_agent,
)
from memory_sidecar.core.results import build_from, pluralize
from memory_sidecar.memories.model import MemoryFilter, MemoryList, Relation, Sort
from memory_sidecar.memories.results import (
    SUPERSEDED,
    Category,
    CategoryDeleted,
    Described,
    Listed,
    Memory,
)

_COLUMNS = {
    "updated_at": "updated",
    "created_at": "created",
    "token_estimate": "tokens",
    "refs": "reads",
}
RECENT_LIMIT = 10

M = TypeVar("M", Listed, Memory)


class _SortName(click.Choice[str]):
    """Takes a `Sort`, or the name of its column, which help and errors do not list."""

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:  # noqa: ANN401
        return super().normalize_choice(_COLUMNS.get(choice, choice), ctx)


@click.command(name="list")
@click.option(
    "--sort",
    type=_SortName([sort.value for sort in Sort]),
    help="Ascending unless --desc; without --sort, the latest change first.",
)
@click.option("--desc", is_flag=True, help="Descending.")
@click.option("-n", "--limit", type=COUNT, help="At most N; by default all.")
@click.option("--offset", type=COUNT, default=0, help="How many to pass over.")
@click.option("--content", "with_content", is_flag=True, help="Also print their text.")
@click.option("--shared", "with_shared", is_flag=True, help="Include what all agents share.")
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
        sort=Sort(sort) if sort else Sort.UPDATED,
        is_descending=desc if sort else True,
        limit=limit,
        offset=offset,
    )
    found = memories_of(call, agent).list(asked, with_shared=with_shared)
    content = {} if with_content else {"content": UNSET}
    shown = call.mask([build_from(Listed, memory, **content) for memory in found])
    return _show(call, shown, wanted)


@click.command()
@click.option(
    "-n", "--limit", type=COUNT, default=RECENT_LIMIT, show_default=True, help="At most N."
)
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
    found = call.mask(memories_of(call, agent).list(asked, with_shared=not no_shared))
    return _show(call, found, wanted)


def _show(call: Call, found: list[M], wanted: MemoryFilter) -> list[M]:
    nothing = "no such memory" if wanted != MemoryFilter() else ""  # "": another notice says it
    return call.show(found, memory_lines(call, found), nothing=nothing)


@click.command()
@click.argument("path")
@click.option("--no-shared", is_flag=True, help="Only the agent's own memories.")
@with_agent
def get(call: Call, *, agent: str, path: str, no_shared: bool) -> Memory:
    """Print the memory at PATH, as `query` and `list` name it. Its `.md` may be left out.

    The first letters suffice if only one memory begins with them. An atom of a dense-context root
    is also found by its id: EXP-042, or shop/EXP-042.

    The read is counted: what is used fades more slowly.
    """
    memory = call.mask(memories_of(call, agent).get(path, with_shared=not no_shared))
    if marks := () if call.wants_json else memory.outdated_marks:
        by = ", ".join(memory.relations.get(Relation.SUPERSEDED_BY, ()))
        named = (f"{each} by {by}" if each == SUPERSEDED and by else each for each in marks)
        call.reporter.notice(f"{memory.path} is outdated: {' and '.join(named)}")
    return call.show(memory, [memory.content])


@command_group
def category() -> None:
    """Categories of memories: folders, each with a word on what it is for."""


@category.command(name="list")
@with_agent
def list_categories(call: Call, *, agent: str) -> list[Category]:
    """Show the categories, described or in use, and how much each holds with all below it."""
    categories = call.mask(memories_of(call, agent).categories())
    return call.show(categories, map(_category_line, categories), nothing="no category yet")


@category.command()
@click.argument("name")
@text_argument("description", required=False)
@allow_secrets_option
@with_agent
def create(
    call: Call, *, agent: str, name: str, description: str | None, allow_secrets: bool
) -> Described:
    """Make the category NAME, saying what it is for. An existing one stays as it is."""
    text = "" if description is None else call.text(description)
    described = memories_of(call, agent).describe_category(
        name, text, creates=True, allow_secrets=allow_secrets
    )
    return _show_described(call, described)


@category.command()
@click.argument("name")
@text_argument("description")
@allow_secrets_option
@with_agent
def describe(
    call: Call, *, agent: str, name: str, description: str, allow_secrets: bool
) -> Described:
    """Say what the category NAME is for; "" as its name is the root."""
    described = memories_of(call, agent).describe_category(
        name, call.text(description), creates=False, allow_secrets=allow_secrets
    )
    return _show_described(call, described)


@category.command()
@click.argument("name")
@click.option("--with-memories", is_flag=True, help="Archive the memories in it.")
@with_agent
def delete(call: Call, *, agent: str, name: str, with_memories: bool) -> CategoryDeleted:
    """Remove the category NAME and everything below it."""
    deleted = memories_of(call, agent).delete_category(name, with_memories=with_memories)
    archived = pluralize(deleted.archived, "memory", "memories")
    command = f"`memory-sidecar restore --batch {deleted.batch}`"
    back = call.hint(f"; {command} brings it back") if deleted.batch else ""
    return call.show(deleted, [f"deleted {deleted.category}; {archived} archived{back}"])


def _category_line(each: Category) -> TextLine:
    held = pluralize(each.total_memories, "memory", "memories")
    held += f", {pluralize(each.total_tokens, 'token')}"
    return title(each.path), f"  {held}  {each.description}".rstrip()


def _show_described(call: Call, described: Described) -> Described:
    return call.show(described, [f"{described.category}: {described.description}".rstrip(": ")])
