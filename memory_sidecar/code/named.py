"""Finds the chunks that a question names: candidates of a search, whatever its arms find."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from memory_sidecar.code.directory import Line, is_at
from memory_sidecar.code.messages import chunks_with_message
from memory_sidecar.code.query_names import MAX_FILES_AT_PATHS, QueryNames, names_in
from memory_sidecar.code.question import Question
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.index.keyword import MAX_ROWS_READ, Keywords

# Always candidates if a guide is asked for: the arms would find tests for "how do I run the tests".
ENTRY_PAGES = tuple(
    f"{name}{ending}"
    for name in ("README", "Readme", "readme", "CONTRIBUTING")
    for ending in (".md", ".markdown", ".rst", "")
)
# Chunks searched for the template of a message: those that hold most of its words. Its rarest are
# often its values, which no template holds, so that many more rows are looked at than by BM25.
MESSAGE_DEPTH = 100


class Defining(NamedTuple):
    """What one chunk defines."""

    bits: int = 0  # the words of the question that its names match, see `Question.match_bits`
    is_name: bool = False  # whether one of these is a name in the question
    symbols: Sequence[str] = ()
    scope: str = ""


@dataclass(frozen=True, slots=True)
class NamedChunks:
    """The chunks that a question names, by what is defined, a path, a line, or their text."""

    names: QueryNames
    ids: Sequence[int]  # all of them
    literal_ids: Sequence[int]  # those that hold its text, make it as a message, or hold its lines
    qualified: Collection[int | None]  # those at the place that a qualified name means

    def definitions_in(
        self, ids: Sequence[int], question: Question, rows: CodeRows
    ) -> dict[int, Defining]:
        """Return what each chunk defines of what `question` asks for; deleted ones are left out."""
        return {
            each: Defining(
                question.match_bits(" ".join(symbols)),
                each in self.qualified or self.names.are_defined_by(symbols, scope),
                symbols,
                scope,
            )
            for each, (symbols, scope) in rows.symbols_of(ids).items()
        }


def find_named(question: Question, keywords: Keywords, rows: CodeRows) -> NamedChunks:
    """Return the chunks of `rows` that `question` names; `keywords` are those of its subject."""
    names, literal_ids = rows.resolve_undefined(names_in(question.text))
    if question.message and not names.is_single_word:

        def likely_makers() -> Sequence[int]:
            arm = rows.coverage_arm(keywords.rarest(MAX_ROWS_READ))
            best: list[int] = arm.best(MESSAGE_DEPTH).tolist()
            return best

        literal_ids = chunks_with_message(
            question, find=rows.message_chunks, read=rows.read, likely=likely_makers
        )
    # A message, or a test that is asked for, may name what it is about: that does not lead then.
    is_about_name = not (question.message and literal_ids) and "tests" in question.asides
    if called := _files_called(names, question, rows):
        names, literal_ids = replace(names, paths=tuple(called)), []
    ids = rows.named_chunks(names)
    if at_lines := _chunks_at_lines(rows, names, ids):
        names = replace(names, paths=tuple({*names.paths}.difference(dict(names.lines))))
        literal_ids = at_lines if names.is_single_word else [*literal_ids, *at_lines]
    qualified = {rows.chunk_at(place) for place in names.places if is_about_name}
    pages: Sequence[int] = ()
    if question.asks_for_guide:
        pages = rows.named_chunks(QueryNames((), (), is_single_word=False, paths=ENTRY_PAGES))
    return NamedChunks(names, [*ids, *literal_ids, *pages], literal_ids, qualified)


def _files_called(names: QueryNames, question: Question, rows: CodeRows) -> Sequence[str]:
    """Return the paths of the files that are called like a query of one word, if these are few.

    Only of a word that nothing defines. Asides count where no source is called so.
    """
    if not names.is_single_word or not names.undefined or names.paths:
        return ()
    called = rows.paths_called(names.undefined[0])
    meant = [path for path in called if not question.penalties(path)] or called
    return meant if len(meant) <= MAX_FILES_AT_PATHS else ()


def _chunks_at_lines(rows: CodeRows, names: QueryNames, named: Sequence[int]) -> list[int]:
    """Return the chunks that hold the lines in `names`, in the files of the chunks `named`."""
    if not names.lines:
        return []
    files, numbers = rows.files_of(np.unique(np.array(named, np.int64)))
    found = [
        rows.chunk_at(Line(file.source, file.path, line))
        for file in {files[number] for number in numbers.tolist()}
        for path, line in names.lines
        if is_at(file.path, path)
    ]
    return [each for each in found if each is not None]
