"""Masks secrets (keys, tokens, passwords) before a text is shown, or refuses to store them. Pure.

`credential_candidates` decides what looks like a credential.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar

from memory_sidecar.core.credential_candidates import Credential, find_candidates, names_a_secret
from memory_sidecar.core.errors import SecretRefused

D = TypeVar("D")

SHORTEST = 10  # characters of a text with a credential: ://u:pwd@h
_MASK = "«masked: "
_MASKED = re.compile(rf"{_MASK}[^»\n]{{1,60}}»")


def find_credentials(text: str, *, name: str = "") -> list[Credential]:
    """Return the credentials in `text`, in order and without overlaps.

    `name` is the property that holds the text, if any: a `password` makes its value suspicious.
    """
    lead = f"{name}: " if name else ""
    if len(lead) + len(text) < SHORTEST:  # such as the role of each of many messages
        return []
    found = sorted(find_candidates(lead + text), key=lambda each: (each.start, -each.end))
    apart: list[Credential] = []
    for each in found:
        start, end = each.start - len(lead), each.end - len(lead)
        if start >= (apart[-1].end if apart else 0):
            apart.append(Credential(each.kind, start, end))
    return apart


def mask_credentials(text: str, *, name: str = "") -> str:
    """Return `text` with its credentials masked, itself without any. Lines keep their numbers."""
    found = find_credentials(text, name=name)
    return mask_part(text, 0, len(text), found) if found else text


def mask_part(text: str, start: int, end: int, found: Iterable[Credential]) -> str:
    """Return `text[start:end]` with what it has of the credentials `found` in `text` masked.

    A part alone may not tell what it is: a value without the `password =` before it.
    """
    parts, at = [], start
    for each in found:
        first, last = max(each.start, start), min(each.end, end)
        if first < last:
            breaks = "\n" * text.count("\n", first, last)
            parts += [text[at:first], f"{_MASK}{each.kind}»", breaks]
            at = last
    return "".join([*parts, text[at:end]])


_KEY_LINE = re.compile(  # not a line that only underlines a title
    r"""(?:[\s"'`+,;\\#>|*]|\d{1,6} ?[\t→:|])*(?=[+/=_-]*[A-Za-z0-9])[A-Za-z0-9+/=_-]{16,}"""
    r"""(?:\\[rn])*[\s"'`+,;\\]*"""
)


def may_be_cut(text: str) -> bool:
    """Whether the first or last line of `text` may belong to a key that goes on beyond `text`."""
    lines = text.strip().split("\n")
    return any(_KEY_LINE.fullmatch(line) or "PRIVATE KEY" in line for line in (lines[0], lines[-1]))


_ASCII = "".join(map(chr, range(ord("!"), ord("~") + 1)))


def first_words(text: str, most: int, sign: str = " …") -> str:
    """Cut `text`, with `sign` behind it, if it has more than `most` characters.

    Cuts after a word. If little would be left, as in languages without spaces, cuts between any two
    characters that are not both ASCII, since half a secret would no longer look like one, and be
    shown. If that leaves little, too, secrets are masked before the text is cut.
    """
    if len(text) <= most:
        return text
    words = text[: most + 1].rpartition(" ")[0]
    if len(words) <= most // 2:
        words = text[:most]
        if text[most] in _ASCII:
            words = words.rstrip(_ASCII)
    if len(words) <= most // 2:
        words = mask_credentials(text[: 10 * most])[:most]
    return words + sign


def mask_document(document: D) -> D:
    """Return `document` with all its texts masked.

    A document is a JSON value, a path, a dataclass or a list of those; one without a credential is
    returned as it is.
    """
    masked: D = _mask_value(document, "") if _may_hold_some(document) else document
    return masked


def count_masks(document: Any) -> int:  # noqa: ANN401  whatever JSON has, and dataclasses
    """Count the masks in `document`, including any that its author wrote.

    A property that another of the same object contains, such as a title made of the content, does
    not count.
    """
    owned: dict[str, set[str]] = defaultdict(set)  # the masked texts of each object
    for place, _, text in _texts_of(document):
        if _MASK in text:
            owned[place.rpartition(".")[0]].add(text.removesuffix(" …"))
    return sum(
        len(_MASKED.findall(text))
        for texts in owned.values()
        for text in texts
        if sum(text in whole for whole in texts) == 1
    )


def refuse_credentials(document: Any) -> None:  # noqa: ANN401  whatever JSON has, and dataclasses
    """Raise SecretRefused if `document` holds a credential; it names the field, not the secret."""
    if problem := credential_problem(document):
        raise SecretRefused(
            f"{problem}, so nothing was stored",
            hint="leave it out, or store it by a command with --allow-secrets",
        )


def credential_problem(document: Any) -> str:  # noqa: ANN401  as above
    """Say which field of `document` holds a credential of which kind, "" where none does."""
    for place, name, text in _texts_of(document) if _may_hold_some(document) else ():
        if found := find_credentials(text, name=name):
            line = text.count("\n", 0, found[0].start) + 1
            where = f"{place or 'the text'}, line {line}," if "\n" in text else place or "the text"
            return f"{where} seems to contain a secret ({found[0].kind})"
    return ""


def _may_hold_some(document: Any) -> bool:  # noqa: ANN401
    """Whether `document` may hold a credential: one search of all texts is ten times as fast."""
    held = _texts_of(document)
    texts = [text for _, _, text in held]
    names = [f"{name}: {text[:200]}" for _, name, text in held if names_a_secret(name)]
    # Values in a list mostly repeat, so searching only the distinct ones takes half the time.
    return any(find_credentials("\n\n".join(dict.fromkeys(each))) for each in (texts, names))


_Text: TypeAlias = tuple[str, str, str]
"""The place of a text in a document (`messages[2].content`), its property name, and itself."""


def _texts_of(document: Any) -> list[_Text]:  # noqa: ANN401
    """Return the texts in `document`; nested generators would pass each through all of them."""
    found: list[_Text] = []
    _add_texts(found, document, "", "")
    return found


def _add_texts(found: list[_Text], value: Any, place: str, name: str) -> None:  # noqa: ANN401
    if isinstance(value, (str, PurePath)):
        found.append((place, name, str(value)))
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            _add_texts(found, each, f"{place}[{at}]", name)
    elif of_class := getattr(value, "__dataclass_fields__", ()):
        for key in of_class:
            _add_texts(found, getattr(value, key), f"{place}.{key}" if place else key, key)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            found.append((place, "", str(key)))
            _add_texts(found, each, f"{place}.{key}" if place else str(key), str(key))


def _mask_value(value: Any, name: str) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return mask_credentials(value, name=name)
    if isinstance(value, PurePath):
        return type(value)(mask_credentials(str(value)))
    if isinstance(value, list | tuple):
        return type(value)(_mask_value(each, name) for each in value)
    if isinstance(value, Mapping):
        return {_mask_value(key, ""): _mask_value(each, str(key)) for key, each in value.items()}
    # Most of thousands of hits hold none, even if one does.
    if not is_dataclass(value) or isinstance(value, type) or not _may_hold_some(value):
        return value
    names = [each.name for each in fields(value)]
    return replace(value, **{each: _mask_value(getattr(value, each), each) for each in names})
