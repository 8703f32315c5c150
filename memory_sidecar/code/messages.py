"""Reads a query that is an error message or other pasted text, and finds the code that makes it.

`No such option: --verbos` stands in no source, but the string template `"No such option: {name}"`
does: its fixed parts all stand in the message, in order. Several strings in a row, which the code
joins, may make a message, too. What a program puts before a message is not in the template. Only
`chunks_with_message` and `chunks_saying` read chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.question import Question
from memory_sidecar.code.rows import ChunkText, CodeRows
from memory_sidecar.index.keyword import MAX_ROWS_READ, Keywords
from memory_sidecar.index.words import MAX_PHRASE_WORDS, QUESTION_WORD, plain_words

MAX_MESSAGE_CHUNKS = 10  # a message that more chunks hold distinguishes none of them
# Words of a message in a row, or in the fixed parts of its templates: fewer occur anywhere.
MIN_MESSAGE_WORDS, MAX_MESSAGE_WORDS = 3, 40
MIN_WORDS_IN_ASIDE = 5  # of a message found in an aside; shorter ones stand in many docs
MIN_TEMPLATE_SHARE = 0.4  # of a message's words that its templates must have; a path is one word
MIN_WORDS_QUOTED = 5  # of a message that is found though words of it are left out
MAX_READINGS = 8  # readings without a prefix, of all lines together
MAX_LINES = 20  # that are looked at, of a pasted log or traceback
# Chunks searched for the template of a message: those that hold most of its words. The rarest words
# are often values, which no template holds, so many more rows are looked at than for BM25.
MESSAGE_DEPTH = 100
MARKED_DEPTH = 300  # where a prefix or a value shows that it is a message; 3 ms more
QUOTED_DEPTH = 20  # of these are searched for the message with words left out
MAX_REPEATS = 120  # of a message: each translation of a program may hold it

# A group for each quote would take a third longer.
_STRING = re.compile(r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|`[^`]*`")
_LETTERS = re.compile(r"\w+")
_GAP = re.compile(r"\W{21,}")  # between two sentences rather than two words
_ESCAPED_QUOTE = re.compile(r"\\([\"'`])")
# Part of a path, an address, a time or a qualified name, which no template holds.
_VALUE = re.compile(r"\w(?:[/\\:]+\w|\.[\w-]+\.\w)")
_PREFIX_END = re.compile(r"(?:[:\])|]|\s-)\s+(?=\S)")
_PLACEHOLDER_START = re.compile(r"[%{$#\\:](?<!\S:)")  # or that of an escape
# `%s`, `%zu`, `%2$s`, `%(name)s`, `%@`; `%1` of Qt; `{}`, `${name}`, `%{name}`, `{{ name }}`;
# `\(name)` of Swift; `$name`; `:name` of Laravel.
_PLACEHOLDER = re.compile(
    r"%(?:\(\w+\)|<\w+>|\d+\$)?[-+#0-9.]*(?:hh?|ll?|[jzt])?[a-zA-Z@]|%l?\d+|[$#%]?\{+[^{}]*\}+"
    r"|\\\([^()]*\)|\$\w+|(?<=\s):\w+|\\[nrt]"
)


def chunks_with_message(question: Question, keywords: Keywords, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks that hold, nearly hold or make the message of `question`.

    Docs and changelogs describe a feature in the words of a question about it. So a chunk of an
    aside counts only if it holds the message letter by letter, and not for a message of few words.
    It counts less than a source that makes the message, because it may be a test that quotes it.
    """
    if question.is_record and (quoting := _chunks_quoting(question.message, rows, question)):
        return quoting
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


def _chunks_quoting(message: str, rows: CodeRows, question: Question) -> list[int]:
    """Return the ids of the chunks with a string that is a line of `message`; none of many.

    However few its words are: a record of a log tells where its message begins and ends.
    """
    for line in message.splitlines():
        phrase = " ".join(plain_words(line)[:MAX_PHRASE_WORDS])
        ids = rows.phrase_chunks(phrase, MAX_REPEATS) if phrase else ()
        is_string = re.compile(rf"[\"'`]\s*{re.escape(line.strip())}\s*[\"'`]")
        holding = [each for each in rows.texts_of(ids) if is_string.search(each.code)]
        found = [each.chunk_id for each in _in_sources(holding, question)]
        if 0 < len(found) <= MAX_MESSAGE_CHUNKS:
            return found
    return []


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


def message_phrase(text: str) -> str:
    """Return the words of a message, to be found in a row; "" if they are too few or too many."""
    words = [word for word in plain_words(text) if word.isascii()]
    return " ".join(words) if MIN_MESSAGE_WORDS <= len(words) <= MAX_MESSAGE_WORDS else ""


def readings(text: str) -> list[str]:
    """Return `text`, and what follows a prefix in its lines, the longest first.

    Programs put their name, the time, a level or a place before a message.
    """
    lines = text.splitlines()[:MAX_LINES]
    after = [line[at.end() :] for line in lines for at in _PREFIX_END.finditer(line)]
    after = [each for each in after if not QUESTION_WORD.match(each)]
    return [text, *sorted(after, key=len, reverse=True)[:MAX_READINGS]]


def quoted_in(text: str, code: Mapping[int, str]) -> list[int]:
    """Return the keys of what of `code` the message `text` quotes, words left out; none of many.

    All words of `text` stand there in order, at most one other between two of them.
    """
    words = _LETTERS.findall(text.lower())
    if not MIN_WORDS_QUOTED <= len(words) <= MAX_MESSAGE_WORDS:
        return []
    found = [chunk_id for chunk_id, each in code.items() if _quotes(words, each.lower())]
    return found if len(found) <= MAX_MESSAGE_CHUNKS else []


def _quotes(words: Sequence[str], code: str) -> bool:
    """Whether `words` stand in `code` as `quoted_in` says; the outer two may be parts of words.

    All places are followed at once, as the bits of one number: an expression would try every way
    through `0, 0, 0, 0, 0`.
    """
    first, *inner, last = words
    for part in _GAP.split(code):
        said = _LETTERS.findall(part)
        at = sum(1 << place for place, word in enumerate(said) if word.endswith(first))
        places: dict[str, int] = {}
        for word in inner:
            if at and word not in places:
                places[word] = sum(1 << place for place, each in enumerate(said) if each == word)
            at = at and (at << 1 | at << 2) & places[word]
        after = at << 1 | at << 2
        if at and any(after >> place & 1 for place, w in enumerate(said) if w.startswith(last)):
            return True
    return False


def without_values(text: str) -> str:
    """Return `text` without words that look like values; `text` if too few others are left."""
    others = " ".join(word for word in text.split() if not _VALUE.search(word))
    return others if len(plain_words(others)) >= MIN_MESSAGE_WORDS else text


def lines_to_make(text: str) -> list[tuple[str, float]]:
    """Return the lines of the message `text`, and how many words of each templates must make.

    Lines of few words are left out. If three words are less than half of a line, it takes four,
    because a question of keywords may begin like the title of a page.
    """
    return [
        (line, max(MIN_MESSAGE_WORDS + (count > 2 * MIN_MESSAGE_WORDS), MIN_TEMPLATE_SHARE * count))
        for reading in readings(text.lower())
        for line in reading.splitlines()[:MAX_LINES]
        for count in [len(line.split())]
        if len(plain_words(line)) >= MIN_MESSAGE_WORDS
    ]


def best_makers(words_made: Mapping[int, int]) -> list[int]:
    """Return the ids of the chunks that make the most words; none if they are many or make none."""
    most = max(words_made.values(), default=0)
    found = [chunk_id for chunk_id, words in words_made.items() if words == most]
    return found if most and len(found) <= MAX_MESSAGE_CHUNKS else []


def words_made(lines: Sequence[tuple[str, float]], code: str) -> int:
    """Return the most words of one of `lines` that string templates in `code` make.

    0 if no line is made well enough: see `lines_to_make`.
    """
    text = "\n".join(line for line, _ in lines)
    strings = [string[1:-1] for string in _STRING.findall(code.lower()) if " " in string]
    templates = [_fixed_parts(string, text) for string in strings]
    if not any(templates):
        return 0
    matched = [(_most_words(line, templates), least) for line, least in lines]
    return max(words if words >= least else 0 for words, least in matched)


def _fixed_parts(string: str, text: str) -> Sequence[str] | None:
    """Return the parts of a string template between its placeholders.

    None, mostly, if not all parts stand in `text`.
    """
    whole = string.strip()
    first = _PLACEHOLDER_START.split(whole, 1)[0]
    if first.rstrip() not in text:
        return None
    if first == whole:
        return [whole]
    parts = _PLACEHOLDER.split(_ESCAPED_QUOTE.sub(r"\1", whole))
    return [part for part in map(str.strip, parts) if part]


def _most_words(line: str, templates: Iterable[Sequence[str] | None]) -> int:
    """Return the most words of `line` that a run of adjacent templates makes, one after another.

    `templates`: the `_fixed_parts` of each. A template of a single word does not count.
    """
    most = words = at = 0
    for parts in templates:
        end = _match_end(line, parts, at)
        if end < 0:
            words, end = 0, _match_end(line, parts, 0)
        if parts is None or end < 0:
            at = 0
        elif (more := sum(len(plain_words(part)) for part in parts)) > 1:
            words, at = words + more, end
            most = max(most, words)
    return most


def _match_end(line: str, parts: Iterable[str] | None, at: int) -> int:
    """Return where in `line` the last of `parts` ends, in order from `at`; -1 if one is missing."""
    if parts is None:
        return -1
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return -1
        at += len(part)
    return at
