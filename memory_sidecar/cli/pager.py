"""Shows a text through the user's pager: `$PAGER`, else `less`, as git does it.

Runs in the process that has the terminal, so it imports little.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess

LESS_OPTIONS = "FRX"  # ends where all fits, passes colours and links on, and leaves the text there


def page(text: str) -> None:
    """Show `text` until the user has seen enough; print it where there is no pager."""
    data = text.encode("utf-8", "backslashreplace")
    command = _command()
    if command and _has_shown(command, data):
        return
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _command() -> list[str]:
    named = os.environ.get("PAGER")
    try:
        command = shlex.split(named) if named is not None else ["less"]
    except ValueError:  # a quote that nothing ends
        return []
    if not command or command == ["cat"] or shutil.which(command[0]) is None:
        return []
    return command


def _has_shown(command: list[str], data: bytes) -> bool:
    environ = {"LESS": LESS_OPTIONS, "LV": "-c", **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environ)  # noqa: S603  theirs
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's while it runs
    try:
        pager.communicate(data)
    finally:
        signal.signal(signal.SIGINT, before)
    return True
