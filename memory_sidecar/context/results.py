"""What the `context` commands give back, beside the tasks and reads of `tasks` and `access`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.core.results import about


@dataclass(frozen=True, slots=True)
class Initialised:
    """A root or project that was made."""

    root: str
    project: str | None
    created: Annotated[list[str], about("relative to the root")]


@dataclass(frozen=True, slots=True)
class NewAtom:
    """A file that was made."""

    id: Annotated[str, about("such as EXP-042")]
    kind: str
    project: str
    path: str


@dataclass(frozen=True, slots=True)
class AtomCounts:
    """The atoms of a project."""

    project: str
    experiments: int
    knowledge: int
    patterns: int


@dataclass(frozen=True, slots=True)
class Misread:
    """What could not be understood in a file."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Regenerated:
    """What was written anew."""

    root: str
    projects: tuple[AtomCounts, ...]
    written: tuple[str, ...]
    problems: tuple[Misread, ...]


@dataclass(frozen=True, slots=True)
class ContextFinding:
    """Something that is wrong in a root."""

    rule: str
    file: str
    line: int
    text: str
    remedy: str
    fixable: Annotated[bool, about("by --fix")]


@dataclass(frozen=True, slots=True)
class AtomUse:
    """How often an atom was read, as counted now."""

    project: str
    id: str
    kind: str
    summary: str
    status: str
    standing: str
    refs: int
    last_ref: str | None
    hot: bool
    cold: bool
    file: Annotated[str, about("relative to the root")]
    basis: Annotated[list[str], about("project/id of what it rests on or leads to")]
