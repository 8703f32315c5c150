"""Changes to a source of a database as a whole: it is rebuilt, forgotten or moved."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memory_sidecar.core.errors import NotFound, StoreCorrupt
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import IndexReport, Reporter
from memory_sidecar.core.sqlite import damage_of
from memory_sidecar.disk.registry import Registry
from memory_sidecar.index.database import INDEX_PATIENCE_S, STORE_PATIENCE_S, Database
from memory_sidecar.index.engine_state import drop_aside, remove_state

MOVED_SAMPLE = 100  # files, so that a slow disk is asked for few


def rebuild(
    database: Database[Any], sources: Sequence[Source], *, all_of_it: bool, reporter: Reporter
) -> IndexReport:
    """Derive every row of `sources` again; each old row stays until its file is done.

    `all_of_it` also sets a damaged database aside. Raises NotFound for a source whose files cannot
    be read, once the others are rebuilt; notices tell of further ones.
    """
    paths = database.paths

    def begin(_: Reporter) -> tuple[list[Source], list[NotFound]]:
        store = database.open()
        if all_of_it and (damage := damage_of(paths.db)):
            raise StoreCorrupt(f"{paths.db} is damaged: {damage}", path=paths.db)
        readable, problems = list[Source](), list[NotFound]()
        for source in sources:
            try:
                if store.paths(source.name) and not database.builder(source).trusts_empty_root:
                    _require_files(source)
                readable.append(source)
            except NotFound as error:
                problems.append(error)
        for source in readable:  # without its state, the next pass derives every row again
            remove_state(paths.flow_state(source.name))
        return readable, problems

    readable, problems = database.ask(begin, reporter, patience_s=INDEX_PATIENCE_S)
    report = database.update(readable, reporter, embed=True) if readable else None
    for problem in problems[1:]:
        reporter.notice(problem.with_hint)
    if problems or report is None:
        raise problems[0]
    return report


def may_have_moved(database: Database[Any], source: Source, root: Path) -> bool:
    """Whether half of the files known of `source`, or more, by a sample of them, are in `root`."""
    paths = database.open().paths(source.name)
    sample = paths[:: max(len(paths) // MOVED_SAMPLE, 1)]
    there = sum(os.path.lexists(root / path) for path in sample)
    return 0 < len(sample) <= 2 * there


def _require_files(source: Source) -> None:
    """Raise NotFound if the root of `source` is unreadable or empty: its rows would be lost."""
    try:
        if any(source.root.iterdir()):
            return
        why = "is empty"
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    raise NotFound(
        f"{source.root} {why}, so its index stays as it was",
        hint="mount its disk again, allow to read it, or "
        f"`memory-sidecar source move` or `source remove {source.name}`",
    )


def forget(database: Database[Any], name: str, registry: Registry, *, reporter: Reporter) -> Source:
    """Delete the derived rows of a source, then its entry; return that. Raises NotFound."""
    source = registry.get(name)

    def work() -> Source:
        remove_state(database.paths.flow_state(name))
        if database.paths.db.exists():
            database.open().forget_source(name)
        drop_aside(database.paths)
        with suppress(NotFound):  # the list was emptied: its sources are then those with rows
            registry.remove(name)
        return source

    return _change(database, name, work, reporter)


def move(
    database: Database[Any],
    name: str,
    root: Path,
    registry: Registry,
    *,
    force: bool,
    reporter: Reporter,
) -> Source:
    """Point a source to `root`, where its folder was moved; return its new entry.

    Its rows stay. Raises as `Registry.move`.
    """

    def work() -> Source:
        moved = registry.move(name, root, force=force)
        if database.paths.db.exists():
            database.open().move_source(name, moved.root)
        return moved

    return _change(database, name, work, reporter)


def _change(
    database: Database[Any], name: str, work: Callable[[], Source], reporter: Reporter
) -> Source:
    """Stop watching a source, then have the owner run `work`, which changes its entry and rows."""

    def unwatched(_: Reporter) -> Source:
        database.owner.unwatch(name)  # again: a pass may have begun meanwhile
        return work()

    database.owner.unwatch(name)
    try:
        return database.ask(unwatched, reporter, patience_s=STORE_PATIENCE_S)
    finally:
        database.owner.watch(*database.sources())  # as it is registered now, changed or not
