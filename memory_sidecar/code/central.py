"""Ranks the definitions of a source by how central they are, for its map.

    file ──uses a name──▶ file that defines it      PageRank over the files
    rank of a definition = √(number of files using it), times its share of what these pass on

    a use of                            counts
    ─────────────────────────────────────────────────────────────────────────────────
    a name that many files define       less, the more these are
    what is in a test or an example,    less
      or looks private
    a method                            in files that name its class or object
    a top of a JavaScript module        in files that import it
    a function                          where it stands bare, or behind the name of its file
    a type of C#                        where it stands bare, or behind what it lies in; no `using`
    what is inside a function, or a     nowhere in other files
      member of a private class

Vendored, generated and data files, and stubs beside their Python module, are not shown and their
uses do not count, unless the map starts from such a file. In a map from a file or a question, what
all files lead to ranks below what the starting files lead to, and the number of users does not
count; the files that answer a question also lead to what they define themselves. A map of a folder
has what the files in it define, as all files rank it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from memory_sidecar.code.asides import in_tests, is_aside, is_data
from memory_sidecar.code.focus import Focus
from memory_sidecar.code.graph import FUNCTIONS, TYPES, Graph
from memory_sidecar.code.headings import map_lines
from memory_sidecar.code.results import MapEntry
from memory_sidecar.code.scoping import scoping_of
from memory_sidecar.core.model import BYTES_PER_TOKEN
from memory_sidecar.core.results import rounded
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Scores
from memory_sidecar.index.codes import Ids

MAP_TOKENS = 1000  # of a map whose reader sets no limit
MAX_DEFINED = 8  # definitions of one name; among more, the one meant cannot be told
_MARGIN = 9  # bytes of a line beside its text: the number, and the end
_DAMPING = 0.85
_STEPS = 40
_LIFT = 0.7  # 0: the most used of what `start` leads to comes first; 1: what little else leads to
_DOUBT = 1.0  # weight of unknown uses: a file that uses a single name does not pass on everything
_PRIVATE = 0.2  # weight of a private name; a public one has 1
_ASIDE = 0.05  # weight of a name in a test, an example …
_METHOD = 0.1  # weight of a method: `append` is mostly that of a list
_SHOWN = TYPES | FUNCTIONS | {"macro"}
_EXPORTING = frozenset({"javascript", "typescript", "tsx"})
# Languages where a function returns its inner ones to other files: `return { use, close }`.
_RETURNS_INNER = _EXPORTING | {"lua"}
_EXPORT = re.compile("export ")  # the beginning of a signature
_IMPORTED = re.compile(r"(?:^| )i\d")  # among places
# The beginning of the signature of a private member, or of a C macro that is a constant.
_HIDDEN = re.compile(r"(?:\w+ )*?private |#\s*define \w+(?!\()\b")


class _Defined(NamedTuple):
    """A definition that other files may mean by its name."""

    file: int
    number: int  # in its file
    weight: float  # how likely other files mean it, 0…1; 0 if maps do not show it
    class_name: str  # of a member
    is_top: bool  # nothing encloses it
    is_exported: bool  # other files must import it: it is of a module of JavaScript
    is_shown: bool  # of a kind that maps show, private or not
    behind: str | None = None  # of a type of C#: what alone may stand before its name


_LEFT_OUT = _Defined(-1, 0, 0.0, "", is_top=True, is_exported=False, is_shown=False)


class _MapFile(NamedTuple):
    """A file of the sources that a map is about."""

    language: str
    weight: float  # of what it defines, 0…1; 0: neither its definitions nor its uses count
    modules: Collection[str]  # the names by which others may mean it
    names: dict[str, list[_Defined]]  # what names mean in files of its source and language


def draw_map(
    graph: Graph, sources: Sequence[str], focus: Focus, *, max_tokens: int
) -> list[MapEntry]:
    """Return the most central definitions of `sources` (all if empty), grouped by file.

    They are ranked from the point of view of `focus`; those in the files of a folder as all others
    rank them.
    """
    ids = {at.id: weight for file, weight in focus.files.items() if (at := graph.file(*file))}
    is_folder = focus.kind == "folder"
    uses = UseGraph.read(
        graph.connection,
        sources,
        own=ids if focus.kind == "question" else (),
        with_all=any(is_data(path) or path.endswith(".pyi") for _, path in focus.files),
    )
    ranks = uses.ranks({} if is_folder else ids)
    if is_folder:
        ranks = {key: rank for key, rank in ranks.items() if key[0] in ids}
    return read_entries(graph, ranks, max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class UseGraph:
    """The edges between files and the definitions that they use, each pair once; arrays (n,)."""

    users: Ids  # ids of the using files
    owners: Ids  # ids of the defining files
    numbers: Ids  # of the definitions in their files
    weights: Scores

    @classmethod
    def read(
        cls,
        connection: Connection,
        sources: Sequence[str],
        *,
        own: Collection[int] = (),
        with_all: bool = False,
    ) -> UseGraph:
        """Read the uses within each of `sources` (all if empty).

        `own`: ids of files whose uses of their own definitions count, too. `with_all`: whether
        vendored, generated and data files count, and all stubs.

        Joined in Python: SQLite takes three times as long, a third of a second for 40,000 chunks.
        """
        files = _read_files(connection, sources, with_all=with_all)
        _add_definitions(connection, files)
        counted = [number for number, file in files.items() if file.weight]
        uses = [
            (user, each.file, each.number, len(places), each.weight / len(meant) ** 2)
            for user, used in _used_by_file(connection, counted)
            for name, places in used.items()
            if (meant := files[user].names.get(name)) and len(meant) <= MAX_DEFINED
            if all(each.file != user for each in meant)  # else the file means its own
            for each in meant
            if each.weight
            if not each.class_name or each.class_name in used
            if not each.is_top or _is_plain(places, files[each.file].modules)
            if each.behind is None or _is_type(places, each.behind)
            if not each.is_exported or _IMPORTED.search(places)
        ]
        uses += [
            (user, user, here[0].number, len(places), files[user].weight or 1.0)
            for user, used in _used_by_file(connection, files.keys() & own)
            for name, places in used.items()
            for here in [[each for each in files[user].names.get(name, ()) if each.file == user]]
            if len(here) == 1 and here[0].is_shown
        ]
        columns = zip(*uses, strict=True) if uses else [()] * 5
        users, owners, numbers, lengths, weights = map(np.array, columns)
        return cls(users, owners, numbers, np.sqrt(lengths / 4.0) * weights)

    def ranks(self, start: Mapping[int, float]) -> dict[tuple[int, int], float]:
        """Return the rank of each used definition, by file and number; the sum is 1.

        `start`: weights of files by id; empty for all files alike.
        """
        files, ends = np.unique(np.concatenate([self.users, self.owners]), return_inverse=True)
        if not len(files):
            return {}
        users, owners = ends[: len(self.users)], ends[len(self.users) :]
        shares = self.weights / (np.bincount(users, self.weights, len(files)) + _DOUBT)[users]
        keys, used = np.unique(self.owners << 32 | self.numbers, return_inverse=True)

        def given(first: Scores) -> Scores:
            """Return what the files pass on to each definition if a reader begins at `first`."""
            rank = first
            for _ in range(_STEPS):
                passed_on = np.bincount(owners, shares * rank[users], len(files))
                rank = (1 - _DAMPING) * first + _DAMPING * passed_on
                rank /= rank.sum()
            return np.bincount(used, shares * rank[users]).astype(np.float64)

        alike = given(np.full(len(files), 1 / len(files)))
        first = np.array([start.get(int(file), 0.0) for file in files])
        if first.sum():
            near = given(first / first.sum())
            totals = near * (near / alike) ** _LIFT
        else:  # without the root, a helper of one central file would precede what all files use
            totals = alike * np.sqrt(np.bincount(used))
        totals = (totals / (totals.sum() or 1.0)).astype(np.float32)  # more bits vary with ids
        return {
            (key >> 32, key & 0xFFFFFFFF): total
            for key, total in zip(keys.tolist(), totals.tolist(), strict=True)
            if total > 0
        }


def read_entries(
    graph: Graph, ranks: Mapping[tuple[int, int], float], *, max_tokens: int
) -> list[MapEntry]:
    """Return the definitions of the highest rank that fit into the budget, grouped by file.

    Equal ranks are ordered by path, because ids depend on the order in which files were indexed.
    """
    by_path = graph.connection.execute(
        "SELECT id, source, filename FROM code_files ORDER BY source, filename"
    )
    place = {number: (at, file) for at, (number, *file) in enumerate(by_path)}
    chosen: dict[tuple[str, str], list[MapEntry]] = {}
    left = max_tokens * BYTES_PER_TOKEN
    for key in sorted(ranks, key=lambda key: (-ranks[key], place[key[0]], key[1])):
        if graph.is_deleted(*place[key[0]][1]):
            continue
        entry = graph.numbered(*key).as_place(MapEntry, score=rounded(ranks[key]))
        file = entry.source, entry.filename
        before = chosen.get(file, [])
        after = sorted([*before, entry], key=lambda each: each.start_line)
        left -= _bytes_shown(after) - _bytes_shown(before)
        if left < 0:
            break
        chosen[file] = after
    return [entry for entries in chosen.values() for entry in entries]


def _bytes_shown(entries: Sequence[MapEntry]) -> int:
    """Return the size of the map's lines that show `entries`, all of one file."""
    lines = [*(entry.filename for entry in entries[:1]), *(text for _, text in map_lines(entries))]
    return sum(len(line.encode()) + _MARGIN for line in lines)


def _read_files(
    connection: Connection, sources: Sequence[str], *, with_all: bool
) -> Mapping[int, _MapFile]:
    """Return the files of `sources` (all if empty) by id, without what they define."""
    among = f"source IN ({', '.join('?' * len(sources))})" if sources else "TRUE"
    rows: Any = list(
        connection.execute(
            f"SELECT id, source, language, filename FROM code_files WHERE {among}", tuple(sources)
        )
    )
    known = {(source, path) for _, source, _, path in rows}
    shared: dict[tuple[str, str], dict[str, list[_Defined]]] = {}  # by source and language
    files: dict[int, _MapFile] = {}
    for number, source, language, path in rows:
        is_stub = path.endswith(".pyi") and (source, path.removesuffix("i")) in known
        is_out = (is_data(path) or is_stub) and not with_all
        weight = 0.0 if is_out else _ASIDE if is_aside(path) else 1.0
        modules = {part.partition(".")[0] for part in path.split("/")[-2:]}
        names = shared.setdefault((source, language), {})
        files[number] = _MapFile(language, weight, modules, names)
    return files


def _add_definitions(connection: Connection, files: Mapping[int, _MapFile]) -> None:
    """Add what `files` define to the names that they share."""
    every: Any = connection.execute(
        "SELECT file, number, name, path, kind, signature FROM code_definitions"
        " WHERE length(name) > 2 OR (length(name) = 2 AND name <> lower(name))"
    )
    rows = [row for row in every if row[0] in files]
    types = {name for _, _, name, _, kind, _ in rows if kind in TYPES}
    hidden = {(file, path) for file, _, _, path, _, at in rows if _HIDDEN.match(at)}
    functions = {(file, path) for file, _, _, path, kind, _ in rows if kind in FUNCTIONS}
    modules = {file for file, _, name, path, _, at in rows if name == path and _EXPORT.match(at)}
    for number, at, name, path, kind, signature in rows:
        file, each = files[number], _LEFT_OUT
        if file.weight:
            weight = file.weight * _weight_of(file.language, name, path, kind, signature)
            scope, _, _ = path.rpartition(".")
            outer, _, around = scope.rpartition(".")
            if (number, scope) in functions and (outer or file.language not in _RETURNS_INNER):
                weight = 0.0
            if (number, scope) in hidden:
                weight = 0.0
            is_constructor = name == around
            behind = None
            if scoping_of(file.language).valueless and (kind in TYPES or is_constructor):
                behind = outer.rpartition(".")[2] if is_constructor else around
            is_script = file.language in _EXPORTING
            class_name = around if around in types or is_script else ""
            is_top = not around
            is_exported = is_top and is_script and number in modules
            each = _Defined(
                number, at, weight, class_name, is_top, is_exported, kind in _SHOWN, behind
            )
        file.names.setdefault(name, []).append(each)


def _used_by_file(
    connection: Connection, files: Collection[int]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each of `files` that uses names, with the places of each name."""
    rows: Any = connection.execute(
        "SELECT file, name, places FROM code_references"
        " WHERE file IN (SELECT value FROM json_each(?)) ORDER BY file",
        (json.dumps([*files]),),
    )
    for file, of_file in groupby(rows, key=itemgetter(0)):
        yield file, {name: places for _, name, places in of_file}


def _is_plain(places: str, modules: Collection[str]) -> bool:
    """Whether a name stands bare at one of `places`, or behind one of `modules`.

    Behind anything else it is a member: `text.lower()` is no function `lower`.
    """
    receivers = (place.partition("=")[0].partition(".")[2] for place in places.split(" "))
    return any(not receiver or receiver in modules for receiver in receivers)


def _is_type(places: str, behind: str) -> bool:
    """Whether a name of C# may be a type at one of `places`: bare, or behind what it lies in.

    `using Akka.Persistence` names a namespace, and `items.First()` a method.
    """
    parts = ((place[:1], place.partition("=")[0].partition(".")[2]) for place in places.split(" "))
    return any(how != "i" and receiver in ("", behind) for how, receiver in parts)


def _weight_of(language: str, name: str, path: str, kind: str, signature: str) -> float:
    """Return how likely other files mean a definition by its name; 0 if it is not shown."""
    if kind not in _SHOWN or _HIDDEN.match(signature):
        return 0.0
    is_public = kind == "macro" or signature.startswith("pub")
    if language == "rust" and (not is_public or in_tests((), path.rpartition(".")[0])):
        return 0.0
    is_kept = name[0] == "_" or (
        language in _EXPORTING and path == name and not signature.startswith("export ")
    )
    return (_PRIVATE if is_kept else 1.0) * (_METHOD if kind == "method" else 1.0)
