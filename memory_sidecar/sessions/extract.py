"""Extracts a summary from a session: its most central sentences, by LexRank.

LexRank (Erkan and Radev 2004): a sentence is central if central sentences are similar to it.
Similarity is the cosine of the model's vectors, or without a model of the sentences' words. The
setting `session_summarizer` can put a command that understands the text in its place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from memory_sidecar.index.codes import Floats
from memory_sidecar.index.words import count_unspaced, count_words
from memory_sidecar.sessions.model import Role, Session, Summary
from memory_sidecar.sessions.promotion import join_sentences

Embed = Callable[[Sequence[str]], Floats]
"""Unit vectors (n, dimension) of texts."""

MADE_BY = "extract"
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
    r"\b(?:decided|decision|chose|choose to|we(?:'ll| will| should)? (?:use|keep|go with|switch)"
    r"|let's (?:use|keep|go with|switch)|going with|settled on|agreed|from now on|prefer(?:red)?"
    r"|instead of)\b",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"\b(?:fixed|fixes|solved|resolved|root cause|caused by|was because|turned out|the (?:bug|issue"
    r"|problem|error|failure) (?:was|is|came)|workaround)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{3,}")


def extract_summary(session: Session, embed: Embed | None) -> Summary | None:
    """Summarize the session's messages; `None` if they hold no sentence."""
    sentences = _sentences(session)
    if not sentences:
        return None
    likeness = _likeness_of_vectors(embed(sentences)) if embed else _likeness_of_words(sentences)
    weights = centrality(likeness)
    weights[[_is_question(sentence) for sentence in sentences]] *= 0.5
    picked = _pick(weights, likeness)
    decisions = _select_matching(_DECISION, sentences, weights)
    return Summary(
        brief=sentences[picked[0]],
        detailed=join_sentences(sentences[at] for at in sorted(picked)),
        key_decisions=decisions,
        problems_solved=tuple(
            text for text in _select_matching(_PROBLEM, sentences, weights) if text not in decisions
        ),
        made_by=MADE_BY,
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


def _sentences(session: Session) -> list[str]:
    """Split the messages into distinct sentences, without code and small talk."""
    found: dict[str, str] = {}
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
            found.setdefault(text.lower(), text)
    return _sample(list(found.values()))


def _sample(sentences: list[str]) -> list[str]:
    """Return MAX_SENTENCES of more, in their order: those on decisions and problems, and others.

    Both are spread over the session.
    """
    if len(sentences) <= MAX_SENTENCES:
        return sentences
    telling = [at for at, text in enumerate(sentences) if _is_telling(text)]
    chosen = set(_spread(telling, MAX_TELLING))
    others = [at for at in range(len(sentences)) if at not in chosen]
    chosen.update(_spread(others, MAX_SENTENCES - len(chosen)))
    return [sentences[at] for at in sorted(chosen)]


def _spread(items: Sequence[int], count: int) -> Sequence[int]:
    """Return `count` of `items` at equal distances, or all if they are fewer."""
    if len(items) <= count:
        return items
    return [items[at] for at in np.linspace(0, len(items) - 1, count).astype(int)]


def _is_telling(sentence: str) -> bool:
    is_cued = _DECISION.search(sentence) or _PROBLEM.search(sentence)
    return bool(is_cued) and not _is_question(sentence)


def _likeness_of_vectors(vectors: Floats) -> Floats:
    """Compute the cosines, minus their median, which any two of these sentences have in common."""
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


def _select_matching(
    cue: re.Pattern[str], sentences: Sequence[str], weights: Floats
) -> tuple[str, ...]:
    """Select the most central sentences that `cue` matches, without questions, in their order."""
    matching = [at for at, s in enumerate(sentences) if not _is_question(s) and cue.search(s)]
    best = sorted(matching, key=lambda at: -weights[at])[:MAX_ITEMS]
    return tuple(sentences[at] for at in sorted(best))
