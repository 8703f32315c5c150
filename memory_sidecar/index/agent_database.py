"""One agent's database as the domains see it that share it: its memories and its sessions.

Neither knows the other, nor who puts both into one database: `agents.agent` does, and passes it in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from memory_sidecar.core.errors import NoIndex
from memory_sidecar.core.model import Source
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import Clock
from memory_sidecar.index.database import Database
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.schema import Corpus

T = TypeVar("T")
Ask = Callable[[DerivedStore, Connection], T]


class AgentDatabase(Protocol):
    """The database of the agent `name`, kept in line with the files of its sources."""

    name: str
    paths: AgentPaths
    clock: Clock
    reranks: bool  # the hits of a question that leaves it open
    on_read: Callable[[Path, str], None]  # called with the file that was read, and by which tool

    @property
    def data(self) -> Database[Any]: ...

    @property
    def shared(self) -> AgentDatabase | None:
        """What this agent may read besides its own; `None` for the shared one itself."""

    @property
    def exists(self) -> bool:
        """Whether there is anything of this agent, in files or in its database."""

    def sources(self) -> list[Source]:
        """What its database is derived from. Raises PathRefused for a folder that is a link."""

    def source(self, directory: str) -> Source:
        """The source of that name. Raises NotFound."""

    def index_written(self, files: Collection[str], *, reporter: Reporter, directory: str) -> None:
        """Index `files` of `directory`, just written, moved or removed; upload them to a team."""

    def index(self, files: Collection[str], *, reporter: Reporter, directory: str) -> None:
        """Index `files` as `index_written` does, but without uploading them to the team."""

    def pull_from_team(self, reporter: Reporter) -> None:
        """Write and index the files that the team's other machines stored, if there is a team."""

    def answer(self, ask: Ask[T], reporter: Reporter, *embedded: Corpus) -> T:
        """What `ask` finds in a `snapshot`; in another one where that turns out to be damaged."""

    def snapshot(
        self, reporter: Reporter, *embedded: Corpus
    ) -> AbstractContextManager[tuple[DerivedStore, Connection]]:
        """The store, made again if it was lost, and one commit of it with what the files hold.

        To be called in `recovering`, as `answer` does.
        A process that does not watch gives rows of `embedded` the vectors they wait for first.
        """

    def no_memories_error(self) -> NoIndex:
        """Make the error for a question to an agent that has stored nothing yet."""
