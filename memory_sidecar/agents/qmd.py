"""Whether QMD, which searches long documents, is installed and works: one check of `doctor`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from memory_sidecar.agents.doctor import Check
from memory_sidecar.core.children import find_program, run_child
from memory_sidecar.core.errors import one_line

QMD_TIMEOUT_S = 15  # it starts a language runtime and opens its database

_COLLECTIONS = re.compile(r"^Collections \((\d+)\)", re.MULTILINE)


def examine_qmd(environ: Mapping[str, str]) -> Check:
    """Check whether QMD is on the PATH of `environ`, and works; it is optional, so none fails."""
    program = find_program("qmd", environ)
    if program is None:
        return Check(
            "qmd", True, "not installed; optional, it searches long documents",
            "`npm install --global @tobilu/qmd`, then `qmd collection add FOLDER`",
        )  # fmt: skip
    version, problem = _run(program, "--version", environ=environ)
    if not problem:
        listed, problem = _run(program, "collection", "list", environ=environ)
    if problem:
        return Check("qmd", True, f"{program} does not work: {problem}", "see `qmd doctor`")
    found = _COLLECTIONS.search(listed)
    if found is None:
        return Check("qmd", True, f"{version}, without a collection", "`qmd collection add FOLDER`")
    return Check("qmd", True, f"{version}, collections: {found[1]}")


def _run(program: str, *arguments: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Run `program`; return what it printed, and why it failed or ""."""
    try:
        done = run_child([program, *arguments], environ=environ, timeout_s=QMD_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {QMD_TIMEOUT_S} seconds"
    except OSError as error:
        return "", error.strerror or str(error)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return "", one_line(lines[-1]) if lines else f"exit status {done.returncode}"
    return done.stdout.decode("utf-8", "replace").strip(), ""
