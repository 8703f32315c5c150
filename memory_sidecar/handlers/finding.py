"""What one check of `doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.sqlite import connect, named_errors


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `remedy` is what can be done about it: "rebuild", "index" or ""."""

    check: str
    ok: bool
    text: str
    hint: str = ""
    remedy: str = ""
    agent: str = ""  # whose database it is about; "" for the code's, or none


def damage_of(db: Path) -> str:
    """What SQLite finds wrong with the file at `db`, "" if nothing."""
    connection = connect(db, read_only=True)
    try:
        with named_errors(db):
            problems = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    finally:
        connection.close()
    return "" if problems == ["ok"] else problems[0]
