"""The steps of code ranking, each of which can be left out to measure its effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from memory_sidecar.code import history, question, ranking

STEPS: dict[str, tuple[ModuleType, str, Any]] = {
    "words (BM25)": (question, "KEYWORD_WEIGHT", 0.0),
    "static vectors beside the model's": (ranking, "STATIC_BESIDE", 0.0),
    "history": (history, "HISTORY_WEIGHT", 0.0),
    "words of the whole path, by idf": (question, "PATH_WEIGHT", 0.0),
    "names of the file and its folder": (question, "NAME_WEIGHT", 0.0),
    "names that a file's candidates define": (ranking, "DEFINED_WEIGHT", 0.0),
    "words that a file's candidates hold together": (ranking, "FILE_WORDS_WEIGHT", 0.0),
    "tests, docs, examples and data go below": (question, "ASIDE_PENALTY", 0.0),
    "the file's other good chunks lend to its best": (ranking, "FILE_SHARE", 0.0),
    "further chunks of a file count less": (ranking, "FURTHER_CHUNK", 1.0),
}


@contextmanager
def left_out(step: str) -> Iterator[None]:
    """Rank without `step` during the block, in this process only."""
    module, name, neutral = STEPS[step]
    before = getattr(module, name)
    setattr(module, name, neutral)
    try:
        yield
    finally:
        setattr(module, name, before)
