"""The results of commands about code and its sources, as they are printed: see `core.results`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, UnsetType

from memory_sidecar.code.model import ChunkFile
from memory_sidecar.core.model import Explanation, Source
from memory_sidecar.core.results import IsWeak, Score, Time, about, pluralize
from memory_sidecar.core.times import iso_utc, shown_utc
from memory_sidecar.disk.roots import problem_of
from memory_sidecar.disk.ruling import Rule
from memory_sidecar.index.report import Failure, SourceCounts, VectorCounts
from memory_sidecar.index.watched import LiveState, currency

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Freshness:
    """How up to date the index of a hit's source is."""

    is_current: Annotated[
        bool | None, about("nothing saved waits to be indexed; null: no daemon watches")
    ]
    scanned_at: Annotated[Time | None, about("end of the last complete scan of its source")]
    vectors_pending: Annotated[int, about("chunks that only keywords find yet")]

    @property
    def in_words(self) -> str:
        if self.is_current is None:
            at = self.scanned_at
            state = f"as it was at {shown_utc(at)}" if at else "its first scan is running"
        else:
            state = currency(self.is_current)
        waiting = pluralize(self.vectors_pending, "chunk waits", "chunks wait")
        return f"{state}, {waiting} for a vector" if self.vectors_pending else state


@dataclass(frozen=True, slots=True)
class Copy:
    """The place of a near-identical copy of a hit."""

    filename: Annotated[str, about("relative to its source")]
    location: Annotated[str, about("start-end in lines")]
    source: str


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A ranked chunk of code."""

    filename: Annotated[str, about("relative to its source")]
    location: Annotated[str, about("start-end in lines: filename:location opens in an editor")]
    language: str
    code: Annotated[str, about("those lines")]
    score: Score
    source: str
    start_line: Annotated[int, about("from 1")]
    end_line: Annotated[int, about("inclusive")]
    symbols: Annotated[tuple[str, ...], about("names defined in it")]
    scope: Annotated[str, about("what encloses its first line: Cart.add, or Setup > Linux")]
    signature: Annotated[str, about("of the definition that it lies in or begins")]
    is_weak: IsWeak
    copies: Annotated[tuple[Copy, ...], about("near-identical ones that it stands for")] = ()
    explain: Annotated[Explanation, about("with --explain")] | UnsetType = UNSET
    freshness: Annotated[Freshness, about("with --explain")] | UnsetType = UNSET


class Cut(list[T]):
    """The first results, with the number of those left out."""

    def __init__(
        self,
        found: Iterable[T],
        *,
        more: int,
        more_in: Sequence[ChunkFile] = (),
        notices: Sequence[str] = (),
    ) -> None:
        super().__init__(found)
        self.more = more  # how many results were left out
        self.more_in = more_in  # the file of each, where that is known
        self.notices = notices  # to be shown with the results

    @classmethod
    def first(cls, found: Sequence[T], count: int) -> Cut[T]:
        """Keep the first `count` of `found`."""
        return cls(found[:count], more=max(len(found) - count, 0))


def count_by_file(files: Iterable[ChunkFile], called: Callable[[ChunkFile], str]) -> str:
    """Name the files that most of `files` are, with how many: "till.py (3), 2 other files"."""
    most = Counter(files).most_common()
    named = [f"{called(file)} ({count})" for file, count in most[:MOST_FILES]]
    others = len(most) - len(named)
    return ", ".join([*named, pluralize(others, "other file")] if others else named)


Confidence = Literal["exact", "likely", "by name"]
MOST_FILES = 8  # named with what an answer leaves out
_SURE = about("exact: the one candidate in scope; likely: the one that fits; by name: no telling")


@dataclass(frozen=True, slots=True)
class DefinitionPlace:
    """What a name is defined by, and where."""

    filename: Annotated[str, about("relative to its source")]
    start_line: Annotated[int, about("of the name, from 1")]
    end_line: Annotated[int, about("inclusive")]
    name: str
    kind: Annotated[str, about("class, function, method, variable and the like")]
    enclosing: Annotated[str, about("what it lies in, dotted, or empty")]
    signature: str
    source: str
    language: str


@dataclass(frozen=True, slots=True)
class DefinitionHit(DefinitionPlace):
    """A definition of a name."""

    confidence: Annotated[Confidence, _SURE]
    others: Annotated[int, about("candidates beside this one")]


@dataclass(frozen=True, slots=True)
class MapEntry(DefinitionPlace):
    """A definition that much of its source depends on."""

    score: Annotated[float, about("its share of all that depends on definitions: PageRank")]


@dataclass(frozen=True, slots=True)
class ReferenceHit:
    """A place where a name is used."""

    filename: Annotated[str, about("relative to its source")]
    start_line: Annotated[int, about("from 1")]
    end_line: Annotated[int, about("inclusive")]
    name: str
    how: Literal["call", "type", "import", "attribute", "other"]
    enclosing: Annotated[str, about("the definition that it lies in, dotted, or empty")]
    code: Annotated[str, about("that line")]
    confidence: Annotated[Confidence, _SURE]
    others: Annotated[int, about("candidates beside the one that is meant")]
    depth: Annotated[int, about("calls between it and the name, from 1")]
    source: str
    language: str
    is_gone: Annotated[bool, about("impact: a diff removed what it uses")] | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class AtTeam(VectorCounts):
    """What a team has of a source beside what is here."""

    files_away: int = 0  # whose chunks only the team has, counted if it does not answer


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What is indexed of a source."""

    name: str
    root: Annotated[str, about("absolute")]
    files_indexed: int
    files_skipped: int
    files_failed: int
    chunks: Annotated[int, about("those that a team has for it, too")]
    chunks_at_team: Annotated[int, about("of these, those that only a team has")]
    pending_at_team: Annotated[int, about("of those, how many wait for their vector")]
    files_away: Annotated[int, about("of which only a team has the chunks, and does not answer")]
    scanned_at: Time | None
    live: Annotated[LiveState | None, about("null where nothing watches it")]
    problem: Annotated[str, about("why it cannot be indexed, or empty")]

    @classmethod
    def of(
        cls, source: Source, counts: SourceCounts | None, live: LiveState | None, at_team: AtTeam
    ) -> SourceStatus:
        """`counts`: of what the database holds of `source`, if anything."""
        return cls(
            name=source.name,
            root=source.root.as_posix(),
            files_indexed=counts.indexed if counts else 0,
            files_skipped=counts.skipped if counts else 0,
            files_failed=counts.failed if counts else 0,
            chunks=(counts.chunks if counts else 0) + at_team.rows,
            chunks_at_team=at_team.rows,
            pending_at_team=at_team.pending,
            files_away=at_team.files_away,
            scanned_at=iso_utc(counts.scanned_at) if counts and counts.scanned_at else None,
            live=live,
            problem=live.error if live else problem_of(source),
        )

    @property
    def state(self) -> str:
        """How fresh its index is, in words."""
        scanned = f"scanned {shown_utc(self.scanned_at)}" if self.scanned_at else "not scanned yet"
        if self.files_away:
            files = pluralize(self.files_away, "file")
            return f"{files} only in the team's database, which cannot be searched now"
        if self.problem:
            return f"{'last ' if self.scanned_at else ''}{scanned}: {self.problem}"
        return self.live.in_words if self.live else scanned


Fate = Literal["indexed", "waiting", "skipped", "failed", "ignored", "folder", "outside", "absent"]


@dataclass(frozen=True, slots=True)
class Why:
    """What became of a path, and why."""

    path: Annotated[str, about("absolute")]
    fate: Annotated[Fate, about("waiting: not scanned yet; outside: of every source")]
    reason: Annotated[str, about("in one line")]
    hint: Annotated[str, about("a next step, or empty")]
    source: Annotated[str | None, about("that it lies in")] = None
    chunks: int = 0
    vectors: Annotated[int, about("of those chunks")] = 0
    rule: Annotated[Rule | None, about("that ignores it, where one is known")] = None


@dataclass(frozen=True, slots=True)
class Published:
    """What a team was given of a source, in this call."""

    name: str
    files: int
    chunks: int
    deleted: Annotated[int, about("files that the team had and this machine has not")]


@dataclass(frozen=True, slots=True)
class CodebaseStatus:
    """What a database of code holds: the part of `status` that is about it."""

    db: Path
    db_bytes: int
    sources: tuple[SourceStatus, ...]
    chunks: int
    vectors_pending: int
    vectors_per_second: float  # embedded lately, by this process
    last_failure: Failure | None  # of what goes on in the background
