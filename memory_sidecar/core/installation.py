"""The commands that start this installation, add to it or remove it: by pipx, uv or pip.

The installer is recognised by the file that it left in the environment.
"""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

PROGRAM = "memory-sidecar"


def own_command() -> list[str]:
    """Return the command that starts this installation."""
    program = Path(sys.executable).with_name(PROGRAM)
    if program.is_file():
        return [str(program)]
    return [sys.executable, "-P", "-m", "memory_sidecar.client"]


def install_command(what: str) -> str:
    """Return the command that installs `what`, packages and options, into this environment."""
    if _is_of_pipx():
        return f"pipx runpip {PROGRAM} install {what}"
    if _is_of_uv():  # such an environment has no pip
        return f"uv pip install --python {quote(sys.prefix)} {what}"
    return f"{_own_pip()} install {what}"


def uninstall_command() -> str:
    """Return the command that uninstalls this program."""
    by = "pipx" if _is_of_pipx() else "uv tool" if _is_of_uv() else _own_pip()
    return f"{by} uninstall {PROGRAM}"


def _own_pip() -> str:
    """Return the command of this environment's pip: the user's may be another environment's."""
    return f"{quote(sys.executable)} -m pip"


def _is_of_pipx() -> bool:
    return Path(sys.prefix, "pipx_metadata.json").exists()


def _is_of_uv() -> bool:
    return Path(sys.prefix, "uv-receipt.toml").exists()
