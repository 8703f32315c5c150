"""Reads the files of a judged set: JSON lines, and the relevance judgements (qrels)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_relevance(folder: Path) -> dict[str, dict[str, int]]:
    """Relevance by question and document; documents judged 0 are left out."""
    relevance: dict[str, dict[str, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if grade := int(row["score"]):
                relevance.setdefault(row["query-id"], {})[row["corpus-id"]] = grade
    return relevance


def holds_conversations(folder: Path) -> bool:
    """Whether the documents of the set are turns of conversations rather than files."""
    return "conversation" in next(read_lines(folder / "corpus.jsonl"))


def holds_memories(folder: Path) -> bool:
    """Whether the documents of the set are memories, each in a category."""
    return "category" in next(read_lines(folder / "corpus.jsonl"))
