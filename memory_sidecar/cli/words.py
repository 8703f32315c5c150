"""The table that `completing` answers from, made of the commands themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from memory_sidecar.cli.completing import PATH, TABLE

FILE = Path(TABLE)
# Arguments and options, by their metavar or name, whose values are paths on the disk.
_PATHS = frozenset("path paths file files folder dir root [root] [path]... d/a.mv2".split())
_NO_PATHS = frozenset(
    "get update remove move share restore".split()  # whose PATH is a memory's
)


def words_of(tree: click.Group) -> dict[str, Any]:
    """By the words of a command: what may follow them. "" stands for the program itself."""
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


def rendered(table: dict[str, Any]) -> str:
    """As its file has it."""
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _value(parameter: click.Parameter, words: str) -> str | list[str] | None:
    """What a value is: one of a list, a path, or "" for any text; `None` for an option without."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return None
    if isinstance(parameter.type, click.Choice):
        return [str(each) for each in parameter.type.choices]
    named = {str(parameter.name).lower(), str(parameter.metavar).lower()}
    is_path = named & _PATHS and not (words in _NO_PATHS and isinstance(parameter, click.Argument))
    return PATH if is_path else ""


def _told(command: click.Command) -> str:
    return _first_line(command.help or "")


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
