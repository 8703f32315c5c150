"""The rows of one agent's files in a team's database: reads changes, writes by compare-and-set.

They belong to the role that is logged in; those of the agent `shared` belong to all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any, Final

from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.times import iso_utc
from memory_sidecar.team.connection import Connected

TAKEN_BYTES = 8 << 20  # read at once; the file that exceeds it is the last one
_OWN: Final = (
    "owner = CASE WHEN %(agent)s = '" + SHARED + "' THEN ''::name ELSE session_user END"
    " AND agent = %(agent)s"
)
_HASH: Final = "left(mirrored.hash, 64)"  # ours are shorter; another role may write longer ones
_HEADS = (
    f"SELECT path, {_HASH}, written_by, (extract(epoch FROM written_at) * 1000)::bigint"
    f" FROM mirrored WHERE {_OWN} AND "
)
_NOW_US: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_PUT = f"""
INSERT INTO mirrored (owner, agent, path, hash, content)
VALUES (CASE WHEN %(agent)s = '{SHARED}' THEN ''::name ELSE session_user END,
        %(agent)s, %(path)s, %(hash)s, %(content)s)
ON CONFLICT (owner, agent, path) DO UPDATE SET hash = excluded.hash, content = excluded.content
WHERE {_HASH} IN (%(expected)s, excluded.hash)
"""

_STATE: Final = f"""
SELECT (SELECT value FROM identity WHERE key = 'mirror'),
       (SELECT coalesce(max(changed), 0) FROM mirrored WHERE {_OWN}),
       (SELECT (extract(epoch FROM written_at) * 1000000)::bigint FROM mirrored
        WHERE {_OWN} AND changed <= %(seen)s ORDER BY changed DESC LIMIT 1), {_NOW_US}
"""

_SINCE: Final = f"""
SELECT count(*), max(changed), {_NOW_US} FROM mirrored WHERE {_OWN} AND changed > %(seen)s
"""

Look = Callable[..., list[list[Any]]]  # `TeamLink.look`
Content = tuple[str, str | None]
"""Hash and content of a file at the team; None if it was removed, or is too large."""
GONE: Content = ("", None)


@dataclass(frozen=True, slots=True)
class TeamFile:
    """The latest version of a file at the team, without its content."""

    path: str
    hash: str  # "" if it was removed
    written_by: str  # the role
    written_at: str  # ISO 8601 in UTC


@dataclass(frozen=True, slots=True)
class News:
    """The changes since the number that a machine had read up to."""

    database: str  # its identity; the numbers of another database mean nothing
    seen: int  # the number to continue from
    seen_at_us: int  # when it was read, by the server's clock
    heads: tuple[TeamFile, ...]
    is_all: bool  # whether these are all files of the team, not only the changed ones


@dataclass(frozen=True, slots=True)
class Offer:
    """A file to write, if the team's version still has the hash `expected`."""

    path: str
    hash: str
    content: str | None  # None removes it
    expected: str


def read_news(look: Look, agent: str, database: str, seen: int, seen_at_us: int) -> News:
    """Read the files of `agent` that changed after the number `seen`, read at `seen_at_us`.

    Reads all files if the database is not `database`, or was restored from an older copy: then its
    numbers end below `seen`, or a number up to `seen` belongs to a row written after `seen_at_us`.
    What is committed while it is read may be among the files, and is read again.
    """
    values = {"agent": agent, "seen": seen}
    changed = (f"{_HEADS}changed > %(seen)s", values)
    ((found, last, written_at_us, now_us),), rows = look((_STATE, values), changed)
    is_all = found != database or last < seen or (written_at_us or 0) > seen_at_us
    if is_all and seen:
        seen = 0
        (rows,) = look((f"{_HEADS}true", values))
    if last == seen:
        return News(found, seen, seen_at_us, (), is_all)
    return News(found, last, now_us, tuple(_head(*each) for each in rows), is_all)


def read_contents(
    connection: Connected, agent: str, paths: Collection[str], most_bytes: int
) -> dict[str, Content]:
    """Read the first of `paths`, up to some TAKEN_BYTES; those that the team lacks are left out.

    The content of a file of more than `most_bytes` is None: no file of ours is as large, but
    another role may have written it.
    """
    kept = "CASE WHEN octet_length(content) <= %(most)s THEN content END"
    rows = connection.execute(
        "SELECT path, hash, kept FROM (SELECT path, hash, kept, sum(octet_length(kept))"
        ' OVER (ORDER BY path COLLATE "C") - coalesce(octet_length(kept), 0) AS before FROM'
        f" (SELECT path, {_HASH} AS hash, {kept} AS kept FROM mirrored"
        f" WHERE {_OWN} AND path = ANY(%(paths)s)) AS found) AS found"
        f" WHERE coalesce(before, 0) < {TAKEN_BYTES}",
        {"agent": agent, "paths": list(paths), "most": most_bytes},
    )
    return {path: (its_hash, text) for path, its_hash, text in rows}


def write_offers(
    connection: Connected, agent: str, offers: Collection[Offer], seen: int, seen_at_us: int
) -> tuple[int, int, list[TeamFile]]:
    """Write the offers whose `expected` still holds; `seen` is what this machine has read up to.

    Returns the new `seen` and `seen_at_us`, and the team's versions of the refused offers.
    """
    values: dict[str, Any] = {"agent": agent, "seen": seen}
    with connection.pipeline():
        puts = [connection.execute(_PUT, {**values, **asdict(each)}) for each in offers]
        # If all changes since `seen` are our own, they need not be read again: other writers wait.
        since = connection.execute(_SINCE, values)
    ((count, last, now_us),) = since
    values["paths"] = [
        each.path for each, put in zip(offers, puts, strict=True) if not put.rowcount
    ]
    refused = []
    if values["paths"]:
        rows = connection.execute(_HEADS + "path = ANY(%(paths)s)", values)
        refused = [_head(*each) for each in rows]
    if count and count == len(offers) - len(refused):
        seen, seen_at_us = last, now_us
    return seen, seen_at_us, refused


def _head(path: str, file_hash: str, written_by: str, written_at_ms: int) -> TeamFile:
    return TeamFile(path, file_hash, written_by, iso_utc(written_at_ms))
