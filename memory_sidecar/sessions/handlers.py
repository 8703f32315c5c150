"""The sessions of one agent: the file first, then the database, and then the answer.

A session that was saved is on disk and can be found by its words when the call returns, and by
meaning at once or, where it is long, soon. Killed in between, the file is there, and the next look
at the folder indexes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from memory_sidecar.core.credentials import mask_document, refuse_credentials
from memory_sidecar.core.errors import (
    MemvidFailed,
    NotFound,
    SessionInvalid,
    SidecarError,
    UsageError,
)
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.opening import read_user_file
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.short_names import is_another_whole_name, sole_match
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import compact_utc, iso_utc
from memory_sidecar.index.agent_database import AgentDatabase, Ask
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.models import judge_with
from memory_sidecar.index.report import count_vectors
from memory_sidecar.index.schema import Corpus
from memory_sidecar.sessions.documents import Completed, completed, identified, read_session
from memory_sidecar.sessions.files import SessionFiles, StoredSession, unknown_session
from memory_sidecar.sessions.lookup import CORPUS_OF, list_sessions
from memory_sidecar.sessions.model import SessionFilter, SessionQuery
from memory_sidecar.sessions.mv2 import Memvid, entry_document
from memory_sidecar.sessions.results import (
    FailedImport,
    Head,
    Imported,
    Saved,
    SessionDeleted,
    SessionHit,
    SessionsPruned,
)
from memory_sidecar.sessions.retention import Retention, expired
from memory_sidecar.sessions.search import search_sessions
from memory_sidecar.sessions.store import SESSIONS
from memory_sidecar.sessions.together import resumed
from memory_sidecar.sessions.transcripts import sessions_in

T = TypeVar("T")

MEMVID_SUFFIX = ".mv2"
MAX_IMPORT_BYTES = 256 << 20  # of one file, which may hold many sessions


class Sessions:
    """The sessions of `agent`, for one call."""

    def __init__(self, agent: AgentDatabase, reporter: Reporter) -> None:
        self.agent = agent
        self._clock = agent.clock
        self._reporter = reporter
        self._files = SessionFiles(agent.paths.sessions, agent.paths.tree)
        self._lock = agent.paths.sessions_lock

    # One session

    def save(self, document: Mapping[str, Any], *, allow_secrets: bool = False) -> Saved:
        """Save the session in `document`, new or in place of the one with its id.

        Saving the same again changes nothing. Raises SessionInvalid and SecretRefused with the
        field's name.
        """
        if not allow_secrets:
            refuse_credentials(document)
        with self._files.changing(self._lock):
            saved = self._write(document)
        self._take_up([saved.path])
        return saved

    def add_summary(self, session_id: str, summary: Mapping[str, Any]) -> None:
        """Give the session `summary`, if it has none by now. Raises NotFound."""
        whole = self._whole(session_id)
        with self._files.changing(self._lock):
            document = self._stored(whole).document
            if document.get("summary"):
                return
            saved = self._write({**document, "summary": dict(summary)})
        self._take_up([saved.path])

    def find(self, session_id: str) -> StoredSession | None:
        """The session as its file says, if there is one."""
        return self._files.load(session_id)

    def get(self, session_id: str) -> StoredSession:
        """The session as its file says; the first letters of its id suffice.

        Raises NotFound, and UsageError where these are of several.
        """
        return self._stored(self._whole(session_id))

    def delete(self, session_id: str) -> SessionDeleted:
        """Remove the session and everything derived from it, for good. Raises as `get`."""
        whole = self._whole(session_id)
        if is_another_whole_name(session_id, whole):
            raise NotFound(f"there is no session {session_id}", hint=f"{whole} exists: name all")
        self._stored(whole)  # before a lock makes the folders of an agent
        with self._files.changing(self._lock):
            path = self._files.delete(whole)
        self._take_up([path])
        return SessionDeleted(whole, path)

    # Many

    def search(self, query: SessionQuery) -> list[SessionHit]:
        """The best hits for `query`. Says by notice what could not be taken into account.

        None where no session was ever saved. Raises ModelMissing in vector mode without a model.
        """
        if not query.text.strip():
            raise UsageError("the query is empty", hint="say what you are looking for")

        corpora = [CORPUS_OF[kind] for kind in query.kinds if query.mode is not SearchMode.KEYWORD]

        def answer(store: DerivedStore, connection: Connection) -> list[SessionHit]:
            embed_query = None
            if corpora:
                embed_query = self.agent.data.embed_query(
                    connection,
                    count_vectors(connection, corpora),
                    self._reporter,
                    required=query.mode is SearchMode.VECTOR,
                )
            return search_sessions(
                query,
                connection,
                store=store,
                embed_query=embed_query,
                judge=judge_with(self.agent.data.models, self._reporter) if query.rerank else None,
            )

        return self._read(answer, *corpora)

    def listed(
        self, wanted: SessionFilter, *, limit: int | None = None, offset: int = 0
    ) -> list[Head]:
        """The sessions that satisfy `wanted`, the latest first."""
        return self._read(
            lambda _, connection: list_sessions(connection, wanted, limit=limit, offset=offset)
        )

    def prune(self, keep: Retention, *, dry_run: bool) -> SessionsPruned:
        """Move the sessions that `keep` lets go into the archive; a dry run only tells which.

        One that was saved or deleted meanwhile stays as it is.
        """
        chosen = expired(self.listed(SessionFilter()), keep, now=self._clock())
        if dry_run or not chosen:
            return SessionsPruned(dry_run, tuple(chosen))
        paths = self.agent.paths
        archive = SessionFiles(paths.archive / compact_utc(self._clock()) / SESSIONS, paths.tree)
        moved: list[str] = []
        try:
            with self._files.changing(self._lock):
                chosen = [each for each in chosen if self._is_as_listed(each)]
                moved += (self._files.archive(each.session_id, archive) for each in chosen)
        finally:
            self._take_up(moved)
        return SessionsPruned(dry_run, tuple(chosen))

    def _is_as_listed(self, listed: Head) -> bool:
        try:
            stored = self._files.load(listed.session_id)
            return stored is not None and (
                iso_utc(read_session(stored.document).updated_at) == listed.updated_at
            )
        except SessionInvalid:
            return False

    def import_files(
        self, files: Sequence[Path], environ: Mapping[str, str], *, allow_secrets: bool = False
    ) -> Imported:
        """Save every session in `files`: JSON, transcripts, or what memvid has in an `.mv2`.

        A session that is here already keeps what the file does not tell, every message included.
        Secrets are masked: a transcript was not written to be stored, and is worth keeping in spite
        of a line. A file that cannot be read is left out; where all of them are, raises the error
        of the first. After any other error, such as a full disk, what was saved by then stays.
        """
        saved: list[Saved] = []
        failed: list[tuple[Path, SidecarError]] = []
        try:
            for done, file in enumerate(files, start=1):
                try:
                    for each in self._import(file, environ, allow_secrets=allow_secrets):
                        saved.append(each)  # noqa: PERF402  also what is written before it fails
                except (NotFound, UsageError, MemvidFailed) as error:
                    failed.append((file, error))
                self._reporter.progress("files", done, len(files))
        except BaseException:
            if saved:
                told = f"{len(saved)} of the sessions are in"
                self._reporter.notice(f"{told}; run the same command again for the others")
            raise
        finally:
            self._take_up([each.path for each in saved])
        if failed and not saved:
            raise failed[0][1]
        for _, why in failed:
            self._reporter.notice(why.with_hint)
        return Imported(
            tuple(saved), tuple(FailedImport(file.as_posix(), why.message) for file, why in failed)
        )

    def _import(
        self, file: Path, environ: Mapping[str, str], *, allow_secrets: bool
    ) -> Iterator[Saved]:
        documents = self._documents_in(file, environ)
        if not allow_secrets:
            documents, masked = mask_document(documents)
            if masked:
                self._reporter.notice(f"{file.name}: masked {masked} that look like secrets")
        try:
            for document in documents:
                self._completed(document, resumes=True)
        except SessionInvalid as error:
            raise SessionInvalid(f"{file.name}: {error.message}", hint=error.hint) from error
        for document in documents:
            with self._files.changing(self._lock):
                saved = self._write(document, resumes=True)
            yield saved

    def _documents_in(self, file: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
        if file.is_dir():
            raise UsageError(f"{file} is a folder", hint="name its files, such as FOLDER/*.jsonl")
        if not file.is_file():
            raise NotFound(f"{file} is not there", hint="name a JSON, JSONL or .mv2 file")
        if file.suffix == MEMVID_SUFFIX:
            return self._entries_of(file, environ)
        try:
            imported = sessions_in(read_user_file(file, MAX_IMPORT_BYTES), name=file.name)
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error
        if imported.problems:
            self._reporter.notice(f"{file.name}: {' and '.join(imported.problems)}, left out")
        return list(imported.documents)

    def _entries_of(self, file: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
        memvid = Memvid.find(environ)
        if memvid is None:
            raise UsageError(
                f"reading {file.name} needs memvid, which is not on the PATH",
                hint="`npm install -g memvid-cli` installs it",
            )
        documents = [entry_document(each) for each in memvid.entries(file) if each.text.strip()]
        # What was put into both is here already, without what memvid loses of it.
        known = [self._files.load(document["session_id"]) for document in documents]
        return [k.document if k else d for k, d in zip(known, documents, strict=True)]

    @property
    def are_there(self) -> bool:
        """Whether a session was ever saved, on this machine or by its team."""
        self.agent.pull_from_team(self._reporter)
        return self.agent.paths.sessions.is_dir()

    # How

    def _stored(self, session_id: str) -> StoredSession:
        if (stored := self._files.load(session_id)) is None:
            raise unknown_session(session_id)
        return stored

    def _whole(self, session_id: str) -> str:
        """The id that `session_id` is, or is the beginning of.

        Not to be called with `changing` held: what a team has is taken first.
        """
        self.agent.pull_from_team(self._reporter)
        if self._files.find(session_id) is not None:
            return session_id
        return sole_match(session_id, self._files.beginning(session_id)) or session_id

    def _read(self, ask: Ask[list[T]], *embedded: Corpus) -> list[T]:
        """What `ask` reads of one commit; nothing where no session was ever saved."""
        if not self.are_there:
            name = self.agent.name
            self._reporter.notice(
                f"{name} has no sessions yet; `memory-sidecar session save FILE --agent {name}` "
                "saves one"
            )
            return []
        return self.agent.answer(ask, self._reporter, *embedded)

    def _completed(self, document: Mapping[str, Any], *, resumes: bool) -> Completed:
        session_id = identified(document, now=self._clock())
        known = self._files.load(session_id)
        before = known.document if known else None
        if before is not None and resumes:
            document = resumed(document, before)
        return completed(document, before, session_id=session_id, now=self._clock())

    def _write(self, document: Mapping[str, Any], *, resumes: bool = False) -> Saved:
        """Called with `changing` held. `resumes` keeps what the document does not tell."""
        done = self._completed(document, resumes=resumes)
        session = done.session
        path = self._files.find(session.session_id)
        is_new = path is None
        if path is None or done.is_changed:
            path = self._files.write(session.session_id, done.document, began_at=session.created_at)
        return Saved(
            session_id=session.session_id,
            agent=self.agent.name,
            path=path,
            created=is_new,
            changed=done.is_changed,
            created_at=iso_utc(session.created_at),
            message_count=len(session.messages),
            snippet_count=len(session.code_snippets),
            has_summary=session.summary is not None,
        )

    def _take_up(self, paths: Sequence[str]) -> None:
        if paths:
            self.agent.index_written(paths, reporter=self._reporter, directory=SESSIONS)
