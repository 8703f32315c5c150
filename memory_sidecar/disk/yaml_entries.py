"""The top-level entries of a YAML mapping, each with its place in the text.

Takes no scalar for anything but text, unless nobody could mistake it. Anything that is not a
sound, small mapping is one error with a line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from memory_sidecar.core.errors import one_line
from memory_sidecar.disk.yaml_simple import plain_scalar

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Its parser in C is ten times faster than the one in Python."""

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ufffd\U00010000-\U0010ffff]|\ufeff")

MAX_CHARACTERS = 1 << 16
MAX_DEPTH = 50
MAX_VALUES = 10_000  # what an alias stands for counts each time, so that none can explode


class Entry(NamedTuple):
    """One `key: value` at the top level, with the offsets of both in the YAML.

    The places are looked up when asked for, since most pages are read and not edited.
    """

    key: str
    value: object
    key_event: yaml.ScalarEvent
    first_event: yaml.Event  # of the value
    last_event: yaml.Event

    @property
    def line(self) -> int:
        """0-based."""
        return int(self.key_event.start_mark.line)

    @property
    def key_start(self) -> int:
        return int(self.key_event.start_mark.index)

    @property
    def key_end(self) -> int:
        return int(self.key_event.end_mark.index)

    @property
    def value_end(self) -> int:
        return int(self.last_event.end_mark.index)

    @property
    def is_block(self) -> bool:
        """Several lines by indentation: a list of dashes, `|` …"""
        match self.first_event:
            case yaml.ScalarEvent():
                return self.first_event.style in ("|", ">")
            case yaml.CollectionStartEvent():
                return not self.first_event.flow_style
            case _:
                return False


class NoMapping(Exception):
    """It is one piece of text."""


class BrokenYaml(Exception):
    """It cannot be read, or is ambiguous."""

    def __init__(self, why: str, line: int, meta: dict[str, object] | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.line = line  # 0-based, in the YAML
        self.meta = meta  # where all could be read nevertheless


def yaml_entries(source: str) -> list[Entry]:
    """In the order of the text, repeated keys included. Raises NoMapping and BrokenYaml."""
    if len(source) > MAX_CHARACTERS:
        raise BrokenYaml(f"the frontmatter is longer than {MAX_CHARACTERS:,} characters", 0)
    try:
        return _Events(source).entries()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        raise BrokenYaml(one_line(why), mark.line if mark else 0) from error
    except yaml.YAMLError as error:
        forbidden = _FORBIDDEN.search(source)
        line = source.count("\n", 0, forbidden.start()) if forbidden else 0
        raise BrokenYaml("a character that YAML forbids", line) from error
    except ValueError as error:  # half of a surrogate pair
        raise BrokenYaml(one_line(str(error)), 0) from error


class _Events:
    """Reads values from the events of the parser.

    Its own way of building trees ends the process where brackets nest deep enough.
    """

    def __init__(self, source: str) -> None:
        self._next = _Loader(source).get_event
        self._anchors: dict[str, tuple[object, int]] = {}
        self._values = 0

    def entries(self) -> list[Entry]:
        self._next()  # the stream begins
        if isinstance(self._next(), yaml.StreamEndEvent):
            return []
        root = self._next()
        if isinstance(root, yaml.ScalarEvent):
            if not root.value:
                return []
            raise NoMapping
        if not isinstance(root, yaml.MappingStartEvent):
            raise BrokenYaml("a list where `key: value` belongs", root.start_mark.line)
        found = []
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            name = self._key(key)
            start = self._next()
            value, end = self._value(start, 1)
            found.append(Entry(name, value, key, start, end))
        self._next()  # the document ends
        if not isinstance(more := self._next(), yaml.StreamEndEvent):
            raise BrokenYaml("something after the frontmatter's end", more.start_mark.line)
        return found

    def _key(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise BrokenYaml("a key that is no text", event.start_mark.line)
        return str(event.value)

    def _value(self, event: yaml.Event, depth: int) -> tuple[object, yaml.Event]:
        """The value that begins with `event`, and the event that it ends with."""
        if self._values > MAX_VALUES or depth > MAX_DEPTH:
            raise BrokenYaml("nested too deep or too large", event.start_mark.line)
        before = self._values
        self._values += 1
        end = event
        value: object
        match event:
            case yaml.ScalarEvent():
                value = event.value if event.style else plain_scalar(event.value)
            case yaml.AliasEvent():
                value = self._aliased(event)
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
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._values - before)
        return value, end

    def _aliased(self, event: yaml.AliasEvent) -> object:
        if event.anchor not in self._anchors:
            raise BrokenYaml(f"nothing before it is called &{event.anchor}", event.start_mark.line)
        value, size = self._anchors[event.anchor]
        self._values += size
        return value
