"""Words that tell what a call defines in Elixir, and a block in HCL.

The queries capture them as `@word`; they cannot ask what it is, for want of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import tree_sitter

# By language, each with the kind of what it defines.
_ELIXIR = MappingProxyType(
    {
        **dict.fromkeys(("def", "defp", "defguard", "defguardp", "defdelegate"), "function"),
        **dict.fromkeys(("defmacro", "defmacrop"), "macro"),
        **dict.fromkeys(("@callback", "@macrocallback"), "function"),
        "defmodule": "module",
        "defprotocol": "protocol",
        "defimpl": "impl",
    }
)
_HCL = MappingProxyType(
    {
        **dict.fromkeys(("resource", "data"), "resource"),
        **dict.fromkeys(("variable", "output", "locals"), "variable"),
        "module": "module",
    }
)
DEFINING: Mapping[str, Mapping[str, str]] = MappingProxyType({"elixir": _ELIXIR, "hcl": _HCL})
OWNERS: Mapping[str, str] = MappingProxyType(  # what a use of it names first
    {"variable": "var", "locals": "local", "module": "module"}
)
LEADS = frozenset({"@deprecated", "@dialyzer", "@doc", "@impl", "@since", "@spec"})
KEYWORDS = frozenset(  # of Elixir, which are called, too
    b"alias case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop"
    b" defmodule defoverridable defp defprotocol defstruct for if import quote receive require try"
    b" unless unquote unquote_splicing use with".split()
)


def word_of(data: bytes, captures: Mapping[str, Sequence[tree_sitter.Node]]) -> str | None:
    """The word, with the `@` of an attribute; `None` in a language of other definitions."""
    if "word" not in captures:
        return None
    start, stop = captures["word"][0].byte_range
    return data[start - (data[start - 1 : start] == b"@") : stop].decode(errors="replace")
