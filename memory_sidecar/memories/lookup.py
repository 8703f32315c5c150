"""SQL questions about memories, for searches and for changes. Only reads.

A change treats the answers as candidates, and reads the files, which are the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from memory_sidecar.core.model import estimate_tokens
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.short_names import nearest_names
from memory_sidecar.core.sqlite import Connection, column, rows_at_once
from memory_sidecar.index.codes import Ids
from memory_sidecar.memories.files import SESSION_LINE, statement_of
from memory_sidecar.memories.lists import AskEach, MemoryRows, filter_sql
from memory_sidecar.memories.model import (
    EXPIRED_SQL,
    SUPERSEDED_SQL,
    MemoryFilter,
    Relation,
    names_in,
    parse_address,
)
from memory_sidecar.memories.names import MEMORY_SUFFIX, folded, with_parents
from memory_sidecar.memories.results import Category
from memory_sidecar.memories.store import MemoryChunk
from memory_sidecar.memories.strength import STRENGTH_SQL, today

T = TypeVar("T")

MAX_COMPARED = 5000  # paths that are compared with an unknown one: a tenth of a second
MIN_LIKENESS = 0.8  # of letters in the same order, as `difflib` measures it
MAX_LIKE = 3


def memories_with_content(connection: Connection, content: str) -> list[str]:
    """List the paths of the memories whose content is `content`."""
    return column(
        connection,
        "SELECT path FROM memories JOIN memory_contents ON memory = key"
        " WHERE token_estimate = ? AND content = ? ORDER BY path",
        (estimate_tokens(content), content),
    )


def files_with_content(connection: Connection, directory: str, content: str) -> list[str]:
    """List the files in `directory` whose content is `content`, by path."""
    return _files_in(directory, memories_with_content(connection, content))


def files_linking_to(connection: Connection, directory: str, file: str) -> list[str]:
    """List the files of `directory` whose frontmatter names `file`, in any of its ways."""
    return column(
        connection,
        "SELECT DISTINCT file FROM memories JOIN memory_relations ON memory = key"
        " WHERE directory = ? AND target IN (SELECT value FROM json_each(?)) ORDER BY file",
        (directory, json.dumps([*names_in(directory, file, file)])),
    )


def files_missed(connection: Connection, directory: str, moving: str = "") -> list[str]:
    """List the missing files of `directory` that a page names as its older or newer version.

    A memory that gets such a name would be hidden by that page, or hide it. Pages that the memory
    `moving` names do not count, because a killed move of it may have changed them already.
    """
    targets = column(
        connection,
        "SELECT DISTINCT target FROM memory_relations WHERE relation IN (:older, :newer)"
        " AND target NOT IN (SELECT path FROM memories) AND memory NOT IN"
        " (SELECT n.key FROM memories m JOIN memory_relations r ON r.memory = m.key"
        " JOIN memories n ON n.path = r.target"
        " WHERE m.directory = :directory AND m.file = :moving)",
        {
            "older": Relation.SUPERSEDES,
            "newer": Relation.SUPERSEDED_BY,
            "directory": directory,
            "moving": moving,
        },
    )
    return _files_in(directory, targets)


def _files_in(directory: str, paths: Iterable[str]) -> list[str]:
    return [file for name, file in map(parse_address, paths) if name == directory]


def memories_by_statement(connection: Connection) -> dict[str, str]:
    """Return the paths of the memories that name their session's subject, by their statement."""
    rows: list[Any] = connection.execute(
        "SELECT content, path FROM memories JOIN memory_contents ON memory = key"
        " WHERE instr(content, ?) ORDER BY path DESC",
        (SESSION_LINE,),
    ).fetchall()
    return {statement_of(content): path for content, path in rows}


def memories_with_evidence(connection: Connection, evidence: str) -> list[str]:
    """List the paths of the memories whose evidence includes `evidence`."""
    return column(
        connection,
        "SELECT path FROM memories JOIN memory_relations ON memory = key"
        " WHERE relation = ? AND target = ? ORDER BY path",
        (Relation.EVIDENCE, evidence),
    )


def paths_there(connection: Connection, paths: Collection[str]) -> list[str]:
    """List those of `paths` that are memories."""
    sql = "SELECT path FROM memories WHERE path IN (SELECT value FROM json_each(?))"
    return column(connection, sql, (json.dumps(list(paths)),))


def paths_beginning(connection: Connection, first: str) -> list[str]:
    """List up to 20 paths that begin with `first`: enough to tell whether only one does."""
    return column(
        connection,
        "SELECT path FROM memories WHERE path >= :first AND path < :first || char(0x10ffff)"
        " ORDER BY path LIMIT 20",
        {"first": first},
    )


def paths_like(connection: Connection, path: str) -> list[str]:
    """List up to MAX_LIKE paths whose file name begins with that of `path`, else similar paths."""
    paths = column(
        connection, f"SELECT path FROM memories ORDER BY updated_at DESC LIMIT {MAX_COMPARED}"
    )
    name = _stem(path).lower()
    same = [each for each in paths if name and _stem(each).lower().startswith(name)]
    same.sort(key=lambda each: len(_stem(each)))
    return same[:MAX_LIKE] or get_close_matches(path, paths, n=MAX_LIKE, cutoff=MIN_LIKENESS)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(MEMORY_SUFFIX)


def list_categories(rows: MemoryRows) -> list[Category]:
    """List all categories by path, with counts of the memories that `list` shows of each.

    Those are counted that are in it, and those in and below it.
    """
    condition, values = filter_sql(MemoryFilter(), rows)
    of_it = f"FROM memories WHERE category = categories.path AND {condition}"
    found: list[Any] = rows.connection.execute(
        "SELECT path, parent_path, coalesce(description, ''),"
        f" (SELECT count(*) {of_it}), (SELECT coalesce(sum(token_estimate), 0) {of_it})"
        " FROM categories ORDER BY path",
        values,
    ).fetchall()
    totals = {path: [0, 0] for path, *_ in found}
    for path, _, _, memories, tokens in found:
        for above in with_parents(path):
            if above in totals:
                totals[above][0] += memories
                totals[above][1] += tokens
    return [Category(*row, *totals[row[0]]) for row in found]


def list_used_categories(connection: Connection) -> list[str]:
    """List the categories with memories in them or below."""
    used = column(connection, "SELECT DISTINCT category FROM memories")
    return list(dict.fromkeys(chain(*map(with_parents, used))))


def list_tags(connection: Connection) -> list[str]:
    """List the tags of all memories, and the keys of those that have one, as `key:`."""
    return column(connection, "SELECT DISTINCT tag FROM memory_tags")


def list_statuses(connection: Connection) -> list[str]:
    """List the statuses that memories have."""
    return column(connection, "SELECT DISTINCT status FROM memories WHERE status <> ''")


def list_sources(connection: Connection) -> list[str]:
    """List who or what wrote memories."""
    return column(connection, "SELECT DISTINCT source FROM memories")


def list_projects(connection: Connection) -> list[str]:
    """List the projects that memories are of."""
    return column(connection, "SELECT DISTINCT project FROM memories WHERE project <> ''")


def note_unknown_values(ask_each: AskEach, wanted: MemoryFilter, reporter: Reporter) -> None:
    """Give notice of each property in `wanted` whose values no memory of the databases has."""
    for has, values, list_known, fold in (
        ("is in the category", (wanted.category,), list_used_categories, folded),
        ("has the tag", wanted.tags, list_tags, str),
        ("has the status", wanted.statuses, list_statuses, str.lower),
        ("has the source", (wanted.source,), list_sources, str),
        ("is of the project", (wanted.project,), list_projects, str),
    ):
        if not any(values):
            continue
        known = set(chain(*ask_each(partial(_ask_connection, list_known), None)))
        if known and set(map(fold, known)).isdisjoint(map(fold, values)):
            missing = f"no memory {has} {', '.join(values)}"
            reporter.notice(f"{missing}: there is {nearest_names(values[0], known)}")


def _ask_connection(ask: Callable[[Connection], T], rows: MemoryRows) -> T:
    return ask(rows.connection)


def skip_reason(connection: Connection, path: str) -> str:
    """Return why the file at `path`, with or without its suffix, was not indexed; "" if it was."""
    reasons = column(
        connection,
        "SELECT reason FROM files INDEXED BY files_not_indexed WHERE status <> 'indexed'"
        " AND path IN (?, ?) LIMIT 1",
        (path, path + MEMORY_SUFFIX),
    )
    return next(iter(reasons), "")


MAX_NAMES = 64


def projects_among(connection: Connection, words: Collection[str]) -> list[str]:
    """List those of `words` that are the project of a memory."""
    return column(
        connection,
        "SELECT value FROM json_each(?) WHERE EXISTS"
        " (SELECT 1 FROM memories WHERE project = value AND project <> '')",
        (json.dumps(list(words)),),
    )


class ChunkPlace(NamedTuple):
    """A chunk, its memory, and the properties of the memory that change its score."""

    chunk: int
    memory: int
    path: str
    strength: float
    project: str
    is_outdated: bool  # superseded, invalidated or expired


def read_places(connection: Connection, ids: Ids, *, now: int) -> dict[int, ChunkPlace]:
    """Read the memories that the chunks `ids` belong to, by chunk; missing chunks are left out."""
    rows = rows_at_once(
        connection,
        f"id, memory, path, {STRENGTH_SQL}, project, {SUPERSEDED_SQL} OR {EXPIRED_SQL}",
        "(SELECT id, memory FROM memory_chunks"
        "  WHERE id IN (SELECT value FROM json_each(:ids)))"
        " JOIN (SELECT key, path, project, standing, superseded, expires_at, pinned, updated_at,"
        "  used_at, uses, evidence FROM memories) ON key = memory",
        {"ids": json.dumps(ids.tolist()), "now": now, "today": today(now)},
    )
    return {row[0]: ChunkPlace._make((*row[:5], bool(row[5]))) for row in rows}


def read_passages(connection: Connection, ids: Collection[int]) -> dict[int, MemoryChunk]:
    """Read the chunks with these ids, by id."""
    rows = rows_at_once(
        connection,
        "id, text, context, heading, start_line, end_line",
        "memory_chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {row[0]: MemoryChunk(*row[1:]) for row in rows}


def first_by_path(connection: Connection, ids: Ids, *, limit: int) -> list[int]:
    """Return the first `limit` of the chunks `ids` in the order of path and line."""
    return column(
        connection,
        "SELECT c.id FROM memory_chunks c JOIN memories m ON m.key = c.memory"
        " WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY m.path, c.start_line LIMIT ?",
        (json.dumps(ids.tolist()), limit),
    )


def named_chunks(connection: Connection, words: Sequence[str]) -> list[int]:
    """List the chunks of the memories whose path, `K-001` or `shop/K-001` is one of `words`."""
    words = list(dict.fromkeys(words))[:MAX_NAMES]
    ids = [each.rpartition("/")[2] for each in words]
    names: dict[str, Any] = {"words": json.dumps(words), "ids": json.dumps(ids)}
    named = "SELECT value FROM json_each(:words)"
    return column(
        connection,
        "SELECT id FROM memory_chunks WHERE memory IN ("
        f"SELECT key FROM memories WHERE path IN ({named})"
        f" UNION SELECT key FROM memories WHERE path IN (SELECT value || '.md' FROM ({named}))"
        " UNION SELECT key FROM memories WHERE atom_id <> ''"
        " AND atom_id IN (SELECT value FROM json_each(:ids))"
        f" AND (atom_id IN ({named}) OR project || '/' || atom_id IN ({named})))",
        names,
    )
