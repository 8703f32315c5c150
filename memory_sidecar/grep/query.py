"""A raw tree-sitter query as a pattern: `(call function: (identifier) @name) @match`.

What `@match` captures is the hit, without one all that was captured together, without any
capture the outermost node. Names that begin with `_` are for predicates only.
"""

from __future__ import annotations

import tree_sitter

from memory_sidecar.chunking.syntax import grammar
from memory_sidecar.grep.match import Found

_HIT = "match"


def read_query(text: str, language: str) -> tree_sitter.Query:
    """Raises `tree_sitter.QueryError` for what is no query over trees of that language."""
    query = tree_sitter.Query(grammar(language), text)
    if query.capture_count:
        return query
    return tree_sitter.Query(grammar(language), f"{text} @{_HIT}")


def find_by_query(query: tree_sitter.Query, text: bytes, language: str) -> list[Found]:
    """Every match, in order; of several over the same code the first.

    `text` is one that `syntax.parse` takes. It is parsed again, because predicates ask for texts
    of nodes, which a tree that was read through a callback cannot give without crashing.
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
