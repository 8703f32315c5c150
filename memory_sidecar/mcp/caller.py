"""Who is connected: for whom a client acts, where it was started, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from memory_sidecar.agents.services import Services
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.model import Source
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.results import Reporter
from memory_sidecar.mcp.pages import Pages
from memory_sidecar.memories.handlers import Memories


class Toolset(StrEnum):
    """What a host can offer an agent, or keep from it."""

    CODE = "code"
    MEMORIES = "memories"
    SESSIONS = "sessions"
    CONTEXT = "context"
    NAMES = "names"


USUAL = frozenset({Toolset.CODE, Toolset.MEMORIES, Toolset.SESSIONS})
"""What is offered unless the host says what."""


@dataclass(slots=True)
class Workspace:
    """The folders that a client has open, as it tells during a conversation; none says nothing."""

    roots: tuple[Path, ...] = ()
    is_known: bool = False  # false: to be asked for, at first and after each change


@dataclass(frozen=True, slots=True)
class Caller:
    """A connected client. All of it is the host's choice, none the agent's."""

    services: Services
    cwd: Path
    agent: str
    toolsets: frozenset[Toolset] = USUAL
    is_read_only: bool = False
    is_structured: bool = False  # results have schemas, and come as structured content as well
    environ: Mapping[str, str] = field(default_factory=dict)
    workspace: Workspace = field(default_factory=Workspace)
    pages: Pages = field(default_factory=Pages)

    @property
    def codebase(self) -> Codebase:
        return self.services.codebase()

    def memories(self, reporter: Reporter, *, shared: bool = False) -> Memories:
        """What the agent remembers that the client acts for, or what is `shared` alone."""
        return Memories(self.services.agent(SHARED if shared else self.agent), reporter)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the client works: the roots that it names, else where it was started."""
        return self.workspace.roots or (self.cwd,)

    @property
    def project(self) -> str:
        """What a memory that is made now is about: the first of those sources, "" without one."""
        with suppress(SidecarError):  # the list of sources cannot be read, which other tools say
            return next((source.name for source in self.sources), "")
        return ""

    @property
    def sources(self) -> list[Source]:
        """The sources that those folders lie in, each once."""
        around = map(self.codebase.registry.containing, self.folders)
        return list(dict.fromkeys(source for source in around if source is not None))
