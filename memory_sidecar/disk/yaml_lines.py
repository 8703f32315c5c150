"""A YAML document as values that know their lines. Anything but a small, sound one is an error.

Reads the events of the parser: its own way of building trees ends the process where brackets nest
deep enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from memory_sidecar.core.errors import one_line

MAX_DEPTH = 50

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class BrokenYaml(Exception):
    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line  # 1-based


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the lines it takes, 1-based and inclusive, without comments around it."""

    value: dict[str, Node] | list[Node] | str | None
    first_line: int
    last_line: int
    is_flow: bool = False  # in brackets or braces


def read_yaml(text: str) -> Node | None:
    """`None` for an empty document. Scalars stay text. Raises BrokenYaml."""
    try:
        return _Events(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = one_line(" ".join(filter(None, (error.context, error.problem))))
        raise BrokenYaml(why, mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, ValueError) as error:
        raise BrokenYaml("a character that YAML forbids", 1) from error


class _Events:
    def __init__(self, text: str) -> None:
        self._next = _Loader(text).get_event
        self._anchors: dict[str, Node] = {}

    def document(self) -> Node | None:
        self._next()  # the stream begins
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        root = self._node(self._next(), 0)
        self._next()  # the document ends
        if not isinstance(more := self._next(), yaml.StreamEndEvent):
            raise BrokenYaml("a second document", more.start_mark.line + 1)
        return root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        first = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise BrokenYaml("nested too deep", first)
        match event:
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    raise BrokenYaml(f"nothing before it is called &{event.anchor}", first)
                return Node(self._anchors[event.anchor].value, first, first)
            case yaml.ScalarEvent():
                node = _scalar(event)
            case yaml.SequenceStartEvent():
                node = self._sequence(event, depth)
            case _:
                node = self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _sequence(self, start: yaml.SequenceStartEvent, depth: int) -> Node:
        items = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return _collection(items, [node.last_line for node in items], start, event)

    def _mapping(self, start: yaml.MappingStartEvent, depth: int) -> Node:
        pairs: dict[str, Node] = {}
        last_lines = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise BrokenYaml("a key that is no text", event.start_mark.line + 1)
            node = self._node(self._next(), depth + 1)
            pairs[str(event.value)] = node
            last_lines += [event.end_mark.line + 1, node.last_line]
        return _collection(pairs, last_lines, start, event)


def _scalar(event: yaml.ScalarEvent) -> Node:
    first, last = event.start_mark.line + 1, event.end_mark.line + 1
    if event.style in ("|", ">"):
        last = max(last - 1, first)  # it ends where the next line begins
    is_null = not event.style and event.value in ("", "~", "null")
    return Node(None if is_null else str(event.value), first, last)


def _collection(
    value: dict[str, Node] | list[Node],
    last_lines: list[int],
    start: yaml.CollectionStartEvent,
    end: yaml.CollectionEndEvent,
) -> Node:
    first = start.start_mark.line + 1
    if start.flow_style:
        return Node(value, first, end.end_mark.line + 1, is_flow=True)
    return Node(value, first, max(last_lines, default=first))
