"""Builds documents from an agent's session files, as a pass over a source asks.

An invalid session file is skipped with the field that is wrong as the reason, and built again as
soon as it changes. `index.source` shows the whole pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.model import Document, FileStatus, Scan, Source, SourceFile, Stamp
from memory_sidecar.index.document import Builder, build_errors, fingerprint, skipped_document
from memory_sidecar.sessions.documents import parse_document, read_session
from memory_sidecar.sessions.files import SessionFiles
from memory_sidecar.sessions.model import Session
from memory_sidecar.sessions.store import VERSION, SessionDocument, make_findable


class SessionBuilder(Builder):
    """Builds documents from the session files of one agent."""

    version = VERSION
    # The files lie beside the database, so absent ones were deleted: no unmounted disk holds them.
    trusts_empty_root = True

    def __init__(self, source: Source) -> None:
        self._source = source
        self._files = SessionFiles(source.root)

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        del known  # only sources with ignore rules use it
        return self._files.scan(under)

    def build(self, file: SourceFile) -> Document:
        try:
            with build_errors():
                data = self._files.read_bytes(file.path)
            session = _session_named(file.path, data)
        except SessionInvalid as error:
            return skipped_document(self._source, file, error.message, version=VERSION)
        return SessionDocument(
            source=self._source.name,
            file=file,
            fingerprint=fingerprint(VERSION, hashlib.sha256(data).hexdigest()),
            language="json",
            status=FileStatus.INDEXED,
            session=session,
            found=make_findable(session),
        )


def _session_named(path: str, data: bytes) -> Session:
    """Read the session in `data`. Raises SessionInvalid, also if its id is not its file's name."""
    session = read_session(parse_document(data))
    if session.session_id != PurePosixPath(path).stem:
        raise SessionInvalid(f"session_id: is {session.session_id!r}, not the name of the file")
    return session
