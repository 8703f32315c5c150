"""What two tellings of one session know together: all of either, each message once. Pure.

A transcript that was cut, compacted, rolled back or went on elsewhere tells a part of what is
known, and something new. The same message has the same id in both, else the same words at the same
place between the others.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memory_sidecar.core.times import parse_time

_TOLD_ONE_BY_ONE = ("messages", "code_snippets", "topics")
_IDENTIFYING = ("role", "content", "code")


def resumed(document: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """`document`, which tells more of the session `known`, with what that alone has."""
    told = {key: value for key, value in document.items() if value is not None}
    before, now = known.get("metadata"), told.get("metadata")
    if isinstance(before, dict) and isinstance(now, dict):
        first = {name: before[name] for name in ("imported_from",) if name in before}
        told["metadata"] = {**before, **now, **first}
    for name in _TOLD_ONE_BY_ONE:
        if isinstance(known.get(name), list) and isinstance(told.get(name), list):
            told[name] = together(known[name], told[name])
    began = [each.get("created_at") for each in (known, told)]
    if all(parse_time(each) is not None for each in began):
        told["created_at"] = min(began, key=lambda each: parse_time(each) or 0)
    return {**known, **told}


def together(known: Sequence[Any], told: Sequence[Any]) -> list[Any]:
    """The items of both, each once: in the order of either, and in that of time between."""
    ids = _ids(known) & _ids(told)
    same = _same([_key(each, ids) for each in known], [_key(each, ids) for each in told])
    found: list[Any] = []
    at = told_at = 0
    for place, told_place in [*same, (len(known), len(told))]:
        found += _in_time(known[at:place], told[told_at:told_place])
        found += map(_newer, known[place : place + 1], told[told_place : told_place + 1])
        at, told_at = place + 1, told_place + 1
    return found


def _same(known: Sequence[str], told: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places that hold the same item, ascending: items said once, and their neighbours.

    What is said often, such as "go on", is only matched as a neighbour of what matches.
    """
    once = _once(known)
    places = _ascending([(once[key], at) for key, at in _once(told).items() if key in once])
    found: list[tuple[int, int]] = []
    for end, told_end in [*places, (len(known), len(told))]:
        at, told_at = found[-1] if found else (-1, -1)
        at, told_at = at + 1, told_at + 1
        while at < end and told_at < told_end and known[at] == told[told_at]:
            found.append((at, told_at))
            at, told_at = at + 1, told_at + 1
        if end == len(known):
            break
        above: list[tuple[int, int]] = [(end, told_end)]
        while (end := end - 1) >= at and (told_end := told_end - 1) >= told_at:
            if known[end] != told[told_end]:
                break
            above.append((end, told_end))
        found += reversed(above)
    return found


def _once(keys: Sequence[str]) -> dict[str, int]:
    """The place of each key that is there once."""
    counts = Counter(keys)
    return {key: at for at, key in enumerate(keys) if counts[key] == 1}


def _ascending(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of `places`, which ascend by the second number, that ascend by the first as well.

    By patience sorting: of every length the chain that ends lowest.
    """
    ends: list[int] = []
    last: list[int] = []  # the index of the place with which each of those chains ends
    before: list[int] = []  # of each place, the index of the one before it in its chain
    for index, (at, _) in enumerate(places):
        length = bisect_left(ends, at)
        ends[length : length + 1] = [at]
        last[length : length + 1] = [index]
        before.append(last[length - 1] if length else -1)
    chain = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(places[index])
        index = before[index]
    return chain[::-1]


def _ids(items: Sequence[Any]) -> set[str]:
    ids = (item.get("id") for item in items if isinstance(item, Mapping))
    return {each for each in ids if isinstance(each, str)}


def _key(item: object, ids: set[str]) -> str:
    """What tells that two items are the same; `ids` are in both tellings."""
    if isinstance(item, Mapping):
        if isinstance(known_as := item.get("id"), str) and known_as in ids:
            return known_as
        item = [item.get(name) for name in _IDENTIFYING]
    return json.dumps(item)


def _newer(before: Any, now: Any) -> Any:  # noqa: ANN401  items of JSON
    """The item as it is told now; with its former words where those of now are cut off."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return now
    was, content = before.get("content"), now.get("content")
    is_cut = isinstance(was, str) and isinstance(content, str) and was.startswith(content)
    return {**before, **now, **({"content": was} if is_cut else {})}


def _in_time(known: Sequence[Any], told: Sequence[Any]) -> list[Any]:
    """The items that only one telling has at this place, ordered by time if all have one."""
    items = [*known, *told]
    moments = [
        parse_time(item.get("created_at")) if isinstance(item, Mapping) else None for item in items
    ]
    if not known or not told or None in moments:
        return items
    return [items[at] for at in sorted(range(len(items)), key=lambda at: moments[at] or 0)]
