"""The tools that change memories. Each returns when the change can be found."""

from __future__ import annotations

from pydantic import BaseModel, Field

from memory_sidecar.core.clock import system_clock
from memory_sidecar.core.paths import SHARED
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.memory_shapes import DATA, quoted_line
from memory_sidecar.mcp.tool import Arguments, Result
from memory_sidecar.mcp.uris import memory_uri
from memory_sidecar.memories.draft import Draft, parse_age, parse_expiry
from memory_sidecar.memories.handlers import Remembered as Change
from memory_sidecar.memories.prune import PruneRule
from memory_sidecar.memories.write import Changes

NEVER = "never"
_SHARED = "With all agents, not yours alone."


class NearlyTheSame(BaseModel):
    path: str
    summary: str
    cosine: float


class Changed(Result):
    path: str
    agent: str = Field(description="Whose it is now: yours, or `shared`.")
    created: bool
    changed: bool
    hash: str = Field(description="For a later update_memory: if_hash.")
    near_duplicates: list[NearlyTheSame] = Field(description="Consider updating one of them.")
    uri: str

    def text(self) -> str:
        done = "stored" if self.created else "changed" if self.changed else "unchanged"
        near = [
            f"nearly the same ({DATA}):\n{quoted_line(f'{each.path}  {each.summary}')}"
            for each in self.near_duplicates
        ]
        shared = " (shared)" if self.agent == SHARED else ""
        return "\n".join([f"{done}: {self.path}{shared}", *near])


class StoreMemory(Arguments):
    content: str = Field(description="Markdown. One thing worth knowing next time, and why.")
    category: str = Field(
        description="A slug or path of slugs: outcome, pitfall, pattern, codebase, preference, "
        "decisions/storage."
    )
    tags: list[str] = Field(default=[], description="Words, or key:value.")
    summary: str = Field(default="", description="One line.")
    expires: str = Field(default="", description="A date, or after so long: 30d.")
    evidence: list[str] = Field(default=[], description="What shows it: files, commits, sessions.")
    links: list[str] = Field(default=[])
    supersedes: list[str] = Field(default=[], description="Paths of memories it replaces.")
    shared: bool = Field(default=False, description=_SHARED)
    allow_secrets: bool = Field(
        default=False, description="Only when the user wants a secret stored."
    )


def store_memory(caller: Caller, asked: StoreMemory, report: Reporter) -> Changed:
    """Remember something beyond this session. The same text is stored once, however often."""
    draft = Draft(
        content=asked.content,
        category=asked.category,
        tags=tuple(asked.tags),
        summary=asked.summary,
        source=f"agent:{caller.agent}",
        expires_at=parse_expiry(asked.expires, now_ms=system_clock()) if asked.expires else None,
        evidence=tuple(asked.evidence),
        links=tuple(asked.links),
        supersedes=tuple(asked.supersedes),
    )
    memories = caller.memories(report, shared=asked.shared)
    return _changed(memories.store(draft, allow_secrets=asked.allow_secrets))


class UpdateMemory(Arguments):
    path: str
    content: str = Field(default="", description="The new text; empty leaves the old one.")
    summary: str = ""
    status: str = ""
    add_tags: list[str] = Field(default=[])
    remove_tags: list[str] = Field(default=[])
    expires: str = Field(default="", description="A date, after so long: 30d, or never.")
    pinned: bool | None = Field(default=None, description="Pinned ones do not fade.")
    add_evidence: list[str] = Field(default=[])
    add_links: list[str] = Field(default=[])
    supersedes: list[str] = Field(default=[])
    if_hash: str = Field(default="", description="Change nothing if it has another hash by now.")
    shared: bool = Field(default=False, description="One that all agents share.")
    allow_secrets: bool = Field(
        default=False, description="Only when the user wants a secret stored."
    )


def update_memory(caller: Caller, asked: UpdateMemory, report: Reporter) -> Changed:
    """Change a memory's text, tags or state. What is left out stays."""
    expires = asked.expires if asked.expires != NEVER else ""
    changes = Changes(
        content=asked.content or None,
        summary=asked.summary or None,
        status=asked.status or None,
        expires_at=parse_expiry(expires, now_ms=system_clock()) if expires else None,
        never_expires=asked.expires == NEVER,
        is_pinned=asked.pinned,
        add_tags=tuple(asked.add_tags),
        remove_tags=tuple(asked.remove_tags),
        add_evidence=tuple(asked.add_evidence),
        add_links=tuple(asked.add_links),
        supersedes=tuple(asked.supersedes),
    )
    memories = caller.memories(report, shared=asked.shared)
    return _changed(
        memories.update(
            asked.path, changes, if_hash=asked.if_hash, allow_secrets=asked.allow_secrets
        )
    )


class RemoveMemory(Arguments):
    path: str
    if_hash: str = Field(default="", description="Remove nothing if it has another hash by now.")
    shared: bool = Field(default=False, description="One that all agents share.")


class Removed(Result):
    path: str
    batch: str = Field(description="What the user passes to `memory-sidecar restore --batch`.")

    def text(self) -> str:
        return f"removed {self.path}; `memory-sidecar restore {self.path}` brings it back"


def remove_memory(caller: Caller, asked: RemoveMemory, report: Reporter) -> Removed:
    """Take a memory that is wrong or useless away, into the archive."""
    memories = caller.memories(report, shared=asked.shared)
    archived = memories.remove(asked.path, if_hash=asked.if_hash)
    return Removed(path=asked.path, batch=archived.batch if archived else "")


class MoveMemory(Arguments):
    path: str
    to: str = Field(description="The new path, or a category with `/` at its end.")
    shared: bool = Field(default=False, description="One that all agents share.")


def move_memory(caller: Caller, asked: MoveMemory, report: Reporter) -> Changed:
    """Give a memory another name or category. Links of others to it follow."""
    _, moved = caller.memories(report, shared=asked.shared).move(asked.path, asked.to)
    return _changed(moved)


class PruneMemories(Arguments):
    dry_run: bool = Field(default=True, description="Only tell what would go.")
    category: str = Field(default="", description="Only there and below.")
    expired: bool = True
    superseded: bool = False
    unused_for: str = Field(default="", description="Neither changed nor read for so long: 90d.")
    weaker_than: float | None = Field(
        default=None, ge=0, le=1, description="Strength, which fades."
    )


class Doomed(BaseModel):
    path: str
    summary: str
    reason: str


class Pruned(Result):
    dry_run: bool
    memories: list[Doomed]
    batch: str = Field(description="What the user passes to `memory-sidecar restore --batch`.")

    def text(self) -> str:
        verb = "would be archived" if self.dry_run else "archived"
        return "\n".join(
            [
                f"{len(self.memories)} {verb}",
                *(quoted_line(f"{each.path}: {each.reason}") for each in self.memories),
            ]
        )


def prune_memories(caller: Caller, asked: PruneMemories, report: Reporter) -> Pruned:
    """Archive your memories that are not worth keeping. Pinned ones are spared."""
    rule = PruneRule(
        category=asked.category or None,
        expired=asked.expired,
        superseded=asked.superseded,
        unused_since=system_clock() - parse_age(asked.unused_for) if asked.unused_for else None,
        weaker_than=asked.weaker_than,
    )
    pruned = caller.memories(report).prune(rule, dry_run=asked.dry_run)
    return Pruned(
        dry_run=asked.dry_run,
        memories=[
            Doomed(
                path=each.memory.memory.path,
                summary=each.memory.memory.summary,
                reason=each.reason,
            )
            for each in pruned.doomed
        ],
        batch=pruned.archived[0].batch if pruned.archived else "",
    )


def _changed(change: Change) -> Changed:
    return Changed(
        path=change.path,
        agent=change.agent,
        created=change.written.is_new,
        changed=bool(change.written.changed),
        hash=change.written.file.hash,
        near_duplicates=[
            NearlyTheSame(path=near.path, summary=near.summary, cosine=round(near.cosine, 4))
            for near in change.near
        ],
        uri=memory_uri(change.agent, change.path),
    )
