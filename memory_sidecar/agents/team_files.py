"""An agent's memories and sessions, kept in step with a team's database.

What is stored goes up before the call returns, and what others stored comes down before a question
is answered, so both cost one round trip. Where the server does not answer, what is here goes on,
and says so.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from memory_sidecar.agents.exchanged import Differing, Exchanged, KeptBack, conflict_line
from memory_sidecar.core.errors import NoIndex, SidecarError, UsageError
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.names import CATEGORY_FILE, check_path
from memory_sidecar.sessions.documents import SESSION_ID
from memory_sidecar.sessions.files import MAX_SESSION_BYTES, SessionFiles
from memory_sidecar.sessions.store import SESSIONS
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.mirror import Mirror
from memory_sidecar.team.mirror_rows import TeamFile
from memory_sidecar.team.mirrored import MirroredFolder, MirrorReport

LOOK_EVERY_S: Final = 0.5  # at most; questions in between are answered from what is here
_SESSION_PATH = re.compile(rf"\d{{4}}-\d{{2}}/{SESSION_ID.pattern}\.json")


class TeamFiles:
    """The files of `agent` that a team has, too."""

    def __init__(self, agent: AgentDatabase, link: TeamLink) -> None:
        self._agent = agent
        self._link = link
        self._looked_at_s = -LOOK_EVERY_S
        paths = agent.paths
        self._mirror = Mirror(
            link,
            agent.name,
            (_memories(agent), _sessions(agent)),
            state=paths.state / "team.json",
            archive=paths.archive,
            clock=agent.clock,
        )

    def exchange(
        self,
        reporter: Reporter,
        *,
        takes: bool = True,
        gives: bool = True,
        changed: Collection[str] = (),
        over: Collection[str] = (),
        with_secrets: bool = False,
    ) -> Exchanged:
        """As `Mirror.exchange`; what was taken can be found when this returns."""
        done = self._mirror.exchange(
            takes=takes,
            gives=gives,
            changed=changed,
            over={_path_of(each) for each in over},
            with_secrets=with_secrets,
        )
        self._index(done, reporter)
        return Exchanged(
            self._agent.name,
            self._link.shown,
            tuple(map(_shown, done.given)),
            tuple(map(_shown, done.taken)),
            _told(done.conflicts),
            tuple(KeptBack(_shown(each.path), each.reason) for each in done.left_out),
        )

    def differing(self) -> tuple[Differing, ...]:
        """What the team had at the last exchange that is not here; asks no server."""
        return _told(self._mirror.differing())

    def before_reading(self, reporter: Reporter) -> None:
        """Take what others stored, if a moment has passed; says so where that cannot be."""
        if time.monotonic() - self._looked_at_s < LOOK_EVERY_S:
            return
        self._looked_at_s = time.monotonic()
        try:
            if self._link.is_away:
                reporter.notice(f"{self._link.shown} is away: answered from what is here")
            elif self._mirror.has_news():
                self.exchange(reporter, gives=False)
        except NoIndex:
            return
        except SidecarError as error:
            reporter.notice(f"without news of the team: {error.message}")

    def after_writing(self, reporter: Reporter, directory: str, files: Collection[str]) -> None:
        """Give what was stored; where that cannot be, it stays here and is given later."""
        changed = {f"{directory}/{file}" for file in files}
        try:
            if self._link.is_away:
                self._owe(changed)
                reporter.notice(f"{self._link.shown} is away: stored here, and given to it later")
                return
            done = self.exchange(reporter, changed=changed)
        except SidecarError as error:
            self._owe(changed)
            reporter.notice(f"stored here, not given to the team yet: {error.message}")
            return
        for each in done.left_out:
            reporter.notice(f"{each.path} is not given to the team: {each.reason}")
        if done.conflicts:
            reporter.notice(conflict_line(done.conflicts))

    def _owe(self, changed: Collection[str]) -> None:
        with suppress(SidecarError):  # a daemon, or `memory push`, looks at every file anyway
            self._mirror.owe(changed)

    def _index(self, done: MirrorReport, reporter: Reporter) -> None:
        for name in (OWN_DIRECTORY, SESSIONS):
            start = f"{name}/"
            files = [path.removeprefix(start) for path in done.taken if path.startswith(start)]
            if not files:
                continue
            if any(source.name == name for source in self._agent.sources()):
                self._agent.index(files, reporter=reporter, directory=name)


def _memories(agent: AgentDatabase) -> MirroredFolder:
    paths = agent.paths
    source = Source(OWN_DIRECTORY, paths.memories)
    builder = MemoryBuilder(source, agent=agent.name, believes_empty=True)
    return MirroredFolder(
        OWN_DIRECTORY,
        paths.memories,
        paths.tree,
        MAX_PAGE_BYTES,
        scan=builder.scan,
        changing=KnowledgeDirectory.of_agent(paths).changing,
        is_path=_is_memory,
    )


def _sessions(agent: AgentDatabase) -> MirroredFolder:
    paths = agent.paths
    files = SessionFiles(paths.sessions, paths.tree)
    return MirroredFolder(
        SESSIONS,
        paths.sessions,
        paths.tree,
        MAX_SESSION_BYTES,
        scan=files.scan,
        changing=lambda: files.changing(paths.sessions_lock),
        is_path=lambda path: _SESSION_PATH.fullmatch(path) is not None,
    )


def _is_memory(path: str) -> bool:
    """Whether another machine's file may be called so here: no path leads out, none is hidden."""
    named = path.removesuffix(CATEGORY_FILE) + "of.md" if path.endswith(CATEGORY_FILE) else path
    try:
        return check_path(named) == named and len(os.fsencode(path)) < 1024
    except UsageError:
        return False


def _path_of(shown: str) -> str:
    if shown.startswith(f"{SESSIONS}/") and shown.endswith(".json"):
        return shown
    return f"{OWN_DIRECTORY}/{check_path(shown)}"


def _shown(path: str) -> str:
    return path.removeprefix(f"{OWN_DIRECTORY}/")


def _told(heads: Sequence[TeamFile]) -> tuple[Differing, ...]:
    return tuple(
        Differing(_shown(each.path), not each.hash, each.written_by, each.written_at)
        for each in heads
    )
