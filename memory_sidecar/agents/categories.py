"""An agent's categories: read from its database, changed in its files."""

from __future__ import annotations

from memory_sidecar.agents.files import KnowledgeFiles
from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import NoIndex
from memory_sidecar.memories import categories
from memory_sidecar.memories.archive import Archived
from memory_sidecar.memories.categories import Described
from memory_sidecar.memories.lookup import CategoryRow, list_categories
from memory_sidecar.memories.store import OWN_DIRECTORY


class Categories:
    """The categories of one agent's own memories."""

    def __init__(self, files: KnowledgeFiles) -> None:
        self._files = files

    def all(self) -> list[CategoryRow]:
        """Every category of the agent. Raises NoIndex where nothing was ever stored."""
        if not self._files.agent.exists:
            raise NoIndex(
                f"{self._files.agent.name} has no memories yet",
                hint=f"`memory-sidecar category create NAME --agent {self._files.agent.name}`",
            )
        with self._files.agent.up_to_date(self._files.reporter).reading() as connection:
            return list_categories(connection)

    def create(self, category: str, description: str, *, allow_secrets: bool = False) -> Described:
        """See `memories.categories.create`. Raises SecretRefused."""
        if not allow_secrets:
            refuse_credentials({"category": category, "description": description})
        made = categories.create(self._files.own, category, description, now_ms=self._files.now())
        self._files.take_up(OWN_DIRECTORY, [made.page])
        return made

    def describe(
        self, category: str, description: str, *, allow_secrets: bool = False
    ) -> Described:
        """See `memories.categories.describe`. Raises SecretRefused."""
        if not allow_secrets:
            refuse_credentials({"category": category, "description": description})
        made = categories.describe(self._files.own, category, description, now_ms=self._files.now())
        self._files.take_up(OWN_DIRECTORY, [made.page])
        return made

    def delete(self, category: str, *, with_memories: bool) -> list[Archived]:
        """See `memories.categories.delete`."""
        taken, folder = categories.delete(
            self._files.own,
            self._files.archive,
            category,
            with_memories=with_memories,
            now_ms=self._files.now(),
        )
        self._files.take_up(OWN_DIRECTORY, [folder])
        return taken
