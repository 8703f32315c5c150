"""Finds one pattern in texts; it is prepared for a language when the first such file turns up.

A pattern is code with holes, or a raw tree-sitter query such as
`(call function: (identifier) @name) @match`. The hit is what `@match` captures; without `@match`
the span of all captures; without captures the outermost node. Captures whose names begin with `_`
are for predicates only and not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import tree_sitter

from memory_sidecar.chunking.syntax import dialect_of, grammar, has_grammar, parse_with_text
from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.core.errors import UsageError
from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.grep.match import Found, TooManyWays, find, in_order
from memory_sidecar.grep.reading import Reading, read_pattern
from memory_sidecar.grep.spelling import NestedTooDeep, PatternText

MAX_CHARS = 10_000
MAX_HOLES = 30

_HIT = "match"
_REGULAR = re.compile(r"\.[*+]|\\[(.bdsw]|[\])][*+]|\w\|\w")  # foo.*bar, foo\(, [a-z]+, a|b
_PART_OF_A_NAME = re.compile(r"\w\$[A-Z_$]")
_LOWER_CASE_HOLE = re.compile(r"(?<![\w$\\])\$[a-z]\w*")


def read_query(text: str, language: str) -> tree_sitter.Query:
    """Parse a query. Raises `tree_sitter.QueryError` if it is none for trees of that language."""
    query = tree_sitter.Query(grammar(language), text)
    if query.capture_count:
        return query
    return tree_sitter.Query(grammar(language), f"{text}\n@{_HIT}")


def find_by_query(query: tree_sitter.Query, tree: tree_sitter.Tree) -> list[Found]:
    """Return all matches in order; of several over the same span the first."""
    found: list[Found] = []
    for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
        nodes = captures.get(_HIT) or [node for each in captures.values() for node in each]
        if not nodes:  # only optional captures, none of which matched
            continue
        start, stop = min(n.start_byte for n in nodes), max(n.end_byte for n in nodes)
        shown = {
            name: tuple(node.byte_range for node in each)
            for name, each in captures.items()
            if name != _HIT and not name.startswith("_")
        }
        found.append(Found(start, stop, start, shown))
    return in_order(found)


@cache
def languages() -> frozenset[str]:
    """Return the languages that patterns can be read in: those with a grammar and a dialect."""
    return frozenset(filter(has_grammar, DIALECTS))


_Meaning: TypeAlias = tree_sitter.Query | tuple[Reading, ...]
"""What a pattern means in one language: a query, or the trees that its code may stand for."""

_QUERY = re.compile(r"\(.*?(?:\(#|[)\]]\s*@\w)", re.DOTALL)


class Finder:
    """Finds one pattern in any number of texts. Not thread-safe."""

    def __init__(self, pattern: str) -> None:
        """Raises UsageError if `pattern` cannot be a pattern in any language."""
        if not pattern.strip():
            raise UsageError("the pattern is empty", hint="for example 'open($FILE)'")
        if len(pattern) > MAX_CHARS or len(PatternText(pattern).holes) > MAX_HOLES:
            raise UsageError(
                "the pattern is too long",
                hint=f"at most {MAX_CHARS} characters and {MAX_HOLES} metavariables",
            )
        self._pattern = pattern.strip()
        self._is_query = _QUERY.match(self._pattern) is not None
        self._query_error = ""  # the last error of reading it as a query
        self._too_deep: NestedTooDeep | None = None  # in some language

    def not_understood_in(self, languages: Iterable[str]) -> list[str]:
        """Return those of `languages` in which the pattern is neither code nor a query.

        Raises UsageError if it is in none of them.
        """
        asked = sorted(languages)
        failing = [language for language in asked if not self._meaning_in(language)]
        if not asked or failing != asked:
            return failing
        if self._is_query:
            raise UsageError(
                f"the pattern is not a query in {', '.join(asked)}: {self._query_error}"
            )
        if self._too_deep is not None:
            raise self._too_deep
        raise UsageError(
            f"the pattern is not valid code in {', '.join(asked)}", hint=_why_no_code(self._pattern)
        )

    def may_find(self, text: bytes, language: str) -> bool:
        """Whether `text` holds the words of the pattern: a quick check without false negatives."""
        meaning = self._meaning_in(dialect_of(text, language))
        if isinstance(meaning, tree_sitter.Query):
            return True
        return any(reading.may_match(text) for reading in meaning)

    def find(self, text: bytes, language: str) -> list[Found] | None:
        """Return all hits in `text`, UTF-8 with LF line breaks, in order.

        `None` if the text cannot be parsed (nested too deep, too long a line, out of time), or may
        fit in too many ways.
        """
        language = dialect_of(text, language)
        meaning = self._meaning_in(language)
        if not meaning:
            return []
        parsed = parse_with_text(text, language)
        if parsed is None:
            return None
        tree, as_parsed = parsed
        if isinstance(meaning, tree_sitter.Query):
            # Predicates read the text of nodes, which crashes on a tree parsed through a callback.
            if "#" in self._pattern:
                tree = tree_sitter.Parser(grammar(language)).parse(as_parsed)
            return find_by_query(meaning, tree)
        try:
            return find(meaning, text, tree)
        except TooManyWays:
            return None

    @cached_method
    def _meaning_in(self, language: str) -> _Meaning:
        """Return what the pattern means in that language; () for nothing."""
        if self._pattern.startswith("("):  # `(a, b) => c` is code that begins like a query
            try:
                return read_query(self._pattern, language)
            except tree_sitter.QueryError as error:
                self._query_error = str(error)
        if not self._is_query:
            try:
                return read_pattern(self._pattern, language)
            except NestedTooDeep as error:
                self._too_deep = error
        return ()


def _why_no_code(pattern: str) -> str:
    """Return a hint about a pattern that is no code in any of the languages asked for."""
    if lower := _LOWER_CASE_HOLE.search(pattern):
        return f"metavariables are upper case: {lower[0].upper()}"
    if _PART_OF_A_NAME.search(pattern):
        return "a metavariable stands for a whole name"
    if pattern.startswith("."):
        return f"name what stands before the dot, too: $X{pattern}"
    whole = "it must be whole: an expression, a statement, a definition or its head: 'open($FILE)'"
    return f"{whole}, and no regular expression" if _REGULAR.search(pattern) else whole
