"""`memory-sidecar service`: the daemon as a systemd service of this user."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import Group, with_call, with_help
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import NotFound, SidecarError
from memory_sidecar.core.installation import PROGRAM
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import find_data_dir
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.daemon.address import socket_paths

UNITS = (f"{PROGRAM}.socket", f"{PROGRAM}.service")


@click.group(cls=Group)
@with_help
def service() -> None:
    """Start the daemon with your session, by systemd. Without it the first command does."""


@service.command()
@with_call
def install(call: Call) -> None:
    """Write the units for the data directory in use, and start them."""
    told = _systemctl(call, "show-environment")
    if told.returncode:
        raise SidecarError(
            f"systemd does not run for this user: {told.stderr}",
            hint="log in as this user, not by su, or `loginctl enable-linger` and set "
            "XDG_RUNTIME_DIR to /run/user/UID; elsewhere, start `memory-sidecar serve --replace`",
        )
    folder = _unit_folder(call)
    data_dir = find_data_dir(call.data_dir, cwd=call.cwd, environ=call.environ).root
    with named_errors(data_dir):
        Tree(data_dir, is_own=True).make()
    for unit, text in render_units(data_dir, call.environ).items():
        with named_errors(folder / unit):
            replace_file(Tree(folder), unit, text.encode())
    for command in (("daemon-reload",), ("enable", "--now", *UNITS)):
        told = _systemctl(call, *command)
        if told.returncode:
            take_back_units(call)
            raise SidecarError(f"systemd refused the units, nothing is left: {told.stderr}")
    for unit in UNITS:
        call.print(f"wrote {folder / unit}")
    call.print("it ends with your last session; `loginctl enable-linger` makes it start at boot")


@service.command()
@with_call
def uninstall(call: Call) -> None:
    """Stop the units and remove them."""
    for path in take_back_units(call):
        call.print(f"removed {path}")


@service.command(name="status")
@with_call
def service_status(call: Call) -> None:
    """Show whether the units are there, and what systemd says of them; fails unless one runs."""
    missing = [unit for unit in UNITS if not (_unit_folder(call) / unit).is_file()]
    if missing:
        raise NotFound(
            f"not installed: {', '.join(missing)}", hint="`memory-sidecar service install`"
        )
    for unit in UNITS:
        call.print(f"{_unit_folder(call) / unit}")
    call.print(_systemctl(call, "--no-pager", "--lines=0", "status", *UNITS).stdout.rstrip("\n"))
    told = _systemctl(call, "is-active", *UNITS)  # the socket alone will do: it starts the service
    if told.returncode:
        raise SidecarError(
            f"the service does not run: {told.stdout or told.stderr}",
            hint=f"`systemctl --user start {UNITS[0]}`, and"
            f" `journalctl --user -u {PROGRAM}` says why",
        )


def take_back_units(call: Call) -> list[Path]:
    """Whatever systemd can be told, the units are gone; returns those that were there."""
    told = _systemctl(call, "disable", "--now", *UNITS)
    removed = installed_units(call)
    for path in removed:
        path.unlink()
    if told.returncode and removed:
        call.reporter.notice(
            f"systemd did not take it ({told.stderr.strip()}): `memory-sidecar stop` ends the "
            "daemon"
        )
    else:
        _systemctl(call, "daemon-reload")
    return removed


def installed_units(call: Call) -> list[Path]:
    """The units that are there, after the links that have them started."""
    folder = _unit_folder(call)
    wanted = [path for unit in UNITS for path in folder.glob(f"*.wants/{unit}")]
    every = (*wanted, *(folder / unit for unit in UNITS))
    return [path for path in every if path.is_symlink() or path.exists()]


def render_units(data_dir: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The units for `data_dir` by file name, every @name@ filled in."""
    values = {
        "name": PROGRAM,
        "data_dir": _escaped(str(data_dir)),
        "data_dir_word": _word(str(data_dir)),
        "command": " ".join(map(_word, own_command())),
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


def own_command() -> list[str]:
    """How to start this very installation."""
    program = Path(sys.executable).with_name(PROGRAM)
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


def _systemctl(call: Call, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What systemd answers; a failure where it is not installed."""
    program = shutil.which("systemctl", path=call.environ.get("PATH"))
    if program is None:
        return subprocess.CompletedProcess(arguments, 127, "", "systemctl is not installed")
    return subprocess.run(  # noqa: S603
        [program, "--user", *arguments], capture_output=True, text=True, check=False
    )
