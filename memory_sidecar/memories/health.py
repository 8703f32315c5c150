"""SQL for `doctor`: what may be wrong with the memories of a database, one text a row.

Bind `now` (epoch ms) and `today` (see `strength.today`).
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from memory_sidecar.core import reasons
from memory_sidecar.core.sqlite import Connection
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
        "cannot be read as they should be",
        "fix them; what could be read of them counts",
        "SELECT path || ': ' || problem FROM memories WHERE problem <> '' ORDER BY path",
    ),
    (
        "could not be read",
        "make them readable; they are tried again",
        f"{_NOT_INDEXED} = 'failed' ORDER BY source, path",
    ),
    (  # atoms of different projects may have the same id
        "give an id that is given twice",
        "give one of each another id",
        "SELECT declared_id || ': ' || group_concat(path, ', ' ORDER BY path) FROM memories"
        " WHERE declared_id <> '' GROUP BY declared_id, directory, project HAVING count(*) > 1"
        " ORDER BY declared_id, min(path)",
    ),
    (
        "are superseded by one that is not there",
        "name another, or remove superseded_by",
        f"SELECT m.path || ' -> ' || r.target || coalesce(', but by ' || ({SUCCESSOR_SQL}), '')"
        " FROM memories m"
        " JOIN memory_relations r ON r.memory = m.key WHERE r.relation = 'superseded_by'"
        " AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.path = r.target)"
        # Of one that was removed or pruned the user knows, and may bring it back.
        " AND r.target NOT IN (SELECT value FROM json_each(:archived)) ORDER BY m.path, r.target",
    ),
)
"""What is wrong with the files of an agent, the hint, and the SQL that lists them.

Bind `archived`, a JSON array of the paths in the archive.
"""

_USUAL = "', '".join((reasons.UNFILLED, reasons.OWN_INDEX))

SKIPPED = (
    f"{_NOT_INDEXED} = 'skipped' AND reason NOT IN ('{_USUAL}')"
    " AND (source = :sessions) = :is_session ORDER BY source, path"
)
"""The SQL that lists the files that are no memories, or no sessions, and were to be such.

Bind `sessions`, the name of that source, and `is_session`, whether its files are meant.
"""


def superseding_each_other(connection: Connection) -> list[str]:
    """List the memories that supersede themselves by way of others, which is a ring.

    Of rings that share a step, one at least: without that step, the others are found.
    """
    older: dict[str, set[str]] = {}
    for path, target in connection.execute(
        "SELECT path, target FROM memories JOIN memory_relations ON memory = key"
        " WHERE relation = 'supersedes' AND target <> path"
    ):
        older.setdefault(path, set()).add(target)
    found: set[str] = set()
    while True:
        try:
            TopologicalSorter(older).prepare()
        except CycleError as error:
            ring = error.args[1]
            found.update(ring)
            older[ring[1]].remove(ring[0])
        else:
            return sorted(found)


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
)
"""What the user may want to update or prune, the hint, which names `{agent}`, and the SQL."""
