"""Reads YAML into values that know their position in the text, and writes values as YAML.

Reads the events of libyaml's parser, because its building of trees crashes the process if brackets
nest deep enough. A scalar is text unless it can only be something else. Everything but one
small, valid document is an error with a line. Writes as a person would: one line for each key,
with quotes only where they are needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import yaml

from memory_sidecar.core.errors import one_line

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The parser of libyaml, ten times as fast as the one in Python, if PyYAML was built with it."""

MAX_DEPTH = 50
MAX_VALUES = 100_000  # those of an anchor count again for each alias, so that none can explode

_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_WHOLE_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ufffd\U00010000-\U0010ffff]|\ufeff")


class BrokenYaml(Exception):
    """The text is invalid or ambiguous: `why` in one line, at the 1-based `line`."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class Node(NamedTuple):
    """A value with its position in the text, without the comments around it.

    Positions are computed on demand, since most texts are read and never edited. An alias has the
    value of its anchor and its own position.
    """

    value: object  # str, int, bool, None, and lists and dicts of these; the last of equal keys
    start: yaml.Event
    end: yaml.Event
    keys: Sequence[Node] = ()  # of a mapping, in the order of the text, including repeated ones
    items: Sequence[Node] = ()  # of a list, or the values of a mapping, one for each key

    @property
    def text(self) -> str:
        """The scalar as text, without quotes; "" for null, a list or a mapping."""
        if self.value is None or isinstance(self.value, list | dict):
            return ""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)

    def entries(self) -> dict[str, Node]:
        """Return the values of a mapping by key; the last of equal keys."""
        return {key.text: item for key, item in zip(self.keys, self.items, strict=True)}

    @property
    def offsets(self) -> tuple[int, int]:
        """Where it begins and ends, in characters; a block ends where the next node begins."""
        return self.start.start_mark.index, self.end.end_mark.index

    @property
    def is_flow(self) -> bool:
        """Whether the value is written in brackets or braces."""
        return isinstance(self.start, yaml.CollectionStartEvent) and bool(self.start.flow_style)

    @property
    def is_block(self) -> bool:
        """Whether the value spans lines by indentation: a list of dashes, a `|` scalar."""
        if isinstance(self.start, yaml.ScalarEvent):
            return self.start.style in ("|", ">")
        return isinstance(self.start, yaml.CollectionStartEvent) and not self.is_flow

    @property
    def first_line(self) -> int:
        """The 1-based line in which the value begins."""
        return _line(self.start)

    @property
    def last_line(self) -> int:
        """The 1-based last line of the value, inclusive."""
        last = int(self.end.end_mark.line) + 1
        if not self.is_block:
            return last
        if isinstance(self.start, yaml.ScalarEvent):
            return max(last - 1, self.first_line)  # it ends where the next line begins
        inner = (node.last_line for node in (*self.keys, *self.items))
        return max(inner, default=self.first_line)


def read_yaml(text: str, *, max_values: int = MAX_VALUES) -> Node | None:
    """Parse the document `text`; `None` if it is empty. Raises BrokenYaml.

    Unquoted `true`, `false`, `null` and integers have their types; all else is text, so that a date
    stays `2026-03-09`, a version `1.10`, and `yes` a word. Prose is read as one scalar, and the
    text after it is ignored.
    """
    try:
        return _NodeReader(text, max_values).read_document()
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


class _NodeReader:
    """The parser's events of one document, read into nodes."""

    def __init__(self, text: str, max_values: int) -> None:
        self._next_event = _Loader(text).get_event
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._values_left = max_values

    def read_document(self) -> Node | None:
        self._next_event()  # the stream begins
        if isinstance(self._next_event(), yaml.StreamEndEvent):
            return None
        root = self._read_node(self._next_event(), 0)
        if isinstance(root.start, yaml.ScalarEvent):
            return root  # prose, whose next lines may be invalid YAML
        self._next_event()  # the document ends
        if not isinstance(more := self._next_event(), yaml.StreamEndEvent):
            raise BrokenYaml("a second document", _line(more))
        return root

    def _read_node(self, event: yaml.Event, depth: int) -> Node:
        """Read the value that begins with `event`."""
        if self._values_left < 0 or depth > MAX_DEPTH:
            raise BrokenYaml("nested too deep or too large", _line(event))
        before = self._values_left
        self._values_left -= 1
        match event:
            case yaml.ScalarEvent():
                value = event.value if event.style else _plain_scalar(event.value)
                node = Node(value, event, event)
            case yaml.AliasEvent():
                node = self._read_alias(event)
            case yaml.SequenceStartEvent():
                items = []
                while not isinstance(end := self._next_event(), yaml.SequenceEndEvent):
                    items.append(self._read_node(end, depth + 1))
                node = Node([item.value for item in items], event, end, (), items)
            case _:
                node = self._read_mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node, before - self._values_left
        return node

    def _read_mapping(self, start: yaml.Event, depth: int) -> Node:
        keys, items = [], []
        while not isinstance(key := self._next_event(), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise BrokenYaml("a key that is no text", _line(key))
            keys.append(Node(str(key.value), key, key))
            items.append(self._read_node(self._next_event(), depth + 1))
        value = {str(key.value): item.value for key, item in zip(keys, items, strict=True)}
        return Node(value, start, key, keys, items)

    def _read_alias(self, event: yaml.AliasEvent) -> Node:
        if event.anchor not in self._anchors:
            raise BrokenYaml(f"nothing before it is called &{event.anchor}", _line(event))
        node, size = self._anchors[event.anchor]
        self._values_left -= size
        return node._replace(start=event, end=event)


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1


def _plain_scalar(text: str) -> object:
    """Return the value of an unquoted scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    # The last character first: nearly all scalars are words, and this is faster.
    is_number = text[-1] in "0123456789" and _WHOLE_NUMBER.fullmatch(text)
    return int(text) if is_number else text


def yaml_lines(meta: Mapping[str, object]) -> Iterator[str]:
    """Yield `key: value` for each entry, without a line break."""
    for key, value in meta.items():
        yield f"{_scalar(key)}: {yaml_value(value)}"


def yaml_value(value: object, *, inside: bool = False) -> str:
    """Return `value` as YAML in one line; `inside` of brackets or braces, commas need quotes.

    Raises TypeError unless it is text, an integer, a truth value, None, a list or a mapping.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case int():
            return str(value)
        case str():
            return _scalar(value, inside=inside)
        case Mapping():
            pairs = (
                f"{_scalar(str(key), inside=True)}: {yaml_value(inner, inside=True)}"
                for key, inner in value.items()
            )
            return "{" + ", ".join(pairs) + "}"
        case Sequence():
            return "[" + ", ".join(yaml_value(item, inside=True) for item in value) + "]"
        case _:
            raise TypeError(f"{value!r} cannot be written into a frontmatter")


def plain_value(value: object) -> object:
    """Return `value` as `read_yaml` would return it: lists for tuples, dicts for mappings."""
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
_NEEDS_QUOTES_INSIDE = re.compile(r".*[,?\[\]{}]")

# Text that a YAML parser, of version 1.2 or 1.1, takes for another type. Dates are missing here on
# purpose: people write them without quotes, and they mean the same either way.
_OTHER_THAN_TEXT = re.compile(
    r"""(?ix) ~ | null | true | false | yes | no | on | off | y | n | = | << | \.{3}.*
      | [-+]? \.? [0-9] [0-9_,.]* (?: e [-+]? [0-9]+ )?
      | [-+]? [0-9] [0-9_]* (?: : [0-5]? [0-9] )+ (?: \. [0-9]* )?
      | [-+]? 0 [xob] [0-9a-f_]+
      | [-+]? \.inf | \.nan """
)


def _scalar(text: str, *, inside: bool = False) -> str:
    """Return `text` without quotes if every parser reads it as this text, else in double quotes."""
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
