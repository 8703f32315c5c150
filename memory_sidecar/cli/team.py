"""`memory-sidecar team` and `memory-sidecar memory`: a team's database, its files and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import click

from memory_sidecar.agents.exchanged import Exchanged, conflict_line
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import Group, with_agent, with_call, with_help
from memory_sidecar.core.errors import Conflict
from memory_sidecar.core.results import about

ROLES = ("memory_sidecar_reader", "memory_sidecar_indexer", "memory_sidecar_agent")


@dataclass(frozen=True, slots=True)
class TeamMade:
    """A team's database, ready, or what would make it so."""

    database: str
    roles: Annotated[tuple[str, ...], about("that roles with a login are made members of")]
    sql: Annotated[str, about("with --sql, what would be run; else empty")]


over_option = click.option(
    "--over", multiple=True, metavar="PATH", help="Of these conflicts, replace the other side's."
)


@click.group(cls=Group)
@with_help
def team() -> None:
    """A team's PostgreSQL, which `database` names."""


@team.command()
@click.option("--sql", is_flag=True, help="Only print what would be run, for psql.")
@with_call
def init(call: Call, *, sql: bool) -> TeamMade:
    """Make the tables of a team in its database, and the roles for its people and machines.

    Run as the owner of the database, who may make roles; again after an update.
    """
    link = call.services.required_team()
    from memory_sidecar.team.schema import grant_roles, make_schema, whole_script  # an extra

    if not sql:
        make_schema(link)
        grant_roles(link)
    return call.show(TeamMade(link.shown, ROLES, whole_script() if sql else ""), _print_made)


def _print_made(call: Call, made: TeamMade) -> None:
    if made.sql:
        call.print(made.sql)
        return
    call.print(f"{made.database} is ready; in psql, for each of you:")
    call.print(f"  CREATE ROLE alice LOGIN PASSWORD '…' IN ROLE {', '.join(made.roles[1:])};")


@click.group(cls=Group)
@with_help
def memory() -> None:
    """An agent's memories and sessions and those of its team: push, pull."""


@memory.command()
@over_option
@click.option("--allow-secrets", is_flag=True, help="Give what looks like a key or password too.")
@with_agent
def push(call: Call, *, agent: str, over: tuple[str, ...], allow_secrets: bool) -> Exchanged:
    """Give the team the memories and sessions that changed here.

    What others changed as well is named and left alone (exit status 4). With `database` set that
    happens by itself for the agents in `database_agents`.
    """
    files = call.services.team_files(call.services.agent(agent, call.db))
    done = files.exchange(call.reporter, takes=False, over=over, with_secrets=allow_secrets)
    return _show(call, done)


@memory.command()
@over_option
@with_agent
def pull(call: Call, *, agent: str, over: tuple[str, ...]) -> Exchanged:
    """Take the memories and sessions that others changed at the team.

    What changed here as well is named and left alone (exit status 4). What is replaced or removed
    goes to the archive. As push, that happens by itself.
    """
    files = call.services.team_files(call.services.agent(agent, call.db))
    return _show(call, files.exchange(call.reporter, gives=False, over=over))


def _show(call: Call, done: Exchanged) -> Exchanged:
    call.show(done, _print_exchanged)
    if done.conflicts:
        raise Conflict(
            conflict_line(done.conflicts),
            hint="`memory push --over PATH` has yours count, `memory pull --over PATH` the team's",
        )
    return done


def _print_exchanged(call: Call, done: Exchanged) -> None:
    for verb, paths in (("given", done.given), ("taken", done.taken)):
        for path in paths:
            call.print(f"{verb} {path}")
    for each in done.left_out:
        call.print(f"left out {each.path}: {each.reason}")
    if not (done.given or done.taken or done.conflicts):
        call.print(f"nothing else changed; {done.database}")
