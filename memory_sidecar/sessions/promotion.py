"""What of a session is worth remembering beyond it. Pure: nothing is written here.

    key decisions → pattern    problems solved → pitfall    user note → preference
    brief → outcome

Every candidate points back to its session as evidence. What a memory said when it was recalled is
not in the summary's own words and is not promoted again: the extract leaves it out, and whoever
writes the candidates drops those that are known already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_sidecar.sessions.model import Session, Summary

EVIDENCE_PREFIX = "session:"
MIN_WORDS = 3  # "Use JWT now" tells something, "JWT" alone does not

_RECALLED = re.compile(r"<(?:memory|memories|recalled)\b", re.IGNORECASE)
_NO_TAG = re.compile(r"[^\w.\-]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that a session suggests."""

    category: str
    text: str
    tags: tuple[str, ...]
    evidence: tuple[str, ...]


def candidates(session: Session, summary: Summary) -> tuple[Candidate, ...]:
    """The memories that `summary`, of `session`, suggests; some may say the same."""
    topics = tuple(dict.fromkeys(_tag(topic) for topic in session.topics))
    tags = (*topics, f"project:{_tag(session.project)}") if session.project else topics
    outcome = (f"outcome:{summary.outcome}",) if summary.outcome else ()
    suggested = [
        *(("pattern", text, tags) for text in summary.key_decisions),
        *(("pitfall", text, tags) for text in summary.problems_solved),
        ("preference", summary.user_note, tags),
        ("outcome", summary.brief, (*tags, *outcome)),
    ]
    evidence = (EVIDENCE_PREFIX + session.session_id,)
    found = []
    for category, text, its_tags in suggested:
        told = " ".join(text.split())
        if len(told.split()) < MIN_WORDS or _RECALLED.search(told):
            continue
        found.append(Candidate(category, told, its_tags, evidence))
    return tuple(found)


def _tag(text: str) -> str:
    return _NO_TAG.sub("-", text).strip("-")
