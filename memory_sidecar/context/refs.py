"""Counts how often each atom was read, from the access log and from what its file had before.

A log covers only the time since it was started, may be rotated or cut by any program, grows in the
middle when branches are merged, and shrinks for a while when another branch is checked out. So the
counts are kept beside it, for each atom by day. A day counts as many reads as it has lines in the
log, or as its known count plus the lines newer than the last counted one, whichever is more: this
never decreases, in whatever order things happen, and counts no line twice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from memory_sidecar.context.layout import Project, page_bytes
from memory_sidecar.core.atomic import move_file
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.disk.atoms import is_id, time_of

COUNTS = "access-counts.json"


@dataclass(frozen=True, slots=True)
class Refs:
    """`count` reads, the last of them at `last` (ISO 8601, "" if never)."""

    count: int = 0
    last: str = ""

    def is_before(self, at: str) -> bool:
        """Whether a read at `at` is surely not counted here. `last` may be only a date."""
        return bool(self.last) and at[: len(self.last)] > self.last


LoggedRead = tuple[str, str]
"""A line of the log: the id of the atom, and the time in ISO 8601, "" if the line has none."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The reads of one atom that were counted so far."""

    before: int = 0  # reads that no log ever held
    days: Mapping[str, int] = field(default_factory=dict)
    last: str = ""  # the newest line that was counted


_COUNTS = msgspec.json.Decoder(dict[str, Counted])


def count_refs(
    reads: Iterable[LoggedRead], *, known: Mapping[str, Counted], had: Mapping[str, Refs]
) -> tuple[dict[str, Refs], dict[str, Counted]]:
    """Count the refs of every atom in `reads`, `known` or `had`; return them and the new counts.

    An atom that was never read has the refs `Refs()`, and no counts.

    `known`: the counts of the last time. `had`: the refs in the files, up to the last read that
    they name. The refs in the files with the reads since exceed the counts only if the counts are
    missing or out of step with the files; then the files win.
    """
    there: dict[str, Counter[str]] = defaultdict(Counter)
    newer: dict[str, Counter[str]] = defaultdict(Counter)
    since, last = Counter[str](), {atom: counted.last for atom, counted in known.items()}
    for atom, at in reads:
        day = at[:10]
        there[atom][day] += 1
        if (counted := known.get(atom)) and at > counted.last:
            newer[atom][day] += 1
        since[atom] += had.get(atom, Refs()).is_before(at)
        last[atom] = max(last.get(atom, ""), at)
    refs: dict[str, Refs] = {}
    counts: dict[str, Counted] = {}
    for atom in {*there, *known, *had}:
        counted, has, lines = known.get(atom, Counted()), had.get(atom, Refs()), there[atom]
        days = {
            day: max(lines[day], counted.days.get(day, 0) + newer[atom][day])
            for day in {*lines, *counted.days}
        }
        total = max(counted.before + sum(days.values()), has.count + since[atom])
        refs[atom] = Refs()
        if total:
            refs[atom] = Refs(total, max(last.get(atom, ""), has.last))
            counts[atom] = Counted(total - sum(days.values()), days, last.get(atom, ""))
    return refs, counts


def read_log(project: Project) -> list[LoggedRead]:
    """Read every line about an atom, from the log and from its rotated parts that still exist."""
    reads = []
    for _, _, line in _lines(project):
        name = str(line.get("file", "")).rpartition("/")[2].removesuffix(".md") if line else ""
        if line and is_id(name):
            reads.append((name, time_of(line.get("ts"))))
    return reads


def broken_lines(project: Project) -> list[tuple[Path, int]]:
    """List the lines of the log that are no JSON objects, by file and number."""
    return [(path, number) for path, number, line in _lines(project) if line is None]


def rotate_log(project: Project, *, suffix: str) -> Path | None:
    """Rename the log, so that a new one is started; return its new path, None without a log.

    The renamed log may be deleted after the next count.
    """
    tree, log = project.tree, project.access_log
    status = tree.status(log)
    if status is None or not status.st_size:
        return None
    rotated = log.with_stem(f"{log.stem}-{suffix}")
    return rotated if move_file(tree, log, tree, rotated) else None


def parse_counts(data: bytes) -> dict[str, Counted] | None:
    """Parse the file of a project's counts; `None` if it is broken or empty."""
    try:
        return _COUNTS.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def counts_text(counts: Mapping[str, Counted]) -> str:
    """Format `_meta/access-counts.json`, one line for each atom, so that git can merge it."""
    lines = (
        f"  {json.dumps(atom)}: {json.dumps(asdict(counted), sort_keys=True)}"
        for atom, counted in sorted(counts.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(project: Project) -> Iterator[tuple[Path, int, dict[str, Any] | None]]:
    """Yield file, number and value of each line that is not blank; `None` if no JSON object.

    Reads `access-log.jsonl` and rotated parts like `access-log-2026-05-06.jsonl`, by name.
    """
    for path in sorted(project.meta.glob("access-log*.jsonl")):
        data = page_bytes(project.tree, path) or b""
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                value = read_json(line)
            except BrokenJson:  # half a line, or what a merge left
                value = None
            yield path, number, value if isinstance(value, dict) else None
