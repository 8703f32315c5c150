"""What a search for code asks, and which files may answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memory_sidecar.core.language import known_language
from memory_sidecar.core.model import Query, Source


@dataclass(frozen=True, slots=True)
class CodeFilter:
    """Which chunks may be hits of any arm: those with one of each field's values; empty: all."""

    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    path_globs: tuple[str, ...] = ()  # `**` matches across folders

    @classmethod
    def of(
        cls,
        chosen: tuple[str, ...],
        languages: Iterable[str],
        globs: Sequence[str],
        known: Iterable[Source],
        folder: Path | None = None,
    ) -> CodeFilter:
        """Return the filter that a caller names, with `globs` as `relative_globs` takes them.

        Without `chosen` sources, its sources are those that absolute globs lie in; if there are
        none, the caller has to choose. `known`: every source. Raises UsageError for an unknown
        language.
        """
        inside: tuple[str, ...] = ()
        if globs:
            # Imported late: a command without --path would wait a tenth longer for it.
            from memory_sidecar.disk.globs import relative_globs

            roots = {each.root: each.name for each in known if not chosen or each.name in chosen}
            globs, inside = relative_globs(globs, roots, folder)
        return cls(chosen or inside, tuple(map(known_language, languages)), tuple(globs))

    @property
    def in_words(self) -> str:
        """What it demands of a file beside its source, as a notice says it; "" if nothing."""
        return ", ".join((*self.path_globs, *self.languages))


class ChunkFile(NamedTuple):
    """A file that has chunks."""

    source: str
    path: str
    language: str


def file_filter(wanted: CodeFilter) -> Callable[[ChunkFile], bool]:
    """Return a predicate: whether a file satisfies `wanted`. Raises UsageError (invalid glob)."""
    sources, languages = wanted.sources, wanted.languages
    has_path: Callable[[str], bool] | None = None
    if wanted.path_globs:
        from memory_sidecar.disk.globs import path_filter  # late: see `CodeFilter.of`

        has_path = path_filter(wanted.path_globs)

    def is_wanted(file: ChunkFile) -> bool:
        return (
            (not sources or file.source in sources)
            and (not languages or file.language in languages)
            and (has_path is None or has_path(file.path))
        )

    return is_wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuery(Query):
    """A search for code. An explained hit says how fresh its source is, too."""

    filter: CodeFilter = field(default_factory=CodeFilter)
    one_per_file: bool = False  # only the best hit of each file
    max_tokens: int | None = None  # for the code of all hits together, at 4 bytes a token
