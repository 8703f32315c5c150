"""`memory-sidecar remove`, `memory-sidecar prune` and `memory-sidecar restore`"""

from __future__ import annotations

from dataclasses import replace

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.memory_form import memories_of
from memory_sidecar.cli.options import COUNT, with_agent
from memory_sidecar.core.clock import iso_utc, system_clock
from memory_sidecar.memories.archive import Archived
from memory_sidecar.memories.draft import parse_age
from memory_sidecar.memories.handlers import Pruned
from memory_sidecar.memories.prune import Doomed, PruneRule
from memory_sidecar.outputs import memories as out


@click.command()
@click.argument("path")
@click.option("--if-hash", default="", metavar="HASH", help="Only if this is still its hash.")
@click.option("--for-good", is_flag=True, help="Delete it, leaving nothing to restore.")
@with_agent
def remove(call: Call, *, agent: str, path: str, if_hash: str, for_good: bool) -> None:
    """Take the memory at PATH away, into the archive."""
    archived = memories_of(call, agent).remove(path, if_hash=if_hash, for_good=for_good)
    call.reporter.close()
    if call.wants_json:
        batch = archived.batch if archived else None
        call.print_json({"agent": agent, "path": path, "removed": True, "batch": batch})
    else:
        call.print(f"removed {path}{'' if for_good else '; `restore` brings it back'}")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--category", metavar="C", help="Only in this category and below it.")
@click.option("--expired", is_flag=True, help="What has expired; this is meant without options.")
@click.option("--superseded", is_flag=True, help="What another memory has replaced.")
@click.option("--unused-for", metavar="TIME", help="Neither changed nor read for so long: 90d.")
@click.option("--weaker-than", type=click.FloatRange(0, 1), metavar="STRENGTH")
@click.option("--keep", type=COUNT, metavar="N", help="All but the N strongest.")
@with_agent
def prune(
    call: Call,
    *,
    agent: str,
    dry_run: bool,
    category: str | None,
    expired: bool,
    superseded: bool,
    unused_for: str | None,
    weaker_than: float | None,
    keep: int | None,
) -> None:
    """Take memories that are not worth keeping into the archive. Pinned ones are spared."""
    rule = PruneRule(
        category=category,
        superseded=superseded,
        unused_since=system_clock() - parse_age(unused_for) if unused_for else None,
        weaker_than=weaker_than,
        keep=keep,
    )
    names_nothing = rule == PruneRule(category=category)
    rule = replace(rule, expired=expired or names_nothing)
    pruned = call.masked(memories_of(call, agent).prune(rule, dry_run=dry_run))
    call.reporter.close()
    if call.wants_json:
        call.print_json(_pruned_json(agent, pruned, dry_run=dry_run))
        return
    for each in pruned.doomed:
        call.print(f"{each.memory.memory.path}: {each.reason}")
    verb = "would be archived" if dry_run else "archived; `restore --batch` brings them back"
    count = len(pruned.doomed if dry_run else pruned.archived)
    batch = f" {pruned.archived[0].batch}" if pruned.archived else ""
    call.print(f"{count} {verb}{batch}")


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--batch", default="", metavar="B", help="All that one call took away.")
@with_agent
def restore(call: Call, *, agent: str, paths: tuple[str, ...], batch: str) -> None:
    """Bring memories back from the archive. Without PATH and --batch, list what is there."""
    memories = memories_of(call, agent)
    if not paths and not batch:
        _print_archived(call, memories.archived())
        return
    restored = memories.restore(paths, batch=batch)
    call.reporter.close()
    if call.wants_json:
        call.print_json({"agent": agent, "restored": restored})
        return
    for path in restored:
        call.print(f"restored {path}")


def _print_archived(call: Call, archived: list[Archived]) -> None:
    if call.wants_json:
        call.print_json(
            [
                {"batch": each.batch, "directory": each.directory, "path": each.path}
                for each in archived
            ]
        )
        return
    for each in archived:
        call.print(f"{each.batch}  {each.path}")


def _pruned_json(agent: str, pruned: Pruned, *, dry_run: bool) -> out.Pruned:
    return {
        "agent": agent,
        "dry_run": dry_run,
        "memories": [_doomed_json(each) for each in pruned.doomed],
        "archived": len(pruned.archived),
        "batch": pruned.archived[0].batch if pruned.archived else None,
    }


def _doomed_json(doomed: Doomed) -> out.Doomed:
    stored = doomed.memory
    return {
        "id": stored.memory.memory_id,
        "path": stored.memory.path,
        "summary": stored.memory.summary,
        "reason": doomed.reason,
        "strength": round(stored.strength, 6),
        "updated_at": iso_utc(stored.memory.updated_at),
    }
