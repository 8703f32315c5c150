"""Reads the documents of sessions from a file to import: JSON, a transcript, or an `.mv2` file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.opening import read_user_file
from memory_sidecar.core.paths import MEMVID_SUFFIX
from memory_sidecar.core.results import Reporter
from memory_sidecar.sessions.files import SessionFiles
from memory_sidecar.sessions.mv2 import Memvid, entry_document
from memory_sidecar.sessions.transcripts import read_sessions

MAX_IMPORT_BYTES = 256 << 20  # of one file, which may hold many sessions


def read_documents(
    file: Path, environ: Mapping[str, str], known: SessionFiles, reporter: Reporter
) -> list[dict[str, Any]]:
    """Return the documents of the sessions in `file`; a notice says what in it was left out.

    Those of an `.mv2` file, which memvid reads, are taken from `known` where it has them. Raises
    NotFound, UsageError, and MemvidFailed.
    """
    if file.is_dir():
        raise UsageError(f"{file} is a folder", hint="name its files, such as FOLDER/*.jsonl")
    if not file.is_file():
        raise NotFound(f"there is no file {file}", hint="name a JSON, JSONL or .mv2 file")
    if file.suffix == MEMVID_SUFFIX:
        return _read_mv2(file, environ, known)
    try:
        imported = read_sessions(read_user_file(file, MAX_IMPORT_BYTES), name=file.name)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}", hint="let yourself read it, then import it"
        ) from error
    if imported.problems:
        reporter.notice(f"{file.name}: {' and '.join(imported.problems)}, left out")
    return list(imported.documents)


def _read_mv2(file: Path, environ: Mapping[str, str], known: SessionFiles) -> list[dict[str, Any]]:
    memvid = Memvid.find(environ)
    if memvid is None:
        raise UsageError(
            f"reading {file.name} needs memvid, which is not on the PATH",
            hint="`npm install -g memvid-cli` installs it",
        )
    documents = [entry_document(each) for each in memvid.entries(file) if each.text.strip()]
    # An entry that was put into both is here already, with the parts that memvid loses.
    stored = [known.load(document["session_id"]) for document in documents]
    return [k.document if k else d for k, d in zip(stored, documents, strict=True)]
