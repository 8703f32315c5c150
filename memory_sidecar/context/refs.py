"""How often each atom was read: what its file had before, and the access log.

A log tells only of the time since it was begun, may be rotated or cut by anyone, grows in the
middle when branches are merged, and shrinks for a while when another branch is looked at. So beside
it is kept what was counted, for each atom by day. A day counts as many reads as the log has ever
had lines of it, or as were known and are newer now, whichever is more: that only grows, whatever
happens in whichever order, and counts no line twice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
        """Whether a read at `at` is surely not among these. `last` may be no more than a date."""
        return bool(self.last) and at[: len(self.last)] > self.last


@dataclass(frozen=True, slots=True)
class LoggedRead:
    """One line of the log that is about an atom."""

    atom: str  # EXP-042
    at: str  # ISO 8601, "" where the line has none

    @property
    def day(self) -> str:
        return self.at[:10]


@dataclass(frozen=True, slots=True)
class Counted:
    """What has been counted of one atom up to now."""

    before: int = 0  # reads that no log ever held
    days: Mapping[str, int] = field(default_factory=dict)
    last: str = ""  # the newest line that was counted


def count(
    reads: Iterable[LoggedRead],
    *,
    known: Mapping[str, Counted],
    had: Mapping[str, Refs],
) -> tuple[dict[str, Refs], dict[str, Counted]]:
    """Refs of every atom in `reads`, `known` or `had`, and what to know the next time.

    `had` is what the files say, up to the last read that they tell of. With what was read since,
    it never exceeds what was counted, unless the counts are new here or came apart from the files;
    then the files are believed.
    """
    there: dict[str, Counter[str]] = defaultdict(Counter)
    newer: dict[str, Counter[str]] = defaultdict(Counter)
    since, last = Counter[str](), {atom: counted.last for atom, counted in known.items()}
    for read in reads:
        there[read.atom][read.day] += 1
        if (counted := known.get(read.atom)) and read.at > counted.last:
            newer[read.atom][read.day] += 1
        since[read.atom] += had.get(read.atom, Refs()).is_before(read.at)
        last[read.atom] = max(last.get(read.atom, ""), read.at)
    refs: dict[str, Refs] = {}
    counts: dict[str, Counted] = {}
    for atom in {*there, *known, *had}:
        counted, has, lines = known.get(atom, Counted()), had.get(atom, Refs()), there[atom]
        days = {
            day: max(lines[day], counted.days.get(day, 0) + newer[atom][day])
            for day in {*lines, *counted.days}
        }
        total = max(counted.before + sum(days.values()), has.count + since[atom])
        if total:
            refs[atom] = Refs(total, max(last.get(atom, ""), has.last))
            counts[atom] = Counted(total - sum(days.values()), days, last.get(atom, ""))
    return refs, counts


def read_log(project: Project) -> list[LoggedRead]:
    """Every line about an atom, of the log and of its rotated parts that are still there."""
    reads = []
    for _, _, line in _lines(project):
        name = str(line.get("file", "")).rpartition("/")[2].removesuffix(".md") if line else ""
        if line and is_id(name):
            reads.append(LoggedRead(name, time_of(line.get("ts"))))
    return reads


def broken_lines(project: Project) -> list[tuple[Path, int]]:
    """Where the log holds something else than JSON, by file and line."""
    return [(path, number) for path, number, line in _lines(project) if line is None]


def rotate_log(project: Project, *, suffix: str) -> Path | None:
    """Begin a new log; returns where the old one lies. It may be deleted after the next count."""
    tree, log = project.tree, project.access_log
    if not (page_bytes(tree, log) or b"").strip():
        return None
    rotated = log.with_stem(f"{log.stem}-{suffix}")
    return rotated if move_file(tree, log, tree, rotated) else None


def load_counts(project: Project) -> dict[str, Counted] | None:
    """`None` where the file is missing or broken: the atoms have their refs themselves."""
    try:
        data = read_json(page_bytes(project.tree, project.meta / COUNTS) or b"")
        return {
            str(atom): Counted(
                before=int(counted["before"]),
                days={str(day): int(n) for day, n in counted["days"].items()},
                last=str(counted["last"]),
            )
            for atom, counted in data.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def counts_text(counts: Mapping[str, Counted]) -> str:
    """For `_meta/access-counts.json`, an atom a line, so that a merge can put two together."""
    lines = (
        f"  {json.dumps(atom)}: {json.dumps(asdict(counted), sort_keys=True)}"
        for atom, counted in sorted(counts.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(project: Project) -> Iterator[tuple[Path, int, dict[str, Any] | None]]:
    """File, number and value of each line that is not blank; `None` for what is no JSON object.

    Of `access-log.jsonl` and `access-log-2026-05-06.jsonl`, by name.
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
