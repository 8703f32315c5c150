"""What an answer lacks of the files on disk: a question waits a while, then names what is left."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memory_sidecar.core.errors import CannotWrite, NotFound, PathRefused, StoreBusy
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter, name_all
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.roots import problem_of
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.index_run import IndexRun
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import SourceState, known_sources
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.store_file import StoreFile
from memory_sidecar.index.watched import LiveState

REST_S = 2.0  # how long a question waits for the other rows of a source that has some
POLL_S = 0.05


def known_and_missing(
    file: StoreFile[Any], connection: Connection, sources: Sequence[Source], reporter: Reporter
) -> tuple[set[str], list[Source]]:
    """Return the names of sources that have rows, and the sources that have none, with notices.

    Rows are missing after the database was deleted, damaged, outdated or not built to its end.
    """
    known = known_sources(connection)
    missing = [source for source in sources if source.name not in known]
    if file.take_outdated() and not any(each.scanned_at for each in known.values()):
        reporter.notice(f"{file.path.name} is of an older version: rebuilding it")
    elif missing:
        names = ", ".join(source.name for source in missing)
        reporter.notice(f"{file.path.name} holds nothing of {names}: indexing it")
    return set(known), missing


def with_missing(
    owner: Owner[Any], registered: Sequence[Source], asked: Sequence[Source], reporter: Reporter
) -> list[Source]:
    """Return `asked` and the `registered` sources without rows, unless their watch indexes those.

    Deletes the rows of sources no longer registered, for example because their list was lost.
    """
    names = {source.name for source in asked}
    others = [source for source in registered if source.name not in names]
    store = owner.file.open()
    with store.reading() as connection:
        known, missing = known_and_missing(owner.file, connection, others, reporter)
    for name in known - names - {source.name for source in others}:
        store.forget_source(name)
    owner.watch(*asked, *missing)
    return list(asked) if owner.loop.runs_in_background else [*asked, *missing]


def index_missing(
    owner: Owner[Any],
    known: Collection[str],
    missing: Sequence[Source],
    reporter: Reporter,
    *,
    patience_s: float,
    unscanned: Collection[str] = (),
    wanted: Collection[str] = (),
    embeds: bool = False,
) -> None:
    """Have `owner` index the sources `missing`, as `Database.snapshot` says; `known` were begun.

    Waits up to `patience_s` for another process that writes. A process that watches leaves
    `missing` to its watch, and waits that long for the first scan of the sources `unscanned`. An
    error is only noticed if a source in `wanted`, by default any, has rows to answer from.
    """
    owner.watch(*missing)
    if owner.loop.runs_in_background:
        await_scans(owner, unscanned, reporter, wait_s=patience_s, rest_s=REST_S)
        for source in missing:
            if (live := owner.states().get(source.name)) and live.error:
                reporter.notice(f"{source.name} cannot be indexed: {live.error}")
        return

    def work(reporter: Reporter) -> None:
        with owner.file.open().reading() as connection:  # another request may have built them
            known = known_sources(connection)
        if still_missing := [each for each in missing if each.name not in known]:
            run = IndexRun(owner, still_missing)
            run.pass_over(reporter)
            run.embed(embeds, reporter)

    try:
        owner.loop.ask(work, reporter, urgency=Urgency.LONG, patience_s=patience_s)
    except (NotFound, PathRefused, CannotWrite, Stopped) as error:
        has_rows = not set(known).isdisjoint(wanted or known)
        if not has_rows and not isinstance(error, (StoreBusy, Stopped)):
            raise
        reporter.notice(f"{error}: answering from what is indexed")


def await_scans(
    owner: Owner[Any],
    names: Collection[str],
    reporter: Reporter,
    *,
    wait_s: float,
    rest_s: float = math.inf,
) -> None:
    """Wait for the first scan of the watched sources `names`, or for an error, for `wait_s`.

    Once each source has rows, waits no longer than `rest_s`. These scans go before others, and
    begin anew if they have failed.
    """
    if not (names and wait_s):
        return
    for watched in owner.watched_sources():
        if watched.source.name in names:
            watched.hasten()
    owner.loop.begin(anew=True)
    began_s = time.monotonic()
    while (waited_s := time.monotonic() - began_s) < wait_s:
        states = [state for name, state in owner.states().items() if name in names]
        late = [each for each in states if each.is_unscanned]
        for each in late:
            if each.indexing:
                reporter.progress("files", each.indexing.files_done, each.indexing.files_total)
        if waited_s > rest_s:
            late = [each for each in late if not (each.indexing and each.indexing.files_done)]
        if not late or owner.loop.is_closing.wait(POLL_S):
            return
    if owner.loop.problem:
        reporter.notice(f"{owner.loop.problem}: answering from what is indexed")


def notice_lacks(
    asked: Sequence[Source],
    known: Mapping[str, SourceState],
    reporter: Reporter,
    *,
    live: Mapping[str, LiveState],
    called: str,
    remedy: str,
) -> None:
    """Give notice of what is missing from the rows of the sources `asked` that are `known`.

    `live` has the states of the watched sources. Notices call all of them `called`, or each by its
    name. The command `remedy` ends a rebuild, or a first pass.
    """
    begun, left, rebuilt, late = list[str](), list[str](), list[str](), list[str]()
    for source in asked:
        if (state := known.get(source.name)) is None:
            continue
        watched = live.get(source.name)
        if not state.scanned_at:
            (begun if watched else left).append(source.name)
        elif not state.chunker:
            rebuilt.append(source.name)
        elif watched and watched.is_unscanned:
            late.append(source.name)
        if problem := watched.problem if watched else problem_of(source):
            reporter.notice(f"{problem}: answering from what was indexed of {source.name}")

    def notice(names: Sequence[str], what: str) -> None:
        if names:
            reporter.notice(f"{name_all([called] if called else sorted(names))} {what}")

    unfinished = "not completely indexed yet: ask again for what this answer lacks"
    notice(begun, unfinished)
    notice(left, f"{unfinished}; if that was interrupted, `{remedy}` ends it")
    notice(
        rebuilt,
        "being rebuilt: answering from what was indexed before; if that was interrupted,"
        f" `{remedy}` ends it",
    )
    notice(late, "being rescanned: answering from the last state")
