"""YAML, read and written in one way: values that know their place in the text.

Reads the events of libyaml's parser, since its own way of building trees ends the process where
brackets nest deep enough. Takes no scalar for anything but text, unless nothing else could be
meant. Anything but one small, sound document is an error with a line. Writes what a person would:
one line each, quotes only where they are needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import yaml

from memory_sidecar.core.errors import one_line

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Its parser in C is ten times faster than the one in Python."""

MAX_DEPTH = 50
MAX_VALUES = 100_000  # what an alias stands for counts each time, so that none can explode

_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_WHOLE_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ufffd\U00010000-\U0010ffff]|\ufeff")


class BrokenYaml(Exception):
    """The text cannot be read, or is ambiguous: `why` in one line, and the 1-based `line`."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class Node(NamedTuple):
    """A value with its place, without comments around it.

    Places are looked up when asked for, since most texts are read and not edited. An alias has the
    value of its anchor and a place of its own.
    """

    value: object  # str, int, bool, None, and lists and dicts of these; of equal keys the last
    start: yaml.Event
    end: yaml.Event
    keys: Sequence[Node] = ()  # of a mapping, in the order of the text, repeated ones included
    items: Sequence[Node] = ()  # of a list, or the values of a mapping, one for each key

    @property
    def text(self) -> str:
        """A scalar as written, without quotes; "" for null, a list and a mapping."""
        if self.value is None or isinstance(self.value, list | dict):
            return ""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)

    def entries(self) -> dict[str, Node]:
        """The values of a mapping by their keys; of equal keys the last."""
        return {key.text: item for key, item in zip(self.keys, self.items, strict=True)}

    @property
    def offsets(self) -> tuple[int, int]:
        """Of its first character, and after its last; a block ends where the next thing begins."""
        return self.start.start_mark.index, self.end.end_mark.index

    @property
    def is_flow(self) -> bool:
        """In brackets or braces."""
        return isinstance(self.start, yaml.CollectionStartEvent) and bool(self.start.flow_style)

    @property
    def is_block(self) -> bool:
        """Several lines by indentation: a list of dashes, `|` …"""
        if isinstance(self.start, yaml.ScalarEvent):
            return self.start.style in ("|", ">")
        return isinstance(self.start, yaml.CollectionStartEvent) and not self.is_flow

    @property
    def first_line(self) -> int:
        """1-based."""
        return _line(self.start)

    @property
    def last_line(self) -> int:
        """1-based, inclusive."""
        last = int(self.end.end_mark.line) + 1
        if not self.is_block:
            return last
        if isinstance(self.start, yaml.ScalarEvent):
            return max(last - 1, self.first_line)  # it ends where the next line begins
        inner = (node.last_line for node in (*self.keys, *self.items))
        return max(inner, default=self.first_line)


def read_yaml(text: str, *, max_values: int = MAX_VALUES) -> Node | None:
    """The document `text`; `None` for an empty one. Raises BrokenYaml.

    Without quotes, `true`, `false`, `null` and whole numbers are what they look like; everything
    else is text: a date stays `2026-03-09`, a version `1.10`, a `yes` a word. Prose is one scalar;
    nothing after that is looked at.
    """
    try:
        return _Events(text, max_values).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        raise BrokenYaml(one_line(why), mark.line + 1 if mark else 1) from error
    except yaml.YAMLError as error:
        forbidden = _FORBIDDEN.search(text)
        line = text.count("\n", 0, forbidden.start()) + 1 if forbidden else 1
        raise BrokenYaml("a character that YAML forbids", line) from error
    except ValueError as error:  # half of a surrogate pair
        raise BrokenYaml(one_line(str(error)), 1) from error


class _Events:
    def __init__(self, text: str, max_values: int) -> None:
        self._next = _Loader(text).get_event
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._left = max_values

    def document(self) -> Node | None:
        self._next()  # the stream begins
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        root = self._node(self._next(), 0)
        if isinstance(root.start, yaml.ScalarEvent):
            return root  # prose, whose further lines may be no YAML
        self._next()  # the document ends
        if not isinstance(more := self._next(), yaml.StreamEndEvent):
            raise BrokenYaml("a second document", _line(more))
        return root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        """The value that begins with `event`."""
        if self._left < 0 or depth > MAX_DEPTH:
            raise BrokenYaml("nested too deep or too large", _line(event))
        before = self._left
        self._left -= 1
        match event:
            case yaml.ScalarEvent():
                value = event.value if event.style else _plain(event.value)
                node = Node(value, event, event)
            case yaml.AliasEvent():
                node = self._aliased(event)
            case yaml.SequenceStartEvent():
                items = []
                while not isinstance(end := self._next(), yaml.SequenceEndEvent):
                    items.append(self._node(end, depth + 1))
                node = Node([item.value for item in items], event, end, (), items)
            case _:
                node = self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node, before - self._left
        return node

    def _mapping(self, start: yaml.Event, depth: int) -> Node:
        keys, items = [], []
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise BrokenYaml("a key that is no text", _line(key))
            keys.append(Node(str(key.value), key, key))
            items.append(self._node(self._next(), depth + 1))
        value = {str(key.value): item.value for key, item in zip(keys, items, strict=True)}
        return Node(value, start, key, keys, items)

    def _aliased(self, event: yaml.AliasEvent) -> Node:
        if event.anchor not in self._anchors:
            raise BrokenYaml(f"nothing before it is called &{event.anchor}", _line(event))
        node, size = self._anchors[event.anchor]
        self._left -= size
        return node._replace(start=event, end=event)


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1


def _plain(text: str) -> object:
    """A scalar without quotes."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    # Looked at first, since nearly all are words.
    is_number = text[-1] in "0123456789" and _WHOLE_NUMBER.fullmatch(text)
    return int(text) if is_number else text


def yaml_lines(meta: Mapping[str, object]) -> Iterator[str]:
    """`key: value` for each entry, without line breaks."""
    for key, value in meta.items():
        yield f"{_text(key)}: {yaml_value(value)}"


def yaml_value(value: object, *, inside: bool = False) -> str:
    """`value` in one line, lists in brackets; `inside` of such, a comma needs quotes.

    Raises TypeError for what is no text, number, truth value, list or mapping.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int():
            return str(value)
        case str():
            return _text(value, inside=inside)
        case Mapping():
            pairs = (
                f"{_text(str(key), inside=True)}: {yaml_value(inner, inside=True)}"
                for key, inner in value.items()
            )
            return "{" + ", ".join(pairs) + "}"
        case Sequence():
            return "[" + ", ".join(yaml_value(item, inside=True) for item in value) + "]"
        case _:
            raise TypeError(f"{value!r} cannot be written into a frontmatter")


def plain_value(value: object) -> object:
    """`value` as it is read back: lists for tuples, dicts for mappings."""
    match value:
        case str():
            return value
        case Mapping():
            return {str(key): plain_value(inner) for key, inner in value.items()}
        case Sequence():
            return [plain_value(item) for item in value]
        case _:
            return value


_WRITTEN_OUT = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(
    r"""[-?:,\[\]{}#&*!|>'"%@`\s] | .*(?: :\s | \s\# | :$ | \s$ )""", re.VERBOSE
)
_NEEDS_QUOTES_INSIDE = re.compile(r".*[,\[\]{}]")

# Text that a reader of YAML, of this version or an older one, takes for something else. Dates are
# left out on purpose: everybody writes them plainly, and they mean the same either way.
_OTHER_THAN_TEXT = re.compile(
    r"""(?ix) ~ | null | true | false | yes | no | on | off | y | n | = | << | \.{3}.*
      | [-+]? \.? [0-9] [0-9_,.]* (?: e [-+]? [0-9]+ )?
      | [-+]? [0-9] [0-9_]* (?: : [0-5]? [0-9] )+ (?: \. [0-9]* )?
      | [-+]? 0 [xob] [0-9a-f_]+
      | [-+]? \.inf | \.nan """
)


def _text(text: str, *, inside: bool = False) -> str:
    """Plain where every reader takes it for this text, else in double quotes."""
    is_plain = (
        text.isprintable()
        and text
        and not _NEEDS_QUOTES.match(text)
        and not (inside and _NEEDS_QUOTES_INSIDE.match(text))
        and not _OTHER_THAN_TEXT.fullmatch(text)
    )
    if is_plain:
        return text
    quoted = json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False)
    return _WRITTEN_OUT.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)
