"""Logs reads of memories and questions, in append-only files of JSON lines on this machine only.

A line for each memory that was read or moved, so that a read need not rewrite the memory's file:

    {"ts": "2026-04-16T03:12:21.074Z", "file": "pitfall/cycle.md", "tool": "query"}
    {"ts": "2026-04-17T08:00:00.000Z", "file": "decisions/cycle.md", "tool": "move",
     "from": "pitfall/cycle.md"}

A line for each question and how well it was answered; the oldest are dropped:

    {"at": 1772356320000, "kind": "code", "text": "how are prices rounded", "hits": 10,
     "weak": false, "ms": 8.21, "agent": "architect"}

Broken lines are skipped; any number of processes may append at once. A logged question holds no
answer and no secret. It is written in the background a moment later, with the others of that
moment, so that an answer neither waits for the log nor fails with it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.model import Asked
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import ASKED, QUESTIONS
from memory_sidecar.core.results import MaybeWeak
from memory_sidecar.core.times import Clock, iso_utc, parse_time

MOVED = "move"
PART_BYTES = 64 << 20  # of a log, read at once

ASKED_BEFORE = "asked.before.jsonl"
HALF_BYTES = 2 << 20  # of the questions: some 15,000
MAX_CHARACTERS = 300  # of a question
WRITTEN_AFTER_S = 0.1  # writing at once would take the GIL from the answer
_SEARCHED_CHARACTERS = 4 * MAX_CHARACTERS  # searched for secrets, so that no half of one is kept

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Uses:
    """The number of reads of one memory, and the time of the last, in epoch milliseconds."""

    count: int
    last_at: int


def log_reads(tree: Tree, log: Path, paths: Sequence[str], *, tool: str, at_ms: int) -> None:
    """Count a read of each of `paths` by the command or tool called `tool`."""
    ts = iso_utc(at_ms)
    append_lines(tree, log, [{"ts": ts, "file": path, "tool": tool} for path in paths])


def log_move(tree: Tree, log: Path, old: str, new: str, *, at_ms: int) -> None:
    """Log that a memory moved from `old` to `new`, so that its earlier reads count for `new`."""
    append_lines(tree, log, [{"ts": iso_utc(at_ms), "file": new, "tool": MOVED, "from": old}])


@dataclass(frozen=True, slots=True)
class LogPart:
    """The reads and moves in a part of a log, to be added to those of the parts before it."""

    uses: Mapping[str, Uses]
    moves: Sequence[tuple[str, str]]  # old and new path: the new one gets all earlier reads
    end: int  # byte after the last whole line


def read_part(tree: Tree, log: Path, *, start: int = 0) -> LogPart:
    """Read `log` from byte `start`, where a line begins. A missing log counts as empty."""
    try:
        with os.fdopen(tree.open(log), "rb") as file:
            file.seek(start)
            data = file.read(PART_BYTES)
    except FileNotFoundError:
        return LogPart({}, (), 0)
    if len(data) == PART_BYTES and b"\n" not in data:
        data = b"\n".rjust(PART_BYTES)  # no line is that long
    uses: dict[str, Uses] = {}
    moves: list[tuple[str, str]] = []
    whole = data[: data.rfind(b"\n") + 1]
    for path, at, old_path in _entries(whole):
        if old_path is None:
            uses[path] = _sum(uses.get(path), Uses(1, at))
            continue
        moves.append((old_path, path))
        if old := uses.pop(old_path, None):
            uses[path] = _sum(uses.get(path), old)
    return LogPart(uses, moves, start + len(whole))


def reads_since(tree: Tree, log: Path, since: int) -> list[tuple[str, int]]:
    """Return the paths read at `since` or later, with the times in epoch ms.

    Only the last PART_BYTES of a long log are read.
    """
    try:
        with os.fdopen(tree.open(log), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - PART_BYTES, 0))
            data = file.read(PART_BYTES)
    except OSError:  # a log that cannot be opened counts as empty, as where reads are counted
        return []
    return [(path, at) for path, at, old in _entries(data) if old is None and at >= since]


def append_lines(tree: Tree, log: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """Append each of `lines` as JSON, usually in one write, so that writers do not interleave."""
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    if not data:
        return
    descriptor = tree.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        if os.fstat(descriptor).st_size:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                data = "\n" + data  # a crash left the last line without an end
        left = data.encode("utf-8", "replace")
        while left:  # a disk that fills takes a part, and refuses the next
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _entries(data: bytes) -> Iterator[tuple[str, int, str | None]]:
    """Yield path, time (epoch ms) and, of a move alone, the old path of each valid line."""
    for raw in filter(bytes.strip, data.split(b"\n")):
        try:
            line = read_json(raw)
        except BrokenJson:
            continue
        line = line if isinstance(line, dict) else {}
        path, at = line.get("file"), parse_time(line.get("ts"))
        if isinstance(path, str) and at is not None:
            yield path, at, str(line.get("from")) if line.get("tool") == MOVED else None


def _sum(one: Uses | None, other: Uses) -> Uses:
    if one is None:
        return other
    return Uses(one.count + other.count, max(one.last_at, other.last_at))


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A logged question, a line of the file."""

    at: int  # epoch ms
    kind: Asked
    text: str
    hits: int
    weak: bool  # no hit, or a weak one as the best
    ms: float
    agent: str


H = TypeVar("H", bound=MaybeWeak)


class QuestionLog:
    """The questions of the data directory `tree`; new ones are logged only if `is_kept`.

    Thread-safe. Several processes may write at once.
    """

    def __init__(self, tree: Tree, *, clock: Clock, is_kept: bool) -> None:
        self._tree = tree
        self._clock = clock
        self._is_kept = is_kept
        self._waiting: deque[AskedQuestion] = deque()
        self._closing = threading.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="questions")

    def ask_and_log(
        self, kind: Asked, agent: str, text: str, ask: Callable[[], list[H]]
    ) -> list[H]:
        """Return the hits of `ask`, best first, and log the question `text` with its outcome.

        Nothing is logged if `ask` raises.
        """
        began = time.perf_counter()
        hits = ask()
        if self._is_kept:
            ms = round(1000 * (time.perf_counter() - began), 2)
            is_weak = not hits or hits[0].is_weak
            asked = AskedQuestion(self._clock(), kind, text, len(hits), is_weak, ms, agent)
            self._waiting.append(asked)
            with suppress(RuntimeError):  # it was closed while this was asked
                self._writer.submit(self._write_waiting)
        return hits

    def since(self, at: int) -> list[AskedQuestion]:
        """Return the questions asked at `at` (epoch ms) or later, in order; skip broken lines."""
        with suppress(RuntimeError):
            self._writer.submit(lambda: None).result()  # wait until earlier questions are written
        lines = (line for name in (ASKED_BEFORE, ASKED) for line in self._lines(name))
        return [asked for line in lines if (asked := _read(line)) is not None and asked.at >= at]

    def close(self) -> None:
        """Write the waiting questions; later ones are not logged."""
        self._closing.set()
        self._writer.shutdown()

    def _write_waiting(self) -> None:
        if not self._waiting:
            return  # an earlier call has written this question with its own
        self._closing.wait(WRITTEN_AFTER_S)
        lines = []
        while self._waiting:
            asked = self._waiting.popleft()
            masked = mask_credentials(asked.text[:_SEARCHED_CHARACTERS])[:MAX_CHARACTERS]
            lines.append(asdict(asked) | {"text": masked})
        try:
            if os.path.isdir(self._tree.path):  # noqa: PTH112  an answer makes no data directory
                self._make_room()
                append_lines(self._tree, Path(QUESTIONS, ASKED), lines)
        except OSError as error:
            _log.debug("a question is not kept: %s", error)

    def _make_room(self) -> None:
        """Start a new file of questions if this one is full, dropping the one before.

        Two processes that do so in the same moment lose both halves, which are statistics.
        """
        with self._tree.enter(QUESTIONS, make=True) as folder:
            status = folder.status(ASKED)
            if status is not None and status.st_size >= HALF_BYTES:
                os.replace(
                    folder.at(ASKED),
                    folder.at(ASKED_BEFORE),
                    src_dir_fd=folder.fd,
                    dst_dir_fd=folder.fd,
                )

    def _lines(self, name: str) -> Iterator[bytes]:
        with suppress(OSError):
            yield from self._tree.read(f"{QUESTIONS}/{name}", 2 * HALF_BYTES).splitlines()


_decoder = msgspec.json.Decoder(AskedQuestion)


def _read(line: bytes) -> AskedQuestion | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
