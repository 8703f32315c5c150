"""The results of the `context` commands, except those in `tasks` and `access`."""

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
    """An atom or decision record that was created."""

    id: Annotated[str, about("such as EXP-042")]
    kind: str
    project: str
    path: str


@dataclass(frozen=True, slots=True)
class AtomCounts:
    """The number of atoms of a project, by kind."""

    project: str
    experiments: int
    knowledge: int
    patterns: int


@dataclass(frozen=True, slots=True)
class Misread:
    """A place in a file that could not be understood."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Regenerated:
    """The files that `context regen` wrote, and the problems it met."""

    root: str
    projects: tuple[AtomCounts, ...]
    written: tuple[str, ...]
    problems: tuple[Misread, ...]


@dataclass(frozen=True, slots=True)
class ContextFinding:
    """A fault that a check found in a root."""

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
