"""Which memories were read, and when: an append-only file of JSON lines, one a read.

    {"ts": "2026-04-16T03:12:21.074Z", "file": "pitfall/cycle.md", "tool": "query"}
    {"ts": "2026-04-17T08:00:00.000Z", "file": "decisions/cycle.md", "tool": "move",
     "from": "pitfall/cycle.md"}

Reading a memory never rewrites its file. A line that is broken counts for nothing and harms no
other; any number of processes may append at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.times import iso_utc, parse_time

MOVED = "move"
PART_BYTES = 64 << 20  # of a log, read at once


@dataclass(frozen=True, slots=True)
class Uses:
    """How often one memory was read, and when last, in epoch milliseconds."""

    count: int
    last_at: int


def log_reads(tree: Tree, log: Path, paths: Sequence[str], *, tool: str, at_ms: int) -> None:
    """Count a read of each of `paths` by the command or tool called `tool`."""
    ts = iso_utc(at_ms)
    append_lines(tree, log, [{"ts": ts, "file": path, "tool": tool} for path in paths])


def log_move(tree: Tree, log: Path, old: str, new: str, *, at_ms: int) -> None:
    """Let the reads of `old` so far count for `new`."""
    append_lines(tree, log, [{"ts": iso_utc(at_ms), "file": new, "tool": MOVED, "from": old}])


@dataclass(frozen=True, slots=True)
class LogPart:
    """What a part of a log says, to be added to what the part before it said."""

    uses: Mapping[str, Uses]
    moves: Sequence[tuple[str, str]]  # old and new path: what was counted before goes along
    end: int  # byte after the last whole line


def read_part(tree: Tree, log: Path, *, start: int = 0) -> LogPart:
    """From the byte `start` on, which begins a line. A missing log holds nothing."""
    try:
        with os.fdopen(tree.open(log), "rb") as file:
            file.seek(start)
            data = file.read(PART_BYTES)
    except FileNotFoundError:
        return LogPart({}, (), 0)
    if len(data) == PART_BYTES and b"\n" not in data:
        data = b"\n".rjust(PART_BYTES)  # no line is that long
    uses: dict[str, Uses] = {}
    moves: list[tuple[str, str]] = []
    whole = data[: data.rfind(b"\n") + 1]
    for raw in whole.split(b"\n"):
        line = _line(raw)
        path, at = line.get("file"), parse_time(line.get("ts"))
        if not isinstance(path, str) or at is None:
            continue
        if line.get("tool") != MOVED:
            uses[path] = _sum(uses.get(path), Uses(1, at))
            continue
        old_path = str(line.get("from"))
        moves.append((old_path, path))
        if old := uses.pop(old_path, None):
            uses[path] = _sum(uses.get(path), old)
    return LogPart(uses, moves, start + len(whole))


def reads_since(tree: Tree, log: Path, since: int) -> list[tuple[str, int]]:
    """Paths that were read from `since` on, and when, in epoch ms; of a long log, of its end."""
    try:
        with os.fdopen(tree.open(log), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - PART_BYTES, 0))
            lines = [_line(raw) for raw in file.read(PART_BYTES).split(b"\n")]
    except OSError:  # what may not be opened counts for nothing, as when reads are counted
        return []
    reads = [
        (path, parse_time(line.get("ts")))
        for line in lines
        if isinstance(path := line.get("file"), str) and line.get("tool") != MOVED
    ]
    return [(path, at) for path, at in reads if at is not None and at >= since]


def append_lines(tree: Tree, log: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """Each as one line of JSON, all in one write, which no other writer can come between."""
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    if not data:
        return
    descriptor = tree.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        if os.fstat(descriptor).st_size:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                data = "\n" + data  # a crash left the last line without an end
        os.write(descriptor, data.encode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def _line(raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        return {}
    try:
        line = read_json(raw)
    except BrokenJson:
        return {}
    return line if isinstance(line, dict) else {}


def _sum(one: Uses | None, other: Uses) -> Uses:
    if one is None:
        return other
    return Uses(one.count + other.count, max(one.last_at, other.last_at))
