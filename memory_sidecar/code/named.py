"""Finds the chunks that a question names: candidates of a search, whatever its arms find.

A name that no source defines is first looked for in the text of chunks, letter by letter: it may be
the key of a setting, a flag, a parameter or a field, or defined by another package. If no chunk
holds it, it stands for the defined names that begin with it, else for it in another style
(`parseArgs` for `parse_args`), else for those that begin with it whatever the case of letters, else
for those one typo away: a letter too many, too few, wrong, or two swapped, else for those that end
in it: `easy_perform` for `curl_easy_perform`. A name with many candidates stands for none, and one
in a sentence that very many chunks define leads to none of them. A query of one word in lower case
also stands for the names that differ in the case of letters alone: `router` for `Router`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from memory_sidecar.code.asides import asides_of, is_aside
from memory_sidecar.code.directory import Line, is_at
from memory_sidecar.code.messages import (
    MAX_MESSAGE_CHUNKS,
    MIN_WORDS_IN_ASIDE,
    best_makers,
    lines_to_make,
    message_phrase,
    quoted_in,
    readings,
    without_values,
    words_made,
)
from memory_sidecar.code.name_parts import QUALIFIER_SEPARATOR
from memory_sidecar.code.query_names import (
    MAX_FILES_AT_PATHS,
    DefinedNames,
    QueryNames,
    names_in,
)
from memory_sidecar.code.question import LOOKS_LIKE_NAME, Question
from memory_sidecar.code.rows import ChunkText, CodeRows
from memory_sidecar.code.snippets import fullest_chunks, lines_held, pasted_lines, phrases_of
from memory_sidecar.code.store import split_symbols
from memory_sidecar.index.ids import distinct
from memory_sidecar.index.keyword import MAX_ROWS_READ, Keywords
from memory_sidecar.index.words import MAX_PHRASE_WORDS, plain_words

# Always candidates if a guide is asked for: the arms would find tests for "how do I run the tests".
ENTRY_PAGES = tuple(
    f"{name}{ending}"
    for name in ("README", "Readme", "readme", "CONTRIBUTING")
    for ending in (".md", ".markdown", ".rst", "")
)
# Chunks searched for the template of a message: those that hold most of its words. The rarest words
# are often values, which no template holds, so many more rows are looked at than for BM25.
MESSAGE_DEPTH = 100
MARKED_DEPTH = 300  # where a prefix or a value shows that it is a message; 3 ms more
QUOTED_DEPTH = 20  # of these are searched for the message with words left out
MAX_REPEATS = 120  # of a message: each translation of a program may hold it
MAX_PHRASE_CHUNKS = 50  # that are read to look for an unknown name
MAX_DEFINING = 10  # chunks that define a name in a sentence and lead
MIN_LETTERS = 4  # of an unknown name that is completed or corrected
MAX_ENDINGS = 3  # unknown names of which other names may end in one: each reads all names

_NO_SOURCES = frozenset({"tests", "examples"})  # asides whose names may be those of the sources
_IDENTIFIER = re.compile(r"[^\W\d][\w-]*")


class Defining(NamedTuple):
    """What one chunk defines."""

    bits: int = 0  # the words of the question that its names match, see `Question.match_bits`
    is_name: bool = False  # whether one of these is a name in the question
    symbols: str = ""  # as `split_symbols` takes them
    scope: str = ""


@dataclass(frozen=True, slots=True)
class NamedChunks:
    """The chunks that a question names, by what is defined, a path, a line, or their text."""

    names: QueryNames
    ids: Sequence[int]  # all of them
    literal_ids: Sequence[int]  # those that hold its text, make it as a message, or hold its lines
    qualified: Collection[int | None]  # those at the place that a qualified name means
    at_lines: Sequence[int] = ()  # those that hold its lines or pasted code, in this order

    def definitions_in(
        self, ids: Sequence[int], question: Question, rows: CodeRows
    ) -> dict[int, Defining]:
        """Return what each chunk defines of what `question` asks for."""
        named = self.names if self.names.symbols else None
        return {
            each: Defining(
                question.match_bits(symbols),
                each in self.qualified
                or (named is not None and named.are_defined_by(split_symbols(symbols), scope)),
                symbols,
                scope,
            )
            for each, (symbols, scope) in rows.symbols_of(ids).items()
        }


def find_named(question: Question, keywords: Keywords, rows: CodeRows) -> NamedChunks:
    """Return the chunks of `rows` that `question` names; `keywords` are those of its subject."""
    asked = names_in(question.text)
    if question.projects:
        asked = asked.without(question.projects)
    names, literal_ids = _resolve_undefined(asked, question, rows)
    if question.message and not names.is_single_word:
        literal_ids = _chunks_with_message(question, keywords, rows)
    # A message may name what it is about: that should not lead then.
    is_about_name = not (question.message and literal_ids)
    if called := _files_called(names, question, rows):
        names, literal_ids = replace(names, paths=tuple(called)), []
    ids = rows.named_chunks(names)
    if at_lines := _chunks_at_lines(rows, names, ids) or _chunks_with_snippet(question, rows):
        names = replace(names, paths=tuple({*names.paths}.difference(dict(names.lines))))
        literal_ids = at_lines if names.is_single_word else [*literal_ids, *at_lines]
    symbols = asked.symbols if is_about_name else ()
    of_bases = names.is_single_word or not question.message  # else inherited ones do not count
    places = (
        place for name in symbols for place in rows.defined_names.places_of(name, of_bases=of_bases)
    )
    # Nor should what a question for tests names, unless it is a test, as in the log of one.
    meant = (at for at in places if "tests" in question.asides or "tests" in asides_of(at.path))
    qualified = set(map(rows.chunk_at, meant))
    if not names.is_single_word and asked.tokens:
        names = _without_common(names, ids, rows)
    pages: Sequence[int] = ()
    if question.asks_for_guide:
        pages = rows.named_chunks(QueryNames((), (), is_single_word=False, paths=ENTRY_PAGES))
    return NamedChunks(names, [*ids, *literal_ids, *pages], literal_ids, qualified, at_lines)


def _without_common(names: QueryNames, ids: Sequence[int], rows: CodeRows) -> QueryNames:
    """Return `names` without those that many of the chunks `ids` define.

    A sentence about `handle_event`, which every view has, is about none of them in particular.
    """
    found = rows.symbols_of(ids).values()
    defining = Counter(name for symbols, _ in found for name in {*split_symbols(symbols)})
    few = (name for name in names.symbols if len(name) > 1 or defining[name[0]] <= MAX_DEFINING)
    return replace(names, symbols=tuple(few))


def _resolve_undefined(
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


def _chunks_with_message(question: Question, keywords: Keywords, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks that hold, nearly hold or make the message of `question`.

    Docs and changelogs describe a feature in the words of a question about it. So a chunk of an
    aside counts only if it holds the message letter by letter, and not for a message of few words.
    It counts less than a source that makes the message, because it may be a test that quotes it.
    """
    in_asides: list[int] = []
    read = readings(question.message)
    for reading in read:
        words = reading.split()
        ids = chunks_saying(reading, rows)
        holding = rows.texts_of(ids) if ids else ()
        found = [each.chunk_id for each in _in_sources(holding, question)]
        if 0 < len(found) <= MAX_MESSAGE_CHUNKS:
            return found
        if len(words) >= MIN_WORDS_IN_ASIDE and len(ids) <= MAX_MESSAGE_CHUNKS and not in_asides:
            text = " ".join(words)
            in_asides = [each.chunk_id for each in holding if text in " ".join(each.code.split())]
    if not (lines := lines_to_make(question.message)):
        return in_asides
    said = without_values(question.message)
    asked = keywords if said == question.message else rows.keywords(said)
    depth = MARKED_DEPTH if asked is not keywords or len(read) > 1 else MESSAGE_DEPTH
    likely = rows.coverage_arm(asked.rarest(MAX_ROWS_READ))
    makers = rows.texts_of(likely.best(depth).tolist())
    in_sources = _in_sources(makers, question)
    likeliest = {*likely.best(QUOTED_DEPTH).tolist()}
    code = {each.chunk_id: each.code for each in in_sources if each.chunk_id in likeliest}
    if found := quoted_in(question.message, code):
        return found
    made = {each.chunk_id: words_made(lines, each.code) for each in makers}
    made_in_sources = {each.chunk_id: made[each.chunk_id] for each in in_sources}
    return best_makers(made_in_sources) or in_asides or best_makers(made)


def chunks_saying(message: str, rows: CodeRows) -> Sequence[int]:
    """Return the ids of the chunks that hold the words of `message` in a row.

    Empty for a message of too few or too many words, or if more than MAX_REPEATS chunks hold it.
    """
    words = message_phrase(message)
    ids = rows.phrase_chunks(words, MAX_REPEATS + 1) if words else ()
    return ids if len(ids) <= MAX_REPEATS else ()


def _in_sources(chunks: Sequence[ChunkText], question: Question) -> list[ChunkText]:
    """Return those of `chunks` in no aside, else those in asides that `question` asks for.

    A message may say `data` or `test` and ask for none.
    """
    sources = [each for each in chunks if not is_aside(each.filename)]
    return sources or [each for each in chunks if not question.penalties(each.filename)]


def _files_called(names: QueryNames, question: Question, rows: CodeRows) -> Sequence[str]:
    """Return the paths of the files that are called like a query of one word, if these are few.

    Only for a word that nothing defines. Asides count only if no other file is called so.
    """
    if not names.is_single_word or not names.undefined or names.paths:
        return ()
    called = rows.paths_called(names.undefined[0])
    meant = [path for path in called if not question.penalties(path)] or called
    return meant if len(meant) <= MAX_FILES_AT_PATHS else ()


def _chunks_at_lines(rows: CodeRows, names: QueryNames, named: Sequence[int]) -> list[int]:
    """Return the chunks that hold the lines in `names`, in their order, each once.

    Their files are those of the chunks `named`. If an absolute path ends with the paths of several
    files, it means the one with the longest path.
    """
    if not names.lines:
        return []
    known, numbers = rows.files_of(distinct(np.array(named, np.int64)))
    files = sorted({known[number] for number in numbers.tolist()})
    found: list[int | None] = []
    for path, line in names.lines:
        meant = [file for file in files if is_at(file.path, path)]
        least = min(len(path), max((len(file.path) for file in meant), default=0))
        places = (Line(file.source, file.path, line) for file in meant if len(file.path) >= least)
        found += map(rows.chunk_at, places)
    return [each for each in dict.fromkeys(found) if each is not None]


def _chunks_with_snippet(question: Question, rows: CodeRows) -> list[int]:
    """Return the chunks of the file that holds the most of pasted code: see `fullest_chunks`."""
    lines = pasted_lines(question.pasted)
    if not lines:
        return []
    phrases = phrases_of(question.pasted)
    ids = {each for words in phrases for each in rows.phrase_chunks(words, MAX_PHRASE_CHUNKS)}
    held: dict[str, dict[int, set[str]]] = {}
    for each in rows.texts_of(sorted(ids)):
        if found := lines_held(lines, each.code):
            held.setdefault(each.filename, {})[each.chunk_id] = found
    return fullest_chunks(held, lines)
