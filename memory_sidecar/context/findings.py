"""What a check finds, and what can be done about it without asking anyone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from memory_sidecar.context.atoms import Atom
from memory_sidecar.context.layout import MAX_PAGE_BYTES
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.disk.frontmatter import edit_page

Fix = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong in one place. `rule` is filled in by the table of rules."""

    path: Path
    line: int  # 1-based
    text: str
    remedy: str
    rule: str = ""
    fix: Fix | None = field(default=None, compare=False)  # safe: loses nothing, decides nothing


def about(
    atom: Atom,
    text: str,
    remedy: str,
    *,
    key: str = "",
    item: str = "",
    edits: Mapping[str, object] | None = None,
) -> Finding:
    """A finding about an atom, at `key` of its frontmatter. `edits` mend it."""
    line = atom.line_of(key, item) if key else atom.problem_line
    fix = partial(_edit, atom, edits) if edits and not atom.problem else None
    return Finding(atom.path, line, text, remedy, fix=fix)


def apply_fixes(findings: Iterable[Finding]) -> int:
    """Do what is safe; returns how much that was."""
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    for fix in fixes:
        fix()
    return len(fixes)


def _edit(atom: Atom, edits: Mapping[str, object]) -> None:
    tree = atom.project.tree
    text = tree.read(atom.path, MAX_PAGE_BYTES).decode("utf-8")
    edited = edit_page(text, edits)
    if edited != text:
        replace_file(tree, atom.path, edited.encode())
