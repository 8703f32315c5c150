"""Writes the JSON Schemas of the commands' results, and the table of words that completes lines.

Run as `./task schemas`. The files are committed, so that a diff shows every change that callers
see.
"""

from __future__ import annotations

import argparse
import inspect
import json
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from memory_sidecar.cli.completing import (
    AGENT,
    CATEGORY,
    COMMAND,
    LANGUAGE,
    MEMORY,
    PATH,
    REMOVED,
    SESSION,
    SOURCE,
    STATUS,
    TABLE,
    TAG,
)
from memory_sidecar.cli.main import every_command
from memory_sidecar.core.results import Schema, about, schema_components
from memory_sidecar.mcp.caller import Toolset

DRAFT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parents[1] / "memory_sidecar" / "schemas"
WORDS_FILE = Path(TABLE)

WITHOUT_JSON = frozenset({"mcp", "serve"})
"""Commands without a result: they are a conversation, or the daemon."""

# Arguments and options, by their metavar or name, whose values are paths on the disk.
_PATHS = frozenset("path paths file files folder dir root [root] [path]... d/a.mv2".split())
_NO_PATHS = frozenset(
    "get update remove move share restore".split()  # commands whose PATH is that of a memory
)
_MARKED: dict[str, str | list[str]] = {
    "--agent": AGENT, "--category": CATEGORY, "--language": LANGUAGE, "--tools": list(Toolset)
}  # fmt: skip
_OF_MEMORIES: dict[str, str | list[str]] = {"--tag": TAG, "--untag": TAG, "--status": STATUS}
_OTHER_TAGS = frozenset({"context", "session", "episodic-put"})  # not those of memories
_NAMED = {
    ("source remove", "names"): SOURCE,
    ("source update", "names"): SOURCE,
    ("source publish", "name"): SOURCE,
    ("source move", "old"): SOURCE,
    ("category describe", "name"): CATEGORY,
    ("category delete", "name"): CATEGORY,
    ("help", "command"): COMMAND,
}


class ErrorText(TypedDict):
    """What is wrong, and a next step."""

    code: Annotated[str, about("stable, such as no_index")]
    message: str
    hint: Annotated[str, about("a next step, or empty")]
    current: NotRequired[
        Annotated[dict[str, Any], about("what is there, where another change came first")]
    ]


class Error(TypedDict):
    """The last line on standard error when a command fails and JSON was asked for."""

    error: ErrorText


@cache
def all_schemas() -> dict[str, Schema]:
    """Return all schemas, by file name without suffix, such as `source-list`."""
    schemas = {
        words.replace(" ", "-"): _schema(shape, f"memory-sidecar {words} --json")
        for words, shape in outputs().items()
    }
    return schemas | {"error": _schema(Error, "memory-sidecar, when it fails")}


def outputs() -> dict[str, Any]:
    """Return the result type of each command, by its words, without those that return nothing."""
    given = {words: _result_type(command) for words, command in commands(every_command())}
    return {words: shape for words, shape in given.items() if shape is not type(None)}


def commands(group: click.Group, *words: str) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands below `group` with their words, such as `source list`."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *words, name)
        else:
            yield " ".join((*words, name)), command


def _result_type(command: click.Command) -> Any:  # noqa: ANN401  types are values
    assert command.callback is not None
    return get_type_hints(inspect.unwrap(command.callback), include_extras=True)["return"]


def _schema(shape: Any, title: str) -> Schema:  # noqa: ANN401  types are values
    """Return the self-contained schema of results of the type `shape`: an `anyOf` for a union."""
    is_union = get_origin(shape) in (Union, types.UnionType)
    bodies, definitions = schema_components(list(get_args(shape)) if is_union else [shape])
    body: Schema = {"anyOf": list(bodies)} if len(bodies) > 1 else bodies[0]
    top = {"$schema": DRAFT, "title": title}
    return top | body | ({"$defs": dict(sorted(definitions.items()))} if definitions else {})


def render(document: dict[str, Any], *, indent: int = 2) -> str:
    """Return the text of a file: of a schema, or with `indent` 1 of the table of words."""
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"


def words_of(tree: click.Group) -> dict[str, Any]:
    """Return the table of `completing`: what may follow each command; "" is the program itself."""
    table: dict[str, Any] = {}

    def add(command: click.Command, words: str) -> None:
        inner = command.commands if isinstance(command, click.Group) else {}
        table[words] = {
            "commands": {name: _first_line(each.help or "") for name, each in inner.items()},
            "options": {
                name: {
                    "help": _first_line(option.help or ""),
                    "value": _completion_of(option, words),
                }
                for option in command.params
                if isinstance(option, click.Option) and not option.hidden
                for name in (*option.opts, *option.secondary_opts)
            },
            "arguments": [
                _completion_of(each, words)
                for each in command.params
                if isinstance(each, click.Argument)
            ],
        }
        for name, each in inner.items():
            add(each, f"{words} {name}".strip())

    add(tree, "")
    return table


def _completion_of(parameter: click.Parameter, words: str) -> str | list[str] | None:
    """Return how to complete a value: a list, a mark of `completing`, or "" for no completion.

    Returns None for an option without a value.
    """
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return None
    if isinstance(parameter.type, click.Choice):
        return [str(each) for each in parameter.type.choices]
    marked = _MARKED if words.partition(" ")[0] in _OTHER_TAGS else _MARKED | _OF_MEMORIES
    for option in marked.keys() & set(parameter.opts):
        return marked[option]
    if isinstance(parameter, click.Argument):
        if words in _NO_PATHS:
            return REMOVED if words == "restore" else MEMORY
        if parameter.name == "session_id":
            return SESSION
        if mark := _NAMED.get((words, str(parameter.name))):
            return mark
    elif "--source" in parameter.opts and parameter.metavar == "NAME":
        return SOURCE
    named = {str(parameter.name).lower(), str(parameter.metavar).lower()}
    return PATH if named & _PATHS else ""


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    schemas = all_schemas()
    for file in FOLDER.glob("*.json"):
        if file.stem not in schemas:
            file.unlink()
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas.items():
        (FOLDER / f"{name}.json").write_text(render(schema), encoding="utf-8")
    WORDS_FILE.write_text(render(words_of(every_command()), indent=1), encoding="utf-8")
