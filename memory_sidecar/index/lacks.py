"""What an answer lacks of the files on disk: a question waits for it a while, and says the rest."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memory_sidecar.core.errors import CannotWrite, NotFound, PathRefused, StoreBusy
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter, name_all
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.disk.roots import problem_of
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.index_run import index_sources
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import SourceState, known_sources, scanned_sources
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
    """Have `owner` index `missing` sources, as `Database.snapshot` says; `known` were begun.

    Waits for another process for `patience_s`, and so long for the rows in one that watches, which
    waits for the first scan of the sources `unscanned`, too.
    """
    owner.watch(*missing)
    is_watching = owner.loop.runs_in_background
    has_rows = not set(known).isdisjoint(wanted or known)
    if is_watching and (has_rows or not patience_s):
        _await_scans(owner, unscanned, patience_s)
        for source in missing:
            if (live := owner.states().get(source.name)) and live.error:
                reporter.notice(f"{source.name} cannot be indexed: {live.error}")
        return

    def work(reporter: Reporter) -> None:
        with owner.file.open().reading() as connection:  # another request may have built them
            known = known_sources(connection)
        if still_missing := [each for each in missing if each.name not in known]:
            index_sources(owner, still_missing, reporter, embed=embeds and not is_watching)

    wait_s = patience_s if is_watching else math.inf
    try:
        owner.loop.ask(work, reporter, urgency=Urgency.LONG, patience_s=patience_s, wait_s=wait_s)
    except (NotFound, PathRefused, CannotWrite, Stopped, TimeoutError) as error:
        if not has_rows and not isinstance(error, (StoreBusy, Stopped, TimeoutError)):
            raise
        reporter.notice(f"{error}: answering from what is indexed")


def notice_lacks(
    asked: Sequence[Source],
    known: Mapping[str, SourceState],
    reporter: Reporter,
    *,
    live: Mapping[str, LiveState],
    called: str,
    remedy: str,
) -> None:
    """Give notice of what the rows of the sources `asked` lack, of those `known` to have any.

    `live` has the watched sources. Those asked are `called` something as a whole, or each by its
    name. `remedy` ends a rebuild.
    """
    begun, rebuilt, late = list[str](), list[str](), list[str]()
    for source in asked:
        if (state := known.get(source.name)) is None:
            continue
        watched = live.get(source.name)
        if not state.scanned_at:
            begun.append(source.name)
        elif not state.chunker:
            rebuilt.append(source.name)
        elif watched and watched.is_unscanned:
            late.append(source.name)
        if problem := watched.problem if watched else problem_of(source):
            reporter.notice(f"{problem}: answering from what was indexed of {source.name}")

    def notice(names: Sequence[str], what: str) -> None:
        if names:
            reporter.notice(f"{name_all([called] if called else sorted(names))} {what}")

    notice(begun, "not completely indexed yet: ask again for what this answer lacks")
    notice(
        rebuilt,
        "being rebuilt: answering from what was indexed before; if that was interrupted,"
        f" `{remedy}` ends it",
    )
    notice(late, "being rescanned: answering from the last state")


def _await_scans(owner: Owner[Any], names: Collection[str], patience_s: float) -> None:
    """Wait for the first scan of the watched sources `names`, or for an error, for `patience_s`.

    No longer than REST_S once each has rows.
    """
    waited = [each for each in owner.watched_sources() if each.source.name in names]
    now_s = began_s = time.monotonic()
    while now_s < began_s + patience_s:
        with owner.file.open().reading() as connection:
            done = scanned_sources(connection)
            if now_s > began_s + REST_S:
                done |= _with_rows(connection)
        if done.issuperset(each.source.name for each in waited if not each.error):
            return
        time.sleep(POLL_S)
        now_s = time.monotonic()


def _with_rows(connection: Connection) -> set[str]:
    """Return the names of the sources that have files."""
    has_file = "SELECT name FROM sources WHERE EXISTS (SELECT 1 FROM files WHERE source = name)"
    return set(column(connection, has_file))
