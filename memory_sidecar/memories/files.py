"""Parses the text of a memory's file, and derives its id, hash and file name. Opens no file.

A memory is a Markdown page; its category is its folder. The frontmatter may have been written by
hand or by another tool: missing keys have defaults, other spellings of keys and values are
understood, the rest is ignored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory_sidecar.core.atomic import file_hash
from memory_sidecar.core.credentials import first_words
from memory_sidecar.core.times import parse_time
from memory_sidecar.disk.frontmatter import Page, parse_page
from memory_sidecar.memories.names import slug

UNKNOWN_SOURCE = "unknown"
FALLBACK_SLUG = "memory"
TITLE_CHARACTERS = 160
_MARKS = re.compile(r"^(?:[#>*]+[ \t]+)+|(?<![ \t])[ \t]+#+$")
_NUMBERED = re.compile(r"^[A-Z]{1,4}-\d{1,18}[a-z]?: ")  # the id of an atom or a decision
_EMPHASIS = re.compile(r"^(?:\*{1,3}(?=\S)([^*]+)(?<=\S)\*{1,3}(?!\w)|_(\w+ .*[^\W_][.!?]?)_$)")


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A memory as its file has it. Times are epoch milliseconds, paths relative to the root."""

    content: str  # the body without blank lines around it, its line ends LF
    created_at: int
    updated_at: int
    source: str
    tags: tuple[str, ...] = ()  # plain, or `key:value`
    summary: str = ""
    status: str = ""
    expires_at: int | None = None
    pinned: bool = False
    evidence: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    project: str = ""  # where the memory was made
    body_line: int = 1
    problem: str = ""  # what is wrong with the frontmatter, in one line
    has_created_at: bool = True  # False: `created_at` is the time of the file
    has_updated_at: bool = True  # False: `updated_at` is the time of the file

    def is_expired(self, now_ms: int) -> bool:
        return self.expires_at is not None and self.expires_at <= now_ms


SESSION_LINE = "\n\nSession: "


def with_session(statement: str, subject: str) -> str:
    """Return `statement` as a memory's content, with a line on what its session was about."""
    return f"{statement}{SESSION_LINE}{subject}" if subject else statement


def statement_of(content: str) -> str:
    """Return `content` without the line that `with_session` adds to it."""
    statement, line, subject = content.rpartition(SESSION_LINE)
    return statement if line and "\n" not in subject else content


# Our own key first, then those of Obsidian, its Linter and basic-memory.
_CREATED = ("created_at", "created", "date created", "date")
_OWN_CREATED = ("created_at", "date")  # one that cannot be parsed is told, and left to its author
_UPDATED = ("updated_at", "updated", "modified", "date modified")

_RELATIONS = ("evidence", "links", "citations", "supersedes", "superseded_by")
_STORED_AT = {"created_at", "updated_at"}
_OF_THE_FILE = ("project", "body_line", "has_created_at", "has_updated_at")
NOT_COLUMNS = frozenset(["content", "tags", *_RELATIONS, *_OF_THE_FILE])
"""The fields without a column of their name in the memory's row; a field added above gets one."""


def read_memory(text: str, *, mtime_ms: int) -> MemoryPage:
    """Parse the text of a memory's file. Never raises. `mtime_ms`: for times that it lacks."""
    return parse_memory(parse_page(text), mtime_ms=mtime_ms)


def parse_memory(page: Page, *, mtime_ms: int) -> MemoryPage:
    """Make a memory of a parsed page; otherwise as `read_memory`."""
    meta = page.meta
    created = next(_times_of(meta, _CREATED), None)
    updated = max(_times_of(meta, _UPDATED), default=None)
    summary = _text(meta.get("summary"))
    if not summary.strip() and meta.get("summary") != "":  # "" hides what other keys tell
        summary = _line_of(meta.get("description")) or _line_of(meta.get("title"))
    return MemoryPage(
        content=normalised_content(page.body),
        created_at=created if created is not None else mtime_ms,
        updated_at=updated if updated is not None else mtime_ms,
        source=_text(meta.get("source")) or UNKNOWN_SOURCE,
        tags=_tags_in(meta.get("tags")),
        summary=summary,
        status=_text(meta.get("status")),
        expires_at=parse_time(meta.get("expires_at")),
        pinned=meta.get("pinned") in (True, 1, "yes", "on"),
        evidence=texts(meta.get("evidence")),
        links=texts(meta.get("links")),
        citations=texts(meta.get("citations")),
        supersedes=texts(meta.get("supersedes")),
        superseded_by=texts(meta.get("superseded_by")),
        project=_text(meta.get("project")),
        body_line=page.body_line,
        problem=page.problem or _problem_of_times(meta),
        has_created_at=created is not None or any(map(_is_given, map(meta.get, _OWN_CREATED))),
        has_updated_at=updated is not None,
    )


def _times_of(meta: Mapping[str, object], keys: Iterable[str]) -> Iterator[int]:
    """Yield the times under `keys` that can be parsed, in epoch ms."""
    return (time for time in map(parse_time, map(meta.get, keys)) if time is not None)


def _problem_of_times(meta: Mapping[str, object]) -> str:
    """Say which time cannot be parsed, and so counts as missing; "" if all can."""
    for key in ("created_at", "date", "updated_at", "expires_at"):
        if _is_given(meta.get(key)) and parse_time(meta[key]) is None:
            return f"{key}: {_text(meta[key])[:40]!r} is not a time such as 2026-03-01"
    return ""


def are_alike(ours: bytes, theirs: bytes) -> bool:
    """Whether two files of memories differ only in when they were stored, and in line breaks."""
    pages = [parse_page(each.decode("utf-8", "surrogateescape")) for each in (ours, theirs)]
    said = [
        (
            {key: page.meta[key] for key in page.meta.keys() - _STORED_AT},
            normalised_content(page.body),
        )
        for page in pages
        if not page.problem
    ]
    return len(said) == 2 and said[0] == said[1]


def _is_given(value: object) -> bool:
    return value not in (None, "")


def normalised_content(content: str) -> str:
    """Strip the blank lines around `content`, and make its line endings LF."""
    return content.replace("\r\n", "\n").strip("\r\n").rstrip(" \t\r\n")


def memory_id(owner: str, path: str) -> int:
    """Derive the number that hosts see, 1 … 2³¹-1: the same after a rebuild and on every machine.

    Made of `owner`, the agent or the registered directory, and the path in it. In one of forty
    directories of 10,000 memories two share a number: it is for display, the path is the key.
    """
    digest = hashlib.sha256(f"{owner}/{path}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:4]) & 0x7FFF_FFFF or 1


def content_hash(content: str) -> str:
    """Hash `content` without regard to its line endings and the blank lines around it."""
    return file_hash(normalised_content(content).encode("utf-8", "replace"))


def category_of(path: str) -> str:
    """Return the folder of the memory at `path`; "" at the root."""
    return path.rpartition("/")[0]


def naming_lines(content: str) -> list[str]:
    """Return the lines that `content` can be called by, the best first.

    Of a page that was stored with a frontmatter of its own these are its title and its body.
    """
    if content.startswith("---\n") and (page := parse_page(content)).meta:
        title = next(filter(None, map(page.meta.get, ("title", "name", "summary"))), None)
        content = f"{_text(title)}\n{page.body}"
    return content.split("\n")


def title_of(summary: str, content: str) -> str:
    """Return the summary, or else the first line of the content, shortened and without markup.

    A line without letters and digits, such as `---`, is a title only where there is no other.
    """
    if summary:
        return summary
    lines = map(without_markup, naming_lines(content))
    first = next((line for line in lines if any(map(str.isalnum, line))), "")
    first = first or content.partition("\n")[0]
    return first_words(first, TITLE_CHARACTERS, "…")


def repeats_title(line: str, title: str) -> bool:
    """Whether `line` says only `title`, perhaps as a heading or behind an id: `# K-001: …`."""
    return _NUMBERED.sub("", without_markup(line)) in (title, _NUMBERED.sub("", title))


def without_markup(line: str) -> str:
    """Return `line` without the marks of a heading, a quotation, and bold or italic words at first.

    A mark that belongs to a word stays: `C#`, `__init__`, `**kwargs`, `List<str>`.
    """
    return _EMPHASIS.sub(r"\1\2", _MARKS.sub("", line.strip()), count=1)


def memory_slug(content: str, summary: str = "") -> str:
    """Make a file name, without suffix, of the summary or else the first line with words."""
    lines = (line for line in (summary, *naming_lines(content)) if line.strip())
    return next(filter(None, map(slug, lines)), FALLBACK_SLUG)


def plain_tag(tag: str) -> str:
    """Return `tag` without the `#` that Obsidian's users write before it."""
    return tag.removeprefix("#") or tag


def tags_by_key(tags: Iterable[str]) -> dict[str, str] | None:
    """Convert tags to the mapping that hosts read: a plain tag has the value ""; None for none."""
    pairs: dict[str, str] = {}
    for tag in tags:
        key, _, value = tag.partition(":")
        pairs.setdefault(key.strip(), value.strip())
    return pairs or None


def as_value(names: Sequence[str]) -> object:
    """Return what `texts` reads as `names`: one name as a text, else a list; None for none."""
    if len(names) == 1 and "," not in names[0]:
        return names[0]
    return [*names] or None


def texts(value: object) -> tuple[str, ...]:
    """Read texts from a YAML value: a list, `a, b` in one text, or a mapping as `key:value`.

    Each text once.
    """
    match value:
        case None:
            found: Iterable[str] = ()
        case Mapping():
            found = (f"{key}:{_text(inner)}" for key, inner in value.items())
        case str():
            found = value.split(",")
        case Sequence():
            found = (_text(item) for item in value)
        case _:
            found = (_text(value),)
    return tuple(dict.fromkeys(text.strip() for text in found if text.strip()))


def _tags_in(value: object) -> tuple[str, ...]:
    """Read tags as `texts` does, without their `#`; one text of `#ux #shop` has two."""
    if isinstance(value, str) and all(each.startswith("#") for each in value.split()):
        value = value.replace(",", " ").split()
    return tuple(dict.fromkeys(map(plain_tag, texts(value))))


def _line_of(value: object) -> str:
    return " ".join(_text(value).split())


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case Mapping():
            return ", ".join(f"{key}:{_text(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
