"""A Markdown page with YAML frontmatter: read forgivingly, edited without touching the rest.

    parse_page(text)          what it says; what is wrong with it is a line of text, not an error
    edit_page(text, changes)  the same bytes but for the top-level keys that change
    new_page(meta, body)      written as a person would

Of the values, `true`, `false`, `null` and whole numbers are what they look like; everything else
is text as it stands, so that a date stays `2026-03-09`, a version `1.10` and a tag `yes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import yaml

from memory_sidecar.errors import PageBroken, one_line
from memory_sidecar.sources.yaml_text import plain_value, yaml_lines, yaml_value

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Its parser in C is ten times faster than the one in Python."""

_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r\n?|\n)")
_CLOSING = re.compile(r"(?:(?<=\n)|(?<=\r))---[ \t]*(?:\r\n?|\n|\Z)")
_LINE_BREAK = re.compile(r"\r\n?|\n")
_BEFORE_NEXT_KEY = re.compile(r"(?:(?:\r\n?|\n)(?:#[^\r\n]*|[ \t]*))*\Z")
_COMMENT_AT_KEY = re.compile(r"[ \t]+#[^\r\n]*")
_CONFLICT = re.compile(r"^(?:<{7} |>{7} )", re.MULTILINE)
_TOP_LEVEL_KEY = re.compile(r"^(?![#\s-]).*?:(?=\s|$)", re.MULTILINE)
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ufffd\U00010000-\U0010ffff]|\ufeff")
_WHOLE_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}

_ABSENT = object()
MAX_CHARACTERS = 1 << 16
MAX_DEPTH = 50
MAX_VALUES = 10_000  # what an alias stands for counts each time, so that none can explode


@dataclass(frozen=True, slots=True)
class Page:
    """A page as read. `problem` is "" or says in one line what is wrong, and in which line."""

    meta: Mapping[str, object]  # str, int, bool, None, and lists and dicts of these
    body: str  # everything after the frontmatter, as it stands
    problem: str = ""
    body_line: int = 1  # 1-based line of the page in which `body` begins


def parse_page(text: str) -> Page:
    """Never raises. Of a frontmatter that is no YAML, the keys that can be read are kept."""
    parts = _split(text)
    if parts.problem or not parts.has_frontmatter:
        return Page({}, parts.body, parts.problem or _conflict_in(text))
    problem = _conflict_in(text)
    meta: dict[str, object] = {}
    try:
        meta = _mapping(parts.yaml)
    except _NoFrontmatter:  # a paragraph between two rules
        return Page({}, _without_mark(text), problem)
    except _Broken as broken:
        problem = problem or f"line {broken.line + 2}: {broken.why}"
        meta = broken.meta or _readable_keys(parts.yaml)
    return Page(meta, parts.body, problem, 1 + len(_LINE_BREAK.findall(parts.head)))


def edit_page(text: str, changes: Mapping[str, object | None]) -> str:
    """`text` with the keys of `changes` replaced or added, and removed where the value is None.

    Every other byte stays: order, comments, spacing, line endings, the body. Raises PageBroken
    where `parse_page` finds a problem, since a guess could lose what someone wrote.
    """
    before = parse_page(text)
    if before.problem:
        raise PageBroken(f"the frontmatter is broken: {before.problem}", hint="mend it by hand")
    changes = {key: plain_value(value) for key, value in changes.items()}
    kept = {key: value for key, value in before.meta.items() if changes.get(key, "") is not None}
    wanted = kept | {key: value for key, value in changes.items() if value is not None}
    changed = {
        k: v for k, v in changes.items() if before.meta.get(k, _ABSENT) != wanted.get(k, _ABSENT)
    }
    if not changed:
        return text
    parts = _split(text)
    if not parts.has_frontmatter or not before.body_line > 1:
        mark = text[: len(text) - len(_without_mark(text))]
        newline = _newline_of(text)
        return mark + newline.join(["---", *yaml_lines(wanted), "---", _without_mark(text)])
    edited = _spliced(parts, changed)
    after = parse_page(edited)
    if (after.problem, after.meta, after.body) != ("", wanted, before.body):
        # An anchor that others need, or a mapping in braces: write the whole frontmatter anew.
        newline = _newline_of(text)
        whole = "".join(line + newline for line in yaml_lines(wanted))
        edited = parts.opening + whole + parts.closing + parts.body
    return edited


def new_page(meta: Mapping[str, object], body: str) -> str:
    """A page that `parse_page` reads back. Raises TypeError for a value that no `Page` has."""
    return "\n".join(["---", *yaml_lines(meta), "---", body])


# Reading


class _NoFrontmatter(Exception):
    pass


class _Broken(Exception):
    def __init__(self, why: str, line: int, meta: dict[str, object] | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.line = line  # 0-based, in the YAML
        self.meta = meta  # where all could be read nevertheless


@dataclass(frozen=True, slots=True)
class _Parts:
    """A page cut where its frontmatter begins and ends; joined, they are the page."""

    opening: str  # byte order mark, `---` and line break; "" without a frontmatter
    yaml: str
    closing: str
    body: str
    problem: str = ""

    @property
    def has_frontmatter(self) -> bool:
        return bool(self.opening)

    @property
    def head(self) -> str:
        return self.opening + self.yaml + self.closing


def _split(text: str) -> _Parts:
    opening = _OPENING.match(text)
    if opening is None:
        return _Parts("", "", "", _without_mark(text))
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        rest = text[opening.end() :]
        # Without an end it may be a rule that the text begins with.
        looks_like_keys = _TOP_LEVEL_KEY.match(rest) is not None
        problem = "line 1: the frontmatter has no closing ---" if looks_like_keys else ""
        return _Parts("", "", "", _without_mark(text), problem)
    return _Parts(
        text[: opening.end()],
        text[opening.end() : closing.start()],
        closing.group(),
        text[closing.end() :],
    )


def _without_mark(text: str) -> str:
    return text.removeprefix("\ufeff")


def _newline_of(text: str) -> str:
    found = _LINE_BREAK.search(text)
    return found.group() if found else "\n"


def _conflict_in(text: str) -> str:
    if "<<<<<<< " not in text and ">>>>>>> " not in text:
        return ""
    found = _CONFLICT.search(text)
    if found is None:
        return ""
    return f"line {text.count(chr(10), 0, found.start()) + 1}: a merge conflict is not resolved"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One `key: value` at the top level, with the offsets of both in the YAML."""

    key: str
    value: object
    line: int  # 0-based
    key_start: int
    key_end: int
    value_end: int
    is_block: bool  # several lines by indentation: a list of dashes, `|` …


def _mapping(source: str) -> dict[str, object]:
    entries = _entries(source)
    meta = {entry.key: entry.value for entry in entries}
    if len(meta) < len(entries):
        seen: set[str] = set()
        repeated = next(e for e in entries if e.key in seen or seen.add(e.key))  # type: ignore[func-returns-value]
        raise _Broken(f"the key {repeated.key!r} is there twice", repeated.line, meta)
    return meta


def _entries(source: str) -> list[_Entry]:
    if len(source) > MAX_CHARACTERS:
        raise _Broken(f"the frontmatter is longer than {MAX_CHARACTERS:,} characters", 0)
    try:
        return _Events(source).entries()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        raise _Broken(one_line(why), mark.line if mark else 0) from error
    except yaml.YAMLError as error:
        forbidden = _FORBIDDEN.search(source)
        line = source.count("\n", 0, forbidden.start()) if forbidden else 0
        raise _Broken("a character that YAML forbids", line) from error
    except ValueError as error:  # half of a surrogate pair
        raise _Broken(one_line(str(error)), 0) from error


class _Events:
    """Reads values from the events of the parser.

    Its own way of building trees ends the process where brackets nest deep enough.
    """

    def __init__(self, source: str) -> None:
        self._next = _Loader(source).get_event
        self._anchors: dict[str, tuple[object, int]] = {}
        self._values = 0

    def entries(self) -> list[_Entry]:
        self._next()  # the stream begins
        if isinstance(self._next(), yaml.StreamEndEvent):
            return []
        root = self._next()
        if isinstance(root, yaml.ScalarEvent):
            if not root.value:
                return []
            raise _NoFrontmatter
        if not isinstance(root, yaml.MappingStartEvent):
            raise _Broken("a list where `key: value` belongs", root.start_mark.line)
        found = []
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            name = self._key(key)
            start = self._next()
            value, end = self._value(start, 1)
            found.append(
                _Entry(
                    name,
                    value,
                    line=key.start_mark.line,
                    key_start=key.start_mark.index,
                    key_end=key.end_mark.index,
                    value_end=end.end_mark.index,
                    is_block=_is_block(start),
                )
            )
        self._next()  # the document ends
        if not isinstance(more := self._next(), yaml.StreamEndEvent):
            raise _Broken("something after the frontmatter's end", more.start_mark.line)
        return found

    def _key(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise _Broken("a key that is no text", event.start_mark.line)
        return str(event.value)

    def _value(self, event: yaml.Event, depth: int) -> tuple[object, yaml.Event]:
        """The value that begins with `event`, and the event that it ends with."""
        before = self._values
        self._values += 1
        end = event
        value: object
        match event:
            case yaml.AliasEvent():
                value = self._aliased(event)
            case yaml.ScalarEvent():
                value = event.value if event.style else _scalar(event.value)
            case yaml.SequenceStartEvent():
                items: list[object] = []
                while not isinstance(end := self._next(), yaml.SequenceEndEvent):
                    items.append(self._value(end, depth + 1)[0])
                value = items
            case _:
                pairs: dict[str, object] = {}
                while not isinstance(end := self._next(), yaml.MappingEndEvent):
                    key = self._key(end)
                    pairs[key] = self._value(self._next(), depth + 1)[0]
                value = pairs
        if self._values > MAX_VALUES or depth > MAX_DEPTH:
            raise _Broken("nested too deep or too large", event.start_mark.line)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._values - before)
        return value, end

    def _aliased(self, event: yaml.AliasEvent) -> object:
        if event.anchor not in self._anchors:
            raise _Broken(f"nothing before it is called &{event.anchor}", event.start_mark.line)
        value, size = self._anchors[event.anchor]
        self._values += size
        return value


def _is_block(event: yaml.Event) -> bool:
    match event:
        case yaml.ScalarEvent():
            return event.style in ("|", ">")
        case yaml.CollectionStartEvent():
            return not event.flow_style
        case _:
            return False


def _scalar(text: str) -> object:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def _readable_keys(source: str) -> dict[str, object]:
    """The entries of a broken frontmatter that are sound each on its own."""
    starts = [found.start() for found in _TOP_LEVEL_KEY.finditer(source)]
    found: dict[str, object] = {}
    for start, end in pairwise([*starts, len(source)]):
        try:
            found |= _mapping(source[start:end])
        except (_Broken, _NoFrontmatter):
            continue
    return found


# Editing


def _spliced(parts: _Parts, changes: Mapping[str, object | None]) -> str:
    source = parts.yaml
    newline = _newline_of(parts.opening)
    entries = _entries(source)
    for entry in reversed(entries):
        if entry.key in changes:
            start, end, replacement = _edit(source, entry, changes[entry.key])
            source = source[:start] + replacement + source[end:]
    known = {entry.key for entry in entries}
    added = {k: v for k, v in changes.items() if k not in known and v is not None}
    source += "".join(line + newline for line in yaml_lines(added))
    return parts.opening + source + parts.closing + parts.body


def _edit(source: str, entry: _Entry, replacement: object | None) -> tuple[int, int, str]:
    """The span of `source` to replace, and by what."""
    colon_end = source.index(":", entry.key_end) + 1
    old = source[colon_end : max(colon_end, entry.value_end)]
    comment = ""
    if entry.is_block:
        # It ends where the next key begins: what stands in between belongs to that.
        old = _BEFORE_NEXT_KEY.sub("", old)
        found = _COMMENT_AT_KEY.match(old)
        comment = found.group() if found else ""
    end = colon_end + len(old)
    if replacement is None:
        line_end = _LINE_BREAK.search(source, end)
        return entry.key_start, line_end.end() if line_end else len(source), ""
    return colon_end, end, f" {yaml_value(replacement)}{comment}"
