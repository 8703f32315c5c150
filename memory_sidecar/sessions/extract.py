"""Extracts a summary from a session: its most central sentences, by LexRank.

LexRank (Erkan and Radev 2004): a sentence is central if central sentences are similar to it.
Similarity is the cosine of the model's vectors, or without a model of the sentences' words. The
setting `session_summarizer` can put a command that understands the text in its place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto

import numpy as np

from memory_sidecar.index.codes import Floats
from memory_sidecar.index.words import count_unspaced, count_words
from memory_sidecar.sessions.model import EXTRACT, Role, Session, Summary
from memory_sidecar.sessions.promotion import join_sentences

Embed = Callable[[Sequence[str]], Floats]
"""Unit vectors (n, dimension) of texts."""

MAX_SENTENCES = 120  # compared: 4 s of embedding
MAX_TELLING = 60  # of these, that say what was decided or solved
DETAILED_SENTENCES = 5
MAX_ITEMS = 3  # decisions, and as many problems
DAMPING = 0.85
NOVELTY = 0.5  # how much a sentence loses for similarity to one that was picked

_MIN_CHARACTERS, _MAX_CHARACTERS = 20, 300
_MIN_WORDS = 4

# Text that is not the session's own: code, and memories or reminders shown to the model.
_FOREIGN = re.compile(
    r"```.*?(?:```|\Z)|<(memory|memories|recalled|system-reminder)\b[^<>]*>.*?(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|(?<=[\u3002\uff01\uff1f])\s*|\n+"
)
_MARKUP = re.compile(r"^(?:[#>*+\-\s]+|\d+[.)]\s+)+|\*\*|__")
_SMALL_TALK = re.compile(
    r"(?:sure|ok|okay|thanks|thank you|great|perfect|hi|hello|hey|let me|i'll|i will|now i)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|chose|choose to|we(?:'ll| will| now)? (?:use|keep|go with|switch"
    r"|prefer)|let's (?:use|keep|go with|switch)|going with|settled on|agreed (?:to|on|that)"
    r"|from now on|use \S+ instead)\b",
    re.IGNORECASE,
)
# A demand of the user. An assistant says "must" of itself, of errors and of guesses.
_RULE = re.compile(
    r"^(?!.*(?:Error|Exception))(?:.*[,;:] )?"
    r"(?:(?:please |also,? |but )*(?:always|never|don't|do not)\b(?! (?:mind|worry|know))"
    r"|(?!(?:i|it|this|that|there) must).*\bmust(?! have been)\b)",
    re.IGNORECASE,
)
# The cause of a problem. That it was fixed is a mere report, which does not help when it recurs.
_PROBLEM = re.compile(
    r"\b(?:(?:fixed|solved|resolved) by \w+ing|root cause|caused? (?:by|was|is)|because|turned out"
    r"|the (?:bug|issue|problem|error|failure|leak) (?:was|is|came)(?! (?:solved|fixed|resolved))"
    r"|which is why|gotcha|beware|pitfall|workaround)\b",
    re.IGNORECASE,
)
_OWN_ACT = re.compile(r"(?:i|i've|i'm|we|we've)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")


class _Cue(Enum):
    """What a sentence tells that is worth remembering, by its words."""

    DECISION = auto()
    PROBLEM = auto()


def extract_summary(session: Session, embed: Embed | None) -> Summary | None:
    """Summarize the session's messages; `None` if they hold no sentence."""
    told = _sentences(session)
    if not told:
        return None
    sentences = list(told)
    likeness = _likeness_of_vectors(embed(sentences)) if embed else _likeness_of_words(sentences)
    weights = centrality(likeness)
    weights[[_is_question(sentence) for sentence in sentences]] *= 0.5
    picked = _pick(weights, likeness)
    return Summary(
        brief=sentences[picked[0]],
        detailed=join_sentences(sentences[at] for at in sorted(picked)),
        key_decisions=_select(_Cue.DECISION, told, weights),
        problems_solved=_select(_Cue.PROBLEM, told, weights),
        made_by=EXTRACT,
    )


def centrality(likeness: Floats) -> Floats:
    """Compute the centrality of n sentences, (n,), from their similarities, (n, n) ≥ 0."""
    count = len(likeness)
    sums = likeness.sum(axis=1, keepdims=True)
    steps = np.divide(likeness, sums, out=np.full_like(likeness, 1 / count), where=sums > 0)
    weights = np.full(count, 1 / count, np.float32)
    for _ in range(50):
        weights = (1 - DAMPING) / count + DAMPING * (weights @ steps)
    return weights


def _is_question(sentence: str) -> bool:
    return sentence.endswith(("?", "\uff1f"))


def _sentences(session: Session) -> dict[str, _Cue | None]:
    """Return the messages' distinct sentences, without code and small talk, each with its cue."""
    found: dict[str, tuple[str, _Cue | None]] = {}
    for message in session.messages:
        if message.role is Role.SYSTEM:
            continue
        for raw in _SENTENCE_END.split(_FOREIGN.sub("\n", message.content)):
            text = " ".join(_MARKUP.sub("", raw).split())
            # One character of a script without spaces says about as much as two letters.
            if not _MIN_CHARACTERS <= len(text) + count_unspaced(text) <= _MAX_CHARACTERS:
                continue
            if count_words(text) < _MIN_WORDS or _SMALL_TALK.match(text):
                continue
            found.setdefault(text.lower(), (text, _cue_of(text, message.role)))
    return _sample(dict(found.values()))


def _cue_of(sentence: str, role: Role) -> _Cue | None:
    if _is_question(sentence):
        return None
    sentence = sentence.replace("\u2019", "'")
    if _DECISION.search(sentence) or (role is Role.USER and _RULE.match(sentence)):
        return _Cue.DECISION
    is_cause = _PROBLEM.search(sentence) and not _OWN_ACT.match(sentence)
    return _Cue.PROBLEM if is_cause else None


def _sample(told: dict[str, _Cue | None]) -> dict[str, _Cue | None]:
    """Return at most MAX_SENTENCES, in order: some on decisions and problems, and others.

    Both kinds are spread evenly over the session.
    """
    if len(told) <= MAX_SENTENCES:
        return told
    sentences = list(told)
    telling = [at for at, cue in enumerate(told.values()) if cue]
    chosen = set(_spread(telling, MAX_TELLING))
    others = [at for at in range(len(sentences)) if at not in chosen]
    chosen.update(_spread(others, MAX_SENTENCES - len(chosen)))
    return {sentences[at]: told[sentences[at]] for at in sorted(chosen)}


def _spread(items: Sequence[int], count: int) -> Sequence[int]:
    """Return `count` of `items` at equal distances, or all if they are fewer."""
    if len(items) <= count:
        return items
    return [items[at] for at in np.linspace(0, len(items) - 1, count).astype(int)]


def _likeness_of_vectors(vectors: Floats) -> Floats:
    """Compute the cosines, minus their median: any two of these sentences are that much alike."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, 0.0)
    common = np.median(cosines) if len(cosines) > 2 else 0.0
    return np.maximum(cosines - common, 0.0).astype(np.float32)


def _likeness_of_words(texts: Sequence[str]) -> Floats:
    """Compute the cosines of the word counts, weighted by IDF over the sentences."""
    counts = [Counter(word[:6] for word in _WORD.findall(text.lower())) for text in texts]
    holding = Counter(word for count in counts for word in count)
    place = {word: at for at, word in enumerate(holding)}
    matrix = np.zeros((len(texts), max(len(place), 1)), np.float32)
    for row, count in enumerate(counts):
        for word, times in count.items():
            matrix[row, place[word]] = times * math.log(1 + len(texts) / holding[word])
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    cosines: Floats = matrix @ matrix.T
    np.fill_diagonal(cosines, 0.0)
    return cosines


def _pick(weights: Floats, likeness: Floats) -> list[int]:
    """Pick the places of the most central sentences that differ, the most central first."""
    picked: list[int] = []
    left = weights / weights.max()
    scale = max(float(likeness.max()), 1e-9)
    while len(picked) < min(DETAILED_SENTENCES, len(weights)):
        best = int(left.argmax())
        picked.append(best)
        left = left - NOVELTY * likeness[best] / scale
        left[picked] = -np.inf
    return picked


def _select(cue: _Cue, told: Mapping[str, _Cue | None], weights: Floats) -> tuple[str, ...]:
    """Select the most central sentences that tell `cue`, in their order."""
    matching = [at for at, tells in enumerate(told.values()) if tells is cue]
    best = sorted(matching, key=lambda at: -weights[at])[:MAX_ITEMS]
    return tuple(list(told)[at] for at in sorted(best))
