"""The interface of an agent's database for the two packages that share it, memories and sessions.

Neither imports the other. `agents.agent.Agent` implements the interface and is passed to both.
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
from memory_sidecar.disk.roots import IsDeleted
from memory_sidecar.index.database import Database
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.schema import Corpus

T = TypeVar("T")
Ask = Callable[[DerivedStore, Connection], T]


class AgentDatabase(Protocol):
    """The database of the agent `name`, derived from the files of its sources."""

    name: str
    paths: AgentPaths
    clock: Clock
    reranks: bool  # the default of questions that do not say whether to rerank their hits
    on_read: Callable[[Path], None]  # called with the file of each memory that `get` has read

    @property
    def data(self) -> Database[Any]: ...

    @property
    def shared(self) -> AgentDatabase | None:
        """The shared agent's database, which every agent may read; `None` if this is that one."""

    @property
    def exists(self) -> bool:
        """Whether the agent has any files or a database, or a team that may have its files."""

    def sources(self) -> list[Source]:
        """Return the agent's own folders that exist, and its registered directories.

        Raises PathRefused for one of its own folders that is a link.
        """

    def source(self, directory: str) -> Source:
        """Return the source called `directory`. Raises NotFound."""

    def deletions(self) -> IsDeleted:
        """Return a function that tells readers whether the file of a row was deleted since."""

    def index_written(self, files: Collection[str], *, reporter: Reporter, directory: str) -> None:
        """Index `files`, just written, moved or removed, and upload them to the team, if any.

        `files`: paths relative to `directory`. Returns when the files can be found, with their
        vectors if there is a model; a process that watches them spends about a second on vectors
        and makes the rest later. A notice says if another process holds the database for too long.
        """

    def index(self, files: Collection[str], *, reporter: Reporter, directory: str) -> None:
        """Index `files` as `index_written` does, but without uploading them to the team."""

    def pull_from_team(self, reporter: Reporter) -> None:
        """Write and index the files that the team's other machines stored, if there is a team."""

    def answer(self, ask: Ask[T], reporter: Reporter, *embedded: Corpus) -> T:
        """Return what `ask` finds in a `snapshot`; a damaged database is replaced first."""

    def snapshot(
        self, reporter: Reporter, *embedded: Corpus
    ) -> AbstractContextManager[tuple[DerivedStore, Connection]]:
        """Open the store, rebuilt if it was lost, and one up-to-date commit of it to read.

        A process that does not watch first embeds the pending rows of the corpora `embedded`. Call
        it within `Database.recovering`, as `answer` does.
        """

    def no_memories_error(self) -> NoIndex:
        """Make the error for a question to an agent that has stored nothing yet."""
