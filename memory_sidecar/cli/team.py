"""`memory-sidecar team` and `memory`: sets up a team's database, and exchanges data with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from memory_sidecar.agents.exchanged import Exchanged, conflict_line
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import command_group, with_agent, with_data_dir
from memory_sidecar.core.errors import Conflict, NotFound
from memory_sidecar.core.model import ExchangeRequest
from memory_sidecar.core.results import about, build_from, pluralize
from memory_sidecar.core.times import iso_utc, shown_utc
from memory_sidecar.disk.repository import plain_address

if TYPE_CHECKING:
    from memory_sidecar.team.backup import ExportedSource
    from memory_sidecar.team.held import HeldSource

ROLES = ("memory_sidecar_reader", "memory_sidecar_indexer", "memory_sidecar_agent")


@dataclass(frozen=True, slots=True)
class TeamMade:
    """A team's database that is ready, or the SQL that makes it ready."""

    database: str
    roles: Annotated[tuple[str, ...], about("that roles with a login are made members of")]
    sql: Annotated[str, about("with --sql, what would be run; else empty")]


@dataclass(frozen=True, slots=True)
class TeamSource:
    """A folder of a branch of a repository."""

    repository: Annotated[str, about("its remote address")]
    branch: str
    folder: Annotated[str, about("inside of the repository; empty for all of it")]
    chunks: int


@dataclass(frozen=True, slots=True)
class TeamHeld(TeamSource):
    """A folder of a branch of a repository, and who indexes it for the team."""

    indexer: Annotated[str, about("the machine that indexed it last; empty for none")]
    lease_until: Annotated[
        str | None, about("until when no other machine may take over without --take; null: any may")
    ]
    removed_by: Annotated[str, about("the machine that removed it from the team; mostly empty")]


@dataclass(frozen=True, slots=True)
class TeamSources:
    """What a team's database holds, or what of it was removed."""

    database: str
    sources: tuple[TeamHeld, ...]


@dataclass(frozen=True, slots=True)
class TeamCopy:
    """A file that holds code of a team."""

    database: str
    file: Annotated[str, about("absolute")]
    sources: tuple[TeamSource, ...]


over_option = click.option(
    "--over", multiple=True, metavar="PATH", help="Resolve this conflict: replace the other side's."
)


@command_group
def team() -> None:
    """A team's PostgreSQL, which `database` names."""


@team.command()
@click.option("--sql", is_flag=True, help="Only print the statements, for psql.")
@with_data_dir
def init(call: Call, *, sql: bool) -> TeamMade:
    """Make the tables of a team in its database, and the roles for its people and machines.

    Run as the owner of the database, who may make roles; again after an update.
    """
    link = call.services.require_team()
    from memory_sidecar.team import schema  # an extra

    if not sql:
        schema.make_schema(link, call.reporter)
        schema.grant_roles(link)
        schema.declare_nearest(link, call.reporter)
    made = TeamMade(link.shown, ROLES, schema.whole_script() if sql else "")
    ready = [
        f"{made.database} is ready; in psql, for each of you:",
        f"  CREATE ROLE alice LOGIN PASSWORD '…' IN ROLE {', '.join(ROLES[1:])};",
    ]
    return call.show(made, [made.sql] if sql else ready)


@team.command(name="list")
@with_data_dir
def list_held(call: Call) -> TeamSources:
    """Show the sources that the team's database holds, and which machine indexes each."""
    link = call.services.require_team()
    from memory_sidecar.team.held import held_sources  # an extra

    held = tuple(map(_held, held_sources(link)))
    lines = map(_held_line, held) if held else [f"{link.shown} has no source"]
    return call.show(TeamSources(link.shown, held), lines)


@team.command()
@click.argument("address")
@click.option("--branch", metavar="NAME", help="Only this branch.")
@click.option("--folder", metavar="DIR", help="Only this folder, as team list shows it.")
@click.option("--take", is_flag=True, help="Even if another machine indexes it for the team.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_data_dir
def remove(
    call: Call, *, address: str, branch: str | None, folder: str | None, take: bool, yes: bool
) -> TeamSources:
    """Remove the repository ADDRESS, its remote address, from the team's database.

    No file is touched, and each machine indexes on its own what is checked out there. None uploads
    it again by itself; `source publish` does.
    """
    link = call.services.require_team()
    from memory_sidecar.team.held import held_sources, remove_sources  # an extra

    found = held_sources(link, address=plain_address(address), branch=branch, folder=folder)
    going = [each for each in found if not each.is_removed]
    if not going:
        raise NotFound(f"{_held_line(_held(found[0]))}", hint="`source publish` uploads it again")
    if not yes:
        question = f"Remove {pluralize(len(going), 'source')} from {link.shown}?"
        call.confirm([_held_line(_held(each)) for each in going], question)
    here = call.services.place
    remove_sources(link, going, holder=here, by_force=take)
    call.codebase.sharing.keep_here([each.origin for each in going])
    removed = tuple(replace(_held(each), removed_by=here, lease_until=None) for each in going)
    return call.show(TeamSources(link.shown, removed), map(_held_line, removed))


def _held(each: HeldSource) -> TeamHeld:
    until = each.lease_until
    return TeamHeld(
        *(each.origin.address, each.origin.branch, each.origin.inside, each.chunks),
        indexer="" if each.is_removed else each.holder,
        lease_until=iso_utc(int(1000 * until.timestamp())) if until else None,
        removed_by=each.holder if each.is_removed else "",
    )


def _held_line(each: TeamHeld) -> str:
    folder = f", {each.folder}" if each.folder else ""
    named = f"{each.repository} ({each.branch}{folder}): "
    if each.removed_by:
        return f"{named}removed by {each.removed_by}"
    until = f" (lease until {shown_utc(each.lease_until)})" if each.lease_until else ""
    by = f", indexed by {each.indexer}{until}" if each.indexer else ""
    return f"{named}{pluralize(each.chunks, 'chunk')}{by}"


@team.command("export")
@click.argument("name", metavar="FILE")
@click.option("--repository", default="", metavar="ADDRESS", help="Only this repository.")
@with_data_dir
def export_(call: Call, *, name: str, repository: str) -> TeamCopy:
    """Write the team's code to FILE: chunks, words and vectors, as one commit has them."""
    link = call.services.require_team()
    from memory_sidecar.team.backup import export_code  # an extra

    file = call.path(name)
    kept = export_code(link, file, plain_address(repository))
    return _show_copy(call, link.shown, file, kept)


@team.command("import")
@click.argument("name", metavar="FILE")
@click.option("--replace", is_flag=True, help="Replace sources that the team has already.")
@with_data_dir
def import_(call: Call, *, name: str, replace: bool) -> TeamCopy:
    """Give the team the code that FILE holds, which team export wrote: all of it or nothing."""
    link = call.services.require_team()
    from memory_sidecar.team.backup import import_code  # an extra

    file = call.path(name)
    kept = import_code(link, file, replaces=replace, reporter=call.reporter)
    return _show_copy(call, link.shown, file, kept)


def _show_copy(call: Call, database: str, file: Path, kept: Sequence[ExportedSource]) -> TeamCopy:
    sources = tuple(build_from(TeamSource, each) for each in kept)
    lines = (f"{e.repository} ({e.branch}): {pluralize(e.chunks, 'chunk')}" for e in sources)
    return call.show(TeamCopy(database, str(file), sources), [*lines, f"{file}; {database}"])


@command_group
def memory() -> None:
    """An agent's memories and sessions and those of its team: push, pull."""


@memory.command()
@over_option
@click.option("--allow-secrets", is_flag=True, help="Send even what looks like a key or password.")
@with_agent
def push(call: Call, *, agent: str, over: tuple[str, ...], allow_secrets: bool) -> Exchanged:
    """Give the team the memories and sessions that changed here.

    What others changed as well is named and left alone (exit status 4). With `database` set that
    happens by itself for the agents in `database_agents`.
    """
    return _exchange(
        call, agent, ExchangeRequest(takes=False, over=over, with_secrets=allow_secrets)
    )


@memory.command()
@over_option
@with_agent
def pull(call: Call, *, agent: str, over: tuple[str, ...]) -> Exchanged:
    """Take the memories and sessions that others changed at the team.

    What changed here as well is named and left alone (exit status 4). What is replaced or removed
    goes to the archive. As push, that happens by itself.
    """
    return _exchange(call, agent, ExchangeRequest(gives=False, joins=True, over=over))


def _exchange(call: Call, agent: str, wanted: ExchangeRequest) -> Exchanged:
    files = call.services.team_files(call.services.agent(agent, call.db))
    done = files.exchange(call.reporter, wanted)
    call.show(done, _exchanged_lines(done))
    if done.conflicts:
        raise Conflict(
            conflict_line(done.conflicts),
            hint="`memory-sidecar memory push --over PATH` keeps yours,"
            " `memory-sidecar memory pull --over PATH` the team's",
        )
    return done


def _exchanged_lines(done: Exchanged) -> Iterator[str]:
    yield from (f"given {path}" for path in done.given)
    yield from (f"taken {path}" for path in done.taken)
    yield from (f"left out {each.path}: {each.reason}" for each in done.left_out)
    if not (done.given or done.taken or done.conflicts):
        yield f"nothing else changed; {done.database}"
