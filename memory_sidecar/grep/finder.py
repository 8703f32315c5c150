"""One pattern, made ready for a language when a file of that language turns up."""

from __future__ import annotations

import re
from collections.abc import Iterable

import tree_sitter

from memory_sidecar.chunking.syntax import parse
from memory_sidecar.core.errors import UsageError
from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.grep.match import Found, find
from memory_sidecar.grep.pattern import check_pattern, why_no_code
from memory_sidecar.grep.query import find_by_query, read_query
from memory_sidecar.grep.reading import Reading, read_pattern

LANGUAGES = frozenset(DIALECTS)
"""Those with a grammar that patterns are read with."""

_QUERY = re.compile(r"\(.*?(?:\(#|[)\]]\s*@\w)", re.DOTALL)


class Finder:
    """Finds one pattern in any number of texts. For one thread."""

    def __init__(self, pattern: str) -> None:
        """Raises UsageError for what is a pattern in no language."""
        check_pattern(pattern)
        self._pattern = pattern.strip()
        self._queries: dict[str, tree_sitter.Query] = {}
        self._readings: dict[str, tuple[Reading, ...]] = {}
        self._is_query = _QUERY.match(self._pattern) is not None
        self._no_query = ""  # why not, where it is one

    def not_understood_in(self, languages: Iterable[str]) -> list[str]:
        """Those of `languages` that the pattern is neither code nor a query in.

        Raises UsageError where these are all, and there are some.
        """
        asked = sorted(languages)
        strange = [language for language in asked if not self._prepare(language)]
        if not asked or strange != asked:
            return strange
        if self._is_query:
            raise UsageError(f"the pattern is no query over {', '.join(asked)}: {self._no_query}")
        raise UsageError(
            f"the pattern is no code in {', '.join(asked)}", hint=why_no_code(self._pattern)
        )

    def may_find(self, text: bytes, language: str) -> bool:
        """Whether `text` holds the words of the pattern. Quick, and right whenever it is false."""
        if not self._prepare(language):
            return False
        readings = self._readings.get(language)
        return readings is None or any(reading.may_match(text) for reading in readings)

    def find(self, text: bytes, language: str) -> list[Found] | None:
        """Every hit in `text`, UTF-8 with LF line breaks, in order.

        `None` where no tree is made of it: nested too deep, too long a line, or takes too long.
        """
        if not self._prepare(language):
            return []
        tree = parse(text, language)
        if tree is None:
            return None
        if language in self._readings:
            return find(self._readings[language], text, tree)
        return find_by_query(self._queries[language], text, language)

    def _prepare(self, language: str) -> bool:
        """Whether the pattern means something in that language."""
        if language in self._readings or language in self._queries:
            return bool(self._readings.get(language, True))
        if self._pattern.startswith("("):  # `(a, b) => c` is code that begins like a query
            try:
                self._queries[language] = read_query(self._pattern, language)
            except tree_sitter.QueryError as error:
                self._no_query = str(error)
            else:
                return True
        self._readings[language] = () if self._is_query else read_pattern(self._pattern, language)
        return bool(self._readings[language])
