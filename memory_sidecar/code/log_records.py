"""Reads a record of a log: what it says, without the time, the level and values.

`time=… level=error msg="cannot lock" id=3`, `{"level":"error","msg":"cannot lock"}` and `[10:12:03
ERR] cannot lock id=3` say "cannot lock". Which code says it is kept, too: `caller=shop/lock.go:42`
leads there.
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

# Where a message stands alone, its level tells it.
_LEVEL = (
    r"(?:TRACE|DEBUG?|INFO?|NOTICE|WARN(?:ING)?|ERROR?|FATAL|CRIT(?:ICAL)?|ALERT|SEVERE|PANIC"
    r"|TRC|DBG|INF|WRN|ERR|FTL)"
)
# A level after a time, in brackets, or before what no sentence has there; that of klog and .NET.
_PLAIN = re.compile(
    rf"(?:[^\n]{{0,120}}?\d\d:\d\d[^\n]{{0,80}}?(?:[^\w\n]{_LEVEL}\b|\[(?i:{_LEVEL})\s*\])"
    rf"|\s*{_LEVEL}(?=[:\[\t|]|\s\s)|\s*\[(?i:{_LEVEL})\s*\]|[DIWEF]\d{{4}} [\d:.]+ +\d+(?= )"
    r"|\s*(?:trce|dbug|info|warn|fail|crit)(?=: [\w.]+\[\d+\]\s*\Z))(?:\[\d+\])?[\s:|\]-]*"
)
# `[main] c.acme.Lock - `, `shop::lock: `, `shop/lock.go:42\t`, `lock.go:42] `, `shop.lock:`
_LOGGER = re.compile(
    r"(?:[\[(][\w# -]*[\])]\s+)*(?=[a-zA-Z/]\S*[./:])([\w.:/$+-]+?)"
    r"(?:\[\d+\]\s*\Z|\]\s|\s-\s|\t|:\s|(?<!:):(?=[^\W\d]))\s*"
)
_QUOTED = re.compile(r"\A([\"'])(.*)\1\Z")  # by klog
_VALUES_AFTER = re.compile(r"(?<=\s)(?:\{[\"']|[\w.]+=[\"'\S]|\[\]\s*\Z)")


class Record(NamedTuple):
    """What a text with records of a log says."""

    message: str  # their messages and errors, and other lines; "" if there is no record
    code: str = ""  # the places and names of the code that says it


def record_in(text: str) -> Record:
    """Return what the records in the lines of `text` say; an empty one if it has none."""
    lines = text.splitlines()
    records = [_with_keys(line) or _with_level(line) for line in lines]
    if not any(records):
        return Record("")
    read = [record or Record(line) for line, record in zip(lines, records, strict=True)]
    said = "\n".join(each.message for each in read if each.message)
    return Record(said, " ".join(each.code for each in read if each.code))


def _with_keys(line: str) -> Record | None:
    """Return what `line` says if it is a record of keys and values."""
    fields: list[tuple[str, str]] = [
        (key.lower().rpartition(".")[2], _ESCAPED.sub(r"\1", double or single or bare))
        for key, double, single, bare in _FIELD.findall(line)
    ]
    keys = {key for key, _ in fields}
    if keys.isdisjoint(_MESSAGE) or keys.isdisjoint(_WHEN_OR_LEVEL):
        return None
    said = (value for key, value in fields if key in _MESSAGE | _FURTHER)
    return Record("\n".join(said), " ".join(value for key, value in fields if key in _CODE))


def _with_level(line: str) -> Record | None:
    """Return what `line` says if it is a record whose message follows its level."""
    if not (found := _PLAIN.match(line)):
        return None
    logger = _LOGGER.match(line, found.end())
    said = line[(logger or found).end() :]
    if values := _VALUES_AFTER.search(said):
        said = said[: values.start()]
    return Record(_QUOTED.sub(r"\2", said.strip()), logger[1] if logger else "")
