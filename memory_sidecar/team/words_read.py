"""The words of a team's chunks as one search asks for them, each list read once, the rarest first.

A common word's list is long. Of a phrase, the lists of its rarest words are read until the chunks
that hold all of these are few enough to look into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from memory_sidecar.index.keyword import Keywords, stems_of
from memory_sidecar.team.connection import integers
from memory_sidecar.team.postings import (
    ENTRY,
    Entries,
    Statistics,
    count_phrase,
    held_together,
    unpacked,
)
from memory_sidecar.team.shared_files import Reach

MAX_COMMON = 200  # chunks that hold all words of a text, of which it is looked whether in a row
ROWS_PER_TEXT = 1000  # of a list: to read so many takes about as long as to look into a chunk

SHORT_BYTES = 24_000  # of a list that comes along when it is asked how long it is

Ask = Callable[[str, Any], list[Any]]
"""The rows of a query with these values."""


class WordsRead:
    """The words of some sources, in one transaction."""

    def __init__(
        self,
        ask: Ask,
        sources: Sequence[int],
        reach: Reach,
        statistics: Statistics,
    ) -> None:
        """`statistics` are of the sources."""
        self._ask = ask
        self._sources = sources
        self._reach = reach
        self.statistics = statistics
        self._holding: dict[str, int] = {}  # how many rows hold a word
        self._lists: dict[str, Entries] = {}

    def holding(self, stems: Collection[str]) -> tuple[int, Mapping[str, int]]:
        """How many chunks there are, and how many hold each of `stems`: of these, at most all."""
        missing = [stem for stem in dict.fromkeys(stems) if stem not in self._holding]
        if missing:
            self._holding.update(dict.fromkeys(missing, 0))
            self._lists.update(dict.fromkeys(missing, np.empty(0, ENTRY)))
            rows = self._ask(
                "SELECT term, size, CASE WHEN size <= %s THEN (SELECT string_agg(entries, '')"
                " FROM words WHERE source = ANY(%s) AND term = sizes.term) END FROM"
                " (SELECT term, sum(octet_length(entries)) AS size FROM words"
                " WHERE source = ANY(%s) AND term = ANY(%s) GROUP BY term) AS sizes",
                (SHORT_BYTES, *[integers(self._sources)] * 2, missing),
            )
            for term, size, entries in rows:
                self._holding[term] = int(size) // ENTRY.itemsize
                if entries is None:
                    del self._lists[term]
                else:
                    self._lists[term] = unpacked([entries])
        count = self.statistics.rows
        return count, {stem: min(self._holding[stem], count) for stem in stems}

    def weighed(self, keywords: Keywords) -> list[tuple[list[str], float]]:
        """The tokens of each term, and its idf as FTS5 has it."""
        split = [stems for term in keywords.terms if (stems := stems_of(term))]
        self._read([stem for stems in split for stem in self._begun_with(stems)])
        return [(stems, self.statistics.idf(len(self.list_of(stems)))) for stems in split]

    def list_of(self, stems: Sequence[str]) -> Entries:
        """The rows that hold a word, or the words of a phrase in a row.

        Of very many rows that hold all words of a phrase, it is not looked whether in a row.
        """
        phrase = " ".join(stems)
        if phrase not in self._lists:
            self._read(self._begun_with(stems))
            if len(stems) > 1:
                self._lists[phrase] = self._in_a_row(stems)
        return self._lists[phrase]

    def living(self, entries: Entries) -> Entries:
        """Those that may be hits: of files that may, in their current version."""
        return entries[entries["row"] >= self._reach.first_of(entries["file"])]

    def _rarest_first(self, stems: Sequence[str]) -> list[str]:
        _, holding = self.holding(stems)
        return sorted(set(stems), key=lambda stem: holding[stem])

    def _begun_with(self, stems: Sequence[str]) -> list[str]:
        """Whose lists are read in any case: none of a phrase one of whose words no row holds."""
        if len(stems) == 1:
            return list(stems)
        rarest = self._rarest_first(stems)
        return rarest[:2] if self._holding[rarest[0]] else []

    def _in_a_row(self, stems: Sequence[str]) -> Entries:
        rarest = self._rarest_first(stems)
        found = np.empty(0, ENTRY)
        if self._holding[rarest[0]]:
            found = held_together([self._lists[stem] for stem in rarest[:2]])
        for stem in rarest[2:]:
            if len(found) <= MAX_COMMON and len(found) * ROWS_PER_TEXT <= self._holding[stem]:
                return self._looked_into(stems, found)
            self._read([stem])
            found = held_together([found, self._lists[stem]])
        return found if len(found) > MAX_COMMON else self._looked_into(stems, found)

    def _looked_into(self, stems: Sequence[str], entries: Entries) -> Entries:
        counted = self.living(entries).copy()
        if not len(counted):
            return counted
        rows = self._ask(
            "SELECT id, code, symbols FROM chunks WHERE id = ANY(%s)",
            (integers(counted["row"].tolist()),),
        )
        texts = {row: texts for row, *texts in rows}
        pairs = _pairs_like(stems)
        for at, (row, file) in enumerate(zip(counted["row"], counted["file"], strict=True)):
            path = self._reach.path_of(int(file))
            code, symbols = texts.get(int(row), ("", ""))
            held = counted["body"][at], counted["names"][at], counted["names"][at]
            counts = [
                count_phrase(stems, stems_of(text)) if may_hold and _may_hold(pairs, text) else 0
                for text, may_hold in zip((code, symbols, path), held, strict=True)
            ]
            counted["body"][at] = min(counts[0], 255)
            counted["names"][at] = min(counts[1], 15) | min(counts[2], 15) << 4
        return counted[(counted["body"] > 0) | (counted["names"] > 0)]

    def _read(self, stems: Collection[str]) -> None:
        missing = [stem for stem in dict.fromkeys(stems) if stem not in self._lists]
        if not missing:
            return
        rows = self._ask(
            "SELECT term, entries FROM words WHERE source = ANY(%s) AND term = ANY(%s)",
            (integers(self._sources), missing),
        )
        parts: dict[str, list[bytes]] = {stem: [] for stem in missing}
        for term, entries in rows:
            parts[term].append(entries)
        self._lists.update((stem, unpacked(each)) for stem, each in parts.items())


def _pairs_like(stems: Sequence[str]) -> list[re.Pattern[str]]:
    """What each two words with these stems are like that stand in a row, in small letters.

    A stem has from its word all but its last letter. One pattern of all of them could take forever.
    """
    words = [f"{re.escape(stem[:-1] or stem)}[a-z0-9]*" for stem in stems]
    return [re.compile(f"{first}[^a-z0-9]*{second}") for first, second in pairwise(words)]


def _may_hold(pairs: Sequence[re.Pattern[str]], text: str) -> bool:
    """Whether `text` is worth to be taken apart, which takes ten times as long.

    It is with letters that have accents: they stand for those without.
    """
    small = text.lower()
    return not text.isascii() or all(pair.search(small) for pair in pairs)
