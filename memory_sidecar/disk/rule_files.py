"""Finds, checks and reads files of ignore rules: a walk must open no device, FIFO or endless file.

A link is followed only within its source. The exclude file of a worktree or a submodule is in the
git directory that its file `.git` names. `rules_elsewhere` is a digest of the rules outside of a
source: while it stays the same, a `Recheck` need not match known paths again.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.opening import FileRefused, Tree, real_path
from memory_sidecar.core.paths import OWN_FOLDERS
from memory_sidecar.core.projects import CONFIG_NAME
from memory_sidecar.disk.globs import PATTERN_ERRORS, count_wildcards
from memory_sidecar.disk.repository import POINTER_BYTES, tracked_folders

OWN_FILE = ".sidecarignore"

RULE_FILES = frozenset({".gitignore", OWN_FILE})
"""Names of the files whose rules hold in their folder and below."""

RULE_NAMES = RULE_FILES | {CONFIG_NAME}
"""These and the name of the settings file of a source, which may exclude more."""

_ALSO_SOURCES = frozenset({"bin", "build", "obj", "target"})

MAX_WILDCARDS = 3  # see `count_wildcards`: a rule with more matches nothing in `last_match`
MAX_COST = 1000  # of the rules of a file, where one with 2 wildcards costs 1 and with 3 costs 20
MAX_RULES_BYTES = 1 << 20
MAX_RULES = 10_000  # 120 MB in the crate, if of the costliest kind
_UNCHECKED_BYTES = 8192  # no file of this size has more than MAX_RULES

_GIT, _SHARED = ".git", "commondir"
# The same expression as in the `ignore` crate, which walks.
_EXCLUDES_FILE = re.compile(r'(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$')


def check_rules(folder: str, root: str) -> None:
    """Raise PathRefused if a rule file in `folder`, of the source at `root`, must not be opened."""
    for name in RULE_FILES:
        _check_file(f"{folder}{os.sep}{name}", within=root)
    if excludes := git_excludes(folder):
        _check_file(excludes)


def git_excludes(folder: str) -> str:
    """Return the path of the exclude file of the repository at `folder`; "" without a repository.

    Raises PathRefused if the file `.git` is a link or too large.
    """
    git = f"{folder}{os.sep}{_GIT}"
    try:
        is_pointer = stat.S_ISREG(os.stat(git).st_mode)
    except OSError:
        return ""
    return os.path.join(_common_git_dir(folder) if is_pointer else git, "info", "exclude")


def excludes_of_submodule(folder: str) -> str:
    """Return the path of the exclude file of the submodule at `folder`; "" if it is none."""
    if shared_git_dir(folder) or not os.path.isfile(os.path.join(folder, _GIT)):
        return ""
    return os.path.join(_git_dir(folder), "info", "exclude")


def shared_git_dir(folder: str) -> str:
    """Return the git directory that the worktree at `folder` shares; "" if it is no added worktree.

    Raises PathRefused if the file `.git` is a link or too large.
    """
    if not os.path.isfile(os.path.join(folder, _GIT)) or not _read_path(_git_dir(folder), _SHARED):
        return ""
    return os.path.realpath(_common_git_dir(folder))


def worktrees_git_dir(root: str) -> str:
    """Return the git directory around `root`, whose worktrees are left out of the source there.

    "" without a repository, and if the file `.git` at its top is no worktree's, as beside a bare
    repository, where the worktrees are all the files there are.
    """
    top = repository_top(Path(root))
    if top is None:
        return ""
    git = top / _GIT
    return os.path.realpath(git) if git.is_dir() else shared_git_dir(os.fspath(top))


def rules_above(paths: Iterable[str]) -> set[str]:
    """Return the relative paths of all rule files of a source that could ignore one of `paths`."""
    folders = folders_of(paths)
    return {f"{folder}/{name}".lstrip("/") for folder in folders for name in RULE_NAMES}


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return every folder above one of the relative `paths`, including the root, ""."""
    found: set[str] = set()
    for path in paths:
        for folder in folders_above(path):
            if folder in found:
                break  # those above it are in `found`, too
            found.add(folder)
    return found


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders above the relative `path`, innermost first, up to the root, ""."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def folders_of_sources(root: str) -> frozenset[str]:
    """Return which names of built-in rules also name folders of tracked source code in `root`.

    `dist` and `node_modules` are never among them: even tracked, they hold what was built.
    """
    return tracked_folders(Path(root), _ALSO_SOURCES)


def rules_elsewhere(root: str, folders: Iterable[str], excludes: Iterable[str]) -> str:
    """Return a digest of the rules for the source at `root` that are not in rule files inside it.

    These are the rule files above it, git's own (of the user, and of each repository among
    `folders`, relative to `root`), `folders_of_sources`, and `excludes`. "" if they cannot be read.
    The part before the space does not depend on `folders`.
    """
    try:
        around = _digest(
            repr((root, sorted(excludes), OWN_FOLDERS, sorted(folders_of_sources(root)))),
            (
                *_rule_files_above(Path(root)),
                *(*_git_configs(), *user_excludes()),
                *_files_of_repository(root),
            ),
        )
        inside = (os.path.join(root, folder) for folder in sorted(filter(None, folders)))
        return f"{around} {_digest('', chain.from_iterable(map(_files_of_repository, inside)))}"
    except PathRefused:
        return ""


def _digest(more: str, paths: Iterable[str]) -> str:
    """Return a digest of `more`, and of `paths` with the size and times of the files there."""
    digest = hashlib.blake2b(more.encode("utf-8", "replace"))
    for path in paths:
        digest.update(f"{path}\0{_stamp(path)}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def _rule_files_above(root: Path) -> Iterator[str]:
    for folder in root.parents:
        yield from (os.path.join(folder, name) for name in sorted(RULE_FILES))
        yield from _files_of_repository(os.fspath(folder))


def _git_configs() -> tuple[str, str]:
    """Return the paths of the user's configuration: https://git-scm.com/docs/git-config."""
    xdg = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.expanduser("~/.gitconfig"), os.path.join(xdg, "git", "config")


def user_excludes() -> list[str]:
    """Return the paths of the user's exclude files for all repositories; the first one counts.

    They are those that git's `core.excludesFile` names, then its default, found as the walk finds
    them: by the environment of this process.
    """
    *_, config = configs = _git_configs()
    named = (
        name for each in configs for name in _EXCLUDES_FILE.findall(rule_text(*os.path.split(each)))
    )
    return [*map(os.path.expanduser, named), os.path.join(os.path.dirname(config), "ignore")]


def rule_text(folder: str, name: str) -> str:
    """Return the text of the rule file `name` in `folder`; "" if it is a link or unreadable."""
    try:
        return Tree(folder).read(name, MAX_RULES_BYTES).decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""


def _files_of_repository(folder: str) -> Iterator[str]:
    """Yield `folder` and its exclude file if it is the top of a repository."""
    if os.access(f"{folder}{os.sep}{_GIT}", os.F_OK):
        yield folder
        yield git_excludes(folder)


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _check_file(path: str, *, within: str = "") -> None:
    """Raise PathRefused unless `path` may be opened; a link there must not lead out of `within`."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            real = real_path(path)
            if within and not Path(real).is_relative_to(os.path.realpath(within)):
                raise _refusal(path, reasons.LINK_OUT)
            path, status = real, os.stat(real)  # fails for links that lead to each other
    except OSError:
        return  # the walk cannot open it either
    if stat.S_ISREG(status.st_mode):
        if status.st_size > _UNCHECKED_BYTES:
            _check_content(path)
    elif not stat.S_ISDIR(status.st_mode):
        raise _refusal(path, reasons.NOT_REGULAR)


def _check_content(path: str) -> None:
    folder, name = os.path.split(path)
    try:
        rules = Tree(folder).read(name, MAX_RULES_BYTES).count(b"\n")
    except FileRefused as refusal:
        raise _refusal(path, refusal.reason) from refusal
    except OSError:
        return
    if rules > MAX_RULES:
        raise _refusal(path, f"more than {MAX_RULES:,} rules")


def _common_git_dir(folder: str) -> str:
    """Return the git directory named by the file `.git` in `folder`, or the one that it shares."""
    git = _git_dir(folder)
    return os.path.join(git, _read_path(git, _SHARED).strip())


def _git_dir(folder: str) -> str:
    """Return the git directory named by the file `.git` in `folder`."""
    return os.path.join(folder, _read_path(folder, _GIT).removeprefix("gitdir:").strip())


def _read_path(folder: str, name: str) -> str:
    """Return the content of the file `name`, which holds one path; "" if it cannot be read.

    Raises PathRefused for a link, and for a file too large for a path.
    """
    try:
        return os.fsdecode(Tree(folder).read(name, POINTER_BYTES))
    except FileRefused as refusal:
        raise _refusal(f"{folder}{os.sep}{name}", refusal.reason) from refusal
    except (OSError, ValueError):
        return ""


def _refusal(path: str, reason: str) -> PathRefused:
    return PathRefused(
        f"{path} cannot be followed: {reason}", hint="put a rules file there, or remove it"
    )


RulePlace = tuple[str, str, str]
"""A folder, the name of a rule file in it, and the path to match, relative to the folder."""


@dataclass(frozen=True, slots=True)
class RuleLine:
    """The line of a rule file that decides about a path."""

    file: str
    line: int  # from 1
    pattern: str
    ignores: bool


def find_rule_line(places: Iterable[RulePlace], *, is_folder: bool) -> RuleLine | None:
    """Return the deciding line of the first of `places` whose rules match; `None` if none do."""
    for folder, name, path in places:
        lines = rule_text(folder, name).splitlines()
        if match := last_match(lines, path, is_folder=is_folder):
            index, ignores = match
            return RuleLine(f"{folder}{os.sep}{name}", index + 1, lines[index].strip(), ignores)
    return None


def last_match(lines: list[str], path: str, *, is_folder: bool) -> tuple[int, bool] | None:
    """Return the index of the last line that matches `path`, and whether it ignores it.

    A line that only matches a folder above `path` does not count. Lines that could take minutes
    together, which people do not write, match nothing here.
    """
    whole = f"{path}/" if is_folder else path
    for index, pattern, ignores in reversed(_compiled(tuple(lines))):
        for found in pattern.finditer(whole):
            if found.lastgroup is None or found.end() == len(whole):  # the group is a folder's `/`
                return index, ignores
    return None


@lru_cache(maxsize=8)  # compiling 1,000 rules takes 0.3 s, and a walk has many paths to match
def _compiled(lines: tuple[str, ...]) -> list[tuple[int, re.Pattern[str], bool]]:
    """Return the index of each line that is a rule, its expression, and whether it ignores."""
    rules, cost = [], 0
    for index, line in enumerate(lines):
        wildcards = count_wildcards(line)
        cost += 20 ** (wildcards - 2) if 2 <= wildcards <= MAX_WILDCARDS else 0
        if wildcards < 2 or (wildcards <= MAX_WILDCARDS and cost <= MAX_COST):
            with suppress(*PATTERN_ERRORS):  # what is no pattern matches nothing, as in git
                rule = GitIgnoreSpecPattern(line)
                if rule.regex is not None:
                    rules.append((index, rule.regex, bool(rule.include)))
    return rules


def rule_place(folder: Path, name: str, path: Path) -> RulePlace:
    """Return the place to match the absolute `path` in the rule file `name` of `folder`."""
    return os.fspath(folder), name, path.relative_to(folder).as_posix()


def folders_up_to(top: Path, path: Path) -> Iterator[Path]:
    """Yield the folders above `path`, innermost first, up to `top`."""
    for folder in path.parents:
        yield folder
        if folder == top:
            return


def repository_top(folder: Path) -> Path | None:
    """Return the nearest folder at or above `folder` with a `.git`; `None` without one."""
    folders = (folder, *folder.parents)
    return next((each for each in folders if os.access(each / ".git", os.F_OK)), None)
