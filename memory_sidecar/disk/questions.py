"""What was asked, and how well it was answered: one line of JSON a question, in the data directory.

    {"at": 1772356320000, "kind": "code", "text": "how are prices rounded", "hits": 10,
     "weak": false, "ms": 8.21, "agent": "architect"}

Never leaves the machine, holds no answer and no secret, and forgets the oldest questions. It is
written behind the answer: a question is neither slower for it, nor fails where it cannot be kept.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import QUESTIONS
from memory_sidecar.core.times import Clock
from memory_sidecar.disk.access_log import append_lines

ASKED = "asked.jsonl"
ASKED_BEFORE = "asked.before.jsonl"
PART_BYTES = 2 << 20  # of each of the two: some 15,000 questions
MAX_CHARACTERS = 300  # of a question
_LOOKED_AT = 4 * MAX_CHARACTERS  # for secrets, of which no half shall be kept

_log = logging.getLogger(__name__)


class Asked(StrEnum):
    """What a question is about."""

    CODE = "code"
    MEMORIES = "memories"
    SESSIONS = "sessions"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question, as it is kept."""

    at: int  # epoch ms
    kind: Asked
    text: str
    hits: int
    weak: bool  # no hit, or a weak one as the best
    ms: float
    agent: str


class Graded(Protocol):
    """A hit, as far as this is concerned."""

    @property
    def is_weak(self) -> bool: ...


H = TypeVar("H", bound=Graded)


class QuestionLog:
    """The questions of the data directory `tree`; with `is_kept` false no new ones.

    Thread-safe. Several processes may write at once.
    """

    def __init__(self, tree: Tree, *, clock: Clock, is_kept: bool) -> None:
        self._tree = tree
        self._clock = clock
        self._is_kept = is_kept
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="questions")

    def asking(self, kind: Asked, agent: str, text: str, ask: Callable[[], list[H]]) -> list[H]:
        """What `ask` answers, the best hit first; `text` is noted with how that went.

        Nothing is noted where `ask` raises.
        """
        began = time.perf_counter()
        hits = ask()
        if self._is_kept:
            ms = round(1000 * (time.perf_counter() - began), 2)
            is_weak = not hits or hits[0].is_weak
            asked = AskedQuestion(self._clock(), kind, text, len(hits), is_weak, ms, agent)
            with suppress(RuntimeError):  # it was closed while this was asked
                self._writer.submit(self._write, asked)
        return hits

    def since(self, at: int) -> list[AskedQuestion]:
        """Those asked at `at`, in epoch ms, or later, in order; broken lines count for nothing."""
        with suppress(RuntimeError):
            self._writer.submit(lambda: None).result()  # what was asked before is written
        lines = (line for name in (ASKED_BEFORE, ASKED) for line in self._lines(name))
        return [asked for line in lines if (asked := _read(line)) is not None and asked.at >= at]

    def close(self) -> None:
        """Write what is left; what is asked from now on is not kept."""
        self._writer.shutdown()

    def _write(self, asked: AskedQuestion) -> None:
        masked = mask_credentials(asked.text[:_LOOKED_AT])[0][:MAX_CHARACTERS]
        try:
            if os.path.isdir(self._tree.path):  # noqa: PTH112  an answer makes no data directory
                self._make_room()
                line = asdict(asked) | {"text": masked}
                append_lines(self._tree, Path(QUESTIONS, ASKED), [line])
        except OSError as error:
            _log.debug("a question is not kept: %s", error)

    def _make_room(self) -> None:
        """Let the older half go where the newer one is full.

        Two processes that do so in the same moment lose both halves, which are statistics.
        """
        with self._tree.enter(QUESTIONS, make=True) as folder:
            status = folder.status(ASKED)
            if status is not None and status.st_size >= PART_BYTES:
                os.replace(
                    folder.at(ASKED),
                    folder.at(ASKED_BEFORE),
                    src_dir_fd=folder.fd,
                    dst_dir_fd=folder.fd,
                )

    def _lines(self, name: str) -> Iterator[bytes]:
        with suppress(OSError):
            yield from self._tree.read(f"{QUESTIONS}/{name}", 2 * PART_BYTES).splitlines()


_decoder = msgspec.json.Decoder(AskedQuestion)


def _read(line: bytes) -> AskedQuestion | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
