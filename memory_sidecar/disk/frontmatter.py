"""Parses and edits Markdown pages with YAML frontmatter.

Parsing tolerates errors, editing keeps every byte that need not change. No library does the latter:
ruamel.yaml moves comments, spacing and line endings. `read_yaml` says how values are interpreted.

    parse_page(text)          the values and the body; an error is a line of text, never raised
    edit_page(text, changes)  the same bytes but for the top-level keys that change
    with_body(text, body)     the same frontmatter over another body
    new_page(meta, body)      a page written as a person would
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from memory_sidecar.core.errors import PageBroken, UsageError
from memory_sidecar.disk.yaml_text import (
    BrokenYaml,
    Node,
    plain_value,
    read_yaml,
    yaml_lines,
    yaml_value,
)

MAX_PAGE_BYTES = 4 << 20  # takes a person days to read, and minutes to embed
MAX_FRONTMATTER_CHARACTERS = 1 << 16
_MAX_VALUES = 10_000
_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r\n?|\n)")
_CLOSING = re.compile(r"[\r\n](---[ \t]*(?:\r\n?|\n|\Z))")
_LINE_BREAK = re.compile(r"\r\n?|\n")
_COMMENT_AT_KEY = re.compile(r"[ \t]+#[^\r\n]*")
UNRESOLVED = "a merge conflict is not resolved"
_CONFLICT = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)
_CONFLICT_LINE = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: [^\r\n]*)?(?:[\r\n]+|\Z)", re.MULTILINE)
_TOP_LEVEL_KEY = re.compile(r"^(?![#\s-]).*?:(?=\s|$)", re.MULTILINE)

_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)

_MARK = "\ufeff"  # the byte order mark
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page. `problem` is "", or one line that says what is wrong in which line of it."""

    meta: Mapping[str, object]  # str, int, bool, None, and lists and dicts of these
    body: str  # everything after the frontmatter, unchanged
    problem: str = ""
    body_line: int = 1  # 1-based line of the page in which `body` begins


def parse_page(text: str) -> Page:
    """Parse a page. Never raises: if the frontmatter is no YAML, keys that can be read are kept."""
    parts, meta, problem = _parse(text)
    body_line = 1 + line_breaks(parts.head)
    return Page(meta, parts.body, problem or _conflict_in(parts.body, body_line), body_line)


def edit_page(text: str, changes: Mapping[str, object | None]) -> str:
    """Return `text` with the keys of `changes` set in its frontmatter, or removed if None.

    Every other byte stays: order, comments, spacing, line endings, the body. Raises PageBroken
    if the frontmatter has a problem, since a guess could lose what a person wrote; UsageError
    if it would become too long to be read again.
    """
    parts, meta, problem = _parse(text)
    if problem:
        raise PageBroken(f"the frontmatter is broken: {problem}", hint="fix it by hand")
    changes = {key: plain_value(value) for key, value in changes.items()}
    kept = {key: value for key, value in meta.items() if changes.get(key, "") is not None}
    wanted = kept | {key: value for key, value in changes.items() if value is not None}
    changed = {k: v for k, v in changes.items() if meta.get(k, _ABSENT) != wanted.get(k, _ABSENT)}
    if not changed:
        return text
    newline = _newline_of(text)
    if not parts.has_frontmatter:
        mark = text[: len(text) - len(parts.body)]
        return mark + newline.join(["---", *_lines(wanted), "---", parts.body])
    source = _splice(parts.yaml, changed, newline)
    edited = parts.opening + source + parts.closing + parts.body
    if _parse(edited)[1:] != (wanted, ""):
        # An anchor that other values need, or a mapping in braces: rewrite the whole frontmatter.
        source = "".join(line + newline for line in _lines(wanted))
        edited = parts.opening + source + parts.closing + parts.body
    return edited


def with_body(text: str, body: str) -> str:
    """Return `text` with another `body`, in the line endings of `text`.

    Blank lines before the body stay.
    """
    parts, _, _ = _parse(text)
    blank = parts.body[: len(parts.body) - len(parts.body.lstrip("\r\n"))]
    head = text[: len(text) - len(parts.body)]
    return head + blank + _LINE_BREAK.sub(_newline_of(text), body)


def new_page(meta: Mapping[str, object], body: str) -> str:
    """Return the text of a page with this frontmatter and body.

    Raises TypeError for a value that YAML here cannot hold, UsageError for too long a frontmatter.
    """
    return "\n".join(["---", *_lines(meta), "---", body])


def _lines(meta: Mapping[str, object]) -> list[str]:
    lines = list(yaml_lines(meta))
    if sum(map(len, lines)) + 2 * len(lines) > MAX_FRONTMATTER_CHARACTERS:
        raise UsageError(
            f"the frontmatter would be longer than {MAX_FRONTMATTER_CHARACTERS:,} characters",
            hint="what is long belongs in the text",
        )
    return lines


def line_breaks(text: str) -> int:
    """Count the line breaks in `text`: LF, CRLF and CR."""
    return len(_LINE_BREAK.findall(text)) if "\r" in text else text.count("\n")


# Reading


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a page around its frontmatter; concatenated, they are the page."""

    opening: str  # byte order mark, `---` and line break; "" without a frontmatter
    yaml: str
    closing: str
    body: str

    @property
    def has_frontmatter(self) -> bool:
        return bool(self.opening)

    @property
    def head(self) -> str:
        return self.opening + self.yaml + self.closing


def _parse(text: str) -> tuple[_Parts, dict[str, object], str]:
    """Return the parts of the page, the values of its frontmatter, and its problem or ""."""
    body_alone = _Parts("", "", "", text.removeprefix(_MARK))
    opening = _OPENING.match(text)
    if opening is None:
        return body_alone, {}, ""
    start = opening.end()
    closing = _CLOSING.search(text, start - 1)  # it may follow the opening at once
    if closing is None:
        # Without a closing line, `---` may be a thematic break at the top of a page.
        looks_like_keys = _TOP_LEVEL_KEY.match(text, start) is not None
        return body_alone, {}, "line 1: nothing ends the frontmatter" if looks_like_keys else ""
    end = closing.start(1)
    parts = _Parts(text[:start], text[start:end], closing[1], text[closing.end() :])
    if conflict := _conflict_in(parts.yaml, 2):
        # YAML would take a marker for part of the value above it. The lower of two versions counts.
        return parts, _readable_keys(_CONFLICT_LINE.sub("", parts.yaml)), conflict
    try:
        root = _parse_yaml(parts.yaml)
    except BrokenYaml as broken:
        return parts, _readable_keys(parts.yaml), f"line {broken.line + 1}: {broken.why}"
    if root is None or isinstance(root.value, dict | list):
        return parts, *_mapping_of(root)
    return body_alone, {}, ""  # a paragraph between two thematic breaks


def _newline_of(text: str) -> str:
    found = _LINE_BREAK.search(text)
    return found.group() if found else "\n"


def _conflict_in(text: str, first_line: int) -> str:
    line = conflict_line(text)
    return f"line {line + first_line - 1}: {UNRESOLVED}" if line else ""


def conflict_line(text: str) -> int:
    """Return the line of git's first conflict marker outside of fenced blocks; 0 for none."""
    if "<<<<<<< " not in text and ">>>>>>> " not in text:
        return 0
    fences = counted = 0
    for found in _CONFLICT.finditer(text):
        at = found.start()
        fences += len(_FENCE.findall(text, counted, at))
        counted = at
        if fences % 2 == 0:
            return 1 + text.count("\n", 0, at)
    return 0


def _parse_yaml(source: str) -> Node | None:
    if len(source) > MAX_FRONTMATTER_CHARACTERS:
        why = f"the frontmatter is longer than {MAX_FRONTMATTER_CHARACTERS:,} characters"
        raise BrokenYaml(why, 1)
    return read_yaml(source, max_values=_MAX_VALUES)


def _mapping_of(root: Node | None) -> tuple[dict[str, object], str]:
    """Return the mapping that `root` is, and the problem if it is none or repeats a key."""
    if root is None:
        return {}, ""
    if not isinstance(root.value, dict):
        return {}, f"line {root.first_line + 1}: a list where `key: value` belongs"
    seen: set[object] = set()
    for key in root.keys:
        if key.value in seen:
            return root.value, f"line {key.first_line + 1}: the key {key.value!r} is there twice"
        seen.add(key.value)
    return root.value, ""


def _readable_keys(source: str) -> dict[str, object]:
    """Return the entries of a broken frontmatter that are valid on their own."""
    starts = [found.start() for found in _TOP_LEVEL_KEY.finditer(source)]
    found: dict[str, object] = {}
    for start, end in pairwise([*starts, len(source)]):
        with suppress(BrokenYaml):
            found |= _mapping_of(_parse_yaml(source[start:end]))[0]
    return found


# Editing


def _splice(source: str, changes: Mapping[str, object | None], newline: str) -> str:
    root = read_yaml(source)
    entries = list(zip(root.keys, root.items, strict=True)) if root is not None else []
    for key, value in reversed(entries):
        if key.value in changes:
            start, end, replacement = _edit(source, key, value, changes[key.text])
            source = source[:start] + replacement + source[end:]
    known = {key.value for key, _ in entries}
    added = {k: v for k, v in changes.items() if k not in known and v is not None}
    return source + "".join(line + newline for line in yaml_lines(added))


def _edit(source: str, key: Node, value: Node, replacement: object | None) -> tuple[int, int, str]:
    """Return the span of `source` to replace, its start and end, and the new text."""
    key_start, key_end = key.offsets
    colon_end = source.index(":", key_end) + 1
    old = source[colon_end : max(colon_end, value.offsets[1])]
    comment = ""
    if value.is_block:
        # A block ends where the next key begins; comments and blank lines before that are kept.
        old = _without_last_lines(old)
        found = _COMMENT_AT_KEY.match(old)
        comment = found.group() if found else ""
    end = colon_end + len(old)
    if replacement is None:
        line_end = _LINE_BREAK.search(source, end)
        return key_start, line_end.end() if line_end else len(source), ""
    return colon_end, end, f" {yaml_value(replacement)}{comment}"


def _without_last_lines(block: str) -> str:
    """Return `block` without the comments and blank lines at its end, in linear time."""
    end = len(block)
    for found in reversed(list(_LINE_BREAK.finditer(block))):
        line = block[found.end() : end]
        if line.strip(" \t") and not line.startswith("#"):
            break
        end = found.start()
    return block[:end]
