"""The tool that lists what one file defines, in the toolset `names`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from pydantic import Field

from memory_sidecar.code.headings import (
    longest_within,
    names_around,
    outline_depths,
    outline_file,
)
from memory_sidecar.code.results import DefinitionHit
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.core.model import budget, estimate_tokens
from memory_sidecar.core.results import Reporter
from memory_sidecar.mcp.arguments import Arguments, Unlisted
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.names import Definitions, file_label, likeliest_file, source_filter
from memory_sidecar.mcp.where import notice_foreign

OUTLINE_TOKENS = 3000


class OfFile(Arguments):
    path: str
    source: str = ""
    max_tokens: Unlisted[int] = Field(default=OUTLINE_TOKENS, ge=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutline(Definitions):
    def text(self) -> str:
        file = [file_label(each, self.definitions) for each in self.definitions[:1]]
        hits = self.definitions
        rows = zip(hits, outline_depths(hits), names_around(hits), strict=True)
        lines = (line for row in rows for line in _outline_lines(*row))
        once = (line for line, _ in groupby(lines))  # `a = b = 1` defines both in one line
        return "\n".join([*file, *once]) or "nothing found"


def outline(caller: Caller, asked: OfFile, report: Reporter) -> FileOutline:
    """What a file defines; the headings of Markdown and rst."""

    def ask(here: Snapshot) -> list[DefinitionHit]:
        file = likeliest_file(caller, here.graph, asked.path, asked.source)
        found = outline_file(here.graph, file.source.name, file.path)
        notice_foreign(caller, file, asked.source, report)
        return found

    within = source_filter(caller, asked.source, report)
    whole = FileOutline(definitions=tuple(caller.codebase.navigate(within, ask, reporter=report)))
    room = budget(asked.max_tokens, text := whole.text())
    if len(text) <= room:
        return whole
    kept = longest_within(whole.definitions, room)
    if left := len(whole.definitions) - len(kept):
        needed = estimate_tokens(text)
        report.notice(f"the {left} shortest are left out: max_tokens {needed} shows all")
    return FileOutline(definitions=tuple(kept), more=left)


def _outline_lines(hit: DefinitionHit, depth: int, around: str) -> Iterator[str]:
    if around:
        yield f"{'  ' * (depth + 3)}in {around}"
    yield f"{hit.start_line:>5}-{hit.end_line}  {'  ' * depth}{hit.signature}"
