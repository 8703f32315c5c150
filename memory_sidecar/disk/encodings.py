"""Recognizes East Asian and Cyrillic encodings of text that is not UTF-8, by the words in it.

Nearly any bytes decode to letters in most of them. So an encoding is believed only if the letters
outside ASCII stand in words, and enough of them are letters that its language is never written
without. Western text has no such words: its accented letters stand alone among ASCII. A doubtful
encoding is not named.

Own code, since charset-normalizer 3.5, limited to these encodings, takes short German and French
for Cyrillic, and Japanese in EUC-JP for Korean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

MIN_LETTERS = 6  # different ones; one word, repeated, is in many tests of encodings
MIN_IN_WORDS = 0.9  # of the letters outside ASCII
JUDGED_BYTES = 1 << 14  # of the lines that are not ASCII; all encodings together take 10 ms

_LETTERS = re.compile(r"[^\W\d_\x00-\x7f]|\ufffd")


@dataclass(frozen=True, slots=True)
class _Script:
    words: re.Pattern[str]
    common: frozenset[str]
    min_common: float  # the least share of the letters in words

    def is_of(self, text: str) -> bool:
        """Whether the letters of `text` outside ASCII are words of this script."""
        letters = "".join(self.words.findall(text))
        if len(letters) < MIN_IN_WORDS * len(_LETTERS.findall(text)):
            return False
        common = sum(map(self.common.__contains__, letters))
        return len(set(letters)) >= MIN_LETTERS and common >= self.min_common * len(letters)


def _characters(codec: str, rows: range, columns: bytes) -> frozenset[str]:
    """Return the characters of two bytes in `codec`: first one of `rows`, then one of `columns`."""
    pairs = (bytes((row, column)) for row in rows for column in columns)
    return frozenset(b"".join(pairs).decode(codec, "ignore"))


@cache
def _encodings() -> tuple[tuple[str, _Script], ...]:
    """Return pairs of a codec and the script of its texts; the first that fits a text counts.

    Korean and Japanese letters are in the rows of the usual Chinese ones, and not the reverse.
    """
    cyrillic = _Script(
        re.compile("(?<![A-Za-z])[а-яёєіїґў]{2,}+(?![A-Za-z])", re.IGNORECASE),  # noqa: RUF001
        frozenset("оеаинтср"),  # no capitals: KOI8 has its capitals where others have these
        0.4,
    )
    kana = frozenset(map(chr, range(ord("ぁ"), ord("ヷ"))))
    japanese = _Script(re.compile("[ぁ-ヶー々一-龥]{2,}"), kana, 0.25)
    syllables = "이다는하에가지고을로의서기그어도한은아니를나리사있만라게들스시해자인면보것일으수대"
    korean = _Script(re.compile("[가-힣]{2,}"), frozenset(syllables), 0.25)
    # The first level of both sets has the usual characters, in rows of its own.
    high, hanzi = bytes(range(0xA1, 0xFF)), re.compile("[一-龥]{2,}")
    simplified = _Script(hanzi, _characters("gb2312", range(0xB0, 0xD8), high), 0.9)
    columns = bytes(range(0x40, 0x7F)) + high
    traditional = _Script(hanzi, _characters("big5", range(0xA4, 0xC7), columns), 0.9)
    return (
        *((codec, cyrillic) for codec in ("windows-1251", "koi8-u", "cp866", "iso8859-5")),
        *((codec, japanese) for codec in ("euc-jp", "cp932")),
        ("cp949", korean),
        ("gb18030", simplified),
        ("big5hkscs", traditional),
    )


def tell_encoding(data: bytes) -> str:
    """Return Python's name of the encoding of `data`, which is not UTF-8; "" if none fits."""
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())
    fitting = (
        codec
        for codec, script in _encodings()
        if script.is_of(lines[:JUDGED_BYTES].decode(codec, "replace"))
    )
    return next(fitting, "")
