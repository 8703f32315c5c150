"""`memory-sidecar category`: lists, creates, describes and deletes the folders of memories."""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import title
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import allow_secrets_option, command_group, resolve_text, with_agent
from memory_sidecar.core.results import pluralize
from memory_sidecar.memories.results import Category, CategoryDeleted, Described


@command_group
def category() -> None:
    """Categories of memories: folders, each with a word on what it is for."""


@category.command(name="list")
@with_agent
def list_categories(call: Call, *, agent: str) -> list[Category]:
    """Show the categories, described or in use, and how much each holds with all below it."""
    categories = call.mask(memories_of(call, agent).categories())
    return call.show(categories, map(_category_line, categories))


@category.command()
@click.argument("name")
@click.argument("description", nargs=-1)
@allow_secrets_option
@with_agent
def create(
    call: Call, *, agent: str, name: str, description: tuple[str, ...], allow_secrets: bool
) -> Described:
    """Make the category NAME, saying what it is for. An existing one stays as it is."""
    text = resolve_text(call, description) if description else ""
    described = memories_of(call, agent).describe_category(
        name, text, creates=True, allow_secrets=allow_secrets
    )
    return _show_described(call, described)


@category.command()
@click.argument("name")
@click.argument("description", nargs=-1, required=True)
@allow_secrets_option
@with_agent
def describe(
    call: Call, *, agent: str, name: str, description: tuple[str, ...], allow_secrets: bool
) -> Described:
    """Say what the category NAME is for; "" as its name is the root."""
    described = memories_of(call, agent).describe_category(
        name, resolve_text(call, description), creates=False, allow_secrets=allow_secrets
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
