"""Completes the commands that a hint names with what the caller said, so that they can be pasted.

The code that writes a hint knows neither `--data-dir` nor the other options of the call.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click


class AgentOption(click.Option):
    """`--agent` of a command that is always about one, named or not."""


CARRIED = ("--agent", "--db", "--data-dir", "--root")
"""Options that decide what a command is about; a hint is about the same."""

_COMMAND = re.compile(r"`memory-sidecar ([^`]*)`")


@dataclass(frozen=True, slots=True)
class Hints:
    """What one call said of the above, by option."""

    tree: click.Command
    given: Mapping[str, str]
    is_about_agent: bool

    @classmethod
    def of(cls, context: click.Context) -> Hints:
        """For the command that `context` is of."""
        said = {
            option: str(context.params[param.name])
            for param in context.command.params
            for option in param.opts
            if param.name
            and context.get_parameter_source(param.name) is click.core.ParameterSource.COMMANDLINE
        }
        given = {option: said[option] for option in CARRIED if option in said}
        is_about_agent = context.params.get("agent") is not None
        return cls(context.find_root().command, given, is_about_agent)

    def completed(self, text: str) -> str:
        """`text` with every command in it as the caller would have to type it."""
        return _COMMAND.sub(self._complete, text) if self.given else text

    def _complete(self, found: re.Match[str]) -> str:
        words = found[1].split()
        command = _command(self.tree, words)
        params = {option: param for param in command.params for option in param.opts}
        added = {
            option: value
            for option, value in self.given.items()
            if option in params and option not in words
        }
        if "--all" in words:  # of all agents
            added.pop("--agent", None)
        names_agent = "--agent" in words or "--agent" in added or _has_agent(params)
        if names_agent is not self.is_about_agent:  # an agent's database is not that of the code
            added.pop("--db", None)
        options = (f" {option} {shlex.quote(value)}" for option, value in added.items())
        return f"`memory-sidecar {found[1]}{''.join(options)}`"


def _command(tree: click.Command, words: Sequence[str]) -> click.Command:
    """The command that `words` begin with, as far down as they lead."""
    for word in words:
        inner = (
            tree.get_command(click.Context(tree), word) if isinstance(tree, click.Group) else None
        )
        if inner is None:
            break
        tree = inner
    return tree


def _has_agent(params: Mapping[str, click.Parameter]) -> bool:
    return isinstance(params.get("--agent"), AgentOption)
