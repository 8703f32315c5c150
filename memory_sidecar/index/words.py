"""Splits texts into words, and identifiers into their parts, also by camel case.

Separate from `keyword`, which queries, so that processes which build documents load less.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain, pairwise

_UPPER = "A-Z\u0391-\u03a9\u0400-\u042f"  # Latin, Greek, Cyrillic
_LOWER = "a-z\u03b1-\u03c9\u0430-\u045f"
_CAMEL_HUMP = re.compile(
    rf"(?<=[{_LOWER}0-9])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])"
)
_ANY = rf"{_UPPER}{_LOWER}0-9"
# Possessive, so that no word is read twice to find that it has no hump: a quarter faster.
_CAMEL_WORD = re.compile(rf"(?<![{_ANY}])[{_UPPER}{_LOWER}][{_LOWER}0-9]*+[{_UPPER}][{_ANY}]*+")
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"([{UNSPACED}])")
_LATIN = re.compile("[A-Za-z]")
_BEYOND_LATIN = "\u0250"
# Marks that `\w` lacks, and letters in the same ranges.
MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u109f\u1780-\u17d3\u3099\u309a"
_WORD = re.compile(rf"[\w{MARKS}._:\-/]+")
_PART = re.compile(rf"[\w{MARKS}]+")
# Accents, vowel points of Hebrew and Arabic, soft hyphens and tatweel, zero-width joiners, and
# variation selectors.
_UNWRITTEN = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u200d\u20d0-\u20f0\ufe00-\ufe0f]"
)
_LETTERS = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "\u0131": "i", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
)

QUESTION_WORD = re.compile(r"\W*(?:how|what|where|why|which|who|when)\b", re.IGNORECASE)
MAX_QUERY_WORDS = 64
MAX_PHRASE_WORDS = 16  # FTS5 reads the posting list of each: 2,000 common ones, 30 s and 400 MB
LONGEST_NAME = 64  # characters of a name that is remembered: 16,000 strings of data take 700 MB

STOPWORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in "
    "into is it its me my not of on or our should so such that the their them then there these "
    "they this those to was we were what when where which who why will with would you your".split()
)


def folded(text: str) -> str:
    """Return `text` with its letters as they are compared: NFKC, ß as ss, the dotless i as i.

    Accents and vowel points, which some people write and others do not, are left out.
    """
    if text.isascii():
        return text
    written = _UNWRITTEN.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", written).translate(_LETTERS)


def index_words(text: str) -> str:
    """Return `text` for FTS5: folded, camelCase words split, and the whole words appended."""
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", folded(text))
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
    """Return the words of `text` in order, folded, in lower case, with identifiers split."""
    split = humps_apart(folded(text)).replace("_", " ")
    return [part.lower() for part in _PART.findall(split)]


def terms_of(word: str) -> list[str]:
    """Split one of `plain_words` into words and, where no spaces are set, pairs of neighbours.

    `redisの設定` gives `redis`, `redis の`, `の 設` and `設 定`.
    """
    if word.isascii():
        return [word]
    parts = _UNSPACED.split(word)  # words, "" for none, and what stands between them, in turn
    words, apart = filter(None, parts[::2]), list(filter(None, parts))
    return [*words, *map(" ".join, pairwise(apart))] or apart


def humps_apart(text: str) -> str:
    """Split `camelCase` into `camel Case`; what begins with a digit, as `2FA`, stays whole."""
    return name_apart(text) if len(text) <= LONGEST_NAME else _humps_apart(text)


@lru_cache(maxsize=1 << 14)  # the same few identifiers make up most of a source
def name_apart(name: str) -> str:
    """Split a name as `humps_apart` does, and remember it."""
    return _humps_apart(name)


def _humps_apart(text: str) -> str:
    return _CAMEL_WORD.sub(lambda word: _CAMEL_HUMP.sub(" ", word.group()), text)


def words_and_phrases(text: str) -> tuple[list[str], list[str]]:
    """Return the distinct words of a question, and its identifiers as phrases of their parts.

    The phrases have camelCase words whole, too, as some write them in lower case: GitHub.
    """
    words: dict[str, None] = {}
    phrases: dict[str, None] = {}
    for word in _WORD.findall(folded(text[: 64 * MAX_QUERY_WORDS])):
        parts = plain_words(word)
        for term in chain.from_iterable(map(terms_of, parts)):
            (phrases if " " in term or _UNSPACED.match(term) else words)[term] = None
        if len(parts) > 1:
            apart = _UNSPACED.sub(r" \1 ", " ".join(parts)).split()
            phrases[" ".join(apart[-MAX_PHRASE_WORDS:])] = None  # the end of a path tells more
        whole = map(str.lower, _CAMEL_WORD.findall(word))
        phrases.update((each, None) for each in whole if each not in parts)
    return list(words)[:MAX_QUERY_WORDS], list(phrases)


def is_word_character(character: str) -> bool:
    """Whether `character` is a letter, a digit, or a mark as scripts like Devanagari have."""
    if character.isascii():
        return character.isalnum()
    return unicodedata.category(character)[0] in "LNM" and not "\ufe00" <= character <= "\ufe0f"
