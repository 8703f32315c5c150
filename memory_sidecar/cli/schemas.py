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

from memory_sidecar.cli.completing import AGENT, MEMORY, PATH, SESSION, SOURCE, TABLE
from memory_sidecar.cli.main import every_command
from memory_sidecar.core.results import DRAFT, Schema, about, schema_of

FOLDER = Path(__file__).parents[1] / "schemas"
WORDS_FILE = Path(TABLE)

WITHOUT_JSON = frozenset(
    {
        *("mcp", "serve", "service install", "service status", "service uninstall"),
        *("completion show", "help"),
    }
)
"""One is a protocol, the others talk to who runs the machine, to a shell or to a reader."""

# Arguments and options, by their metavar or name, whose values are paths on the disk.
_PATHS = frozenset("path paths file files folder dir root [root] [path]... d/a.mv2".split())
_NO_PATHS = frozenset(
    "get update remove move share restore".split()  # whose PATH is a memory's
)
_SOURCES = {("source remove", "name"), ("source publish", "name"), ("source move", "old")}


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
    """Every schema by its file name without the ending, such as `source-list`."""
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


def rendered(document: dict[str, Any], *, indent: int = 2) -> str:
    """A schema, or with `indent` 1 the words, as the file has it."""
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def words_of(tree: click.Group) -> dict[str, Any]:
    """What may follow the words of each command; "" is the program itself."""
    table: dict[str, Any] = {}

    def add(command: click.Command, words: str) -> None:
        inner = command.commands if isinstance(command, click.Group) else {}
        table[words] = {
            "commands": {name: _told(each) for name, each in inner.items()},
            "options": {
                name: {"help": _first_line(option.help or ""), "value": _value(option, words)}
                for option in command.params
                if isinstance(option, click.Option) and not option.hidden
                for name in (*option.opts, *option.secondary_opts)
            },
            "arguments": [
                _value(each, words) for each in command.params if isinstance(each, click.Argument)
            ],
        }
        for name, each in inner.items():
            add(each, f"{words} {name}".strip())

    add(tree, "")
    return table


def _value(parameter: click.Parameter, words: str) -> str | list[str] | None:
    """What a value is: one of a list, a path, or "" for any text; `None` for an option without."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return None
    if isinstance(parameter.type, click.Choice):
        return [str(each) for each in parameter.type.choices]
    if "--agent" in parameter.opts:
        return AGENT
    if isinstance(parameter, click.Argument):
        if words in _NO_PATHS:
            return MEMORY if words != "restore" else ""
        if parameter.name == "session_id":
            return SESSION
        if (words, parameter.name) in _SOURCES:
            return SOURCE
    elif "--source" in parameter.opts and parameter.metavar == "NAME":
        return SOURCE
    named = {str(parameter.name).lower(), str(parameter.metavar).lower()}
    return PATH if named & _PATHS else ""


def _told(command: click.Command) -> str:
    return _first_line(command.help or "")


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


if __name__ == "__main__":
    schemas = all_schemas()
    for file in FOLDER.glob("*.json"):
        if file.stem not in schemas:
            file.unlink()
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas.items():
        (FOLDER / f"{name}.json").write_text(rendered(schema), encoding="utf-8")
    WORDS_FILE.write_text(rendered(words_of(every_command()), indent=1), encoding="utf-8")
