"""Finds what a name in a query stands for which no source defines.

It is first looked for in the text of chunks, letter by letter: it may be the key of a setting, a
flag, a parameter or a field, or defined by another package. If no chunk holds it, it stands for the
defined names that begin with it, else for it in another style (`parseArgs` for `parse_args`), else
for those that begin with it whatever the case of letters, else for those one typo away: a letter
too many, too few, wrong, or two swapped, else for those that have all its parts, in any order:
`easy_perform` for `curl_easy_perform`. A name with many candidates stands for none. A query of one
word in lower case also stands for the names that differ in the case of letters alone: `router` for
`Router`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memory_sidecar.code.asides import asides_of, is_aside
from memory_sidecar.code.directory import is_at
from memory_sidecar.code.framing import LOOKS_LIKE_NAME
from memory_sidecar.code.messages import MAX_MESSAGE_CHUNKS, best_makers, message_phrase
from memory_sidecar.code.name_parts import QUALIFIER_SEPARATOR
from memory_sidecar.code.query_names import DefinedNames, QueryNames
from memory_sidecar.code.question import Question
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.index.words import MAX_PHRASE_WORDS, QUESTION_WORD, plain_words

MAX_PHRASE_CHUNKS = 50  # that are read to look for an unknown name
MIN_LETTERS = 4  # of an unknown name that is completed or corrected
MAX_READING_ALL = 3  # unknown names that may be parts of other names: each reads all names

_NO_SOURCES = frozenset({"tests", "examples"})  # asides whose names may be those of the sources
_IDENTIFIER = re.compile(r"[^\W\d][\w-]*")


def resolve_undefined(
    names: QueryNames, question: Question, rows: CodeRows
) -> tuple[QueryNames, list[int]]:
    """Look for those of `names` that nothing defines, or only tests of sources that hold them.

    Returns `names` with the unknown ones and the defined names that they stand for, and the ids of
    chunks that hold an unknown name which is the whole query. Where no name in a text is defined,
    as in a command or a table of settings, these are the chunks that hold the most of its names;
    none for a question in words.
    """
    known = rows.defined_names
    symbols: list[tuple[str, ...]] = []
    only_in_tests: set[tuple[str, ...]] = set()
    chunks: list[int] = []
    undefined: dict[str, Sequence[int]] = {}  # and the chunks that hold each
    for token in names.tokens:
        same = _in_other_case(token, question, rows) if names.is_single_word else ()
        if same:
            symbols += same
            continue
        if _is_defined(QUALIFIER_SEPARATOR.split(token), known, is_key=names.is_single_word):
            if using := _sources_using(token, token, question, rows):
                only_in_tests.add((token,))
                if names.is_single_word and len(using) <= _most_holding(token, names):
                    chunks += using
            continue
        undefined[token] = chunks_holding(token, rows)
        if not undefined[token]:
            reads_all = len(undefined) <= MAX_READING_ALL
            symbols += [(name,) for name in _names_like(token, known, reads_all=reads_all)]
    if names.is_single_word:
        for name, ids in undefined.items():
            found = ids if ids or symbols else _chunks_saying(name, rows)
            chunks += found if len(found) <= _most_holding(name, names) else ()
    elif not symbols and len(undefined) == len(names.tokens):
        chunks += _holding_most(undefined, names, question, rows)
    defined = (name for name in names.symbols if name not in only_in_tests)
    found_names = replace(names, symbols=(*defined, *symbols), undefined=tuple(undefined))
    return found_names, chunks


def _in_other_case(token: str, question: Question, rows: CodeRows) -> Sequence[tuple[str, ...]]:
    """Return the names, if chunks define any, that a query of one word in lower case is, too."""
    if not token.islower():
        return ()
    same = tuple(
        (name,)
        for name in rows.defined_names.same_but_for_case(token)
        if not _sources_using(name, token, question, rows)
    )
    return same if rows.named_chunks(QueryNames(same, (), is_single_word=False, paths=())) else ()


def _names_like(token: str, known: DefinedNames, *, reads_all: bool) -> Sequence[str]:
    """Return the defined names that `token` may stand for."""
    if len(token) < MIN_LETTERS or not _IDENTIFIER.fullmatch(token):
        return ()
    near = known.with_prefix(token) or known.in_any_case(token) or known.one_typo_from(token)
    return near or (known.with_parts(token) if reads_all else ())


def _holding_most(
    undefined: Mapping[str, Sequence[int]], names: QueryNames, question: Question, rows: CodeRows
) -> list[int]:
    """Return the ids of the chunks in sources that hold the most of the names of a text.

    Those of a test count that is called so: see `_chunks_saying`. The end of a path in the text is
    no name. A question in words, or one about a programming language, asks for none of these.
    """
    if question.names_language or QUESTION_WORD.match(question.pasted):
        return []
    held = Counter[int]()
    for name, ids in undefined.items():
        is_known = 0 < len(ids) <= MAX_MESSAGE_CHUNKS and not any(
            is_at(path, name) for path in names.paths
        )
        texts = rows.texts_of(ids) if is_known else ()
        sources = [each.chunk_id for each in texts if not is_aside(each.filename)]
        held.update(sources or _chunks_saying(name, rows))
    return best_makers(held)


def _chunks_saying(name: str, rows: CodeRows) -> Sequence[int]:
    """Return the ids of the chunks that hold the parts of `name` as words in a row.

    Tests have names of words: `test_empty_carts_cost_nothing` or `empty_carts_cost_nothing`.
    """
    last = QUALIFIER_SEPARATOR.split(name)[-1]
    parts = plain_words(last) if _IDENTIFIER.fullmatch(last) else []
    phrase = message_phrase(" ".join(parts[parts[:1] == ["test"] :]))
    return rows.phrase_chunks(phrase, MAX_PHRASE_CHUNKS) if phrase else ()


def _sources_using(name: str, typed: str, question: Question, rows: CodeRows) -> list[int]:
    """Return the chunks of sources that hold `name`, which tests or examples alone define.

    It may be the key of a setting, a flag or what another package defines. Those that hold it as
    `typed`, in another case, count, too: a test may have a constant `TILL_MODE` for "till_mode".
    """
    unasked, defining = question.asides & _NO_SOURCES, rows.defined_names.places_called(name)
    if not defining or not all(unasked & asides_of(each.path) for each in defining):
        return []
    spelled = dict.fromkeys((name, typed))
    holding = rows.texts_of([id_ for each in spelled for id_ in chunks_holding(each, rows)])
    return [each.chunk_id for each in holding if not is_aside(each.filename)]


def _is_defined(parts: Sequence[str], known: DefinedNames, *, is_key: bool) -> bool:
    """Whether something is defined that is called like the last of `parts`.

    With `is_key`, its qualifiers must match, too: `filter.limit` may be the key of a setting, even
    if something else has a `limit`.
    """
    if is_key and len(parts) > 1 and not any(known.places_of(parts)):
        return False
    return known.has(parts[-1])


def _most_holding(token: str, names: QueryNames) -> int:
    """Return how many chunks may lead because they hold `token`; mostly of a query of one word.

    If more hold a plain word or a part of a path, they are likely to be about something else; a
    name is seldom written by chance, nor is a key such as `max-size`.
    """
    is_name = not names.paths and ("-" in token or LOOKS_LIKE_NAME.search(token))
    return MAX_PHRASE_CHUNKS - 1 if is_name else MAX_MESSAGE_CHUNKS


def chunks_holding(token: str, rows: CodeRows) -> Sequence[int]:
    """Return the ids of the chunks that hold `token` letter by letter.

    Where `MAX_PHRASE_CHUNKS` hold its stem and one of them holds `token`, all are returned.
    """
    words = plain_words(token)
    if not token.isascii() or not words:
        return []
    ids = rows.phrase_chunks(" ".join(words[-MAX_PHRASE_WORDS:]), MAX_PHRASE_CHUNKS)
    exact = re.compile(rf"(?<![\w-])-{{0,2}}{re.escape(token.lstrip('-'))}(?![\w-])")
    holding = [each.chunk_id for each in rows.texts_of(ids) if exact.search(each.code)]
    return ids if holding and len(ids) == MAX_PHRASE_CHUNKS else holding
