"""Finds a memory's neighbours: what it names, what names it, what it replaced, near duplicates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Annotated, Any

import numpy as np

from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.results import Reporter, about
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.vectors import Vector, stored_vector
from memory_sidecar.index.words import is_mostly_foreign, words_and_phrases
from memory_sidecar.memories.contradiction import NEAR, may_contradict
from memory_sidecar.memories.files import statement_of, title_of
from memory_sidecar.memories.lookup import paths_there
from memory_sidecar.memories.model import (
    EXPIRED_SQL,
    SUPERSEDED_SQL,
    Relation,
    address_of,
    names_in,
    parse_address,
)
from memory_sidecar.memories.names import MEMORY_SUFFIX
from memory_sidecar.memories.results import Contradicted, Memory, NearDuplicate
from memory_sidecar.memories.store import MEMORY_CHUNKS

NEAR_DUPLICATE = 0.93
"""The cosine from which two memories are taken to say the same."""

RESEMBLING = 0.9
"""The cosine from which one memory may say what the other does, in other words.

Paraphrases begin at 0.91, where memories end that are about the same but say something else.
"""

SESSION_COST = 0.25  # the most that the line about its session takes from a memory's cosine
MAX_NEAR = 3
MAX_CANDIDATES = 20  # nearest chunks compared; only the first chunk of a memory counts
MAX_STEPS = 20  # in a chain of successors, which files written by hand may close to a ring


@dataclass(frozen=True, slots=True)
class Named:
    """Something that a memory names, or a memory that names it."""

    name: Annotated[
        str, about("a memory's path; of what it names also a session, a file, anything")
    ]
    title: Annotated[str, about("of the memory; empty where it is none")]
    relation: str


@dataclass(frozen=True, slots=True)
class Around:
    """The neighbours of a memory."""

    names: tuple[Named, ...]
    named_by: tuple[Named, ...]
    older: Annotated[tuple[Named, ...], about("what it replaced, the latest first")]
    newer: Annotated[tuple[Named, ...], about("what replaced it, the earliest first")]
    near_duplicates: tuple[NearDuplicate, ...]


def around(connection: Connection, store: DerivedStore, memory: Memory) -> Around:
    """Find the neighbours of `memory` in the commit that `connection` reads."""
    directory, file = parse_address(memory.path)
    own = [
        Named(path, _title(connection, path), relation)
        for relation, targets in memory.relations.items()
        for path in (_meant(connection, directory, target) for target in targets)
    ]
    names = [*names_in(directory, file, file), memory.path]
    if memory.atom_id:
        names += [memory.atom_id, f"{memory.project}/{memory.atom_id}"]
    naming: list[Any] = connection.execute(
        "SELECT path, directory, relation, target FROM memory_relations"
        " JOIN memories ON key = memory WHERE target IN (SELECT value FROM json_each(?))"
        " AND path <> ? ORDER BY path, relation",
        (json.dumps(names), memory.path),
    ).fetchall()
    named_by = {  # a page of another directory may mean a file of its own
        (path, relation): Named(path, _title(connection, path), relation)
        for path, there, relation, target in naming
        if _meant(connection, there, target) == memory.path
    }
    return Around(
        names=tuple(own),
        named_by=tuple(named_by.values()),
        older=_chain(connection, memory.path, Relation.SUPERSEDES, Relation.SUPERSEDED_BY),
        newer=_chain(connection, memory.path, Relation.SUPERSEDED_BY, Relation.SUPERSEDES),
        near_duplicates=near_duplicates(connection, store, memory.path),
    )


def near_duplicates(
    connection: Connection, store: DerivedStore, path: str
) -> tuple[NearDuplicate, ...]:
    """List the memories that say nearly the same as the one at `path`, the nearest first."""
    first = _first_chunk(connection, path)
    return tuple(_others_like(connection, store, first, path)[:MAX_NEAR])


@dataclass(frozen=True, slots=True)
class Near:
    """What is near to a memory that was just written, the nearest first, at most MAX_NEAR each."""

    duplicates: tuple[NearDuplicate, ...] = ()
    contradicted: tuple[Contradicted, ...] = ()


def near_readable(agent: AgentDatabase, path: str, project: str, reporter: Reporter) -> Near:
    """Find what the agent's memory at `path`, of `project`, repeats or may contradict.

    Looks among the shared memories, too. Without a model nothing is found, and a notice says why.
    """
    find_contradicted = partial(_contradicted, project=project, now=agent.clock())
    with (store := agent.data.open()).reading() as connection:
        first = _first_chunk(connection, path)
        near = _others_like(connection, store, first, path)
        against = find_contradicted(connection, store, first, path) if first else []
    if first is None:
        notice_no_model(agent.data.models, reporter)
    if first is not None and agent.shared is not None and agent.shared.paths.db.exists():
        with (
            suppress(SidecarError),  # the memory is stored, whatever state the shared ones are in
            (store := agent.shared.data.open()).reading() as connection,
        ):
            found = memories_like(connection, store, *first)
            near += [replace(each, shared=True) for each in found]
            others = find_contradicted(connection, store, first, "")
            against += [replace(each, shared=True) for each in others]
    against = against[:MAX_NEAR]
    told = {(each.path, each.shared) for each in against}
    near = [each for each in near if (each.path, each.shared) not in told]
    return Near(tuple(sorted(near, key=lambda each: -each.cosine)[:MAX_NEAR]), tuple(against))


def _contradicted(
    connection: Connection,
    store: DerivedStore,
    first: tuple[Vector, str],
    path: str,
    *,
    project: str,
    now: int,
) -> list[Contradicted]:
    """List the memories that hold and that the one at `path` may contradict, the nearest first."""
    vector, text = first
    holding = (
        "SELECT 1 FROM memories WHERE path = :path AND (project IN ('', :project)"
        f" OR :project = '') AND NOT {SUPERSEDED_SQL} AND NOT {EXPIRED_SQL}"
    )
    return [
        Contradicted(other, title_of(summary, said), why.value, shared=False)
        for other, summary, said, cosine in _nearest(connection, store, vector, least=NEAR)
        if other != path
        and (why := may_contradict(said, text, cosine=cosine))
        and connection.execute(holding, {"path": other, "project": project, "now": now}).get
    ]


def notice_no_model(models: Models, reporter: Reporter) -> None:
    """Give notice that near duplicates are not looked for, if there is no model to compare by."""
    if (problem := models.problem) is not None:
        reporter.notice(f"not looked for what says nearly the same: {problem.with_hint}")


def _first_chunk(connection: Connection, path: str) -> tuple[Vector, str] | None:
    """Return the vector and the text of the first chunk of the memory at `path`, if it has both."""
    row: Any = connection.execute(
        "SELECT c.id, c.text FROM memory_chunks c JOIN memories ON key = memory WHERE path = ?"
        " ORDER BY c.id LIMIT 1",
        (path,),
    ).get
    vector = stored_vector(connection, MEMORY_CHUNKS.vector_table, row[0]) if row else None
    return None if vector is None else (vector, row[1])


def _others_like(
    connection: Connection, store: DerivedStore, first: tuple[Vector, str] | None, path: str
) -> list[NearDuplicate]:
    found = memories_like(connection, store, *first) if first is not None else ()
    return [each for each in found if each.path != path]


def memories_like(
    connection: Connection,
    store: DerivedStore,
    vector: Vector,
    text: str,
    *,
    embed: Callable[[Sequence[str]], Floats] | None = None,
) -> list[NearDuplicate]:
    """List the memories whose first chunk says nearly the same as `text`, the nearest first.

    `vector`: that of `text`. With `embed`, also those that resemble it, each compared without its
    line about a session.
    """
    least = NEAR_DUPLICATE if embed is None else RESEMBLING
    found: list[tuple[float, str, str]] = []
    near = _nearest(connection, store, vector, least=least - (SESSION_COST if embed else 0))
    for path, summary, first, as_it_is in near:
        said, cosine = first, as_it_is
        if embed is not None and (statement := statement_of(first)) != first:
            said, cosine = statement, float(embed([statement])[0] @ vector)
        if cosine >= least and may_say_the_same(text, said):
            found.append((-min(cosine, 1.0), path, title_of(summary, said)))
    return [
        NearDuplicate(path, summary, round(-less, 4), shared=False)
        for less, path, summary in sorted(found)
    ]


def _nearest(
    connection: Connection, store: DerivedStore, vector: Vector, *, least: float
) -> Iterator[tuple[str, str, str, float]]:
    """Yield the memories whose first chunk is near to `vector`: path, summary, chunk and cosine.

    The nearest come first. Of the chunks with a cosine of `least`, MAX_CANDIDATES are looked at.
    """
    view = store.indexes[MEMORY_CHUNKS.vector_table].view(connection)
    ids, cosines = view.cosines(vector)
    near = np.flatnonzero(cosines >= least)
    near = near[np.argsort(-cosines[near], kind="stable")][:MAX_CANDIDATES]
    for at in near.tolist():
        row: Any = connection.execute(
            "SELECT path, summary, c.text FROM memories"
            " JOIN memory_chunks c ON c.memory = key WHERE c.id = ?1"
            " AND ?1 = (SELECT min(id) FROM memory_chunks WHERE memory = key)",
            (int(ids[at]),),
        ).get
        if row is not None:
            yield *row, float(cosines[at])


def may_say_the_same(text: str, other: str) -> bool:
    """Whether texts that are alike to the model may say the same.

    To the model, all texts in a script that it hardly knows are alike, so these must also share
    half of their words.
    """
    if not is_mostly_foreign(text):
        return True
    words, others = ({*chain(*words_and_phrases(each))} for each in (text, other))
    return 2 * len(words & others) >= len(words | others)


def near_pairs(
    connection: Connection, store: DerivedStore, memories: Sequence[Memory]
) -> list[tuple[float, str, str]]:
    """Return the cosine and paths of each pair of one of `memories` and its near duplicate, once.

    A superseded memory is no partner, because it has been decided which of the two holds.
    """
    found: dict[frozenset[str], tuple[float, str, str]] = {}
    for memory in memories:
        for near in near_duplicates(connection, store, memory.path):
            other = connection.execute(
                f"SELECT NOT {SUPERSEDED_SQL} FROM memories WHERE path = ?", (near.path,)
            ).get
            if other:
                pair = frozenset((memory.path, near.path))
                found.setdefault(pair, (near.cosine, memory.path, near.path))
    return list(found.values())


def _chain(
    connection: Connection, path: str, relation: Relation, inverse: Relation
) -> tuple[Named, ...]:
    """Follow `relation` from `path` breadth first; a page that says `inverse` counts as well."""
    seen, edge = {path}, [path]
    chain: list[Named] = []
    while edge and len(chain) < MAX_STEPS:
        rows: list[Any] = connection.execute(
            "SELECT target FROM memory_relations JOIN memories ON key = memory"
            " WHERE path = ?1 AND relation = ?2 UNION"
            " SELECT path FROM memory_relations JOIN memories ON key = memory"
            " WHERE target = ?1 AND relation = ?3 ORDER BY 1",
            (edge.pop(0), relation.value, inverse.value),
        ).fetchall()
        for (each,) in rows:
            if each not in seen:
                seen.add(each)
                edge.append(each)
                chain.append(Named(each, _title(connection, each), relation.value))
    return tuple(chain[:MAX_STEPS])


def _meant(connection: Connection, directory: str, name: str) -> str:
    """Return the path of the memory that a page of `directory` calls `name`; `name` for none.

    A path is first taken as that of a file in `directory`; an id means the only atom that has it.
    """
    paths = (address_of(directory, name), name, name + MEMORY_SUFFIX)
    there = paths_there(connection, paths)
    if found := next((each for each in paths if each in there), None):
        return found
    project, _, atom_id = name.rpartition("/")
    atoms = column(
        connection,
        "SELECT path FROM memories WHERE atom_id <> '' AND atom_id = ? AND ? IN ('', project)",
        (atom_id, project),
    )
    return str(atoms[0]) if len(atoms) == 1 else name


def _title(connection: Connection, path: str) -> str:
    """Return the title of the memory at `path`; "" if there is none."""
    row = connection.execute(
        "SELECT summary, content FROM memories JOIN memory_contents ON memory = key WHERE path = ?",
        (path,),
    ).fetchone()
    return title_of(*row) if row else ""
