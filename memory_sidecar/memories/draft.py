"""What a caller wants a memory to say, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_sidecar.core.clock import iso_utc
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.times import parse_time
from memory_sidecar.memories.files import UNKNOWN_SOURCE
from memory_sidecar.memories.names import check_category, check_path

MAX_CONTENT_BYTES = 1 << 20  # a memory that nobody can read is none
MAX_TAG_CHARACTERS = 200

_DURATION = re.compile(r"(\d{1,6}) ?(mo|[mhdwy])", re.IGNORECASE)
_UNIT_MS = {
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
    "mo": 30 * 86_400_000,
    "y": 365 * 86_400_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory to be stored. Raises UsageError for what cannot be one."""

    content: str
    category: str = ""
    tags: tuple[str, ...] = ()  # plain, or `key:value`
    summary: str = ""
    source: str = ""
    status: str = ""
    expires_at: int | None = None  # epoch milliseconds
    is_pinned: bool = False
    evidence: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # paths of memories in the same directory

    def __post_init__(self) -> None:
        check_content(self.content)
        for name, checked in (
            ("tags", check_tags(self.tags)),
            ("category", check_category(self.category)),
            ("supersedes", tuple(map(check_path, self.supersedes))),
        ):
            object.__setattr__(self, name, checked)

    def meta(self, now_ms: int) -> dict[str, object]:
        """The frontmatter of a new page; what is empty is left out."""
        stamp = iso_utc(now_ms)
        meta: dict[str, object] = {
            "created_at": stamp,
            "updated_at": stamp,
            "source": self.source or UNKNOWN_SOURCE,
            "tags": self.tags,
            "summary": self.summary,
            "expires_at": iso_utc(self.expires_at) if self.expires_at is not None else "",
            "status": self.status,
            "citations": self.citations,
            "evidence": self.evidence,
            "links": self.links,
            "supersedes": self.supersedes,
            "pinned": self.is_pinned,
        }
        return {key: value for key, value in meta.items() if value}


def check_content(content: str) -> str:
    """`content`, if it can be the text of a memory."""
    if not content.strip():
        raise UsageError("the text is empty", hint="say what is to be remembered")
    if "\0" in content:
        raise UsageError("the text holds a NUL byte", hint="store text, not a binary file")
    size = len(content.encode("utf-8", "replace"))
    if size > MAX_CONTENT_BYTES:
        raise UsageError(
            f"the text has {size:,} bytes, more than {MAX_CONTENT_BYTES:,}",
            hint="store what matters of it, with --link to the whole",
        )
    return content


def check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once. Raises UsageError for one that a person could not write."""
    tags = tuple(dict.fromkeys(tag.strip() for tag in tags))
    for tag in tags:
        if not tag or not tag.isprintable() or len(tag) > MAX_TAG_CHARACTERS:
            raise UsageError(
                f"{tag[:40]!r} is no tag",
                hint=f"a word or key:value in one line, at most {MAX_TAG_CHARACTERS} characters",
            )
    return tags


def parse_expiry(text: str, *, now_ms: int) -> int:
    """Epoch milliseconds of a date, a moment, or a time from now on like `30d`, `2w`, `6mo`."""
    lasting, moment = _duration_ms(text), parse_time(text)
    at = now_ms + lasting if lasting is not None else moment
    if at is None:
        raise UsageError(
            f"{text!r} is no time", hint="for example 2026-12-31, 2026-12-31T18:00:00Z or 30d"
        )
    if not 0 <= at < 253_402_300_800_000:  # the year 10,000
        raise UsageError(f"{text!r} is out of range", hint="a time before the year 10,000")
    return at


def parse_age(text: str) -> int:
    """Milliseconds of a duration like `90d`."""
    lasting = _duration_ms(text)
    if lasting is None:
        raise UsageError(f"{text!r} is no length of time", hint="for example 90d, 12h, 6mo")
    return lasting


def _duration_ms(text: str) -> int | None:
    found = _DURATION.fullmatch(text.strip())
    return int(found[1]) * _UNIT_MS[found[2].lower()] if found else None
