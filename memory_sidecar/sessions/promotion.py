"""Suggests memories from the summary of a session, or of several merged. Pure.

    key decisions → pattern    problems solved → pitfall    user note → preference
    brief → outcome

Every candidate names its session as evidence, and the session's subject, which its sentence seldom
tells: "The old name stays as a deprecated alias". A user's note holds beyond its session, so it
names no subject. A memory that was recalled in the session is not promoted again: the extract omits
its words, and `agents.promotion` omits candidates that a memory says already.

A memory counts as changed when its session ended: one of last month gives way to what was stored
since, however late it is promoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from memory_sidecar.core.credentials import mask_credentials
from memory_sidecar.core.results import Time, about
from memory_sidecar.core.times import iso_utc
from memory_sidecar.index.words import count_words, is_word_character
from memory_sidecar.sessions.documents import EVIDENCE_PREFIX
from memory_sidecar.sessions.model import Session, Summary

MAX_EVIDENCE = 50  # sessions that one outcome names
MIN_WORDS = 3  # of a candidate: "Use JWT now" says something, "JWT" alone does not
MAX_TAG_CHARACTERS = 100  # of one made of a topic or a project; a memory takes 200

_RECALLED = re.compile(r"<(?:memory|memories|recalled)\b", re.IGNORECASE)


class Fate(StrEnum):
    """The outcome of judging a candidate."""

    NEW = "new"  # would be stored; final only in a dry run
    STORED = "stored"
    KNOWN = "known"  # a memory says it in the same words
    NEAR = "near"  # a memory says nearly the same
    REPEATED = "repeated"  # another candidate says the same, or nearly
    REFUSED = "refused"  # it seems to hold a secret
    SHORT = "short"  # too few words to say anything


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that a session suggests, and what becomes of it."""

    category: str
    text: str
    tags: tuple[str, ...]
    evidence: tuple[str, ...]
    said_at: Annotated[Time, about("when its session ended: the `updated_at` of the memory")]
    fate: Fate = Fate.NEW
    agent: Annotated[str, about("whose memory says it, or empty")] = ""
    path: Annotated[str, about("of the memory that says it, or empty")] = ""
    cosine: Annotated[float | None, about("of the two")] = None
    repeats: Annotated[str, about("the text of the other candidate that it repeats, or empty")] = ""
    resembles: Annotated[str, about("the path of one that may say it in other words")] = ""
    says: Annotated[str, about("how a memory begins that is near or resembles it, or empty")] = ""
    subject: Annotated[
        str, about("of the session, which the memory names in a line of its own; or empty")
    ] = ""

    @property
    def likeness(self) -> str:
        """The memory that it resembles, in words that follow others; empty if there is none."""
        if not self.resembles:
            return ""
        return f", resembles {self.resembles} ({self.cosine:.2f}){self._quoted}"

    @property
    def _quoted(self) -> str:
        return f', which says "{self.says}"' if self.says else ""

    @property
    def outcome(self) -> str:
        """What becomes of it, and why, in words for readers."""
        match self.fate:
            case Fate.NEAR:
                return f"nearly the same as {self.path}{self._quoted}"
            case Fate.KNOWN:
                return f"the same as {self.path}"
            case Fate.REPEATED:
                return f"left out, it repeats another one here: {self.repeats}"
            case Fate.REFUSED:
                return "refused: it seems to contain a secret"
            case Fate.SHORT:
                return "left out: too short to be useful"
            case Fate.STORED:
                return f"stored as {self.path}{self.likeness}"
            case Fate.NEW:
                return f"new{self.likeness}"


def candidates(
    session: Session, summary: Summary, *, with_brief: bool = True
) -> tuple[Candidate, ...]:
    """Suggest memories from the `summary` of `session`; some of them may say the same."""
    topics = _tags(session.topics)
    tags = (*topics, *(f"project:{tag}" for tag in _tags([session.project])))
    outcome = (f"outcome:{summary.outcome}",) if summary.outcome else ()
    suggested = [
        *(("pattern", text, tags) for text in summary.key_decisions),
        *(("pitfall", text, tags) for text in summary.problems_solved),
        ("preference", summary.user_note, tags),
        ("outcome", summary.brief if with_brief else "", (*tags, *outcome)),
    ]
    evidence = (EVIDENCE_PREFIX + session.session_id,)
    said_at = iso_utc(session.ended_at)
    subject = mask_credentials(session.subject(summary))
    found = []
    for category, text, its_tags in suggested:
        line = " ".join(text.split())
        if line and not _RECALLED.search(line):
            fate = Fate.NEW if count_words(line) >= MIN_WORDS else Fate.SHORT
            is_plain = category == "preference" or subject in line or _RECALLED.search(subject)
            about_it = "" if is_plain else subject
            found.append(
                Candidate(category, line, its_tags, evidence, said_at, fate, subject=about_it)
            )
    return tuple(found)


def make_outcome(
    merged: Session, summary: Summary, tag: str, sessions: Sequence[Session]
) -> Candidate:
    """Suggest one outcome of `sessions`, which were merged into `merged` and `summary`.

    Its evidence is the latest MAX_EVIDENCE of them.
    """
    tags = [tag] if tag else []
    tags += _tags(topic for topic in merged.topics if topic != tag.lower())
    tags += [f"outcome:{summary.outcome}"] if summary.outcome else []
    evidence = [EVIDENCE_PREFIX + each.session_id for each in sessions[-MAX_EVIDENCE:]]
    text = summary.detailed or summary.brief
    said_at = iso_utc(max(each.ended_at for each in sessions))
    return Candidate("outcome", text, tuple(dict.fromkeys(tags)), tuple(evidence), said_at)


def join_briefs(summaries: Sequence[Summary]) -> Summary:
    """Make one summary of the briefs of `summaries`, which are in order, the latest last."""
    briefs = dict.fromkeys(each.brief for each in summaries)
    last = summaries[-1]
    return Summary(brief=last.brief, detailed=join_sentences(briefs), outcome=last.outcome)


def join_sentences(sentences: Iterable[str]) -> str:
    """Join `sentences`, with a full stop behind each one that has no mark at its end."""
    return " ".join(each if _is_end(each[-1]) else f"{each}." for each in sentences)


def _is_end(mark: str) -> bool:
    # In ASCII, the category Po also has quotes, commas and percent signs.
    return mark in ".!?:;" if mark.isascii() else unicodedata.category(mark) == "Po"


def merge_sessions(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the sessions in `documents`, the oldest first, into one with all that was said in them.

    The summary of a session, if it has one, replaces its messages.
    """
    paths = {str(each.get("project_path") or "") for each in documents} - {""}
    topics = dict.fromkeys(topic for each in documents for topic in each.get("topics") or ())
    return {
        "session_id": documents[-1]["session_id"],
        "created_at": documents[0]["created_at"],
        "topics": list(topics),
        "messages": [message for each in documents for message in _messages_of(each)],
        "code_snippets": [code for each in documents for code in each.get("code_snippets") or ()],
        **({"project_path": paths.pop()} if len(paths) == 1 else {}),
    }


def _messages_of(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the messages of a session, or its summary as the only message."""
    summary = document.get("summary")
    if not summary:
        return document.get("messages") or ()
    texts = [summary.get("brief"), summary.get("detailed")]
    texts += [*(summary.get("key_decisions") or ()), *(summary.get("problems_solved") or ())]
    return [{"role": "assistant", "content": "\n".join(filter(None, texts))}]


def _tags(texts: Iterable[str]) -> tuple[str, ...]:
    """Make a tag of each of `texts` that has a letter or digit, each once."""
    tags = []
    for text in texts:
        shown = mask_credentials(text)  # a tag no longer tells that it holds one
        kept = (c if c in "_.-" or is_word_character(c) else " " for c in shown)
        tags.append("-".join("".join(kept).split())[:MAX_TAG_CHARACTERS].strip("-"))
    return tuple(dict.fromkeys(tag for tag in tags if any(map(str.isalnum, tag))))
