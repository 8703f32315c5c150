"""Checks of `doctor`: whether coding agents start a program that exists, with its skills."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_sidecar.agents.checks import Check
from memory_sidecar.agents.skills import all_skills
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.groups import by_key
from memory_sidecar.setup.notes import Piece, read_pieces, read_text

CHECK = "setup"


def examine_set_up(environ: Mapping[str, str]) -> list[Check]:
    """Check what `setup` wrote for the user with `environ`, as far as it is still in the files.

    Returns no check where coding agents were never set up.
    """
    try:
        pieces = read_pieces(environ)
        return [*_check_programs(pieces), *_check_skills(pieces)]
    except PathRefused as error:
        return [Check.failed(CHECK, error.message, error.hint)]


def _check_programs(pieces: Sequence[Piece]) -> Iterator[Check]:
    started = [(program, piece.agent) for piece in pieces for program in _programs(piece)]
    if not started:
        return
    gone = by_key(each for each in started if not Path(each[0]).exists())
    if not gone:
        names = ", ".join(dict.fromkeys(agent for _, agent in started))
        yield Check.passed(CHECK, f"the program that the settings of {names} start is there")
        return
    lost = dict.fromkeys(agent for each in gone.values() for agent in each)
    yield Check.failed(
        CHECK,
        f"{', '.join(gone)} is gone, and the settings of {', '.join(lost)} start it",
        f"`memory-sidecar setup {' '.join(lost)}` names the program of this installation",
    )


def _check_skills(pieces: Sequence[Piece]) -> Iterator[Check]:
    """Check that skills which the user left as `setup` wrote them say what this version says."""
    texts = {f"skill {skill.name}": skill.path.read_text("utf-8") for skill in all_skills()}
    others = (piece for piece in pieces if piece.text != texts.get(piece.what, piece.text))
    agents = dict.fromkeys(each.agent for each in others if read_text(each.path) == each.text)
    if agents:
        yield Check.failed(
            CHECK,
            f"the skills of {', '.join(agents)} are those of another version",
            f"`memory-sidecar setup {' '.join(agents)}` replaces them",
        )


def _programs(piece: Piece) -> Iterator[str]:
    """Yield the programs that `piece` starts, where its file still names them."""
    value = piece.value
    if value is None and Path(piece.path).suffix == ".toml":
        value = tomllib.loads(piece.text)
    named = list(_commands(value))
    text = (read_text(piece.path) or "") if named else ""
    for program in named:
        if Path(program).is_absolute() and json.dumps(program, ensure_ascii=False)[1:-1] in text:
            yield program


def _commands(value: Any) -> Iterator[str]:  # noqa: ANN401  settings
    """Yield the program of each `command` in `value`: in a list, beside `args`, or for a shell."""
    if isinstance(value, list):
        for each in value:
            yield from _commands(each)
    elif isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, list) and command and isinstance(command[0], str):
            yield command[0]
        elif isinstance(command, str):
            yield command if "args" in value else shlex.split(command)[0]
        for each in value.values():
            yield from _commands(each)
