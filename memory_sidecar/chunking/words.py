"""Keywords that make a call a definition in Elixir, and a block in HCL.

The queries capture them as `@word` but cannot compare them, since their predicates have no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import tree_sitter

# The kind of definition by keyword.
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
OWNERS: Mapping[str, str] = MappingProxyType(  # the prefix in a use of the definition: `var.name`
    {"variable": "var", "locals": "local", "module": "module"}
)
LEADS = frozenset({"@deprecated", "@dialyzer", "@doc", "@impl", "@since", "@spec"})
KEYWORDS = frozenset(  # of Elixir, where they parse as calls
    b"alias case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop"
    b" defmodule defoverridable defp defprotocol defstruct for if import quote receive require try"
    b" unless unquote unquote_splicing use with".split()
)


def word_of(data: bytes, captures: Mapping[str, Sequence[tree_sitter.Node]]) -> str | None:
    """Return the captured keyword, with the `@` of an attribute; `None` if none was captured."""
    if "word" not in captures:
        return None
    start, stop = captures["word"][0].byte_range
    return data[start - (data[start - 1 : start] == b"@") : stop].decode(errors="replace")
