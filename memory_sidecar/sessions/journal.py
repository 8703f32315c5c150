"""The journal of one agent: its sessions, with what hosts put entry by entry, and `.mv2` files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import MemvidFailed, NotFound, SidecarError, UsageError
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.results import build_from
from memory_sidecar.core.times import parse_time
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionFilter
from memory_sidecar.sessions.mv2 import Entry, Memvid, entry_document, has_tag, is_entry
from memory_sidecar.sessions.promotion import EVIDENCE_PREFIX
from memory_sidecar.sessions.results import Put, Saved

MAX_NOTED_BYTES = 1 << 20


class Journal(Sessions):
    """The sessions of `agent`, for one call that is about its journal."""

    def put(
        self, file: Path, entry: Entry, environ: Mapping[str, str], *, allow_secrets: bool = False
    ) -> Put:
        """Save `entry` of the journal `file`; where memvid is on the PATH, write the file, too.

        Raises UsageError for a text without a word, SecretRefused.
        """
        if not entry.text.strip():
            raise UsageError("the text is empty", hint="give the text to remember")
        document = entry_document(entry)
        if known := self.find(document["session_id"]):
            document["created_at"] = known.document["created_at"]
        saved = self.save(document, allow_secrets=allow_secrets)
        holds_ours_alone = not file.exists() or self._imported.knows(file)
        memvid = Memvid.find(environ)
        if memvid is None:
            self._reporter.notice(f"{file.name} was not written: memvid is not on the PATH")
            return _put(saved, "not on the PATH")
        if not saved.created and file.exists():
            return _put(saved, "has it already")
        try:
            memvid.put(
                file, replace(entry, created_at=parse_time(saved.created_at) or entry.created_at)
            )
        except MemvidFailed as error:
            self._reporter.notice(f"{file.name} was not written: {error.with_hint}")
            return _put(saved, "failed")
        if holds_ours_alone:
            self._note(file)
        return _put(saved, "written")

    def take_over(self, file: Path, environ: Mapping[str, str]) -> None:
        """Import the `.mv2` at `file` once, and again after another program has written it.

        A notice says what became of it.
        """
        if not file.is_file() or self._imported.knows(file):
            return
        try:
            saved = self.import_files([file], environ).sessions
        except SidecarError as error:
            self._reporter.notice(f"{file.name} is not searched: {error.with_hint}")
            return
        self._note(file)
        new = sum(each.created for each in saved)
        self._reporter.notice(f"imported {file.name}: {new} of {len(saved)} entries are new")

    def journal(self, tag: str) -> list[dict[str, Any]]:
        """The entries of the journal, the oldest first; with `tag` every session that carries it.

        Raises NotFound where there is none.
        """
        documents = [self.get(each.session_id).document for each in self.listed(SessionFilter())]
        chosen = [each for each in documents if (has_tag(each, tag) if tag else is_entry(each))]
        if not chosen:
            raise NotFound(
                f"no session carries {tag!r}" if tag else "the journal has no entry",
                hint="`memory-sidecar session list` shows what there is",
            )
        return sorted(chosen, key=lambda each: str(each["created_at"]))

    # How

    @property
    def _imported(self) -> ImportedFiles:
        paths = self.agent.paths
        return ImportedFiles(paths.tree, paths.state / "imported.json")

    def _note(self, file: Path) -> None:
        try:
            self._imported.note(file)
        except OSError as error:
            self._reporter.notice(f"{file.name} will be imported again: {error.strerror}")


def _put(saved: Saved, memvid: str) -> Put:
    uri = EVIDENCE_PREFIX + saved.session_id
    return build_from(Put, saved, uri=uri, timestamp=saved.created_at, memvid=memvid)


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """The `.mv2` files that were imported, each as it was then; kept in the file `path`."""

    tree: Tree
    path: Path

    def knows(self, file: Path) -> bool:
        """Whether `file` is as it was when it was noted."""
        return self._noted().get(str(file)) == _state(file)

    def note(self, file: Path) -> None:
        """Take `file`, as it is now, for known. Raises OSError."""
        noted = self._noted() | {str(file): _state(file)}
        replace_file(self.tree, self.path, json.dumps(noted).encode())

    def _noted(self) -> dict[str, Any]:
        try:
            noted = read_json(self.tree.read(self.path, MAX_NOTED_BYTES))
        except (OSError, BrokenJson):
            return {}
        return noted if isinstance(noted, dict) else {}


def _state(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]
