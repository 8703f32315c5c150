"""Checks the names of agents, categories and memory files, and that a path stays in its root.

A *slug* is a name that every file system takes and a person can type: letters and digits of any
script, and `-`, `_`, `.` between them.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from memory_sidecar.core.errors import PathRefused, UsageError
from memory_sidecar.core.opening import MAX_PATH_BYTES
from memory_sidecar.core.paths import FOLDER_NAME, FOLDER_NAME_RULE
from memory_sidecar.index.words import is_word_character

CATEGORY_FILE = "_category.md"
MEMORY_SUFFIX = ".md"

MAX_SLUG_BYTES = 80  # of names made here; a file system takes 255
MAX_NAME_BYTES = 200  # leaves room for a number and the suffix
MAX_DEPTH = 8
SLUG_OF = 300  # characters: what of a text a name is made of

_PLURAL = re.compile(r"s(?=/|$)")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"\w+")
_INNER_CAPITAL = re.compile(r"(?<!\w)[`'\"(]*\w*[^\W\d_A-Z][A-Z]")
_PLAIN = re.compile(r"(?:(?!_|[.,]\d|(?<!\w)--?\w)[\w\s.,:;'\"`()/-])*")
_DATABASE_ENDINGS = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal")
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))]
)
"""Names that Windows reserves for devices, with any suffix."""


def check_agent(agent: str) -> str:
    """Return `agent` if it can be an agent's id, and so name a folder and a database beside it.

    Raises UsageError.
    """
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
    raise UsageError(f"{agent!r} is not an agent id", hint=wrong)


def check_category(category: str) -> str:
    """Normalise the category of a new memory: slugs with `/` between them; "" is the root.

    Raises PathRefused for a path that leaves its root, UsageError for any other invalid one.
    """
    text = _check_relative(category).removesuffix("/")
    parts = text.split("/") if text else []
    if len(parts) > MAX_DEPTH:
        raise UsageError(
            f"{category!r} is nested too deep", hint=f"at most {MAX_DEPTH} categories in another"
        )
    for part in parts:
        if not is_name(part) or is_markdown(part):  # else a memory could not have that name
            good = "/".join(filter(None, map(slug, parts))) or "decisions"
            raise UsageError(
                f"{part!r} cannot be the name of a category",
                hint=f"letters, digits, `-`, `_` and `.`, not `.md` at the end: for example {good}",
            )
    return text


def check_known_category(category: str) -> str:
    """Normalise a category that may exist; "" is the root. Names that are no slugs pass.

    Raises PathRefused for a path that leaves its root.
    """
    return _check_relative(category).removesuffix("/")


def check_new_path(path: str) -> str:
    """Normalise the path of a new memory, category and file name; the suffix may be left out.

    Raises as `check_category` does.
    """
    text = check_path(path)[: -len(MEMORY_SUFFIX)]
    folder, _, name = text.rpartition("/")
    check_category(folder)
    if not is_name(name):
        raise UsageError(
            f"{name + MEMORY_SUFFIX!r} cannot be the name of a memory",
            hint=f"letters, digits, `-`, `_` and `.`: for example {slug(name) or 'use-sqlite'}",
        )
    return text + MEMORY_SUFFIX


def check_path(path: str) -> str:
    """Normalise the path of a memory that may exist, and add its suffix. Raises UsageError.

    Names that are no slugs pass. Raises PathRefused for a path that leaves its root.
    """
    text = _check_relative(path)
    parts = text.split("/")
    named = text if is_markdown(text) else text + MEMORY_SUFFIX
    if (
        "" in parts
        or is_hidden(text)
        or (named.rpartition("/")[2] in (CATEGORY_FILE, MEMORY_SUFFIX))
    ):
        raise UsageError(
            f"{path!r} is not a memory's path",
            hint="name one like decisions/use-sqlite.md, see `list`",
        )
    return named


def may_be_memory(path: str) -> bool:
    """Whether a memory may lie at exactly `path`, as one that a person wrote: below its root."""
    return (
        is_markdown(path)
        and not (is_hidden(path) or is_category_page(path) or "\0" in path)
        and not PurePath(path).anchor
    )


def _check_relative(path: str) -> str:
    """Normalise `path` to NFC with `/`. Raises PathRefused if it leaves its root, UsageError."""
    text = unicodedata.normalize("NFC", path).strip().replace("\\", "/")
    if text.startswith(("/", "~")) or ".." in text.split("/") or text[1:2] == ":":
        raise PathRefused(f"{path!r} leaves its root", hint="name it relative to the root")
    if not text.isprintable():
        raise UsageError(f"{path!r} holds a control character", hint="rename the file by hand")
    return text


def with_slashes(path: str) -> str:
    """Return `path` with `/` for `\\`, and without `./` before it."""
    return path.strip().replace("\\", "/").removeprefix("./")


def spellings(path: str) -> tuple[str, ...]:
    """Return the paths that a file called `path` may have on disk: in NFC (composed) or NFD.

    Its name and the folders above it may differ, as when a file from macOS is put into one of ours.
    """
    if path.isascii() or len(path) > MAX_PATH_BYTES:  # spellings of more might take gigabytes
        return (path,)
    both = [unicodedata.normalize(form, path).split("/") for form in ("NFC", "NFD")]
    found = (
        "/".join([*above[:at], *below[at:]])
        for at in range(len(both[0]), 0, -1)
        for above, below in (both, both[::-1])
    )
    return tuple(dict.fromkeys(found))


def is_category_page(path: str) -> bool:
    """Whether `path` is that of the page of a category."""
    return path.rpartition("/")[2] == CATEGORY_FILE


def is_markdown(name: str) -> bool:
    """Whether a file called `name` may be a memory: it ends in `.md`, in letters of any case."""
    return name.lower().endswith(MEMORY_SUFFIX)


def is_hidden(path: str) -> bool:
    """Whether the file or a folder above it begins with a dot, and so is no memory."""
    return any(part.startswith(".") for part in path.split("/"))


def with_parents(category: str) -> list[str]:
    """List a category and those above it: `a/b/c`, `a/b`, `a`; nothing for the root."""
    parts = category.split("/") if category else []
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def folded(category: str) -> str:
    """Return `category` in a form that is equal for `Decision/Storage` and `decisions/storage`.

    It is also equal for composed and decomposed letters (NFC and NFD), as macOS may name a folder.
    """
    text = unicodedata.normalize("NFC", category)
    return _PLURAL.sub("", text.lower().replace("_", "-"))


def is_in(path: str, category: str) -> bool:
    """Whether the category `path` is `category` or below it, as both are `folded`."""
    return folded(f"{path}/").startswith(folded(f"{category}/") if category else "")


def is_name(text: str) -> bool:
    """Whether `text` can name a category or, without suffix, a memory; upper case may occur."""
    return (
        0 < len(text.encode("utf-8", "replace")) <= MAX_NAME_BYTES
        and all(is_word_character(character) or character in "-_." for character in text)
        and not text.startswith((".", "-"))
        and not text.endswith(".")
        and not _is_reserved(text)
    )


def slug(text: str) -> str:
    """Make a slug of `text`: its words in lower case with `-` between them; may be "".

    Cut between words if possible, never within a character.
    """
    normal = unicodedata.normalize("NFKC", text[:SLUG_OF].replace("İ", "I")).lower()  # İ gets a dot
    if normal.isascii():
        words = _ASCII_WORD.findall(normal)
    else:
        words = "".join(c if is_word_character(c) else " " for c in normal).split()
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
    return f"{made}-note" if _is_reserved(made) else made


def rest_of_title(title: str, path: str) -> str:
    """Return `title` from where the name at `path`, a slug of how it begins, leaves off.

    From an earlier word, if that lost capitals within it: `PoolTimedOut`. All of it where the name
    says something else, or lost a mark that means something: `C++`, `3.5`, `--force`, `parse_args`.
    """
    stem = path.rpartition("/")[2].removesuffix(MEMORY_SUFFIX)
    plain = _PLAIN.match(title, 0, SLUG_OF)
    for word in _WORD.finditer(plain[0] if plain else ""):
        if slug(title[: word.end()]) == stem:
            lost = _INNER_CAPITAL.search(title, 0, word.end())
            start = lost.start() if lost else word.end()
            rest = title[start:] if any(map(str.isalnum, title[start:])) else ""
            return f"…{rest}" if start and rest else rest
    return title


def _is_reserved(name: str) -> bool:
    return name.lower().partition(".")[0].rstrip() in _RESERVED
