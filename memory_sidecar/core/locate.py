"""Which data directory a call means. Imports next to nothing: the thin client asks it too."""

from __future__ import annotations

import os
import sys

from memory_sidecar.core.trust import answer_of, home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONFIG_NAME = "memory-sidecar.toml"
DATA_DIR_VARIABLE = "MEMORY_SIDECAR_DATA_DIR"
DATA_DIR_OPTION = "--data-dir"
PROJECT_DATA_DIR = os.path.join("data", "memory")


def locate(option: str | None, *, cwd: str, environ: Mapping[str, str]) -> tuple[str, str | None]:
    """The data directory, and the nearest folder that was passed over for want of trust.

    It is `--data-dir`, else the environment's, else that of the nearest trusted project, else the
    user's own. A project is a folder at or above `cwd` that has `data/memory` or a
    `memory-sidecar.toml`. Paths are absolute. A project that the user has refused is not told of.
    """
    if named := named_data_dir(option, environ):
        return os.path.normpath(os.path.join(cwd, os.path.expanduser(named))), None
    passed_over = None
    for folder in upwards(cwd):
        data_dir = os.path.join(folder, PROJECT_DATA_DIR)
        if os.path.isdir(data_dir) or os.path.isfile(os.path.join(folder, CONFIG_NAME)):
            answer = answer_of(folder, environ)
            if answer:
                return data_dir, passed_over
            if answer is None:
                passed_over = passed_over or folder
    return os.path.join(_user_data_folder(environ), "memory-sidecar"), passed_over


def named_data_dir(option: str | None, environ: Mapping[str, str]) -> str | None:
    """The data directory as the user named it, if so: in the arguments, or in the environment."""
    return option or environ.get(DATA_DIR_VARIABLE)


def data_dir_option(arguments: Sequence[str]) -> str | None:
    """The value of `--data-dir` in the arguments of a command; the last one counts."""
    found = None
    for at, word in enumerate(arguments):
        if word == "--":
            break
        if word == DATA_DIR_OPTION:
            found = arguments[at + 1] if at + 1 < len(arguments) else found
        elif word.startswith(DATA_DIR_OPTION + "="):
            found = word[len(DATA_DIR_OPTION) + 1 :]
    return found


def leading_options_last(arguments: list[str]) -> list[str]:
    """The command comes first: `--data-dir DIR` before it goes behind all that belongs to it."""
    count = 0
    while count < len(arguments):
        word = arguments[count]
        if word != DATA_DIR_OPTION and not word.startswith(DATA_DIR_OPTION + "="):
            break
        count += 2 if word == DATA_DIR_OPTION else 1
    rest = arguments[count:]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *arguments[:count], *rest[end:]]


def upwards(folder: str) -> Iterator[str]:
    """`folder` and every folder above it."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        yield (folder := parent)


def _user_data_folder(environ: Mapping[str, str]) -> str:
    """The platform's folder for application data of this user."""
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.join(home(environ), "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join(home(environ), "Library", "Application Support")
    return environ.get("XDG_DATA_HOME") or os.path.join(home(environ), ".local", "share")
