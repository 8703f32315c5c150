"""How the session files of an agent become documents; `index.source` tells the whole way.

A file that is no valid session is skipped with the field that is wrong, and built again as soon
as it changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.model import Document, FileStatus, Scan, Source, SourceFile, Stamp
from memory_sidecar.index.document import (
    Builder,
    build_errors,
    fingerprint,
    skipped_document,
)
from memory_sidecar.sessions.documents import parse_document, read_session
from memory_sidecar.sessions.files import SessionFiles
from memory_sidecar.sessions.model import Session
from memory_sidecar.sessions.store import VERSION, SessionDocument, findable


class SessionBuilder(Builder):
    """Builds the session files of one agent."""

    # The files lie beside the database: both are there, or neither is.
    believes_empty = True

    def __init__(self, source: Source) -> None:
        self._source = source
        self._files = SessionFiles(source.root)

    @property
    def version(self) -> str:
        return VERSION

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        del known  # there are no rules to save
        return self._files.scan(under)

    def build(self, file: SourceFile) -> Document:
        try:
            with build_errors():
                data = self._files.read_bytes(file.path)
            session = _session_named(file.path, data)
        except SessionInvalid as error:
            return skipped_document(self._source, file, error.message, version=VERSION)
        return self._document(file, session, hashlib.sha256(data).hexdigest())

    def _document(self, file: SourceFile, session: Session, content_hash: str) -> SessionDocument:
        return SessionDocument(
            source=self._source.name,
            file=file,
            fingerprint=fingerprint(VERSION, content_hash),
            language="json",
            status=FileStatus.INDEXED,
            session=session,
            found=findable(session),
        )


def _session_named(path: str, data: bytes) -> Session:
    """The session in `data`, which is called as its file is."""
    session = read_session(parse_document(data))
    if session.session_id != PurePosixPath(path).stem:
        raise SessionInvalid(f"session_id: is {session.session_id!r}, not the name of the file")
    return session
