"""Finds the chunks that a question names: candidates of a search, whatever its arms find.

    the question has               found by            and led by, in `ranking`
    ─────────────────────────────────────────────────────────────────────────────────────
    a line, as in a traceback      `_chunks_at_lines`  `line`: before all else
    frames of a trace, without any `frames`            `line`
    pasted code, else              `snippets`          `line`
    the path of a file             `query_names`       `exact_path`
    the path of a key of data      `keys`              `exact_text`
    the path of an address         `routes`            `exact_text`, where it is declared
      whose callers it asks for    `route_calls`       `exact_text`, where it is called
    a name that is defined         `query_names`       `exact_symbol`
    a field or a setting, if alone `fields`            `line`, where it is declared
      or in a question
    a name that nothing defines    `unknown_names`     `exact_symbol`, of what it stands for
      that is the whole question,  `unknown_names`     `exact_text`, where chunks hold it
      or in a command, a table …
                                   `_files_called`     `exact_path`, else
    a message                      `messages`          `exact_text`; names in it lead nowhere
    a request for a guide          `ENTRY_PAGES`       nothing: they are candidates only

A name in a sentence that very many chunks define leads to none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from memory_sidecar.code.asides import asides_of
from memory_sidecar.code.directory import Line, is_at
from memory_sidecar.code.fields import chunks_declaring
from memory_sidecar.code.frames import chunks_of_frames
from memory_sidecar.code.guides import ENTRY_PAGES
from memory_sidecar.code.keys import chunks_with_key
from memory_sidecar.code.messages import chunks_with_message
from memory_sidecar.code.query_names import MAX_FILES_AT_PATHS, QueryNames, names_in
from memory_sidecar.code.question import Question
from memory_sidecar.code.route_calls import chunks_calling_route
from memory_sidecar.code.routes import chunks_with_route
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.snippets import chunks_with_snippet
from memory_sidecar.code.store import split_symbols
from memory_sidecar.code.unknown_names import resolve_undefined
from memory_sidecar.index.codes import Ids, Mask
from memory_sidecar.index.ids import distinct, locate, mask_allowed
from memory_sidecar.index.keyword import Keywords

MAX_DEFINING = 10  # chunks that define a name in a sentence and lead


class Defining(NamedTuple):
    """What one chunk defines."""

    bits: int = 0  # the words of the question that its names match, see `Question.match_bits`
    is_name: bool = False  # whether one of these is a name in the question
    symbols: str = ""  # as `split_symbols` takes them
    scope: str = ""


@dataclass(frozen=True, slots=True)
class NamedRows:
    """What a question names among its candidates."""

    defining: Sequence[Defining]  # what each candidate defines
    at_path: Mask  # of each of their files: whether the question names its path
    holds_text: Mask  # of each candidate: whether it is one of `NamedChunks.literal_ids`
    at_lines: Ids  # the rows of the candidates in `NamedChunks.at_lines`, in that order


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

    def among(
        self, ids: Ids, paths: Sequence[str], definitions: Mapping[int, Defining]
    ) -> NamedRows:
        """Return what is named among the candidates `ids`, which ascend and lie at `paths`.

        `definitions`: those of all of them, see `definitions_in`.
        """
        return NamedRows(
            [definitions[each] for each in ids.tolist()],
            np.array(self.names.match_paths(paths), np.bool_),
            mask_allowed(ids, distinct(np.array(self.literal_ids, np.int64))),
            locate(np.array(self.at_lines, np.int64), ids)[0],
        )


def find_named(question: Question, keywords: Keywords, rows: CodeRows) -> NamedChunks:
    """Return the chunks of `rows` that `question` names; `keywords` are those of its subject."""
    asked = names_in(question.text).without(question.projects)
    names, literal_ids = resolve_undefined(asked, question, rows)
    is_about_name = not (question.message and literal_ids)
    if keys := chunks_with_key(question.text, rows):
        literal_ids = keys
    elif question.message and not names.is_single_word:
        said = chunks_with_message(question, keywords, rows)
        # A message may name what it is about: that should not lead then.
        is_about_name, literal_ids = not said, said or literal_ids
    if is_about_name and not keys:
        text = question.text
        literal_ids = (
            chunks_calling_route(text, rows) or chunks_with_route(text, rows) or literal_ids
        )
    if called := _files_called(names, question, rows):
        names, literal_ids = replace(names, paths=tuple(called)), []
    ids = rows.named_chunks(names)
    at_lines = (
        _chunks_at_lines(rows, names, ids)
        or chunks_of_frames(question.pasted, rows)
        or chunks_with_snippet(question, rows)
    )
    if at_lines:
        names = replace(names, paths=tuple({*names.paths}.difference(dict(names.lines))))
        literal_ids = at_lines if names.is_single_word else [*literal_ids, *at_lines]
    elif (is_about_name or names.is_single_word) and not (keys or called):
        at_lines = chunks_declaring(asked, question, rows)
        literal_ids = [*literal_ids, *at_lines]
    qualified = _chunks_of_qualified(asked, question, rows) if is_about_name else set()
    if not names.is_single_word and asked.tokens:
        names = _without_common(names, ids, rows)
    pages: Sequence[int] = ()
    if question.asks_for_guide:
        pages = rows.named_chunks(QueryNames((), (), is_single_word=False, paths=ENTRY_PAGES))
    return NamedChunks(names, [*ids, *literal_ids, *pages], literal_ids, qualified, at_lines)


def _chunks_of_qualified(names: QueryNames, question: Question, rows: CodeRows) -> set[int | None]:
    """Return the chunks at the places that the qualified ones of `names` mean.

    What a message names is not looked for in bases of a class. Of what a question for tests names,
    only a test is meant, as in the log of one.
    """
    of_bases = names.is_single_word or not question.message
    places_of = partial(rows.defined_names.places_of, of_bases=of_bases)
    places = chain.from_iterable(map(places_of, names.symbols))
    meant = (at for at in places if "tests" in question.asides or "tests" in asides_of(at.path))
    return set(map(rows.chunk_at, meant))


def _without_common(names: QueryNames, ids: Sequence[int], rows: CodeRows) -> QueryNames:
    """Return `names` without those that many of the chunks `ids` define.

    A sentence about `handle_event`, which every view has, is about none of them in particular.
    """
    found = rows.symbols_of(ids).values()
    defining = Counter(name for symbols, _ in found for name in {*split_symbols(symbols)})
    few = (name for name in names.symbols if len(name) > 1 or defining[name[0]] <= MAX_DEFINING)
    return replace(names, symbols=tuple(few))


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
