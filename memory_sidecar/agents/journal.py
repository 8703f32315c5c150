"""A journal, as hosts know it by the name of an `.mv2` file: `D/A.mv2` is that of agent A.

Its texts are sessions of that agent in the data directory D. Where memvid is on the PATH, the file
itself is written too; where it is not, or fails, that is said and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memory_sidecar.agents.services import Services
from memory_sidecar.core.clock import Clock
from memory_sidecar.core.errors import MemvidFailed, UsageError
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.sessions.handlers import Saved, Sessions
from memory_sidecar.sessions.journal import Entry, entry_document
from memory_sidecar.sessions.mv2 import Memvid

WRITTEN, ABSENT, FAILED, KNOWN = "written", "not on the PATH", "failed", "has it already"


@dataclass(frozen=True, slots=True)
class Put:
    """What became of a text."""

    saved: Saved
    memvid: str  # one of the words above


def agent_of(file: Path) -> str:
    """The agent whose journal `file` is."""
    return file.stem


def sessions_of(services: Services, file: Path, *, clock: Clock, reporter: Reporter) -> Sessions:
    """The sessions that the journal `file` stands for. Raises UsageError for no agent's name."""
    name = agent_of(file)
    db = file.parent / "knowledge" / f"{name}.sqlite"
    return Sessions(services.agent(name, db), clock=clock, reporter=reporter)


def put(
    sessions: Sessions,
    file: Path,
    entry: Entry,
    *,
    environ: Mapping[str, str],
    reporter: Reporter,
    allow_secrets: bool = False,
) -> Put:
    """Add `entry` to the journal. Raises UsageError for a text without a word, SecretRefused."""
    if not entry.text.strip():
        raise UsageError("the text is empty", hint="say what is to be remembered")
    document = entry_document(entry)
    known = sessions.find(document["session_id"])
    if known is not None:
        document["created_at"] = known.document["created_at"]
    saved = sessions.save(document, allow_secrets=allow_secrets)
    memvid = Memvid.find(environ)
    if memvid is None:
        reporter.notice(f"{file.name} was not written: memvid is not on the PATH")
        return Put(saved, ABSENT)
    if not saved.is_new and file.exists():
        return Put(saved, KNOWN)
    try:
        memvid.put(file, replace(entry, created_at=saved.session.created_at))
    except MemvidFailed as error:
        reporter.notice(f"{file.name} was not written: {error.message}; {error.hint}")
        return Put(saved, FAILED)
    return Put(saved, WRITTEN)
