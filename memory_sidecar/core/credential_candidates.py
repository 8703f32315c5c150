"""Finds candidates of credentials in a text: keys, tokens, passwords. Pure.

The known forms in `credential_forms.txt` are found anywhere; other values only if they look random
and are assigned to a name such as `password` or `token`. Prose, placeholders and the example keys
of manuals are no candidates.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from math import log2
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Credential:
    """What a credential in a text seems to be, and its first character and the one after."""

    kind: str
    start: int
    end: int


def find_candidates(text: str) -> Iterator[Credential]:
    """Yield the candidates in `text`, in no order; one that several rules find, several times."""
    yield from _find_known_forms(text)
    for at in _ends_of(text, "://"):
        match = _IN_URL.match(text, at)
        if match and not _is_default(*match.groups()):
            yield Credential("password in a URL", *match.span(2))
    lower = text.replace("\u0130", "i").lower()  # its lower case alone would be two characters
    yield from _find_assigned_values(text, lower)


@lru_cache(maxsize=1 << 10)
def names_a_secret(name: str) -> bool:
    """Whether a property called `name` may hold a secret that does not look like one by itself."""
    lower = name.lower()
    return any(word in lower for word in (*_NAMES, *_SHORT_NAMES))


# Known forms


class _Mark(NamedTuple):
    """A fixed string in every text of a form, searched first because that costs next to nothing."""

    text: str
    before: int  # characters of the form before the mark
    kind: str
    pattern: str
    is_spaced: bool  # whether the form may hold spaces


_RUN = re.compile(r"[\w+/=.:$|%~?&-]{16,}", re.ASCII)
"""A run of characters that keys without spaces consist of; no key is shorter."""
_SHORTEST = b"x" * 16
_RUN_BYTES = bytes(ord("x") if _RUN.match(chr(byte) * 16) else ord(" ") for byte in range(256))


@cache
def _marks() -> Sequence[_Mark]:
    """Return the marks of all forms; a text of a form holds one of the form's marks."""
    lines = Path(__file__).with_name("credential_forms.txt").read_text("utf-8").splitlines()
    rows = (re.split(r"\s{2,}", line, maxsplit=2) for line in lines if line and line[0] != "#")
    return [
        _Mark(text if plus else mark, int(before) if plus else 0, kind, pattern, r"\s" in pattern)
        for kind, marks, pattern in rows
        for mark in marks.split()
        for before, plus, text in [mark.partition("+")]
    ]


# No letter or digit may precede a form, except the last one of an escape sequence: of JSON, of a
# URL, of a terminal's colour.
_MAY_PRECEDE = (
    r"(?<![A-Za-z0-9])|(?<=\\[nrtbfv0])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=\\u[0-9A-Fa-f]{4})|(?<=[\[;]\dm)|(?<=[\[;]\d\dm)"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a form when a text first holds its mark: all forms would take a tenth of a second."""
    return re.compile(rf"(?:{_MAY_PRECEDE})(?:{pattern})(?![A-Za-z0-9])")


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and text of each match of `_RUN`, in a tenth of the time of `finditer`."""
    marked = text.encode("ascii", "replace").translate(_RUN_BYTES)  # a byte for each character
    at = marked.find(_SHORTEST)
    while at >= 0:
        end = marked.find(b" ", at)
        end = end if end >= 0 else len(marked)
        yield from ((run.start(), run[0]) for run in _RUN.finditer(text, at, end))
        at = marked.find(_SHORTEST, end)


def _find_known_forms(text: str) -> Iterator[Credential]:
    runs = list(_runs(text))  # a tenth of most texts
    together = "\n".join(run for _, run in runs)
    begins = list(accumulate((len(run) + 1 for _, run in runs), initial=0))  # in `together`
    for mark in _marks():
        held = text if mark.is_spaced else together
        if mark.text not in held:
            continue
        if mark.is_spaced:
            ends: Iterable[int] = _ends_of(text, mark.text)
        elif mark.before:  # a mark in the middle, common in short runs
            long = (each for each in runs if len(each[1]) > mark.before)
            ends = (at + end for at, run in long for end in _ends_of(run, mark.text, mark.before))
        else:
            inside = ((end, bisect_right(begins, end - 1) - 1) for end in _ends_of(held, mark.text))
            ends = (runs[number][0] + end - begins[number] for end, number in inside)
        matched = 0  # skip marks before it: to match at marks within a match would be quadratic
        for end in ends:
            begin = end - len(mark.text) - mark.before
            # Match in the whole text: a form may go on beyond the run.
            match = _compiled(mark.pattern).match(text, begin) if begin >= matched else None
            if match is None:
                continue
            matched = match.end()
            if not (_EXAMPLE.search(match[0]) or _SLUG.fullmatch(match[0])):
                yield Credential(mark.kind, *match.span(match.lastindex or 0))


_EXAMPLE = re.compile(
    r"EXAMPLE|example|xxxx|XXXX|\*\*\*|0{12}|your[-_]|YOUR[-_]|placeholder|redacted"
)
_SLUG = re.compile(r"(?:[a-z]+|v?\d+)(?:[_-](?:[a-z]+|v?\d+)){2,}[_-]?")  # md-files-without-tests

# Assigned values

_NAMES = tuple(
    "secret token passw pwd passphrase api_key api-key apikey access_key access-key accesskey"
    " private_key private-key privatekey authorization credential".split()
)
_SHORT_NAMES = ("key", "pass", "auth")
"""Names so common inside other words that they count only as the last word of a longer name."""

_PASSWORDS = ("passw", "pwd", "passphrase")
"""Those of the names whose values a person may have chosen."""

_HARMLESS_BEFORE = tuple(
    """
    public public_key publickey pub cache primary foreign sort partition idempotency hash object
    lookup index row column group dict map json i18n translation message event host known routing
    storage unique natural dedup s3 blob registry hot short arrow shift enter escape page next
    continuation sync resume cancellation eos bos pad special start end stop by lock bundle
    dependency restore
    """.split()
)
_HARMLESS_AFTER = re.compile(
    r"(?:^|[_-])(?:ids?|names?|paths?|files?|dir|ur[il]s?|types?|hash|refs?|arn|count|size|limit|len"
    r"|length|env|var|version|index|field|column|header|label|prefix|suffix|policy|scopes?|expir\w+"
    r"|ttl|at|digest|checksum|fingerprint|sha\d*|regex|pattern|format|class|algorithm|manager)$"
    r"|^iz|^s?_?id$|^s$|(?<=[a-z])(?:Id|Name|Path|File|Url|Uri|Type|Hash|Ref|Version|Expiry)$",
)
_ASSIGNED = re.compile(
    r"""([\w-]{0,24})(?:\\{0,3}["'\])]){0,2}  # the rest of the name
    (?:\s{0,2}:\s{0,2}&?[\w.\[\]<>|?]{2,24}(?=\s{0,2}=))?  # its type
    (?:(?:\s{0,4}(?:=>|:=|[:=\uff1a])\*{0,2}(?:\s{0,4}+|[ \t]{0,56}+(?:\n[ \t]{0,28}+)?)
         (?:[|>][+-]?\s{1,28})?(?:[!&][\w!]{1,20}\s)?  # of YAML
        |>)  # of XML
      |(\s(?:is|was)[\s:]\s?
        |[ ]{0,28}\|[ ]{1,28}(?=[^\s|]+[ ]{0,28}\|)  # in a table
        |,?[ ]{1,4}(?:value=)?(?=\\{0,3}["'`]))  # an argument
      |(\(\s{0,9})(?=["'`])  # of a call
      |([ ])  # of an option
    )
    (?:\\{0,3}["'`])?(?:Bearer[ ]|Basic[ ]|token[ ]|ApiKey[ ])?
    ([^\s"'`,;<>(){}\[\]\\]{8,200}+(?!\\)  # the next line says the same, in ten times the time
    |(?:[^\s"'`,;<>(){}\[\]\\]|\\(?![nrt"'`\\])){8,200})""",
    re.IGNORECASE | re.VERBOSE,
)
_SETS = re.compile(
    r"(?:^|[^a-z])(?:set|with|make|hash|check|verify|change|update)\w{0,16}$", re.IGNORECASE
)
"""How a function's name begins, before `password`, that is given one; others look one up."""
_OPTION = re.compile(r"(?:^|\s)(?:--|ENV |setx )[\w-]*$")
_SENT_TOKEN = re.compile(r"[A-Za-z0-9+/=_~.-]{16,}")
_IN_URL = re.compile(r"([^\s:/@\"'<>]{0,64}):([^\s/@\"'<>]{3,128})@[\w\[]")
_DEFAULT_PASSWORD = re.compile(
    r"root|admin|guest|postgres|mysql|user|pass|pwd|pw|repo", re.IGNORECASE
)

_PLACEHOLDER = re.compile(
    r"^[$%@#]|\$[{(]|\$[\w.=,+/-]+\$|\{|\*\*|\.\.\.|…|xxx|example|sample|placeholder|change.?me|your|"
    r"dummy|fake|test|secret|passw|token|redacted|masked|not.?a|foo|hunter\d?$|://|^env[.:]|^process\.|"
    r"^sha\d+[-:]|123456789|abcdef",
    re.IGNORECASE,
)
_HEX = re.compile(r"(?:0x)?[0-9a-f-]{24,}|[0-9A-F-]{24,}")
_CODE = re.compile(r"[A-Za-z_][\w]*(?:[.:/-]+[A-Za-z_]\w*)*(?:\(.*)?")  # a name, a path, a call
# An address of Go, a path of Rust, a call: RouteKey = &contextKey{…}, Token::Basename, ec25.New()
_NAMED_IN_CODE = re.compile(
    r"(?<=[\s=:(])(?:(?:&|:(?!:))[A-Za-z_]+\b(?![\d%+/=!@#$^~-])"
    r"|[A-Za-z_]\w*(?:(?:[.]|::|->)[A-Za-z_]\w*)+\()"
)
_SHORT = 16  # characters; a person may have chosen a shorter value

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def _find_assigned_values(text: str, lower: str) -> Iterator[Credential]:
    """Yield the values in `text` that are assigned to a secret's name or sent as a token."""
    # In a text made of names most values repeat. Not kept beyond the text: they may be secrets.
    looks_random = lru_cache(maxsize=1 << 10)(_looks_random)
    for scheme in ("bearer ", "basic "):
        for at in _ends_of(lower, scheme):
            match = _SENT_TOKEN.match(text, at)
            if match and _looks_like_token(match[0]):
                yield Credential("token", *match.span())
    for name in (*_NAMES, *_SHORT_NAMES):
        for at in _ends_of(lower, name):
            match = _ASSIGNED.match(text, at)
            if match is None or not (
                looks_random(match[5]) or (name in _PASSWORDS and _is_chosen(text, match))
            ):
                continue
            if not _NAMED_IN_CODE.match(text, match.start(5)) and _may_be_secret(
                text[max(at - len(name) - 24, 0) : at], name, match
            ):
                yield Credential("value of a secret", *match.span(5))


def _may_be_secret(ahead: str, name: str, match: re.Match[str]) -> bool:
    """Whether the value may be a secret; `ahead` ends with `name`, and `match` begins after it."""
    if _HARMLESS_AFTER.search(match[1]):
        return False
    before = ahead[: -len(name)]
    if before.lower().rstrip("_-.").endswith(_HARMLESS_BEFORE):
        return False
    if match[3]:
        return name not in _SHORT_NAMES and _SETS.search(before) is not None
    if name in _SHORT_NAMES:
        return not (match[1] or match[2] or match[4]) and _ends_with_name(ahead, name)
    return not match[4] or (match[1] in ("", "ord") and _OPTION.search(before) is not None)


def _is_chosen(text: str, match: re.Match[str]) -> bool:
    """Whether the value may be a password that a person has chosen, such as Winter2024Rome.

    That looks like a name in code, too, so it counts only in quotation marks, or if it follows an
    equals sign at once and is the rest of the line.
    """
    value = match[5]
    before, after = text[match.start(5) - 1], text[match.end(5) : match.end(5) + 1]
    is_whole = after in ("", "\n", "\r") if before == "=" else before == after and before in "\"'`"
    is_name_whole = match[1].lower() in ("", "d", "ord") and not (match[2] or match[3] or match[4])
    if not (is_whole and is_name_whole):
        return False
    is_mixed = all(any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))
    return is_mixed and not _PLACEHOLDER.search(value)


def _ends_with_name(text: str, word: str) -> bool:
    """Whether `text` ends in the separate word `word`, not in monkey; `key` needs one before it."""
    before, first = text[-len(word) - 1 : -len(word)], text[-len(word)]
    if before in ("_", "-", ".") or (before.islower() and first.isupper()):
        return True
    return word != "key" and not before.isalnum()


def _ends_of(text: str, mark: str, start: int = 0) -> Iterator[int]:
    """Yield the end of each occurrence of `mark` from `start` on."""
    at = text.find(mark, start)
    while at >= 0:
        at += len(mark)
        yield at
        at = text.find(mark, at)


def _is_default(user: str, password: str) -> bool:
    """Whether the password in a URL is a placeholder or a well-known default."""
    is_known = password == user or _DEFAULT_PASSWORD.fullmatch(password) is not None
    return is_known or _PLACEHOLDER.search(password) is not None


def _looks_like_token(value: str) -> bool:
    if _PLACEHOLDER.search(value):
        return False
    is_mixed = any(map(str.isdigit, value)) and any(map(str.isupper, value))
    return is_mixed or _looks_random(value)


def _looks_random(value: str) -> bool:
    """Whether `value` looks random, by its characters and entropy, unlike a name."""
    return _is_random(value) and not _PLACEHOLDER.search(value)  # last: it takes longest


def _is_random(value: str) -> bool:
    has_lower, has_upper, has_digit = (
        any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit)
    )
    if len(value) < _SHORT:
        kinds = has_lower + has_upper + has_digit + (not value.isalnum())
        if kinds >= 3 and _CODE.fullmatch(value.rstrip(":.-")) is None:
            return True
    if not (has_lower or has_upper):
        return False
    if _HEX.fullmatch(value):
        return True
    # The pieces of a name are words; those of a random value are a character or two.
    pieces = _PIECE.findall(value)
    numbers = sum(map(str.isdigit, pieces))
    if numbers == 0:
        longest = 2.4 if has_lower and has_upper and len(value) >= _SHORT else 0
    elif len(value) < _SHORT:
        longest = 2.5 if len(value) >= 12 else 2.0 if numbers >= 2 else 0
    else:
        longest = 5 if numbers >= 3 and value.isalnum() else 3.6
    if sum(map(len, pieces)) > len(pieces) * longest:
        return False
    shares = [count / len(value) for count in Counter(value).values()]
    entropy_bits = -sum(share * log2(share) for share in shares)
    return entropy_bits > (3.0 if len(value) >= 12 else 2.4)
