"""What of a session is worth remembering beyond it. Pure: nothing is written here.

    key decisions → pattern    problems solved → pitfall    user note → preference
    brief → outcome

Every candidate points back to its session as evidence. A memory that was recalled in the session is
not promoted again: the extract leaves its words out, and `agents.promotion` leaves out candidates
that are known already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from memory_sidecar.core.results import about
from memory_sidecar.sessions.model import Session, Summary

EVIDENCE_PREFIX = "session:"
MAX_EVIDENCE = 50  # sessions that one outcome names
MIN_WORDS = 3  # "Use JWT now" tells something, "JWT" alone does not

_RECALLED = re.compile(r"<(?:memory|memories|recalled)\b", re.IGNORECASE)
_NO_TAG = re.compile(r"[^\w.\-]+")


class Fate(StrEnum):
    """What becomes of a candidate."""

    NEW = "new"  # in a preview
    STORED = "stored"
    KNOWN = "known"  # a memory says it in the same words
    NEAR = "near"  # a memory says nearly the same
    REPEATED = "repeated"  # another candidate says the same, or nearly
    REFUSED = "refused"  # it seems to hold a secret
    SHORT = "short"  # too few words to tell anything


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that a session suggests to remember, and what becomes of it."""

    category: str
    text: str
    tags: tuple[str, ...]
    evidence: tuple[str, ...]
    fate: Fate = Fate.NEW
    agent: Annotated[str, about("whose memory says it, or empty")] = ""
    path: Annotated[str, about("of the memory that says it, or empty")] = ""
    cosine: Annotated[float | None, about("of the two")] = None
    repeats: Annotated[str, about("the text of the other candidate that it repeats, or empty")] = ""


def candidates(
    session: Session, summary: Summary, *, with_brief: bool = True
) -> tuple[Candidate, ...]:
    """The memories that `summary`, of `session`, suggests; some may say the same."""
    topics = tuple(dict.fromkeys(_tag(topic) for topic in session.topics))
    tags = (*topics, f"project:{_tag(session.project)}") if session.project else topics
    outcome = (f"outcome:{summary.outcome}",) if summary.outcome else ()
    suggested = [
        *(("pattern", text, tags) for text in summary.key_decisions),
        *(("pitfall", text, tags) for text in summary.problems_solved),
        ("preference", summary.user_note, tags),
        ("outcome", summary.brief if with_brief else "", (*tags, *outcome)),
    ]
    evidence = (EVIDENCE_PREFIX + session.session_id,)
    found = []
    for category, text, its_tags in suggested:
        told = " ".join(text.split())
        if told and not _RECALLED.search(told):
            fate = Fate.NEW if len(told.split()) >= MIN_WORDS else Fate.SHORT
            found.append(Candidate(category, told, its_tags, evidence, fate))
    return tuple(found)


def outcome_of(
    session: Session, summary: Summary, tag: str, session_ids: Sequence[str]
) -> Candidate:
    """What `session`, many as one, came to: with its most central sentences, and all as evidence.

    Of very many only the latest are named.
    """
    topics = [tag] if tag else []
    topics += [_tag(topic) for topic in session.topics if topic != tag.lower()]
    topics += [f"outcome:{summary.outcome}"] if summary.outcome else []
    evidence = [EVIDENCE_PREFIX + each for each in session_ids[-MAX_EVIDENCE:]]
    text = summary.detailed or summary.brief
    return Candidate("outcome", text, tuple(dict.fromkeys(topics)), tuple(evidence))


def all_briefs(summaries: Sequence[Summary]) -> Summary:
    """What sessions came to, the latest last: their briefs."""
    briefs = dict.fromkeys(each.brief for each in summaries)
    sentences = (brief if brief.endswith((".", "!", "?")) else f"{brief}." for brief in briefs)
    last = summaries[-1]
    return Summary(brief=last.brief, detailed=" ".join(sentences), outcome=last.outcome)


def _tag(text: str) -> str:
    return _NO_TAG.sub("-", text).strip("-")
