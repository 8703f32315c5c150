"""Checks that what should hold does hold, and repairs what needs no decision."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from memory_sidecar.agents.doctor_agents import examine_agents, repair_agents
from memory_sidecar.agents.doctor_index import Check, examine_index
from memory_sidecar.agents.services import Services
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import ModelError, ModelMissing
from memory_sidecar.core.sqlite import sqlite_version
from memory_sidecar.embedding.static import IS_MADE_FOR_THIS_MACHINE, PACKAGE, VERSION
from memory_sidecar.index.reporter import Reporter


def examine(services: Services, codebase: Codebase) -> list[Check]:
    """Run every check; none changes anything."""
    return [
        _runtime(),
        _model(services),
        _static(services),
        *_code(codebase),
        *examine_agents(services),
    ]


def repair(
    checks: Sequence[Check], services: Services, codebase: Codebase, *, reporter: Reporter
) -> None:
    """Do what the remedies of `checks` say, the most thorough one first."""
    remedies = {each.remedy for each in checks if not each.agent}
    if "rebuild" in remedies:
        codebase.rebuild((), reporter=reporter)
    elif "index" in remedies:
        codebase.index((), reporter=reporter, embed=True)
    repair_agents(checks, services, reporter=reporter)


def _runtime() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("runtime", True, f"Python {version}, SQLite {sqlite_version()} with sqlite-vec")


def _model(services: Services) -> Check:
    try:
        embedder = services.models.embedder
        embedder.load()
    except ModelError as error:
        return Check("model", False, error.message, error.hint)
    return Check("model", True, f"{embedder.files.name} from {embedder.files.origin} loads")


def _static(services: Services) -> Check:
    check, static = "static vectors", services.models.static
    if problem := services.models.static_problem:
        is_expected = isinstance(problem, ModelMissing) and not IS_MADE_FOR_THIS_MACHINE
        return Check(check, is_expected, problem.message, problem.hint)
    assert static is not None
    try:
        static.load()
    except ModelError as error:
        return Check(check, False, error.message, error.hint)
    return Check(check, True, f"the table of {PACKAGE} {VERSION} loads")


def _code(codebase: Codebase) -> list[Check]:
    if codebase.paths.db.exists() or codebase.registry.all():
        return examine_index(codebase.data)
    text = f"nothing is indexed in {codebase.paths.db}"
    return [Check("database", True, text, "run `memory-sidecar index PATH`")]
