"""What the commands about memories print."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from memory_sidecar.core.results import about
from memory_sidecar.outputs.common import Explanation, Score, Time

Tags = Annotated[
    dict[str, str] | None,
    about("`k:v` by key, others with an empty value; null for none"),
]


class NearDuplicate(TypedDict):
    """A memory that says nearly the same."""

    path: str
    summary: str
    cosine: float


class Remembered(TypedDict):
    """A memory after a change."""

    id: Annotated[int, about("int32")]
    agent: str
    category: str
    path: str
    created: Annotated[bool, about("there was none like it before")]
    changed: bool
    hash: Annotated[str, about("for --if-hash")]
    tags: Tags
    tag_list: list[str]
    summary: str
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    pinned: bool
    supersedes: list[str]
    near_duplicates: list[NearDuplicate]


class Moved(Remembered):
    """A memory after it was moved."""

    moved_from: str
    relinked: Annotated[list[str], about("memories that named it, and follow")]


class Facts(TypedDict):
    """What is known of a memory beside its content."""

    id: Annotated[int, about("int32")]
    agent: str
    shared: bool
    path: str
    category: Annotated[str, about("its folder; empty at the root")]
    title: str
    summary: str
    tags: Tags
    tag_list: list[str]
    source: str
    status: str
    stored_at: Time
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    expired: bool
    superseded: bool
    pinned: bool
    tokens: int
    strength: Annotated[float, about("0 to 1, fades with time and grows with use")]
    uses: int
    hash: Annotated[str, about("for --if-hash")]
    kind: Annotated[str, about("of an atom, `page` for one around atoms, else empty")]
    atom_id: str
    project: str
    refs: int
    last_ref: str
    relations: Annotated[dict[str, list[str]], about("what it names, by relation")]
    problem: Annotated[str, about("what is wrong with its frontmatter, or empty")]


class Listed(Facts):
    """A memory in a list."""

    content: NotRequired[Annotated[str, about("with --content")]]


class Memory(Facts):
    """A memory with all it says."""

    content: str


class MemoryHit(Facts):
    """A ranked memory."""

    content: Annotated[str, about("all of it, a passage or its summary: see `shown`")]
    relevance: Score
    shown: Annotated[str, about("how much of it `content` is: content, passage or summary")]
    start_line: int
    end_line: int
    heading: str
    explain: NotRequired[Annotated[Explanation, about("with --explain")]]


class Removed(TypedDict):
    """A memory that was taken away."""

    agent: str
    path: str
    removed: bool
    batch: Annotated[str | None, about("for `restore --batch`; null where nothing is left of it")]


class Doomed(TypedDict):
    """A memory that is not worth keeping."""

    id: int
    path: str
    summary: str
    reason: str
    strength: float
    updated_at: Time


class Pruned(TypedDict):
    """What pruning took into the archive, or would take."""

    agent: str
    dry_run: bool
    memories: list[Doomed]
    archived: int
    batch: str | None


class Archived(TypedDict):
    """A memory in the archive."""

    batch: str
    directory: str
    path: str


class Restored(TypedDict):
    """What came back from the archive."""

    agent: str
    restored: list[str]


class Category(TypedDict):
    """A category of memories."""

    path: str
    parent_path: str | None
    description: str
    memories: int


class Described(TypedDict):
    """A category that was made or described."""

    category: str
    description: str
    created: bool


class CategoryDeleted(TypedDict):
    """A category that was deleted."""

    category: str
    archived: Annotated[int, about("memories that were in it")]
    batch: str | None
