"""What is central in a source: definitions ranked by who uses them, for a map of it.

    file ──uses a name──▶ file that defines it      PageRank over the files
    a definition's share of what its users hand on  is its rank

A name that is defined in many files says little of any one of them, and counts less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_sidecar.code.directory import ChunkFile
from memory_sidecar.code.results import MapEntry
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN
from memory_sidecar.core.results import rounded
from memory_sidecar.core.sqlite import Connection

MAX_DEFINED = 8  # files or overloads: of more, which one is meant cannot be told
_DAMPING = 0.85
_STEPS = 40
_PRIVATE = 0.2  # of the weight of a public name
_METHOD = 0.1  # of that of a class or a function: `append` is a list's more often than ours
_SHOWN = "('class', 'interface', 'trait', 'struct', 'enum', 'union', 'function', 'method', 'macro')"

_Numbers = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def draw_map(
    connection: Connection,
    sources: Sequence[str],
    start: Mapping[tuple[str, str], float],
    *,
    max_tokens: int,
) -> list[MapEntry]:
    """What is most central in `sources`, in all without them; those of one file stand together.

    `start` has the weights of the files, by source and path, that it is asked from; empty for all
    alike.
    """
    ranks = UseGraph.read(connection, sources).ranks(file_ids(connection, start))
    return read_entries(connection, ranks, max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class UseGraph:
    """Which files use which definitions, each pair once. Arrays of one length."""

    users: _Numbers  # ids of files
    owners: _Numbers  # ids of the files that define
    numbers: _Numbers  # of the definition in its file
    weights: _Floats

    @classmethod
    def read(cls, connection: Connection, sources: Sequence[str]) -> UseGraph:
        """Those inside of each of `sources`, of all without them."""
        rows: Any = connection.execute(
            "WITH named AS (SELECT d.name, d.file, d.number, d.kind, f.source, f.language,"
            "  count(*) OVER (PARTITION BY f.source, f.language, d.name) AS defined"
            f" FROM code_definitions d JOIN code_files f ON f.id = d.file WHERE d.kind IN {_SHOWN})"
            " SELECT r.file, n.file, n.number, length(r.places), n.defined,"
            f" (CASE WHEN n.name GLOB '[_]*' THEN {_PRIVATE} ELSE 1 END)"
            f" * (CASE n.kind WHEN 'method' THEN {_METHOD} ELSE 1 END)"
            " FROM named n JOIN code_references r ON r.name = n.name AND r.file <> n.file"
            " JOIN code_files u ON u.id = r.file AND u.source = n.source"
            "  AND u.language = n.language"
            f" WHERE n.defined <= {MAX_DEFINED} AND length(n.name) > 2"
            f" AND {_among(sources, 'n.source')}",
            tuple(sources),
        ).fetchall()
        if not rows:
            nothing = np.empty(0, np.int64)
            return cls(nothing, nothing, nothing, np.empty(0))
        users, owners, numbers, lengths, defined, telling = zip(*rows, strict=True)
        weights = np.sqrt(np.array(lengths) / 4.0) / np.square(defined) * np.array(telling)
        return cls(np.array(users), np.array(owners), np.array(numbers), weights)

    def ranks(self, start: Mapping[int, float]) -> dict[tuple[int, int], float]:
        """Of each definition that is used, by its file and number; all of them add up to 1.

        `start` has the weights of the files, by id, that it is asked from; empty for all alike.
        """
        files, ends = np.unique(np.concatenate([self.users, self.owners]), return_inverse=True)
        if not len(files):
            return {}
        users, owners = ends[: len(self.users)], ends[len(self.users) :]
        shares = self.weights / np.bincount(users, self.weights, len(files))[users]
        first = np.array([start.get(int(file), 0.0) for file in files])
        first = first / first.sum() if first.sum() else np.full(len(files), 1 / len(files))
        rank = first
        for _ in range(_STEPS):
            handed_on = np.bincount(owners, shares * rank[users], len(files))
            rank = (1 - _DAMPING) * first + _DAMPING * handed_on
            rank /= rank.sum()
        given = shares * rank[users]
        total = float(given.sum()) or 1.0
        ranks: dict[tuple[int, int], float] = {}
        reached = np.flatnonzero(given > 0)
        for at in reached:
            key, share = (int(self.owners[at]), int(self.numbers[at])), given[at]
            ranks[key] = ranks.get(key, 0.0) + float(share) / total
        return ranks


def read_entries(
    connection: Connection, ranks: Mapping[tuple[int, int], float], *, max_tokens: int
) -> list[MapEntry]:
    """The definitions of the highest rank, as many as fit; those of one file stand together."""
    best = sorted(ranks, key=lambda key: (-ranks[key], key))
    chosen: dict[str, list[MapEntry]] = {}
    left = max_tokens * CHARACTERS_PER_TOKEN
    for entry in _entries(connection, best, ranks):
        new_file = entry.filename not in chosen
        left -= len(entry.signature) + 8 + (len(entry.filename) + 1) * new_file
        if left < 0:
            break
        chosen.setdefault(entry.filename, []).append(entry)
    return [
        entry
        for entries in chosen.values()
        for entry in sorted(entries, key=lambda each: each.start_line)
    ]


def file_ids(connection: Connection, weights: Mapping[tuple[str, str], float]) -> dict[int, float]:
    """`weights` of files by source and path, by the ids of those that have names."""
    found = {}
    for (source, path), weight in weights.items():
        row: Any = connection.execute(
            "SELECT id FROM code_files WHERE source = ? AND filename = ?", (source, path)
        ).fetchone()
        if row:
            found[int(row[0])] = weight
    return found


def _entries(
    connection: Connection,
    keys: Sequence[tuple[int, int]],
    ranks: Mapping[tuple[int, int], float],
) -> Iterator[MapEntry]:
    for file_id, number in keys:
        row: Any = connection.execute(
            "SELECT f.source, f.filename, f.language, d.name, d.path, d.kind, d.signature,"
            " d.start_line, d.end_line FROM code_definitions d JOIN code_files f ON f.id = d.file"
            " WHERE d.file = ? AND d.number = ?",
            (file_id, number),
        ).fetchone()
        at = ChunkFile(*row[:3])
        name, path, kind, signature, start_line, end_line = row[3:]
        yield MapEntry(
            filename=at.path,
            start_line=start_line,
            end_line=end_line,
            name=name,
            kind=kind,
            enclosing=path.rpartition(".")[0],
            signature=signature,
            score=rounded(ranks[file_id, number]),
            source=at.source,
            language=at.language,
        )


def _among(sources: Sequence[str], column: str) -> str:
    return f"{column} IN ({', '.join('?' * len(sources))})" if sources else "TRUE"
