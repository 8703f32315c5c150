"""The history arm: files that were changed by commits whose messages are like the question.

A commit lends its BM25, as a share that saturates, to each file that it changed. The share is
divided by the square root of how many files it changed, and by the cube root of how many commits
changed the file, since a file that changes all the time says little. What a file is lent saturates,
too, and weighs more in a repository with more commits.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory_sidecar.code.commits import NONE_READ, Commit, read_commits
from memory_sidecar.core.model import Source
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.repository import repository_around
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.keyword import keyword_scores, keyword_share, keywords_of
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.words import index_words

HISTORY_WEIGHT = 0.2
HISTORY_HALF = 0.2  # what is lent that gives half of that
FEW_COMMITS = 500  # so many count half
DEPTH = 100  # commits that lend
MAX_ROWS = 2_000  # scored at most

_VERSION = "1"  # of what is kept of a commit

COMMITS: Final = Corpus(
    name="commit",
    rows="commits",
    text="subject",
    columns=("subject", "body"),
    weights=(1.0, 1.0),
    source="source",
)
"""Found by words alone: it has no vectors, and is no corpus of the schema."""

File = tuple[str, str]
"""Its source and its path."""


@dataclass(frozen=True, slots=True)
class Lent:
    """What the commits lend to one file."""

    boost: float
    subjects: tuple[str, ...]  # of the commits, the one that lends most first


def follow_history(source: Source, store: DerivedStore) -> None:
    """Have `store` hold the newest commits of the repository around `source`, if there is one.

    Little is done unless its branch has moved; then only what is new is read.
    """
    repository = repository_around(source.root)
    made = f"{_VERSION} {repository.inside}" if repository else ""
    state = f"{repository.head} {made}" if repository else ""
    with store.reading() as connection:
        before = _state(connection, source.name)
        known = _known(connection, source.name) if before else set()
    if state == before:
        return
    if before.partition(" ")[2] != made:
        known = set()
    found = read_commits(repository, known) if repository else NONE_READ
    if found is None:
        return
    if not found.is_complete:
        state = f" {made}"  # the next time goes on
    with store.writing() as write:
        _forget(write.connection, source.name, known.intersection(found.newest))
        for commit in found.unknown:
            _insert(write.connection, source.name, commit)
        _weigh(write.connection, source.name)
        write.connection.execute(
            "INSERT OR REPLACE INTO histories SELECT ?1, ?2, count(DISTINCT p.id)"
            " FROM commits c JOIN commit_paths p ON p.id = c.id WHERE c.source = ?1",
            (source.name, state),
        )


def forget_history(connection: Connection, source: str) -> None:
    """Remove all that is known of the commits of `source`."""
    _forget(connection, source, ())
    connection.execute("DELETE FROM histories WHERE source = ?", (source,))


def lent_by_history(
    connection: Connection, text: str, sources: Collection[str]
) -> Mapping[File, Lent]:
    """What the commits of `sources`, or of all, that are most like `text` lend to their files."""
    rows: Any = connection.execute("SELECT source, commits FROM histories WHERE commits > 0")
    sizes: dict[str, int] = dict(rows.fetchall())
    asked = sizes.keys() & set(sources) if sources else sizes.keys()
    if not asked:
        return {}
    keywords = keywords_of(connection, COMMITS, text).rarest(MAX_ROWS)
    limit = DEPTH if asked == sizes.keys() else None
    ids, bm25 = keyword_scores(connection, COMMITS, keywords, limit=limit)
    shares = dict(zip(ids.tolist(), keyword_share(bm25).tolist(), strict=True))
    lent: dict[File, list[tuple[float, str]]] = {}
    for commit, source, subject, path, weight in _paths_of(connection, list(shares), asked):
        lent.setdefault((source, path), []).append((weight * shares[commit], subject))
    return {file: _lent(parts, sizes[file[0]]) for file, parts in lent.items()}


def _lent(parts: list[tuple[float, str]], commits: int) -> Lent:
    total = sum(sorted(weight for weight, _ in parts))  # the same in every order of rows
    boost = HISTORY_WEIGHT * commits / (commits + FEW_COMMITS) * total / (total + HISTORY_HALF)
    parts.sort(key=lambda part: (-part[0], part[1]))
    return Lent(boost, tuple(dict.fromkeys(subject for _, subject in parts)))


def _paths_of(
    connection: Connection, ids: list[int], sources: Collection[str]
) -> list[tuple[int, str, str, str, float]]:
    """The files of the first `DEPTH` of these commits that are of `sources`."""
    rows = connection.execute(
        "SELECT c.id, c.source, c.subject, p.path, p.weight FROM"
        " (SELECT o.key, c.id, c.source, c.subject FROM json_each(?1) o JOIN commits c"
        " ON c.id = o.value WHERE c.source IN (SELECT value FROM json_each(?2))"
        " ORDER BY o.key LIMIT ?3) c JOIN commit_paths p ON p.id = c.id",
        (json.dumps(ids), json.dumps(sorted(sources)), DEPTH),
    )
    return list(rows)


def _state(connection: Connection, source: str) -> str:
    found = connection.execute("SELECT state FROM histories WHERE source = ?", (source,)).get
    return str(found or "")


def _known(connection: Connection, source: str) -> set[str]:
    rows = connection.execute("SELECT sha FROM commits WHERE source = ?", (source,))
    return {str(sha) for (sha,) in rows}


def _insert(connection: Connection, source: str, commit: Commit) -> None:
    connection.execute(
        "INSERT INTO commits (source, sha, subject, changed) VALUES (?, ?, ?, ?)",
        (source, commit["sha"], commit["subject"], commit["changed"]),
    )
    if commit["paths"]:
        commit_id = connection.last_insert_rowid()
        connection.execute(
            "INSERT INTO commit_words (rowid, subject, body) VALUES (?, ?, ?)",
            (commit_id, index_words(commit["subject"]), index_words(commit["body"])),
        )
        connection.executemany(
            "INSERT INTO commit_paths (id, path) VALUES (?, ?)",
            [(commit_id, path) for path in commit["paths"]],
        )


def _forget(connection: Connection, source: str, kept: Collection[str]) -> None:
    gone = (
        "SELECT id FROM commits WHERE source = ?1 AND sha NOT IN (SELECT value FROM json_each(?2))"
    )
    values = (source, json.dumps(sorted(kept)))
    connection.execute(f"DELETE FROM commit_words WHERE rowid IN ({gone})", values)
    connection.execute(f"DELETE FROM commits WHERE id IN ({gone})", values)


def _weigh(connection: Connection, source: str) -> None:
    connection.execute(
        "WITH of_source AS (SELECT c.id, c.changed, p.path FROM commits c"
        " JOIN commit_paths p ON p.id = c.id WHERE c.source = ?1),"
        " counted AS (SELECT path, count(*) AS commits FROM of_source GROUP BY path)"
        " UPDATE commit_paths SET weight = pow(changed, -0.5) * pow(commits, -1.0 / 3)"
        " FROM of_source JOIN counted ON counted.path = of_source.path"
        " WHERE commit_paths.id = of_source.id AND commit_paths.path = of_source.path",
        (source,),
    )
