"""Saves, searches, imports and prunes the sessions of one agent.

A change writes the file first, then the database, and then answers. A saved session is on disk and
can be found by its words when the call returns, and by meaning too, or soon after if it is long.
After a kill in between, the file is there, and the next scan of the folder indexes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from memory_sidecar.core.credentials import count_masks, mask_document, refuse_credentials
from memory_sidecar.core.errors import (
    MemvidFailed,
    NotFound,
    SessionInvalid,
    SidecarError,
    UsageError,
)
from memory_sidecar.core.results import Reporter, pluralize
from memory_sidecar.core.short_names import is_another_whole_name, sole_match
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import compact_utc, iso_utc
from memory_sidecar.disk.roots import IsDeleted
from memory_sidecar.embedding.models import make_judge
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.asking import Attempt, ask_past_renames
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.report import count_vectors
from memory_sidecar.index.schema import Corpus
from memory_sidecar.sessions.documents import (
    complete_document,
    read_session,
    session_id_of,
    with_known,
)
from memory_sidecar.sessions.files import (
    SessionFiles,
    StoredSession,
    check_size,
    new_path,
    unknown_session,
)
from memory_sidecar.sessions.importing import read_documents
from memory_sidecar.sessions.lookup import CORPUS_OF, list_sessions, noting_unknown
from memory_sidecar.sessions.merge import merge_documents
from memory_sidecar.sessions.model import Required, Session, SessionFilter, SessionQuery
from memory_sidecar.sessions.results import (
    FailedImport,
    Head,
    Imported,
    Saved,
    SessionDeleted,
    SessionHit,
    SessionsPruned,
)
from memory_sidecar.sessions.retention import Retention, expired_sessions
from memory_sidecar.sessions.search import search_sessions
from memory_sidecar.sessions.store import SESSIONS

T = TypeVar("T")


class Sessions:
    """Reads and changes the sessions of `agent`, for one call."""

    def __init__(self, agent: AgentDatabase, reporter: Reporter) -> None:
        self.agent = agent
        self._clock = agent.clock
        self._reporter = reporter
        self._files = SessionFiles.of_agent(agent.paths)

    # One session

    def save(self, document: Mapping[str, Any], *, allow_secrets: bool = False) -> Saved:
        """Save the session in `document`, as a new one or as the one with its id.

        That one keeps what `document` leaves out. Saving the same document again changes nothing.
        Raises SessionInvalid and SecretRefused, which name the field.
        """
        check_size(document)  # refuses what is too large before it is searched for secrets
        if not allow_secrets:
            refuse_credentials(document)
        with self._files.changing():
            saved = self._write(document)
        self._index([saved.path])
        return saved

    def add_summary(self, session_id: str, summary: Mapping[str, Any]) -> None:
        """Add `summary` to the session, unless it has one by now. Raises NotFound."""
        whole = self._complete_id(session_id)
        with self._files.changing():
            document = self._load(whole).document
            if document.get("summary"):
                return
            saved = self._write({**document, "summary": dict(summary)})
        self._index([saved.path])

    def get(self, session_id: str) -> StoredSession:
        """Read the session's file; the beginning of its id suffices.

        Raises NotFound, and UsageError if several ids begin so.
        """
        return self._load(self._complete_id(session_id))

    def delete(self, session_id: str) -> SessionDeleted:
        """Remove the session and everything derived from it, for good. Raises as `get`."""
        whole = self._complete_id(session_id)
        if is_another_whole_name(session_id, whole):
            raise NotFound(f"there is no session {session_id}", hint=f"{whole} exists: name all")
        self._files.path_of(whole)  # raises before the lock would make the folders of an agent
        with self._files.changing():
            paths = self._files.delete(whole)
        self._index(paths)
        return SessionDeleted(whole, paths[0])

    # Many

    def search(self, query: SessionQuery) -> list[SessionHit]:
        """Search the sessions, the best hits first. Notices say what could not be searched.

        Without any sessions there are no hits. Raises UsageError for an empty query, and
        ModelMissing in vector mode without a model.
        """
        query.require_text()
        corpora = [CORPUS_OF[kind] for kind in query.kinds if query.uses_vectors]

        def ask(store: DerivedStore, connection: Connection, attempt: Attempt) -> list[SessionHit]:
            embed_query = None
            if corpora:
                counts, whose = count_vectors(connection, corpora), f"{self.agent.name}'s sessions"
                embed_query = self.agent.data.questions.by_model(
                    connection, counts, attempt, query.mode, whose=whose
                )
            judge = make_judge(self.agent.data.models, attempt) if query.rerank else None
            return search_sessions(
                query,
                connection,
                self._gone(attempt),
                store=store,
                embed_query=embed_query,
                now=self._clock(),
                judge=judge,
            )

        found = self._read(ask, query.filter, *corpora)
        if not found and Required.of(query.text).has_any:
            self._reporter.notice("without quotes and * all words of the query only rank")
        return found

    def list_sessions(
        self, wanted: SessionFilter, *, limit: int | None = None, offset: int = 0
    ) -> list[Head]:
        """List the sessions that satisfy `wanted`, the latest first."""
        return self._read(
            lambda _, connection, attempt: list_sessions(
                connection, wanted, self._gone(attempt), limit=limit, offset=offset
            ),
            wanted,
        )

    def prune(self, keep: Retention, *, dry_run: bool) -> SessionsPruned:
        """Move the sessions that `keep` does not keep into the archive; a dry run only lists them.

        A session that is saved or deleted meanwhile is left alone.
        """
        chosen = expired_sessions(self.list_sessions(SessionFilter()), keep, now=self._clock())
        if dry_run or not chosen:
            return SessionsPruned(dry_run, tuple(chosen), "")
        archive = self.agent.paths.archive / compact_utc(self._clock()) / SESSIONS
        moved: list[str] = []
        try:
            with self._files.changing():
                chosen = [each for each in chosen if self._is_unchanged(each)]
                for each in chosen:
                    moved += self._files.archive(each.session_id, archive)
                self._files.sweep()
        finally:
            self._index(moved)
        return SessionsPruned(dry_run, tuple(chosen), archive.as_posix() if moved else "")

    def _is_unchanged(self, listed: Head) -> bool:
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
        """Save every session in `files`: JSON, transcripts, or `.mv2` files, which memvid reads.

        An import adds to a session that was saved before, and removes nothing from it. Secrets are
        masked, not refused: a transcript was not written to be stored. A file that cannot be read
        is left out, with a notice; if nothing else is saved, raises the error of the first. After
        any other error, such as a full disk, the sessions saved by then stay.
        """
        saved: list[Saved] = []
        failed: list[tuple[Path, SidecarError]] = []
        try:
            for done, file in enumerate(files, start=1):
                try:
                    documents = read_documents(file, environ, self._files, self._reporter)
                    for each in self._import(file.name, documents, allow_secrets=allow_secrets):
                        saved.append(each)  # noqa: PERF402  keeps those saved before an error
                except (NotFound, UsageError, MemvidFailed) as error:
                    failed.append((file, error))
                self._reporter.progress("files", done, len(files))
        except BaseException:
            if saved:
                state = f"{len(saved)} of the sessions are in"
                self._reporter.notice(f"{state}; run the same command again for the others")
            raise
        finally:
            self._index([each.path for each in saved])
        if failed and not saved:
            raise failed[0][1]
        for _, why in failed:
            self._reporter.notice(why.with_hint)
        return Imported(
            tuple(saved), tuple(FailedImport(file.as_posix(), why.message) for file, why in failed)
        )

    def _import(
        self, name: str, documents: list[dict[str, Any]], *, allow_secrets: bool
    ) -> Iterator[Saved]:
        """Save `documents`, of the file called `name`, once all of them are known to be valid."""
        try:
            for document in documents:
                check_size(document)  # refuses what is too large before it is masked
            if not allow_secrets:
                before, documents = count_masks(documents), mask_document(documents)
                if masked := count_masks(documents) - before:
                    found = pluralize(masked, "likely secret")
                    self._reporter.notice(f"{name}: masked {found}")
            for document in documents:
                self._complete(document, resumes=True)
        except SessionInvalid as error:
            raise SessionInvalid(f"{name}: {error.message}", hint=error.hint) from error
        for document in documents:
            with self._files.changing():
                saved = self._write(document, resumes=True)
            yield saved

    def has_any(self) -> bool:
        """Whether the agent has a session, once the team's are downloaded. Raises PathRefused."""
        self.agent.pull_from_team(self._reporter)
        return self._files.has_any

    # Steps

    def _load(self, session_id: str) -> StoredSession:
        if (stored := self._files.load(session_id)) is None:
            raise unknown_session(session_id)
        return stored

    def _complete_id(self, session_id: str) -> str:
        """Return the id that `session_id` names or begins, or `session_id` if there is none.

        Downloads the team's changes first, so it must not be called with `changing` held.
        """
        self.agent.pull_from_team(self._reporter)
        if found := self._files.id_of(session_id):
            return found
        return sole_match(session_id, self._files.ids_starting_with(session_id)) or session_id

    def _read(
        self,
        ask: Callable[[DerivedStore, Connection, Attempt], list[T]],
        wanted: SessionFilter,
        *embedded: Corpus,
    ) -> list[T]:
        """Ask `ask` of one commit of the database; [] with a notice if no session is `wanted`."""
        if not self.has_any():
            name = self.agent.name
            self._reporter.notice(
                f"{name} has no sessions yet; `memory-sidecar session save FILE --agent {name}` "
                "saves one"
            )
            return []

        def attempt_it(attempt: Attempt) -> list[T]:
            told = noting_unknown(
                lambda store, connection: ask(store, connection, attempt), wanted, attempt
            )
            return self.agent.answer(told, attempt, *embedded)

        return ask_past_renames(attempt_it, self._reporter)

    def _gone(self, attempt: Attempt) -> IsDeleted:
        return attempt.noting(self.agent.data, self.agent.deletions())

    def _complete(
        self, document: Mapping[str, Any], *, resumes: bool
    ) -> tuple[dict[str, Any], Session, StoredSession | None]:
        """Return the document to save, its session, and the present file; `None` without one."""
        session_id = session_id_of(document, now=self._clock())
        known = self._files.load_for_saving(session_id)
        before = known.document if known else None
        if before is not None:
            document = (merge_documents if resumes else with_known)(document, before)
        done = complete_document(document, before, session_id=session_id, now=self._clock())
        return *done, known

    def _write(self, document: Mapping[str, Any], *, resumes: bool = False) -> Saved:
        """Write `document` to its file, if it changes that. The caller holds `changing`.

        `resumes`: add to the known messages, instead of replacing them.
        """
        done, session, known = self._complete(document, resumes=resumes)
        path = known.path if known else new_path(session.session_id, began_at=session.created_at)
        is_changed = known is None or done != known.document
        if is_changed:
            self._files.write(path, done)
        return Saved(
            session_id=session.session_id,
            agent=self.agent.name,
            path=path,
            created=known is None,
            changed=is_changed,
            created_at=iso_utc(session.created_at),
            message_count=len(session.messages),
            snippet_count=len(session.code_snippets),
            has_summary=session.summary is not None,
        )

    def _index(self, paths: Sequence[str]) -> None:
        if paths:
            self.agent.index_written(paths, reporter=self._reporter, directory=SESSIONS)
