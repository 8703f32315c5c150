"""The tools that change memories. Each returns once searches find the change."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.results import Reporter, about, build_from
from memory_sidecar.core.times import NEVER, parse_age, parse_coming_time
from memory_sidecar.mcp.arguments import Arguments, Unlisted
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.memories import resolve_memory
from memory_sidecar.mcp.quoting import DATA, quote_line
from memory_sidecar.mcp.tool import Answer
from memory_sidecar.mcp.uris import memory_uri
from memory_sidecar.memories.archive import PruneRule
from memory_sidecar.memories.draft import Changes, Draft
from memory_sidecar.memories.results import Contradicted, NearDuplicate, PruneCandidate, Remembered

BATCH = about("What the user passes to `memory-sidecar restore --batch`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Answer):
    path: str
    agent: Annotated[str, about("Whose it is now: yours, or `shared`.")]
    created: bool
    changed: bool
    hash: Annotated[str, about("For a later update_memory: if_hash.")]
    near_duplicates: Annotated[tuple[NearDuplicate, ...], about("Consider updating one of them.")]
    may_contradict: Annotated[
        tuple[Contradicted, ...], about("Name those it replaces to update_memory: supersedes.")
    ]
    uri: str

    def text(self) -> str:
        done = "stored" if self.created else "changed" if self.changed else "unchanged"
        shared = " (shared)" if self.agent == SHARED else ""
        lines = [f"{done}: {self.path}{shared}"]
        if self.near_duplicates:
            lines.append(f"nearly the same ({DATA}); consider updating one of them instead:")
        lines += [
            quote_line(f"{each.path}{' (shared)' * each.shared}  {each.summary}")
            for each in self.near_duplicates
        ]
        if self.may_contradict:
            lines.append(f"may contradict ({DATA}); if it replaces one, update_memory: supersedes")
        lines += [
            quote_line(f"{each.path}{' (shared)' * each.shared}  {each.summary} ({each.why})")
            for each in self.may_contradict
        ]
        return "\n".join(lines)


class StoreMemory(Arguments):
    content: str = Field(description="One thing worth knowing, and why")
    category: str = Field(
        description="outcome, pitfall, pattern, codebase, preference, decisions/storage…"
    )
    tags: tuple[str, ...] = Field(default=(), description="word or key:value")
    summary: str = ""
    expires: str = Field(default="", description="Date, or 30d")
    evidence: tuple[str, ...] = Field(default=(), description="Files, commits, sessions")
    links: Unlisted[tuple[str, ...]] = ()
    project: Unlisted[str | None] = None  # by default the one that the client has open
    supersedes: tuple[str, ...] = Field(default=(), description="Paths it replaces")
    shared: bool = Field(default=False, description="For all agents")
    allow_secrets: Unlisted[bool] = False


def store_memory(caller: Caller, asked: StoreMemory, report: Reporter) -> Changed:
    """Remember something for later sessions."""
    draft = build_from(
        Draft,
        asked,
        source=f"agent:{caller.agent}",
        expires_at=parse_coming_time(asked.expires),
        project=caller.project if asked.project is None else caller.project_named(asked.project),
    )
    memories = caller.memories(report, shared=asked.shared)
    return _changed(memories.store(draft, allow_secrets=asked.allow_secrets))


class UpdateMemory(Arguments):
    path: str
    content: str = ""
    summary: str = ""
    status: str = ""
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    expires: str = Field(default="", description="Date, 30d or never")
    pinned: bool | None = None
    add_evidence: tuple[str, ...] = ()
    add_links: Unlisted[tuple[str, ...]] = ()
    project: Unlisted[str | None] = None
    supersedes: tuple[str, ...] = ()
    if_hash: str = ""
    shared: Unlisted[bool] = False  # the refusal of a shared memory names it
    allow_secrets: Unlisted[bool] = False


def update_memory(caller: Caller, asked: UpdateMemory, report: Reporter) -> Changed:
    """Change a memory. What is left out stays."""
    left_out = {name: None for name, value in asked if value == ""}
    expires = asked.expires if asked.expires != NEVER else ""
    changes = build_from(
        Changes,
        asked.model_copy(update=left_out),
        expires_at=parse_coming_time(expires),
        never_expires=asked.expires == NEVER,
        project=asked.project and caller.project_named(asked.project),
        tags=asked.add_tags,
        evidence=asked.add_evidence,
        links=asked.add_links,
    )
    memories, path = resolve_memory(caller, asked.path, report, shared=asked.shared)
    return _changed(
        memories.update(path, changes, if_hash=asked.if_hash, allow_secrets=asked.allow_secrets)
    )


class RemoveMemory(Arguments):
    path: str
    if_hash: str = ""
    shared: Unlisted[bool] = False  # the refusal of a shared memory names it


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedMemory(Answer):
    agent: str
    path: str
    batch: Annotated[str, BATCH]
    restore: Annotated[str, about("The user's command that brings it back.")]

    def text(self) -> str:
        return f"removed {self.path}; the user can bring it back: `{self.restore}`"


def remove_memory(caller: Caller, asked: RemoveMemory, report: Reporter) -> RemovedMemory:
    """Archive a memory that is wrong or useless."""
    memories, path = resolve_memory(caller, asked.path, report, shared=asked.shared)
    removed = memories.remove(path, if_hash=asked.if_hash)
    restore = _restore_command(caller, shlex.quote(removed.path), removed.agent)
    return build_from(RemovedMemory, removed, batch=removed.batch or "", restore=restore)


class MoveMemory(Arguments):
    path: str
    to: str = Field(description="New path, or category/")
    shared: Unlisted[bool] = False  # the refusal of a shared memory names it
    allow_secrets: Unlisted[bool] = False


def move_memory(caller: Caller, asked: MoveMemory, report: Reporter) -> Changed:
    """Rename a memory or change its category; links to it follow."""
    memories, path = resolve_memory(caller, asked.path, report, shared=asked.shared)
    is_category = "/" not in asked.to and not asked.to.endswith(".md")  # models name categories so
    to = f"{asked.to}/" if is_category else asked.to
    return _changed(memories.move(path, to, allow_secrets=asked.allow_secrets))


class PruneMemories(Arguments):
    dry_run: bool = Field(default=True, description="By default true")
    category: str = ""
    expired: bool = Field(default=True, description="By default true")
    superseded: bool = False
    unused_for: str = Field(default="", description="90d")
    weaker_than: float | None = Field(default=None, ge=0, le=1, description="Strength, 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedMemories(Answer):
    dry_run: bool
    memories: tuple[PruneCandidate, ...]
    batch: Annotated[str, BATCH]
    restore: Annotated[str, about("The user's command that brings them back.")]

    def text(self) -> str:
        verb = "would be archived" if self.dry_run else "archived"
        back = f"; the user can bring them back: `{self.restore}`" if self.batch else ""
        return "\n".join(
            [
                f"{len(self.memories)} {verb}{back}",
                *(quote_line(f"{each.path}: {each.reason}") for each in self.memories),
            ]
        )


def prune_memories(caller: Caller, asked: PruneMemories, report: Reporter) -> PrunedMemories:
    """Archive memories not worth keeping. Spares pinned ones."""
    rule = build_from(PruneRule, asked, unused_since=parse_age(asked.unused_for))
    pruned = caller.memories(report).prune(rule, dry_run=asked.dry_run)
    batch = pruned.batch or ""
    restore = _restore_command(caller, f"--batch {batch}", caller.agent) if batch else ""
    return build_from(PrunedMemories, pruned, batch=batch, restore=restore)


def _restore_command(caller: Caller, what: str, agent: str) -> str:
    """Return the command that the user restores `what` of `agent` with."""
    return caller.complete(f"`memory-sidecar restore {what} --agent {agent}`").strip("`")


def _changed(change: Remembered) -> Changed:
    return build_from(Changed, change, uri=memory_uri(change.agent, change.path))
