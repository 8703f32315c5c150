"""What a search for code asks, and of which files."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_sidecar.core.model import SearchMode


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """Which chunks may be hits, for both arms: any of each field's values; empty allows all."""

    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    path_globs: tuple[str, ...] = ()  # `**` matches across folders


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A search for code, as the caller asked for it."""

    text: str
    top_k: int = 10
    mode: SearchMode = SearchMode.HYBRID
    filter: CodeFilter = field(default_factory=CodeFilter)
    max_tokens: int | None = None  # for the code of all hits together, at 4 characters a token
    min_score: float = 0.0  # hits below it are left out
    explain: bool = False  # add to each hit an Explanation and the freshness of its source
