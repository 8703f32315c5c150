"""Tells whether a newer text near to an older one may contradict it, by their words alone.

It may where a clause of the newer one speaks of a change, or one of either says no, to what the
other says word by word; or where both have the same words, but for one number. Words of English and
German are known. Most that contradict each other in other words are missed, so that few are told in
vain; docs/ranking-experiments.md has the figures.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from memory_sidecar.core.number_words import NUMBERS
from memory_sidecar.index.words import STOPWORDS, folded

NEAR = 0.7  # the cosine from which a memory may be about the same thing
SHARED = 0.3  # the least share of words that both have, as Dice's coefficient
NEAR_IF_COUNTED = 0.84  # below that, the numbers are often those of two similar things

_DENIAL = re.compile(
    r"\b(?:never|not|no|none|avoid|forbidden|cannot|\w+n't|nicht|nie|niemals|kein(?:e[mnrs]?)?)\b"
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|(?:is|are|was|were) switched off|switched to"
    r"|(?:was|were) (?:removed|dropped|replaced|moved|raised|lowered|shortened)"
    r"|jetzt|nicht mehr|kein\w* mehr)\b"
)
# Of what stands beside the older text, not against it.
_ADDITION = re.compile(r"\b(?:also|too|as well|even|auch)\b")
_NUMBER = re.compile(rf"(\d[\d,.]*\d|\d|\b(?:{'|'.join(NUMBERS)})\b)\s*([^\W\d_]+|%)?")
_DIGITS = re.compile(r"\d+")
_CLAUSE_END = re.compile(r"[,;:.!?]\s|\n|\b(?:because|by|weil)\b")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_EMPTY = {*STOPWORDS, *NUMBERS}
_ENDING = re.compile(r"(?<=\w{3})(?:'s|ments?|ations?|ions?|ings?|ie[sd]|e[drs]|[se])$")


class Doubt(StrEnum):
    """Why one of two memories may not hold any more."""

    CHANGED = "speaks of a change"
    DENIED = "only one of them says no"
    COUNTED = "other numbers"


def may_contradict(older: str, newer: str, *, cosine: float) -> Doubt | None:
    """Return why `newer` may contradict `older`; None if it hardly does. `cosine`: of both."""
    older, newer = (folded(text).lower().replace("\u2019", "'") for text in (older, newer))
    words, others = _subject(older), _subject(newer)
    shared = len(words & others)
    is_beside = _ADDITION.search(newer) is not None
    if cosine < NEAR or is_beside or not shared or 2 * shared < SHARED * (len(words) + len(others)):
        return None
    if not _CHANGE.search(older) and _takes_back(newer, _CHANGE, words):
        return Doubt.CHANGED
    if _denies(newer, older) or _denies(older, newer):
        return Doubt.DENIED
    if words == others and cosine >= NEAR_IF_COUNTED and _count_otherwise(older, newer):
        return Doubt.COUNTED
    return None


def _denies(text: str, other: str) -> bool:
    """Whether `text` says no to what `other` says without a no, with the same numbers."""
    return not _DENIAL.search(other) and any(
        _takes_back(clause, _DENIAL, _subject(other))
        and set(_DIGITS.findall(clause)) <= set(_DIGITS.findall(other))
        for clause in _CLAUSE_END.split(text)
    )


def _takes_back(text: str, cue: re.Pattern[str], said: frozenset[str]) -> bool:
    """Whether a clause of `text` has the `cue`, and no words of its own but those `said`."""
    subjects = (_subject(clause) for clause in _CLAUSE_END.split(text) if cue.search(clause))
    return any(subject and subject <= said for subject in subjects)


@lru_cache(maxsize=64)  # a new text is compared with up to 20 others, clause by clause
def _subject(text: str) -> frozenset[str]:
    """Return the words of `text` that say what it is about, without their endings."""
    words = _WORD.findall(_DENIAL.sub(" ", _CHANGE.sub(" ", text)))
    return frozenset(_ENDING.sub("", word) for word in words if word not in _EMPTY)


def _count_otherwise(older: str, newer: str) -> bool:
    """Whether the texts differ in one number, that of one unit, such as `minutes`."""
    counted, others = _numbers_of(older), _numbers_of(newer)
    differing = [*(counted - others), *(others - counted)]
    units = {unit for _, unit in differing}
    return len(differing) == 2 and len(units) == 1 and not units & {"", *STOPWORDS}


def _numbers_of(text: str) -> set[tuple[str, str]]:
    """Return the numbers in `text`, each with the word after it."""
    return {
        (
            str(NUMBERS.index(number)) if number in NUMBERS else number.replace(",", ""),
            unit if unit in STOPWORDS else _ENDING.sub("", unit),
        )
        for number, unit in _NUMBER.findall(text)
    }
