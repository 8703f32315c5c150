"""Which files a filter means, whatever shortcut answers."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from pathspec import GitIgnoreSpec

from memory_sidecar.code.model import ChunkFile, CodeFilter, file_filter
from memory_sidecar.core.errors import UsageError

NAMES = ("src", "a", "b.py", "v1.2")
PATHS = ["/".join(parts) for depth in (1, 2, 3) for parts in product(NAMES, repeat=depth)]
PLACES = ["/src", "/src/", "src/a", "/src/a/", "src/b.py", "a/b.py/", "/b.py", "/a/v1.2/src"]
GLOBS = ["src", "src/", "*.py", "src/*", "/src/**/b.py", "!src/a", "v1.?/"]


@pytest.mark.parametrize("globs", [*combinations(PLACES, 2), *product(PLACES, GLOBS)])
def test_a_place_and_a_glob_mean_what_git_means(globs: tuple[str, str]) -> None:
    is_wanted = file_filter(CodeFilter(path_globs=globs))
    git = GitIgnoreSpec.from_lines(globs)
    found = [path for path in PATHS if is_wanted(ChunkFile("shop", path, "python"))]
    assert found == [path for path in PATHS if git.match_file(path)]


def test_composed_and_decomposed_letters_of_a_path_are_the_same() -> None:
    for asked, path in (("src/\u00fc.py", "src/u\u0308.py"), ("src/u\u0308.py", "src/\u00fc.py")):
        assert file_filter(CodeFilter(path_globs=(asked,)))(ChunkFile("shop", path, "python"))


def test_a_glob_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="without its"):
        file_filter(CodeFilter(path_globs=("src/[a",)))
