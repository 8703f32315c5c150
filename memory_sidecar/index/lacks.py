"""What an answer lacks of the files on disk: a question waits for it a while, and says the rest."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memory_sidecar.core.errors import CannotWrite, NotFound, PathRefused, StoreBusy
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter, name_all
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.roots import problem_of
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.index_run import index_sources
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import SourceState, known_sources
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.store_file import StoreFile
from memory_sidecar.index.watched import LiveState


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
    wanted: Collection[str] = (),
    embeds: bool = False,
) -> None:
    """Have `owner` index `missing` sources, as `Database.snapshot` says; `known` have rows.

    Waits for another process for `patience_s`, and so long for the rows in one that watches.
    """
    owner.watch(*missing)
    is_watching = owner.loop.runs_in_background
    has_rows = not set(known).isdisjoint(wanted or known)
    if is_watching and (has_rows or not patience_s):
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
        if not state.scanned_at:
            begun.append(source.name)
        elif not state.chunker:
            rebuilt.append(source.name)
        watched = live.get(source.name)
        if state.scanned_at and watched and watched.is_unscanned:
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
