"""Finds the names and paths that a query quotes, and the defined names that are like them.

A word of a query counts as a name if it is written like one (`parse_args`, `HttpClient`,
`Cart.add`, `main()`, `src/app.py`) or is the whole query. So do a few words that are all of the
query (`parse args`), in every style, and those of a model that it asks for. Plain words in a
sentence do not count: a question about how to `set` a `name` is not about functions called `set`
and `name`.

`DefinedNames` finds which defined names an unfinished or mistyped name may mean. `code.named`
decides what a name that nothing defines stands for.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from memory_sidecar.code.classes import inherited
from memory_sidecar.code.data_models import model_names
from memory_sidecar.code.directory import Line, is_at, parse_place
from memory_sidecar.code.framing import LOOKS_LIKE_NAME
from memory_sidecar.code.graph import Defined, Graph
from memory_sidecar.code.name_parts import (
    QUALIFIER_SEPARATOR,
    definitions_meant,
    without_prototype,
)
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.model import MAX_QUERY_CHARACTERS
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.index.project_name import names_project
from memory_sidecar.index.words import MARKS, plain_words

MAX_FILES_AT_PATHS = 3  # that the paths in a sentence may mean, together
MAX_PLACES = 10  # of a qualified name; the chunk of each is looked up
MAX_NAMES = 32  # of each kind in a query
MAX_PARTS_ASKED = 8  # of an unknown name: SQLite takes no condition on 1,000
MAX_SPELLED = 4  # words of a name that is written apart

_NAME = re.compile(
    rf"[^\W\d][\w{MARKS}]*(?:(?:\.|::|->|#)[^\W\d][\w{MARKS}]*)*(?:\(\)|[?!](?![^\s`\"')]))?"
)
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]+\w")
_AROUND_NAME = re.compile(r"\A[\"'`@$&*:#]+|[\"'`]+\Z")  # around a query that is a name
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)<[^<>]*>\Z")
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z0-9]*")
_BETWEEN_WORDS = re.compile(r"[\s\"'`()<>\[\],;]+")
_PATH = re.compile(r"[\w\-+@]\.\w{1,10}$|[^/]/[^/]")
# A line behind a path as tracebacks, compilers and people write it, for `parse_place`: `", line 3`,
# `:line 3`, ` on line 3`, `":3`, `.php(3)`, `.cs(3,5)`; `:3` before the `:in` of Ruby.
_LINE = re.compile(
    r"(?:\"?,?(?: on)? |:)lines? (\d{1,9})\b|\":(\d{1,9})\b|(?<=\w) ?\((\d{1,9})(?:,\d+)*\)"
    r"|:(\d{1,9}):in\b"
)
# The first of the lines that linters list below a path: `src/add.ts`, then `  12:5  error …`.
_LINE_BELOW = re.compile(r"(\.\w{1,10})[ \t]*\n(?:[ -]*\n)?[ \t]*(\d{1,9})(?=:\d|[ \t])")
_LINE_OF = re.compile(r"\blines? (\d{1,9})(?:-\d+)? (?:of|in) ([\w./\\:-]*\w)")
_INNERMOST_LAST = re.compile(  # the frames of Python and pytest
    r"\bmost recent call last\b|\bFile \"[^\"\n]{1,256}\", line \d|\.py:\d+: in \w"
)
# What stands before the path of a file: in a diff, an address, the folder of installed modules
# (whose paths are those in their sources, too), or a quoted path with blanks.
_DIFF_SIDE = re.compile(r"^(---|\+\+\+) [ab]/", re.MULTILINE)
_ADDRESS = re.compile(r"\A[a-z][\w+.-]+:/+(?:\./)?", re.IGNORECASE)
_RELATIVE = re.compile(r"\A(?:\.\.?/)+")
_INSTALLED = re.compile(r"\A.*/(?:(?:site|dist)-packages|lib/python[\d.]+|rustc/\w{40})/")
# A module of one's own as other projects have it: `node_modules/@shop/cart/src/add.ts` may be
# `packages/cart/src/add.ts`, `gems/shop-1.2/lib/shop/cart.rb` `shop/lib/shop/cart.rb`.
_MODULE = re.compile(
    r"\A.*/(?:node_modules/(?:@[^/]+/)?|gems/|registry/src/[^/]+/)(?=[^/]+/[^/]+/)"
)
_VERSION = re.compile(r"(?<=\w)(?:@v?|-)\d+\.[\w.+-]*(?=/)")
_BEFORE_BLANK = re.compile(r"(?<=\")(?:/|[a-zA-Z]:[/\\])[^\"\n]{0,256} [^\"\n/\\]{0,64}(?=[/\\])")
_MAX_PATH = 256

MAX_SIMILAR_NAMES = 10  # that an unknown name may stand for
MAX_COMPARED = 20_000  # names compared with an unknown one: a tenth of a second
MIN_LIKENESS = 0.7  # ratio of difflib, 0…1, of a suggested name
MAX_NEAREST_NAMES = 3  # suggestions

_LAST = "\U0010ffff"  # sorts after every name


@dataclass(frozen=True, slots=True)
class QueryNames:
    """The names and paths in the text of a query."""

    symbols: tuple[tuple[str, ...], ...]  # each with its qualifiers: ("Cart", "add")
    tokens: tuple[str, ...]  # the same as written; and a query of one word, whatever that is
    is_single_word: bool  # whether the query is one word
    paths: tuple[str, ...]  # as written, with / for \, without an address or install folder before
    lines: tuple[tuple[str, int], ...] = ()  # each path that comes with a line, and that line
    undefined: tuple[str, ...] = ()  # of `tokens`: those that nothing defines, once looked for

    def without(self, projects: Collection[str]) -> QueryNames:
        """Return these names without those of `projects`."""

        def is_project(name: str) -> bool:
            return any(names_project(name, project) for project in projects)

        symbols = (name for name in self.symbols if not is_project("".join(name)))
        tokens = (token for token in self.tokens if not is_project(token))
        return replace(self, symbols=tuple(symbols), tokens=tuple(tokens))

    def are_defined_by(self, symbols: Collection[str], scope: str) -> bool:
        """Whether a chunk that defines `symbols` inside `scope` defines one of these names.

        All qualifiers of the name must be among the symbols or the parts of the scope.
        """
        if not self.symbols or not any(name[-1] in symbols for name in self.symbols):
            return False
        around = {*symbols, *scope.split(".")}
        return any(
            name[-1] in symbols and all(qualifier in around for qualifier in name[:-1])
            for name in self.symbols
        )

    def match_paths(self, filenames: Iterable[str]) -> list[bool]:
        """Return, for each of `filenames`, whether it is one of the paths or ends in one.

        All False if a sentence matches many: one about `package.json` in a project with dozens of
        them is about none in particular.
        """
        paths = self.paths  # mostly none
        matches = [bool(paths) and any(is_at(name, path) for path in paths) for name in filenames]
        is_specific = self.is_single_word or sum(matches) <= MAX_FILES_AT_PATHS
        return matches if is_specific else [False] * len(matches)

    def row_in(self, hit: CodeHit) -> int | None:
        """Return the row in the code of `hit` of a line that is named, from 0; None without one."""
        rows = (line - hit.start_line for path, line in self.lines if is_at(hit.filename, path))
        return next((row for row in rows if 0 <= row <= hit.end_line - hit.start_line), None)


def names_in(text: str) -> QueryNames:
    """Find the names and paths in the text of a query, up to MAX_QUERY_CHARACTERS.

    Its lines keep their order, except that tracebacks of Python and pytest are reversed: their
    innermost frame comes first, too.
    """
    query = text[:MAX_QUERY_CHARACTERS].strip()
    is_single_word = len(query.split()) == 1
    if is_single_word:
        query = _AROUND_NAME.sub("", query) or query
    whole = (query, _TYPE_ARGUMENTS.sub("", query))
    symbols, tokens = [], [query.removesuffix("()") or query] if is_single_word else []
    tokens += _FLAG.findall(query)
    for match in _NAME.finditer(query):
        word = match.group()
        if is_single_word and word == query and word[-1] in "?!":
            # `empty?` as Ruby and Elixir name it, or a question about `empty`
            symbols += [tuple(QUALIFIER_SEPARATOR.split(name)) for name in (word, word[:-1])]
            continue
        if match.end() == len(query):
            word = word.rstrip("?!")
        if word in whole or LOOKS_LIKE_NAME.search(word):
            tokens.append(word.removesuffix("()"))
            symbols.append(tuple(QUALIFIER_SEPARATOR.split(tokens[-1])))
    places = list(_places_in(query))
    lines = [place for place in places if place[1]]
    if _INNERMOST_LAST.search(query):
        lines.reverse()
    if not tokens and not places:
        named = model_names(query) or _names_spelled(query.split())
        symbols += [(name,) for name in named]
    return QueryNames(
        symbols=tuple(dict.fromkeys(symbols))[:MAX_NAMES],
        tokens=tuple(dict.fromkeys(tokens))[:MAX_NAMES],
        is_single_word=is_single_word,
        paths=tuple(dict.fromkeys(path for path, _ in places))[:MAX_NAMES],
        lines=tuple(dict.fromkeys(lines))[:MAX_NAMES],
    )


def _places_in(query: str) -> Iterator[tuple[str, int]]:
    """Yield each path in `query`, with its line or 0."""
    text = _BEFORE_BLANK.sub("", _DIFF_SIDE.sub(r"\1 ", query))
    text = _LINE_BELOW.sub(r"\1:\2 ", _LINE_OF.sub(r"\2:\1", text))
    text = _LINE.sub(lambda found: f":{found[found.lastindex or 0]} ", text)
    for part in _BETWEEN_WORDS.split(text):
        word = part.replace("\\", "/").rstrip(".:?!")
        if len(word) > _MAX_PATH:
            continue
        path, line, _ = parse_place(word) or (word, 0, 0)
        if _PATH.search(path):
            whole = _RELATIVE.sub("", _INSTALLED.sub("", _ADDRESS.sub("/", path)))
            in_module = _VERSION.sub("", _MODULE.sub("", whole))
            yield from dict.fromkeys(((whole, line), (in_module, line)))


def is_one_typo_apart(name: str, other: str) -> bool:
    """Whether one letter added, removed or replaced, or two swapped, turn `name` into `other`."""
    start = 0
    while start < min(len(name), len(other)) and name[start] == other[start]:
        start += 1
    name, other = name[start:], other[start:]
    while name and other and name[-1] == other[-1]:
        name, other = name[:-1], other[:-1]
    return max(len(name), len(other)) <= 1 or (len(name) == 2 and name == other[::-1])


def _names_spelled(words: Sequence[str]) -> list[str]:
    """Return `words` as a name in each style, such as parse_args, if they are few and plain."""
    if not 2 <= len(words) <= MAX_SPELLED or not all(map(_PLAIN_WORD.fullmatch, words)):
        return []
    lower = [word.lower() for word in words]
    pascal = "".join(map(str.capitalize, lower))
    snake = "_".join(lower)
    return [snake, snake.upper(), pascal, lower[0] + pascal[len(lower[0]) :], "".join(lower)]


def _normalized(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


class DefinedNames:
    """The names that `sources` (all if empty) define."""

    def __init__(self, connection: Connection, sources: Collection[str]) -> None:
        self._connection = connection
        self._sources = sources

    def nearest(self, name: str) -> list[str]:
        """Return the names that are most like `name`, best first.

        Case and underscores do not count: `parseArgs` is like `parse_args` and `HttpParseArgs`.
        Of very many names, only those of the most similar length are compared.
        """
        names = sorted(self._where("TRUE"), key=lambda each: abs(len(each) - len(name)))
        known = by_key((_normalized(other), other) for other in names[:MAX_COMPARED])
        near = get_close_matches(_normalized(name), known, n=MAX_NEAREST_NAMES, cutoff=MIN_LIKENESS)
        return [other for normalized in near for other in known[normalized]]

    def places_of(self, name: Sequence[str], *, of_bases: bool = True) -> Iterator[Line]:
        """Yield the first lines that define the qualified `name`.

        They may lie outside of what qualifies it: `void Cart::add()`, `func (c *Cart) Add()`; or in
        a base of the class that it names, if `of_bases`.
        """
        if len(name) < 2 or len(parts := without_prototype(list(name))) < 2:
            return
        graph = Graph(self._connection)
        near = self._in_sources(graph.defined_near(parts[-1], parts[-2]))
        found = definitions_meant(parts, near)
        if not found and of_bases and self.has(parts[-1]):
            found = self._in_sources(inherited(graph, *parts[-2:]))
        for each in found[:MAX_PLACES]:
            yield Line(each.at.file.source, each.at.file.path, each.start_line)

    def _in_sources(self, found: Iterable[Defined]) -> list[Defined]:
        return [d for d in found if not self._sources or d.at.file.source in self._sources]

    def has(self, name: str) -> bool:
        """Whether anything but a field is called `name`: chunks of some languages name no field."""
        return bool(self._where("name = ? AND kind <> 'field'", name))

    def places_called(self, name: str, *, fields: bool = False) -> list[Line]:
        """Return the first lines of what is called `name` but fields; of `fields`, if asked."""
        places = (
            "SELECT source, filename, start_line FROM code_definitions JOIN code_files ON id = file"
            " WHERE name = ?1 AND (kind = 'field') = ?2"
            " AND (?3 = '[]' OR source IN (SELECT value FROM json_each(?3)))"
        )
        wanted = (name, fields, json.dumps(sorted(self._sources)))
        return [Line(*place) for place in self._connection.execute(places, wanted)]

    def with_prefix(self, prefix: str) -> list[str]:
        """Return the names that begin with `prefix`; none if there are many."""
        return _unless_many(self._where("name BETWEEN ? AND ?", prefix, prefix + _LAST))

    def in_any_case(self, prefix: str) -> list[str]:
        """Return the names equal to `prefix` ignoring case, else ignoring `_` and `-` as well.

        Else those that begin with it ignoring case. None if there are many.
        """
        plain = _normalized(prefix)
        begins = "lower(substr(name, 1, length(?3))) = lower(?3)"
        is_alike = "?4 <> '' AND lower(replace(replace(name, '_', ''), '-', '')) = ?4"
        found = self._with_first_letter(prefix, f"({begins} OR ({is_alike}))", prefix, plain)
        same = [other for other in found if other.lower() == prefix.lower()]
        alike = [other for other in found if _normalized(other) == plain]
        return _unless_many(same or alike or found)

    def same_but_for_case(self, name: str) -> list[str]:
        """Return the names equal to `name` but for the case of letters; none if there are many."""
        return _unless_many(self._with_first_letter(name, "lower(name) = lower(?3)", name))

    def one_typo_from(self, name: str) -> list[str]:
        """Return the names one typo away, else so in another style; none if many.

        They have the same first letter, in any case.
        """
        plain, parts = _normalized(name), len(plain_words(name))
        is_as_long = "abs(length(replace(replace(name, '_', ''), '-', '')) - ?3) <= 1"
        near = self._with_first_letter(name, is_as_long, len(plain))
        return _unless_many(
            [other for other in near if is_one_typo_apart(name, other)]
            or [other for other in near if is_one_typo_apart(name.lower(), other.lower())]
            or [
                other
                for other in near
                if len(plain_words(other)) == parts and is_one_typo_apart(plain, _normalized(other))
            ]
        )

    def with_parts(self, name: str) -> list[str]:
        """Return the names that have all parts of `name`, in any order, and the fewest others.

        `easy_perform` and `performCurl` stand for `curl_easy_perform`. None if there are many, of a
        name of one part if many have it.
        """
        parts = Counter(plain_words(name))
        rare = sorted(parts, key=len)[-MAX_PARTS_ASKED:]
        holds = " AND ".join(["instr(lower(name), ?)"] * len(rare)) or "FALSE"
        named = [(plain_words(other), other) for other in self._where(holds, *rare)]
        found = [(len(words), other) for words, other in named if parts <= Counter(words)]
        fewest = min(found, default=(0, ""))[0]
        is_plain = parts.total() == 1
        return _unless_many([other for count, other in found if is_plain or count == fewest])

    def _with_first_letter(self, name: str, condition: str, *values: str | int) -> list[str]:
        """Return the names that begin with the first letter of `name` in any case.

        They satisfy the SQL `condition` on `values`, which are ?3 and on.
        """
        condition = f"name BETWEEN ?1 AND ?2 AND {condition}"
        return [
            other
            for first in sorted({name[0].lower(), name[0].upper()})
            for other in self._where(condition, first, first + _LAST, *values)
        ]

    def _where(self, condition: str, *values: str | int) -> list[str]:
        """Return the names of definitions that satisfy the SQL `condition` on `values`."""
        if self._sources:
            is_file = "id = file AND source IN (SELECT value FROM json_each(?))"
            condition += f" AND EXISTS (SELECT 1 FROM code_files WHERE {is_file})"
            values = (*values, json.dumps(sorted(self._sources)))
        names = f"SELECT DISTINCT name FROM code_definitions WHERE {condition}"
        return column(self._connection, names, values)


def _unless_many(names: list[str]) -> list[str]:
    return names if len(names) <= MAX_SIMILAR_NAMES else []
