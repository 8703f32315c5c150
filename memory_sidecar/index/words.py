"""Splits texts into words: identifiers into their parts, by camel case, too.

Apart from the module that queries (`keyword`), so that processes which build documents load less.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Possessive, so that no word is read twice to find that it has no hump: a quarter faster.
_CAMEL_WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][a-z0-9]*+[A-Z][A-Za-z0-9]*+")
_UNSPACED = re.compile("([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])")
_LATIN = re.compile("[A-Za-z]")
_BEYOND_LATIN = "\u0250"
_WORD = re.compile(r"[^\W_]+(?:[._:\-/]*[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")

MAX_QUERY_WORDS = 64
LONGEST_NAME = 64  # characters of a name that is remembered: 16,000 strings of data take 700 MB

STOPWORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in "
    "into is it its me my not of on or our should so such that the their them then there these "
    "they this those to was we were what when where which who why will with would you your".split()
)


def index_words(text: str) -> str:
    """Return `text` for FTS5: camelCase words are split, and the whole words appended."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", text)
    whole: set[str] = set()

    def split(word: re.Match[str]) -> str:
        parts = humps_apart(word.group())
        if " " in parts:
            whole.add(word.group().lower())
        return parts

    text = _CAMEL_WORD.sub(split, text)
    return f"{text}\n{' '.join(sorted(whole))}" if whole else text


def lacks_latin(text: str) -> bool:
    """Tell whether `text` has no Latin letter: the model, made for English, hardly knows it."""
    return not _LATIN.search(text)


def is_mostly_foreign(text: str) -> bool:
    """Tell whether most letters of `text` are not Latin: to the model such texts are much alike."""
    letters = [each for each in text if each.isalpha()]
    return 2 * sum(each >= _BEYOND_LATIN for each in letters) > len(letters)


def count_words(text: str) -> int:
    """Count the words of `text`; two characters of a script without spaces count as one."""
    if text.isascii():
        return len(text.split())
    words = sum(any(map(str.isalnum, each)) for each in _UNSPACED.sub(" ", text).split())
    return words + count_unspaced(text) // 2


def count_unspaced(text: str) -> int:
    """Count the characters of scripts that set no spaces between words."""
    return 0 if text.isascii() else len(_UNSPACED.findall(text))


def plain_words(text: str) -> list[str]:
    """Return the words of `text` in order, in lower case, with identifiers split."""
    return [part.lower() for part in _PART.findall(humps_apart(text))]


def humps_apart(text: str) -> str:
    """Split `camelCase` into `camel Case`."""
    return name_apart(text) if len(text) <= LONGEST_NAME else _CAMEL_HUMP.sub(" ", text)


@lru_cache(maxsize=1 << 14)  # the same few identifiers make up most of a source
def name_apart(name: str) -> str:
    """Split a name as `humps_apart` does, and remember it."""
    return _CAMEL_HUMP.sub(" ", name)


def words_and_phrases(text: str) -> tuple[list[str], list[str]]:
    """Return the distinct words of a question, and its identifiers as phrases of their parts."""
    words: dict[str, None] = {}
    phrases: dict[str, None] = {}
    for word in _WORD.findall(text[: 64 * MAX_QUERY_WORDS]):
        parts = plain_words(word)
        for part in parts:
            if characters := _UNSPACED.findall(part):
                pairs = pairwise(characters)
                phrases.update(dict.fromkeys(map(" ".join, pairs)) or {part: None})
            else:
                words[part] = None
        if len(parts) > 1:
            phrases[_UNSPACED.sub(r" \1 ", " ".join(parts))] = None
    return list(words)[:MAX_QUERY_WORDS], list(phrases)


def is_word_character(character: str) -> bool:
    """Whether `character` is a letter, a digit, or a mark as scripts like Devanagari have."""
    if character.isascii():
        return character.isalnum()
    return unicodedata.category(character)[0] in "LNM" and not "\ufe00" <= character <= "\ufe0f"
