"""Merges two versions of one session: all messages of either, each once. Pure.

A transcript that was cut, compacted, rolled back or continued elsewhere holds a part of the known
messages, and new ones. The same message has the same id in both versions, or else the same words at
the same place among the others.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from typing import Any

from memory_sidecar.core.times import parse_time

_MERGED_LISTS = ("messages", "code_snippets", "topics")
_IDENTIFYING = ("role", "content", "code")


def merge_documents(document: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the later `document` of a session into the `known` one: it wins, but lists merge."""
    new = {key: value for key, value in document.items() if value is not None}
    before, now = known.get("metadata"), new.get("metadata")
    if isinstance(before, dict) and isinstance(now, dict):
        first = {name: before[name] for name in ("imported_from",) if name in before}
        new["metadata"] = {**before, **now, **first}
    for name in _MERGED_LISTS:
        if isinstance(known.get(name), list) and isinstance(new.get(name), list):
            new[name] = merge_items(known[name], new[name])
    began = [each.get("created_at") for each in (known, new)]
    if all(parse_time(each) is not None for each in began):
        new["created_at"] = min(began, key=lambda each: parse_time(each) or 0)
    return {**known, **new}


def merge_items(known: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Merge two lists of items, each once: in the order of both, and by time in between."""
    ids = _ids(known) & _ids(new)
    same = _match_items([_key(each, ids) for each in known], [_key(each, ids) for each in new])
    same = _match_parts(list(map(_key_in_time, known)), list(map(_key_in_time, new)), same)
    found: list[Any] = []
    at = new_at = 0
    for place, new_place in [*same, (len(known), len(new))]:
        found += _order_by_time(known[at:place], new[new_at:new_place])
        found += map(_merge_item, known[place : place + 1], new[new_place : new_place + 1])
        at, new_at = place + 1, new_place + 1
    return found


def _match_items(known: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair the places that hold the same item, ascending: unique items, and their neighbours.

    Repeated items, such as "go on", only match as neighbours of items that match.
    """
    once = _unique_places(known)
    places = _longest_ascending(
        [(once[key], at) for key, at in _unique_places(new).items() if key in once]
    )
    found: list[tuple[int, int]] = []
    for end, new_end in [*places, (len(known), len(new))]:
        at, new_at = found[-1] if found else (-1, -1)
        at, new_at = at + 1, new_at + 1
        while at < end and new_at < new_end and known[at] == new[new_at]:
            found.append((at, new_at))
            at, new_at = at + 1, new_at + 1
        if end == len(known):
            break
        above: list[tuple[int, int]] = [(end, new_end)]
        while (end := end - 1) >= at and (new_end := new_end - 1) >= new_at:
            if known[end] != new[new_end]:
                break
            above.append((end, new_end))
        found += reversed(above)
    return found


def _match_parts(
    known: Sequence[str], new: Sequence[str], same: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Add to the pairs `same` those between two of them where one side holds all of the other's.

    So merging the same once more, as happens to a transcript after each session, adds nothing.
    """
    found: list[tuple[int, int]] = []
    at = new_at = 0
    for end, new_end in [*same, (len(known), len(new))]:
        left, new_left = range(at, end), range(new_at, new_end)
        if (places := _places_in(known, left, [new[each] for each in new_left])) is not None:
            found += zip(places, new_left, strict=True)
        elif (places := _places_in(new, new_left, [known[each] for each in left])) is not None:
            found += zip(left, places, strict=True)
        found.append((end, new_end))
        at, new_at = end + 1, new_end + 1
    return found[:-1]


def _places_in(
    keys: Sequence[str], among: Iterable[int], wanted: Iterable[str]
) -> list[int] | None:
    """Return the first places in `among` where `keys` hold `wanted` in order; None if nowhere."""
    left = iter(among)
    places = []
    for each in wanted:
        place = next((at for at in left if keys[at] == each), None)
        if place is None:
            return None
        places.append(place)
    return places


def _unique_places(keys: Sequence[str]) -> dict[str, int]:
    """Return the place of each key that occurs once."""
    counts = Counter(keys)
    return {key: at for at, key in enumerate(keys) if counts[key] == 1}


def _longest_ascending(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest part of `places`, which ascend by the second number, that ascends by both.

    By patience sorting: for each length it keeps the chain with the lowest end.
    """
    ends: list[int] = []
    last: list[int] = []  # the index of the place with which each of those chains ends
    before: list[int] = []  # of each place, the index of its predecessor in its chain
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
    """Return a key that the same items share: the id if it is in `ids`, those of both versions."""
    if isinstance(item, Mapping):
        if isinstance(known_as := item.get("id"), str) and known_as in ids:
            return known_as
        item = [item.get(name) for name in _IDENTIFYING]
    return json.dumps(item)


def _key_in_time(item: object) -> str:
    """Return a key that two items share if they say the same at the same time, or without times."""
    moment = item.get("created_at") if isinstance(item, Mapping) else None
    return f"{moment} {_key(item, set())}"


def _merge_item(before: Any, now: Any) -> Any:  # noqa: ANN401  items of JSON
    """Merge two versions of an item; the later one wins, but not if its text was cut off."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        return now
    was, content = before.get("content"), now.get("content")
    is_cut = isinstance(was, str) and isinstance(content, str) and was.startswith(content)
    return {**before, **now, **({"content": was} if is_cut else {})}


def _order_by_time(known: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Join the items that only one version has at this place, by time if all have one.

    Those of one version stay in its order: a program may note a message late.
    """

    def moment(item: object) -> int | None:
        return parse_time(item.get("created_at")) if isinstance(item, Mapping) else None

    if any(moment(item) is None for item in (*known, *new)):
        return [*known, *new]
    return list(merge(known, new, key=lambda item: moment(item) or 0))
