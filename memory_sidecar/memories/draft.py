"""The content and properties that a caller gives a new or changed memory, checked first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from memory_sidecar.core.errors import UsageError
from memory_sidecar.disk.frontmatter import parse_page
from memory_sidecar.memories.files import plain_tag
from memory_sidecar.memories.names import check_category

MAX_CONTENT_BYTES = 1 << 20  # no reader takes more in
MAX_TAG_CHARACTERS = 200
PROPERTIES = ("source", "summary", "status", "pinned", "project")
"""The fields of `Changes` that become keys of a frontmatter unconverted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of one memory: `None` keeps a property, "" removes it, lists are added to.

    Raises UsageError for an invalid value, and if nothing is to change.
    """

    content: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()  # plain, or `key:value`
    remove_tags: tuple[str, ...] = ()  # `key:` removes every tag of that key
    summary: str | None = None
    expires_at: int | None = None  # epoch milliseconds
    never_expires: bool = False
    status: str | None = None
    citations: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # memories of the same directory, as `read` finds them
    pinned: bool | None = None
    project: str | None = None

    def __post_init__(self) -> None:
        if self.content is not None:
            _check_content(self.content)
        object.__setattr__(self, "tags", _check_tags(self.tags))
        object.__setattr__(self, "remove_tags", tuple(map(plain_tag, self.remove_tags)))
        if self.project:
            _check_project(self.project)
        if all(getattr(self, field.name) == field.default for field in fields(self)):
            raise UsageError("nothing to change", hint="name what to change")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(Changes):
    """A memory to be stored. A property that is "" or false is not written."""

    content: str
    category: str = ""
    said_at: int | None = None  # epoch milliseconds, if not now: the `updated_at` of a new memory

    def __post_init__(self) -> None:
        Changes.__post_init__(self)
        object.__setattr__(self, "category", check_category(self.category))
        for name in PROPERTIES:
            object.__setattr__(self, name, getattr(self, name) or None)


def _check_content(content: str) -> None:
    if not content.strip():
        raise UsageError("the text is empty", hint="give the text to remember")
    if "\0" in content:
        raise UsageError("the text holds a NUL byte", hint="store text, not a binary file")
    size = len(content.encode("utf-8", "replace"))
    if size > MAX_CONTENT_BYTES:
        raise UsageError(
            f"the text has {size:,} bytes, more than {MAX_CONTENT_BYTES:,}",
            hint="store the essence, with a link to the whole",
        )


def without_own_frontmatter(content: str, page: str) -> str:
    """Return `content`; only its body, if it is the whole `page` edited, as a Conflict holds it.

    Raises UsageError for a text with another frontmatter of this memory.
    """
    given, own = parse_page(content), parse_page(page)
    made = given.meta.get("created_at")
    if made is None or made != own.meta.get("created_at"):
        return content
    if {**given.meta, "updated_at": ""} != {**own.meta, "updated_at": ""}:
        problem = "the text begins with the memory's frontmatter, in which something is changed"
        raise UsageError(problem, hint="give the text below it, and other changes as options")
    return Changes(content=given.body).content or ""


def is_project(name: str) -> bool:
    """Whether `name` can be the project of a memory."""
    return name.isprintable() and len(name) <= MAX_TAG_CHARACTERS


def _check_project(project: str) -> None:
    if not is_project(project):
        raise UsageError(
            f"{project[:40]!r} cannot be the name of a project",
            hint=f"the name of a source, in one line of at most {MAX_TAG_CHARACTERS} characters",
        )


def _check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Make the tags plain, and drop repeated ones. Raises UsageError for an invalid tag."""
    tags = tuple(dict.fromkeys(plain_tag(tag.strip()) for tag in tags))
    for tag in tags:
        word = tag.partition(":")[0].strip()
        if not word or not tag.isprintable() or len(tag) > MAX_TAG_CHARACTERS:
            raise UsageError(
                f"{tag[:40]!r} is not a tag",
                hint=f"a word or key:value in one line, at most {MAX_TAG_CHARACTERS} characters",
            )
    return tags
