"""Parses the name that a question is about, and finds the definitions that it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from memory_sidecar.code.directory import typed_path
from memory_sidecar.code.graph import Defined, Graph
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.language import TEXT, detect_language
from memory_sidecar.core.opening import MAX_PATH_BYTES
from memory_sidecar.index.words import MARKS

QUALIFIER_SEPARATOR = re.compile(r"\.|::|->|#")
_HINT = "for example total_price, Cart.total_price or shop/cart.py:12"

_NAME = re.compile(  # Cart.total, Cart::~Cart, Box<int>::get, owner=, area', operator bool, <=>
    rf"(?:[^\W\d][\w$?!'{MARKS}]*(?:<[^<>]*>)?(?:\.|::|->|#))*"
    rf"(?:operator(?:\W{{1,3}}|\s[\w\s*&]+)|[^\w\s.:#]{{1,3}}|~?[^\W\d][\w$?!'{MARKS}]*=?)(?:\(\))?"
)
# `operator std::vector<int>`, a conversion to a type, is indexed as `operator vector`.
_CONVERSION = re.compile(r"(\boperator\s+)(?:\w+::)*(\w+)(?:<.*>)?")
_IN_FILE = re.compile(  # shop/cart.py:Cart.total, cart.py:Cart.total
    r"(?:\./)?([^:\s]*/[^:\s]+|[\w-]+)\.(\w+)::?(?=[^\W\d])"
)
_KEYWORD = re.compile(
    r"(?:(?:async|class|def|enum|fn|func|function|interface|struct|trait|type)\s+)+(?=[^\W\d])"
)
_NAMESPACE = re.compile(r"\\(?=[^\W\d])")  # of PHP: Shop\Cart, \Shop\Cart
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)<[^<>]*>(?=\.|::)")


def parse_name(text: str) -> list[str]:
    """Return the parts of a name: what qualifies it, outermost first, then the name itself.

    A name may stand in backticks, after the keyword that defines it, before its arguments in
    parentheses, and behind its file: `shop/cart.py:Cart.total`, whose folders and module qualify
    it, too. Raises UsageError for other text.
    """
    bare = text.strip().strip("`")
    if len(bare) > MAX_PATH_BYTES:
        raise UsageError(f"{bare[:60]!r}… is not a name", hint=_HINT)
    above: list[str] = []
    in_file = _IN_FILE.match(bare)
    if in_file and ("/" in in_file[1] or detect_language(f".{in_file[2]}") != TEXT):
        above, bare = in_file[1].split("/"), bare[in_file.end() :]
    bare = _KEYWORD.sub("", bare, count=1) if _KEYWORD.match(bare) else bare
    if bare.endswith(")") and "(" in bare[1:]:
        bare = f"{bare[: bare.index('(', 1)]}()"
    bare = _NAMESPACE.sub(lambda found: "." if found.start() else "", bare)
    bare = _CONVERSION.sub(r"\1\2", bare)
    if not _NAME.fullmatch(bare):
        raise UsageError(f"{text!r} is not a name", hint=_HINT)
    parts = QUALIFIER_SEPARATOR.split(_TYPE_ARGUMENTS.sub("", bare.removesuffix("()")))
    return above + without_prototype(parts)


def parse_name_in(graph: Graph, text: str) -> list[str]:
    """Parse a name. Raises UsageError, for the path of a file with the command that takes it."""
    try:
        return parse_name(text)
    except UsageError as error:
        raise UsageError(error.message, hint=file_hint(graph, text) or error.hint) from error


def without_prototype(parts: list[str]) -> list[str]:
    """Drop `prototype`: `Reply.prototype.send` is JavaScript's `send` of a `Reply`."""
    return [part for part in parts[:-1] if part != "prototype"] + parts[-1:]


def definitions_meant(parts: Sequence[str], named: Iterable[Defined]) -> list[Defined]:
    """Return those of `named`, the definitions of the last part, that all `parts` mean.

    The longest path counts; what stands before it may name modules: `httpx.Client.get`.
    """
    named = list(named)
    found = (
        _with_path(named, parts[:-length], parts[-length:]) for length in range(len(parts), 0, -1)
    )
    return next(filter(None, found), [])


def _with_path(
    named: Iterable[Defined], above: Sequence[str], path: Sequence[str]
) -> list[Defined]:
    """Return those of `named` whose path ends with `path`, in a module or folders named by `above`.

    If `above` names folders and not the module itself, `path` must be the whole path.
    """
    found = []
    for each in named:
        own = without_prototype(each.path.split("."))
        at = each.at
        is_in_module = len(above) == 1 and above[0] in at.modules
        is_below = own == path and is_subsequence(above, [*at.folder.split("/"), *at.modules])
        if own[-len(path) :] == path and (not above or is_in_module or is_below):
            found.append(each)
    return found


def is_subsequence(parts: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether `parts` occur in `whole` in this order, perhaps with others between."""
    left = iter(whole)
    return all(part in left for part in parts)


def members_like(graph: Graph, name: str, owners: Iterable[Defined]) -> list[Defined]:
    """Return the members of the types among `owners`, those most like `name` first."""
    types = [each for each in owners if each.is_type]
    members = [
        each
        for owner in types
        for each in graph.definitions_in(owner.at)
        if each.scope == owner.path
    ]
    return sorted(members, key=lambda each: -SequenceMatcher(None, name, each.name).ratio())


def file_hint(graph: Graph, name: str) -> str:
    """Return a hint which command takes the file called `name`, if one is indexed; else ""."""
    row = graph.connection.execute(
        "SELECT source, path FROM files WHERE status = 'indexed'"
        " AND substr('/' || path, -length(?1)) = ?1 ORDER BY length(path), source, path LIMIT 1",
        (f"/{name}",),
    ).get
    if row is None:
        return ""
    typed = typed_path(graph.connection, *row)
    return f"it is a file: `memory-sidecar impact {typed}` tells what uses it"
