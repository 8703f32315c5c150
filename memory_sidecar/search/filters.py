"""Which chunks a filter allows. Decided on the file table, so that no chunk is read for it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt
from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from memory_sidecar.errors import UsageError
from memory_sidecar.model import CodeFilter
from memory_sidecar.sqlite import Connection
from memory_sidecar.store.lookup import chunks_of_files, indexed_paths

Ids = npt.NDArray[np.int64]


def allowed_chunks(connection: Connection, wanted: CodeFilter) -> Ids | None:
    """Ids of the chunks that satisfy `wanted`, sorted; `None` when every chunk does.

    A path glob reads like a line of a `.gitignore`: `*.py` anywhere, `src/` all below it,
    `/tests/**/test_*.py` from the root of the source. Raises UsageError for one that is none.
    """
    if wanted == CodeFilter():
        return None
    try:
        globs = GitIgnoreSpec.from_lines(wanted.path_globs)
    except GitIgnorePatternError as error:
        raise UsageError(f"--path: {error}", hint="for example 'src/**/*.py'") from error
    paths: dict[str, list[str]] = defaultdict(list)
    for source, path in indexed_paths(
        connection, sources=wanted.sources, languages=wanted.languages
    ):
        if not wanted.path_globs or globs.match_file(path):
            paths[source].append(path)
    ids: list[int] = []
    for source, names in paths.items():
        ids += chunks_of_files(connection, source, names)
    return np.sort(np.array(ids, np.int64))


def among(ids: Ids, allowed: Ids | None) -> npt.NDArray[np.bool_]:
    """Mask of those `ids` that are allowed. `allowed` is sorted, or `None` for all."""
    if allowed is None:
        return np.ones(len(ids), np.bool_)
    at = np.searchsorted(allowed, ids)
    at[at == len(allowed)] = 0
    return allowed[at] == ids if len(allowed) else np.zeros(len(ids), np.bool_)
