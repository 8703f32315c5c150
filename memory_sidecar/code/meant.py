"""Tells which kinds of definitions a use may mean, by how it is written."""

from __future__ import annotations

import re
from collections.abc import Collection

from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, NamedFile

ANY, _NONE = re.compile(""), re.compile("(?!)")
# A call means a method rather than a field, unless the field's type is written as a function's.
CALLABLE = re.compile(r"\bfunc\b|\(|[-=]>|\b(?:Action|Func|Predicate|Callable|event|function)\b")
_ANY_CLASS, _ANY_VALUE = "A", "?"


def is_valueless(defined: Defined) -> bool:
    """Whether no variable of C# can have this member: a type, a constructor, an enum's constant."""
    is_constructor = defined.name == defined.owner
    has_none = defined.is_type or is_constructor or defined.kind == "constant"
    return has_none and defined.at.scoping.valueless


def deciding_receiver(place: Place, outers: Collection[str]) -> str:
    """Return what `may_stand_behind` is asked for, one text for all receivers that it tells alike.

    `outers` own what `is_valueless`; empty if the use at `place` may mean all of that.
    """
    receiver = place.receiver if outers and place.how != "import" else ""
    if not receiver or receiver in outers:
        return receiver
    return _ANY_CLASS if receiver[:1].isupper() else _ANY_VALUE


def may_stand_behind(receiver: str, defined: Defined) -> bool:
    """Whether what `is_valueless` may stand behind a receiver.

    A constant stands behind its enum only; a type also behind a class that inherits it, or a name
    of its namespace. These begin with a capital letter.
    """
    if defined.owner == receiver or not is_valueless(defined):
        return True
    return defined.kind != "constant" and receiver[:1].isupper()


def is_field(defined: Defined) -> bool:
    return defined.kind == "field" and bool(defined.scope)


def fields_for(at: NamedFile, place: Place) -> re.Pattern[str]:
    """Return the pattern of the signatures of fields that a use like that at `place` may mean."""
    language = at.file.language
    is_bare = not place.receiver and place.how != "attribute"
    if (
        place.how == "type"
        or place.receiver == "crate"
        or (is_bare and (at.scoping.dotted_fields or (place.how, language) == ("import", "cpp")))
    ):
        return _NONE
    if place.how != "call" or language == "ruby":
        return ANY
    return CALLABLE if at.scoping.calls_fields else _NONE
