"""The values of this package: an indexed memory, filters, queries, addresses.

Times are epoch milliseconds, paths have `/`. `memories.files` parses a memory's file, `disk.atoms`
an atom's path; `memories.results` has the results that callers get.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from memory_sidecar.core.model import Query
from memory_sidecar.core.times import DAY_MS
from memory_sidecar.disk.atoms import COLD_AFTER, HOT_REFS
from memory_sidecar.memories.files import MemoryPage, plain_tag
from memory_sidecar.memories.names import MEMORY_SUFFIX, check_known_category
from memory_sidecar.memories.results import Memory

SUPERSEDED_SQL = "(standing <> 'active' OR superseded)"
EXPIRED_SQL = "(expires_at IS NOT NULL AND expires_at <= :now)"
HOT_SQL = f"(uses + refs >= {HOT_REFS})"
COLD_SQL = f"(+(uses + refs) = 0 AND +created_at < :now - {COLD_AFTER.days * DAY_MS})"
"""Conditions on a row of `memories`. Bind `now`, epoch milliseconds.

A `+` before a column keeps SQLite from an index through which nearly all rows would be read one by
one: scanning the table takes a third of the time.
"""


class Relation(StrEnum):
    """A relation of a memory to another, to a session or a file: a key of its frontmatter."""

    SUPERSEDES = "supersedes"
    SUPERSEDED_BY = "superseded_by"
    EVIDENCE = "evidence"
    CITATIONS = "citations"
    LINKS = "links"


SUCCESSOR_SQL = (
    "SELECT n.path FROM memory_relations s JOIN memories n ON n.key = s.memory"
    " WHERE s.relation = 'supersedes'"
    " AND s.target = (SELECT path FROM memories WHERE key = r.memory)"
    " ORDER BY n.updated_at DESC, n.path LIMIT 1"
)
"""Selects the path of the latest memory that supersedes the memory of `r`, a row of relations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedMemory:
    """A memory as `memories.store` makes rows of it: its file, and what follows from its path."""

    path: str  # unique in its database, see `address`
    id: int  # what hosts see, 1 … 2³¹-1
    hash: str  # of all its bytes: what `--if-hash` compares
    category: str  # the folder in its directory, "" at the root
    page: MemoryPage  # its text; status and time of update as they apply to an atom
    standing: str = "active"  # by its own status: active, superseded or invalidated
    relations: tuple[tuple[Relation, str], ...] = ()
    declared_id: str = ""  # its frontmatter's `id`

    kind: str = ""  # for an atom experiment, knowledge or pattern; page for one around atoms, or ""
    atom_id: str = ""  # EXP-042
    project: str = ""  # for an atom its folder's project, for any other the one it was made in
    refs: int = 0  # how often an atom was read, as its file says
    last_ref: str = ""  # ISO 8601


class Sort(StrEnum):
    """The property that a list is ordered by."""

    UPDATED = "updated"
    CREATED = "created"
    TOKENS = "tokens"
    STRENGTH = "strength"
    READS = "reads"
    PATH = "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """The conditions that a memory must satisfy. Empty and `None` mean no restriction.

    Expired and superseded memories are left out unless asked for; superseded or invalidated atoms
    stay, marked as such.
    """

    category: str = ""  # and everything below it
    tags: tuple[str, ...] = ()  # any of; `key:` stands for every tag of that key
    updated_after: int | None = None  # from then on
    updated_before: int | None = None  # up to, but not at
    created_after: int | None = None
    created_before: int | None = None
    source: str = ""
    statuses: tuple[str, ...] = ()  # any of, in any case
    kinds: tuple[str, ...] = ()  # any of
    project: str = ""
    hot: bool = False
    cold: bool = False
    stronger_than: float | None = None  # or as strong, 0…1
    weaker_than: float | None = None
    with_expired: bool = False
    with_superseded: bool = False

    def __post_init__(self) -> None:
        """Normalise category and tags. Raises PathRefused for a category that leaves its root."""
        object.__setattr__(self, "category", check_known_category(self.category))
        object.__setattr__(self, "tags", tuple(map(plain_tag, self.tags)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList:
    """A query by properties: a filter, an order and a page, without text or ranking."""

    filter: MemoryFilter = field(default_factory=MemoryFilter)
    sort: Sort = Sort.UPDATED
    is_descending: bool = True
    limit: int | None = None
    offset: int = 0
    prefers: str = ""  # a project: memories of others come last
    without_pages: bool = False  # without the pages around atoms, which are rewritten all the time

    @property
    def stop(self) -> int | None:
        """The place after the last of its page; None without a limit."""
        return None if self.limit is None else self.offset + self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery(Query):
    """A search for memories by text, as a caller asks for it."""

    filter: MemoryFilter = field(default_factory=MemoryFilter)
    max_tokens: int | None = None  # budget over the content of all hits
    prefers: str = ""  # a project: memories of others lose a part of their score
    rerank: bool | None = None  # by the cross-encoder, if there is one; `None`: as the settings say


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as callers get it, with the properties that only its database has."""

    memory: Memory
    key: int  # of the row, until the database is made again
    directory: str  # the source that its file lies in
    file: str  # relative to that
    touched_at: int  # epoch milliseconds: when it was last stored, changed or read
    strength: float  # 0…1, see `strength`


OWN_DIRECTORY = "memories"
"""The name of the source that an agent's own folder is; registered directories have others."""


def address(directory: str, file: str) -> str:
    """Return the path by which callers name a memory: unique among all memories of one agent.

    In the agent's own directory it is the file's path; elsewhere `directory:file`. An own file
    whose path could be mistaken for that begins with `./`.
    """
    if directory != OWN_DIRECTORY:
        return f"{directory}:{file}"
    return f"./{file}" if ":" in file.partition("/")[0] else file


def address_of(directory: str, name: str) -> str:
    """Return the address of the memory that a page of `directory` calls `name`.

    `name`: an address, or a path in that directory; the suffix may be left out.
    """
    file = name if name.lower().endswith(MEMORY_SUFFIX) else name + MEMORY_SUFFIX
    is_address = ":" in file.partition("/")[0]
    return file if is_address else address(directory, file.removeprefix("./"))


def names_in(directory: str, old: str, new: str) -> dict[str, str]:
    """Map each name that a page of `directory` may have for its memory `old` to that for `new`."""
    names = {old: new, old.removesuffix(MEMORY_SUFFIX): new.removesuffix(MEMORY_SUFFIX)}
    names |= {address(directory, was): address(directory, now) for was, now in names.items()}
    return names | {f"./{was}": now for was, now in names.items()}


def parse_address(path: str) -> tuple[str, str]:
    """Split a path that `address` made into directory and file."""
    first, slash, rest = path.partition("/")
    directory, colon, file = first.partition(":")
    if colon and directory:
        return directory, file + slash + rest
    return OWN_DIRECTORY, path.removeprefix("./")
