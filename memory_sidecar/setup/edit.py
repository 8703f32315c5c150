"""An entry for a coding agent's file: what puts it into a text, and what takes it out again.

Opens no files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory_sidecar.setup.agents import SERVER, TABLES
from memory_sidecar.setup.editing import (
    Insertion,
    Taken,
    Unreadable,
    json_element,
    json_member,
    remove_entry,
    whole_file,
)
from memory_sidecar.setup.notes import Piece

EMPTY_JSON = "{}\n"


@dataclass(frozen=True, slots=True)
class Edit:
    """Inserts `value` at the path `at` of names in a file, with `of`, a function of `editing`."""

    agent: str
    what: str
    path: str
    of: Callable[[str, Sequence[str], Any], Insertion | None]
    at: list[str]
    value: Any

    @property
    def is_json(self) -> bool:
        return self.of in (json_member, json_element)

    @property
    def is_whole_file(self) -> bool:
        return self.of is whole_file

    def insertion(self, before: str) -> Insertion | None:
        """Return what to insert into `before`; None if the entry is there already.

        Raises Taken and Unreadable.
        """
        is_blank = not before.strip()
        text = before if not is_blank else EMPTY_JSON if self.is_json else ""
        insertion = self.of(text, self.at, self.value)
        if insertion is None:
            return None
        if is_blank:
            return Insertion(len(before), insertion.apply_to(text))
        if "\r\n" in text:
            return replace(insertion, text=insertion.text.replace("\n", "\r\n"))
        return insertion

    def is_missing(self, text: str) -> bool | None:
        """Say whether the entry could be inserted into `text`; None if its place is taken."""
        try:
            return self.insertion(text) is not None
        except (Taken, Unreadable):
            return None


def without_piece(piece: Piece, text: str) -> str | None:
    """Return `text` without `piece`; None if `text` no longer contains it. Raises Unreadable."""
    if piece.path.endswith(".toml"):
        value = tomllib.loads(piece.text)[TABLES][SERVER]
        return remove_entry(text, [TABLES, SERVER], value, is_toml=True, piece=piece.text)
    if piece.at:
        return remove_entry(text, piece.at, piece.value, piece=piece.text)
    return text.replace(piece.text, "") if text.count(piece.text) == 1 else None
