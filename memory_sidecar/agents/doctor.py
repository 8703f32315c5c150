"""Checks that what should hold does hold, and repairs what needs no decision."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from memory_sidecar.agents.doctor_agents import examine_agents, repair_agents
from memory_sidecar.agents.doctor_check import Finding
from memory_sidecar.agents.doctor_index import examine_index
from memory_sidecar.agents.services import Services
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import ModelError
from memory_sidecar.core.sqlite import sqlite_version
from memory_sidecar.index.reporter import Reporter


def examine(services: Services, codebase: Codebase) -> list[Finding]:
    """Run every check; none changes anything."""
    return [_runtime(), _model(services), *_code(codebase), *examine_agents(services)]


def repair(
    findings: Sequence[Finding], services: Services, codebase: Codebase, *, reporter: Reporter
) -> None:
    """Do what the remedies of `findings` say, the most thorough one first."""
    remedies = {finding.remedy for finding in findings if not finding.agent}
    if "rebuild" in remedies:
        codebase.rebuild((), reporter=reporter)
    elif "index" in remedies:
        codebase.index((), reporter=reporter, embed=True)
    repair_agents(findings, services, reporter=reporter)


def _runtime() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("runtime", True, f"Python {version}, SQLite {sqlite_version()} with sqlite-vec")


def _model(services: Services) -> Finding:
    try:
        embedder = services.models.embedder
        embedder.load()
    except ModelError as error:
        return Finding("model", False, error.message, error.hint)
    return Finding("model", True, f"{embedder.files.name} from {embedder.files.origin} loads")


def _code(codebase: Codebase) -> list[Finding]:
    if codebase.paths.db.exists() or codebase.registry.all():
        return examine_index(codebase.data)
    text = f"nothing is indexed in {codebase.paths.db}"
    return [Finding("database", True, text, "run `memory-sidecar index PATH`")]
