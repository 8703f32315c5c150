"""Finds what a name in a query stands for which no source defines.

It is first looked for in the text of chunks, letter by letter: it may be the key of a setting, a
flag, a parameter or a field, or defined by another package. If no chunk holds it, it stands for the
defined names that begin with it, else for it in another style (`parseArgs` for `parse_args`), else
for those that begin with it whatever the case of letters, else for those one typo away: a letter
too many, too few, wrong, or two swapped, else for those that end in it: `easy_perform` for
`curl_easy_perform`. A name with many candidates stands for none. A query of one word in lower case
also stands for the names that differ in the case of letters alone: `router` for `Router`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memory_sidecar.code.asides import asides_of, is_aside
from memory_sidecar.code.framing import LOOKS_LIKE_NAME
from memory_sidecar.code.messages import MAX_MESSAGE_CHUNKS
from memory_sidecar.code.name_parts import QUALIFIER_SEPARATOR
from memory_sidecar.code.query_names import DefinedNames, QueryNames
from memory_sidecar.code.question import Question
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.index.words import MAX_PHRASE_WORDS, plain_words

MAX_PHRASE_CHUNKS = 50  # that are read to look for an unknown name
MIN_LETTERS = 4  # of an unknown name that is completed or corrected
MAX_ENDINGS = 3  # unknown names of which other names may end in one: each reads all names

_NO_SOURCES = frozenset({"tests", "examples"})  # asides whose names may be those of the sources
_IDENTIFIER = re.compile(r"[^\W\d][\w-]*")


def resolve_undefined(
    names: QueryNames, question: Question, rows: CodeRows
) -> tuple[QueryNames, list[int]]:
    """Look for those of `names` that nothing defines, or only tests of sources that hold them.

    Returns `names` with the unknown ones and the defined names that they stand for, and the ids of
    chunks that hold an unknown name which is the whole query.
    """
    known = rows.defined_names
    symbols: list[tuple[str, ...]] = []
    only_in_tests: set[tuple[str, ...]] = set()
    chunks: list[int] = []
    undefined: list[str] = []
    for token in names.tokens:
        if names.is_single_word and token.islower():
            same = tuple(
                (name,)
                for name in known.same_but_for_case(token)
                if not _sources_using(name, token, question, rows)
            )
            if rows.named_chunks(QueryNames(same, (), is_single_word=False, paths=())):
                symbols += same
                continue
        if _is_defined(QUALIFIER_SEPARATOR.split(token), known, is_key=names.is_single_word):
            if using := _sources_using(token, token, question, rows):
                only_in_tests.add((token,))
                if names.is_single_word and len(using) <= _most_holding(token, names):
                    chunks += using
            continue
        undefined.append(token)
        holding = _chunks_holding(token, rows)
        if not holding and len(token) >= MIN_LETTERS and _IDENTIFIER.fullmatch(token):
            similar = (
                known.with_prefix(token) or known.in_any_case(token) or known.one_typo_from(token)
            )
            if not similar and len(undefined) <= MAX_ENDINGS:
                similar = known.ending_in(token)
            symbols += [(name,) for name in similar]
        elif names.is_single_word and len(holding) <= _most_holding(token, names):
            chunks += holding
    defined = (name for name in names.symbols if name not in only_in_tests)
    found = replace(names, symbols=(*defined, *symbols), undefined=tuple(undefined))
    return found, chunks


def _sources_using(name: str, typed: str, question: Question, rows: CodeRows) -> list[int]:
    """Return the chunks of sources that hold `name`, which tests or examples alone define.

    It may be the key of a setting, a flag or what another package defines. Those that hold it as
    `typed`, in another case, count, too: a test may have a constant `TILL_MODE` for "till_mode".
    """
    unasked, defining = question.asides & _NO_SOURCES, rows.defined_names.files_defining(name)
    if not defining or not all(unasked & asides_of(each) for each in defining):
        return []
    spelled = dict.fromkeys((name, typed))
    holding = rows.texts_of([id_ for each in spelled for id_ in _chunks_holding(each, rows)])
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
    """Return how many chunks may lead because they hold `token`, in a query of one word.

    If more hold a plain word or a part of a path, they are likely to be about something else; a
    name is seldom written by chance, nor is a key such as `max-size`.
    """
    is_name = not names.paths and ("-" in token or LOOKS_LIKE_NAME.search(token))
    return MAX_PHRASE_CHUNKS - 1 if is_name else MAX_MESSAGE_CHUNKS


def _chunks_holding(token: str, rows: CodeRows) -> Sequence[int]:
    """Return the ids of the chunks that hold `token` letter by letter.

    Where `MAX_PHRASE_CHUNKS` hold its stem and one of them holds `token`, all are returned.
    """
    words = plain_words(token)
    if not token.isascii() or not words:
        return []
    ids = rows.phrase_chunks(" ".join(words[-MAX_PHRASE_WORDS:]), MAX_PHRASE_CHUNKS)
    exact = re.compile(rf"(?<![\w-]){re.escape(token)}(?![\w-])")
    holding = [each.chunk_id for each in rows.texts_of(ids) if exact.search(each.code)]
    return ids if holding and len(ids) == MAX_PHRASE_CHUNKS else holding
