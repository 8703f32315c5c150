"""Parses a text with the grammar of its language, unless that would take minutes or gigabytes."""

from __future__ import annotations

import re
import threading
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import thread_time

import tree_sitter

from memory_sidecar.chunking.misread import MISREAD, MISREAD_UNSEEN, Mending, spell

# Text that is ambiguous at every token (`a<b<a<b<`, garbage) takes time and memory that grow with
# the square of its length. In C# the number of progress reports shows that, in Java the time. A
# normal parse reports progress 7 to 14 times a KB, and takes 0.25 s of processor time a MB. Tables
# of numbers and short strings, such as those that ANTLR makes, have more tokens: 20 to 90 times.
_REPORTS_PER_BYTE = 0.02
_REPORTS_PER_ITEM = 0.2
_REPORTS_SLACK = 200
_ITEM = re.compile(rb"[\d'\")\]}],")  # of a table
_PARSE_S_PER_BYTE = 2e-6
_PARSE_SLACK_S = 0.25
_REPORTS_PER_CLOCK = 16  # reading the clock at each report took a tenth of all chunking
# Such a line is generated, and some scanners are quadratic in its length.
_LONG_LINE = Mending(re.compile(rb"^(?=.*\S)[^\n]{20000,}", re.MULTILINE))
_MAX_TREE_DEPTH = 1_000
_DEPTH_SAMPLE = 500  # one node in so many is looked at, so that none is deeper by more
_PRAGMA_BYTES = 1_000  # at the beginning of a file: a licence may stand above

_CONFLICT = Mending(
    re.compile(  # the marks of a conflict and, if they are there, the lines that both sides changed
        rb"^(?:(?:<{7}|>{7}) .*|(?:[|]{7}(?: .*)?\n(?:(?![|<>]{7}).*\n)*?)?={7})$", re.MULTILINE
    )
)

# Grammars that are not returned by the function `language` of the package `tree_sitter_<language>`.
_PACKAGES = {"csharp": "c_sharp", "tsx": "typescript"}
_FUNCTIONS = {name: f"language_{name}" for name in ("php", "tsx", "typescript")}

# Names with an owner: of Elixir, JavaScript and Lua.
_DOTTED = frozenset({"alias", "dot_index_expression", "member_expression"})

# Names of C++ with an owner, or with arguments, which may hold owners, too: `add<std::string>`.
_NAMED_WITH = frozenset(
    {"qualified_identifier", "template_function", "template_method", "template_type"}
)

_INCLUDED = re.compile(r"^; include (\w+)$", re.MULTILINE)

_threads = threading.local()


def parse(data: bytes, language: str) -> tuple[tree_sitter.Tree, bytes] | None:
    """Parse `data`, UTF-8; return its tree and the bytes that it was made of, as many as `data`.

    Return `None` for text that takes too long or is too deep. Lines of 20,000 bytes become blank.
    Slice `data` by `Node.byte_range`: `Node.text` of such a tree is slow, and in a predicate of a
    query it crashes.
    """
    return parse_with_text(spell(data, [_LONG_LINE]), language)


def dialect_of(data: bytes, language: str) -> str:
    """Return the language whose grammar reads `data` best: that of TSX for JavaScript with Flow."""
    is_flow = language == "javascript" and b"@flow" in data[:_PRAGMA_BYTES]
    return "tsx" if is_flow else language


def parse_with_text(data: bytes, language: str) -> tuple[tree_sitter.Tree, bytes] | None:
    """Parse `data` as `parse` does; return the tree and the bytes that it was made of.

    Return `None` for data with a line of 20,000 bytes.
    """
    if _LONG_LINE.pattern.search(data):
        return None
    if b"\n>>>>>>> " in data:  # an unresolved merge: what both sides define is found
        data = spell(data, [_CONFLICT])
    data = spell(data, MISREAD_UNSEEN.get(language, ()))
    tree = parse_guarded(data, language)
    if tree is not None:
        tree, data = _as_meant(tree, data, language)
    return None if tree is None or _is_deep(tree) else (tree, data)


def parse_guarded(data: bytes, language: str, *, patience: int = 1) -> tree_sitter.Tree | None:
    """Parse `data`, UTF-8, as it is; return `None` where that would take too long.

    Its tokens may be `patience` times as dense as those of a normal text.
    """
    parser = _parser(language)
    view = memoryview(data)  # no copies: scanners that look far ahead read at many places, often

    given: list[memoryview] = []

    def read(byte: int, _: tree_sitter.Point) -> memoryview:
        given.append(view[byte:])
        return given[-1]

    items_per_byte = len(_ITEM.findall(data)) / (len(data) or 1)
    reports_per_byte = _REPORTS_PER_BYTE + _REPORTS_PER_ITEM * items_per_byte
    began, reports = thread_time(), 0

    def is_too_slow(byte: int, _: bool) -> bool:
        nonlocal reports
        reports += 1
        return reports > (_REPORTS_SLACK + byte * reports_per_byte) * patience or (
            reports % _REPORTS_PER_CLOCK == 0
            and thread_time() - began > _PARSE_SLACK_S + byte * _PARSE_S_PER_BYTE
        )

    try:
        return parser.parse(read, progress_callback=is_too_slow)
    except ValueError:  # stopped; without a reset the next parse would continue this one
        parser.reset()
        return None
    finally:
        for part in given:  # the parser keeps these views for good, and they would keep `data`
            part.release()


@cache
def grammar(language: str) -> tree_sitter.Language:
    """Return the grammar of `language`, from its installed package; nothing is downloaded."""
    package = import_module(grammar_package(language))
    return tree_sitter.Language(getattr(package, _FUNCTIONS.get(language, "language"))())


@cache
def has_grammar(language: str) -> bool:
    """Whether the package of its grammar is installed: GDScript has none for Linux on ARM."""
    return find_spec(grammar_package(language)) is not None


@cache
def has_query(language: str, folder: str = "") -> bool:
    """Whether there is a query of `language`: the file `queries/<folder>/<language>.scm`."""
    return _query_file(language, folder).is_file()


@cache
def load_query(language: str, folder: str = "") -> tree_sitter.Query:
    """Return the query of `language`, in which `; include c_family` stands for that file."""
    return tree_sitter.Query(grammar(language), _query_text(language, folder))


def text_of(data: bytes, node: tree_sitter.Node) -> str:
    """Return the text of a node. `Node.text` is slow: it asks the callback that gave the data."""
    start, stop = node.byte_range
    return data[start:stop].decode(errors="replace")


def bare_byte(data: bytes, name: tree_sitter.Node) -> int:
    """Return the first byte of a `name` without its owner: `add` of `Cart::add<int>`."""
    while inner := name.child_by_field_name("name") if name.type in _NAMED_WITH else None:
        name = inner
    start, stop = name.byte_range
    if name.type == "operator_cast":  # `operator std::string` uses a type
        return start
    mark = b"." if name.type in _DOTTED else b"::"
    return max(start, data.rfind(mark, start, stop) + len(mark))


def grammar_package(language: str) -> str:
    """Return the module with the grammar; its distribution has the same name with dashes."""
    return f"tree_sitter_{_PACKAGES.get(language, language)}"


def _query_file(name: str, folder: str) -> Path:
    return Path(__file__).parent / "queries" / folder / f"{name}.scm"


def _query_text(name: str, folder: str) -> str:
    text = _query_file(name, folder).read_text(encoding="utf-8")
    return _INCLUDED.sub(lambda found: _query_text(found[1], folder), text)


def _as_meant(tree: tree_sitter.Tree, data: bytes, language: str) -> tuple[tree_sitter.Tree, bytes]:
    """Return `tree` and `data`, or both with what the grammar misreads spelled otherwise.

    While there are errors, the spellings are tried in order, each with those that have helped
    before it, and at last all of them together.
    """
    errors, spelled = _misread_bytes(tree, language), data
    misread, helping = MISREAD.get(language, ()), tuple[Mending, ...]()
    for tried in (*((each,) for each in misread), misread):
        if not tried or errors <= tried[0].few_errors * len(data):
            continue
        if not any(each.pattern.search(data) for each in tried):
            continue
        text = spell(data, (*tried, *helping))
        other = parse_guarded(text, language)
        if other is not None and (left := _misread_bytes(other, language)) < errors:
            tree, spelled, errors, helping = other, text, left, (*tried, *helping)
    return tree, spelled


def _misread_bytes(tree: tree_sitter.Tree, language: str) -> int:
    """Count the bytes in the outermost error nodes, and the tokens that are missing.

    Also those of a class of Kotlin that is read as an expression after its annotations.
    """
    count, broken = 0, [tree.root_node]
    if language == "kotlin":
        read = (e for e in tree.root_node.children if e.type == "annotated_expression")
        count += sum(each.end_byte - each.start_byte for each in read)
    while broken:
        node = broken.pop()
        if node.is_error or node.is_missing:
            count += (node.end_byte - node.start_byte) or 1
        elif node.has_error:
            broken += node.children
    return count


def _is_deep(tree: tree_sitter.Tree) -> bool:
    """Whether nodes are so deep that a query, which climbs from each to the root, takes minutes."""
    cursor = tree.walk()
    for sample in range(0, tree.root_node.descendant_count, _DEPTH_SAMPLE):
        cursor.goto_descendant(sample)
        if cursor.depth > _MAX_TREE_DEPTH:
            return True
    return False


def _parser(language: str) -> tree_sitter.Parser:
    """Return this thread's parser, since two threads must not share one."""
    parsers: dict[str, tree_sitter.Parser] = _threads.__dict__.setdefault("parsers", {})
    if language not in parsers:
        parsers[language] = tree_sitter.Parser(grammar(language))
    return parsers[language]
