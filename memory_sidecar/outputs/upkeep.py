"""What the commands about the installation print."""

from __future__ import annotations

from typing import Annotated, TypedDict

from memory_sidecar.core.results import about

Vector = Annotated[list[float], about("384 numbers of length 1; with `-`, such an array a line")]


class Finding(TypedDict):
    """One check of the doctor."""

    check: str
    ok: bool
    text: str
    hint: Annotated[str, about("a next step, or empty")]
    agent: Annotated[str, about("whose database it is about, or empty")]


class Model(TypedDict):
    """The embedding model in use."""

    name: str
    origin: str
    folder: str
    sha256: str
    dimension: int


class Trusted(TypedDict):
    """The folders that the user trusts now."""

    trusted: list[str]


class Stopped(TypedDict):
    """Whether a daemon ran, and which."""

    stopped: bool
    pid: int | None


class Skill(TypedDict):
    """A skill for coding agents."""

    name: str
    description: str
    path: str
