"""What every command of one data directory shares."""

from __future__ import annotations

import getpass
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import NoIndex, SidecarError, UsageError
from memory_sidecar.core.installation import install_command
from memory_sidecar.core.paths import (
    EPISODIC,
    KNOWLEDGE,
    SHARED,
    AgentPaths,
    DataDir,
    StorePaths,
    find_data_dir,
)
from memory_sidecar.core.results import AgentReports, IndexReport, Reporter
from memory_sidecar.core.settings import Settings, load_settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.disk.usage import QuestionLog
from memory_sidecar.index.models import Models
from memory_sidecar.index.schema import require_ours
from memory_sidecar.memories.names import check_agent

if TYPE_CHECKING:
    from memory_sidecar.agents.agent import Agent
    from memory_sidecar.agents.promotion import Promoter
    from memory_sidecar.agents.team_files import TeamFiles
    from memory_sidecar.sessions.handlers import Sessions
    from memory_sidecar.team.codebase import TeamCode
    from memory_sidecar.team.link import TeamLink


class Services:
    """One data directory, opened. Databases and the model are opened when first used.

    Thread-safe: the daemon answers every client from one of these.
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
        data_dir.keep_private()

    @classmethod
    def find(cls, *, data_dir: Path | None, cwd: Path, environ: Mapping[str, str]) -> Services:
        """For a command that is run in `cwd`; see `paths.find_data_dir`."""
        found = find_data_dir(data_dir, cwd=cwd, environ=environ)
        return cls(found, load_settings(found.root, environ))

    def codebase(self, db: Path | None = None) -> Codebase:
        """The codebase in the database `db`, or in the data directory's own.

        Raises StoreForeign for a `db` that is another kind of file.
        """
        paths = StorePaths(self._place(db or self.data_dir.codebase.db))
        with self._lock:
            if paths.db not in self._codebases:
                if db is not None:
                    require_ours(paths.db, CodeStore.SCHEMA)
                self._codebases[paths.db] = Codebase(
                    paths,
                    settings=self.settings,
                    models=self.models,
                    clock=system_clock,
                    own_folders=[self.data_dir.root],
                    team=self._team_code() if db is None else None,
                )
            return self._codebases[paths.db]

    def agent(self, name: str, db: Path | None = None) -> Agent:
        """The agent called `name` and its database `db`, by default the data directory's.

        Raises UsageError for what is no agent's name, StoreForeign for a `db` of another kind.
        """
        check_agent(name)
        paths = AgentPaths(self._place(db or self.data_dir.agent(name).db), name)
        with self._lock:
            if db is not None and paths not in self._agents:
                from memory_sidecar.agents.store import AgentStore  # a search in code needs none

                require_ours(paths.db, AgentStore.SCHEMA)
            _require_name_of(paths)
            shared = self._agent(paths.shared, None) if name != SHARED else None
            return self._agent(paths, shared)

    def sessions(self, agent: str, db: Path | None = None, *, reporter: Reporter) -> Sessions:
        """The sessions of the agent of that name, for one call; otherwise as `agent`."""
        from memory_sidecar.sessions.handlers import Sessions  # a search in code needs none

        return Sessions(self.agent(agent, db), reporter)

    def promoter(
        self,
        agent: str,
        db: Path | None = None,
        *,
        environ: Mapping[str, str],
        reporter: Reporter,
    ) -> Promoter:
        """What makes memories of that agent's sessions; a summarizer is given `environ`."""
        from memory_sidecar.agents.promotion import Promoter  # a search in code needs none

        return Promoter(
            self.agent(agent, db),
            settings=self.settings,
            environ=environ,
            reporter=reporter,
        )

    @property
    def team(self) -> TeamLink | None:
        """The team's database, if the settings name one. Raises UsageError; connects to nothing."""
        if self._team is None and self.settings.database:
            self._team = _link_of(self.settings)
        return self._team

    def required_team(self) -> TeamLink:
        """The team's database. Raises UsageError without one."""
        if (link := self.team) is None:
            raise UsageError(
                "no database of a team is set",
                hint="set `database` to its address, such as postgresql://me@db.example/team",
            )
        return link

    def team_files(self, agent: Agent) -> TeamFiles:
        """The files of `agent` as the team has them. Raises UsageError without a team."""
        link = self.required_team()
        from memory_sidecar.agents.team_files import TeamFiles  # an extra

        return agent.team or TeamFiles(agent, link)

    def agent_names(self) -> list[str]:
        """The names of all agents with memories, sessions or a database in the data directory."""
        knowledge, episodic = self.data_dir.knowledge, self.data_dir.root / EPISODIC
        names = {path.stem for path in knowledge.glob("*.sqlite")}
        names |= {path.name for path in (*knowledge.glob("*/"), *episodic.glob("*/"))}
        return sorted(name for name in names if _is_agent(name))

    def rebuild(self, *, reporter: Reporter) -> IndexReport | AgentReports:
        """Derive everything again from the files: the code's index, and each agent's.

        Rebuilds each, whatever becomes of the others, and then raises the first of what went wrong;
        the rest is told by notices. Raises NoIndex where there is nothing, not even files.
        """
        code: IndexReport | None = None
        agents: list[IndexReport] = []
        problems: list[SidecarError] = []
        for name in ("", *self.agent_names()):
            try:
                if name:
                    agents.append(self.agent(name).rebuild(reporter=reporter))
                else:
                    code = self.codebase().rebuild((), reporter=reporter)
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
        """The code that a team shares."""
        if self.team is None:
            return None
        from memory_sidecar.team.codebase import TeamCode

        place = f"{getpass.getuser()}@{socket.gethostname()}:{self.data_dir.root}"
        return TeamCode(self.team, holder=place, models=self.models)

    def _place(self, db: Path) -> Path:
        """One name for each database, whatever links lead to its folder: it must have one owner.

        A link below the data directory, or in the place of the database, is not resolved: whatever
        opens it refuses it.
        """
        named, real = self.data_dir.root, Path(os.path.realpath(self.data_dir.root))
        for root in (named, real):
            if db.is_relative_to(root):
                return real / db.relative_to(root)
        return Path(os.path.realpath(db.parent), db.name)

    def _opened(self) -> list[Codebase | Agent]:
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
            if paths.agent in self.settings.database_agents and (link := self.team):
                from memory_sidecar.agents.team_files import TeamFiles

                agent.team = TeamFiles(agent, link)
            self._agents[paths] = agent
        return self._agents[paths]

    def unload(self, *, unused_for_s: float) -> bool:
        """Give the memory of the model and of vectors back if no call used them for so long."""
        if not self.models.unload(unused_for_s=unused_for_s):
            return False
        with self._lock:
            opened = self._opened()
        for each in opened:
            each.unload()
        return True

    def close(self) -> None:
        for opened in self._opened():
            opened.close()
        self._codebases.clear()
        self._agents.clear()
        if self._team is not None:
            self._team.close()
        self.models.close()
        self.questions.close()


def _require_name_of(paths: AgentPaths) -> None:
    """Raises UsageError for a database that by its place is another agent's."""
    other = paths.db.stem
    beside = paths.db.with_suffix("")
    if other != paths.agent and (beside.is_dir() or paths.db.parent.name == KNOWLEDGE):
        raise UsageError(
            f"{paths.db} is the database of {other!r}, not of {paths.agent!r}",
            hint=f"each agent has one of its own: {paths.db.with_name(paths.agent + '.sqlite')}",
        )


def _is_agent(name: str) -> bool:
    try:
        check_agent(name)
    except UsageError:
        return False
    return True


def _link_of(settings: Settings) -> TeamLink | None:
    try:
        from memory_sidecar.team.link import link_of  # an extra
    except ImportError as error:
        raise UsageError(
            "database is set, and the extra `postgres` is not installed",
            hint=install_command("'memory-sidecar[postgres]'"),
        ) from error
    return link_of(settings)
