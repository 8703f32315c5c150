"""Checks that what should hold does hold, and repairs what needs no decision."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from memory_sidecar.errors import NoIndex, SidecarError
from memory_sidecar.handlers.codebase import Codebase
from memory_sidecar.handlers.doctor_agents import examine_agents, repair_agents
from memory_sidecar.handlers.finding import Finding
from memory_sidecar.handlers.reporter import Reporter
from memory_sidecar.handlers.services import Services
from memory_sidecar.sqlite import damage_of, sqlite_version


def examine(services: Services, codebase: Codebase) -> list[Finding]:
    """Run every check; none changes anything."""
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("runtime", _runtime),
        ("model", lambda: _model(services)),
        ("database", lambda: _database(codebase)),
        ("sources", lambda: _sources(codebase)),
        ("vectors", lambda: _vectors(codebase)),
    ]
    findings = []
    for name, check in checks:
        try:
            findings.append(check())
        except NoIndex as error:
            findings.append(Finding(name, ok=True, text=error.message, hint=error.hint))
        except SidecarError as error:
            remedy = "rebuild" if error.code == "store_corrupt" else ""
            findings.append(Finding(name, False, error.message, error.hint, remedy))
    return findings + examine_agents(services)


def repair(
    findings: Sequence[Finding], services: Services, codebase: Codebase, *, reporter: Reporter
) -> None:
    """Do what the remedies of `findings` say, the most thorough one first."""
    remedies = {finding.remedy for finding in findings if not finding.agent}
    if "rebuild" in remedies:
        codebase.rebuild((), reporter=reporter)
    elif "index" in remedies:
        codebase.index((), reporter=reporter)
    repair_agents(findings, services, reporter=reporter)


def _runtime() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("runtime", True, f"Python {version}, SQLite {sqlite_version()} with sqlite-vec")


def _model(services: Services) -> Finding:
    embedder = services.models.embedder
    embedder.load()
    return Finding("model", True, f"{embedder.files.name} from {embedder.files.origin} loads")


def _database(codebase: Codebase) -> Finding:
    status = codebase.status()
    if damage := damage_of(status.db):
        return Finding(
            "database", False, f"{status.db} is damaged: {damage}",
            "`memory-sidecar reindex --all` makes it again", "rebuild",
        )  # fmt: skip
    return Finding("database", True, f"{status.db}, {status.chunks:,} chunks")


def _sources(codebase: Codebase) -> Finding:
    status = codebase.status()
    absent = [source.name for source in status.registered if not source.root.is_dir()]
    if absent:
        return Finding(
            "sources", False, f"not there: {', '.join(absent)}; what was indexed of them stays",
            "bring them back, or `memory-sidecar source remove NAME`",
        )  # fmt: skip
    scanned = {source.name for source in status.sources if source.scanned_at}
    unscanned = [source.name for source in status.registered if source.name not in scanned]
    if unscanned:
        return Finding(
            "sources", False, f"never indexed to the end: {', '.join(unscanned)}",
            "run `memory-sidecar index`", "index",
        )  # fmt: skip
    failed = sum(source.failed for source in status.sources)
    if failed:
        return Finding(
            "sources", False, f"{failed} files could not be indexed",
            "`memory-sidecar status --failed` names them; `index` tries again", "index",
        )  # fmt: skip
    return Finding("sources", True, f"{len(status.registered)} registered, all indexed")


def _vectors(codebase: Codebase) -> Finding:
    status = codebase.status()
    if status.vectors_pending:
        return Finding(
            "vectors", False, f"{status.vectors_pending:,} chunks wait for their vector",
            "run `memory-sidecar index`", "index",
        )  # fmt: skip
    return Finding("vectors", True, f"all {status.chunks:,} chunks have theirs")
