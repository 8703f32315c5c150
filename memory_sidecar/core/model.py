"""The frozen dataclasses that packages pass to each other.

    file on disk ── SourceFile ──▶ Document ──▶ Chunk … ──▶ store
    query text ──── the Query of its domain ──▶ a hit, with an Explanation

A *source* is a registered folder, a *document* one of its files at one hash, a *chunk* an indexed
span of a document. Line numbers begin at 1, and a span includes its last line. Paths are relative
to their source, with `/`. Times are epoch milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, UnsetType

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import about

BYTES_PER_TOKEN = 4  # roughly, in code and in prose of any script
MAX_QUERY_CHARACTERS = 4000  # the models see no more, and some patterns are quadratic in it


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of `text`: one for four bytes of UTF-8."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def budget(max_tokens: int, text: str) -> int:
    """Return how many characters of texts like `text` are about `max_tokens`."""
    size = len(text.encode(errors="replace"))
    return max_tokens * BYTES_PER_TOKEN * (len(text) or 1) // (size or 1)


class FileStatus(StrEnum):
    """What became of a file at its last scan; every file of a source has exactly one status."""

    INDEXED = "indexed"
    SKIPPED = "skipped"  # left out on purpose, for a reason: binary, too large, minified …
    FAILED = "failed"  # could not be read or chunked, for a reason; the next scan retries it


Stamp = tuple[int, int, int]
"""Size in bytes, mtime in ns and ctime in ns of a file: while these stay, it is not read again."""

_LAST_NS = 2**63 - 1  # of the year 2262, the last time in ns that SQLite holds


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file; a time before 1677 or after 2262 counts as the nearest between.

    Some file systems hold such times, and a damaged archive sets them.
    """
    return (status.st_size, _storable(status.st_mtime_ns), _storable(status.st_ctime_ns))


def _storable(ns: int) -> int:
    return ns if abs(ns) <= _LAST_NS else (_LAST_NS if ns > 0 else -_LAST_NS)


@dataclass(frozen=True, slots=True)
class Source:
    """A registered folder."""

    name: str  # unique regardless of case; also the name of its state folder
    root: Annotated[Path, about("absolute")]  # with links resolved
    excludes: Annotated[tuple[str, ...], about("globs as in a .gitignore")] = ()
    address: Annotated[str, about("of git, that `root` is a clone of")] = ""
    branch: Annotated[str, about("or tag, of that clone; its default branch otherwise")] = ""
    publishes: Annotated[bool, about("whether this machine indexes it for the team")] = False
    moved_from: Annotated[tuple[str, ...], about("its former roots")] = ()

    def moved_to(self, root: Path) -> Source:
        """Return the source with its files in `root`."""
        former = dict.fromkeys((*self.moved_from, str(self.root)))
        former.pop(str(root), None)
        return replace(self, root=root, address="", branch="", moved_from=tuple(former))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a scan found by its name and status. Its content has not been read.

    `path` is shown and stored. Where a name is not UTF-8, the offending bytes are escaped in it as
    `\\xNN`, and the file is skipped. `skip_reason` is "" for a file that is to be read.
    """

    path: str
    size: int  # bytes
    mtime_ns: int
    ctime_ns: int  # catches a file replaced by one with the same size and mtime
    skip_reason: str = ""
    is_asked_for: bool = False  # by an exclude such as `!.env`: index it though it may hold secrets

    @classmethod
    def of(
        cls, path: str, status: os.stat_result, *, skip_reason: str = "", is_asked_for: bool = False
    ) -> SourceFile:
        """Return the file at `path`, whose `lstat` returned `status`."""
        return cls(path, *stamp_of(status), skip_reason, is_asked_for)

    @property
    def stamp(self) -> Stamp:
        """Size and times: a scan takes the content for unchanged while they are."""
        return (self.size, self.mtime_ns, self.ctime_ns)


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan of a source, or of some of its paths, found on disk; its root is the path "".

    `folders` are the folders that no ignore rule leaves out, which are to be watched. A file at or
    below a path in `unreadable` must not be taken for deleted.
    """

    files: tuple[SourceFile, ...]  # sorted by path
    folders: tuple[str, ...]  # sorted, without those whose name is not UTF-8
    unreadable: tuple[str, ...]  # sorted

    def verifies_absence(self, path: str) -> bool:
        """Whether a `path` that is not in `files` is gone, not hidden by an unreadable folder."""
        return not any(
            folder in ("", path) or path.startswith(f"{folder}/") for folder in self.unreadable
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """An indexed span of whole lines of a document, with the definition or heading it lies in.

    The chunks of a document are in order, do not overlap, and together hold every line that is not
    blank.
    """

    start_line: int
    end_line: int
    code: str  # the lines, verbatim, without the last line break
    symbols: tuple[str, ...] = ()  # names defined in these lines, in order, e.g. ("Cart", "add")
    scope: str = ""  # what encloses the first line: "Cart.add", or the headings "Setup > Linux"
    signature: str = ""  # in one line, of the innermost definition that it lies in or begins

    @property
    def location(self) -> str:
        """The lines as `start-end`, so that `filename:location` opens in an editor."""
        return f"{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Findable:
    """What the search indexes hold of one row of a corpus: words for FTS5, a text for vectors."""

    words: tuple[str, ...]  # one string for each column of the corpus, made by `index_words`
    text: str  # what the embedding models embed


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file at one hash, indexed or skipped; a transaction writes all rows of it or none.

    The subclass of each kind of database (code, memories, sessions) adds the rows.
    """

    source: str
    file: SourceFile
    fingerprint: str  # hex, over the content and the version of its builder
    language: str
    status: FileStatus
    reason: str = ""
    found: tuple[Findable, ...] = ()  # how to find each of its rows, in order

    @property
    def embedded_texts(self) -> list[str]:
        """The text to embed for each row, in order."""
        return [row.text for row in self.found]


class Asked(StrEnum):
    """What a question is asked of."""

    CODE = "code"
    MEMORIES = "memories"
    SESSIONS = "sessions"


class SearchMode(StrEnum):
    """Which arms rank the hits: keyword, vector, or both."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Query:
    """A search, as its caller asked for it. Each domain adds its filter, and options of its own."""

    text: str
    _: KW_ONLY
    top_k: int = 10
    mode: SearchMode = SearchMode.HYBRID
    min_score: float = 0.0  # hits below it are left out
    explain: bool = False  # add to each hit an Explanation

    @property
    def searched(self) -> str:
        """The text as far as it is looked for."""
        return self.text[:MAX_QUERY_CHARACTERS]

    @property
    def uses_vectors(self) -> bool:
        return self.mode is not SearchMode.KEYWORD

    def require_text(self) -> None:
        """Raise UsageError for an empty query."""
        if not self.text.strip():
            raise UsageError("the query is empty", hint="say what you are looking for")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a score is made of."""

    cosine: Annotated[
        float | None, about("likeness to the question; null where that arm had no opinion")
    ]
    keyword: Annotated[float | None, about("share of the question's weight that the words match")]
    boosts: Annotated[dict[str, float], about("what lifted or lowered it, by name")]
    terms: Annotated[
        dict[str, float], about("what each adds, by name: together they are the score")
    ]
    commits: (
        Annotated[tuple[str, ...], about("subjects of those behind `history`, the best first")]
        | UnsetType
    ) = UNSET


@dataclass(frozen=True, slots=True)
class ExchangeRequest:
    """What an exchange of files with a team is to do: by default give our changes, take theirs."""

    gives: bool = True
    takes: bool = True
    changed: Collection[str] = ()  # where any are named and nothing is owed, look at no others
    over: Collection[str] = ()  # conflicts: giving alone replaces theirs, taking alone ours
    joins: bool = False  # also with another team than before
    with_secrets: bool = False  # give files that seem to hold one, too
