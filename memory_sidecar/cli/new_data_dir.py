"""Tells a data directory that is to be made from one that is mistyped.

What reads finds nothing in a folder that is not there, and does not make it; what writes makes it,
and says so. What the environment names belongs to a host, which may begin with a question: that is
answered all the same, with a word about the folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.locate import DATA_DIR_VARIABLE, data_dir_option, locate

# One word, or those of a command and the one below it.
MAKING = frozenset(
    {
        *("index", "store", "episodic-put", "episodic-commit", "serve", "mcp", "trust"),
        *("source add", "category create", "service install", "session save", "session import"),
    }
)

ASKING_NO_DATA = frozenset(
    {
        *("embed", "grep", "context", "model", "setup", "skills", "stop", "daemon", "uninstall"),
        *("web", "help", "version", "completion"),
    }
)


def check_new_data_dir(options: Sequence[str], named: str) -> str:
    """What to tell of `named`, which is not there. Raises NotFound for a command that only reads.

    `options` is the command line up to `--`.
    """
    words = [word for word in options if not word.startswith("-")]
    if MAKING.isdisjoint({words[0], " ".join(words[:2])}):
        raise NotFound(
            f"there is no data directory {named}", hint="`index` or `store` makes one that is new"
        )
    return f"{named} is a new data directory"


def told_of_absent(arguments: Sequence[str], *, cwd: str, environ: Mapping[str, str]) -> str:
    """What to tell of the data directory that `environ` names, after a command that only reads.

    "" where it is there, or makes no difference.
    """
    named = environ.get(DATA_DIR_VARIABLE)
    if (
        not named
        or data_dir_option(arguments)
        or os.path.lexists(locate(None, cwd=cwd, environ=environ)[0])
    ):
        return ""
    try:
        check_new_data_dir(arguments, named)
    except NotFound as error:
        command = next(word for word in arguments if not word.startswith("-"))
        return "" if command in ASKING_NO_DATA else error.message
    return ""
