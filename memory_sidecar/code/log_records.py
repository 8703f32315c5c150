"""Reads a structured record of a log: what it says, without the time, the level and values.

`time=… level=error msg="cannot lock row" user_id=3` and `{"level":"error","msg":"cannot lock row"}`
say "cannot lock row". Which code says it is kept, too: `caller=shop/lock.go:42` leads there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FIELD = re.compile(
    r"(?<![\w.@])([\w.@]+)[\"']?\s?[=:]\s?"
    r"(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s,}\"']+))"
)
_ESCAPED = re.compile(r"\\([\"'\\])")

# Keys in the logs of zap, logrus, slog, pino, structlog, serilog and ECS; the last part of one with
# dots. A record has one of each of the first two rows.
_MESSAGE = frozenset("event message msg".split())
_WHEN_OR_LEVEL = frozenset("@timestamp level lvl severity time timestamp ts".split())
_FURTHER = frozenset("err error exception".split())
_CODE = frozenset("caller class file filename func function logger module source target".split())


class Record(NamedTuple):
    """What a text with records of a log says."""

    message: str  # their messages and errors, and other lines; "" if there is no record
    code: str = ""  # the places and names of the code that says it


def record_in(text: str) -> Record:
    """Return what the records in the lines of `text` say; an empty one if it has none."""
    said: list[str] = []
    by: list[str] = []
    lines = text.splitlines()
    records = [_fields_of_record(line) for line in lines]
    for line, fields in zip(lines, records, strict=True):
        said += [value for key, value in fields if key in _MESSAGE | _FURTHER] or [line]
        by += [value for key, value in fields if key in _CODE]
    return Record("\n".join(said), " ".join(by)) if any(records) else Record("")


def _fields_of_record(line: str) -> list[tuple[str, str]]:
    """Return the keys of the log record `line` with their values; none of any other line."""
    fields: list[tuple[str, str]] = [
        (key.lower().rpartition(".")[2], _ESCAPED.sub(r"\1", double or single or bare))
        for key, double, single, bare in _FIELD.findall(line)
    ]
    keys = {key for key, _ in fields}
    is_record = not keys.isdisjoint(_MESSAGE) and not keys.isdisjoint(_WHEN_OR_LEVEL)
    return fields if is_record else []
