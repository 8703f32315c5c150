"""Tells whether a newer text near to an older one may contradict it, by their words alone.

It may where both say much the same, but the newer one speaks of a change, only one of them denies
something, or the same units have other numbers. Words of English and German are known. Most that
contradict each other in other words are missed; docs/ranking-experiments.md has the figures.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memory_sidecar.core.number_words import NUMBERS
from memory_sidecar.index.words import STOPWORDS, folded

NEAR = 0.7  # the cosine from which a memory may be about the same thing
SHARED_IF_CHANGED = 0.3  # the least share of words that both have, as Dice's coefficient
SHARED_IF_DENIED = 0.45
SHARED_IF_COUNTED = 0.6  # of the words of the one that has fewer
NEAR_IF_COUNTED = 0.84  # below that, the numbers are often those of two similar things

_DENIAL = re.compile(
    r"\b(?:never|not|no|none|avoid|forbidden|cannot|\w+n't|nicht|nie|niemals|kein(?:e[mnrs]?)?)\b"
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|since|again|after all|instead of|moved (?:to|from)|replaced"
    r"|(?:was|were) removed|switched (?:off|to)|dropped|frozen|shortened|lowered|raised"
    r"|jetzt|seit|statt|nicht mehr|kein\w* mehr)\b"
)
_NUMBER = re.compile(
    rf"(?<![\w./-])(\d[\d,.]*\d|\d|{'|'.join(NUMBERS)})(?![\w/-])\s*([^\W\d_]+|%)?"
)
_WORD = re.compile(r"[^\W\d_][\w-]{2,}")
_ENDING = re.compile(r"(?<=\w{3})(?:ments?|ations?|ions?|ings?|ie[sd]|e[drs]|[se])$")


class Doubt(StrEnum):
    """Why one of two memories may not hold any more."""

    CHANGED = "speaks of a change"
    DENIED = "only one of them says no"
    COUNTED = "other numbers"


def may_contradict(older: str, newer: str, *, cosine: float) -> Doubt | None:
    """Return why `newer` may contradict `older`; None if it hardly does. `cosine`: of both."""
    older, newer = (folded(text).lower().replace("\u2019", "'") for text in (older, newer))
    words, others = _subject(older), _subject(newer)
    if cosine < NEAR or not (words and others):
        return None
    shared = len(words & others)
    alike = 2 * shared / (len(words) + len(others))
    if alike >= SHARED_IF_CHANGED and _CHANGE.search(newer):
        return Doubt.CHANGED
    if alike >= SHARED_IF_DENIED and bool(_DENIAL.search(older)) != bool(_DENIAL.search(newer)):
        return Doubt.DENIED
    is_counted = cosine >= NEAR_IF_COUNTED and _count_otherwise(older, newer)
    if is_counted and shared >= SHARED_IF_COUNTED * min(len(words), len(others)):
        return Doubt.COUNTED
    return None


def _subject(text: str) -> set[str]:
    """Return the words of `text` that say what it is about, without their endings."""
    words = {word for word in _WORD.findall(text) if word not in STOPWORDS and word not in NUMBERS}
    return {_ENDING.sub("", word) for word in words if not _DENIAL.fullmatch(word)}


def _count_otherwise(older: str, newer: str) -> bool:
    """Whether one unit has numbers in both texts, and none that is the same."""
    counted, others = _numbers_of(older), _numbers_of(newer)
    return any(counted[unit].isdisjoint(others[unit]) for unit in counted.keys() & others.keys())


def _numbers_of(text: str) -> dict[str, set[str]]:
    """Return the numbers in `text` by the word after them, such as `minutes`."""
    found: dict[str, set[str]] = {}
    for number, unit in _NUMBER.findall(text):
        value = str(NUMBERS.index(number)) if number in NUMBERS else number.replace(",", "")
        if unit:
            found.setdefault(_ENDING.sub("", unit), set()).add(value)
    return found
