"""The values that travel between the packages, all frozen.

    file on disk ── SourceFile ──▶ Document ──▶ Chunk … ──▶ store
    query text ──── Query ──▶ Hit …

A *document* is one file at one hash, a *chunk* an indexed span of it. Lines are 1-based and
inclusive, paths are relative to their source with `/`, times are epoch milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, UnsetType

from memory_sidecar.core.results import about, rounded

CHARACTERS_PER_TOKEN = 4  # about, of code and of prose


class FileStatus(StrEnum):
    """What became of a file; every file of a source has exactly one."""

    INDEXED = "indexed"
    SKIPPED = "skipped"  # on purpose, with a reason: binary, too large, minified …
    FAILED = "failed"  # could not be read or chunked, with a reason; tried again later


Stamp = tuple[int, int, int]
"""Of a file: its size in bytes, mtime in ns, ctime in ns."""


@dataclass(frozen=True, slots=True)
class Source:
    """A registered folder."""

    name: str  # unique without regard to case; names a folder of the state
    root: Annotated[Path, about("absolute")]  # and without links
    excludes: Annotated[tuple[str, ...], about("globs as in a .gitignore")] = ()
    address: Annotated[str, about("of git, that `root` is a clone of")] = ""
    branch: Annotated[str, about("or tag, of that clone; its default branch otherwise")] = ""
    publishes: Annotated[bool, about("whether this machine indexes it for the team")] = False


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a walk found. Its content has not been read.

    `path` is what is shown and stored; a name that is not UTF-8 has its bytes escaped as
    `\\xNN` there, and `skip_reason` set. `skip_reason` is "" for a file worth reading.
    """

    path: str
    size: int  # bytes
    mtime_ns: int
    ctime_ns: int  # catches a file replaced by one with the same size and mtime
    skip_reason: str = ""
    is_asked_for: bool = False  # even though it may hold secrets

    @classmethod
    def of(
        cls, path: str, status: os.stat_result, *, skip_reason: str = "", is_asked_for: bool = False
    ) -> SourceFile:
        """The file at `path` of which `lstat` says `status`."""
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return cls(path, status.st_size, *times, skip_reason, is_asked_for)

    @property
    def stamp(self) -> Stamp:
        """While it stays, the content is taken to be what it was."""
        return (self.size, self.mtime_ns, self.ctime_ns)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a walk saw. Paths are relative to the source with `/`; its root is "".

    `folders` are those that no rule ignores, the ones to watch. Nothing at or below a path in
    `unreadable` may be taken for deleted.
    """

    files: tuple[SourceFile, ...]  # sorted by path
    folders: tuple[str, ...]  # sorted, without those whose name is not UTF-8
    unreadable: tuple[str, ...]  # sorted

    def verifies_absence(self, path: str) -> bool:
        """Whether `path` not being in `files` means that it is gone from the source."""
        return not any(
            folder in ("", path) or path.startswith(f"{folder}/") for folder in self.unreadable
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of whole lines, with what a reader would need to know where it stands.

    The chunks of a document are in order, do not overlap, and together hold every line that
    is not blank.
    """

    start_line: int
    end_line: int
    code: str  # the lines as they stand, without the last line break
    symbols: tuple[str, ...] = ()  # names defined in these lines, in order, e.g. ("Cart", "add")
    scope: str = ""  # what encloses the first line: "Cart.add", or a heading path "Setup > Linux"
    signature: str = ""  # head of the innermost definition it lies in or begins, one line

    @property
    def location(self) -> str:
        """`start-end`, so that `filename:location` opens in an editor."""
        return f"{self.start_line}-{self.end_line}"


@dataclass(frozen=True, slots=True)
class Findable:
    """How a row of a corpus is found: by words, and by vectors of a text."""

    words: tuple[str, ...]  # of each of the corpus's columns, as FTS5 is given them
    text: str  # what the models see of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file at one hash, indexed or skipped: the unit of every transaction.

    What kind of rows it becomes is told by its subclasses, beside the store that has them.
    """

    source: str
    file: SourceFile
    fingerprint: str  # hex, over content and chunker version
    language: str
    status: FileStatus
    reason: str = ""
    found: tuple[Findable, ...] = ()  # each of its rows, in order

    @property
    def embedded_texts(self) -> list[str]:
        """What the models see of each of its rows, in order."""
        return [row.text for row in self.found]


class AtomKind(StrEnum):
    """The value is the word for it in a command; the rest is all that tells the kinds apart."""

    EXPERIMENT = "experiment", "EXP", "experiments", "links", "what was tried"
    KNOWLEDGE = "knowledge", "K", "knowledge", "evidence", "what is known"
    PATTERN = "pattern", "PAT", "patterns", "source-experiments", "what recurs"

    prefix: str  # of its ids
    folder: str
    basis: str  # the key that names what it rests on or leads to: the last column of its index
    tells: str  # what its folder holds

    def __new__(cls, word: str, prefix: str, folder: str, basis: str, tells: str) -> AtomKind:
        kind = str.__new__(cls, word)
        kind._value_ = word
        kind.prefix, kind.folder, kind.basis, kind.tells = prefix, folder, basis, tells
        return kind

    @property
    def needs_basis(self) -> bool:
        """An experiment stands for itself; the others say what shows them."""
        return self is not AtomKind.EXPERIMENT


class Asked(StrEnum):
    """What a question is about."""

    CODE = "code"
    MEMORIES = "memories"
    SESSIONS = "sessions"


class SearchMode(StrEnum):
    """Which arms rank."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """What a hit must satisfy; both arms apply it. Empty means no restriction."""

    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # any of
    path_globs: tuple[str, ...] = ()  # any of; `**` crosses folders


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A code search as asked for."""

    text: str
    top_k: int = 10
    mode: SearchMode = SearchMode.HYBRID
    filter: CodeFilter = field(default_factory=CodeFilter)
    max_tokens: int | None = None  # budget over the code of all hits, about 4 characters each
    min_score: float = 0.0  # no hit below it
    explain: bool = False  # what each score is made of, and how fresh what it was found in is


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

    def reranked(self, change: float) -> Explanation:
        """The same after a cross-encoder moved the score."""
        step = {"reranked": rounded(change)}
        return replace(self, boosts=self.boosts | step, terms=self.terms | step)


@dataclass(frozen=True, slots=True)
class ExchangeRequest:
    """What an exchange of files with a team is to do: by default give our changes, take theirs."""

    gives: bool = True
    takes: bool = True
    changed: Collection[str] = ()  # where any are named and nothing is owed, look at no others
    over: Collection[str] = ()  # conflicts: what only gives replaces theirs, what only takes ours
    with_secrets: bool = False  # give files that seem to hold one, too
