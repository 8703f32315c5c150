"""What the commands about dense-context roots print."""

from __future__ import annotations

from typing import Annotated, TypedDict

from memory_sidecar.core.results import about


class Initialised(TypedDict):
    """A root or project that was made."""

    root: str
    project: str | None
    created: Annotated[list[str], about("relative to the root")]


class NewAtom(TypedDict):
    """A file that was made."""

    id: Annotated[str, about("such as EXP-042")]
    kind: str
    project: str
    path: str


class AtomCounts(TypedDict):
    """The atoms of a project."""

    project: str
    experiments: int
    knowledge: int
    patterns: int


class Problem(TypedDict):
    """What could not be understood in a file."""

    file: str
    line: int
    text: str


class Regenerated(TypedDict):
    """What was written anew."""

    root: str
    projects: list[AtomCounts]
    written: list[str]
    problems: list[Problem]


class ContextFinding(TypedDict):
    """Something that is wrong in a root."""

    rule: str
    file: str
    line: int
    text: str
    remedy: str
    fixable: Annotated[bool, about("by --fix")]


class Task(TypedDict):
    """A task of a project."""

    project: str
    id: str
    text: str
    status: str
    done: bool
    priority: str
    line: int


class Access(TypedDict):
    """A read that was counted."""

    project: str
    file: str
    tool: str
    matches: Annotated[int | None, about("of a search")]


class Refs(TypedDict):
    """How often an atom was read."""

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
