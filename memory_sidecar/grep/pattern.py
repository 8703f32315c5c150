"""The syntax of patterns: code with holes.

    $X       one node; the same name again must be the same text
    $_       one node, whatever it is; so does every name that begins with _
    $$$      any number of siblings, also none; $$$ARGS gives them a name

Names are upper case. A literal dollar is written `\\$`.
"""

from __future__ import annotations

import re

from memory_sidecar.core.errors import UsageError

MAX_CHARS = 10_000
MAX_HOLES = 30

_HOLE = re.compile(
    r"\\\$"
    r"|(?<![\w$])\$(?:(?P<many>\$\$)(?P<all>[A-Z_][A-Z0-9_]*)?(?![\w$])(?:[ \t]*;)?"
    r"|(?P<one>[A-Z_][A-Z0-9_]*)(?!\w))"
)
_PART_OF_A_NAME = re.compile(r"\w\$[A-Z_$]")
_LOWER_CASE_HOLE = re.compile(r"(?<![\w$\\])\$[a-z]\w*")


class PatternText:
    """A pattern split at its holes: `pieces` has one more than `holes`."""

    def __init__(self, pattern: str) -> None:
        self.pieces: list[str] = [""]
        self.holes: list[tuple[str, bool]] = []  # name or "", and whether it matches many
        self.originals: list[str] = []  # the holes as they were written
        last = 0
        for match in _HOLE.finditer(pattern):
            self.pieces[-1] += pattern[last : match.start()]
            last = match.end()
            if match[0] == r"\$":
                self.pieces[-1] += "$"
                continue
            name = match["all"] or match["one"] or ""
            self.holes.append(("" if name.startswith("_") else name, bool(match["many"])))
            self.originals.append(match[0])
            self.pieces.append("")
        self.pieces[-1] += pattern[last:]


def check_pattern(pattern: str) -> None:
    """Raise UsageError if `pattern` is empty or too long."""
    if not pattern.strip():
        raise UsageError("the pattern is empty", hint="for example 'open($FILE)'")
    if len(pattern) > MAX_CHARS or len(PatternText(pattern).holes) > MAX_HOLES:
        raise UsageError(
            "the pattern is too long",
            hint=f"at most {MAX_CHARS} characters and {MAX_HOLES} metavariables",
        )


def why_no_code(pattern: str) -> str:
    """Return a hint what may be wrong with a pattern that is no code in any language asked for."""
    if lower := _LOWER_CASE_HOLE.search(pattern):
        return f"metavariables are upper case: {lower[0].upper()}"
    if _PART_OF_A_NAME.search(pattern):
        return "a metavariable stands for a whole name"
    return "it must be whole: an expression, a statement or a definition, as in 'open($FILE)'"
