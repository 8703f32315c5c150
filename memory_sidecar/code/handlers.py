"""One codebase, as commands and tools use it: register sources, index, search, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TypeVar

from memory_sidecar.code.builder import CodeBuilder
from memory_sidecar.code.clones import Clones
from memory_sidecar.code.directory import Line
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.results import CodebaseStatus, CodeHit, SourceStatus, Why
from memory_sidecar.code.rows import CodeRows, LocalRows
from memory_sidecar.code.search import clear_caches, related_chunks, search_code, take_apart
from memory_sidecar.code.shared import Sharing, Team
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.code.store import CHUNKS, CodeStore
from memory_sidecar.code.why import no_source_error, why
from memory_sidecar.core.errors import NoIndex, NotFound, UsageError
from memory_sidecar.core.model import FileStatus, Source
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import IndexReport, ListedFile, Reporter, SourceMoved
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.short_names import known_names
from memory_sidecar.core.times import Clock
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.roots import deletions, readable_folder
from memory_sidecar.embedding.models import Models
from memory_sidecar.index import upkeep
from memory_sidecar.index.asking import Attempt, ask_past_renames
from memory_sidecar.index.database import Database
from memory_sidecar.index.embed import embed_pending
from memory_sidecar.index.report import (
    count_sources,
    count_vectors,
    database_bytes,
    is_indexed,
    known_sources,
    list_files,
    recorded_roots,
)
from memory_sidecar.index.store_file import StoreFile

T = TypeVar("T")
SAVED_MS = 1000  # how long a question that finds no such name waits for what was just saved


class Codebase:
    """A database of code, opened at first use, the registry of its sources, and their sharing."""

    def __init__(
        self,
        paths: StorePaths,
        *,
        settings: Settings,
        models: Models,
        clock: Clock,
        own_folders: Sequence[Path] = (),
        team: Team | None = None,
    ) -> None:
        """`team` shares this code, if there is one.

        `own_folders` hold our own data; they and the database are never indexed.
        """
        self.paths = paths
        self.settings = settings
        recover = partial(recorded_roots, paths.db)
        self.registry = Registry(paths.registry, data_dirs=own_folders, recover=recover)
        self.builder = partial(  # called with a source
            CodeBuilder,
            settings=settings,
            own=(*own_folders, paths.state, *paths.files),
            shared_by=team.source if team is not None else None,
        )
        self.data = Database(
            StoreFile(paths, CodeStore, clock=clock),
            sources=self.registry.all,
            builder=self.builder,
            models=models,
            remedy="memory-sidecar index",
            embed=team.embed if team is not None else embed_pending,
        )
        self.sharing = Sharing(self.registry, self.data, team)

    @property
    def clones(self) -> Clones:
        """The clones of git addresses among the sources."""
        return Clones(self.paths, self.registry)

    def close(self) -> None:
        self.data.close()

    def unload(self) -> None:
        """Free the memory of vectors, paths and names; the next query reads them again."""
        self.data.file.unload()
        clear_caches()

    # Index

    def index(
        self,
        roots: Sequence[Path],
        *,
        reporter: Reporter,
        excludes: tuple[str, ...] = (),
        full: bool = False,
        embed: bool | None = None,
        force: bool = False,
    ) -> IndexReport:
        """Register `roots`, if they are new, and index them: bring rows in line with files.

        Without roots all registered sources are indexed. A root inside a registered source means
        that source, unless a rule leaves it out there. New chunks are embedded before it returns
        unless a daemon does that later; `embed` overrides this for `roots`. See `Registry.add` for
        `force`.
        """
        if excludes and not roots:
            raise UsageError("--exclude needs a PATH", hint="name the folder it applies to")
        sources = [self._register(root, excludes, reporter, force=force) for root in roots]
        sources = list({s.name: s for s in sources}.values()) or self._all_sources()
        sources = [self.sharing.begin_sharing(source, reporter) for source in sources]
        wanted = (roots or True) if embed else embed
        report = self.data.update(sources, reporter, full=full, embed=wanted)
        self.sharing.tell_problems(report.sources, reporter)
        return self.sharing.with_team_counts(report, reporter)

    def rebuild(self, names: Sequence[str], *, reporter: Reporter) -> IndexReport:
        """Rebuild all rows of the sources `names` (all if empty) from their files."""
        sources = [self.registry.get(name) for name in names] or self._all_sources()
        return upkeep.rebuild(self.data, sources, all_of_it=not names, reporter=reporter)

    def remove(self, name: str, *, reporter: Reporter) -> Source:
        """Remove a source: its registration, its rows, and its clone if it was an address."""
        source = upkeep.forget(self.data, name, self.registry, reporter=reporter)
        self.clones.remove(source)
        return source

    def move(
        self, name: str, root: Path, *, reporter: Reporter, force: bool = False
    ) -> SourceMoved:
        """Change the root of the source `name`, and index what differs there. Raises NotFound."""
        source = self.registry.get(name)
        moved = upkeep.move(self.data, name, root, self.registry, force=force, reporter=reporter)
        self.clones.remove(source)
        self.data.update([moved], reporter)
        chunks = next(each.chunks for each in self.status().sources if each.name == moved.name)
        return SourceMoved(moved.name, source.root.as_posix(), moved.root.as_posix(), chunks)

    def missing_sources(self) -> list[Source]:
        """Return the sources whose folder does not exist; perhaps its disk is not mounted."""
        return [source for source in self.registry.all() if not os.path.lexists(source.root)]

    def _register(
        self, root: Path, excludes: tuple[str, ...], reporter: Reporter, *, force: bool
    ) -> Source:
        real = readable_folder(root)
        around = self.registry.containing(real)
        if around is None or around.root == real or self.leaves_out(around, real):
            return self.registry.add(root, excludes=excludes, force=force)
        if excludes:
            raise UsageError(
                f"{root} lies in the source {around.name!r}, which --exclude is for as a whole",
                hint=f"name that: `memory-sidecar index {quote(str(around.root))} --exclude GLOB`",
            )
        reporter.notice(f"{root} lies in the source {around.name!r}: indexing that")
        return around

    def leaves_out(self, source: Source, folder: Path) -> bool:
        """Whether a rule leaves `folder` out of `source`, in which it lies."""
        inside = folder.relative_to(source.root).as_posix()
        return inside not in self.builder(source).scan([inside]).folders

    def _all_sources(self) -> list[Source]:
        if not (sources := self.registry.all()):
            raise NoIndex("no source is registered", hint="run `memory-sidecar index PATH`")
        return sources

    # Search

    def search(self, query: CodeQuery, *, reporter: Reporter) -> list[CodeHit]:
        """Return the best chunks for `query`; a notice names what could not be searched.

        Raises NoIndex if nothing was indexed, NotFound for an unknown source, and ModelMissing
        in vector mode without a model.
        """
        query.require_text()
        return self._ask(partial(self._search, query), reporter)

    def _search(self, query: CodeQuery, reporter: Attempt) -> list[CodeHit]:
        embeds = query.uses_vectors
        with self._open_snapshot(query.filter.sources, reporter, embeds=embeds) as here:
            question, wordings = take_apart(query, here.asked)
            begun = self.data.questions.begin(here.connection, wordings)

            def ask(rows: CodeRows) -> list[CodeHit]:  # while the model works
                embed_query = static = None
                if embeds:
                    static = self.data.questions.by_static(here.connection)
                    embed_query = self.data.questions.by_model(
                        here.connection,
                        rows.vector_counts(),
                        reporter,
                        query.mode,
                        static=static,
                    )
                return search_code(query, rows, question, begun if embed_query else (), static)

            local = LocalRows(here.connection, here.store, query.filter, here.is_deleted)
            hits = self.sharing.ask(ask, local, reporter)
            if not hits:
                here.explain_nothing(query.filter, reporter)
            return here.with_freshness(hits) if query.explain else hits

    def navigate(
        self, wanted: CodeFilter, ask: Callable[[Snapshot], T], *, reporter: Reporter
    ) -> T:
        """Return what `ask` reads from a snapshot, opened for the sources of `wanted`.

        If `ask` raises NotFound, waits for saves that are on their way, and asks once again. Raises
        NoIndex if nothing was indexed, NotFound for an unknown source.
        """

        def answer(attempt: Attempt) -> T:
            with self._open_snapshot(wanted.sources, attempt) as here:
                return here.answer(ask, wanted, attempt)

        try:
            return self._ask(answer, reporter)
        except NotFound:
            states = self.data.states()
            live = [states[name] for name in wanted.sources or states if name in states]
            if not reporter.waits or all(each.is_current or each.error for each in live):
                raise
        self.wait_fresh(wanted.sources, SAVED_MS, reporter=reporter)
        return self._ask(answer, reporter)

    def _ask(self, ask: Callable[[Attempt], T], reporter: Reporter) -> T:
        return self.data.recovering(lambda: ask_past_renames(ask, reporter), reporter)

    def related(
        self, at: Line, wanted: CodeFilter, *, top_k: int, reporter: Reporter
    ) -> list[CodeHit]:
        """Return the chunks most similar to the one at a line, best first; none of its function."""

        def ask(here: Snapshot) -> list[CodeHit]:
            local = LocalRows(here.connection, here.store, wanted, here.is_deleted)
            own = here.function_lines(at)
            why = partial(here.why_unread, at.source, at.path)
            like = partial(related_chunks, at=at, own=own, why=why, top_k=top_k)
            return self.sharing.ask(partial(like, reporter=reporter), local, reporter)

        return self.navigate(wanted, ask, reporter=reporter)

    @contextmanager
    def _open_snapshot(
        self, wanted: Sequence[str], reporter: Attempt, *, embeds: bool = False
    ) -> Iterator[Snapshot]:
        """Open a snapshot for the sources `wanted` (all if empty), with notices of what it lacks.

        Raises NotFound for a source that was never indexed.
        """
        if not (sources := self.registry.all()):
            raise self.no_index_error()
        self.registry.warn_if_lost(reporter)
        snapshot = self.data.snapshot(reporter, sources=sources, wanted=wanted, embeds=embeds)
        with snapshot as (store, connection):
            scanned = {name: each.scanned_at for name, each in known_sources(connection).items()}
            asked = wanted or tuple(scanned)
            for name in asked:
                if name not in scanned:
                    hint = known_names(name, sorted(scanned))
                    raise NotFound(f"no source {name!r} is indexed here", hint=hint)
            live = self.data.states()
            with self.data.models.gate.query():
                roots = {source.name: source.root for source in sources}
                gone = reporter.noting(self.data, deletions(roots))
                yield Snapshot(store, connection, asked, scanned, live, gone, roots, self.why)

    def wait_fresh(self, names: Sequence[str], timeout_ms: int, *, reporter: Reporter) -> None:
        """Barrier: wait until every save before this call is indexed; a notice says if it is not.

        Waits for the sources `names`, all if empty. If none is watched, scans them to the end.
        """
        if self.data.is_watching:
            is_fresh = self.data.wait_fresh(names, patience_s=timeout_ms / 1000)
        else:
            sources = [s for s in self.registry.all() if not names or s.name in names]
            is_fresh = self.data.rescan(sources, reporter, patience_s=timeout_ms / 1000)
        if not is_fresh:
            reporter.notice("not everything is indexed yet: answering from what is")

    def require_source_around(self, folder: Path, *, or_all: bool = False) -> Source:
        """Return the source that contains `folder`. Raises NoIndex, with a hint how to add one.

        `or_all`: the hint tells of --all, too.
        """
        if source := self.registry.containing(folder):
            return source
        raise no_source_error(folder, self.registry.all(), or_all=or_all)

    # Report

    def status(self, reporter: Reporter | None = None) -> CodebaseStatus:
        """Return counts and states of all sources. Raises NoIndex if nothing was indexed."""
        registered = self.registry.all()
        if not self.paths.db.exists() and not registered:
            raise self.no_index_error()
        live = self.data.states()
        with self.data.open_anew(reporter).reading() as connection:
            counted = {counts.name: counts for counts in count_sources(connection)}
            theirs = self.sharing.counts(connection, registered)
            vectors = [count_vectors(connection, [CHUNKS]), *theirs.values()]
            return CodebaseStatus(
                db=self.paths.db,
                db_bytes=database_bytes(self.paths.db),
                sources=tuple(
                    SourceStatus.of(
                        each, counted.get(each.name), live.get(each.name), theirs[each.name]
                    )
                    for each in registered
                ),
                chunks=sum(each.rows for each in vectors),
                vectors_pending=sum(each.pending for each in vectors),
                vectors_per_second=self.data.owner.activity.vectors.per_second,
                last_failure=self.data.owner.activity.last_failure,
            )

    def no_index_error(self) -> NoIndex:
        """Return the error for a question where no source is registered."""
        hint = "run `memory-sidecar index PATH`"
        return NoIndex(f"nothing is indexed in {self.paths.db}", hint=hint)

    def why(self, path: Path) -> Why:
        """Explain whether `path`, absolute, is indexed, and why. Lines may follow, as in a hit."""
        return why(path, self.registry, open_store=self.data.open_anew, builder_of=self.builder)

    def is_indexed(self, source: Source, path: str) -> bool:
        """Whether the file at `path` is indexed, as of the last scan of `source`."""
        with self.data.open_anew().reading() as connection:
            return is_indexed(connection, source.name, path)

    def files(self, status: FileStatus) -> list[ListedFile]:
        """Return all files with that status, with the reason."""
        with self.data.open_anew().reading() as connection:
            return list_files(connection, status)
