"""What a check of `doctor` says, and the checks of what every database needs: a folder, models."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import CannotWrite, ModelError
from memory_sidecar.core.locks import require_locks
from memory_sidecar.core.paths import OWN_FOLDERS
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import is_full
from memory_sidecar.disk.remote import remote_folders
from memory_sidecar.embedding.static import STATIC_PACKAGE, STATIC_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of the doctor."""

    check: str
    ok: bool
    text: str
    hint: Annotated[str, about("a next step, or empty")] = ""
    agent: Annotated[str, about("whose database it is about, or empty")] = ""
    remedy: Annotated[str, about("what --fix does about it: rebuild, index, or empty")] = ""

    @classmethod
    def passed(
        cls, what: str, text: str, hint: str = "", *, agent: str = "", remedy: str = ""
    ) -> Check:
        """Say that `what` is sound, in the database of `agent` if named; "" is a whole database."""
        name = ", ".join(filter(None, (agent and f"agent {agent}", what))) or "database"
        return cls(check=name, ok=True, text=text, hint=hint, agent=agent, remedy=remedy)

    @classmethod
    def failed(
        cls, what: str, text: str, hint: str = "", *, agent: str = "", remedy: str = ""
    ) -> Check:
        """Say that `what` is at fault, as `passed` says that it is sound."""
        return replace(cls.passed(what, text, hint, agent=agent, remedy=remedy), ok=False)


def check_data_dir(root: Path) -> Check:
    """Check that `root` can be read and written."""
    check = "data directory"
    there = next(filter(os.path.lexists, (root, *root.parents)), root)  # none: Windows without Z:
    if not there.is_dir():
        return Check.failed(check, f"{there} is no folder", "name another with --data-dir")
    if is_full(there):
        return Check.failed(check, f"no room left to write {there}", "free some space")
    try:
        with TemporaryFile(buffering=0, dir=there) as file:  # `os.access` misses a failed disk
            file.write(b"0")
            require_locks(there / "lock", file.fileno())
    except CannotWrite as error:
        return Check.failed(check, error.message, error.hint)
    except OSError as error:
        hint = "what is there is found: check its permissions, or name another with --data-dir"
        return Check.failed(check, f"{there} cannot be written", f"{error.strerror}; {hint}")
    if there != root:
        return Check.passed(check, f"{root} is not there", "`index` or `store` creates it")
    folders = filter(os.path.isdir, map(root.joinpath, OWN_FOLDERS))
    if denied := [each for each in folders if not os.access(each, os.R_OK | os.X_OK)]:
        return Check.failed(check, f"{denied[0]} cannot be read", "check its permissions")
    if remote_folders(root, [""]):
        hint = "use it on one machine at a time: two would damage its databases"
        return Check.passed(check, f"{root} can be written; it lies on a network drive", hint)
    return Check.passed(check, f"{root} can be written")


def check_model(services: Services) -> Check:
    """Check that the model loads."""
    try:
        embedder = services.models.embedder
        embedder.load()
    except ModelError as error:
        return Check.failed("model", error.message, error.hint)
    return Check.passed("model", f"{embedder.files.spec.name} from {embedder.files.origin} loads")


def check_static(services: Services) -> Check:
    """Check that the table of static vectors loads."""
    check, static = "static vectors", services.models.static
    if problem := services.models.static_problem:
        return Check.failed(check, problem.message, problem.hint)
    assert static is not None
    try:
        static.load()
    except ModelError as error:
        return Check.failed(check, error.message, error.hint)
    return Check.passed(check, f"the table of {STATIC_PACKAGE} {STATIC_VERSION} loads")
