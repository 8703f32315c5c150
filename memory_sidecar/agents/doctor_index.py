"""What `doctor` looks at in every database that is derived from files, the code's and each agent's.

What is still being done is no fault: it is told with how far it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import damage_of
from memory_sidecar.index.database import Database
from memory_sidecar.index.report import SourceCounts, count_pending, count_rows, count_sources


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the doctor."""

    check: str
    ok: bool
    text: str
    hint: Annotated[str, about("a next step, or empty")] = ""
    agent: Annotated[str, about("whose database it is about, or empty")] = ""
    remedy: Annotated[str, about("what --fix does about it: rebuild, index, or empty")] = ""


def examine_index(data: Database[Any], agent: str = "") -> list[Check]:
    """Its file, its sources and its vectors; where the file is damaged, nothing else.

    `agent` is whose database it is, "" for the code's. Never raises SidecarError.
    """
    check = f"agent {agent}" if agent else "database"
    try:
        return _examine(data, agent, check)
    except SidecarError as error:
        remedy = "rebuild" if error.code == "store_corrupt" else ""
        return [Check(check, False, error.message, error.hint, agent, remedy)]


def _examine(data: Database[Any], agent: str, check: str) -> list[Check]:
    db = data.paths.db
    if not db.exists():
        hint = "the next access makes it again from the files"
        return [Check(check, True, f"{db} is not there", hint, agent, "index")]
    if damage := damage_of(db):
        hint = f"`memory-sidecar reindex {f'--agent {agent}' if agent else '--all'}` makes it again"
        return [Check(check, False, f"{db} is damaged: {damage}", hint, agent, "rebuild")]
    store = data.open()
    with store.reading() as connection:
        counts = count_sources(connection)
        rows = count_rows(connection, store.SCHEMA.corpora)
        pending = count_pending(connection, store.SCHEMA.corpora)
    text = f"{db}, {rows:,} {'texts' if agent else 'chunks'}"
    return [
        Check(check, True, text, agent=agent),
        _sources(data, agent, counts),
        _vectors(data, agent, rows, pending),
    ]


def _sources(data: Database[Any], agent: str, counts: Sequence[SourceCounts]) -> Check:
    check = _named("sources", agent)
    sources = data.sources()
    if absent := [source.name for source in sources if not source.root.is_dir()]:
        option = f" --agent {agent}" if agent else ""
        removing = (f"`memory-sidecar source remove {name}{option}`" for name in absent)
        return Check(
            check, False, f"not there: {', '.join(absent)}; what was indexed of them stays",
            f"bring them back, or {', '.join(removing)}", agent=agent,
        )  # fmt: skip
    scanned = {source.name for source in counts if source.scanned_at}
    unscanned = [source.name for source in sources if source.name not in scanned]
    under_way = _under_way(data)
    if left := [name for name in unscanned if name not in under_way]:
        text = f"never indexed to the end: {', '.join(left)}"
        return Check(check, False, text, _indexing(agent), agent, "index")
    failed = sum(source.failed for source in counts)
    if failed and not agent:  # the files of an agent are told of one by one
        return Check(
            check, False, f"{failed} files could not be indexed",
            "`memory-sidecar status --failed` names them; `memory-sidecar index` tries again",
            remedy="index",
        )  # fmt: skip
    if unscanned:
        text = "; ".join(f"{name} is being indexed{under_way[name]}" for name in unscanned)
        return Check(check, True, text, agent=agent)
    return Check(check, True, f"{len(sources)} registered, all indexed", agent=agent)


def _vectors(data: Database[Any], agent: str, rows: int, pending: int) -> Check:
    check = _named("vectors", agent)
    if not pending:
        return Check(check, True, f"all {rows:,} are there", agent=agent)
    text = f"{pending:,} of {rows:,} are not there yet"
    if problem := data.models.problem:
        return Check(check, False, f"{text}: {problem.message}", problem.hint, agent=agent)
    if data.is_tended or data.owner.other_writer():
        done = 100 * (rows - pending) // rows
        return Check(check, True, f"{text}, {done} % done", agent=agent)
    return Check(check, False, text, _indexing(agent), agent, "index")


def _under_way(data: Database[Any]) -> dict[str, str]:
    """The sources that are being indexed at this moment, with how far that is."""
    if not data.is_tended:
        is_elsewhere = data.owner.other_writer()
        return {s.name: " by another process" for s in data.sources()} if is_elsewhere else {}
    return {
        name: (
            f", {100 * live.indexing.files_done // live.indexing.files_total} % done"
            if live.indexing
            else ""
        )
        for name, live in data.states().items()
        if not (live.is_current or live.error)
    }


def _named(check: str, agent: str) -> str:
    return f"agent {agent}, {check}" if agent else check


def _indexing(agent: str) -> str:
    command = f"reindex --agent {agent}" if agent else "index --wait dense"
    return f"run `memory-sidecar {command}`"
