"""`memory-sidecar completion`: installs the script by which a shell completes commands and names.

The script calls the program with an environment variable set; `completing` answers in the client's
process, without a daemon, a database or a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click
from click.shell_completion import get_completion_class

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import command_group, with_data_dir
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.installation import PROGRAM
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.projects import home
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import named_errors

VARIABLE = "_MEMORY_SIDECAR_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_shell = click.argument("shell", type=click.Choice(SHELLS), required=False)


@dataclass(frozen=True, slots=True)
class Installed:
    """The completion script of a shell."""

    shell: str
    path: Annotated[str, about("of the written file")]


@dataclass(frozen=True, slots=True)
class Script:
    """The script by which a shell completes."""

    shell: str
    script: str


@command_group
def completion() -> None:
    """Have a shell complete commands, options and names with Tab."""


@completion.command()
@_shell
@with_data_dir
def install(call: Call, shell: str | None) -> Installed:
    """Write the script where SHELL, by default yours, looks for it."""
    shell = shell or _user_shell(call)
    path = script_path(call, shell)
    with named_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(Tree(path.parent), path, _script(shell).encode())
    lines = [f"wrote {path}: new shells complete {PROGRAM} with Tab"]
    if shell == "bash":
        lines.append(f"where bash-completion is not installed, ~/.bashrc needs: . {path}")
    elif shell == "zsh":
        lines.append(f"~/.zshrc needs, before `compinit`: fpath+=({path.parent})")
    return call.show(Installed(shell, str(path)), lines)


@completion.command()
@_shell
@with_data_dir
def show(call: Call, shell: str | None) -> Script:
    """Print the script for SHELL, to be put where you like."""
    shell = shell or _user_shell(call)
    script = _script(shell)
    return call.show(Script(shell, script), script.splitlines())


def _script(shell: str) -> str:
    script_class = get_completion_class(shell)
    assert script_class is not None
    completing = script_class(click.Command(PROGRAM), {}, PROGRAM, VARIABLE)
    # `source()` would start bash to check its version.
    script = completing.source_template % completing.source_vars() + "\n"
    # click's script for fish would cut a help text at its first comma.
    return script.replace('string split ","', 'string split --max 1 ","')


def _user_shell(call: Call) -> str:
    name = Path(call.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UsageError(
            f"there is no completion for your shell, {name or 'which is unknown'}",
            hint=f"name one: {', '.join(SHELLS)}",
        )
    return name


def script_path(call: Call, shell: str) -> Path:
    """Return the path where `shell` looks for the script."""
    user_home = Path(home(call.environ))

    def xdg(variable: str, default: str) -> Path:
        return Path(call.environ.get(variable) or user_home / default)

    if shell == "bash":
        return xdg("XDG_DATA_HOME", ".local/share") / "bash-completion" / "completions" / PROGRAM
    if shell == "fish":
        return xdg("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / f"{PROGRAM}.fish"
    return user_home / ".zfunc" / f"_{PROGRAM}"
