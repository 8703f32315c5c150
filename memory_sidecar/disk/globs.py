"""Which files the path filters of a question mean, each like a line of a `.gitignore`.

One that begins with `!` excludes the files that it means, wherever it stands among the others.
People and models also write filters as shells and editors do: `./src`, absolute, `*.{ts,tsx}`.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.opening import MAX_PATH_BYTES, real_path

PATTERN_ERRORS = (GitIgnorePatternError, re.error)  # of what is no pattern: `a\\`, `[b-a]`
MAX_ALTERNATIVES = 256
MAX_WILDCARDS = 4  # of a glob, see `count_wildcards`
MATCHES_KEPT = 1 << 14  # results for paths and globs, for questions with the same globs
_STARS = re.compile(r"\*+")
_OPEN_BRACKET = re.compile(r"(?<!\\)\[(?!\^?\]?[^\]]*\])")
# A path from the root, without wildcards, and without letters that may be decomposed.
_PLAIN_PATH = re.compile(r"/?[\w.+@-]+(?:/[\w.+@-]+)+/?|/[\w.+@-]+", re.ASCII)
_INNERMOST_BRACES = re.compile(r"(?<!\\)\{([^{}]*,[^{}]*)\}")
_FIXED_START = re.compile(r"(?:/[^/*?\[{\\]+(?=/|$))*")
_HINT = "for example 'src/**/*.py'"


def relative_globs(
    globs: Iterable[str], roots: Mapping[Path, str], folder: Path | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make `globs` relative to a source; return them, and the names of the sources they lie in.

    `roots`: the names of sources by their roots, without links. `folder`: what `.` means; without
    one, or outside of all roots, `.` means any source. An absolute glob may reach a root by links.
    If a glob means a whole source, or all are empty, only those that exclude are returned; no globs
    means all files. No names are returned if a glob means files of any source.
    """
    above = sorted(((root.as_posix(), name) for root, name in roots.items()), key=_depth)
    meant: list[str] = []
    excluded: list[str] = []
    inside: list[str | None] = []
    has_whole = False
    for each in filter(str.strip, globs):
        glob = each.removeprefix("!")
        root, path = _relative(glob, above, folder)
        is_whole = path in ("", ".")
        is_changed = path != glob and not path.startswith("../")
        made = f"/{path}{'/' if glob.endswith('/') else ''}" if is_changed else glob
        if glob == each:
            has_whole = has_whole or is_whole
            meant.append(made)
            inside.append(root)
        else:
            excluded.append("!*" if is_whole else f"!{made}")
    names = () if None in inside else tuple(dict.fromkeys(filter(None, inside)))
    return (*([] if has_whole else meant), *excluded), names


def _depth(root: tuple[str, str]) -> int:
    return -len(root[0])


def _relative(
    glob: str, above: Sequence[tuple[str, str]], folder: Path | None
) -> tuple[str | None, str]:
    """Return the source that `glob` lies in (None: any), and its path there: "" or . for the root.

    `above`: roots and their sources, the deepest first.
    """
    is_dotted = glob.split("/", maxsplit=1)[0] in (".", "..")
    whole = posixpath.normpath(f"{folder.as_posix()}/{glob}" if is_dotted and folder else glob)
    for start in (whole, _without_links(whole)):
        for root, name in above:
            if f"{start}/".startswith(f"{root}/"):
                return name, start.removeprefix(root).lstrip("/")
    return None, posixpath.normpath(glob) if is_dotted else glob.strip("/") and glob


def _without_links(glob: str) -> str:
    """Return an absolute `glob` with the links resolved in the part before its wildcards."""
    fixed = _FIXED_START.match(glob)
    return real_path(fixed[0]) + glob[fixed.end() :] if fixed and fixed[0] else glob


def literal_glob(path: str) -> str:
    """Return a glob that matches the `path` of a file, relative to its source, alone."""
    return "/" + "".join(f"\\{sign}" if sign in "*?[]{}!\\" else sign for sign in path)


@dataclass(frozen=True, slots=True)
class PathFilter:
    """Compiled globs: a file is meant if one of them means it and none excludes it.

    Composed and decomposed letters are the same, as on macOS.
    """

    meant: GitIgnoreSpec
    excluded: GitIgnoreSpec

    def match_file(self, path: str) -> bool:
        path = unicodedata.normalize("NFC", path)
        return self.meant.match_file(path) and not self.excluded.match_file(path)


def path_filter(globs: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a predicate of paths, relative to their source. Raises UsageError for no globs.

    Plain paths are compared, in a tenth of the time of globs, and need not be compiled.
    """
    if not all(len(each) <= MAX_PATH_BYTES and _PLAIN_PATH.fullmatch(each) for each in globs):
        compile_globs(globs)  # raise now, even if there are no paths
        return partial(path_matches, globs)
    files = frozenset(glob.lstrip("/") for glob in globs)
    folders = tuple(f"{glob.strip('/')}/" for glob in globs)
    return lambda path: path in files or path.startswith(folders)


@lru_cache(maxsize=MATCHES_KEPT)
def path_matches(globs: tuple[str, ...], path: str) -> bool:
    """Whether `globs` mean `path`, relative to its source."""
    return bool(compile_globs(globs).match_file(path))


@lru_cache
def compile_globs(globs: tuple[str, ...]) -> PathFilter:
    """Compile `globs`; if they only exclude, all other files are meant. Raises UsageError."""
    for glob in globs:
        if len(glob) > MAX_PATH_BYTES:
            raise UsageError(f"--path: {glob[:60]!r}… is too long", hint=_HINT)
        if _OPEN_BRACKET.search(glob):  # git takes it for a pattern that matches nothing
            raise UsageError(f"--path: {glob!r} has a [ without its ]", hint=_HINT)
    patterns = [each for g in globs for each in _alternatives(unicodedata.normalize("NFC", g))]
    # Also take brackets literally: some web frameworks have them in paths, as app/[id]/page.ts
    patterns += [each.replace("[", r"\[") for each in patterns if "[" in each and "\\" not in each]
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
    """Count the `*` beyond one in each name of `glob`, plus 1 if it has any; or the `**`, if more.

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
