"""Finds a memory by its path, and says why a file at a path is none."""

from __future__ import annotations

import stat
from contextlib import suppress

from memory_sidecar.core.errors import NotFound, PathRefused, SidecarError, UsageError
from memory_sidecar.core.model import SourceFile
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.short_names import sole_match
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.lists import MemoryRows
from memory_sidecar.memories.lookup import paths_beginning
from memory_sidecar.memories.model import OWN_DIRECTORY, StoredMemory, parse_address
from memory_sidecar.memories.names import check_path

NOT_YET = "it is not indexed yet"


def find_exact(rows: MemoryRows, path: str) -> StoredMemory | None:
    """Find the memory at `path`, or the atom with that id. Raises UsageError for several atoms."""
    if (found := rows.find(path)) is not None:
        return found
    atoms = rows.find_atoms(path)
    if len(atoms) > 1:
        paths = ", ".join(atom.memory.path for atom in atoms)
        raise UsageError(f"several are called {path}", hint=f"name one of {paths}")
    return next(iter(atoms), None)


def open_directory(agent: AgentDatabase, name: str) -> KnowledgeDirectory:
    paths = agent.paths
    if name == OWN_DIRECTORY:
        return KnowledgeDirectory.of_agent(paths)
    return KnowledgeDirectory(name, agent.source(name).root, paths.locks, paths.tree)


def why_not_indexed(agent: AgentDatabase, path: str) -> str:
    """Say why the agent's file at `path` is not in the database; "" if there is no file."""
    name, file = parse_address(path)
    try:
        directory = open_directory(agent, name)
    except SidecarError:  # it has no such directory, or that is a link
        return ""
    try:
        named = check_path(file)
        if _is_file(directory, named) and directory.find(named) is not None:
            return NOT_YET
    except UsageError as error:
        if isinstance(error, PathRefused):  # nothing is told of files elsewhere
            return ""
    except SidecarError as error:
        return error.message
    return "its name cannot be that of a memory" if _is_file(directory, file) else ""


def _is_file(directory: KnowledgeDirectory, path: str) -> bool:
    with suppress(OSError, ValueError):  # for example behind a link
        status = directory.tree.status(directory.root / path)
        return status is not None and not stat.S_ISDIR(status.st_mode)
    return False


def find_by_beginning(rows: MemoryRows, first: str) -> StoredMemory | None:
    paths = paths_beginning(rows.connection, first) if first else []
    path = sole_match(first, paths)
    return rows.find(path) if path else None


def is_current(agent: AgentDatabase, stored: StoredMemory) -> bool:
    """Whether the file of a memory is still the one that was indexed, as far as can be told."""
    with suppress(OSError, NotFound):  # its directory is out of reach at the moment
        source = agent.source(stored.directory)
        known = agent.data.open().manifest(source.name, under=[stored.file]).get(stored.file)
        if source.root.is_dir() and known is not None:
            there = Tree(source.root).status(source.root / stored.file)
            return there is not None and SourceFile.of(stored.file, there).stamp == known.stamp
    return True
