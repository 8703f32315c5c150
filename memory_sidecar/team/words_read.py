"""Reads posting lists of a team's words for one search, each once, the rarest first.

The lists of common words are long. For a phrase, the lists of its rarest words are read until so
few chunks hold all of these that their text can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import numpy as np

from memory_sidecar.index.keyword import Keywords, stems_of
from memory_sidecar.team.connection import integers
from memory_sidecar.team.postings import (
    ENTRY,
    Entries,
    Statistics,
    count_phrase,
    intersect_entries,
    unpack_entries,
)
from memory_sidecar.team.reads import ReadTransaction
from memory_sidecar.team.shared_files import SearchScope

MAX_COMMON = 200  # chunks that hold all words of a phrase, whose text is checked for the phrase
ROWS_PER_TEXT = 1000  # postings that are read in the time of checking the text of one chunk

SHORT_BYTES = 24_000  # lists up to this size are read with the query for their length


class WordsRead:
    """The posting lists of some sources, read in one transaction."""

    def __init__(
        self,
        reads: ReadTransaction,
        sources: Sequence[int],
        scope: SearchScope,
        statistics: Statistics,
    ) -> None:
        """`statistics`: of all chunks of the sources."""
        self._reads = reads
        self._sources = sources
        self._scope = scope
        self.statistics = statistics
        self._holding: dict[str, int] = {}  # how many rows hold a word
        self._lists: dict[str, Entries] = {}
        self._terms: dict[tuple[str, ...], list[tuple[list[str], float]]] = {}

    def row_counts(self, stems: Collection[str]) -> tuple[int, Mapping[str, int]]:
        """Return the number of chunks, and of those that hold each of `stems`: see `_count`."""
        missing = [stem for stem in dict.fromkeys(stems) if stem not in self._holding]
        if missing:
            self._holding.update(dict.fromkeys(missing, 0))
            self._lists.update(dict.fromkeys(missing, np.empty(0, ENTRY)))
            rows = self._reads.ask(
                "SELECT term, size, CASE WHEN size <= %s THEN (SELECT string_agg(entries, '')"
                " FROM words WHERE source = ANY(%s) AND term = sizes.term) END FROM"
                " (SELECT term, sum(octet_length(entries)) AS size FROM words"
                " WHERE source = ANY(%s) AND term = ANY(%s) GROUP BY term) AS sizes",
                (SHORT_BYTES, *[integers(self._sources)] * 2, missing),
            )
            for term, size, entries in rows:
                if entries is None:
                    self._holding[term] = int(size) // ENTRY.itemsize
                    del self._lists[term]
                else:
                    self._lists[term] = unpack_entries([entries])
                    self._holding[term] = self._count(self._lists[term])
        count = self.statistics.rows
        return count, {stem: min(self._holding[stem], count) for stem in stems}

    def terms_with_idf(self, keywords: Keywords) -> list[tuple[list[str], float]]:
        """Return the stems of each term, and its IDF as FTS5 computes it."""
        if keywords.terms not in self._terms:
            split = [stems for term in keywords.terms if (stems := stems_of(term))]
            self._read([stem for stems in split for stem in self._stems_to_read(stems)])
            self._terms[keywords.terms] = [
                (stems, self.statistics.idf(self._count(self.entries_of(stems)))) for stems in split
            ]
        return self._terms[keywords.terms]

    def entries_of(self, stems: Sequence[str]) -> Entries:
        """Return the postings of a word, or of a phrase: rows that hold `stems` in a row.

        If more than MAX_COMMON rows hold all of them, it is not checked whether side by side.
        """
        phrase = " ".join(stems)
        if phrase not in self._lists:
            self._read(self._stems_to_read(stems))
            if len(stems) > 1:
                self._lists[phrase] = self._phrase_entries(stems)
        return self._lists[phrase]

    def current(self, entries: Entries) -> Entries:
        """Return the entries of chunks in the scope, of the current version of their file."""
        first = self._scope.first.take(entries["file"], mode="clip")
        return entries.compress(entries["row"] >= first)

    def _count(self, entries: Entries) -> int:
        """Count the entries of current versions of files; in a long list all, as few are old.

        A file that is saved all day has an entry for each version until rows are folded: its words
        would count as common, though no other file holds them.
        """
        if entries.nbytes > SHORT_BYTES:
            return len(entries)
        first = self._scope.first_of_all.take(entries["file"], mode="clip")
        return int(np.count_nonzero(entries["row"] >= first))

    def _rarest_first(self, stems: Sequence[str]) -> list[str]:
        _, holding = self.row_counts(stems)
        return sorted(set(stems), key=lambda stem: holding[stem])

    def _stems_to_read(self, stems: Sequence[str]) -> list[str]:
        """Return the stems whose lists to read first; for a phrase the two rarest, if all occur."""
        if len(stems) == 1:
            return list(stems)
        rarest = self._rarest_first(stems)
        return rarest[:2] if self._holding[rarest[0]] else []

    def _phrase_entries(self, stems: Sequence[str]) -> Entries:
        rarest = self._rarest_first(stems)
        found = np.empty(0, ENTRY)
        if self._holding[rarest[0]]:
            found = intersect_entries([self._lists[stem] for stem in rarest[:2]])
        for stem in rarest[2:]:
            if len(found) <= MAX_COMMON and len(found) * ROWS_PER_TEXT <= self._holding[stem]:
                return self._count_in_texts(stems, found)
            self._read([stem])
            found = intersect_entries([found, self._lists[stem]])
        return found if len(found) > MAX_COMMON else self._count_in_texts(stems, found)

    def _count_in_texts(self, stems: Sequence[str], entries: Entries) -> Entries:
        counted = self.current(entries)
        if not len(counted):
            return counted
        rows = self._reads.ask(
            "SELECT id, code, symbols FROM chunks WHERE id = ANY(%s)",
            (integers(counted["row"].tolist()),),
        )
        texts = {row: texts for row, *texts in rows}
        pairs = _pairs_like(stems)
        counts = []
        for row, file, _, body, names in counted.tolist():
            columns = (*texts.get(row, ("", "")), self._scope.path_of(file))
            in_body, in_symbols, in_path = (
                count_phrase(stems, stems_of(text)) if held and _may_hold(pairs, text) else 0
                for text, held in zip(columns, (body, names & 15, names >> 4), strict=True)
            )
            counts.append((min(in_body, 255), min(in_symbols, 15) | min(in_path, 15) << 4))
        counted["body"], counted["names"] = zip(*counts, strict=True)
        return counted.compress((counted["body"] > 0) | (counted["names"] > 0))

    def _read(self, stems: Collection[str]) -> None:
        missing = [stem for stem in dict.fromkeys(stems) if stem not in self._lists]
        if not missing:
            return
        rows = self._reads.ask(
            "SELECT term, entries FROM words WHERE source = ANY(%s) AND term = ANY(%s)",
            (integers(self._sources), missing),
        )
        parts: dict[str, list[bytes]] = {stem: [] for stem in missing}
        for term, entries in rows:
            parts[term].append(entries)
        self._lists.update((stem, unpack_entries(each)) for stem, each in parts.items())


def _pairs_like(stems: Sequence[str]) -> list[re.Pattern[str]]:
    """Return a pattern for each pair of adjacent words with these stems, in lower case.

    A word begins like its stem, the stem's last letter aside. One pattern for all pairs could take
    forever.
    """
    words = [f"{re.escape(stem[:-1] or stem)}[a-z0-9]*" for stem in stems]
    return [re.compile(f"{first}[^a-z0-9]*{second}") for first, second in pairwise(words)]


def _may_hold(pairs: Sequence[re.Pattern[str]], text: str) -> bool:
    """Whether `text` may hold the phrase: a check that takes a tenth of the time of tokenising.

    Text with non-ASCII letters always may, since FTS5 folds accents.
    """
    lower = text.lower()
    return not text.isascii() or all(pair.search(lower) for pair in pairs)
