"""Finds what may be wrong with the memories of a database, for `doctor`. Only reads."""

from __future__ import annotations

from collections import defaultdict

from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.memories.model import COLD_AFTER_MS
from memory_sidecar.memories.strength import STRENGTH_SQL, today

FADED = 0.1  # strength below which a memory counts as faded

_CURRENT = "standing = 'active' AND NOT superseded AND (expires_at IS NULL OR expires_at > :now)"


def broken_files(connection: Connection) -> list[tuple[str, str]]:
    """List path and problem of each memory whose file was only understood in part."""
    rows = "SELECT path, problem FROM memories WHERE problem <> '' ORDER BY path"
    return list(connection.execute(rows))


def duplicate_ids(connection: Connection) -> list[tuple[str, list[str]]]:
    """List each id that the frontmatter of several memories gives, with their paths.

    Atoms of different projects may have the same id.
    """
    paths: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for declared, directory, project, path in connection.execute(
        "SELECT declared_id, directory, project, path FROM memories"
        " WHERE declared_id <> '' ORDER BY declared_id, path",
    ):
        paths[declared, directory, project].append(path)
    return [(key[0], found) for key, found in paths.items() if len(found) > 1]


def contradictions(connection: Connection) -> list[tuple[str, str]]:
    """List the pairs of memories of which each says that it supersedes the other."""
    rows = connection.execute(
        "SELECT m.path, r.target FROM memories m JOIN memory_relations r ON r.memory = m.key"
        " JOIN memories o ON o.path = r.target"
        " JOIN memory_relations b ON b.memory = o.key AND b.target = m.path"
        " WHERE r.relation = 'supersedes' AND b.relation = 'supersedes' AND m.path < r.target"
        " ORDER BY m.path, r.target",
    )
    return list(rows)


def missing_successors(connection: Connection) -> list[tuple[str, str]]:
    """List the memories whose successor does not exist, with the path that they name."""
    rows = connection.execute(
        "SELECT m.path, r.target FROM memories m JOIN memory_relations r ON r.memory = m.key"
        " WHERE r.relation = 'superseded_by'"
        " AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.path = r.target)"
        " ORDER BY m.path, r.target",
    )
    return list(rows)


def list_challenged(connection: Connection) -> list[str]:
    """List the paths of the memories whose status is `challenged`."""
    return column(connection, "SELECT path FROM memories WHERE status = 'challenged' ORDER BY path")


def list_faded(connection: Connection, *, now: int) -> list[str]:
    """List the paths of current memories with a strength below FADED, the weakest first."""
    return column(
        connection,
        f"SELECT path FROM memories WHERE {_CURRENT} AND {STRENGTH_SQL} < {FADED}"
        f" ORDER BY {STRENGTH_SQL}, path",
        {"now": now, "today": today(now)},
    )


def list_cold(connection: Connection, *, now: int) -> list[str]:
    """List the paths of current memories that are two weeks old and were never read."""
    return column(
        connection,
        f"SELECT path FROM memories WHERE {_CURRENT} AND uses + refs = 0"
        " AND created_at < :before ORDER BY created_at, path",
        {"now": now, "before": now - COLD_AFTER_MS},
    )
