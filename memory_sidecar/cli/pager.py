"""Shows a text through the user's pager: `$PAGER`, else `less`, as git does.

Runs in the client's process, which has the terminal, so it imports little.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess

from memory_sidecar.core.children import find_program
from memory_sidecar.core.process import lift_memory_limit
from memory_sidecar.daemon.link import write_whole

LESS_OPTIONS = "FRX"  # F: exit if all fits; R: keep colours and links; X: leave it on the screen


def page(text: str) -> None:
    """Show `text` until the user quits the pager; print it if there is none."""
    data = text.encode("utf-8", "backslashreplace")
    command = _pager_command()
    if command and _run_pager(command, data):
        return
    write_whole(1, data)


def _pager_command() -> list[str]:
    named = os.environ.get("PAGER")
    try:
        command = shlex.split(named) if named is not None else ["less"]
    except ValueError:  # an unclosed quote
        return []
    program = find_program(command[0], os.environ) if command and command != ["cat"] else None
    return [program, *command[1:]] if program else []


def _run_pager(command: list[str], data: bytes) -> bool:
    environ = {"LESS": LESS_OPTIONS, "LV": "-c", **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environ)  # noqa: S603  the user's
    except OSError:
        return False
    lift_memory_limit(pager.pid)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's while it runs
    try:
        pager.communicate(data)
    finally:
        signal.signal(signal.SIGINT, before)
    return True
