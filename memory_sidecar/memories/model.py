"""A memory as it is indexed, asked for and found. Times are epoch milliseconds, paths have `/`.

What its file says is read by `memories.files`, what an atom's path says by `disk.atoms`; as what
it is told stands in `memories.results`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memory_sidecar.core.model import SearchMode
from memory_sidecar.memories.files import MemoryPage
from memory_sidecar.memories.results import Memory

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
class IndexedMemory:
    """One Markdown file of a knowledge directory, as it becomes rows."""

    path: str  # unique in its database, see `address`
    id: int  # what hosts see, 1 … 2³¹-1
    hash: str  # of all its bytes: what `--if-hash` compares
    category: str  # the folder in its directory, "" at the root
    page: MemoryPage  # what it says, with the status and the update that count
    standing: str = "active"  # by its own status: active, superseded or invalidated
    relations: tuple[tuple[Relation, str], ...] = ()
    declared_id: str = ""  # its frontmatter's `id`

    kind: str = ""  # experiment, knowledge, pattern, or page around such; "" for any other
    atom_id: str = ""  # EXP-042
    project: str = ""  # of an atom its folder's, of any other the one it was made in
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
    stronger_than: float | None = None  # or just as strong, 0…1
    weaker_than: float | None = None
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
    min_score: float = 0.0  # no hit below it
    explain: bool = False  # what each relevance is made of
    prefers: str = ""  # a project: memories of other ones come a little later
    rerank: bool | None = None  # by the cross-encoder, if there is one; `None`: as it is set


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as it is told, with what only its database knows."""

    memory: Memory
    key: int  # of the row, until the database is made again
    directory: str  # the source that its file lies in
    file: str  # relative to that
    touched_at: int  # epoch milliseconds: when it was changed or read last
    strength: float  # 0…1, see `strength`


def estimate_tokens(text: str) -> int:
    """About how many tokens a model makes of `text`: one for four bytes of UTF-8."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


OWN_DIRECTORY = "memories"
"""The source that an agent's own folder is; directories registered besides have other names."""


def address(directory: str, file: str) -> str:
    """The path by which a memory is shown and named: unique among all that one agent has.

    In the agent's own directory it is the file's; elsewhere `directory:file`. An own file whose
    name could be mistaken for that begins with `./`.
    """
    if directory != OWN_DIRECTORY:
        return f"{directory}:{file}"
    return f"./{file}" if ":" in file.partition("/")[0] else file


def parse_address(path: str) -> tuple[str, str]:
    """Directory and file that `path` names, the inverse of `address`."""
    first, slash, rest = path.partition("/")
    directory, colon, file = first.partition(":")
    if colon and directory:
        return directory, file + slash + rest
    return OWN_DIRECTORY, path.removeprefix("./")
