"""The session files of one agent: found, read, written and taken away.

    <root>/<yyyy-mm>/<session id>.json      the month in which the session began, in UTC

A session has one file for life: saving it again replaces that file, whatever its dates say now.
A second file of the same name in another month is skipped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_sidecar.core import reasons
from memory_sidecar.core.atomic import delete_file, move_file, replace_file
from memory_sidecar.core.errors import NotFound, PathRefused, SessionInvalid
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.sessions.documents import SESSION_ID, parse_document

MAX_SESSION_BYTES = 32 << 20  # a long transcript of an agent takes 5 MiB
LOCK_TIMEOUT_S = 10

_MONTH = re.compile(r"\d{4}-\d{2}")
_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session as it lies on disk."""

    path: str  # relative to the root, with /
    document: dict[str, Any]


class SessionFiles:
    """The session files below `root`, which need not be there yet."""

    def __init__(self, root: Path, data: Tree | None = None) -> None:
        """`data` is our own tree in which the root lies, where that matters."""
        self.root = root
        self._tree = data or Tree(root, is_own=True)

    def find(self, session_id: str) -> str | None:
        """Path of the session's file, relative to the root; `None` when it has none."""
        if not SESSION_ID.fullmatch(session_id):
            return None
        paths = [f"{month}/{session_id}{_ENDING}" for month in self._months()]
        return next((path for path in paths if (self.root / path).is_file()), None)

    def beginning(self, first: str) -> list[str]:
        """In order, the ids of the sessions that begin with `first`."""
        if not SESSION_ID.fullmatch(first):
            return []
        files = (file for month in self._months() for file in self._files_of(month, None, []))
        ids = (file.path.partition("/")[2].removesuffix(_ENDING) for file in files)
        return sorted({each for each in ids if each.startswith(first)})

    def load(self, session_id: str) -> StoredSession | None:
        """The session's document, whatever it says. Raises SessionInvalid for no JSON object."""
        path = self.find(session_id)
        if path is None:
            return None
        with named_errors(self.root / path):
            try:
                return StoredSession(path, parse_document(self.read_bytes(path)))
            except SessionInvalid as error:
                raise SessionInvalid(
                    f"{self.root / path}: {error.message}", hint="fix the file, or delete it"
                ) from error

    def read_bytes(self, path: str) -> bytes:
        """The file at `path`. Raises SessionInvalid for what is no session, and OSError."""
        try:
            return self._tree.read(self.root / path, MAX_SESSION_BYTES)
        except FileRefused as refusal:
            raise SessionInvalid(refusal.reason) from refusal

    def write(self, session_id: str, document: dict[str, Any], *, began_at: int) -> str:
        """Write the session's file; it is on disk when this returns. Returns its path.

        For a session without a file yet, `began_at` (epoch ms) says in which month. Called with
        `changing` held. Raises DiskFull and StoreReadOnly.
        """
        path = self.find(session_id) or f"{_month(began_at)}/{session_id}{_ENDING}"
        data = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
        if len(data) > MAX_SESSION_BYTES:
            raise SessionInvalid(
                f"the session takes {len(data) >> 20} MiB as a file",
                hint=f"{MAX_SESSION_BYTES >> 20} MiB are allowed; save it in parts",
            )
        with named_errors(self.root / path):
            replace_file(self._tree, self.root / path, data)
        return path

    def delete(self, session_id: str) -> str:
        """Remove the session's file for good; returns the path it had. Raises NotFound."""
        path = self._existing(session_id)
        with named_errors(self.root / path):
            delete_file(self._tree, self.root / path)
        return path

    def archive(self, session_id: str, archive: SessionFiles) -> str:
        """Move the session's file into `archive`; returns the path it had. Raises NotFound.

        What an earlier session of that name left in there is replaced.
        """
        path = self._existing(session_id)
        source, target = self.root / path, archive.root / path
        with named_errors(target):
            while not move_file(self._tree, source, archive._tree, target):
                delete_file(archive._tree, target)
        return path

    @contextmanager
    def changing(self, lock: Path) -> Iterator[None]:
        """Keep others who take `lock` from changing session files meanwhile. Raises StoreBusy.

        It lies in the tree `data`, and not with the files, which are watched.
        """
        what = f"the sessions in {self.root.name} are"
        with hold_lock(self._tree, lock, timeout_s=LOCK_TIMEOUT_S, what=what):
            yield

    def scan(self, under: Collection[str] | None = None) -> Scan:
        """Every session file, or those that the paths `under` name or hold.

        A file is seen together with those of its name in other months, of which the first counts.
        A root that is not there holds none. Raises PathRefused where it cannot be listed.
        """
        unreadable: list[str] = []
        months = self._months()
        names = _names_under(under)
        found: dict[str, list[SourceFile]] = {}
        for month in months:
            for file in self._files_of(month, names, unreadable):
                found.setdefault(file.path.partition("/")[2], []).append(file)
        files = []
        for first, *others in found.values():
            files.append(first)
            files += [replace(each, skip_reason=f"{first.path} is the same") for each in others]
        return Scan(
            files=tuple(sorted(files, key=lambda file: file.path)),
            folders=("", *months),
            unreadable=tuple(unreadable),
        )

    def _existing(self, session_id: str) -> str:
        path = self.find(session_id)
        if path is None:
            raise unknown_session(session_id)
        return path

    def _months(self) -> list[str]:
        try:
            with os.scandir(self.root) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if _MONTH.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise PathRefused(
                f"{self.root} cannot be read: {error.strerror}", hint="check its permissions"
            ) from error

    def _files_of(
        self, month: str, names: frozenset[str] | None, unreadable: list[str]
    ) -> Iterator[SourceFile]:
        folder = self.root / month
        try:
            listed = {child.name for child in folder.iterdir()} if names is None else names
        except FileNotFoundError:
            return
        except OSError:
            unreadable.append(month)
            return
        for name in sorted(listed):
            if not (name.endswith(_ENDING) and SESSION_ID.fullmatch(name.removesuffix(_ENDING))):
                continue
            try:
                status = (folder / name).lstat()
            except FileNotFoundError:
                continue
            except OSError:
                unreadable.append(f"{month}/{name}")
                continue
            too_large = status.st_size > MAX_SESSION_BYTES
            reason = reasons.larger_than(MAX_SESSION_BYTES) if too_large else ""
            yield SourceFile.of(f"{month}/{name}", status, skip_reason=reason)


def unknown_session(session_id: str) -> NotFound:
    return NotFound(
        f"there is no session {session_id[:128]!r}", hint="`memory-sidecar session list` shows all"
    )


def _month(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, tz=UTC).strftime("%Y-%m")


def _names_under(under: Collection[str] | None) -> frozenset[str] | None:
    """The file names that are asked for; `None` for all."""
    if under is None or any(path == "" or _MONTH.fullmatch(path) for path in under):
        return None
    return frozenset(path.rpartition("/")[2] for path in under)
