"""Finds where a field or a setting is declared that a question asks for by its name.

Symbols of chunks leave out most fields, and no grammar knows the settings in a macro or an array.
So this takes a name that nothing else defines: the lines of the fields called so, else those rows
of source that begin with it, as `till_mode: bool,` and `'till_mode' => 5` do. A plain word, such as
`view`, is as likely to be meant otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.framing import LOOKS_LIKE_NAME
from memory_sidecar.code.query_names import QueryNames
from memory_sidecar.code.question import Question
from memory_sidecar.code.rows import CodeRows
from memory_sidecar.code.unknown_names import chunks_holding
from memory_sidecar.index.words import QUESTION_WORD

MAX_DECLARING = 3  # chunks that declare a name and lead

_DECLARES = r"^[ \t]*(?:(?:pub|let|const|static|var|val|final) )*[\"']?{name}[\"']?\s*(?::(?!:)|=)"


def chunks_declaring(names: QueryNames, question: Question, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks that declare the fields and settings that `question` asks for.

    A sentence that is no question, such as the subject of a commit, asks for what uses them.
    """
    if not (names.is_single_word or question.asks_which or QUESTION_WORD.match(question.pasted)):
        return []
    alone = (each for each, *rest in names.symbols if not rest and LOOKS_LIKE_NAME.search(each))
    unknown = (name for name in alone if not rows.defined_names.has(name))
    found = (_of_fields(name, question, rows) or _of_rows(name, names, rows) for name in unknown)
    return [chunk_id for ids in found if len(ids) <= MAX_DECLARING for chunk_id in sorted(ids)]


def _of_fields(name: str, question: Question, rows: CodeRows) -> Collection[int]:
    """Return the ids of the chunks that declare the fields called `name`; if many, of the first.

    Those in asides count if there are no others.
    """
    fields = rows.defined_names.places_called(name, fields=True)
    in_sources = [each for each in fields if not question.penalties(each.path)]
    ids = map(rows.chunk_at, (in_sources or fields)[: MAX_DECLARING + 1])
    return {each for each in ids if each is not None}


def _of_rows(name: str, names: QueryNames, rows: CodeRows) -> Collection[int]:
    """Return the ids of the chunks of sources with rows that declare `name`, as it is written."""
    row = re.compile(_DECLARES.format(name=re.escape(name)), re.MULTILINE)
    holding = rows.texts_of(chunks_holding(name, rows)) if name in names.tokens else ()
    return {
        each.chunk_id for each in holding if not is_aside(each.filename) and row.search(each.code)
    }
