"""Writes the JSON Schemas of what commands print, and the words that complete their lines.

`python -m memory_sidecar.cli.schemas`, or `./task schemas`.

They are committed, so that a change of what callers see stands in its diff.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, get_type_hints

import click

from memory_sidecar.cli import words
from memory_sidecar.cli.main import every_command
from memory_sidecar.core.results import DRAFT, Schema, about, schema_of

FOLDER = Path(__file__).parents[1] / "schemas"

WITHOUT_JSON = frozenset(
    {
        *("mcp", "serve", "service install", "service status", "service uninstall"),
        *("completion show", "help"),
    }
)
"""One is a protocol, the others talk to who runs the machine, to a shell or to a reader."""


class ErrorText(TypedDict):
    """What is wrong, and what would be right."""

    code: Annotated[str, about("stable, such as no_index")]
    message: str
    hint: Annotated[str, about("a next step, or empty")]
    current: NotRequired[
        Annotated[dict[str, Any], about("what is there, where another change came first")]
    ]


class Error(TypedDict):
    """The last line on standard error when a command fails and JSON was asked for."""

    error: ErrorText


def all_schemas() -> dict[str, Schema]:
    """By file name without its ending: `source-list`."""
    schemas = {
        words.replace(" ", "-"): _schema(shape, f"memory-sidecar {words} --json")
        for words, shape in outputs().items()
    }
    return schemas | {"error": _schema(Error, "memory-sidecar, when it fails")}


def outputs() -> dict[str, Any]:
    """The type of what each command gives back, by its words; none for those that give nothing."""
    given = {words: _returned(command) for words, command in commands(every_command())}
    return {words: shape for words, shape in given.items() if shape is not type(None)}


def commands(group: click.Group, *words: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below `group`, with its words: `source list`."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *words, name)
        else:
            yield " ".join((*words, name)), command


def _returned(command: click.Command) -> Any:  # noqa: ANN401  types are values
    assert command.callback is not None
    return get_type_hints(inspect.unwrap(command.callback), include_extras=True)["return"]


def _schema(shape: Any, title: str) -> Schema:  # noqa: ANN401
    return schema_of(shape, **{"$schema": DRAFT, "title": title})


def rendered(schema: Schema) -> str:
    """A schema as its file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    schemas = all_schemas()
    for file in FOLDER.glob("*.json"):
        if file.stem not in schemas:
            file.unlink()
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas.items():
        (FOLDER / f"{name}.json").write_text(rendered(schema), encoding="utf-8")
    words.FILE.write_text(words.rendered(words.words_of(every_command())), encoding="utf-8")
