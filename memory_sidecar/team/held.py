"""The sources that a team's database holds: lists them, and removes them with all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import inf

from memory_sidecar.core.errors import NotFound
from memory_sidecar.disk.repository import Origin
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.lease import LeaseHeld, SourceRemoved, take_lease
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.schema import require_schema


@dataclass(frozen=True, slots=True)
class HeldSource:
    """A source at the team, or one that was removed from it."""

    id: int
    origin: Origin
    chunks: int
    holder: str  # the machine that indexed it last, or removed it
    lease_until: datetime | None  # None: no machine holds the lease
    is_removed: bool


def held_sources(
    link: TeamLink,
    *,
    address: str | None = None,
    branch: str | None = None,
    folder: str | None = None,
) -> list[HeldSource]:
    """List the sources of the team, by default all.

    Raises NotFound if none is as wanted, DatabaseError and NoIndex.
    """
    with link.reading() as connection:
        require_schema(connection, link)
        rows = connection.execute(
            "SELECT id, repository, branch, folder, chunks, holder, lease_until = 'infinity',"
            " CASE WHEN isfinite(lease_until) AND lease_until > now() THEN lease_until END"
            " FROM sources WHERE coalesce(%(address)s, repository) = repository"
            " AND coalesce(%(branch)s, branch) = branch AND coalesce(%(folder)s, folder) = folder"
            " ORDER BY repository, folder, branch",
            {"address": address, "branch": branch, "folder": folder},
        ).fetchall()
    if address is not None and not rows:
        named = (address or "''", *(f"({each})" for each in (branch, folder) if each))
        wanted = " ".join(named)
        raise NotFound(
            f"{link.shown} has nothing of {wanted}", hint="`memory-sidecar team list` shows all"
        )
    return [
        HeldSource(id_, Origin(repository, its, inside), chunks, holder, until, is_removed)
        for id_, repository, its, inside, chunks, holder, is_removed, until in rows
    ]


def remove_sources(
    link: TeamLink, wanted: Sequence[HeldSource], *, holder: str, by_force: bool
) -> None:
    """Remove the sources `wanted` with all their rows, or none of them.

    An empty row of each remains, see `lease`. A source that another call removes or replaces
    meanwhile is skipped. Raises LeaseHeld if another machine indexes one of them, unless
    `by_force`, and DatabaseError.
    """

    def remove(connection: Connected) -> None:
        for each in sorted(wanted, key=lambda each: each.id):
            with suppress(SourceRemoved):
                take_lease(connection, each.id, holder, by_force=by_force)
                delete_source(connection, each.id)
                connection.execute(
                    "INSERT INTO sources (repository, branch, folder, holder, lease_until)"
                    " VALUES (%s, %s, %s, %s, 'infinity')",
                    (each.origin.address, each.origin.branch, each.origin.inside, holder),
                )

    try:
        link.write(remove, patience_s=inf)
    except LeaseHeld as error:
        error.hint = "its lease ends 15 minutes after its last write; `--take` does not wait"
        raise


def delete_source(connection: Connected, source: int) -> None:
    """Delete the row of `source` and all that belongs to it."""
    connection.execute(
        "DELETE FROM chunks WHERE file IN (SELECT id FROM files WHERE source = %s)", (source,)
    )
    for table in ("files", "words", "chunk_static", "chunk_vectors", "chunk_pending"):
        connection.execute(f"DELETE FROM {table} WHERE source = %s", (source,))
    connection.execute("DELETE FROM sources WHERE id = %s", (source,))
