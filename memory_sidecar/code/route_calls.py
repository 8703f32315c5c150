"""Finds the code that calls a route: `get(`/users/${id}/orders`)` for `/users/42/orders`.

Only for a question that asks for calls: "frontend code that calls …", "who requests …". A call has
the path in one string, or puts the string together: what `${base}` and the like stand for may be
the beginning of the path, or a value in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from memory_sidecar.code.asides import is_code
from memory_sidecar.code.routes import (
    ANY,
    MAX_ROW,
    METHOD,
    PARAMETER,
    PARTLY,
    Segments,
    fitting_chunks,
)
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.store import StoredChunk

MAX_PATHS = 2  # in one question that are looked for

_PLACEHOLDER = r"\{\w*\}|:\w+|<[\w:]+>"
_PATH = re.compile(
    r"(?:\b(GET|POST|PUT|PATCH|DELETE)\s+)?(?<![^\s\"'`(=,])(?:https?://[\w.:-]+)?"
    rf"((?:/(?:[\w.~@%+-]+|{_PLACEHOLDER}))+)/?(?![\w/*])"
)
_CALLS = r"(?:call|fetch|hit|post|request|send|use)(?:e?[ds]|ing)?"
_CALLER = r"(?:front-?end|clients?|client-side|browser|ui|gui|web ?app|spa|callers?)"
_ASKS_FOR_CALLS = re.compile(  # of a question in which "/" stands for each path
    rf"\b{_CALLER}\s(?:.*\s)?{_CALLS}\s|\b{_CALLS}(?: to| of)? /|\bcallers of /"
    r"|/ (?:us|call|request|fetch)ed\b",
    re.IGNORECASE | re.DOTALL,
)
_ASKS_FOR_ROUTE = re.compile(
    r"\b(?:handle\w*|serve[sd]?|declare\w*|define\w*|implement\w*|routes?|endpoints?|controllers?"
    r"|backend|server)\b",
    re.IGNORECASE,
)
_STRING = re.compile(r"([fF$]@?|\+\s?)?([\"'`])((?:https?://|[/\w$#{])(?:(?!\2).)*)\2(\s?[+.]\s?)?")
_HOST = re.compile(r"\Ahttps?://[^/]*")
_VALUE = re.compile(rf"[$#]\{{[^{{}}]*\}}|%[sdv]|\$\w+|{_PLACEHOLDER}")
_DECLARED = re.compile(r"(?<![$#])\{|[/^]:\w|<")  # a parameter as routes have it


def chunks_calling_route(text: str, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks that call the routes of the paths in `text`, if it asks so."""
    wording = _PATH.sub("/", text)
    if not _ASKS_FOR_CALLS.search(wording) or _ASKS_FOR_ROUTE.search(wording):
        return []
    ids: dict[int, None] = {}
    for method, path in list(dict.fromkeys(_PATH.findall(text)))[:MAX_PATHS]:
        asked = tuple(_VALUE.sub(ANY, path.rstrip(".,")).strip("/").split("/"))
        calls = partial(_calls, asked, method.lower())
        ids |= dict.fromkeys(fitting_chunks(asked, rows, calls, is_wanted=_may_call))
    return [*ids]


def _may_call(chunk: StoredChunk) -> bool:
    return chunk.language == "html" or is_code(chunk.filename, chunk.language)


def _calls(asked: Segments, method: str, _: str, code: str) -> Iterator[tuple[int, float]]:
    """Yield each line of `code` that may call the route `asked` for, and what tells for it."""
    for number, row in enumerate(code.split("\n"), 1):
        if "/" not in row or len(row) > MAX_ROW:
            continue
        if best := max((_fit(asked, *each) for each in _STRING.findall(row)), default=0.0):
            yield number, best + METHOD * (method != "" and method in row.lower())


def _fit(asked: Segments, before: str, _: str, string: str, after: str) -> float:
    """Return what tells for `string`, put together with what is `before` and `after` it; or 0.

    Segments are compared from the last: what precedes the first may be the base of an address.
    """
    path = _VALUE.sub(ANY, _HOST.sub("", string).partition("?")[0])
    called = tuple(path.strip("/").split("/")) + ((ANY,) if after and path.endswith("/") else ())
    has_base = before.startswith("+") or called[0] == ANY
    if called[0] == ANY:
        called = called[1:]
    pairs = [*zip(reversed(asked), reversed(called), strict=False)]
    same = sum(segment == other != ANY for segment, other in pairs)
    values = sum(ANY in pair for pair in pairs)
    if not same or same + values < len(pairs):
        return 0.0
    further = len(called) - len(asked)
    fit = same + PARAMETER * values - PARAMETER * max(further, 0)
    fit += PARTLY * (further >= 0 or has_base)
    is_filled = before or not _DECLARED.search(string)
    return fit if is_filled else fit * PARTLY
