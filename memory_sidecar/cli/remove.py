"""`memory-sidecar remove`, `prune` and `restore`: memories into the archive, and back."""

from __future__ import annotations

import shlex
from dataclasses import replace

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import STRENGTH_HELP, memories_of
from memory_sidecar.cli.numbers import COUNT, FRACTION
from memory_sidecar.cli.options import with_agent, with_hash
from memory_sidecar.core.times import parse_age
from memory_sidecar.memories.archive import PruneRule
from memory_sidecar.memories.model import address
from memory_sidecar.memories.results import Archived, Pruned, Removed, Restored


@click.command()
@click.argument("path")
@with_hash
@click.option("--for-good", is_flag=True, help="Delete it, leaving nothing to restore.")
@with_agent
def remove(call: Call, *, agent: str, path: str, if_hash: str, for_good: bool) -> Removed:
    """Move the memory at PATH into the archive."""
    removed = memories_of(call, agent).remove(path, if_hash=if_hash, for_good=for_good)
    command = f"`memory-sidecar restore {shlex.quote(removed.path)}`"
    back = call.hint(f"; {command} brings it back") if removed.batch else ""
    return call.show(removed, [f"removed {removed.path}{back}"])


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--category", default="", metavar="C", help="Only in this category and below it.")
@click.option("--expired", is_flag=True, help="Expired memories; the default without options.")
@click.option("--superseded", is_flag=True, help="Memories that others have replaced.")
@click.option("--unused-for", metavar="TIME", help="Neither changed nor read for this long: 90d.")
@click.option("--weaker-than", type=FRACTION, metavar="STRENGTH", help=STRENGTH_HELP)
@click.option("--keep", type=COUNT, metavar="N", help="All but the N strongest.")
@with_agent
def prune(
    call: Call,
    *,
    agent: str,
    dry_run: bool,
    category: str,
    expired: bool,
    superseded: bool,
    unused_for: str | None,
    weaker_than: float | None,
    keep: int | None,
) -> Pruned:
    """Take memories that are not worth keeping into the archive. Pinned ones are spared."""
    rule = PruneRule(
        category=category,
        superseded=superseded,
        unused_since=parse_age(unused_for),
        weaker_than=weaker_than,
        keep=keep,
    )
    names_nothing = rule == PruneRule(category=category)
    rule = replace(rule, expired=expired or names_nothing)
    pruned = call.mask(memories_of(call, agent).prune(rule, dry_run=dry_run))
    command = f"`memory-sidecar restore --batch {pruned.batch}`"
    back = call.hint(f"; {command} brings them back") if pruned.batch else ""
    count = f"{len(pruned.memories)} would be" if dry_run else f"{pruned.archived}"
    gone = (f"{each.path}: {each.reason}" for each in pruned.memories)
    return call.show(pruned, [*gone, f"{count} archived{back}"])


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--batch", metavar="B", help="Everything that one call removed.")
@with_agent
def restore(
    call: Call, *, agent: str, paths: tuple[str, ...], batch: str | None
) -> Restored | list[Archived]:
    """Bring memories back from the archive. Without PATH and --batch, list what is there."""
    memories = memories_of(call, agent)
    if not paths and batch is None:
        archived = memories.list_archive()
        lines = (f"{each.batch}  {address(each.directory, each.path)}" for each in archived)
        return call.show(archived, lines, nothing="no memory is in the archive")
    restored = memories.restore(paths, batch=batch or "")
    return call.show(restored, (f"restored {path}" for path in restored.restored))
