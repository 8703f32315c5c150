"""Keeps a list of the texts that setup put into the user's files, until they are taken back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memory_sidecar.core.atomic import delete_file, replace_file
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.opening import Tree, read_user_file
from memory_sidecar.core.projects import config_folder
from memory_sidecar.core.sqlite import named_errors

NOTES = "setup.json"
MAX_BYTES = 64 << 20  # Claude Code keeps its history in the file that lists its servers


@dataclass(frozen=True, slots=True)
class Piece:
    """A text that was put into a file."""

    agent: str
    what: str
    path: str
    text: str
    is_new: bool  # the file was made for it
    made: str = ""  # the topmost folder that was made for the file
    at: list[str] = field(default_factory=list)  # the JSON member or array that it is in
    value: Any = None  # of that member, or of the element
    is_planned: bool = False  # noted before it is written, and perhaps never was


def read_text(path: str) -> str | None:
    """Return the text of a file; None if it is missing. Raises PathRefused if it is unreadable."""
    try:
        return read_user_file(path, MAX_BYTES).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise PathRefused(f"{path} cannot be read: {reason}", hint="fix or move it") from error


def notes_path(environ: Mapping[str, str]) -> Path:
    """Return the file of the list, which may be missing."""
    return Path(config_folder(environ), NOTES)


def lock_path(environ: Mapping[str, str]) -> Path:
    """Return the file of the lock on the list, which may be missing."""
    return notes_path(environ).with_suffix(".lock")


def lock_notes(environ: Mapping[str, str]) -> AbstractContextManager[None]:
    """Keep other setups of the user from the list for a block. Raises StoreBusy."""
    lock = lock_path(environ)
    tree = Tree(lock.parent, is_own=True)
    return hold_lock(tree, lock, what="the settings of coding agents are")


def read_pieces(environ: Mapping[str, str]) -> list[Piece]:
    """Return the noted pieces of the user with `environ`. Raises PathRefused if damaged."""
    path = notes_path(environ)
    text = read_text(str(path))
    if text is None:
        return []
    try:
        return [Piece(**piece) for piece in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise PathRefused(
            f"{path} is damaged: {error}", hint="move it away; then undo by hand what it recorded"
        ) from error


def write_pieces(pieces: Sequence[Piece], environ: Mapping[str, str]) -> None:
    """Write `pieces` as the whole list, replacing the former one."""
    path = notes_path(environ)
    tree = Tree(path.parent, is_own=True)
    with named_errors(path):
        if pieces:
            text = json.dumps([asdict(each) for each in pieces], indent=1, ensure_ascii=False)
            replace_file(tree, path.name, text.encode())
        elif path.exists():
            delete_file(tree, path.name)
