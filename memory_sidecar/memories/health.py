"""SQL for `doctor`: what may be wrong with the memories of a database, one text a row.

Bind `now` (epoch ms) and `today` (see `strength.today`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memory_sidecar.core import reasons
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.disk.atoms import COLD_AFTER
from memory_sidecar.memories.model import COLD_SQL, EXPIRED_SQL, SUCCESSOR_SQL, SUPERSEDED_SQL
from memory_sidecar.memories.strength import STRENGTH_SQL

FADED = 0.1  # strength below which a memory counts as faded

_CURRENT = f"NOT {SUPERSEDED_SQL} AND NOT {EXPIRED_SQL}"
_NOT_INDEXED = (
    "SELECT path || ': ' || reason FROM files INDEXED BY files_not_indexed"
    " WHERE status <> 'indexed' AND status"
)

FAULTS = (
    (
        "not read whole",
        "fix what the line says; all that could be read counts",
        "SELECT path || ': ' || problem FROM memories WHERE problem <> '' ORDER BY path",
    ),
    (
        "could not be read",
        "make them readable; they are tried again",
        f"{_NOT_INDEXED} = 'failed' ORDER BY source, path",
    ),
    (  # atoms of different projects may have the same id
        "ambiguous as an id",
        "give one of each another id",
        "SELECT declared_id || ': ' || group_concat(path, ', ' ORDER BY path) FROM memories"
        " WHERE declared_id <> '' GROUP BY declared_id, directory, project HAVING count(*) > 1"
        " ORDER BY declared_id, min(path)",
    ),
    (
        "superseded by one that is not there",
        "name another, or remove superseded_by",
        f"SELECT m.path || ' -> ' || r.target || coalesce(', but by ' || ({SUCCESSOR_SQL}), '')"
        " FROM memories m"
        " JOIN memory_relations r ON r.memory = m.key WHERE r.relation = 'superseded_by'"
        " AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.path = r.target)"
        # The user knows of one that was removed or pruned, and may restore it.
        " AND r.target NOT IN (SELECT value FROM json_each(:archived)) ORDER BY m.path, r.target",
    ),
)
"""What is wrong with the files of an agent, the hint, and the SQL that lists them.

Bind `archived`, a JSON array of the paths in the archive.
"""

_USUAL = "', '".join((reasons.UNFILLED, reasons.TEMPLATE, reasons.OWN_INDEX))

SKIPPED = (
    f"{_NOT_INDEXED} = 'skipped' AND reason NOT IN ('{_USUAL}')"
    " AND (source = :sessions) = :is_session ORDER BY source, path"
)
"""The SQL that lists the skipped files that should have been memories or sessions.

Bind `sessions`, the name of the source of sessions, and `is_session`, whether its files are meant.
"""


def count_unread(connection: Connection) -> int:
    """Count the files of memories and sessions that failed, or were skipped but for `_USUAL`."""
    unread = f"{_NOT_INDEXED} IN ('failed', 'skipped') AND reason NOT IN ('{_USUAL}')"
    return len(column(connection, unread))


def superseding_each_other(connection: Connection) -> list[str]:
    """List the memories that supersede each other in a ring."""
    older: dict[str, list[str]] = {}
    for path, target in connection.execute(
        "SELECT path, target FROM memories JOIN memory_relations ON memory = key"
        " WHERE relation = 'supersedes' AND target <> path"
    ):
        older.setdefault(path, []).append(target)
    return sorted(in_rings(older))


def in_rings(following: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the names that reach themselves through others, in one pass: Tarjan's algorithm.

    It walks a path to its end. The names of a ring stay on the path until all walks from the first
    of them have ended; those still on it then are known to reach each other.
    """
    first: dict[str, int] = {}  # the place of the earliest name on the path that each name reaches
    path: list[str] = []
    on_path: set[str] = set()
    for start in following:
        walks = [(start, len(path), iter(following[start]))] if start not in first else []
        while walks:
            name, place, left = walks[-1]
            if name not in first:
                first[name] = place
                path.append(name)
                on_path.add(name)
            for each in left:
                if each not in first:
                    walks.append((each, len(path), iter(following.get(each, ()))))
                    break
                if each in on_path:
                    first[name] = min(first[name], first[each])
            else:
                walks.pop()
                if first[name] < place:  # of a ring that began above
                    above = walks[-1][0]
                    first[above] = min(first[above], first[name])
                    continue
                ring = path[place:]
                del path[place:]
                on_path.difference_update(ring)
                yield from ring if len(ring) > 1 else ()


_PRUNE = "update, pin or remove them, or see `memory-sidecar prune --dry-run"

DOUBTS = (
    (
        "stale, hardly any strength left",
        f"{_PRUNE} --weaker-than {FADED} --agent {{agent}}`",
        f"SELECT path FROM memories WHERE {_CURRENT} AND {STRENGTH_SQL} < {FADED}"
        f" ORDER BY {STRENGTH_SQL}, path",
    ),
    (
        "cold, two weeks old and never read",
        f"{_PRUNE} --unused-for {COLD_AFTER.days}d --agent {{agent}}`",
        f"SELECT path FROM memories WHERE {_CURRENT} AND {COLD_SQL} AND NOT pinned"
        " ORDER BY created_at, path",
    ),
    (
        "contradicted, their status is challenged",
        "find out what holds, and update or remove them",
        "SELECT path FROM memories WHERE status = 'challenged' ORDER BY path",
    ),
    (
        "held several times, word for word",
        "keep one: a program that syncs may have made the others",
        "SELECT group_concat(path, ' = ' ORDER BY path) FROM memories"
        f" JOIN memory_contents ON memory = key WHERE {_CURRENT} AND content <> ''"
        " GROUP BY content HAVING count(*) > 1 ORDER BY min(path)",
    ),
)
"""What the user may want to update or prune, the hint, which names `{agent}`, and the SQL."""
