"""A connected client: its agent, its folders and tools, and the pages of long answers to it.

What is found changes between two pages: files are saved, memories come to the front, and a search
that looks deeper ranks in another way. So a conversation keeps what was shown of its last
questions, and a page has what was not, whatever its place is by now. Of older ones a cursor counts.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from memory_sidecar.agents.services import Services
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.model import Source
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.results import Reporter
from memory_sidecar.memories.handlers import Memories

T = TypeVar("T")

QUESTIONS_KEPT = 32

_CURSOR = re.compile(r"from-(\d{1,9})")


def offset_of(cursor: str) -> int:
    """Return how many results come before `cursor`; "" is the start. Raises UsageError."""
    if not cursor:
        return 0
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise UsageError(
            f"{cursor!r} is not a cursor",
            hint="pass the `next_cursor` of the result before, or none",
        )
    return int(found[1])


def cursor_after(offset: int, shown: Sequence[object], found: Sequence[object]) -> str:
    """Return the cursor after `shown`, the start of `found` at `offset`; "" if that is all."""
    return f"from-{offset + len(shown)}" if len(shown) < len(found) else ""


class Pages:
    """The hits that one conversation has been shown, by question. Thread-safe."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, list[int]] = OrderedDict()  # hashes, in order
        self._lock = threading.Lock()

    def page(self, question: str, cursor: str) -> AnswerPage:
        """Begin the page of the answer to `question` at `cursor`. Raises UsageError."""
        offset = offset_of(cursor)
        with self._lock:
            shown = self._shown.get(question, [])
        return AnswerPage(self, question, offset, shown[:offset] if len(shown) >= offset else None)

    def keep(self, question: str, shown: list[int]) -> None:
        """Remember `shown`, the hashes of what the pages up to now have shown."""
        with self._lock:
            self._shown[question] = shown
            self._shown.move_to_end(question)
            if len(self._shown) > QUESTIONS_KEPT:
                self._shown.popitem(last=False)


class AnswerPage:
    """One page that is being made, which begins at `offset`: so many have to be found besides."""

    def __init__(self, pages: Pages, question: str, offset: int, before: list[int] | None) -> None:
        """`before`: hashes of what earlier pages showed; `None` if unknown."""
        self.offset = offset
        self._pages = pages
        self._question = question
        self._before = before
        self._found: list[int] = []

    def rest(self, found: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
        """Return the items of `found`, which begins with the first page, that were not shown yet.

        `key` tells items apart, also after they have moved.
        """
        before = set(self._before or ())
        left = found[self.offset :] if self._before is None else found
        kept = [each for each in left if hash(key(each)) not in before]
        self._found = [hash(key(each)) for each in kept]
        return kept

    def cursor_after(self, shown: Sequence[object]) -> str:
        """Return the cursor after `shown`, the start of the rest; "" if that is all."""
        if self._before is not None:
            self._pages.keep(self._question, [*self._before, *self._found[: len(shown)]])
        return cursor_after(self.offset, shown, self._found)


class Toolset(StrEnum):
    """A group of tools that a host can offer an agent, or keep from it."""

    CODE = "code"
    MEMORIES = "memories"
    SESSIONS = "sessions"
    CONTEXT = "context"
    NAMES = "names"


DEFAULT_TOOLSETS = frozenset({Toolset.CODE, Toolset.MEMORIES, Toolset.SESSIONS})
"""The toolsets of a host that chooses none."""


@dataclass(slots=True)
class Workspace:
    """The folders that a client reports during a conversation (MCP's roots); may stay empty."""

    roots: tuple[Path, ...] = ()
    is_known: bool = False  # false at first and after each change: ask the client


@dataclass(frozen=True, slots=True)
class Caller:
    """A connected client. The host chooses all its fields, the agent none."""

    services: Services
    cwd: Path
    agent: str
    toolsets: frozenset[Toolset] = DEFAULT_TOOLSETS
    is_read_only: bool = False
    is_structured: bool = False  # tools have output schemas, and answers structured content
    environ: Mapping[str, str] = field(default_factory=dict)
    workspace: Workspace = field(default_factory=Workspace)
    pages: Pages = field(default_factory=Pages)

    @property
    def codebase(self) -> Codebase:
        return self.services.codebase()

    def memories(self, reporter: Reporter, *, shared: bool = False) -> Memories:
        """Return the memories of the client's agent, or the shared ones alone (`shared`)."""
        return Memories(self.services.agent(SHARED if shared else self.agent), reporter)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that the client works in: its roots, else the one where it was started."""
        return self.workspace.roots or (self.cwd,)

    @property
    def project(self) -> str:
        """The project of a new memory: the first of `sources`, "" for none."""
        with suppress(SidecarError):  # an unreadable list of sources, which other tools report
            return next((source.name for source in self.sources), "")
        return ""

    @property
    def sources(self) -> list[Source]:
        """The sources that contain `folders`, each once."""
        around = map(self.codebase.registry.containing, self.folders)
        return list(dict.fromkeys(source for source in around if source is not None))
