"""An opened data directory: the code's database, the agents, the models and the team's link."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.core.errors import NoIndex, SidecarError, UsageError
from memory_sidecar.core.installation import install_command
from memory_sidecar.core.paths import (
    EPISODIC,
    KNOWLEDGE,
    MAX_DATABASE_PATH_BYTES,
    SHARED,
    AgentPaths,
    DataDir,
    StorePaths,
    find_data_dir,
)
from memory_sidecar.core.results import AgentReports, IndexReport, Reporter
from memory_sidecar.core.settings import Settings, load_settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.repository import in_checkouts
from memory_sidecar.disk.usage import QuestionLog
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.report import recorded_roots
from memory_sidecar.index.schema import Schema, require_ours
from memory_sidecar.memories.names import check_agent

if TYPE_CHECKING:
    from memory_sidecar.agents.agent import Agent
    from memory_sidecar.agents.promotion import Promoter
    from memory_sidecar.agents.team_files import TeamFiles
    from memory_sidecar.code.handlers import Codebase
    from memory_sidecar.sessions.handlers import Sessions
    from memory_sidecar.team.codebase import TeamCode
    from memory_sidecar.team.link import TeamLink


PATH_STARTS = (".", "/", "~", "\\")  # a project that begins so is named by its folder


class Services:
    """An opened data directory, shared by all commands. Opens databases and models at first use.

    Thread-safe: the daemon answers every client from one instance.
    """

    def __init__(self, data_dir: DataDir, settings: Settings) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.models = Models(settings, cache=data_dir.embeddings_db)
        self.questions = QuestionLog(
            data_dir.tree, clock=system_clock, is_kept=settings.keep_questions
        )
        self._team: TeamLink | None = None
        self._codebases: dict[Path, Codebase] = {}
        self._agents: dict[AgentPaths, Agent] = {}
        self.on_agent_use: Callable[[Agent], None] = lambda _agent: None
        self._lock = threading.Lock()
        self._has_unloaded = False
        data_dir.keep_private()

    @classmethod
    def find(cls, *, data_dir: Path | None, cwd: Path, environ: Mapping[str, str]) -> Services:
        """Open the data directory of a command that runs in `cwd`; see `paths.find_data_dir`."""
        found = find_data_dir(data_dir, cwd=cwd, environ=environ)
        return cls(found, load_settings(found.root, environ))

    def codebase(self, db: Path | None = None) -> Codebase:
        """Open the codebase in the database `db`, by default the data directory's.

        Raises StoreForeign for a `db` that is another kind of file.
        """
        from memory_sidecar.code.handlers import Codebase
        from memory_sidecar.code.store import CodeStore

        default = self._resolve_path(self.data_dir.codebase.db)
        paths = StorePaths(self._resolve_path(db) if db else default)
        with self._lock:
            if paths.db not in self._codebases:
                if db is not None:
                    self._require_place_of(CodeStore.SCHEMA, paths.db)
                self._codebases[paths.db] = Codebase(
                    paths,
                    settings=self.settings,
                    models=self.models,
                    clock=system_clock,
                    own_folders=[self.data_dir.root],
                    team=self._team_code() if paths.db == default else None,
                )
            return self._codebases[paths.db]

    @property
    def registry(self) -> Registry:
        """The sources of the data directory's codebase, which stays closed: agents need no more."""
        paths = StorePaths(self._resolve_path(self.data_dir.codebase.db))
        return Registry(paths.registry, recover=partial(recorded_roots, paths.db))

    def project_of(self, folder: Path) -> str:
        """Return the name of the source with `folder`, as its main checkout has it; "" for none."""
        with suppress(SidecarError):  # the list of sources is unreadable, which other calls report
            registry = self.registry
            for each in chain(in_checkouts(folder), [folder]):
                if source := registry.containing(each, with_worktrees=True):
                    return source.name
        return ""

    def project_named(self, given: str, path_of: Callable[[str], Path]) -> str:
        """Return the name of the project `given` by its name, or by its folder, `path_of(given)`.

        If no source contains the folder, the project is called like the folder.
        """
        if not given.startswith(PATH_STARTS):
            return given.rstrip("/")
        folder = path_of(given)
        return self.project_of(folder) or folder.name or given

    def agent(self, name: str, db: Path | None = None) -> Agent:
        """Open the agent called `name` with the database `db`, by default the data directory's.

        Raises UsageError for an invalid `name`, StoreForeign for a `db` of another kind.
        """
        check_agent(name)
        paths = AgentPaths(self._resolve_path(db or self.data_dir.agent(name).db), name)
        with self._lock:
            if db is not None and paths not in self._agents:
                from memory_sidecar.agents.store import AgentStore  # a search in code needs none

                self._require_place_of(AgentStore.SCHEMA, paths.db)
            paths.require_own_database()
            if paths not in self._agents or not paths.db.exists():
                paths.require_no_twin()
            shared = self._agent(paths.shared, None) if name != SHARED else None
            return self._agent(paths, shared)

    def sessions(self, agent: str, db: Path | None = None, *, reporter: Reporter) -> Sessions:
        """Open the sessions of `agent` for one call; `db` and errors as in `agent`."""
        from memory_sidecar.sessions.handlers import Sessions  # a search in code needs none

        return Sessions(self.agent(agent, db), reporter)

    def promoter(
        self, agent: str, db: Path | None = None, *, environ: Mapping[str, str], reporter: Reporter
    ) -> Promoter:
        """Make the promoter of `agent`'s sessions; a summarizer command runs with `environ`."""
        from memory_sidecar.agents.promotion import Promoter  # a search in code needs none

        return Promoter(
            self.agent(agent, db),
            settings=self.settings,
            environ=environ,
            project_of=self.project_of,
            reporter=reporter,
        )

    @property
    def team(self) -> TeamLink | None:
        """The team's database, if the settings name one. Raises UsageError; connects to nothing."""
        if self._team is None and self.settings.database:
            self._team = _make_link(self.settings)
        return self._team

    def require_team(self) -> TeamLink:
        """Return the team's database. Raises UsageError where the settings name none."""
        if (link := self.team) is None:
            raise UsageError(
                "no database of a team is set",
                hint="set `database` to its address, such as postgresql://me@db.example/team",
            )
        return link

    def team_files(self, agent: Agent) -> TeamFiles:
        """Return what exchanges `agent`'s files with the team. Raises UsageError without one."""
        link = self.require_team()
        from memory_sidecar.agents.team_files import TeamFiles  # an extra

        shared = agent.shared.team if agent.shared else None
        return agent.team or TeamFiles(agent, link, shared)

    def agent_names(self) -> list[str]:
        """List all agents with memories, sessions or a database in the data directory."""
        knowledge, episodic = self.data_dir.knowledge, self.data_dir.root / EPISODIC
        names = {path.stem for path in knowledge.glob("*.sqlite")}
        names |= {path.name for path in (*knowledge.glob("*/"), *episodic.glob("*/"))}
        return sorted(name for name in names if _is_agent_name(name))

    def rebuild(self, *, reporter: Reporter) -> IndexReport | AgentReports:
        """Rebuild the code's database and each agent's from the files.

        Goes on after a failure, then raises the first error; notices tell the others. Raises
        NoIndex where there is nothing, not even files.
        """
        code: IndexReport | None = None
        agents: list[IndexReport] = []
        problems: list[SidecarError] = []
        for name in ("", *self.agent_names()):
            try:
                if name:
                    agents.append(self.agent(name).rebuild(reporter=reporter))
                else:
                    codebase = self.codebase()
                    codebase.registry.warn_if_lost(reporter)
                    code = codebase.rebuild((), reporter=reporter)
            except NoIndex:
                continue
            except SidecarError as error:
                problems.append(error)
        if problems:
            for problem in problems[1:]:
                reporter.notice(problem.with_hint)
            raise problems[0]
        if code is not None:
            return replace(code, agents=tuple(agents))
        if not agents:
            raise NoIndex("nothing is indexed here", hint="run `memory-sidecar index PATH`")
        return AgentReports(tuple(agents))

    def _team_code(self) -> TeamCode | None:
        """Make the access to the code that a team shares; None without a team."""
        if self.team is None:
            return None
        from memory_sidecar.team.codebase import TeamCode

        return TeamCode(self.team, holder=self.place, models=self.models)

    @property
    def place(self) -> str:
        """How messages on other machines name this data directory."""
        # Others need not see the path of a person's folder.
        folder = hashlib.sha256(os.fsencode(self.data_dir.root)).hexdigest()[:8]
        return f"{getpass.getuser()}@{socket.gethostname()}:{folder}"

    def _require_place_of(self, schema: Schema, db: Path) -> None:
        """Raise StoreForeign for a `db` of another kind, UsageError if its path is meant for one.

        A database made there would keep the data directory's own from ever being made.
        """
        require_ours(db, schema)
        code = self._resolve_path(self.data_dir.codebase.db)
        own = {code: "code", code.with_name(self.data_dir.embeddings_db.name): "vectors"}
        kind = "an agent's memory" if db.parent == code.with_name(KNOWLEDGE) else own.get(db)
        if kind not in (schema.kind, None) and not db.exists():
            raise UsageError(f"{db} is to be a database of {kind}", hint="name another with --db")

    def _resolve_path(self, db: Path) -> Path:
        """Resolve the links above `db`, so that each database has one path and thus one owner.

        A link below the data directory, or in place of the database, stays unresolved: whatever
        opens the database refuses it. Raises UsageError for a path that SQLite cannot open.
        """
        named, real = self.data_dir.root, Path(os.path.realpath(self.data_dir.root))
        root = next((root for root in (named, real) if db.is_relative_to(root)), None)
        path = real / db.relative_to(root) if root else Path(os.path.realpath(db.parent), db.name)
        if len(os.fsencode(path)) > MAX_DATABASE_PATH_BYTES:
            raise UsageError(
                f"the path {str(path)[:40]}… is too long for a database",
                hint=f"{MAX_DATABASE_PATH_BYTES} bytes at most: choose another --data-dir or --db",
            )
        return path

    def _open_databases(self) -> list[Codebase | Agent]:
        return [*self._codebases.values(), *self._agents.values()]

    def _agent(self, paths: AgentPaths, shared: Agent | None) -> Agent:
        if paths not in self._agents:
            from memory_sidecar.agents.agent import Agent  # a search in code needs none

            agent = Agent(
                paths,
                models=self.models,
                clock=system_clock,
                shared=shared,
                reranks=self.settings.rerank,
            )
            if self.settings.context_count_reads:
                from memory_sidecar.context.handlers import record_own_read

                agent.on_read = record_own_read
            agent.on_use = lambda: self.on_agent_use(agent)
            if paths.agent in self.settings.database_agents and self.team:
                agent.team = self.team_files(agent)
            self._agents[paths] = agent
        return self._agents[paths]

    def unload(self, *, unused_for_s: float) -> bool:
        """Free the model and the vectors if unused for that long; return whether they were."""
        if not self.models.unload(unused_for_s=unused_for_s):
            return False
        with self._lock:
            opened = self._open_databases()
        for each in opened:
            each.unload()
        self._has_unloaded = True
        return True

    @property
    def is_unloaded(self) -> bool:
        """Whether the models were in memory once, and are not."""
        return self._has_unloaded and not self.models.is_loaded

    def close(self) -> None:
        for opened in self._open_databases():
            opened.close()
        self._codebases.clear()
        self._agents.clear()
        if self._team is not None:
            self._team.close()
        self.models.close()
        self.questions.close()


def _is_agent_name(name: str) -> bool:
    with suppress(UsageError):
        return bool(check_agent(name))
    return False


def _make_link(settings: Settings) -> TeamLink:
    try:
        from memory_sidecar.team.address import Address  # an extra
        from memory_sidecar.team.link import TeamLink
    except ImportError as error:
        raise UsageError(
            "database is set, and the extra `postgres` is not installed",
            hint=install_command("'memory-sidecar[postgres]'"),
        ) from error
    return TeamLink(Address.of(settings))
