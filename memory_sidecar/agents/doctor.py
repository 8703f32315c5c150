"""Runs the checks of `doctor`, and repairs what needs no decision of the user.

The checks cover the runtime, the models, every derived database, and the files of agents. Work
under way is no fault: its progress is shown. Memories that are stale, never read or contradicted
are no fault either: they are listed, and left to the user.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.checks import Check, check_data_dir, check_model, check_static
from memory_sidecar.agents.qmd import examine_qmd
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.set_up import examine_set_up
from memory_sidecar.agents.team_status import team_line, team_status
from memory_sidecar.code.builder import unusable_excludes
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.history import unread_histories
from memory_sidecar.core.errors import NoIndex, SidecarError
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.model import Source
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Reporter, name_first, pluralize
from memory_sidecar.core.sqlite import SQLITE_VERSION, Connection, column, damage_of
from memory_sidecar.core.times import system_clock
from memory_sidecar.index.database import Database
from memory_sidecar.index.engine_state import bytes_of, kept_aside
from memory_sidecar.index.report import SourceCounts, VectorCounts, count_sources, count_vectors
from memory_sidecar.memories.archive import Archive
from memory_sidecar.memories.health import DOUBTS, FAULTS, SKIPPED, superseding_each_other
from memory_sidecar.memories.model import address
from memory_sidecar.memories.strength import today
from memory_sidecar.sessions.store import SESSIONS

SHOWN = 5  # names in the text of one check, at most


def examine(services: Services, codebase: Codebase, environ: Mapping[str, str]) -> list[Check]:
    """Run every check; none changes anything. `environ` says which user's coding agents are meant.

    A new check is a function that returns a `Check`, and its line here.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    return [
        Check.passed("runtime", f"Python {version}, SQLite {SQLITE_VERSION} with sqlite-vec"),
        check_data_dir(services.data_dir.root),
        check_model(services),
        check_static(services),
        *examine_team(services),
        *_code(codebase),
        *_excludes(services, codebase),
        *_kept_aside(StorePaths(services.data_dir.embeddings_db)),
        *(check for name in services.agent_names() for check in _agent(services.agent(name))),
        *examine_set_up(environ),
        examine_qmd(environ),
    ]


def repair(
    checks: Sequence[Check], services: Services, codebase: Codebase, *, reporter: Reporter
) -> None:
    """Apply the remedies of `checks`; where several fit one database, the most thorough one.

    If one fails, a notice says so, and the others are applied.
    """
    remedies = by_key((each.agent, each.remedy) for each in checks if each.remedy)
    for name, wanted in remedies.items():
        agent = services.agent(name) if name else None
        try:
            if "rebuild" in wanted:
                (agent.rebuild if agent else partial(codebase.rebuild, ()))(reporter=reporter)
            elif agent:
                agent.data.update(agent.sources(), reporter, embed=True)
            else:
                codebase.index((), reporter=reporter, embed=True)
        except NoIndex:  # there are no files to derive it from
            (agent or codebase).data.start_over(reporter)
        except SidecarError as error:
            reporter.notice(error.with_hint)


def examine_team(services: Services) -> Iterator[Check]:
    """Check that the team's database answers, if there is one, and list the files that differ."""
    if (team := team_status(services)) is None:
        return
    problem = team.problem
    line = team_line(replace(team, agents=()))
    yield Check.failed("team", line, problem.hint) if problem else Check.passed("team", line)
    for each in team.agents:
        if each.unsent:
            hint = f"`memory-sidecar memory push --agent {each.name}` sends it, or says why not"
            yield Check.passed(
                "team", "not all that was changed here is there yet", hint, agent=each.name
            )
        if each.differing:
            text = f"different there: {_shorten([file.path for file in each.differing])}"
            hint = f"`memory-sidecar memory pull --agent {each.name}`, or push; --over decides"
            yield Check.passed("team", text, hint, agent=each.name)


def _code(codebase: Codebase) -> list[Check]:
    try:
        if not (codebase.paths.db.exists() or codebase.registry.all()):
            nothing = codebase.no_index_error()
            return [Check.passed("", nothing.message, nothing.hint)]
    except SidecarError as error:  # of a list of sources that cannot be read
        return [Check.failed("", error.message, error.hint)]
    database, *others = _database(codebase.data, "", partial(_history, codebase))
    if codebase.sharing.team is not None:
        database = replace(database, text=f"{database.text}, beside the team's")
    return [database, *others]


def _history(codebase: Codebase, connection: Connection) -> Sequence[Check]:
    unread = unread_histories(connection, codebase.registry.all())
    text = f"no commits are read of {_shorten(unread)}"
    return [Check.passed("history", text, "searches do without them")] if unread else []


def _excludes(services: Services, codebase: Codebase) -> Iterator[Check]:
    with suppress(SidecarError):  # a list of sources that cannot be read is told by `_code`
        for source in codebase.registry.all():
            for problem in unusable_excludes(source, services.settings):
                yield Check.failed("excludes", problem, "mend it: what it names is indexed")


# Every database that is derived from files, the code's and each agent's


CheckRows = Callable[[Connection], Sequence[Check]]


def _database(data: Database[Any], agent: str, more: CheckRows) -> list[Check]:
    """Check a database's file, sources, watches, vectors and `more`; if damaged, the file alone.

    `agent`: the owner of the database, "" for the code's. Never raises SidecarError.
    """
    try:
        return _examine(data, agent, more)
    except SidecarError as error:
        remedy = "rebuild" if error.code == "store_corrupt" else ""
        return [Check.failed("", error.message, error.hint, agent=agent, remedy=remedy)]


def _examine(data: Database[Any], agent: str, more: CheckRows) -> list[Check]:
    db = data.paths.db
    rebuilds = "the next access rebuilds it from the files"
    if not db.exists():
        return [Check.passed("", f"{db} is not there", rebuilds, agent=agent, remedy="index")]
    if damage := damage_of(db):
        hint = f"`memory-sidecar reindex {f'--agent {agent}' if agent else '--all'}` rebuilds it"
        return [Check.failed("", f"{db} is damaged: {damage}", hint, agent=agent, remedy="rebuild")]
    if data.file.is_outdated and not data.owner.loop.other_writer():
        return [
            Check.passed("", f"{db} is of an older version", rebuilds, agent=agent, remedy="index")
        ]
    store = data.open()
    with store.reading() as connection:
        sources = count_sources(connection)
        vectors = count_vectors(connection, store.SCHEMA.corpora)
        of_rows = more(connection)
    text = f"{db}, {pluralize(vectors.rows, 'text' if agent else 'chunk')}"
    return [
        Check.passed("", text, agent=agent),
        _sources(data, agent, sources),
        *_watches(data, agent),
        _vectors(data, agent, vectors),
        *_kept_aside(data.paths, agent),
        *of_rows,
    ]


def _kept_aside(paths: StorePaths, agent: str = "") -> Iterator[Check]:
    """Yield a check with the size of what was set aside of a damaged or outdated database."""
    if kept := kept_aside(paths):
        size = sum(map(bytes_of, kept))
        text = f"{', '.join(map(str, kept))}: {size / 1e6:,.1f} MB of a damaged or older database"
        hint = "delete it: it is read only if the list of sources is lost"
        yield Check.passed("set aside", text, hint, agent=agent)


def _sources(data: Database[Any], agent: str, counts: Sequence[SourceCounts]) -> Check:
    sources = data.sources()
    if absent := [source.name for source in sources if not _is_there(source)]:
        option = f" --agent {agent}" if agent else ""
        removing = (f"`memory-sidecar source remove {name}{option}`" for name in absent)
        text = f"cannot be entered: {', '.join(absent)}; what was indexed of them stays"
        moving = f"`memory-sidecar source move NAME PATH{option}` where a folder has moved"
        hint = f"bring them back; {moving}, or {', '.join(removing)}"
        return Check.failed("sources", text, hint, agent=agent)
    scanned = {source.name for source in counts if source.scanned_at}
    unscanned = [source.name for source in sources if source.name not in scanned]
    under_way = _progress(data)
    if left := [name for name in unscanned if name not in under_way]:
        text = f"never completely indexed: {', '.join(left)}"
        return Check.failed("sources", text, _index_hint(agent), agent=agent, remedy="index")
    failed = sum(source.failed for source in counts)
    if failed and not agent:  # `_files` names those of an agent
        hint = "`memory-sidecar status --failed` names them; `memory-sidecar index` tries again"
        text = f"{pluralize(failed, 'file')} could not be indexed"
        return Check.failed("sources", text, hint, agent=agent, remedy="index")
    if unscanned:
        text = "; ".join(f"{name} is being indexed{under_way[name]}" for name in unscanned)
        return Check.passed("sources", text, agent=agent)
    return Check.passed("sources", f"{len(sources)} registered, all indexed", agent=agent)


def _is_there(source: Source) -> bool:
    return os.path.isdir(source.root)  # noqa: PTH112  False where a folder above may not be entered


def _watches(data: Database[Any], agent: str) -> Iterator[Check]:
    """Yield a failed check for each existing source that cannot be watched at the moment."""
    there = {source.name for source in data.sources() if _is_there(source)}
    for name, live in data.states().items():
        if name in there and (problem := live.error or live.notice):
            hint = "it is tried again; the log that `memory-sidecar status` names says more"
            if not live.error:
                hint = "a change there is found within seconds, or once its folder can be read"
            yield Check.failed(f"watch of {name}", problem, hint, agent=agent)


def _vectors(data: Database[Any], agent: str, vectors: VectorCounts) -> Check:
    if not vectors.pending:
        return Check.passed("vectors", f"all {vectors.rows:,} exist", agent=agent)
    text = f"{vectors.pending:,} of {vectors.rows:,} are still missing"
    if problem := data.models.problem:
        return Check.failed("vectors", f"{text}: {problem.message}", problem.hint, agent=agent)
    if data.is_watching or data.owner.loop.other_writer():
        return Check.passed("vectors", f"{text}, {vectors.percent} % done", agent=agent)
    # A daemon, the next `index`, or an agent's next query embeds them, so that is no fault.
    return Check.passed("vectors", text, _index_hint(agent), agent=agent, remedy="index")


def _progress(data: Database[Any]) -> dict[str, str]:
    """Map the sources that are being indexed at this moment to their progress in words."""
    if not data.is_watching:
        is_elsewhere = data.owner.loop.other_writer()
        return {s.name: " by another process" for s in data.sources()} if is_elsewhere else {}
    return {
        name: f", {live.indexing.in_words}" if live.indexing else ""
        for name, live in data.states().items()
        if not (live.is_current or live.error)
    }


def _index_hint(agent: str) -> str:
    command = f"reindex --agent {agent}" if agent else "index --wait dense"
    return f"run `memory-sidecar {command}`"


# Each agent's database, and its files


def _agent(agent: Agent) -> list[Check]:
    return _database(
        agent.data, agent.name, lambda rows: [*_files(agent, rows), *_doubts(agent, rows)]
    )


def _files(agent: Agent, connection: Connection) -> Iterator[Check]:
    """Yield a failed check for each kind of fault in the agent's files, and list skipped ones."""
    archive = Archive(agent.paths.archive, agent.paths.tree).all()
    values = {"archived": json.dumps([address(each.directory, each.path) for each in archive])}
    found = [(what, hint, column(connection, sql, values)) for what, hint, sql in FAULTS]
    rings = superseding_each_other(connection)
    found.append(("supersede each other", "remove one of their `supersedes`", rings))
    skipped, unread = (
        column(connection, SKIPPED, {"sessions": SESSIONS, "is_session": is_session})
        for is_session in (False, True)
    )
    found.append(("of the sessions cannot be read", "fix them, or delete their files", unread))
    for what, hint, faulty in found:
        if faulty:
            text = f"{len(faulty):,} {what}: {_shorten(faulty)}"
            yield Check.failed("files", text, hint, agent=agent.name)
    if not any(faulty for *_, faulty in found):
        yield Check.passed("files", "all are sound", agent=agent.name)
    if skipped:
        text = f"{len(skipped):,} left out: {_shorten(skipped)}"
        hint = "make readable memories of them, or remove them"
        yield Check.passed("files", text, hint, agent=agent.name)


def _doubts(agent: Agent, connection: Connection) -> Iterator[Check]:
    """Yield a check for each kind of memory that the user may want to update or prune."""
    now = system_clock()
    values = {"now": now, "today": today(now)}
    for what, hint, sql in DOUBTS:
        if paths := column(connection, sql, values):
            text = f"{len(paths):,} {what}: {_shorten(paths)}"
            yield Check.passed("memories", text, hint.format(agent=agent.name), agent=agent.name)


def _shorten(names: Sequence[str]) -> str:
    return name_first(names, SHOWN, by="; ")
