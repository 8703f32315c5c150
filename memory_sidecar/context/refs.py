"""How often each atom was read: what its file had before, and the access log.

A log tells only of the time since it was begun, may be rotated or cut by anyone, and grows in the
middle when branches are merged. So beside it is kept, for each atom, how many reads lie `before`
the log, and how many lines up to the time `until` have been counted. From that, the next count
tells what is new, and what is gone: lines that are gone are added to `before`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memory_sidecar.context.layout import Project
from memory_sidecar.sources.atoms import is_id, time_of

COUNTS = "access-counts.json"


@dataclass(frozen=True, slots=True)
class Refs:
    """`count` reads, the last of them at `last` (ISO 8601, "" if never)."""

    count: int = 0
    last: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """One line of the log that is about an atom."""

    atom: str  # EXP-042
    at: str  # ISO 8601, "" where the line has none


@dataclass(frozen=True, slots=True)
class Counted:
    """What has been counted of one atom up to now."""

    before: int = 0  # reads that no log holds
    lines: int = 0  # of the log that were counted


@dataclass(frozen=True, slots=True)
class Counts:
    """What has been counted of a project up to now."""

    until: str = ""
    atoms: Mapping[str, Counted] = field(default_factory=dict)


def count(
    reads: Iterable[Read], *, known: Counts, had: Mapping[str, Refs]
) -> tuple[dict[str, Refs], Counts]:
    """Refs of every atom in `reads`, `known` or `had`, and what to know the next time.

    `had` is what the files say. It never exceeds what was counted, unless the counts are new here
    or came apart from the files; then the files are believed, so that nothing is lost.
    """
    old, new, last = Counter[str](), Counter[str](), dict[str, str]()
    until = known.until
    for read in reads:
        (old if read.at <= known.until else new)[read.atom] += 1
        last[read.atom] = max(last.get(read.atom, ""), read.at)
        until = max(until, read.at)
    refs: dict[str, Refs] = {}
    atoms: dict[str, Counted] = {}
    for atom in {*old, *new, *known.atoms, *had}:
        counted = known.atoms.get(atom, Counted())
        there = old[atom] + new[atom]
        gone = max(counted.lines - old[atom], 0)
        has = had.get(atom, Refs())
        total = max(counted.before + gone + there, has.count)
        if total:
            refs[atom] = Refs(total, max(last.get(atom, ""), has.last))
            atoms[atom] = Counted(total - there, there)
    return refs, Counts(until, atoms)


def read_log(project: Project) -> list[Read]:
    """Every line about an atom, of the log and of its rotated parts that are still there."""
    reads = []
    for path in log_parts(project):
        for _, line in _lines(path):
            read = _as_read(line)
            if read is not None:
                reads.append(read)
    return reads


def broken_lines(project: Project) -> list[tuple[Path, int]]:
    """Where the log holds something else than JSON, by file and line."""
    found = []
    for path in log_parts(project):
        for number, line in _lines(path):
            if not isinstance(_parsed(line), dict):
                found.append((path, number))
    return found


def log_parts(project: Project) -> list[Path]:
    """`access-log.jsonl` and `access-log-2026-05-06.jsonl`, by name."""
    return sorted(project.meta.glob("access-log*.jsonl"))


def rotate_log(project: Project, *, suffix: str) -> Path | None:
    """Begin a new log; returns where the old one lies. It may be deleted after the next count."""
    rotated = project.access_log.with_stem(f"{project.access_log.stem}-{suffix}")
    if rotated.exists() or not project.access_log.is_file() or not _lines(project.access_log):
        return None
    project.access_log.rename(rotated)
    return rotated


def load_counts(project: Project) -> Counts | None:
    """`None` where the file is missing or broken: the atoms have their refs themselves."""
    try:
        data = json.loads((project.meta / COUNTS).read_bytes())
        atoms = {
            str(atom): Counted(int(before), int(lines))
            for atom, (before, lines) in data["atoms"].items()
        }
        return Counts(str(data["until"]), atoms)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def counts_text(counts: Counts) -> str:
    """For `_meta/access-counts.json`, an atom a line, so that a merge can put two together."""
    lines = [
        f"    {json.dumps(atom)}: [{counted.before}, {counted.lines}]"
        for atom, counted in sorted(counts.atoms.items())
    ]
    inside = ",\n".join(lines)
    return f'{{\n  "until": {json.dumps(counts.until)},\n  "atoms": {{\n{inside}\n  }}\n}}\n'


def _lines(path: Path) -> list[tuple[int, bytes]]:
    """Numbered lines that are not blank."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:  # half a line, or what a merge left
        return None


def _as_read(line: bytes) -> Read | None:
    parsed = _parsed(line)
    if not isinstance(parsed, dict):
        return None
    name = str(parsed.get("file", "")).rpartition("/")[2].removesuffix(".md")
    if not is_id(name):
        return None
    return Read(name, time_of(parsed.get("ts")))
