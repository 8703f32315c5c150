"""The paths of all our files. Pure, except for finding the data directory.

    <data dir>
    ├── codebase.sqlite      code chunks of every registered source
    ├── embeddings.sqlite    content-addressed vector cache
    ├── clones/<db name>/    sources that were named by an address of git
    ├── state/<db name>/     what belongs to one database and is not derived:
    │   ├── sources.json     the registered sources; sources.json~ is its copy
    │   ├── writer.lock      held by the process that indexes
    │   └── <source>/        CocoIndex state
    ├── knowledge/
    │   ├── <agent>/         memories, the truth
    │   ├── <agent>.sqlite   derived from them and from the sessions
    │   └── .state/<agent>/  as state/ above
    ├── episodic/<agent>/    sessions, the truth
    ├── archive/<agent>/     what pruning took away
    └── questions/           what was asked lately, and which answers the user judged right

The state of a database named with `--db` lies beside it in the same way, and no two databases share
one: `x.sqlite` has `state/x/`, `x.db` has `state/x.db.sqlite/`.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.core.errors import PathRefused, StoreReadOnly, UsageError
from memory_sidecar.core.opening import FileRefused, Tree, escape_bytes, is_utf8, real_path
from memory_sidecar.core.projects import locate_data_dir

SUFFIX = ".sqlite"
"""The suffix that our own databases have; any other is fine with `--db`."""

MEMVID_SUFFIX = ".mv2"
"""The suffix of a journal that memvid writes, beside the folders that we make."""

DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal", ".old", ".old-wal")
"""The suffixes of the files of one database: those of SQLite, and of one that was set aside."""

OWN_FOLDERS = ("archive", "clones", "episodic", "knowledge", "questions", "state")
"""The folders that we make in a data directory."""

KNOWLEDGE = "knowledge"
"""The folder of the data directory that holds the agents' databases."""
EPISODIC = "episodic"
"""The folder of the data directory that holds the agents' sessions."""
QUESTIONS = "questions"
"""The folder of the data directory that holds what was asked."""
ASKED = "asked.jsonl"
"""The file of the latest questions in that folder."""
SHARED = "shared"
"""The agent whose memories all others may read."""

MAX_DATABASE_PATH_BYTES = 504
"""SQLite on Unix opens no longer path: its limit of 512 bytes holds for the log's path, too."""

FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The name of an agent, a source or a project, each of which names a folder."""
FOLDER_NAME_RULE = "letters, digits, `.`, `_` and `-`, at most 64, a letter or digit first"


@dataclass(frozen=True, slots=True)
class StorePaths:
    """One database file and the state folder that belongs to it."""

    db: Path

    @property
    def name(self) -> str:
        """The name of this database's folders, which no other database beside it has.

        It is the file's name without `.sqlite`, or with it added: `x.sqlite` → `x`, `x` →
        `x.sqlite`.
        """
        name = self.db.name.removesuffix(SUFFIX)
        is_short = name not in ("", self.db.name) and not name.endswith(SUFFIX)
        return name if is_short else self.db.name + SUFFIX

    @property
    def state(self) -> Path:
        return self.db.parent / "state" / self.name

    @property
    def clones(self) -> Path:
        return self.db.parent / "clones" / self.name

    @property
    def tree(self) -> Tree:
        """The tree of our own files, below which no link is followed."""
        return Tree(self.db.parent, is_own=True)

    @property
    def files(self) -> list[Path]:
        """All files of the database: those of SQLite, and of one that was set aside."""
        return [self.db.with_name(self.db.name + suffix) for suffix in DATABASE_SUFFIXES]

    @property
    def registry(self) -> Path:
        return self.state / "sources.json"

    @property
    def writer_lock(self) -> Path:
        return self.state / "writer.lock"

    def flow_state(self, source: str) -> Path:
        """The state folder of one source, with CocoIndex's own state in it."""
        return self.state / source


@dataclass(frozen=True, slots=True)
class AgentPaths(StorePaths):
    """The database of one agent, and the folders of files that it is derived from."""

    agent: str

    @property
    def state(self) -> Path:
        return self.db.parent / ".state" / self.name

    @property
    def tree(self) -> Tree:
        return Tree(self.db.parent.parent, is_own=True)

    @property
    def memories(self) -> Path:
        return self.db.parent / self.agent

    @property
    def sessions(self) -> Path:
        return self.db.parent.parent / EPISODIC / self.agent

    def require_no_links(self) -> None:
        """Raise PathRefused if a folder of this agent is a link, or lies behind one."""
        for folder in (self.state, self.memories, self.sessions):
            try:
                self.tree.enter(folder).close()
            except FileRefused as error:
                raise PathRefused(
                    f"{error.filename} is a {error.reason}",
                    hint="put the folder itself there; notes that lie elsewhere are read with "
                    f"`memory-sidecar source add FOLDER --agent {self.agent}`",
                ) from error
            except OSError:  # missing, or its next use raises the error
                continue

    def require_own_database(self) -> None:
        """Raise UsageError for a database that by its path is another agent's."""
        other = self.db.stem
        is_among_agents = self.db.parent.name == KNOWLEDGE or self.db.with_suffix("").is_dir()
        if other != self.agent and is_among_agents:
            raise UsageError(
                f"{self.db} is the database of {other!r}, not of {self.agent!r}",
                hint=f"each agent has one of its own: {self.db.with_name(self.agent + SUFFIX)}",
            )

    def require_no_twin(self) -> None:
        """Raise UsageError for a new agent whose name differs from another's in case alone.

        On macOS and Windows, both would have the same files.
        """
        other = self.memories.with_name(self.agent.swapcase())
        if self.memories.exists() and not other.exists():  # a disk on which case counts
            return
        known = {SHARED, *_names_in(self.memories.parent), *_names_in(self.sessions.parent)}
        twins = [name for name in known if name.lower() == self.agent.lower()]
        if twins and self.agent not in twins:
            raise UsageError(
                f"the agents {self.agent!r} and {twins[0]!r} differ in case alone",
                hint=f"use {twins[0]}, or quite another name",
            )

    @property
    def archive(self) -> Path:
        return self.db.parent.parent / "archive" / self.agent

    @property
    def locks(self) -> Path:
        """The folder of the locks for folders of memories, which agents may share."""
        return self.state.parent / ".locks"

    @property
    def sessions_lock(self) -> Path:
        return self.state / "sessions.lock"

    @property
    def access_log(self) -> Path:
        """The log of which memories were read, and when; it is not derived."""
        return self.state / "access.jsonl"

    @property
    def shared(self) -> AgentPaths:
        """The paths of the shared agent, whose memories this one reads, too."""
        return AgentPaths(self.db.with_name(f"{SHARED}.sqlite"), SHARED)


def has_had_rows(db: Path) -> bool:
    """Whether a database of ours was ever filled at `db`: the state of a source tells."""
    states = StorePaths(db).state, AgentPaths(db, "").state
    return any(next(state.glob("*/state_id"), None) for state in states)


@dataclass(frozen=True, slots=True)
class DataDir:
    """The data directory."""

    root: Path

    @property
    def codebase(self) -> StorePaths:
        return StorePaths(self.root / "codebase.sqlite")

    @property
    def embeddings_db(self) -> Path:
        return self.root / "embeddings.sqlite"

    @property
    def knowledge(self) -> Path:
        return self.root / KNOWLEDGE

    @property
    def tree(self) -> Tree:
        return Tree(self.root, is_own=True)

    def keep_private(self) -> None:
        """Remove permissions of other users that an earlier version, or a copy, has left.

        Only the top level matters: a folder that they cannot enter protects all files in it.
        """
        tree = self.tree
        databases = (self.codebase.db.name, self.embeddings_db.name)
        files = (name + suffix for name in databases for suffix in DATABASE_SUFFIXES)
        journals = (file.name for file in self.root.glob(f"*{MEMVID_SUFFIX}"))
        for name in (*OWN_FOLDERS, *files, *journals):
            with suppress(OSError):
                tree.keep_private(name)

    def agent(self, name: str) -> AgentPaths:
        """Return the paths of the agent `name`, which must match FOLDER_NAME: it names files."""
        return AgentPaths(self.knowledge / f"{name}.sqlite", name)


def _names_in(folder: Path) -> Iterator[str]:
    """Yield the names of the agents that have a database or a folder in `folder`."""
    with suppress(OSError):
        yield from (each.removesuffix(SUFFIX) for each in os.listdir(folder))  # noqa: PTH208


def find_data_dir(option: Path | None, *, cwd: Path, environ: Mapping[str, str]) -> DataDir:
    """Return the data directory of a call, as `locate_data_dir` does.

    Raises StoreReadOnly, PathRefused where it is a file, and UsageError for a path that SQLite or
    the file system does not take.
    """
    named = str(option) if option is not None else None
    root = Path(locate_data_dir(named, cwd=str(cwd), environ=environ)[0])
    if not is_utf8(os.fspath(root)):
        raise UsageError(f"{escape_bytes(root)} is not UTF-8", hint="choose another place")
    try:
        os.scandir(f"{root}/.").close()  # which may be read, and entered
    except PermissionError as error:
        raise StoreReadOnly(
            f"the data directory {root} cannot be read: {error.strerror}",
            hint="it may be another user's; name one of yours with --data-dir",
        ) from error
    except NotADirectoryError as error:
        there = next(filter(os.path.lexists, (root, *root.parents)))
        raise PathRefused(f"{there} is no folder", hint="name another with --data-dir") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(
                f"the path {str(root)[:40]}… is too long",
                hint="name another data directory with --data-dir",
            ) from error
        # Otherwise it does not exist yet, or its first use says what is wrong.
    return DataDir(root)


def real_place(path: Path) -> Path:
    """Resolve the links above `path`, but not `path` itself if it is one."""
    return Path(real_path(path.parent)) / path.name
