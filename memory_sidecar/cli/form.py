"""The form in which errors and results leave: for a person, or as one JSON document."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.visible import visible_json

JSON_OPTIONS = frozenset({"--json-output", "--json"})
JSON_WHEN_PIPED = frozenset(
    {"index", "store", "embed", "episodic-put", "episodic-search", "episodic-commit"}
)


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line that a terminal shows in colour or weight."""

    text: str
    style: Mapping[str, Any]  # as `click.style` takes it
    link: str = ""  # the address that a terminal opens from there


def title(text: str, *, link: str = "") -> Styled:
    """What a person looks for first: a path, an id."""
    return Styled(text, {"fg": "cyan", "bold": True}, link)


def linked(text: str, address: str) -> str:
    """`text` as a link of a terminal (OSC 8). Terminals that know none show the text."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def file_address(path: Path) -> str:
    """`path`, absolute, as a link means it: with the machine, for a terminal that is elsewhere."""
    return f"file://{platform.node()}{quote(os.fsencode(path))}"


def path_from(path: Path, folder: Path) -> str:
    """How to name `path` so that it opens from `folder`: relative, unless that only adds `..`."""
    absolute = os.fspath(path)
    relative = os.path.relpath(absolute, folder)
    return relative if len(relative) <= len(absolute) else absolute


def place_in(root: Path | None, filename: str, suffix: str, *, folder: Path) -> Styled:
    """A file of a source at `root` as it opens from `folder`; `None` where that is forgotten."""
    if root is None:
        return title(f"{filename}{suffix}")
    path = root / filename
    return title(f"{path_from(path, folder)}{suffix}", link=file_address(path))


def wants_json(arguments: tuple[str, ...], *, is_terminal: bool) -> bool:
    """Known from the arguments alone, so that even a usage error has the right form."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if not JSON_OPTIONS.isdisjoint(arguments[:end]):
        return True
    command = next((word for word in arguments if not word.startswith("-")), "")
    return command in JSON_WHEN_PIPED and not is_terminal


def error_line(error: SidecarError, *, as_json: bool) -> str:
    """`error` as one line for standard error, with its line break."""
    if as_json:
        shown, _ = mask_document(error.as_json())  # of a conflict it has the text that is there
        return visible_json(json.dumps(shown, ensure_ascii=False)) + "\n"
    hint = f" — {error.hint}" if error.hint else ""
    return f"memory-sidecar: {error.message}{hint}\n"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2,000 files`; `many` where an s does not do."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Its two largest units: `3 h 12 min`."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"
