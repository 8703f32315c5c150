"""How memories are asked for on the command line, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import Styled, title
from memory_sidecar.core.clock import iso_utc, system_clock
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.times import parse_time
from memory_sidecar.disk.atoms import AtomKind
from memory_sidecar.memories.draft import parse_age
from memory_sidecar.memories.files import tags_by_key
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.hit import title_of
from memory_sidecar.memories.model import MemoryFilter, MemoryList, StoredMemory
from memory_sidecar.memories.names import check_category
from memory_sidecar.outputs import memories as out

TIME_HELP = "A date, a moment, or so long ago: 7d, 12h, 6mo."

_OPTIONS = (
    click.option("--category", metavar="C", help="In it, or anywhere below it."),
    click.option("--tag", "tags", multiple=True, metavar="T", help="Any of; `key:` any of a key."),
    click.option("--after", "updated_after", metavar="TIME", help=f"Changed since. {TIME_HELP}"),
    click.option("--before", "updated_before", metavar="TIME", help="Not changed since."),
    click.option("--created-after", metavar="TIME"),
    click.option("--created-before", metavar="TIME"),
    click.option("--source", default="", help="Who or what wrote it."),
    click.option("--status", "statuses", multiple=True, metavar="S", help="Any of these."),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice([kind.value for kind in AtomKind]),
        help="Atoms of a dense-context root; any.",
    ),
    click.option("--project", default="", help="Atoms of this project."),
    click.option("--hot", is_flag=True, help="Read five times or more."),
    click.option("--cold", is_flag=True, help="Two weeks old and never read."),
    click.option("--include-expired", "with_expired", is_flag=True),
    click.option("--include-superseded", "with_superseded", is_flag=True),
)
_NAMES = tuple(MemoryFilter.__dataclass_fields__)
_MOMENTS = ("updated_after", "updated_before", "created_after", "created_before")


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Add every option that restricts which memories are meant, passed as `wanted`."""

    @wraps(command)
    def called(call: Call, **given: Any) -> None:  # noqa: ANN401  options of any kind
        chosen = {name: given.pop(name) for name in _NAMES}
        for name in _MOMENTS:
            chosen[name] = moment(chosen[name]) if chosen[name] else None
        chosen["category"] = check_category(chosen["category"] or "") or None
        chosen["statuses"] = tuple(status.lower() for status in chosen["statuses"])
        command(call, wanted=MemoryFilter(**chosen), **given)

    decorated: Callable[..., None] = called
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def moment(text: str) -> int:
    """Epoch milliseconds of a date or a moment, or of so long ago as `7d`."""
    at = parse_time(text)
    if at is not None:
        return at
    try:
        return system_clock() - parse_age(text)
    except UsageError as error:
        raise UsageError(
            f"{text!r} is no time", hint="for example 2026-03-01, 2026-03-01T09:12:00Z or 7d"
        ) from error


def memory_json(agent: str, stored: StoredMemory) -> out.Facts:
    """A memory as the contract has it, without its content."""
    memory = stored.memory
    return {
        "id": memory.memory_id,
        "agent": agent,
        "shared": agent == SHARED,
        "path": memory.path,
        "category": memory.category,
        "title": title_of(stored),
        "summary": memory.summary,
        "tags": tags_by_key(memory.tags),
        "tag_list": list(memory.tags),
        "source": memory.source,
        "status": memory.status,
        "stored_at": iso_utc(memory.created_at),
        "created_at": iso_utc(memory.created_at),
        "updated_at": iso_utc(memory.updated_at),
        "expires_at": None if memory.expires_at is None else iso_utc(memory.expires_at),
        "expired": stored.is_expired,
        "superseded": stored.is_superseded,
        "pinned": memory.is_pinned,
        "tokens": memory.token_estimate,
        "strength": round(stored.strength, 4),
        "uses": stored.uses,
        "hash": memory.file_hash,
        "kind": memory.kind,
        "atom_id": memory.atom_id,
        "project": memory.project,
        "refs": memory.refs,
        "last_ref": memory.last_ref,
        "relations": _relations(stored),
        "problem": memory.problem,
    }


def memory_line(agent: str, stored: StoredMemory) -> tuple[Styled, str]:
    """One line for a person: where it is, when it changed, what it says."""
    memory = stored.memory
    day = iso_utc(memory.updated_at)[:10]
    marks = [
        *(["shared"] if agent == SHARED else []),
        *([memory.status or "superseded"] if stored.is_superseded else []),
        *(["expired"] if stored.is_expired else []),
        *(["pinned"] if memory.is_pinned else []),
    ]
    marked = f" [{', '.join(marks)}]" if marks else ""
    return title(memory.path), f"  {day}{marked}  {title_of(stored)}".rstrip()


def body_lines(stored: StoredMemory, text: str) -> list[str]:
    """What of a memory's `text` stands below its line: nothing where that says it all."""
    return [] if text.strip() == title_of(stored) else text.split("\n")


def memories_of(call: Call, agent: str) -> Memories:
    """The memories of `agent`, to be read or changed by this call."""
    return Memories(call.services.agent(agent, call.db), call.reporter)


def print_memories(
    call: Call, agent: str, asked: MemoryList, *, with_content: bool, with_shared: bool
) -> None:
    """The result of whatever lists memories."""
    found = memories_of(call, agent).list(asked, with_shared=with_shared)
    documents: list[Any] = [
        ({"content": stored.memory.content} if with_content else {}) | memory_json(owner, stored)
        if call.wants_json
        else [*memory_line(owner, stored), _body(stored) if with_content else ""]
        for owner, stored in found
    ]
    documents = call.masked(documents)
    call.reporter.close()
    if call.wants_json:
        call.print_json(documents)
        return
    for parts in documents:
        call.print(*parts)


def _body(stored: StoredMemory) -> str:
    lines = body_lines(stored, stored.memory.content)
    return "".join(f"\n  {line}" for line in lines) + "\n"


def _relations(stored: StoredMemory) -> dict[str, list[str]]:
    relations: dict[str, list[str]] = {}
    for relation, target in stored.memory.relations:
        relations.setdefault(relation.value, []).append(target)
    return relations
