"""Reads memories by what they are, not by what they say: filters, order, one by its path.

Every list is ordered down to the path, so that it is the same after the database was made again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from memory_sidecar.core.sqlite import Connection, integers
from memory_sidecar.index.vectors import Ids
from memory_sidecar.memories.model import (
    COLD_AFTER_MS,
    HOT_USES,
    Memory,
    MemoryFilter,
    MemoryList,
    Relation,
    Sort,
    StoredMemory,
)
from memory_sidecar.memories.strength import STRENGTH_ORDER_SQL, STRENGTH_SQL, today


def list_memories(connection: Connection, wanted: MemoryList, *, now: int) -> list[StoredMemory]:
    """The memories that satisfy the filter, in the order asked for, equal ones by path."""
    condition, values = _condition(wanted.filter, now)
    if wanted.without_pages:
        condition += " AND kind <> 'page'"
    direction = "DESC" if wanted.is_descending else "ASC"
    limit = -1 if wanted.limit is None else wanted.limit
    # Keys alone: what else is shown of a memory would be read of all, to be sorted along.
    keys = integers(
        connection.execute(
            f"SELECT key FROM memories WHERE {condition}"
            f" ORDER BY {_ORDER[wanted.sort]} {direction}, path LIMIT :limit OFFSET :offset",
            values | {"limit": limit, "offset": wanted.offset},
        )
    )
    found = read_memories(connection, keys, now=now)
    return [found[key] for key in keys]


def in_order(
    found: Sequence[tuple[str, StoredMemory]], wanted: MemoryList
) -> list[tuple[str, StoredMemory]]:
    """Memories of several databases as one list, each with the name of its agent."""
    by_path = sorted(found, key=lambda row: (row[1].memory.path, row[0]))
    value = _SORTED_BY[wanted.sort]
    return sorted(by_path, key=lambda row: value(row[1]), reverse=wanted.is_descending)


def count_memories(connection: Connection, wanted: MemoryFilter, *, now: int) -> int:
    """How many memories satisfy the filter."""
    condition, values = _condition(wanted, now)
    counted: Any = connection.execute(
        f"SELECT count(*) FROM memories WHERE {condition}", values
    ).get
    return int(counted)


def read_memories(
    connection: Connection, keys: Sequence[int], *, now: int
) -> dict[int, StoredMemory]:
    """The memories with these keys; those that are gone are left out."""
    condition = "key IN (SELECT value FROM json_each(:keys))"
    values = {"keys": json.dumps(list(keys)), "now": now, "today": today(now)}
    return {stored.key: stored for stored in _read(connection, condition, values)}


def find_memory(connection: Connection, path: str, *, now: int) -> StoredMemory | None:
    """The memory at `path`, with or without its `.md`."""
    condition = "path IN (:path, :path || '.md') ORDER BY path <> :path LIMIT 1"
    values = {"path": path, "now": now, "today": today(now)}
    return next(iter(_read(connection, condition, values)), None)


def find_atoms(connection: Connection, name: str, *, now: int) -> list[StoredMemory]:
    """The atoms called `EXP-042`, or the one of a project: `shop/EXP-042`. By path."""
    project, _, atom_id = name.rpartition("/")
    condition = "kind <> '' AND atom_id = :id AND :project IN ('', project) ORDER BY path"
    values = {"id": atom_id, "project": project, "now": now, "today": today(now)}
    return _read(connection, condition, values)


@dataclass(frozen=True, slots=True)
class ChosenChunks:
    """Which chunks belong to memories that satisfy a filter, by sorted ids."""

    only: Ids | None  # `None`: all but those that follow
    never: Ids


def chosen_chunks(connection: Connection, wanted: MemoryFilter, *, now: int) -> ChosenChunks:
    """The chunks of memories that satisfy `wanted`; where few do not, by naming those."""
    condition, values = _condition(wanted, now)
    none = np.empty(0, np.int64)
    if _restricts(wanted):
        return ChosenChunks(_chunks_of(connection, condition, values), none)
    rare = ("expires_at <= :now", "standing <> 'active' OR superseded")  # each has an index
    hidden = " UNION ALL ".join(
        f"SELECT key FROM memories WHERE ({each}) AND NOT ({condition})" for each in rare
    )
    return ChosenChunks(None, _chunks_of(connection, f"key IN ({hidden})", values))


def _chunks_of(connection: Connection, condition: str, values: dict[str, Any]) -> Ids:
    # One text is read in a tenth of the time that as many rows take.
    listed: Any = connection.execute(
        "SELECT group_concat(id) FROM memory_chunks WHERE memory IN"
        f" (SELECT key FROM memories WHERE {condition})",
        values,
    ).get
    return np.sort(np.fromstring(listed, np.int64, sep=",")) if listed else np.empty(0, np.int64)


# Filters

_CONDITIONS = {
    # '0' follows '/': the range holds what begins with the category and a slash. Asked of the few
    # categories, and then of their memories, since an index serves no OR in one go.
    "category": "category IN (SELECT path FROM categories WHERE path = :category"
    " OR path > :category || '/' AND path < :category || '0')",
    "tags": "key IN (SELECT memory FROM memory_tags"
    " WHERE tag IN (SELECT value FROM json_each(:tags)))",
    "updated_after": "updated_at >= :updated_after",
    "updated_before": "+updated_at < :updated_before",
    "created_after": "created_at >= :created_after",
    "created_before": "+created_at < :created_before",
    "source": "source = :source",
    # What is compared with '' is so for the partial index.
    "statuses": "status <> '' AND status IN (SELECT value FROM json_each(:statuses))",
    "kinds": "kind <> '' AND kind IN (SELECT value FROM json_each(:kinds))",
    "project": "project <> '' AND project = :project",
    "hot": f"key IN (SELECT key FROM memories WHERE uses + refs >= {HOT_USES})",
    "cold": f"+(uses + refs) = 0 AND +created_at < :now - {COLD_AFTER_MS}",
}
"""By field of `MemoryFilter`, what a row of `memories` must satisfy when that field is set.

A plus keeps an index out of it that nearly all rows would come from, one by one: to go over the
table takes a third of that. What few rows satisfy is a list of keys or finds its index.
"""

_NOT_EXPIRED = "expires_at IS NULL OR expires_at > :now"
_NOT_SUPERSEDED = "kind <> '' OR standing = 'active' AND NOT superseded"


def _restricts(wanted: MemoryFilter) -> bool:
    return any(getattr(wanted, name) not in _UNSET for name in _CONDITIONS)


_UNSET = (None, "", (), False)


def _condition(wanted: MemoryFilter, now: int) -> tuple[str, dict[str, Any]]:
    """A condition over `memories`, and its values by name."""
    values: dict[str, Any] = {"now": now, "today": today(now)}
    parts = ["TRUE"]
    for field in fields(wanted):
        value = getattr(wanted, field.name)
        if field.name in _CONDITIONS and value not in _UNSET:
            parts.append(f"({_CONDITIONS[field.name]})")
            values[field.name] = json.dumps(value) if isinstance(value, tuple) else value
    if not wanted.with_expired:
        parts.append(f"({_NOT_EXPIRED})")
    if not (wanted.with_superseded or wanted.statuses):
        parts.append(f"({_NOT_SUPERSEDED})")
    return " AND ".join(parts), values


# Rows

_SORTED_BY: dict[Sort, Callable[[StoredMemory], int | float | str]] = {
    Sort.UPDATED: lambda stored: stored.memory.updated_at,
    Sort.CREATED: lambda stored: stored.memory.created_at,
    Sort.TOKENS: lambda stored: stored.memory.token_estimate,
    Sort.STRENGTH: lambda stored: stored.strength,
    Sort.REFS: lambda stored: stored.uses + stored.memory.refs,
    Sort.PATH: lambda stored: stored.memory.path,
}

_ORDER = {
    Sort.UPDATED: "updated_at",
    Sort.CREATED: "created_at",
    Sort.TOKENS: "token_estimate",
    Sort.STRENGTH: STRENGTH_ORDER_SQL,
    # The plus keeps the index out of it: where nobody read anything, it orders nothing.
    Sort.REFS: "+(uses + refs)",
    Sort.PATH: "path",
}

_COLUMNS = {
    "key": "key",
    "memory_id": "id",
    "path": "path",
    "file_hash": "hash",
    "category": "category",
    "content": "content",
    "token_estimate": "token_estimate",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "tags": "tags",
    "source": "source",
    "summary": "coalesce(summary, '')",
    "expires_at": "expires_at",
    "status": "status",
    "standing": "standing",
    "is_pinned": "pinned",
    "problem": "problem",
    "declared_id": "declared_id",
    "kind": "kind",
    "atom_id": "atom_id",
    "project": "project",
    "refs": "refs",
    "last_ref": "last_ref",
    "directory": "directory",
    "file": "file",
    "strength": STRENGTH_SQL,
    "uses": "uses",
    "used_at": "used_at",
    "is_superseded": "standing <> 'active' OR superseded",
    "is_expired": "expires_at IS NOT NULL AND expires_at <= :now",
}
"""By field of `StoredMemory` and its `Memory`, what it is in SQL."""

_STORED = {field.name for field in fields(StoredMemory)}


def _read(connection: Connection, condition: str, values: dict[str, Any]) -> list[StoredMemory]:
    rows: list[Any] = connection.execute(
        f"SELECT {', '.join(_COLUMNS.values())} FROM memories"
        f" JOIN memory_contents ON memory = key WHERE {condition}",
        values,
    ).fetchall()
    keys = json.dumps([row[0] for row in rows])
    relations: dict[int, list[tuple[Relation, str]]] = defaultdict(list)
    related: list[Any] = connection.execute(
        "SELECT memory, relation, target FROM memory_relations"
        " WHERE memory IN (SELECT value FROM json_each(?)) ORDER BY memory, relation, target",
        (keys,),
    ).fetchall()
    for key, relation, target in related:
        relations[key].append((Relation(relation), target))
    return [_stored(row, tuple(relations.get(row[0], ()))) for row in rows]


def _stored(row: Sequence[Any], relations: tuple[tuple[Relation, str], ...]) -> StoredMemory:
    columns: dict[str, Any] = dict(zip(_COLUMNS, row, strict=True))
    columns["tags"] = tuple(json.loads(columns["tags"]))
    for name in ("is_pinned", "is_superseded", "is_expired"):
        columns[name] = bool(columns[name])
    stored = {name: columns.pop(name) for name in list(columns) if name in _STORED}
    return StoredMemory(memory=Memory(**columns, relations=relations), **stored)
