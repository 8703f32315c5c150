"""Which chunks a filter allows. Decided file by file, in memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from memory_sidecar.code.directory import ChunkFile, Directory
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.report import source_names
from memory_sidecar.index.vectors import Ids

_OPEN_BRACKET = re.compile(r"(?<!\\)\[(?!\^?\]?[^\]]*\])")
MATCHES_KEPT = 1 << 14  # of paths with globs, for the next question with the same ones


def allowed_chunks(connection: Connection, directory: Directory, wanted: CodeFilter) -> Ids | None:
    """Ids of the chunks that satisfy `wanted`, sorted; `None` when every chunk does.

    A path glob reads like a line of a `.gitignore`: `*.py` anywhere, `src/` all below it,
    `/tests/**/test_*.py` from the root of the source. Raises UsageError for one that is none.
    """
    if wanted == CodeFilter(sources=wanted.sources) and (
        not wanted.sources or set(wanted.sources) >= set(source_names(connection))
    ):
        return None
    return directory.chunks_in(_predicate(wanted))


def _predicate(wanted: CodeFilter) -> Callable[[ChunkFile], bool]:
    sources, languages, globs = wanted.sources, wanted.languages, wanted.path_globs
    if globs:
        _compiled(globs)  # raises now, whatever files there are

    def is_wanted(file: ChunkFile) -> bool:
        return (
            (not sources or file.source in sources)
            and (not languages or file.language in languages)
            and (not globs or _matches(globs, file.path))
        )

    return is_wanted


@lru_cache(maxsize=MATCHES_KEPT)
def _matches(globs: tuple[str, ...], path: str) -> bool:
    return bool(_compiled(globs).match_file(path))


@lru_cache
def _compiled(globs: tuple[str, ...]) -> GitIgnoreSpec:
    hint = "for example 'src/**/*.py'"
    for glob in globs:
        if _OPEN_BRACKET.search(glob):  # git takes it for a pattern that matches nothing
            raise UsageError(f"--path: {glob!r} has a [ without its ]", hint=hint)
    try:
        return GitIgnoreSpec.from_lines(globs)
    except GitIgnorePatternError as error:
        raise UsageError(f"--path: {error}", hint=hint) from error
