"""One agent's files in a team's database: read as they changed, written unless they did.

Whose they are is the role's that is logged in, but for what all share.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.times import iso_utc
from memory_sidecar.team.connection import Connected

_OWN: Final = (
    "owner = CASE WHEN %(agent)s = '" + SHARED + "' THEN ''::name ELSE session_user END"
    " AND agent = %(agent)s"
)
_HEADS = (
    f"SELECT path, hash, written_by, (extract(epoch FROM written_at) * 1000)::bigint FROM mirrored"
    f" WHERE {_OWN} AND "
)
_NOW_US: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_PUT = f"""
INSERT INTO mirrored (owner, agent, path, hash, content)
VALUES (CASE WHEN %(agent)s = '{SHARED}' THEN ''::name ELSE session_user END,
        %(agent)s, %(path)s, %(hash)s, %(content)s)
ON CONFLICT (owner, agent, path) DO UPDATE SET hash = excluded.hash, content = excluded.content
WHERE mirrored.hash IN (%(expected)s, excluded.hash)
"""


@dataclass(frozen=True, slots=True)
class TeamFile:
    """A file as the team has it."""

    path: str
    hash: str  # "" where it was removed
    written_by: str  # the role
    written_at: str  # ISO 8601 in UTC


@dataclass(frozen=True, slots=True)
class News:
    """What changed since a number was seen."""

    database: str  # which one it is: numbers of another mean nothing
    seen: int  # the number to ask from the next time
    seen_at_us: int  # when that was, by the server's clock
    heads: tuple[TeamFile, ...]
    is_all: bool  # of the team's files: it has no others


@dataclass(frozen=True, slots=True)
class Offer:
    """A file to be written to the team, if the team still has what was `expected`."""

    path: str
    hash: str
    content: str | None  # None removes it
    expected: str


def read_news(connection: Connected, agent: str, database: str, seen: int, seen_at_us: int) -> News:
    """What changed of the files of `agent` since `seen`, which was at `seen_at_us`.

    All of them in another `database`, and in one restored from an older copy: its numbers end
    below `seen`, or it has given some of those again, to what was written later than they were.
    """
    row = connection.execute(
        "SELECT (SELECT value FROM identity WHERE key = 'mirror'),"
        f" (SELECT coalesce(max(changed), 0) FROM mirrored WHERE {_OWN}),"
        " (SELECT (extract(epoch FROM written_at) * 1000000)::bigint FROM mirrored"
        f" WHERE {_OWN} AND changed <= %(seen)s ORDER BY changed DESC LIMIT 1), {_NOW_US}",
        {"agent": agent, "seen": seen},
    ).fetchone()
    assert row is not None
    found, last, written_at_us, now_us = row
    is_all = found != database or last < seen or (written_at_us or 0) > seen_at_us
    if is_all:
        seen = 0
    if last == seen:
        return News(found, seen, seen_at_us, (), is_all)
    rows = connection.execute(_HEADS + "changed > %(seen)s", {"agent": agent, "seen": seen})
    return News(found, last, now_us, tuple(_head(*each) for each in rows), is_all)


def read_contents(connection: Connected, agent: str, paths: Collection[str]) -> dict[str, str]:
    """The contents of those of `paths` that the team has now, by path."""
    rows = connection.execute(
        f"SELECT path, content FROM mirrored WHERE {_OWN} AND path = ANY(%(paths)s)"
        " AND content IS NOT NULL",
        {"agent": agent, "paths": list(paths)},
    )
    return dict(rows.fetchall())


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of offers."""

    seen: int  # the number to ask from the next time
    seen_at_us: int
    refused: tuple[TeamFile, ...]  # what the team has of those that others have changed meanwhile


def write_offers(
    connection: Connected, agent: str, offers: Collection[Offer], seen: int, seen_at_us: int
) -> Accepted:
    """Write what may be written, for who has `seen` all up to a number."""
    refused = []
    for each in offers:
        values = {
            "agent": agent,
            "path": each.path,
            "hash": each.hash,
            "content": each.content,
            "expected": each.expected,
        }
        if not connection.execute(_PUT, values).rowcount:
            found = connection.execute(_HEADS + "path = %(path)s", values).fetchone()
            assert found is not None
            refused.append(_head(*found))
    # Writing keeps others from that: where nothing else is new, our own need not be read again.
    row = connection.execute(
        f"SELECT count(*), max(changed), {_NOW_US} FROM mirrored"
        f" WHERE {_OWN} AND changed > %(seen)s",
        {"agent": agent, "seen": seen},
    ).fetchone()
    assert row is not None
    count, last, now_us = row
    if count and count == len(offers) - len(refused):
        seen, seen_at_us = last, now_us
    return Accepted(seen, seen_at_us, tuple(refused))


def _head(path: str, file_hash: str, written_by: str, written_at_ms: int) -> TeamFile:
    return TeamFile(path, file_hash, written_by, iso_utc(written_at_ms))
