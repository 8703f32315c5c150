"""Finds, reads, writes, archives and deletes the session files of one agent.

    <root>/<yyyy-mm>/<session id>.json      the month in which the session began, in UTC

A session keeps its file: saving it again replaces that file, even if its dates changed. Another
file of the same name in a later month is a copy: skipped, and deleted or archived with it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from memory_sidecar.core import reasons
from memory_sidecar.core.atomic import delete_file, move_file, replace_file, sweep
from memory_sidecar.core.errors import NotFound, PathRefused, SessionInvalid, system_error
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import iso_utc
from memory_sidecar.sessions.documents import SESSION_ID, parse_document

MAX_SESSION_BYTES = 32 << 20  # a long transcript of an agent takes 5 MiB
FEW_NAMES = 16  # up to this many are looked up in each month; for more, each month is listed

_MONTH = re.compile(r"\d{4}-\d{2}")
_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """The document of a session, and the path of its file."""

    path: str  # relative to the root, with /
    document: dict[str, Any]


class SessionFiles:
    """The session files below `root`, which need not exist yet."""

    def __init__(self, root: Path, data: Tree | None = None, lock: Path | None = None) -> None:
        """`data`: the tree of the data directory, if the root lies in that.

        `lock`: the file that every process locks while it changes session files. It lies in `data`,
        but not beside the session files, which are watched.
        """
        self.root = root
        self._tree = data or Tree(root, is_own=True)
        self._spelled: dict[str, str] | None = None  # the ids by their lower case, once needed
        self._lock = lock

    @classmethod
    def of_agent(cls, paths: AgentPaths) -> SessionFiles:
        """Return the agent's session files, which the holder of `changing` may change."""
        return cls(paths.sessions, paths.tree, paths.sessions_lock)

    @property
    def has_any(self) -> bool:
        """Whether there is a session file. Raises PathRefused."""
        return any(True for _ in self._ids())

    def find(self, session_id: str) -> str | None:
        """Return the path of the session's file, relative to the root; `None` without a file."""
        return next(self._files_called(session_id), None)

    def _files_called(self, session_id: str) -> Iterator[str]:
        """Yield the paths of the session's file and, after it, of its copies in other months."""
        if SESSION_ID.fullmatch(session_id):
            top, name = os.fspath(self.root), f"{session_id}{_ENDING}"
            for month in self._months():
                if os.path.isfile(f"{top}/{month}/{name}"):  # noqa: PTH113  a fifth of the time
                    yield f"{month}/{name}"

    def id_of(self, name: str) -> str | None:
        """Return the id that `name` or its stem is, or is in small letters; `None` without one."""
        stem = re.sub(r"\.jsonl?$", "", name.rpartition("/")[2])
        return next((each for each in (name, stem, stem.lower()) if self.find(each)), None)

    def path_of(self, session_id: str) -> str:
        """Return what `find` does. Raises NotFound without a file."""
        if (path := self.find(session_id)) is None:
            raise unknown_session(session_id)
        return path

    def ids_starting_with(self, first: str) -> list[str]:
        """List the ids that begin with `first`, sorted."""
        if not SESSION_ID.fullmatch(first):
            return []
        return sorted({each for each in self._ids() if each.startswith(first)})

    def load(self, session_id: str) -> StoredSession | None:
        """Read the session's document, without checks of its fields; `None` without a file.

        Raises SessionInvalid if the file holds no JSON object.
        """
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

    def load_for_saving(self, session_id: str) -> StoredSession | None:
        """Read, as `load` does, the session that is about to be replaced.

        Raises SessionInvalid, too, if the id of another session differs in upper and lower case
        alone: on macOS and Windows, both would be one file.
        """
        if self._spelled is None:
            self._spelled = {each.lower(): each for each in self._ids()}
        other = self._spelled.setdefault(session_id.lower(), session_id)
        if other != session_id and session_id not in self._ids():
            raise SessionInvalid(
                f"session_id: {session_id!r} and the session {other!r} differ in case alone",
                hint="use that id to save it again, or quite another one",
            )
        return self.load(session_id)

    def read_bytes(self, path: str) -> bytes:
        """Read the file at `path`. Raises SessionInvalid for a link or a large one, OSError."""
        try:
            return self._tree.read(self.root / path, MAX_SESSION_BYTES)
        except FileRefused as refusal:
            raise SessionInvalid(refusal.reason) from refusal

    def write(self, path: str, document: dict[str, Any]) -> None:
        """Write a session's file at `path`, its present or `new_path`; on return it is on disk.

        The caller holds `changing`. Raises SessionInvalid for a document that is too large,
        DiskFull and StoreReadOnly.
        """
        data = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
        _check_size(len(data))
        with named_errors(self.root / path):
            replace_file(self._tree, self.root / path, data)

    def delete(self, session_id: str) -> list[str]:
        """Delete the session's file for good, and its copies; return their paths.

        Also deletes the temporary files that killed writers left of any session. The caller holds
        `changing`. Raises NotFound.
        """
        if not (paths := list(self._files_called(session_id))):
            raise unknown_session(session_id)
        for path in reversed(paths):  # copies first: after a kill, none takes the file's place
            with named_errors(self.root / path):
                delete_file(self._tree, self.root / path)
        self.sweep()
        return paths

    def sweep(self) -> None:
        """Delete what killed writers left; the caller holds `changing`, so none is at work."""
        sweep(self._tree, self.root, is_sole_writer=True, pattern="*/")

    def archive(self, session_id: str, folder: Path) -> list[str]:
        """Move the session's file and its copies below `folder`; return their paths.

        `folder` lies in the tree of the data directory; a file of the same path there is replaced.
        """
        paths = list(self._files_called(session_id))
        for path in reversed(paths):  # as in `delete`
            source, target = self.root / path, folder / path
            with named_errors(target):
                while not move_file(self._tree, source, self._tree, target):
                    delete_file(self._tree, target)
        return paths

    def changing(self) -> AbstractContextManager[None]:
        """Hold the lock of an agent's session files for a block. Raises StoreBusy."""
        assert self._lock is not None
        return hold_lock(self._tree, self._lock, what=f"the sessions in {self.root.name} are")

    def scan(self, under: Collection[str] | None = None) -> Scan:
        """Scan all session files, or only the paths `under`: files, or folders of months.

        Among files of the same name in several months, the first counts; the others are skipped. A
        missing root holds no files. Raises PathRefused if the root cannot be listed.
        """
        unreadable: list[str] = []
        months = self._months()
        names = _names_under(under)
        found = (file for month in months for file in self._files_of(month, names, unreadable))
        by_name = by_key((file.path.partition("/")[2], file) for file in found)
        files = []
        for first, *others in by_name.values():
            files.append(first)
            files += [replace(each, skip_reason=f"{first.path} is the same") for each in others]
        return Scan(
            files=tuple(sorted(files, key=lambda file: file.path)),
            folders=("", *months),
            unreadable=tuple(unreadable),
        )

    def _ids(self) -> Iterator[str]:
        """Yield the id of each session file, by its name alone: no file is opened or looked at."""
        for month in self._months():
            with suppress(OSError):
                yield from filter(None, map(_id_in, os.listdir(self.root / month)))  # noqa: PTH208

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
            raise system_error(error, self.root) or PathRefused(
                f"{self.root} cannot be read: {error.strerror}", hint="check its permissions"
            ) from error

    def _files_of(
        self, month: str, names: frozenset[str] | None, unreadable: list[str]
    ) -> Iterator[SourceFile]:
        """Yield the session files of `month`, or those in `names`; note errors in `unreadable`."""
        folder = self.root / month
        try:
            listed: Collection[str] = names or ()
            if names is None or len(names) > FEW_NAMES:
                listed = [each for each in os.listdir(folder) if names is None or each in names]  # noqa: PTH208
        except FileNotFoundError:
            return
        except OSError:
            unreadable.append(month)
            return
        for name in sorted(listed):
            if not _id_in(name):
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


def _id_in(name: str) -> str:
    """Return the id of the session in a file of that name, "" for another file."""
    session_id = name.removesuffix(_ENDING)
    return session_id if session_id != name and SESSION_ID.fullmatch(session_id) else ""


def check_size(document: Mapping[str, Any]) -> None:
    """Raise SessionInvalid if `document` is too large for a file even without blanks and breaks.

    Takes a fifth of the time of making the file.
    """
    _check_size(len(msgspec.json.encode(document)))


def _check_size(size: int) -> None:
    if size > MAX_SESSION_BYTES:
        raise SessionInvalid(
            f"the session takes {size >> 20} MiB as a file",
            hint=f"{MAX_SESSION_BYTES >> 20} MiB are allowed; save it in parts",
        )


def new_path(session_id: str, *, began_at: int) -> str:
    """Return the path of a session that has no file yet and began at `began_at`, epoch ms."""
    return f"{iso_utc(began_at)[:7]}/{session_id}{_ENDING}"


def unknown_session(session_id: str) -> NotFound:
    return NotFound(
        f"there is no session {session_id[:128]!r}", hint="`memory-sidecar session list` shows all"
    )


def _names_under(under: Collection[str] | None) -> frozenset[str] | None:
    """Return the names of the files in `under`; `None` for all if a folder is among them."""
    if under is None or any(path == "" or _MONTH.fullmatch(path) for path in under):
        return None
    return frozenset(path.rpartition("/")[2] for path in under)
