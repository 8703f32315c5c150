"""Tells a data directory that is to be made from one that is mistyped.

Only `--data-dir` is asked about: what the environment names belongs to a host, which may begin
with a question. What reads finds nothing in a folder that is not there; what writes makes it, and
says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory_sidecar.core.errors import NotFound

# One word, or those of a command and the one below it.
MAKING = frozenset(
    {
        *("index", "store", "episodic-put", "episodic-commit", "serve", "mcp", "trust"),
        *("source add", "category create", "service install", "session save", "session import"),
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
