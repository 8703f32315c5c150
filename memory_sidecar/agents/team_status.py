"""Finds the state of a team's database: whether and how fast it answers, which files differ."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.agents.exchanged import Differing
from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.results import Problem, about, build_from


@dataclass(frozen=True, slots=True)
class TeamAgent:
    """An agent whose memories and sessions are kept in a team's database, too."""

    name: str
    differing: Annotated[
        tuple[Differing, ...], about("what the team has otherwise, as of the last exchange")
    ]
    unsent: Annotated[bool, about("whether the team lacks changes that were made here")]


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """The state of a team's database."""

    database: Annotated[str, about("its name, user and host")]
    delay_ms: Annotated[float | None, about("of one question; null where none was answered")]
    problem: Annotated[Problem | None, about("why; what is on this machine answers meanwhile")]
    agents: tuple[TeamAgent, ...]
    files_away: Annotated[int, about("of the sources here, that cannot be searched for that")]


def team_status(services: Services) -> TeamStatus | None:
    """Ask the team's server one question; the result tells a failure. `None` without a team."""
    link = problem = delay_ms = None
    try:
        if (link := services.team) is None:
            return None
        from memory_sidecar.team.schema import require_schema  # an extra

        delay_ms = round(link.delay_ms(), 2)
        with link.reading() as connection:
            require_schema(connection, link)
    except SidecarError as error:
        problem = build_from(Problem, error)
    agents = []
    for name in services.settings.database_agents if link else ():
        try:
            if files := services.agent(name).team:
                agents.append(TeamAgent(name, files.differing(), files.owes()))
                if problem is None:
                    files.require_same_team()
        except SidecarError as error:
            problem = problem or build_from(Problem, error)
    files_away = 0
    if problem and (codebase := services.codebase()).paths.db.exists():
        with suppress(SidecarError):
            files_away = codebase.sharing.files_away()
    return TeamStatus(link.shown if link else "", delay_ms, problem, tuple(agents), files_away)


def team_line(team: TeamStatus) -> str:
    """Describe `team` in one line for people."""
    if team.problem:
        without = ""
        if files := team.files_away:
            without = f", without the {files:,} files that only the team has"
        return f"{team.problem.message}; what is on this machine answers{without}"
    line = f"{team.database} answers in {team.delay_ms:.1f} ms"
    if team.agents:
        line += f"; it stores {', '.join(each.name for each in team.agents)}"
    if differing := [head.path for each in team.agents for head in each.differing]:
        line += f", and {', '.join(differing)} different from this machine"
    if unsent := [each.name for each in team.agents if each.unsent]:
        line += f"; not all that was changed here of {', '.join(unsent)} is there yet"
    return line
