"""What agents, categories and memory files may be called, and that a path stays in its root.

A *slug* is a name that every disk takes and a person can type: letters and digits of any script,
and `-`, `_`, `.` between them.
"""

from __future__ import annotations

import re
import unicodedata

from memory_sidecar.core.errors import PathRefused, UsageError
from memory_sidecar.core.paths import FOLDER_NAME, FOLDER_NAME_RULE

CATEGORY_FILE = "_category.md"
MEMORY_SUFFIX = ".md"

MAX_SLUG_BYTES = 80  # of names made here; a disk takes 255
MAX_NAME_BYTES = 200  # leaves room for a number and the suffix
MAX_DEPTH = 8

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_DATABASE_ENDINGS = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal")
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))]
)
"""What Windows keeps for devices, with any suffix."""


def check_agent(agent: str) -> str:
    """`agent`, if it is an agent's id: it names a folder and a database beside it."""
    if not FOLDER_NAME.fullmatch(agent):
        wrong = FOLDER_NAME_RULE
    elif agent.endswith("."):
        wrong = "Windows takes no folder that ends in `.`"
    elif agent.lower().endswith(_DATABASE_ENDINGS):
        wrong = f"what ends in {', '.join(_DATABASE_ENDINGS)} is a database beside the agents"
    elif _is_reserved(agent):
        wrong = "Windows keeps that name for a device"
    else:
        return agent
    raise UsageError(f"{agent!r} is no agent id", hint=wrong)


def check_category(category: str) -> str:
    """`category` as it is written in the paths of new memories; "" is the root.

    Raises PathRefused for one that would leave its root, UsageError for any other that is no
    slug or slugs with `/` between them.
    """
    text = _relative(category).removesuffix("/")
    parts = text.split("/") if text else []
    if len(parts) > MAX_DEPTH:
        raise UsageError(
            f"{category!r} is nested too deep", hint=f"at most {MAX_DEPTH} categories in another"
        )
    for part in parts:
        if not is_name(part):
            good = "/".join(filter(None, map(slug, parts))) or "decisions"
            raise UsageError(
                f"{part!r} is no name for a category",
                hint=f"letters, digits, `-`, `_` and `.`: for example {good}",
            )
    return text


def check_known_category(category: str) -> str:
    """`category` as it may be in the paths of memories that are there; "" is the root.

    People's own names pass. Raises PathRefused for one that would leave its root.
    """
    return _relative(category).removesuffix("/")


def check_new_path(path: str) -> str:
    """`path` of a memory to be made, relative to its root: category and file name with suffix.

    The suffix may be left out. Raises like `check_category`.
    """
    text = check_path(path)[: -len(MEMORY_SUFFIX)] + MEMORY_SUFFIX
    folder, _, name = text.rpartition("/")
    check_category(folder)
    if not is_name(name.removesuffix(MEMORY_SUFFIX)):
        raise UsageError(
            f"{name!r} is no name for a memory",
            hint="letters, digits, `-`, `_` and `.`: for example "
            f"{slug(name.removesuffix(MEMORY_SUFFIX)) or 'use-sqlite'}",
        )
    return text


def check_path(path: str) -> str:
    """`path` of a memory that may be there, with its suffix. People's own names pass."""
    text = _relative(path)
    parts = text.split("/")
    named = text if text.lower().endswith(MEMORY_SUFFIX) else text + MEMORY_SUFFIX
    if (
        "" in parts
        or is_hidden(text)
        or (named.rpartition("/")[2] in (CATEGORY_FILE, MEMORY_SUFFIX))
    ):
        raise UsageError(
            f"{path!r} names no memory", hint="name one like decisions/use-sqlite.md, see `list`"
        )
    return named


def _relative(path: str) -> str:
    """`path` with `/`. Raises PathRefused unless it stays below where it begins."""
    text = unicodedata.normalize("NFC", path).strip().replace("\\", "/")
    if text.startswith(("/", "~")) or ".." in text.split("/") or text[1:2] == ":":
        raise PathRefused(f"{path!r} leaves its root", hint="name it relative to that")
    if not text.isprintable():
        raise UsageError(f"{path!r} holds a control character")
    return text


def is_hidden(path: str) -> bool:
    """Whether it, or a folder above it, begins with a dot: it is no memory."""
    return any(part.startswith(".") for part in path.split("/"))


def with_above(category: str) -> list[str]:
    """`a/b/c`, `a/b` and `a`; nothing for the root."""
    parts = category.split("/") if category else []
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def is_name(text: str) -> bool:
    """Whether it can be a category or the stem of a file: people's own names pass too."""
    return (
        0 < len(text.encode("utf-8", "replace")) <= MAX_NAME_BYTES
        and all(_is_word(character) or character in "-_." for character in text)
        and not text.startswith((".", "-"))
        and not text.endswith(".")
        and not _is_reserved(text)
    )


def slug(text: str) -> str:
    """`text` in lower case with `-` for all that is no letter, digit or mark; may be "".

    Cut between words where that is possible, never within a character.
    """
    normal = unicodedata.normalize("NFKC", text[:300]).lower()
    if normal.isascii():
        words = _ASCII_WORD.findall(normal)
    else:
        words = "".join(c if _is_word(c) else " " for c in normal).split()
    words = [word for word in words if any(map(str.isalnum, word))]  # a mark needs a letter
    made = ""
    for word in words:
        longer = f"{made}-{word}" if made else word
        if len(longer.encode()) > MAX_SLUG_BYTES:
            break
        made = longer
    if words and not made:
        made = words[0].encode()[:MAX_SLUG_BYTES].decode("utf-8", "ignore")
    made = unicodedata.normalize("NFC", made)
    return f"{made}-" + "note" if _is_reserved(made) else made


def _is_word(character: str) -> bool:
    """Letters, digits and the marks that scripts like Devanagari put on letters."""
    if character.isascii():
        return character.isalnum()
    return unicodedata.category(character)[0] in "LNM" and not "\ufe00" <= character <= "\ufe0f"


def _is_reserved(name: str) -> bool:
    return name.lower().partition(".")[0].rstrip() in _RESERVED
