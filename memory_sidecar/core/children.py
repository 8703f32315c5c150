"""Runs other programs, so that no repository decides which program runs or where.

A program is looked up in the absolute folders of PATH only, and runs in the user's home folder. It
gets the variables in `PASSED_ON` and those that the user names in the setting `child_environment`,
with the values of the caller's environment, also when a daemon runs it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO

from memory_sidecar.core.errors import one_line
from memory_sidecar.core.process import lift_memory_limit
from memory_sidecar.core.projects import home

PASSED_ON = frozenset(
    """
    HOME USER LOGNAME SHELL PATH LANG LANGUAGE TZ TERM NO_COLOR TMPDIR TMP TEMP
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE
    CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS DBUS_SESSION_BUS_ADDRESS
    SYSTEMROOT COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA PROGRAMFILES PROGRAMDATA
    """.split()
)
"""Names of variables in capitals; a variable in any case counts."""
FOR_OUR_PYTHON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
"""What the interpreter of this process may need to start again; other programs do not get them."""
STEP_S = 2.0  # between two calls of `meanwhile`
PASSED_ON_PREFIXES = ("LC_", "XDG_", "MEMORY_SIDECAR_")
_SHOWN_CHARACTERS = 200


class ChildFailed(Exception):
    """Why a command gave no output, and what it said last on standard error."""

    def __init__(self, how: str, said: str = "") -> None:
        """`how`: the program and what became of it, without what it said or was given."""
        super().__init__(f"{how}: {said}" if said else how)
        self.how = how


def child_environment(caller: Mapping[str, str], named: Collection[str] = ()) -> dict[str, str]:
    """Return a program's environment: of the `caller`'s, what is passed on, and those `named`."""
    passed = {
        name: value
        for name, value in caller.items()
        if name.upper() in PASSED_ON or name.startswith(PASSED_ON_PREFIXES) or name in named
    }
    folders = passed.get("PATH", "").split(os.pathsep)
    absolute = (folder for folder in folders if Path(folder).is_absolute())
    return passed | {"PATH": os.pathsep.join(absolute)}


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of the program `name`, or None where PATH has none."""
    name = os.path.expanduser(name)  # noqa: PTH111  which never fails
    if Path(name).name != name and not Path(name).is_absolute():
        return None  # a relative path would name another program in every folder
    found = shutil.which(name, path=child_environment(environ)["PATH"])
    return found if found and Path(found).is_absolute() else None


def output_of(
    command: str, *, environ: Mapping[str, str], text: bytes = b"", timeout_s: float
) -> bytes:
    """Run `command`, split into words as by a shell, by `run_child`; return its standard output.

    Raises ChildFailed if it does not start, takes too long or fails.
    """
    try:
        name, *words = shlex.split(command) or [""]
    except ValueError as error:
        raise ChildFailed(f"is not a command: {error}") from error
    program = find_program(name, environ)
    if program is None:
        raise ChildFailed(
            f"{name} does not start: no program on the PATH, nor an absolute path of one"
        )
    try:
        done = run_child([program, *words], environ=environ, text=text, timeout_s=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ChildFailed(f"{name} took longer than {timeout_s:g} s") from error
    except OSError as error:
        raise ChildFailed(f"{name} does not start: {error.strerror}") from error
    if done.returncode:
        said = one_line(done.stderr.decode("utf-8", "replace"))[-_SHOWN_CHARACTERS:]
        raise ChildFailed(f"{name} ended with status {done.returncode}", said)
    return done.stdout


def run_child(
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    text: bytes = b"",
    timeout_s: float,
    umask: int = -1,
    meanwhile: Callable[[], None] | None = None,
    is_limited: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program that `find_program` found, with `text` as its standard input.

    `environ` is its whole environment; `umask`: -1 for ours. `meanwhile` is called every STEP_S; if
    it raises, the program is killed. `is_limited`: it may have only as much memory as this process.
    Raises OSError and subprocess.TimeoutExpired.
    """
    folder = Path(home(environ))
    with subprocess.Popen(  # noqa: S603  found by its absolute path
        arguments,
        env=dict(environ),
        cwd=folder if folder.is_dir() else folder.anchor or None,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        umask=umask,
    ) as process:
        if not is_limited:
            lift_memory_limit(process.pid)
        assert process.stdin is not None
        Thread(target=_feed, args=(process.stdin, text), daemon=True).start()
        process.stdin = None  # `communicate` takes input only if it is called once
        try:
            out, err = _await_end(process, timeout_s, meanwhile)
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def _await_end(
    process: subprocess.Popen[bytes], timeout_s: float, meanwhile: Callable[[], None] | None
) -> tuple[bytes, bytes]:
    """Return what `process` wrote to its two outputs. Raises subprocess.TimeoutExpired."""
    until_s = time.monotonic() + timeout_s
    while True:
        left_s = until_s - time.monotonic()
        try:
            return process.communicate(timeout=min(left_s, STEP_S))
        except subprocess.TimeoutExpired as error:
            if left_s <= STEP_S:
                raise subprocess.TimeoutExpired(process.args, timeout_s) from error
        if meanwhile is not None:
            meanwhile()


def _feed(pipe: IO[bytes], text: bytes) -> None:
    with suppress(BrokenPipeError), pipe:  # the program need not read its input
        pipe.write(text)
