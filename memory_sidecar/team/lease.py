"""Which machine indexes a source for the team: the one that holds its lease.

The lease ends once its holder has not written for `LEASE_S`; the holder may renew it even later,
unless a user has had another machine take over. A source that was removed from the team keeps an
empty row whose lease never ends, so that no machine uploads it again by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from memory_sidecar.core.errors import Conflict
from memory_sidecar.disk.repository import Origin
from memory_sidecar.embedding.models import Models
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.shared_files import SourceRow, read_sources

LEASE_S = 900  # an indexer without changes renews it by its rescan every ten minutes
_ADVISORY = 0x6D65  # class of the advisory locks of sources


class LeaseHeld(Conflict):
    """Another machine holds the lease of the source."""


class SourceRemoved(Conflict):
    """The source was removed from the team."""


@dataclass(frozen=True, slots=True)
class VectorModels:
    """The versions of the models that make vectors on a machine, "" for none."""

    model: str
    static: str

    @classmethod
    def of(cls, models: Models) -> VectorModels:
        static = models.static
        return cls(models.sha256 or "", static.version if static else "")

    @property
    def static_under_way(self) -> str:
        """The version stored while static vectors are being made; equal to no real one."""
        return f"{self.static} under way"

    def would_replace(self, model: str, static: str) -> bool:
        """Whether this machine would make vectors of these versions again, if it indexed them."""
        known = ("", self.static, self.static_under_way)
        return bool(
            (self.model and model not in ("", self.model)) or (self.static and static not in known)
        )


class LeaseFor(Enum):
    """Why a machine takes or renews the lease of a branch."""

    INDEXING = auto()  # what this machine indexes for the team already
    FIRST_UPLOAD = auto()  # of a branch that the team lacks, by the machine itself
    PUBLISHING = auto()  # a user asked: even if it was removed, or another's lease has ended
    TAKING_OVER = auto()  # a user asked not to wait for the end of another machine's lease


def lease_branch(
    connection: Connected, origin: Origin, purpose: LeaseFor, *, holder: str, made: VectorModels
) -> tuple[SourceRow, int]:
    """Take or renew the lease of the branch at `origin`; return its row and this generation.

    `holder`: how messages on other machines name this one. Raises LeaseHeld, SourceRemoved, and
    Conflict if the team has only other branches: a machine that indexes `main` for the team does
    not upload each branch that is checked out there.
    """
    is_asked = purpose in (LeaseFor.PUBLISHING, LeaseFor.TAKING_OVER)
    (row,) = read_sources(connection, [origin])
    if origin.branch and (row is None or purpose is not LeaseFor.INDEXING):
        _add_source(connection, origin, made, again=is_asked)
        (row,) = read_sources(connection, [origin])
    if row is None or row.branch != origin.branch:
        raise _unshared(connection, origin)
    by_force = purpose is LeaseFor.TAKING_OVER
    if row.holder not in ("", holder) and not by_force:
        if not is_asked:  # what is checked out here may be old, or not be pushed
            raise _held_by_other(row.holder, origin.address, row.branch)
        if made.would_replace(row.model, row.static):
            raise _of_other_models(origin, row.holder)
    return row, take_lease(connection, row.id, holder, by_force=by_force)


def _add_source(connection: Connected, origin: Origin, made: VectorModels, *, again: bool) -> None:
    """Create the row of the branch at `origin`, unless there is one.

    Raises SourceRemoved if that was removed, unless it is to be shared `again`.
    """
    named = (origin.address, origin.branch, origin.inside)
    if again:
        connection.execute(
            "DELETE FROM sources WHERE (repository, branch, folder) = (%s, %s, %s)"
            " AND lease_until = 'infinity'",
            named,
        )
    elif tell_removed(connection, origin):
        raise _unshared(connection, origin)
    connection.execute(
        "INSERT INTO sources (repository, branch, folder, model, static)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (*named, made.model, made.static),
    )


def _unshared(connection: Connected, origin: Origin) -> Conflict:
    """Return the error for a branch at `origin` that the team does not have, with the reason."""
    if told := tell_removed(connection, origin):
        return SourceRemoved(told, hint="`memory-sidecar source publish` uploads it again")
    return Conflict(
        f"the team has no index of {origin.branch or 'a detached HEAD'}",
        hint="`memory-sidecar source publish` uploads that of a branch",
    )


def tell_removed(connection: Connected, origin: Origin) -> str:
    """Return who removed the branch at `origin` from the team, as a sentence; "" for no one.

    The removal of a folder above counts, too, and that of any branch if the team has no other one.
    """
    rows = connection.execute(
        "SELECT branch, folder, holder, lease_until = 'infinity' FROM sources"
        " WHERE repository = %s ORDER BY branch = %s DESC, id",
        (origin.address, origin.branch),
    ).fetchall()
    has_other = any(folder == origin.inside and not gone for _, folder, _, gone in rows)
    inside = f"{origin.inside}/"
    for branch, folder, holder, gone in rows:
        is_around = not folder or inside.startswith(f"{folder}/")
        if gone and is_around and (branch == origin.branch or not has_other):
            return f"{holder} removed {origin.address} ({branch}) from the team's database"
    return ""


def _held_by_other(holder: str, address: str, branch: str) -> LeaseHeld:
    """Return the refusal for a machine that is not the `holder`."""
    return LeaseHeld(
        f"{holder} indexes {address} ({branch}) for the team",
        hint="`source publish` takes over 15 minutes after its last write, with `--take` at once",
    )


def _of_other_models(origin: Origin, holder: str) -> LeaseHeld:
    """Return the refusal for a machine whose models would make all vectors again.

    The former `holder` would make them again once more if it took the lease back.
    """
    return LeaseHeld(
        f"{holder} indexed {origin.address} ({origin.branch}) with another model",
        hint="`source publish --take` takes over, and makes all of its vectors again",
    )


def take_lease(connection: Connected, source: int, holder: str, *, by_force: bool) -> int:
    """Take or renew the lease of `source`, until `LEASE_S` after the transaction began.

    Returns the generation that this transaction makes. Raises LeaseHeld, and SourceRemoved if
    another transaction has just removed or replaced the source.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_ADVISORY, source))
    taken = connection.execute(
        "UPDATE sources SET holder = %(holder)s, generation = generation + 1,"
        " lease_until = now() + make_interval(secs => %(seconds)s)"
        " WHERE id = %(source)s AND (holder = %(holder)s OR lease_until < now() OR %(force)s)"
        " RETURNING generation",
        {"holder": holder, "seconds": LEASE_S, "source": source, "force": by_force},
    ).fetchone()
    if taken is None:
        found = connection.execute(
            "SELECT holder, repository, branch FROM sources WHERE id = %s", (source,)
        ).fetchone()
        if found is None:
            raise SourceRemoved("another call has just replaced this source", hint="try again")
        raise _held_by_other(*found)
    generation: int = taken[0]
    return generation
