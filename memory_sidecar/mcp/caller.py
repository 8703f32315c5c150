"""A connected client: the agent that it acts for, its folders, and the tools that it may use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from memory_sidecar.agents.services import Services
from memory_sidecar.agents.session_projects import session_projects
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.model import Asked, Source
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.projects import expand_home, given_path
from memory_sidecar.core.results import Reporter
from memory_sidecar.disk.usage import H
from memory_sidecar.mcp.pages import AnswerPage, Pages
from memory_sidecar.mcp.uris import plain_path
from memory_sidecar.memories.handlers import Memories


class Toolset(StrEnum):
    """A group of tools that a host can offer an agent, or keep from it."""

    CODE = "code"
    MEMORIES = "memories"
    SESSIONS = "sessions"
    CONTEXT = "context"
    NAMES = "names"


@dataclass(slots=True)
class Workspace:
    """The folders that a client reports during a conversation (MCP's roots); may stay empty."""

    roots: tuple[Path, ...] = ()
    is_known: bool = False  # false at first and after each change: ask the client
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the client is asked, so that calls that come meanwhile wait for its answer."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A connected client. The host chooses all its fields, the agent none."""

    services: Services
    cwd: Path
    agent: str
    toolsets: frozenset[Toolset]
    is_read_only: bool = False
    is_structured: bool = False  # tools have output schemas, and answers structured content
    environ: Mapping[str, str] = field(default_factory=dict)
    complete: Callable[[str], str] = str
    """Adds to the commands in a hint the options that name the client's data directory."""
    workspace: Workspace = field(default_factory=Workspace)
    pages: Pages = field(default_factory=Pages)

    @property
    def codebase(self) -> Codebase:
        return self.services.codebase()

    def memories(self, reporter: Reporter, *, shared: bool = False) -> Memories:
        """Return the memories of the client's agent, or the shared ones alone (`shared`)."""
        return Memories(self.services.agent(SHARED if shared else self.agent), reporter)

    def ask(self, kind: Asked, text: str, page: AnswerPage, ask: Callable[[], list[H]]) -> list[H]:
        """Return the hits of `ask`, and log the question `text` with the first page of them."""
        if page.offset:
            return ask()
        return self.services.questions.ask_and_log(kind, self.agent, text, ask)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that the client works in: its roots, else the one where it was started."""
        return self.workspace.roots or (self.cwd,)

    @property
    def project(self) -> str:
        """The project of a new memory: the first that contains one of `folders`, "" for none."""
        return next(filter(None, map(self.services.project_of, self.folders)), "")

    def project_named(self, given: str) -> str:
        """Return the name of the project `given`, by its name or by its folder."""
        return self.services.project_named(self.expanded(given), self._path)

    def session_projects(self, given: str) -> tuple[str, ...]:
        """Return what sessions may call the project `given`, a name or a folder."""
        return session_projects(self.expanded(given), self._path, self.services)

    def expanded(self, text: str) -> str:
        """Return the argument `text`, a path, a glob or a `file:` URI, with `~` as a full path."""
        return expand_home(plain_path(text), self.environ)

    def _path(self, text: str) -> Path:
        """Return `text` as a path, relative to the first of `folders`."""
        return Path(given_path(text, str(self.folders[0]), self.environ))

    @property
    def sources(self) -> list[Source]:
        """The sources that contain `folders`, each once."""
        around = map(self.codebase.registry.containing, self.folders)
        return list(dict.fromkeys(source for source in around if source is not None))
