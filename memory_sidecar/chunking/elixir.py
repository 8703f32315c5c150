"""The words of Elixir, in which a definition, an import and a condition are calls like any other.

The queries capture what is called as `@word`; they cannot ask what it is, for want of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import tree_sitter

# Each with the kind of what it defines.
DEFINING: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("def", "defp", "defguard", "defguardp", "defdelegate"), "function"),
        **dict.fromkeys(("defmacro", "defmacrop"), "macro"),
        **dict.fromkeys(("@callback", "@macrocallback"), "function"),
        "defmodule": "module",
        "defprotocol": "protocol",
        "defimpl": "impl",
    }
)
LEADS = frozenset({"@deprecated", "@dialyzer", "@doc", "@impl", "@since", "@spec"})
KEYWORDS = frozenset(
    b"alias case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop"
    b" defmodule defoverridable defp defprotocol defstruct for if import quote receive require try"
    b" unless unquote unquote_splicing use with".split()
)


def word_of(data: bytes, captures: Mapping[str, Sequence[tree_sitter.Node]]) -> str | None:
    """What is called, with the `@` of an attribute; `None` in a language of other definitions."""
    if "word" not in captures:
        return None
    start, stop = captures["word"][0].byte_range
    return data[start - (data[start - 1 : start] == b"@") : stop].decode(errors="replace")
