"""What is central in a source: definitions ranked by who uses them, for a map of it.

    file ──uses a name──▶ file that defines it      PageRank over the files
    a definition's share of what its users hand on  is its rank

A name that is defined in many files says little of any one of them, and counts less. So does one of
a test or of what is vendored, and one that other files are hardly meant to use. A method is used by
files that name its class, a function where it stands bare or behind its file's name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memory_sidecar.code.fusion import is_aside
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
_ASIDE = 0.05  # of that of one that is no test, example, vendored …
_METHOD = 0.1  # of that of a class or a function: `append` is a list's more often than ours
_SHOWN = TYPES | {"function", "method", "macro"}
_EXPORTING = frozenset({"javascript", "typescript", "tsx"})
_HIDDEN = re.compile(r"(?:\w+ )*?private ")  # as its signature begins

_Numbers = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


class _Defined(NamedTuple):
    """What a name may mean to other files."""

    file: int
    number: int  # in it
    telling: float  # how likely they mean it; 0 for what a map does not show
    class_name: str  # of a member
    is_top: bool  # nothing encloses it


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
        names, likely, languages, modules = {}, {}, {}, {}
        for file, source, language, path in files:
            names[file] = shared.setdefault((source, language), {})
            likely[file] = _ASIDE if is_aside(path) else 1.0
            languages[file] = language
            modules[file] = {part.partition(".")[0] for part in path.split("/")[-2:]}
        definitions: Any = connection.execute(
            "SELECT file, number, name, path, kind, signature FROM code_definitions"
            " WHERE length(name) > 2 OR (length(name) = 2 AND name <> lower(name))"
        ).fetchall()
        types = {name for _, _, name, _, kind, _ in definitions if kind in TYPES}
        for file, number, name, path, kind, signature in definitions:
            if file in names:
                telling = likely[file] * _telling(languages[file], name, path, kind, signature)
                around = ("", *path.split("."))[-2]
                class_name = around if around in types else ""
                each = _Defined(file, number, telling, class_name, is_top=not around)
                names[file].setdefault(name, []).append(each)
        uses = [
            (user, each.file, each.number, len(places), each.telling / len(meant) ** 2)
            for user, used in _used_by_file(connection)
            if user in names
            for name, places in used.items()
            if (meant := names[user].get(name)) and len(meant) <= MAX_DEFINED
            if all(each.file != user for each in meant)  # else it means its own
            for each in meant
            if each.telling
            if not each.class_name or each.class_name in used
            if not each.is_top or _is_plain(places, modules[each.file])
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
            hand_to_team = np.bincount(owners, shares * rank[users], len(files))
            rank = (1 - _DAMPING) * first + _DAMPING * hand_to_team
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


def _used_by_file(connection: Connection) -> Iterator[tuple[int, dict[str, str]]]:
    """The names that each file uses, with the places."""
    rows: Any = connection.execute("SELECT file, name, places FROM code_references ORDER BY file")
    for file, of_file in groupby(rows, key=itemgetter(0)):
        yield file, {name: places for _, name, places in of_file}


def _is_plain(places: str, modules: Collection[str]) -> bool:
    """Whether a name stands bare at one of `places`, or behind one of `modules`.

    Behind anything else it is a member: `text.lower()` is no function `lower`.
    """
    receivers = (place.partition(".")[2] for place in places.split(" "))
    return any(not receiver or receiver in modules for receiver in receivers)


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
