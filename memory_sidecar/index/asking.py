"""Asks a question once more if rows have lost their files, which may have new names by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.results import Reporter
from memory_sidecar.disk.roots import IsDeleted
from memory_sidecar.index.database import Database

T = TypeVar("T")

RENAMED_PATIENCE_S = 0.5  # a question waits so long for the new names of files that are gone
FEW_FILES = 100  # a pass with more, as after a switch of branches, takes longer than that


class Attempt:
    """The reporter of an attempt to answer, which notes the sources of files that are gone.

    From the first such file on, an attempt that may be repeated keeps its notices: the next one may
    find what they say is missing.
    """

    def __init__(self, reporter: Reporter, *, may_be_repeated: bool) -> None:
        self.waits = reporter.waits
        self._reporter = reporter
        self._may_be_repeated = may_be_repeated
        self._kept: list[str] = []
        self._gone_from: dict[Database[Any], set[str]] = {}

    def notice(self, text: str) -> None:
        if self._may_be_repeated and self._gone_from:
            self._kept.append(text)
        else:
            self._reporter.notice(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._reporter.progress(stage, done, total)

    def noting(self, database: Database[Any], is_deleted: IsDeleted) -> IsDeleted:
        """Return `is_deleted`, for the rows of `database`, that notes the sources of such files."""

        def note(source: str, file: str) -> bool:
            if is_gone := is_deleted(source, file):
                self._gone_from.setdefault(database, set()).add(source)
            return is_gone

        return note

    def index_renamed(self) -> bool:
        """Index the noted sources of watched databases in RENAMED_PATIENCE_S; False if none was."""
        indexed = False
        for database, names in self._gone_from.items():
            if self.waits and database.is_watching and (soon := names - _busy_sources(database)):
                indexed |= database.wait_fresh(soon, patience_s=RENAMED_PATIENCE_S)
        return indexed

    def give_notices(self) -> None:
        """Pass on the notices that were kept."""
        for text in self._kept:
            self._reporter.notice(text)


def _busy_sources(database: Database[Any]) -> set[str]:
    """Return the names of the sources that are under a long pass now."""
    return {
        name
        for name, state in database.states().items()
        if state.indexing and state.indexing.files_total > FEW_FILES
    }


def ask_past_renames(ask: Callable[[Attempt], T], reporter: Reporter) -> T:
    """Return what `ask` answers, once more if files are gone that a watch has indexed anew since.

    `ask` reports to the attempt that it is passed, and looks for deleted files as that notes them.
    """
    attempt = Attempt(reporter, may_be_repeated=True)
    try:
        answer = ask(attempt)
    except NotFound:
        if not attempt.index_renamed():
            attempt.give_notices()
            raise
    else:
        if not attempt.index_renamed():
            attempt.give_notices()
            return answer
    return ask(Attempt(reporter, may_be_repeated=False))
