"""What is central in a source: definitions ranked by who uses them, for a map of it.

    file ──uses a name──▶ file that defines it      PageRank over the files
    a definition's share of what its users hand on  is its rank

A name that is defined in many files says little of any one of them, and counts less. So does one of
a test, and one that other files are hardly meant to use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_sidecar.code.fusion import is_test
from memory_sidecar.code.graph import TYPES, Graph
from memory_sidecar.code.results import CodeHit, MapEntry
from memory_sidecar.core.model import CHARACTERS_PER_TOKEN
from memory_sidecar.core.results import rounded
from memory_sidecar.core.sqlite import Connection

AROUND_HITS = 20  # of a question that a map is for
MAX_DEFINED = 8  # files or overloads: of more, which one is meant cannot be told
_DAMPING = 0.85
_STEPS = 40
_DOUBT = 1.0  # what a file may use besides: one that uses a single name does not hand on all
_PRIVATE = 0.2  # of the weight of a public name
_TEST = 0.2  # of that of one outside of tests
_METHOD = 0.1  # of that of a class or a function: `append` is a list's more often than ours
_SHOWN = TYPES | {"function", "method", "macro"}
_EXPORTING = frozenset({"javascript", "typescript", "tsx"})
_HIDDEN = re.compile(r"(?:\w+ )*?private ")  # as its signature begins

_Defined = tuple[int, int, float]
"""File, number in it, how telling its name is; 0 for what a map does not show."""
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
    graph = Graph(connection)
    ids = {at.id: weight for file, weight in start.items() if (at := graph.file(*file))}
    ranks = UseGraph.read(connection, sources).ranks(ids)
    return read_entries(connection, ranks, max_tokens=max_tokens)


def is_path(text: str) -> bool:
    """Whether what a map is to be for can be a path alone, no question."""
    return "/" in text and not any(map(str.isspace, text))


def weights_of(hits: Iterable[CodeHit]) -> dict[tuple[str, str], float]:
    """What a map starts from that is for a question which has these `hits`."""
    weights: dict[tuple[str, str], float] = {}
    for hit in hits:
        key = hit.source, hit.filename
        weights[key] = max(weights.get(key, 0.0), hit.score)
    return weights


@dataclass(frozen=True, slots=True)
class UseGraph:
    """Which files use which definitions, each pair once. Arrays of one length."""

    users: _Numbers  # ids of files
    owners: _Numbers  # ids of the files that define
    numbers: _Numbers  # of the definition in its file
    weights: _Floats

    @classmethod
    def read(cls, connection: Connection, sources: Sequence[str]) -> UseGraph:
        """The uses within each of `sources`, or within each source there is.

        Joined here: SQLite takes three times as long for it, a third of a second for 40,000 chunks.
        """
        among = f"source IN ({', '.join('?' * len(sources))})" if sources else "TRUE"
        files: Any = connection.execute(
            f"SELECT id, source, language, filename FROM code_files WHERE {among}",
            tuple(sources),
        )
        shared: dict[tuple[str, str], dict[str, list[_Defined]]] = {}  # by source and language
        names, likely, languages = {}, {}, {}
        for file, source, language, path in files:
            names[file] = shared.setdefault((source, language), {})
            likely[file] = _TEST if is_test(path) else 1.0
            languages[file] = language
        definitions: Any = connection.execute(
            "SELECT file, number, name, path, kind, signature FROM code_definitions"
            " WHERE length(name) > 2 OR (length(name) = 2 AND name <> lower(name))"
        )
        for file, number, name, path, kind, signature in definitions:
            if file in names:
                telling = likely[file] * _telling(languages[file], name, path, kind, signature)
                names[file].setdefault(name, []).append((file, number, telling))
        references: Any = connection.execute(
            "SELECT file, name, length(places) FROM code_references"
        )
        uses = [
            (user, owner, number, length, telling / len(meant) ** 2)
            for user, name, length in references
            if user in names and (meant := names[user].get(name)) and len(meant) <= MAX_DEFINED
            if all(owner != user for owner, _, _ in meant)  # else it means its own
            for owner, number, telling in meant
            if telling
        ]
        columns = zip(*uses, strict=True) if uses else [()] * 5
        users, owners, numbers, lengths, weights = map(np.array, columns)
        return cls(users, owners, numbers, np.sqrt(lengths / 4.0) * weights)

    def ranks(self, start: Mapping[int, float]) -> dict[tuple[int, int], float]:
        """The rank of each definition that is used, by its file and number; their sum is 1.

        `start` has the weights of the files, by id, that it is asked from; empty for all alike.
        """
        files, ends = np.unique(np.concatenate([self.users, self.owners]), return_inverse=True)
        if not len(files):
            return {}
        users, owners = ends[: len(self.users)], ends[len(self.users) :]
        shares = self.weights / (np.bincount(users, self.weights, len(files)) + _DOUBT)[users]
        first = np.array([start.get(int(file), 0.0) for file in files])
        first = first / first.sum() if first.sum() else np.full(len(files), 1 / len(files))
        rank = first
        for _ in range(_STEPS):
            handed_on = np.bincount(owners, shares * rank[users], len(files))
            rank = (1 - _DAMPING) * first + _DAMPING * handed_on
            rank /= rank.sum()
        given = shares * rank[users]
        keys, used = np.unique(self.owners << 32 | self.numbers, return_inverse=True)
        totals = np.bincount(used, given) / (given.sum() or 1.0)
        return {
            (key >> 32, key & 0xFFFFFFFF): total
            for key, total in zip(keys.tolist(), totals.tolist(), strict=True)
            if total > 0
        }


def read_entries(
    connection: Connection, ranks: Mapping[tuple[int, int], float], *, max_tokens: int
) -> list[MapEntry]:
    """The definitions of the highest rank, as many as fit; those of one file stand together."""
    graph = Graph(connection)
    chosen: dict[tuple[str, str], list[MapEntry]] = {}
    left = max_tokens * CHARACTERS_PER_TOKEN
    for key in sorted(ranks, key=lambda key: (-ranks[key], key)):
        entry = graph.numbered(*key).told(MapEntry, score=rounded(ranks[key]))
        file = entry.source, entry.filename
        left -= len(entry.signature) + 8 + (len(entry.filename) + 1) * (file not in chosen)
        if left < 0:
            break
        chosen.setdefault(file, []).append(entry)
    return [
        entry
        for entries in chosen.values()
        for entry in sorted(entries, key=lambda each: each.start_line)
    ]


def _telling(language: str, name: str, path: str, kind: str, signature: str) -> float:
    """How likely other files mean it when they use its name; 0 for what is not shown."""
    if kind not in _SHOWN or _HIDDEN.match(signature):
        return 0.0
    if language == "rust" and kind != "macro" and not signature.startswith("pub"):
        return 0.0
    is_kept = name[0] == "_" or (
        language in _EXPORTING and path == name and not signature.startswith("export ")
    )
    return (_PRIVATE if is_kept else 1.0) * (_METHOD if kind == "method" else 1.0)
