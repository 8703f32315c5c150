"""Parses the name that a question is about, as people and models write it."""

from __future__ import annotations

import re

from memory_sidecar.code.query_names import QUALIFIER_SEPARATOR
from memory_sidecar.core.errors import UsageError

MAX_CHARACTERS = 4096  # of a name with its file, as of a path
_HINT = "for example total_price, Cart.total_price or shop/cart.py:12"

_NAME = re.compile(  # total, Cart.total, Cart::~Cart, Box<int>::get, owner=, area', operator==, <=>
    r"(?:[^\W\d][\w$?!']*(?:<[^<>]*>)?(?:\.|::|->|#))*"
    r"(?:operator\W{1,3}|[^\w\s.:#]{1,3}|~?[^\W\d][\w$?!']*=?)(?:\(\))?"
)
_IN_FILE = re.compile(r"(?:\./)?([^:\s]*/[^:\s]+)\.\w+::?(?=[^\W\d])")  # shop/cart.py:Cart.total
_KEYWORD = re.compile(
    r"(?:(?:async|class|def|enum|fn|func|function|interface|struct|trait|type)\s+)+(?=[^\W\d])"
)
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)<[^<>]*>(?=\.|::)")


def parse_name(text: str) -> list[str]:
    """Return the parts of a name: what qualifies it, outermost first, then the name itself.

    A name may stand in backticks, after the keyword that defines it, before its arguments in
    parentheses, and behind its file: `shop/cart.py:Cart.total`, whose folders and module qualify
    it, too. Raises UsageError for other text.
    """
    bare = text.strip().strip("`")
    if len(bare) > MAX_CHARACTERS:
        raise UsageError(f"{bare[:60]!r}… is not a name", hint=_HINT)
    above: list[str] = []
    if in_file := _IN_FILE.match(bare):
        above, bare = in_file[1].split("/"), bare[in_file.end() :]
    bare = _KEYWORD.sub("", bare, count=1) if _KEYWORD.match(bare) else bare
    if bare.endswith(")") and "(" in bare[1:]:
        bare = f"{bare[: bare.index('(', 1)]}()"
    if not _NAME.fullmatch(bare):
        raise UsageError(f"{text!r} is not a name", hint=_HINT)
    parts = QUALIFIER_SEPARATOR.split(_TYPE_ARGUMENTS.sub("", bare.removesuffix("()")))
    return above + without_prototype(parts)


def without_prototype(parts: list[str]) -> list[str]:
    """Drop `prototype`: `Reply.prototype.send` is JavaScript's `send` of a `Reply`."""
    return [part for part in parts[:-1] if part != "prototype"] + parts[-1:]
