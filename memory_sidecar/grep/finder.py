"""One pattern, made ready for a language when a file of that language turns up.

It is code with holes, or a raw tree-sitter query: `(call function: (identifier) @name) @match`.
What `@match` captures is the hit, without one all that was captured together, without any capture
the outermost node. Names that begin with `_` are for predicates only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import tree_sitter

from memory_sidecar.chunking.syntax import grammar, has_grammar, parse_with_text
from memory_sidecar.core.errors import UsageError
from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.grep.match import Found, find
from memory_sidecar.grep.pattern import check_pattern, why_no_code
from memory_sidecar.grep.reading import Reading, read_pattern

_HIT = "match"


def read_query(text: str, language: str) -> tree_sitter.Query:
    """Raises `tree_sitter.QueryError` for what is not a query in trees of that language."""
    query = tree_sitter.Query(grammar(language), text)
    if query.capture_count:
        return query
    return tree_sitter.Query(grammar(language), f"{text} @{_HIT}")


def find_by_query(query: tree_sitter.Query, text: bytes, language: str) -> list[Found]:
    """Every match, in order; of several over the same code the first.

    `text` is one that `syntax.parse_with_text` gave. It is parsed again, because predicates ask for
    texts of nodes, which a tree that was read through a callback cannot give without crashing.
    """
    tree = tree_sitter.Parser(grammar(language)).parse(text)
    found: dict[tuple[int, int], Found] = {}
    for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
        nodes = captures.get(_HIT) or [node for each in captures.values() for node in each]
        if not nodes:  # all that was captured is optional, and not there
            continue
        start, stop = min(n.start_byte for n in nodes), max(n.end_byte for n in nodes)
        shown = {
            name: tuple(node.byte_range for node in each)
            for name, each in captures.items()
            if name != _HIT and not name.startswith("_")
        }
        found.setdefault((start, stop), Found(start, stop, start, shown))
    return sorted(found.values(), key=lambda match: (match.start, -match.stop))


@cache
def languages() -> frozenset[str]:
    """Those with a grammar that patterns are read with."""
    return frozenset(filter(has_grammar, DIALECTS))


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
            raise UsageError(f"the pattern is not a query in {', '.join(asked)}: {self._no_query}")
        raise UsageError(
            f"the pattern is not valid code in {', '.join(asked)}", hint=why_no_code(self._pattern)
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
        parsed = parse_with_text(text, language)
        if parsed is None:
            return None
        tree, as_parsed = parsed
        if language in self._readings:
            return find(self._readings[language], text, tree)
        return find_by_query(self._queries[language], as_parsed, language)

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
