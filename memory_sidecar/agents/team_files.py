"""Keeps an agent's memories and sessions in step with a team's database.

A change is uploaded before the call that made it returns, and the changes of other machines are
downloaded before a question is answered: one round trip each. If the server does not answer, calls
go on with the local files, and a notice says so.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import eq
from typing import Final

from memory_sidecar.agents.exchanged import Differing, Exchanged, KeptBack, conflict_line
from memory_sidecar.core.errors import SidecarError, StoreBusy, TeamEmpty, UsageError
from memory_sidecar.core.model import ExchangeRequest, Source
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.times import compact_utc
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.files import are_alike
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.names import CATEGORY_FILE, check_path
from memory_sidecar.sessions.documents import SESSION_ID
from memory_sidecar.sessions.files import MAX_SESSION_BYTES, SessionFiles
from memory_sidecar.sessions.store import SESSIONS
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.mirror import Mirror
from memory_sidecar.team.mirror_files import MirroredFolder
from memory_sidecar.team.mirror_rows import TeamFile

BOTH_WAYS: Final = ExchangeRequest()
WAIT_S: Final = 30.0  # how long a pull or push waits for another exchange, such as a long first one
SHORT_WAIT_S: Final = 1.0  # how long a store or a question waits for one
LOOK_EVERY_S: Final = 0.5  # at most; questions in between are answered from the local files
_SESSION_PATH = re.compile(rf"\d{{4}}-\d{{2}}/{SESSION_ID.pattern}\.json")


class TeamFiles:
    """The exchange of an agent's files with a team's database, over `link`."""

    def __init__(self, agent: AgentDatabase, link: TeamLink, shared: TeamFiles | None) -> None:
        """`shared`: the exchange of the shared agent's files, if it is another and has one."""
        self._agent = agent
        self._link = link
        self._looked_at_s = -LOOK_EVERY_S
        paths = agent.paths
        self._mirror: Mirror = Mirror(
            link,
            agent.name,
            (_memories(agent), _sessions(agent)),
            state=paths.state / "team.json",
            archive=lambda: paths.archive / f"{compact_utc(agent.clock())}-team",
            index=self._index,
            shared=shared._mirror if shared else None,
        )

    def exchange(
        self, reporter: Reporter, wanted: ExchangeRequest = BOTH_WAYS, *, patience_s: float = WAIT_S
    ) -> Exchanged:
        """Run `Mirror.exchange`. Raises the errors of that, and the one that uploading reported."""
        over = {_team_path(each) for each in wanted.over}
        done = self._mirror.exchange(replace(wanted, over=over), reporter, patience_s=patience_s)
        if done.failure is not None:
            raise done.failure
        return Exchanged(
            self._agent.name,
            self._link.shown,
            tuple(map(_shown, done.given)),
            tuple(map(_shown, sorted(done.taken))),
            _differing(done.conflicts),
            tuple(KeptBack(_shown(path), reason) for path, reason in done.left_out.items()),
        )

    def differing(self) -> tuple[Differing, ...]:
        """List the conflicts as of the last exchange; asks no server."""
        return _differing(self._mirror.differing_files())

    def owes(self) -> bool:
        """Whether the team lacks changes that were made here; asks no server."""
        return self._mirror.owes()

    def require_same_team(self) -> None:
        """Raise DatabaseError if the database is not of the team that has had the files."""
        self._mirror.has_news()

    def before_reading(self, reporter: Reporter) -> None:
        """Download what others stored, at most every LOOK_EVERY_S; a notice tells of a failure."""
        is_due = time.monotonic() - self._looked_at_s >= LOOK_EVERY_S
        if not (is_due or self._link.is_unreachable):
            return
        try:
            self._link.require_reachable()
            if self._mirror.has_news():
                self.exchange(reporter, ExchangeRequest(gives=False), patience_s=SHORT_WAIT_S)
        except StoreBusy:
            under_way = f"an exchange of {self._agent.name} with the team is still under way"
            reporter.notice(f"{under_way}: ask again for what it brings")
        except SidecarError as error:
            if not isinstance(error, TeamEmpty):  # an empty database has no news
                _notice_without_team(error, reporter)
        finally:  # an answer may take longer than that
            self._looked_at_s = time.monotonic()

    def after_writing(self, reporter: Reporter, directory: str, files: Collection[str]) -> None:
        """Upload `files` of `directory`, and download what others stored.

        After a failure a notice says so, and a later call uploads them.
        """
        changed = {f"{directory}/{file}" for file in files}
        try:
            self._link.require_reachable()
            wanted = ExchangeRequest(changed=changed)
            done = self.exchange(reporter, wanted, patience_s=SHORT_WAIT_S)
        except SidecarError as error:
            self._owe(changed)
            _notice_without_team(error, reporter)
            return
        for each in done.left_out:
            reporter.notice(f"{each.path} is not exchanged with the team: {each.reason}")
        if done.conflicts:
            reporter.notice(conflict_line(done.conflicts))

    def _owe(self, changed: Collection[str]) -> None:
        """Note that the files `changed` are still to be uploaded."""
        with suppress(SidecarError):  # a daemon, or `memory push`, looks at every file anyway
            self._mirror.note_owed(changed)

    def _index(self, taken: Sequence[str], reporter: Reporter) -> None:
        for name in (OWN_DIRECTORY, SESSIONS):
            start = f"{name}/"
            files = [path.removeprefix(start) for path in taken if path.startswith(start)]
            if files and any(source.name == name for source in self._agent.sources()):
                self._agent.index(files, reporter=reporter, directory=name)


def _notice_without_team(error: SidecarError, reporter: Reporter) -> None:
    """Say the same of a question and of a store, so that a command which is both says it once."""
    reporter.notice(f"without the team, which gets later what is changed here: {error.with_hint}")


def _memories(agent: AgentDatabase) -> MirroredFolder:
    paths = agent.paths
    source = Source(OWN_DIRECTORY, paths.memories)
    builder = MemoryBuilder(source, agent=agent.name, trusts_empty_root=True)
    return MirroredFolder(
        OWN_DIRECTORY,
        paths.memories,
        paths.tree,
        MAX_PAGE_BYTES,
        scan=builder.scan,
        changing=KnowledgeDirectory.of_agent(paths).changing,
        is_path=_is_memory,
        are_alike=are_alike,
    )


def _sessions(agent: AgentDatabase) -> MirroredFolder:
    paths = agent.paths
    files = SessionFiles.of_agent(paths)
    return MirroredFolder(
        SESSIONS,
        paths.sessions,
        paths.tree,
        MAX_SESSION_BYTES,
        scan=files.scan,
        changing=files.changing,
        is_path=lambda path: _SESSION_PATH.fullmatch(path) is not None,
        are_alike=eq,
    )


def _is_memory(path: str) -> bool:
    """Whether another machine's file may have the path `path` here: below the root, not hidden.

    It may also be the page of a category.
    """
    named = path.removesuffix(CATEGORY_FILE) + "of.md" if path.endswith(CATEGORY_FILE) else path
    with suppress(UsageError):
        return check_path(named) == named and len(os.fsencode(path)) < 1024
    return False


def _team_path(shown: str) -> str:
    """Turn a path as users see it into the team's, which begins with the source. See `_shown`."""
    if shown.startswith(f"{SESSIONS}/") and shown.endswith(".json"):
        return shown
    return f"{OWN_DIRECTORY}/{shown if _is_memory(shown) else check_path(shown)}"


def _shown(path: str) -> str:
    return path.removeprefix(f"{OWN_DIRECTORY}/")


def _differing(heads: Sequence[TeamFile]) -> tuple[Differing, ...]:
    return tuple(
        Differing(_shown(each.path), not each.hash, each.written_by, each.written_at)
        for each in heads
    )
