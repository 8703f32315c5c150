"""Commits access logs with the git command, and nothing else that may be staged or changed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_sidecar.errors import SidecarError

# Set where git itself runs an agent, as in a hook; they would lead to that repository.
_OF_ANOTHER = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})

MESSAGE = "chore: update access log"
TIMEOUT_S = 30


def commit_logs(root: Path, logs: Sequence[Path], *, environ: Mapping[str, str]) -> bool:
    """Whether there was something to commit. Raises SidecarError with what git says.

    `environ` is that of the caller, as far as it is known, over that of this process.
    """
    paths = [str(log) for log in logs]
    if not _git(root, ["status", "--porcelain", "--", *paths], environ).strip():
        return False
    _git(root, ["add", "--", *paths], environ)
    _git(root, ["commit", "--quiet", "--message", MESSAGE, "--only", "--", *paths], environ)
    return True


def _git(root: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    # Nobody is there to answer a question.
    given = {**os.environ, **environ, "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), *arguments],  # noqa: S607  as the caller's PATH has it
            env={name: value for name, value in given.items() if name not in _OF_ANOTHER},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise SidecarError("git is not installed", hint="the log itself is written") from error
    except subprocess.TimeoutExpired as error:
        raise SidecarError(
            f"git took longer than {TIMEOUT_S} s", hint="the log itself is written"
        ) from error
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
        raise SidecarError(
            f"git could not commit the access log: {said}", hint="the log itself is written"
        )
    return done.stdout
