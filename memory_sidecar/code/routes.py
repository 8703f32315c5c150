"""Finds where the route of a path is declared: `/users/42/orders` leads to `"/users/:id/orders"`.

No framework is known here. Any string may declare a route, or a symbol of Ruby, if its segments are
the last ones of the path; one such as `:id`, `{id}` or `<int:id>` is any segment. What stands
before them is looked for in the strings around it, by their indent, in those above it, and in the
path of its file. A string that is put together, as by `${id}`, uses a route and declares none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.directory import Line
from memory_sidecar.code.keys import DATA
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.index.keyword import stems_of

MAX_PATHS = 2  # in one question that are looked for
MAX_CHUNKS = 1000  # that are looked at for each: those that hold most of its words
MAX_CHUNKS_READ = 50  # those in whose strings most of its segments stand
MAX_FILES = 12  # that are read, those in whose strings most of the segments stand
MAX_LINES = 2000  # of them, above and below the chunk in which most of the segments stand
MAX_ROW = 300  # characters; longer ones are generated
MAX_AROUND = 10  # outer lines of a line
MAX_FITTING = 5  # chunks that fit a path equally well

# What tells for a declaration, beside 1 for each segment that is the same: one for a parameter, or
# for a parameter and more; the share of those before it that are found above; the one before it in
# the path of its file; the method in its row. Less than LEAST of it tells nothing.
PARAMETER, PARTLY, ABOVE, IN_PATH, METHOD = 0.1, 0.5, 0.5, 0.5, 0.05
LEAST, LEAST_OF_PARAMETER = 1.0, PARAMETER + IN_PATH
LEAST_OF_WORD = 2.0  # a string without a slash may be anything

_PATH = re.compile(
    r"(?:\b(GET|POST|PUT|PATCH|DELETE)\s+)?(?<![^\s\"'`(=,])(?:https?://[\w.:-]+)?"
    r"((?:/[\w.~@%:+-]+){2,12})/?(?![\w/*{<])"
)
_STRING = re.compile(r"(?<![\w$])[br@]?([\"'`])((?:(?!\1).)*)\1|(?<![\w:]):(\w+)\b(?!:)")
_PUT_TOGETHER = re.compile(r"[$#]\{")
_PARAMETER = re.compile(r"\{[^{}]+\}|\(\?P<\w+>[^()]*\)|<[^<>]*>|:\w+(?:\([^()]*\))?[?+*]?|\*+\w*")
ANY, ANYTHING = "\0", "\1"  # stand for a parameter, and for `*`
_METHOD_OR_ANCHOR = re.compile(r"^[A-Z]+ (?=/)|^\^|(?:/\?)?\\?[$Z]$|[()]")
_SEGMENT = re.compile(r"[\w.~@%+\0\1-]+")
_RESOURCES = re.compile(r"resources?\b", re.IGNORECASE)  # declares `/:id` and `/:id/edit`, too

Segments = tuple[str, ...]
Ends = list[tuple[float, int]]
"""How well templates fit the end of a path, by how much of it: its first 0, 1, 2 … segments.

Each with the length of the one that fits best; (0, …) where none does.
"""

Fits = Callable[[str, str], Iterable[tuple[int, float]]]
"""Returns, of the path and the text of a file, the lines that fit a path, and how well."""


class Template(NamedTuple):
    """A string that may declare a route."""

    segments: Segments
    least: float  # of what must tell for it


def chunks_with_route(text: str, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks that declare the routes of the paths in `text`, if any do."""
    ids: dict[int, None] = {}
    for method, path in list(dict.fromkeys(_PATH.findall(text)))[:MAX_PATHS]:
        asked = tuple(path.rstrip(".,:").strip("/").split("/"))
        declarations = partial(_declarations, asked, method.lower())
        ids |= dict.fromkeys(fitting_chunks(asked, rows, declarations, is_wanted=_may_declare))
    return [*ids]


def fitting_chunks(
    asked: Segments, rows: CodeRows, fits: Fits, *, is_wanted: Callable[[StoredChunk], bool]
) -> list[int]:
    """Return the ids of the chunks with the lines that fit `asked` best; none of many.

    `fits` is asked of the files in whose strings most of `asked` stand, if their chunks are wanted.
    """
    best, at = 0.0, list[Line]()
    for stored, code in _likely_files(asked, rows, is_wanted):
        for line, fit in fits(stored.filename, code):
            at = [] if fit > best else at
            best = max(best, fit)
            if fit == best:
                at.append(Line(stored.source, stored.filename, line))
    found = dict.fromkeys(each for each in map(rows.chunk_at, at) if each is not None)
    return [*found] if len(found) <= MAX_FITTING else []


def _may_declare(chunk: StoredChunk) -> bool:
    return chunk.language not in DATA


def _likely_files(
    asked: Segments, rows: CodeRows, is_wanted: Callable[[StoredChunk], bool]
) -> Iterator[tuple[StoredChunk, str]]:
    """Yield a chunk and the text of each of the files in whose strings most of `asked` stand."""
    words = [each for each in asked if each != ANY]
    keywords = rows.keywords(" ".join(words))
    likely = rows.coverage_arm(keywords).best(MAX_CHUNKS)
    any_of = "|".join(map(re.escape, words))
    in_string = re.compile(rf"[\"'`/:]({any_of})(?=[\"'`/$?)<(,\s]|$)", re.MULTILINE)
    held = {
        each.chunk_id: {*in_string.findall(each.code)}
        for each in rows.texts_of(likely.tolist())
        if not is_aside(each.filename)
    }
    telling = {each: keywords.coverage(stems_of(each)) for each in words}

    def worth(segments: Collection[str]) -> tuple[int, float]:
        return len(segments), sum(map(telling.__getitem__, segments))

    most = sorted(filter(held.get, held), key=lambda chunk_id: worth(held[chunk_id]), reverse=True)
    files: dict[tuple[str, str], tuple[StoredChunk, set[str]]] = {}
    for each in rows.read(most[:MAX_CHUNKS_READ]):
        if is_wanted(each):
            file = files.setdefault((each.source, each.filename), (each, set()))
            file[1].update(held[each.chunk_id])
    best = sorted(files.values(), key=lambda file: worth(file[1]), reverse=True)[:MAX_FILES]
    for stored, _ in best:
        lines: list[str] = []
        for start, code in rows.code_around(stored, MAX_LINES):
            lines += [""] * (start - 1 - len(lines))  # blank lines are in no chunk
            lines[start - 1 :] = code.split("\n")
        yield stored, "\n".join(lines)


def _declarations(
    asked: Segments, method: str, path: str, code: str
) -> Iterator[tuple[int, float]]:
    """Yield each line of `code` that may declare the route `asked` for, and what tells for it.

    What other lines tell is kept by segment of `asked`: each line takes as long, however many.
    """
    words = {each for each in asked if not each.isdecimal()}
    any_of = "|".join(map(re.escape, words)) or r"\0"
    may_declare = re.compile(rf"[\"'`/^][:{{{{<*(]|[\"'`/:^](?:{any_of})(?![\w-])")
    around: list[tuple[int, Ends]] = []  # indents of outer lines, and what their strings fit
    above = _fitted_ends(asked, ())
    for number, row in enumerate(code.split("\n"), 1):
        if '"' not in row and "'" not in row and ":" not in row:
            continue
        indent = len(row) - len(row.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        if len(row) > MAX_ROW or not may_declare.search(row):
            continue
        if not (templates := {*_templates(row)}):
            continue
        tails = (0, 1, 2) if _RESOURCES.search(row) else (0,)
        outer = [ends for _, ends in around[: -MAX_AROUND - 1 : -1]]
        fits = (
            _fit(asked[: len(asked) - tail], each, outer, above, path.lower())
            for each in templates
            for tail in tails
        )
        if best := max(fits, default=0.0):
            yield number, best + METHOD * (method != "" and method in row.lower())
        segments = [each.segments for each in templates]
        around.append((indent, _fitted_ends(asked, segments)))
        named = [each for each in segments if not words.isdisjoint(each)]
        above = [*map(max, above, _fitted_ends(asked, named))]


def _fit(
    asked: Segments, template: Template, outer: Iterable[Ends], above: Ends, path: str
) -> float:
    """Return what tells for `template` as the declaration of `asked`, 0 for too little.

    `outer`: what the lines around it fit, from the innermost; `above`: what any line above fits.
    """
    fit = _match_end(asked, template.segments)
    if not fit:
        return 0.0
    left = len(asked) - len(template.segments)
    for ends in outer:
        for before, least in ((left, PARAMETER), (left - 1, 1.0)):  # one may be declared nowhere
            gain, length = ends[before] if before > 0 else (0.0, 0)
            if gain >= least:
                fit += gain
                left = before - length
                break
    if left:  # a prefix of another file
        fit += ABOVE * above[left][0]
        fit += IN_PATH * (asked[left - 1].lower().removesuffix("s") in path)
    return fit if fit >= max(template.least, (left - 1) / 2) else 0.0


def _fitted_ends(asked: Segments, templates: Collection[Segments]) -> Ends:
    ends = (asked[:length] for length in range(len(asked) + 1))
    fits = (((_match_end(end, each), len(each)) for each in templates) for end in ends)
    return [max(each, default=(0.0, 0)) for each in fits]


def _match_end(asked: Segments, template: Segments) -> float:
    """Return how well `template` fits the last segments of `asked`, 0 if it does not."""
    if len(template) > len(asked):
        return 0.0
    fit = 0.0
    for segment, pattern in zip(asked[-len(template) :], template, strict=True):
        if pattern == segment:
            fit += 1
        elif pattern == ANY:
            fit += PARAMETER
        elif pattern == ANYTHING:
            pass
        elif ANY in pattern and _is_filled(pattern, segment):
            fit += PARTLY
        else:
            return 0.0
    return fit


def _is_filled(pattern: str, segment: str) -> bool:
    """Whether `segment` is `pattern` with something in place of each parameter.

    An expression would try every way through `0000`, for as many parameters as a row has.
    """
    first, *inner, last = pattern.split(ANY)
    at = len(first)
    for part in inner:
        found = segment.find(part, at + 1)
        if found < 0:
            return False
        at = found + len(part)
    return segment.startswith(first) and segment.endswith(last) and at < len(segment) - len(last)


def _templates(row: str) -> Iterator[Template]:
    """Yield what may declare a route in `row`."""
    least_of_word = LEAST if _RESOURCES.search(row) else LEAST_OF_WORD
    for _, string, symbol in _STRING.findall(row):
        if symbol:
            yield Template((symbol,), least_of_word)
        elif string and not _PUT_TOGETHER.search(string):
            text = _PARAMETER.sub(
                lambda found: ANYTHING if found[0].startswith("*") else ANY, string
            )
            segments = tuple(_METHOD_OR_ANCHOR.sub("", text).strip("/").split("/"))
            if all(map(_SEGMENT.fullmatch, segments)):
                least = LEAST_OF_PARAMETER if segments[0] == ANY else LEAST
                yield Template(segments, least if "/" in string else least_of_word)
