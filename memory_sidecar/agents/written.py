"""Indexes the files that a caller just wrote, so that they are found when its call returns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from memory_sidecar.core.errors import ModelError, UsageError, as_sidecar_error
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter
from memory_sidecar.index.database import STORE_PATIENCE_S, Database
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.embed import count_waiting
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import ScanScope

AT_ONCE, AT_ONCE_S = 64, 1.0  # how many texts a caller waits for to be embedded, and how long
EMBED_WITHIN_S = 10.0  # how long a caller waits for vectors that no daemon makes

_log = logging.getLogger(__name__)


def index_paths(
    database: Database[Any],
    source: Source,
    under: Collection[str],
    reporter: Reporter,
    *,
    first: Callable[[Reporter], None],
    is_done: Callable[[], bool],
) -> None:
    """Index the files at the paths `under` of `source`.

    Calls `first` before, under the lock. Embeds the texts, too, if there is a model and time, and
    in a process that watches only a few of them: it embeds the others later, as questions do
    elsewhere. `is_done()` tells whether another writing process has indexed the files.
    """
    owner, began = database.owner, monotonic()

    def work(reporter: Reporter) -> None:
        first(reporter)
        owner.refresh(source, reporter, ScanScope(under=under))
        with suppress(ModelError):
            waits = database.is_watching and (is_late() or count_waiting(database.open()) > AT_ONCE)
            if not waits:
                owner.embed(reporter, parts=[(source.name, "")], until=is_late)

    def is_late() -> bool:
        within_s = AT_ONCE_S if database.is_watching else EMBED_WITHIN_S
        return monotonic() > began + within_s

    owner.loop.ask(
        work, reporter, urgency=Urgency.SHORT, patience_s=STORE_PATIENCE_S, is_redundant=is_done
    )
    owner.watch(source)
    owner.embed_soon()


@contextmanager
def as_notice(database: Database[Any], reporter: Reporter) -> Iterator[None]:
    """Turn an error of the block into a notice: the files are written, but not indexed yet."""
    try:
        yield
    except UsageError:  # it refuses the database
        raise
    except Exception as error:
        named = error if isinstance(error, Stopped) else as_sidecar_error(error, hint="")
        if named is not error:
            _log.warning("%s: %s", database.paths.db.stem, named, exc_info=error)
        reporter.notice(f"written, but not indexed yet: {named}")
