"""The history arm: boosts files that were changed by commits whose messages match the question.

A commit gives its keyword share (its BM25, saturating) to each file that it changed, divided by the
square root of the number of files that it changed, and by the cube root of the number of commits
that changed the file: a file that changes all the time says little. The sum of a file's shares
saturates, too, and the boost derived from it grows with the number of the source's commits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from memory_sidecar.code.commits import NONE_READ, Commit, read_commits
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.model import Source
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.core.times import Clock, system_clock
from memory_sidecar.disk.repository import has_alternates, problem_around, repository_around
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.ids import Among
from memory_sidecar.index.keyword import keyword_scores, keyword_share, keywords_of
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.words import index_words

HISTORY_WEIGHT = 0.2
HISTORY_HALF = 0.2  # the sum of shares that gives a file half of the boost
FEW_COMMITS = 500  # a source with this many commits gives half of the boost
DEPTH = 100  # best matching commits that count
MAX_ROWS = 2_000  # commits to score, about: see `Keywords.rarest`

RETRY_FIRST_MS, RETRY_LONGEST_MS = 600_000, 86_400_000  # after the child failed or was killed

# In place of the head: when to retry, last pause (both in ms); the head that was not there, if any.
_RETRY = re.compile(r"after:(\d+):(\d+)(?::([0-9a-f]{40}))? ")
_VERSION = "2"  # of what the tables hold of a commit; a change has all commits read again

COMMITS: Final = Corpus(
    name="commit",
    rows="commits",
    text="subject",
    columns=("subject", "body"),
    weights=(1.0, 1.0),
    source="source",
)
"""Commits are searched by words alone: they have no vectors and are no corpus of the schema."""

FileKey = tuple[str, str]
"""The name of its source, and its path."""


@dataclass(frozen=True, slots=True)
class HistoryBoost:
    """What one file gains by the commits that match a question."""

    boost: float  # added to the relevance
    subjects: tuple[str, ...]  # of these commits, the one that gives most first


def update_history(source: Source, store: DerivedStore, clock: Clock = system_clock) -> None:
    """Bring the commits of `source` in `store` in line with the repository around its root.

    Reads git only if the head or the repository has changed, and then only commits not yet stored,
    or all if a shallow clone was deepened. After a read that failed or took too long it pauses,
    twice as long each time; another head ends the pause if only the one before was not there.
    Without a repository all stored commits are deleted.
    """
    repository = repository_around(source.root)
    head = repository.head if repository else ""
    layout = f"{_VERSION}{repository.shallow} {repository.inside}" if repository else ""
    state = f"{head} {layout}" if repository else ""
    with store.reading() as connection:
        before = _read_state(connection, source.name)
        stored = "SELECT sha FROM commits WHERE source = ?"
        known = set[str](column(connection, stored, (source.name,))) if before else set()
    if state == before:
        return
    pause_ms = 0
    if before.partition(" ")[2] != layout:
        known = set()
    elif (retry := _RETRY.match(before)) and retry[3] in (None, head):
        not_before_ms, pause_ms = int(retry[1]), int(retry[2])
        if not_before_ms - pause_ms <= clock() < not_before_ms:  # else the clock was set back
            return
    found = read_commits(repository, known) if repository else NONE_READ
    if found is None or (found.has_failed and repository_around(source.root) != repository):
        return  # read at the next scan, as that of a tree that is moved away and comes back
    if found.has_failed:
        pause_ms = min(max(2 * pause_ms, RETRY_FIRST_MS), RETRY_LONGEST_MS)
        missing = f":{head}" if found.lacks_head else ""
        state = f"after:{clock() + pause_ms}:{pause_ms}{missing} {layout}"
    elif not found.is_complete:
        state = f" {layout}"  # names no head, so that the next call reads on
    with store.writing() as write:
        _delete_commits(write.connection, source.name, keep=known.intersection(found.newest))
        for commit in found.unknown:
            _insert(write.connection, source.name, commit)
        _weigh_paths(write.connection, source.name)
        write.connection.execute(
            "INSERT OR REPLACE INTO histories SELECT ?1, ?2, count(DISTINCT p.id)"
            " FROM commits c JOIN commit_paths p ON p.id = c.id WHERE c.source = ?1",
            (source.name, state),
        )


def unread_histories(connection: Connection, sources: Iterable[Source]) -> list[str]:
    """Return the names of those `sources` whose commits cannot be read, each with the reason."""
    unread = []
    for source in sources:
        reason = problem_around(source.root)
        if not reason and _RETRY.match(_read_state(connection, source.name)):
            reason = "objects are missing or damaged, or it takes too long"
            if has_alternates(source.root):
                reason = "its objects are in another folder, which is not read"
        if reason:
            unread.append(f"{source.name}: {reason}")
    return unread


def delete_history(connection: Connection, source: str) -> None:
    """Delete all commits of `source`, and the state that `update_history` noted."""
    _delete_commits(connection, source, keep=())
    connection.execute("DELETE FROM histories WHERE source = ?", (source,))


def history_boosts(
    connection: Connection, text: str, sources: Collection[str]
) -> Mapping[FileKey, HistoryBoost]:
    """Return the boosts by commits that match `text`, of files in `sources` (all if empty)."""
    rows: Any = connection.execute("SELECT source, commits FROM histories WHERE commits > 0")
    sizes: dict[str, int] = dict(rows.fetchall())
    asked = sizes.keys() & set(sources) if sources else sizes.keys()
    if not asked:
        return {}
    among = None if asked == sizes.keys() else _commits_of(connection, asked)
    keywords = keywords_of(connection, COMMITS, text, among).rarest(MAX_ROWS)
    limit = DEPTH if among is None else None
    ids, bm25 = keyword_scores(connection, COMMITS, keywords, limit=limit)
    shares = dict(zip(ids.tolist(), keyword_share(bm25).tolist(), strict=True))
    parts = by_key(
        ((source, path), (weight * shares[commit], subject))
        for commit, source, subject, path, weight in _changed_files(connection, list(shares), asked)
    )
    return {file: _boost_from(each, sizes[file[0]]) for file, each in parts.items()}


def _boost_from(parts: list[tuple[float, str]], commits: int) -> HistoryBoost:
    """`parts`: the weighted share and subject of each commit; `commits`: how many a source has."""
    total = sum(sorted(weight for weight, _ in parts))  # the same in every order of rows
    boost = HISTORY_WEIGHT * commits / (commits + FEW_COMMITS) * total / (total + HISTORY_HALF)
    parts.sort(key=lambda part: (-part[0], part[1]))
    return HistoryBoost(boost, tuple(dict.fromkeys(subject for _, subject in parts)))


def _commits_of(connection: Connection, sources: Collection[str]) -> Among:
    listed: Any = connection.execute(
        "SELECT group_concat(id) FROM commits WHERE source IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(sources)),),
    ).get
    ids = np.sort(np.fromstring(listed, np.int64, sep=","))
    return Among.of(ids, len(ids))


def _changed_files(
    connection: Connection, ids: list[int], sources: Collection[str]
) -> list[tuple[int, str, str, str, float]]:
    """Return the files that the first `DEPTH` commits of `ids` in `sources` changed.

    A row is the commit's id, its source, its subject, the path of the file, and its weight.
    """
    rows = connection.execute(
        "SELECT c.id, c.source, c.subject, p.path, p.weight FROM"
        " (SELECT o.key, c.id, c.source, c.subject FROM json_each(?1) o JOIN commits c"
        " ON c.id = o.value WHERE c.source IN (SELECT value FROM json_each(?2))"
        " ORDER BY o.key LIMIT ?3) c JOIN commit_paths p ON p.id = c.id",
        (json.dumps(ids), json.dumps(sorted(sources)), DEPTH),
    )
    return list(rows)


def _read_state(connection: Connection, source: str) -> str:
    found = connection.execute("SELECT state FROM histories WHERE source = ?", (source,)).get
    return str(found or "")


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


def _delete_commits(connection: Connection, source: str, *, keep: Collection[str]) -> None:
    """Delete the commits of `source` with their words and paths, all but the ids in `keep`."""
    gone = (
        "SELECT id FROM commits WHERE source = ?1 AND sha NOT IN (SELECT value FROM json_each(?2))"
    )
    values = (source, json.dumps(sorted(keep)))
    connection.execute(f"DELETE FROM commit_words WHERE rowid IN ({gone})", values)
    connection.execute(f"DELETE FROM commits WHERE id IN ({gone})", values)


def _weigh_paths(connection: Connection, source: str) -> None:
    """Set the weights: 1 / √(files that the commit changed) / ∛(commits that changed the file)."""
    connection.execute(
        "WITH of_source AS (SELECT c.id, c.changed, p.path FROM commits c"
        " JOIN commit_paths p ON p.id = c.id WHERE c.source = ?1),"
        " counted AS (SELECT path, count(*) AS commits FROM of_source GROUP BY path)"
        " UPDATE commit_paths SET weight = pow(changed, -0.5) * pow(commits, -1.0 / 3)"
        " FROM of_source JOIN counted ON counted.path = of_source.path"
        " WHERE commit_paths.id = of_source.id AND commit_paths.path = of_source.path",
        (source,),
    )
