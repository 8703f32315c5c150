"""`memory-sidecar service`: the daemon as a systemd service of this user."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call, with_help
from memory_sidecar.daemon.address import socket_paths
from memory_sidecar.errors import NotFound, SidecarError
from memory_sidecar.paths import find_data_dir

NAME = "memory-sidecar"
UNITS = (f"{NAME}.socket", f"{NAME}.service")


@click.group()
@with_help
def service() -> None:
    """Start the daemon with your session, by systemd. Without it the first command does."""


@service.command()
@with_call
def install(call: Call) -> None:
    """Write the units for the data directory in use, and start them."""
    folder = _unit_folder(call)
    folder.mkdir(parents=True, exist_ok=True)
    data_dir = find_data_dir(call.data_dir, cwd=call.cwd, environ=call.environ).root
    data_dir.mkdir(parents=True, exist_ok=True)
    for unit, text in render_units(data_dir, call.environ).items():
        (folder / unit).write_text(text, "utf-8")
        call.print(f"wrote {folder / unit}")
    _systemctl(call, "daemon-reload")
    _systemctl(call, "enable", "--now", *UNITS)


@service.command()
@with_call
def uninstall(call: Call) -> None:
    """Stop the units and remove them."""
    _systemctl(call, "disable", "--now", *UNITS)
    for unit in UNITS:
        path = _unit_folder(call) / unit
        if path.exists():
            path.unlink()
            call.print(f"removed {path}")
    _systemctl(call, "daemon-reload")


@service.command(name="status")
@with_call
def service_status(call: Call) -> None:
    """Show whether the units are there, and what systemd says of them."""
    missing = [unit for unit in UNITS if not (_unit_folder(call) / unit).is_file()]
    if missing:
        raise NotFound(
            f"not installed: {', '.join(missing)}", hint="`memory-sidecar service install`"
        )
    for unit in UNITS:
        call.print(f"{_unit_folder(call) / unit}")
    _systemctl(call, "--no-pager", "--lines=0", "status", *UNITS, may_fail=True)


def render_units(data_dir: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The units for `data_dir` by file name, every @name@ filled in."""
    values = {
        "name": NAME,
        "data_dir": _escaped(str(data_dir)),
        "data_dir_word": _word(str(data_dir)),
        "command": " ".join(map(_word, _command())),
        "socket": _escaped(next(socket_paths(str(data_dir), environ))),
    }
    rendered = {}
    for unit in UNITS:
        text = (_templates() / unit).read_text("utf-8")
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        rendered[unit] = text
    return rendered


def _templates() -> Path:
    """Beside the modules in a wheel, at the top of a checkout."""
    package = Path(__file__).parents[1]
    folders = [folder / "systemd" for folder in (package, package.parent)]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _command() -> list[str]:
    """How to start this very installation."""
    program = Path(sys.executable).with_name(NAME)
    if program.is_file():
        return [str(program)]
    return [sys.executable, "-P", "-m", "memory_sidecar.client"]


def _escaped(text: str) -> str:
    """A whole value: https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html"""
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """One word of a command line in a unit."""
    escaped = _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"'


def _unit_folder(call: Call) -> Path:
    config = call.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user"


def _systemctl(call: Call, *arguments: str, may_fail: bool = False) -> None:
    """Have systemd do it; where there is no systemd, say what would be done."""
    command = ["systemctl", "--user", *arguments]
    program = shutil.which("systemctl")
    if program is None:
        call.print(f"systemd is not here; it would be: {' '.join(command)}")
        return
    done = subprocess.run(  # noqa: S603
        [program, *command[1:]], capture_output=True, text=True, check=False
    )
    if done.stdout:
        call.print(done.stdout.rstrip("\n"))
    if done.returncode and not may_fail:
        raise SidecarError(
            f"`{' '.join(command)}` failed: {done.stderr}",
            hint="it needs a session of this user with systemd",
        )
