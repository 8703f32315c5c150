"""The results of commands and tools on memories. See `core.results`.

`MemoryHead` is a memory in the list of a tool, `Facts` without and `Memory` with its content; a
list of a command holds `Listed`, a search `MemoryHit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from msgspec import UNSET, UnsetType

from memory_sidecar.core.model import Explanation
from memory_sidecar.core.results import IsWeak, Score, Time, about
from memory_sidecar.disk.atoms import Standing, standing_of, status_word

Id = Annotated[int, about("int32")]
Hash = Annotated[str, about("for --if-hash")]
Tags = Annotated[
    dict[str, str] | None, about("`k:v` by key, others with an empty value; null for none")
]
Batch = Annotated[str | None, about("for `restore --batch`; null where nothing was archived")]

SUPERSEDED = "superseded"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHead:
    """A memory in short."""

    path: Annotated[str, about("names it, together with its agent")]
    agent: str
    shared: bool
    category: Annotated[str, about("its folder; empty at the root")]
    title: Annotated[str, about("its summary, or how it begins")]
    tag_list: tuple[str, ...]
    updated_at: Time
    expired: bool
    superseded: bool
    project: Annotated[str, about("that it was made in, or empty")]
    tokens: Annotated[int, about("of the whole content")]

    @property
    def called(self) -> str:
        """The title, or the path of a memory without one."""
        return self.title or self.path

    @property
    def is_outdated(self) -> bool:
        """Whether the memory is superseded or expired."""
        return self.superseded or self.expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(MemoryHead):
    """All properties of a memory except its content."""

    id: Id
    summary: str
    tags: Tags
    source: Annotated[str, about("who wrote it")]
    status: str
    stored_at: Time
    created_at: Time
    expires_at: Time | None
    pinned: bool
    strength: Annotated[float, about("0 to 1, fades with time and grows with use")]
    uses: int
    hash: Hash
    kind: Annotated[str, about("of an atom, `page` for one around atoms, else empty")]
    atom_id: str
    refs: int
    last_ref: str
    relations: Annotated[dict[str, list[str]], about("what it names, by relation")]
    problem: Annotated[str, about("what is wrong with its frontmatter, or empty")]

    @property
    def reads(self) -> int:
        """How often it was read: here, and before, as its frontmatter counts."""
        return self.uses + self.refs

    @property
    def outdated_marks(self) -> list[str]:
        """Why searches leave it out: `expired`, or its status if that says so itself."""
        standing = standing_of(status_word({"status": self.status}))
        # The page of a memory that another supersedes may say that it is active.
        superseded = SUPERSEDED if standing is Standing.ACTIVE else self.status
        return [
            *([superseded] if self.superseded else []),
            *(["expired"] if self.expired else []),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Facts):
    """A memory with its content."""

    content: str


def without_copies(found: Sequence[T], memory_of: Callable[[T], Memory]) -> list[T]:
    """Return `found` without shared memories whose content an agent's own one in it has, too."""
    memories = [memory_of(each) for each in found]
    own = {each.content for each in memories if not each.shared}
    pairs = zip(found, memories, strict=True)
    return [each for each, memory in pairs if not (memory.shared and memory.content in own)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Facts):
    """A memory in a list."""

    content: Annotated[str, about("with --content")] | UnsetType = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit(Facts):
    """A ranked memory."""

    content: Annotated[str, about("all of it, a passage or its summary: see `shown`")]
    relevance: Score
    is_weak: IsWeak
    shown: Annotated[str, about("how much of it `content` is: content, passage or summary")]
    start_line: int
    end_line: int
    heading: str
    explain: Annotated[Explanation, about("with --explain")] | UnsetType = UNSET


# After a change


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A memory that says nearly the same."""

    path: str
    summary: Annotated[str, about("or how it begins")]
    cosine: float
    shared: Annotated[bool, about("one of the shared memories, where the agent has its own")]


@dataclass(frozen=True, slots=True)
class Contradicted:
    """An older memory that may no longer hold, as a newer one near to it says otherwise."""

    path: str
    summary: Annotated[str, about("or how it begins")]
    why: Annotated[str, about("what in the words of both says so")]
    shared: Annotated[bool, about("one of the shared memories, where the agent has its own")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory after a change."""

    id: Id
    agent: str
    category: str
    path: str
    created: Annotated[bool, about("there was none like it before")]
    changed: bool
    hash: Hash
    tags: Tags
    tag_list: tuple[str, ...]
    summary: str
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    pinned: bool
    project: Annotated[str, about("that it was made in, or empty")]
    supersedes: tuple[str, ...]
    near_duplicates: tuple[NearDuplicate, ...]
    may_contradict: tuple[Contradicted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Remembered):
    """A memory after it was moved."""

    moved_from: str
    relinked: Annotated[tuple[str, ...], about("memories that named it, and follow")]


@dataclass(frozen=True, slots=True)
class Removed:
    """A memory that was archived or deleted."""

    agent: str
    path: str
    removed: bool
    batch: Batch


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """A memory that a prune rule applies to."""

    id: int
    path: str
    summary: str
    reason: str
    strength: float
    updated_at: Time


@dataclass(frozen=True, slots=True)
class Pruned:
    """The memories that pruning archived, or would archive in a dry run."""

    agent: str
    dry_run: bool
    memories: tuple[PruneCandidate, ...]
    archived: int
    batch: Batch


@dataclass(frozen=True, slots=True)
class Archived:
    """A memory in the archive."""

    batch: str
    directory: str
    path: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The memories that were put back from the archive."""

    agent: str
    restored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Category:
    """A category of memories, described or in use."""

    path: str
    parent_path: str | None
    description: str
    memories: Annotated[int, about("in it, not below it")]
    tokens: Annotated[int, about("of these, estimated")]
    total_memories: Annotated[int, about("in it and below it")]
    total_tokens: Annotated[int, about("of these, estimated")]


@dataclass(frozen=True, slots=True)
class Described:
    """A category that was made or described."""

    category: str
    description: str
    created: bool


@dataclass(frozen=True, slots=True)
class CategoryDeleted:
    """A category that was deleted."""

    category: str
    archived: Annotated[int, about("memories that were in it")]
    batch: Batch
