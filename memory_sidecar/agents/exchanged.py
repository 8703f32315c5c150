"""The results of an exchange of files with a team's database. Imports no PostgreSQL driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from memory_sidecar.core.results import Time, about, name_first

SHOWN: Final = 5  # conflicts named in one line, at most


@dataclass(frozen=True, slots=True)
class Differing:
    """A file that was changed both here and by another machine, and that neither overwrites."""

    path: Annotated[str, about("of a memory, or sessions/MONTH/ID.json")]
    removed: Annotated[bool, about("whether the team's was removed")]
    written_by: Annotated[str, about("the role that wrote the team's")]
    written_at: Time


@dataclass(frozen=True, slots=True)
class KeptBack:
    """A file that was not uploaded to the team, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What `memory push` or `memory pull` did."""

    agent: str
    database: Annotated[str, about("the team's")]
    given: Annotated[tuple[str, ...], about("written or removed at the team")]
    taken: Annotated[tuple[str, ...], about("written or removed here")]
    conflicts: tuple[Differing, ...]
    left_out: tuple[KeptBack, ...]


def conflict_line(conflicts: Sequence[Differing]) -> str:
    """Name the first SHOWN of `conflicts` and count the others, in one line for people."""
    named = [f"{each.path} (by {each.written_by})" for each in conflicts]
    return f"changed both here and by the team, and left as they are: {name_first(named, SHOWN)}"
