"""What the commands about sources and their code print."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from memory_sidecar.outputs.common import ErrorText, Explanation, Score, Time


class File(TypedDict):
    """A file that was left out or could not be indexed, and why."""

    source: str
    path: Annotated[str, "relative to its source"]
    reason: str


class IndexReport(TypedDict):
    """What an index run did."""

    sources: Annotated[list[str], "those that were looked at"]
    sources_absent: Annotated[list[str], "not there; what was indexed of them stays"]
    files_total: Annotated[int, "all that the sources have"]
    files_processed: Annotated[int, "those (re)indexed by this call"]
    files_deleted: int
    files_skipped: list[File]
    files_failed: Annotated[list[File], "tried again next time"]
    folders_unreadable: Annotated[list[str], "left as they were"]
    chunks_indexed: int
    chunks_deleted: int
    chunks_total: int
    vectors_embedded: int
    vectors_pending: Annotated[int, "chunks that wait for their vector"]
    seconds: float


class AgentReport(IndexReport):
    """What was done for the memories and sessions of an agent: its chunks are theirs."""

    agent: str


class AgentReports(TypedDict):
    """What `reindex --all` did where no source is registered."""

    agents: list[AgentReport]


class AllReports(IndexReport):
    """What `reindex --all` did: for the sources, and for each agent."""

    agents: list[AgentReport]


class Freshness(TypedDict):
    """How new what a hit was found in is."""

    is_current: Annotated[bool | None, "nothing saved waits to be indexed; null: nobody watches"]
    scanned_at: Annotated[Time | None, "end of the last complete scan of its source"]
    vectors_pending: Annotated[int, "chunks that only keywords find yet"]


class CodeHit(TypedDict):
    """A ranked chunk of code."""

    filename: Annotated[str, "relative to its source"]
    location: Annotated[str, "start-end in lines: filename:location opens in an editor"]
    language: str
    code: Annotated[str, "those lines"]
    score: Score
    source: str
    start_line: Annotated[int, "from 1"]
    end_line: Annotated[int, "inclusive"]
    symbols: Annotated[list[str], "names defined in it"]
    scope: Annotated[str, "what encloses its first line: Cart.add, or Setup > Linux"]
    signature: Annotated[str, "of the definition that it lies in or begins"]
    explain: NotRequired[Annotated[Explanation, "with --explain"]]
    freshness: NotRequired[Annotated[Freshness, "with --explain"]]


class Capture(TypedDict):
    """What stood in a hole of a pattern. Counted from 1 in characters."""

    text: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, "behind its last character"]


class FoundCode(TypedDict):
    """A place that a pattern matched. Counted from 1 in characters."""

    filename: Annotated[str, "relative to the working directory, absolute outside of it"]
    location: Annotated[str, "start-end in lines: filename:location opens in an editor"]
    language: str
    code: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, "behind its last character"]
    captures: Annotated[dict[str, list[Capture]], "by name: one for $X, any number for $$$X"]


class Source(TypedDict):
    """A registered folder."""

    name: str
    root: Annotated[str, "absolute"]
    excludes: Annotated[list[str], "globs as in a .gitignore"]


class FilesUnderWay(TypedDict):
    """A pass over a source."""

    files_done: int
    files_total: int
    files_per_second: float
    seconds_left: float | None


class LiveState(TypedDict):
    """How the watch of a source is doing."""

    is_current: Annotated[bool, "nothing saved up to now waits to be indexed"]
    waiting: Annotated[int, "files and folders that changed and are still to be looked at"]
    indexing: Annotated[FilesUnderWay | None, "what is being indexed now"]
    refreshed_at: Time | None
    error: Annotated[str, "why it does not follow, or empty"]
    polled: Annotated[list[str], "folders that the system does not watch"]
    notice: str


class SourceStatus(TypedDict):
    """What is indexed of a source."""

    name: str
    root: Annotated[str, "absolute"]
    files_indexed: int
    files_skipped: int
    files_failed: int
    chunks: int
    scanned_at: Time | None
    live: Annotated[LiveState | None, "null where nothing watches it"]


class AgentStatus(TypedDict):
    """What is remembered of an agent; all 0 where its database is not there or cannot be read."""

    name: str
    memories: int
    sessions: int
    texts: Annotated[int, "passages of memories and parts of sessions, each of which gets a vector"]
    vectors_pending: int
    is_current: Annotated[
        bool | None, "nothing saved up to now waits to be indexed; null where nobody watches"
    ]
    problem: Annotated[str, "why it cannot be read or followed, or empty"]


class Failure(TypedDict):
    """What went wrong, and when."""

    at: Time
    message: str


class Daemon(TypedDict):
    """The process that answered."""

    pid: int
    version: str
    started_at: Time
    uptime_seconds: float
    resident_bytes: Annotated[int | None, "its memory; null where the system does not tell"]
    log: Annotated[str, "its file"]


class Status(TypedDict):
    """What is indexed, and how fresh it is."""

    data_dir: str
    db: str
    db_bytes: int
    sources: list[SourceStatus]
    agents: Annotated[list[AgentStatus], "of the data directory; none of them with --db"]
    chunks: Annotated[int, "of all sources"]
    vectors: int
    vectors_pending: int
    vectors_per_second: Annotated[float, "embedded lately"]
    vectors_seconds_left: float | None
    model: str | None
    model_loaded: bool
    model_problem: ErrorText | None
    last_error: Annotated[Failure | None, "of what works in the background, until that goes well"]
    daemon: Annotated[Daemon | None, "null where the command ran in its own process"]
    files: NotRequired[Annotated[list[File], "with --skipped or --failed"]]
