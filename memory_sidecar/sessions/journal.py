"""The journal of one agent: the sessions that hosts put as single entries, and `.mv2` files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import MemvidFailed, NotFound, SidecarError, StoreBusy, UsageError
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.results import build_from
from memory_sidecar.core.times import parse_time
from memory_sidecar.sessions.documents import EVIDENCE_PREFIX
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionFilter
from memory_sidecar.sessions.mv2 import KIND, PUT_TIMEOUT_S, Entry, Memvid, entry_document
from memory_sidecar.sessions.results import Put, Saved

MAX_NOTED_BYTES = 1 << 20


class Journal(Sessions):
    """Reads and changes the sessions of `agent`, with the commands on its journal, for one call."""

    def put(
        self, file: Path, entry: Entry, environ: Mapping[str, str], *, allow_secrets: bool = False
    ) -> Put:
        """Save `entry` as a session; if memvid is on the PATH, append it to the `.mv2` `file`, too.

        A notice tells if the file was not written. Raises UsageError for an empty text, and
        SecretRefused.
        """
        if not entry.text.strip():
            raise UsageError("the text is empty", hint="give the text to remember")
        document = entry_document(entry)
        known = self._files.load(document["session_id"])
        if known and (began_at := known.document.get("created_at")):
            document["created_at"] = began_at
        saved = self.save(document, allow_secrets=allow_secrets)
        memvid = Memvid.find(environ)
        if memvid is None:
            self._reporter.notice(f"{file.name} was not written: memvid is not on the PATH")
            return _put_result(saved, "not on the PATH")
        entry = replace(entry, created_at=parse_time(saved.created_at) or entry.created_at)
        try:
            with self._writing(file):
                if not saved.created and file.exists() and memvid.has(file, entry):
                    return _put_result(saved, "has it already")
                has_no_other_writer = not file.exists() or self._is_imported(file)
                memvid.put(file, entry)
                if has_no_other_writer:
                    self._note(file, _file_state(file))
        except (MemvidFailed, StoreBusy) as error:
            self._reporter.notice(f"{file.name} was not written: {error.with_hint}")
            return _put_result(saved, "failed")
        return _put_result(saved, "written")

    def _writing(self, file: Path) -> AbstractContextManager[None]:
        """Hold the lock for writing the `.mv2` `file`: of two concurrent puts, memvid keeps one."""
        paths = self.agent.paths
        lock, what = paths.state / "journal.lock", f"{file.name} is"
        return hold_lock(paths.tree, lock, patience_s=PUT_TIMEOUT_S, what=what)

    def import_mv2(self, file: Path, environ: Mapping[str, str]) -> None:
        """Import the `.mv2` at `file`, unless it is unchanged since the last import.

        A notice tells the outcome.
        """
        if not file.is_file() or self._is_imported(file):
            return
        state = _file_state(file)  # before it is read: what is put meanwhile is imported next time
        try:
            saved = self.import_files([file], environ).sessions
        except SidecarError as error:
            self._reporter.notice(f"{file.name} is not searched: {error.with_hint}")
            return
        self._note(file, state)
        new = sum(each.created for each in saved)
        self._reporter.notice(f"imported {file.name}: {new} of {len(saved)} entries are new")

    def entries(self, tag: str) -> list[dict[str, Any]]:
        """Read all sessions that carry `tag`, or without one the journal's entries, oldest first.

        Raises NotFound if there are none.
        """
        listed = self.list_sessions(SessionFilter())
        loaded = (self._files.load(each.session_id) for each in listed)
        documents = (each.document for each in loaded if each)  # some may be gone by now
        chosen = [each for each in documents if (_has_tag(each, tag) if tag else _is_entry(each))]
        if not chosen:
            raise NotFound(
                f"no session carries {tag!r}" if tag else "the journal has no entry",
                hint="`memory-sidecar session list` shows what there is",
            )
        return sorted(chosen, key=lambda each: parse_time(each.get("created_at")) or 0)

    # Steps. A file notes the size and the mtime that each `.mv2` file had when it was imported.

    @property
    def _noted_file(self) -> Path:
        return self.agent.paths.state / "imported.json"

    def _is_imported(self, file: Path) -> bool:
        """Whether `file` has the size and the mtime that were noted for it."""
        return self._noted().get(str(file)) == _file_state(file)

    def _note(self, file: Path, state: list[int]) -> None:
        try:
            noted = self._noted() | {str(file): state}
            replace_file(self.agent.paths.tree, self._noted_file, json.dumps(noted).encode())
        except OSError as error:
            self._reporter.notice(f"{file.name} will be imported again: {error.strerror}")

    def _noted(self) -> dict[str, Any]:
        try:
            noted = read_json(self.agent.paths.tree.read(self._noted_file, MAX_NOTED_BYTES))
        except (OSError, BrokenJson):
            return {}
        return noted if isinstance(noted, dict) else {}


def _put_result(saved: Saved, memvid: str) -> Put:
    uri = EVIDENCE_PREFIX + saved.session_id
    return build_from(Put, saved, uri=uri, timestamp=saved.created_at, memvid=memvid)


def _file_state(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def _is_entry(document: Mapping[str, Any]) -> bool:
    """Whether the session in `document` is an entry of a journal."""
    metadata = document.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("kind") == KIND


def _has_tag(document: Mapping[str, Any], tag: str) -> bool:
    """Whether the session in `document` has `tag`, like `key:value`, as a tag or as a topic."""
    metadata = document.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, Mapping) else None
    if isinstance(tags, Mapping):
        tags = [f"{key}:{value}" if value else str(key) for key, value in tags.items()]
    topics = document.get("topics")
    known = [*(tags if isinstance(tags, list) else []), *(topics or [])]
    return tag.lower() in (str(each).lower() for each in known)
