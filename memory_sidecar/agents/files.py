"""The files of one agent's knowledge: where they lie, and how a change of them gets indexed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.clock import Clock
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.memories.archive import Archive
from memory_sidecar.memories.directory import Directory
from memory_sidecar.memories.model import address, parse_address
from memory_sidecar.memories.store import OWN_DIRECTORY


class KnowledgeFiles:
    """The knowledge directories and the archive of `agent`, for one call that changes them."""

    def __init__(self, agent: Agent, *, clock: Clock, reporter: Reporter) -> None:
        self.agent = agent
        self.now = clock
        self.reporter = reporter
        self.archive = Archive(agent.paths.archive, agent.paths.tree)

    def of(self, agent: Agent) -> KnowledgeFiles:
        """The same call's view of another agent's files."""
        return KnowledgeFiles(agent, clock=self.now, reporter=self.reporter)

    @property
    def own(self) -> Directory:
        """Where new memories go; it need not be there yet."""
        return self._at(OWN_DIRECTORY, self.agent.paths.memories, is_made=True)

    def directory(self, name: str) -> Directory:
        """The knowledge directory of that name. Raises NotFound."""
        return self.own if name == OWN_DIRECTORY else self._at(name, self.agent.source(name).root)

    def parsed(self, path: str) -> tuple[Directory, str]:
        """The directory that an address names, and the path in it. Raises NotFound."""
        name, file = parse_address(path, own=OWN_DIRECTORY)
        return self.directory(name), file

    def take_up(self, directory: str, files: Collection[str]) -> None:
        """Have these files, just written, moved or removed, be found as they are now."""
        if files:
            self.agent.take_up(files, reporter=self.reporter, directory=directory)

    def _at(self, name: str, root: Path, *, is_made: bool = False) -> Directory:
        paths = self.agent.paths
        return Directory(name, root, paths.state.parent / ".locks", paths.tree, is_made)


def address_of(directory: str, file: str) -> str:
    """How the memory in `file` of a directory is shown and named."""
    return address(directory, file, own=OWN_DIRECTORY)
