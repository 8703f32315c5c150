"""What a search for code asks, and of which files."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_sidecar.core.model import Query


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """Which chunks may be hits, for both arms: any of each field's values; empty allows all."""

    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    path_globs: tuple[str, ...] = ()  # `**` matches across folders


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuery(Query):
    """A search for code. An explained hit says how fresh its source is, too."""

    filter: CodeFilter = field(default_factory=CodeFilter)
    one_per_file: bool = False  # only the best hit of each file
    max_tokens: int | None = None  # for the code of all hits together, at 4 bytes a token
