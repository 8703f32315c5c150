"""`memory-sidecar service`: the daemon as a systemd service of this user."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import command_group, with_data_dir
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.children import child_environment, find_program, run_child
from memory_sidecar.core.errors import NotFound, SidecarError, UsageError
from memory_sidecar.core.installation import PROGRAM, own_command
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.projects import home
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.daemon.address import socket_paths

UNITS = (f"{PROGRAM}.socket", f"{PROGRAM}.service")


@dataclass(frozen=True, slots=True)
class Units:
    """The units of systemd that start the daemon."""

    units: Annotated[tuple[Path, ...], about("their files: written, or removed")]


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """Whether the installed units run."""

    units: Annotated[tuple[Path, ...], about("their files")]
    is_active: bool
    text: Annotated[str, about("what systemd says of them")]


@command_group
def service() -> None:
    """Start the daemon with your session, by systemd. Without it the first command does."""


@service.command()
@with_data_dir
def install(call: Call) -> Units:
    """Write the units for the data directory in use, and start them."""
    done = _systemctl(call, "show-environment")
    if done.returncode:
        raise SidecarError(
            f"systemd does not run for this user: {done.stderr}",
            hint="log in as this user, not by su, or `loginctl enable-linger` and set "
            "XDG_RUNTIME_DIR to /run/user/UID; elsewhere, start `memory-sidecar serve --replace`",
        )
    folder = _unit_folder(call)
    data_dir = call.chosen_data_dir.root
    with named_errors(data_dir):
        Tree(data_dir, is_own=True).make()
    for unit, text in render_units(data_dir, call.environ).items():
        with named_errors(folder / unit):
            replace_file(Tree(folder), unit, text.encode())
    for command in (("daemon-reload",), ("enable", "--now", *UNITS)):
        done = _systemctl(call, *command)
        if done.returncode:
            remove_units(call)
            raise SidecarError(f"systemd refused the units, nothing is left: {done.stderr}")
    written = tuple(folder / unit for unit in UNITS)
    linger = "it ends with your last session; `loginctl enable-linger` makes it start at boot"
    return call.show(Units(written), [*(f"wrote {path}" for path in written), linger])


@service.command()
@with_data_dir
def uninstall(call: Call) -> Units:
    """Stop the units and remove them."""
    removed = tuple(remove_units(call))
    lines = [f"removed {path}" for path in removed]
    return call.show(Units(removed), lines or ["not installed"])


@service.command(name="status")
@with_data_dir
def service_status(call: Call) -> ServiceStatus:
    """Show whether the units are there, and what systemd says of them; fails unless one runs."""
    missing = [unit for unit in UNITS if not (_unit_folder(call) / unit).is_file()]
    if missing:
        raise NotFound(
            f"not installed: {', '.join(missing)}", hint="`memory-sidecar service install`"
        )
    text = _systemctl(call, "--no-pager", "--lines=0", "status", *UNITS).stdout.rstrip("\n")
    done = _systemctl(call, "is-active", *UNITS)  # an active socket suffices: it starts the service
    paths = tuple(_unit_folder(call) / unit for unit in UNITS)
    status = ServiceStatus(paths, is_active=not done.returncode, text=text)
    call.show(status, [*map(str, paths), text])
    if done.returncode:
        raise SidecarError(
            f"the service does not run: {done.stdout or done.stderr}",
            hint=f"`systemctl --user start {UNITS[0]}`, and"
            f" `journalctl --user -u {PROGRAM}` says why",
        )
    return status


def remove_units(call: Call) -> list[Path]:
    """Stop and remove the units, even if systemd refuses; returns the removed files."""
    done = _systemctl(call, "disable", "--now", *UNITS)
    removed = installed_units(call)
    for path in removed:
        with named_errors(path):
            path.unlink()
    if done.returncode and removed:
        call.reporter.notice(
            f"systemd did not take it ({done.stderr.strip()}): `memory-sidecar stop` ends the "
            "daemon"
        )
    else:
        _systemctl(call, "daemon-reload")
    return removed


def installed_units(call: Call) -> list[Path]:
    """Return the files of the units that exist; the links that enable them come first."""
    folder = _unit_folder(call)
    wanted = [path for unit in UNITS for path in folder.glob(f"*.wants/{unit}")]
    every = (*wanted, *(folder / unit for unit in UNITS))
    return [path for path in every if path.is_symlink() or path.exists()]


def render_units(data_dir: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the text of the units for `data_dir`, by file name, every `@name@` replaced.

    Raises UsageError for a path that would be more than one line of a unit.
    """
    if not str(data_dir).isprintable() or str(data_dir).endswith("\\"):
        raise UsageError(
            f"{str(data_dir)!r} cannot be written in a unit of systemd", hint="rename the folder"
        )
    values = {
        "name": PROGRAM,
        "data_dir": _escape(str(data_dir)),
        "data_dir_word": _quote_word(str(data_dir)),
        "command": " ".join(map(_quote_word, own_command())),
        "socket": _escape(next(socket_paths(str(data_dir), environ))),
    }
    return {
        unit: re.sub("@([a-z_]+)@", lambda name: values[name[1]], template)
        for unit in UNITS
        for template in [(_templates() / unit).read_text("utf-8")]
    }


def _templates() -> Path:
    """Return the folder of the templates: in the package of a wheel, at the top of a checkout."""
    package = Path(__file__).parents[1]
    folders = [folder / "systemd" for folder in (package, package.parent)]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _escape(text: str) -> str:
    """Escape a value: https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html"""
    return text.replace("%", "%%")


def _quote_word(text: str) -> str:
    """Quote one word of a command line in a unit."""
    escaped = _escape(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"'


def _unit_folder(call: Call) -> Path:
    config = call.environ.get("XDG_CONFIG_HOME") or Path(home(call.environ), ".config")
    return Path(config) / "systemd" / "user"


def _systemctl(call: Call, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run systemctl for the user; status 127 if it is not installed."""
    program = find_program("systemctl", call.environ)
    if program is None:
        return subprocess.CompletedProcess(arguments, 127, "", "systemctl is not installed")
    command = [program, "--user", *arguments]
    done = run_child(command, environ=child_environment(call.environ), timeout_s=math.inf)
    out, err = (each.decode("utf-8", "replace") for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(arguments, done.returncode, out, err)
