"""`memory-sidecar category`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import allow_secrets_option, joined, with_agent, with_help
from memory_sidecar.memories.categories import Described


@click.group()
@with_help
def category() -> None:
    """Categories of memories: folders, each with a word on what it is for."""


@category.command(name="list")
@with_agent
def list_categories(call: Call, *, agent: str) -> None:
    """Show the categories, described or in use."""
    rows = call.masked(memories_of(call, agent).categories())
    call.reporter.close()
    if call.wants_json:
        call.print_json(
            [
                {
                    "path": row.path,
                    "parent_path": row.parent_path,
                    "description": row.description,
                    "memories": row.memories,
                }
                for row in rows
            ]
        )
        return
    for row in rows:
        call.print(f"{row.path}  {row.memories}  {row.description}".rstrip())


@category.command()
@click.argument("name")
@click.argument("description", nargs=-1)
@allow_secrets_option
@with_agent
def create(
    call: Call, *, agent: str, name: str, description: tuple[str, ...], allow_secrets: bool
) -> None:
    """Make the category NAME, saying what it is for. One that is there stays as it is."""
    text = joined(call, description) if description else ""
    memories = memories_of(call, agent)
    _print_described(
        call, memories.describe_category(name, text, creates=True, allow_secrets=allow_secrets)
    )


@category.command()
@click.argument("name")
@click.argument("description", nargs=-1, required=True)
@allow_secrets_option
@with_agent
def describe(
    call: Call, *, agent: str, name: str, description: tuple[str, ...], allow_secrets: bool
) -> None:
    """Say what the category NAME is for; "" as its name is the root."""
    text = joined(call, description)
    memories = memories_of(call, agent)
    _print_described(
        call, memories.describe_category(name, text, creates=False, allow_secrets=allow_secrets)
    )


@category.command()
@click.argument("name")
@click.option("--with-memories", is_flag=True, help="Take those in it into the archive.")
@with_agent
def delete(call: Call, *, agent: str, name: str, with_memories: bool) -> None:
    """Remove the category NAME and everything below it."""
    taken = memories_of(call, agent).delete_category(name, with_memories=with_memories)
    call.reporter.close()
    if call.wants_json:
        batch = taken[0].batch if taken else None
        call.print_json({"category": name, "archived": len(taken), "batch": batch})
        return
    call.print(f"deleted {name}; {len(taken)} memories archived")


def _print_described(call: Call, described: Described) -> None:
    call.reporter.close()
    if call.wants_json:
        call.print_json(
            {
                "category": described.category,
                "description": described.description,
                "created": described.is_new,
            }
        )
        return
    call.print(f"{described.category}: {described.description}".rstrip(": "))
