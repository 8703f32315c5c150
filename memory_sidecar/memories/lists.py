"""Reads memories by their properties, not by their text: filtered and sorted, or one by its path.

Every order ends with the path, so that a list is the same after a rebuild of the database.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from memory_sidecar.core.groups import by_key
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.roots import IsDeleted, first_present
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.asking import Attempt
from memory_sidecar.index.codes import Ids
from memory_sidecar.memories.files import tags_by_key, title_of
from memory_sidecar.memories.model import (
    COLD_SQL,
    EXPIRED_SQL,
    HOT_SQL,
    SUCCESSOR_SQL,
    SUPERSEDED_SQL,
    MemoryFilter,
    MemoryList,
    Relation,
    Sort,
    StoredMemory,
    parse_address,
)
from memory_sidecar.memories.names import is_in
from memory_sidecar.memories.results import SUPERSEDED, Memory
from memory_sidecar.memories.strength import STRENGTH_ORDER_SQL, STRENGTH_SQL, today

Place = tuple[bool, Any, str, int]
"""Whether a memory is of another project than preferred, its sort value, its path, and its key."""


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """The memories of an agent in one commit of its database."""

    agent: str
    connection: Connection
    now: int  # epoch ms: decides which are expired, and how strong they are
    is_deleted: IsDeleted

    @classmethod
    def of(
        cls, agent: AgentDatabase, connection: Connection, attempt: Attempt | None = None
    ) -> MemoryRows:
        """Return the memories of `agent` that `connection` reads, as they are now."""
        gone = agent.deletions()
        if attempt is not None:
            gone = attempt.noting(agent.data, gone)
        return cls(agent.name, connection, agent.clock(), gone)

    def places(self, wanted: MemoryList) -> list[Place]:
        """Select the memories that `wanted` describes up to the end of its page: their places only.

        `read` reads the rest of one page, because reading all of it would slow down the sort here.
        If the page is not the first, memories whose files are gone do not count: it would begin too
        early.
        """
        condition, values = filter_sql(wanted.filter, self)
        if wanted.without_pages:
            condition += " AND kind <> 'page'"
        direction = "DESC" if wanted.is_descending else "ASC"
        elsewhere = "project NOT IN ('', :prefers)" if wanted.prefers else "FALSE"
        first = "elsewhere, " if wanted.prefers else ""

        def fetch(count: int) -> list[Place]:
            rows = self.connection.execute(
                f"SELECT {elsewhere} AS elsewhere, {_ORDER[wanted.sort]} AS place, path, key"
                f" FROM memories WHERE {condition}"
                f" ORDER BY {first}place {direction}, path LIMIT :count",
                values | {"count": count, "prefers": wanted.prefers},
            )
            return list(rows)

        if not wanted.offset:
            return fetch(-1 if wanted.limit is None else wanted.limit)
        return first_present(fetch, self._is_present, wanted.stop)

    def _is_present(self, place: Place) -> bool:
        return not self.is_deleted(*parse_address(place[2]))

    def read(self, keys: Sequence[int]) -> dict[int, StoredMemory]:
        """Read the memories with these keys, by key, without those whose files are gone."""
        found = self._read("key IN (SELECT value FROM json_each(:keys))", keys=json.dumps([*keys]))
        return {stored.key: stored for stored in found}

    def find(self, path: str) -> StoredMemory | None:
        """Read the memory at `path`, given with or without its `.md`; None if there is none."""
        condition = "path IN (:path, :path || '.md') ORDER BY path <> :path LIMIT 1"
        return next(iter(self._read(condition, path=path)), None)

    def find_atoms(self, name: str) -> list[StoredMemory]:
        """Read the atoms with the id `EXP-042`, or that of one project: `shop/EXP-042`. By path."""
        project, _, atom_id = name.rpartition("/")
        condition = "kind <> '' AND atom_id = :id AND :project IN ('', project) ORDER BY path"
        return self._read(condition, id=atom_id, project=project)

    def _read(self, condition: str, **values: str) -> list[StoredMemory]:
        rows = self.connection.execute(
            f"SELECT {', '.join(_READ.values())} FROM memories"
            f" JOIN memory_contents ON memory = key WHERE {condition}",
            values | {"now": self.now, "today": today(self.now)},
        )
        known = (dict(zip(_READ, row, strict=True)) for row in rows)
        found = [each for each in known if not self.is_deleted(each["directory"], each["file"])]
        relations = _relations(self.connection, [each["key"] for each in found])
        return [_make_stored(each, self.agent, relations.get(each["key"], {})) for each in found]


AskEach = Callable[[Callable[[MemoryRows], Any], Collection[str] | None], Iterable[Any]]
"""Asks each of several databases, and returns the answers of those that can be read.

Given the names of agents, it need not ask those of others.
"""


def asking(*databases: MemoryRows) -> AskEach:
    """Return the function that asks each of `databases`, which are open."""
    return lambda ask, _: [ask(rows) for rows in databases]


def list_memories(ask_each: AskEach, wanted: MemoryList) -> list[StoredMemory]:
    """List the memories of several databases that `wanted` describes, in its order, then by path.

    The databases that a page's memories come from are not known before, so each is asked for the
    places of all memories up to the end of the page. A memory that is gone, or whose file is gone,
    is left out, and the next one listed instead.
    """
    found = ask_each(lambda rows: [(*place, rows.agent) for place in rows.places(wanted)], None)
    places = sorted(chain(*found), key=itemgetter(2, 4))
    places.sort(key=itemgetter(1), reverse=wanted.is_descending)
    places.sort(key=itemgetter(0))
    page = places[wanted.offset : wanted.stop]
    keys = by_key((agent, key) for *_, key, agent in page)
    read = dict(ask_each(lambda rows: (rows.agent, rows.read(keys.get(rows.agent, []))), keys))
    listed = [read[agent][key] for *_, key, agent in page if key in read.get(agent, {})]
    if (gone := len(page) - len(listed)) and len(page) == wanted.limit:
        return list_memories(ask_each, replace(wanted, limit=wanted.limit + gone))[: wanted.limit]
    return listed


@dataclass(frozen=True, slots=True)
class ChosenChunks:
    """The chunks of the memories that satisfy a filter, as sorted ids to include or to exclude."""

    only: Ids | None  # `None`: all chunks except `never`
    never: Ids


def chosen_chunks(rows: MemoryRows, wanted: MemoryFilter) -> ChosenChunks:
    """Choose the chunks of memories that satisfy `wanted`.

    If it only hides outdated memories, which are few, their chunks are listed as `never`.
    """
    condition, values = filter_sql(wanted, rows)
    none = np.empty(0, np.int64)
    # `wanted` does more than hide outdated memories.
    if any(_is_set(getattr(wanted, name)) for name in _CONDITIONS):
        return ChosenChunks(_chunks_of(rows.connection, condition, values), none)
    return ChosenChunks(
        None, _chunks_of(rows.connection, f"key IN ({_outdated(condition)})", values)
    )


def chunks_written(rows: MemoryRows, start: int, end: int) -> Ids:
    """Return the chunks of the memories stored or changed from `start` to `end`, epoch ms."""
    within = (
        "created_at >= :start AND created_at < :end OR updated_at >= :start AND updated_at < :end"
    )
    return _chunks_of(rows.connection, within, {"start": start, "end": end})


def count_outdated(rows: MemoryRows) -> int:
    """Count the expired and superseded memories, which lists and searches leave out."""
    condition, values = filter_sql(MemoryFilter(), rows)
    found: Any = rows.connection.execute(f"SELECT count(*) FROM ({_outdated(condition)})", values)
    return int(found.get)


def _outdated(condition: str) -> str:
    """Select the keys of outdated memories that do not satisfy `condition`."""
    rare = (EXPIRED_SQL, SUPERSEDED_SQL)  # each has an index
    return " UNION ".join(
        f"SELECT key FROM memories WHERE {each} AND NOT ({condition})" for each in rare
    )


def _chunks_of(connection: Connection, condition: str, values: dict[str, Any]) -> Ids:
    # Reading one concatenated text takes a tenth of the time of reading as many rows.
    listed: Any = connection.execute(
        "SELECT group_concat(id) FROM memory_chunks WHERE memory IN"
        f" (SELECT key FROM memories WHERE {condition})",
        values,
    ).get
    return np.sort(np.fromstring(listed, np.int64, sep=",")) if listed else np.empty(0, np.int64)


# Filters

_CONDITIONS = {
    "category": "category IN (SELECT value FROM json_each(:category))",
    "tags": "key IN (SELECT memory FROM memory_tags"
    " WHERE tag IN (SELECT value FROM json_each(:tags)))",
    "updated_after": "updated_at >= :updated_after",
    "updated_before": "+updated_at < :updated_before",
    "created_after": "created_at >= :created_after",
    "created_before": "+created_at < :created_before",
    "source": "source = :source",
    # Compared with '' as well, so that SQLite may use the partial index.
    "statuses": "status <> '' AND status IN (SELECT value FROM json_each(:statuses))",
    "kinds": "kind <> '' AND kind IN (SELECT value FROM json_each(:kinds))",
    "project": "project <> '' AND project = :project",
    "hot": f"key IN (SELECT key FROM memories WHERE {HOT_SQL})",
    "stronger_than": f"{STRENGTH_SQL} >= :stronger_than",
    "weaker_than": f"{STRENGTH_SQL} < :weaker_than",
    "cold": COLD_SQL,
}
"""By field of `MemoryFilter`, the SQL condition on a row of `memories` when that field is set.

A `+` before a column is there for the same reason as in `model`. A condition that few rows satisfy
has an index, or is a list of keys.
"""


def _is_set(value: object) -> bool:
    """Whether the value of a field of `MemoryFilter` restricts it, as the time 0 does."""
    return value is not False and value not in (None, "", ())


def filter_sql(wanted: MemoryFilter, rows: MemoryRows) -> tuple[str, dict[str, Any]]:
    """Translate `wanted` to a condition on the `memories` of `rows`, and its values by name."""
    values: dict[str, Any] = {"now": rows.now, "today": today(rows.now)}
    parts = ["TRUE"]
    for name in (each.name for each in fields(wanted)):
        value = getattr(wanted, name)
        if name in _CONDITIONS and _is_set(value):
            condition = _CONDITIONS[name]
            if name == "statuses":
                value = tuple(map(str.lower, value))
                if SUPERSEDED in value:
                    condition += " OR superseded"  # it has that status, whatever its page says
            if name == "category":  # they are few
                known = column(rows.connection, "SELECT path FROM categories")
                value = tuple(each for each in known if is_in(each, value))
            parts.append(f"({condition})")
            values[name] = json.dumps(value) if isinstance(value, tuple) else value
    if not wanted.with_expired:
        parts.append(f"NOT {EXPIRED_SQL}")
    if not (wanted.with_superseded or SUPERSEDED in map(str.lower, wanted.statuses)):
        hidden = "superseded" if wanted.statuses else SUPERSEDED_SQL
        parts.append(f"(kind <> '' OR NOT {hidden})")
    return " AND ".join(parts), values


# Rows

_ORDER = {
    Sort.UPDATED: "updated_at",
    Sort.CREATED: "created_at",
    Sort.TOKENS: "token_estimate",
    Sort.STRENGTH: STRENGTH_ORDER_SQL,
    # The plus keeps SQLite from an index that is of no use while no memory was read.
    Sort.READS: "+(uses + refs)",
    Sort.PATH: "path",
}

_EXPRESSIONS = {
    "tokens": "token_estimate",
    "strength": STRENGTH_SQL,
    "superseded": SUPERSEDED_SQL,
    "expired": EXPIRED_SQL,
    "touched_at": "max(created_at, updated_at, used_at)",
}
"""The SQL of the fields of `Memory` and `StoredMemory` that are not the column of their name."""

_MADE_HERE = ("agent", "shared", "title", "stored_at", "tag_list", "relations", "memory")
_READ = {
    each.name: _EXPRESSIONS.get(each.name, each.name)
    for each in (*fields(StoredMemory), *fields(Memory))
    if each.name not in _MADE_HERE
}
_MOMENTS = ("created_at", "updated_at", "expires_at")
_FLAGS = ("pinned", "superseded", "expired")
_OWN = [each.name for each in fields(StoredMemory) if each.name != "memory"]


def _relations(connection: Connection, keys: Sequence[int]) -> dict[int, dict[str, list[str]]]:
    """Read the targets of the memories `keys`, by key and relation.

    A successor that is gone, as after a rename, is replaced by one that says it supersedes the
    memory.
    """
    named: dict[int, dict[str, list[str]]] = defaultdict(dict)
    rows = connection.execute(
        "SELECT DISTINCT memory, relation, CASE WHEN relation = ?2"
        " AND NOT EXISTS (SELECT 1 FROM memories WHERE path = r.target)"
        f" THEN coalesce(({SUCCESSOR_SQL}), target) ELSE target END"
        " FROM memory_relations r WHERE memory IN (SELECT value FROM json_each(?1))"
        " ORDER BY 1, 2, 3",
        (json.dumps(keys), Relation.SUPERSEDED_BY.value),
    )
    for key, relation, target in rows:
        named[key].setdefault(relation, []).append(target)
    return named


def _make_stored(row: dict[str, Any], agent: str, relations: dict[str, list[str]]) -> StoredMemory:
    """Make a memory of `row`, which is changed in place: copies of thousands would take long."""
    own = {name: row[name] if name in _SHOWN_FIELDS else row.pop(name) for name in _OWN}
    tags = tuple(json.loads(row["tags"]))
    for name in _FLAGS:
        row[name] = bool(row[name])
    for name in _MOMENTS:
        row[name] = None if row[name] is None else iso_utc(row[name])
    row.update(
        agent=agent,
        shared=agent == SHARED,
        title=title_of(row["summary"], row["content"]),
        stored_at=row["created_at"],
        tags=tags_by_key(tags),
        tag_list=tags,
        strength=round(row["strength"], 4),
        relations=relations,
    )
    return StoredMemory(memory=Memory(**row), **own)


_SHOWN_FIELDS = {each.name for each in fields(Memory)}
