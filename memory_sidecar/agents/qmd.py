"""Whether QMD, which searches long documents, is installed and works: one check of `doctor`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memory_sidecar.agents.checks import Check
from memory_sidecar.core.children import ChildFailed, find_program, output_of

QMD_TIMEOUT_S = 15  # it starts a language runtime and opens its database

_COLLECTIONS = re.compile(r"^Collections \((\d+)\)", re.MULTILINE)


def examine_qmd(environ: Mapping[str, str]) -> Check:
    """Check whether QMD is on the PATH of `environ`, and works; it is optional, so none fails."""
    program = find_program("qmd", environ)
    if program is None:
        return Check.passed(
            "qmd", "not installed; optional, it searches long documents",
            "`npm install --global @tobilu/qmd`, then `qmd collection add FOLDER`",
        )  # fmt: skip
    try:
        version, listed = (
            output_of(f"qmd {words}", environ=environ, timeout_s=QMD_TIMEOUT_S)
            .decode("utf-8", "replace")
            .strip()
            for words in ("--version", "collection list")
        )
    except ChildFailed as error:
        return Check.passed("qmd", f"{program} does not work: {error}", "see `qmd doctor`")
    found = _COLLECTIONS.search(listed)
    if found is None:
        return Check.passed(
            "qmd", f"{version}, without a collection", "`qmd collection add FOLDER`"
        )
    return Check.passed("qmd", f"{version}, collections: {found[1]}")
