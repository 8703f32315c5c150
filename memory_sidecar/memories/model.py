"""A memory as it is indexed and found. Times are epoch milliseconds, paths have `/`.

What its file says is read by `sources.memory_files`, what an atom's path says by `sources.atoms`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memory_sidecar.core.model import SearchMode

HOT_USES = 5
COLD_AFTER_MS = 14 * 86_400_000  # without a single use


class Relation(StrEnum):
    """What a memory says of another one, of a session or of a file: keys of its frontmatter."""

    SUPERSEDES = "supersedes"
    SUPERSEDED_BY = "superseded_by"
    EVIDENCE = "evidence"
    CITATIONS = "citations"
    LINKS = "links"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One Markdown file of a knowledge directory."""

    path: str  # unique in its database, see `address`
    memory_id: int  # what hosts see, 1 … 2³¹-1
    file_hash: str  # of all its bytes: what `--if-hash` compares
    category: str  # the folder in its directory, "" at the root
    content: str  # the body, without the blank lines around it
    token_estimate: int
    created_at: int
    updated_at: int
    tags: tuple[str, ...] = ()  # plain, or `key:value`
    source: str  # who or what wrote it
    summary: str = ""
    expires_at: int | None = None
    status: str = ""
    standing: str = "active"  # by its own status: active, superseded or invalidated
    is_pinned: bool = False
    relations: tuple[tuple[Relation, str], ...] = ()
    problem: str = ""  # what is wrong with the file, in one line
    declared_id: str = ""  # its frontmatter's `id`

    kind: str = ""  # experiment, knowledge, pattern, or page around such; "" for any other
    atom_id: str = ""  # EXP-042
    project: str = ""
    refs: int = 0  # how often an atom was read, as its file says
    last_ref: str = ""  # ISO 8601


class Sort(StrEnum):
    """What a list is ordered by."""

    UPDATED = "updated"
    CREATED = "created"
    TOKENS = "tokens"
    STRENGTH = "strength"
    REFS = "refs"
    PATH = "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """What a memory must satisfy. Empty and `None` mean no restriction.

    Expired memories and superseded ones are left out unless asked for; atoms that are superseded
    or invalidated stay, and say so.
    """

    category: str | None = None  # and everything below it
    tags: tuple[str, ...] = ()  # any of; `key:` stands for every tag of that key
    updated_after: int | None = None  # from then on
    updated_before: int | None = None  # up to, but not at
    created_after: int | None = None
    created_before: int | None = None
    source: str = ""
    statuses: tuple[str, ...] = ()  # any of
    kinds: tuple[str, ...] = ()  # any of
    project: str = ""
    hot: bool = False
    cold: bool = False
    with_expired: bool = False
    with_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList:
    """A structured query: no text, no ranking."""

    filter: MemoryFilter = field(default_factory=MemoryFilter)
    sort: Sort = Sort.UPDATED
    is_descending: bool = True
    limit: int | None = None
    offset: int = 0
    without_pages: bool = False  # those around atoms are rewritten all the time


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """A search for memories as asked for."""

    text: str
    top_k: int = 10
    mode: SearchMode = SearchMode.HYBRID
    filter: MemoryFilter = field(default_factory=MemoryFilter)
    max_tokens: int | None = None  # budget over the content of all hits
    rerank: bool | None = None  # by the cross-encoder, if there is one; `None`: as it is set


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory with what only its database knows."""

    memory: Memory
    key: int  # of the row, until the database is made again
    directory: str  # the source that its file lies in
    file: str  # relative to that
    strength: float  # 0…1, see `strength`
    uses: int  # how often it was read
    used_at: int  # the last time, 0 for never
    is_superseded: bool  # another memory says so, or its own status does
    is_expired: bool


def estimate_tokens(text: str) -> int:
    """About how many tokens a model makes of `text`: one for four bytes of UTF-8."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def address(directory: str, file: str, *, own: str) -> str:
    """The path by which a memory is shown and named: unique among all that one agent has.

    In the agent's own directory, called `own`, it is the file's; elsewhere `directory:file`. An
    own file whose name could be mistaken for that begins with `./`.
    """
    if directory != own:
        return f"{directory}:{file}"
    return f"./{file}" if ":" in file.partition("/")[0] else file


def parse_address(path: str, *, own: str) -> tuple[str, str]:
    """Directory and file that `path` names, the inverse of `address`."""
    first, slash, rest = path.partition("/")
    directory, colon, file = first.partition(":")
    if colon and directory:
        return directory, file + slash + rest
    return own, path.removeprefix("./")
