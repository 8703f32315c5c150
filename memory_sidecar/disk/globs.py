"""Which files the path filters of a question mean: each is a line of a `.gitignore`, or has braces.

One with `!` before it excludes the files that it means, wherever it stands among the others.
People and models write them as shells and editors do: `./src`, `..`, absolute, `*.{ts,tsx}`.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from memory_sidecar.core.errors import UsageError

PATTERN_ERRORS = (GitIgnorePatternError, re.error)  # of what is no pattern: `a\\`, `[b-a]`
MAX_ALTERNATIVES = 256
MAX_CHARACTERS = 4096  # of a glob, as of a path
MAX_WILDCARDS = 4  # of a glob, see `count_wildcards`
_STARS = re.compile(r"\*+")
_OPEN_BRACKET = re.compile(r"(?<!\\)\[(?!\^?\]?[^\]]*\])")
_INNERMOST_BRACES = re.compile(r"(?<!\\)\{([^{}]*,[^{}]*)\}")
_HINT = "for example 'src/**/*.py'"


def relative_globs(globs: Iterable[str], roots: Iterable[Path], here: str = "") -> tuple[str, ...]:
    """Make `globs` relative to a source: absolute ones below one of `roots`, and `.` and `..`.

    `here`: the folder that `.` means, relative to its source. If one of the globs means a whole
    source, or all are empty, those that exclude are left; an empty tuple means all files.
    """
    above = sorted((root.as_posix() for root in roots), key=len, reverse=True)
    meant: list[str] = []
    excluded: list[str] = []
    has_whole = False
    for each in filter(str.strip, globs):
        glob = each.removeprefix("!")
        root = next((root for root in above if f"{glob}/".startswith(f"{root}/")), None)
        if root is not None:
            path = posixpath.normpath(f".{glob.removeprefix(root)}")
        elif glob.split("/")[0] in (".", ".."):
            path = posixpath.normpath(f"./{here}/{glob}")
        else:
            path = glob.strip("/") and glob  # "/" is a whole source
        is_whole = path in ("", ".")
        has_whole = has_whole or (is_whole and glob == each)
        is_changed = path != glob and not path.startswith("../")
        made = f"/{path}{'/' if glob.endswith('/') else ''}" if is_changed else glob
        if glob == each:
            meant.append(made)
        else:
            excluded.append("!*" if is_whole else f"!{made}")
    return (*([] if has_whole else meant), *excluded)


@dataclass(frozen=True, slots=True)
class PathFilter:
    """Compiled globs: a file is meant that one of them means and that none of them excludes.

    Composed and decomposed letters are the same, as to macOS.
    """

    meant: GitIgnoreSpec
    excluded: GitIgnoreSpec

    def match_file(self, path: str) -> bool:
        path = unicodedata.normalize("NFC", path)
        return self.meant.match_file(path) and not self.excluded.match_file(path)


@lru_cache
def compile_globs(globs: tuple[str, ...]) -> PathFilter:
    """Compile `globs`; if they only exclude, all other files are meant. Raises UsageError."""
    for glob in globs:
        if len(glob) > MAX_CHARACTERS:
            raise UsageError(f"--path: {glob[:60]!r}… is too long", hint=_HINT)
        if _OPEN_BRACKET.search(glob):  # git takes it for a pattern that matches nothing
            raise UsageError(f"--path: {glob!r} has a [ without its ]", hint=_HINT)
    patterns = [each for g in globs for each in _alternatives(unicodedata.normalize("NFC", g))]
    if slow := [each for each in patterns if count_wildcards(each) > MAX_WILDCARDS]:
        raise UsageError(
            f"--path: {slow[0]!r} has more than {MAX_WILDCARDS} * in its names, or ** in all",
            hint=_HINT,
        )
    try:
        meant = [each for each in patterns if not each.startswith("!")]
        excluded = [each[1:] for each in patterns if each.startswith("!")]
        return PathFilter(
            GitIgnoreSpec.from_lines(meant or ["*"]), GitIgnoreSpec.from_lines(excluded)
        )
    except PATTERN_ERRORS as error:
        raise UsageError(f"--path: {error}", hint=_HINT) from error


def count_wildcards(glob: str) -> int:
    """Count the `*` in `glob`, but for one in each name after the first; or the `**`, if more.

    The time to match a path is a power of its length with this exponent.
    """
    names = glob.split("/")
    stars = [len(_STARS.findall(name)) for name in names]
    return max(names.count("**"), sum(max(each - 1, 0) for each in stars) + any(stars))


def _alternatives(glob: str) -> Iterator[str]:
    """Yield `glob` once for each choice in its braces. Raises UsageError for too many."""
    pending, count = [glob], 1
    while pending:
        one = pending.pop()
        if (braces := _INNERMOST_BRACES.search(one)) is None:
            yield one
            continue
        parts = braces[1].split(",")
        count += len(parts) - 1
        if count > MAX_ALTERNATIVES:
            raise UsageError(f"--path: {glob!r} has too many alternatives in braces", hint=_HINT)
        pending += [one[: braces.start()] + part + one[braces.end() :] for part in parts]
