"""Decides which paths of a source are ignored: by git's rules, our own, and built-in names.

From strongest to weakest: the source's excludes and the built-in names, `.sidecarignore`,
`.gitignore`, `.git/info/exclude`, the user's global excludes. An ignored folder is not entered.
The `ignore` crate (ripgrep's) matches the rules. It differs from git in rare cases: a tracked file
that a rule ignores stays ignored, a global exclude with a slash in it is relative to the working
directory, a rule file ends at a line that is not UTF-8, `*.{js,css}` means both, which to git is a
name with braces, and `[[:upper:]]` is no class. The crate opens anything that has the name of a
rule file, even a device, so `rule_files` checks them first.

The crate takes every file `.git` for that of a worktree, which shares a git directory. It finds no
exclude file for a submodule, whose git directory is its own, so each path that the crate lets
through is matched with those excludes here. A worktree of the source's own repository, as coding
agents add them below it, is left out: it holds the same files again, and an agent that works in it
indexes it as a source of its own. The folders of a data directory are left out, too, since they
hold what each agent remembers for itself, and bare repositories, which hold no source files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import ignore
from ignore.overrides import Override, OverrideBuilder
from pathspec import GitIgnoreSpec

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.opening import is_utf8, with_separator
from memory_sidecar.core.paths import KNOWLEDGE, OWN_FOLDERS
from memory_sidecar.core.visible import abridge
from memory_sidecar.disk.rule_files import (
    OWN_FILE,
    RULE_FILES,
    check_rules,
    excludes_of_submodule,
    find_rule_line,
    folders_of_sources,
    folders_up_to,
    last_match,
    repository_top,
    rule_place,
    rule_text,
    shared_git_dir,
    worktrees_git_dir,
)

NEVER = (".git", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs")
"""A version control system's own files. In a worktree and a submodule `.git` is a file."""

BUILT_IN = tuple(
    """
    node_modules bower_components bin obj target dist build DerivedData Pods
    .venv venv site-packages __pycache__ __pypackages__ .eggs *.egg-info .tox .nox
    .ipynb_checkpoints .mypy_cache .pytest_cache .ruff_cache .hypothesis htmlcov .cache .direnv
    .next .nuxt .svelte-kit .turbo .parcel-cache .yarn .pnpm-store .angular
    .gradle .terraform .dart_tool .stack-work .godot .import .idea .vs
    """.split()
)
"""Folders of built, downloaded or cached files. A line `!bin/` in the `.sidecarignore` at the top
of a source removes `bin` from this list, and so do files that git tracks in a folder `bin`."""

COPIES = ("*~", "#*#", "*.orig")
"""Old versions of a file that editors and merges leave beside it. `!*.orig` turns one off, too."""


class IgnoreRules:
    """The ignore rules of one source; each walk reads the rule files again."""

    def __init__(self, root: str, excludes: tuple[str, ...]) -> None:
        """`root` is absolute; `excludes` are globs as in a `.gitignore` at its top.

        `!GLOB` includes files that are otherwise skipped because they may hold secrets.
        Raises UsageError for an exclude that is no glob.
        """
        self.root = root
        self._in_repository = repository_top(Path(root)) is not None
        if self._in_repository:
            for above in map(os.fspath, Path(root).parents):
                check_rules(above, above)
        # In a repository the rules begin at its top; elsewhere at the root of the source, and rule
        # files above must have no effect. But a walk that starts below the root reads those above
        # it, too: so it may start there only in a repository, or if there are none above the root.
        self.can_start_below = self._in_repository or not any(
            (folder / name).exists() for folder in Path(root).parents for name in RULE_FILES
        )
        self._reenabled = _reenabled_names(Path(root)) | folders_of_sources(root)
        self._copies = [glob for glob in COPIES if glob not in self._reenabled]
        self._overrides = _overrides(root, excludes, self._reenabled)
        self._include_globs = GitIgnoreSpec.from_lines(
            glob.removeprefix("!") for glob in excludes if glob.startswith("!")
        )

    def paths(
        self, start: str, unreadable: list[str], *, max_depth: int | None = None
    ) -> Iterator[str]:
        """Yield the absolute paths of everything below the folder `start` that no rule ignores.

        `start` itself may be ignored. Folders that could not be listed are added to `unreadable`;
        an error that names no folder adds `start`. Raises PathRefused if rules cannot be read,
        since it is unknown then what they ignore.
        """
        if not is_utf8(start):  # the crate cannot start there
            above, inside = os.fspath(Path(start).parent), with_separator(start)
            deeper = None if max_depth is None else max_depth + 1
            for path in self.paths(above, unreadable, max_depth=deeper):
                if path.startswith(inside):
                    yield path
            return
        check_rules(start, self.root)
        folders = {start}  # whose rule files were checked
        nested = _Nested(self.root, start)
        walker = self._builder(start).max_depth(max_depth).build()
        last = start
        while True:
            try:
                path = os.fspath(next(walker).path())
            except StopIteration:
                return
            except (ignore.Error, ignore.IOError) as error:
                # The walk goes on. The error is about the folder that was visited just before it.
                folder = last if str(error).startswith(f"{last}: ") else start
                if os.path.lexists(folder):
                    unreadable.append(folder)
                continue
            last = path
            if is_folder := path in folders:
                folders.remove(path)
                folders.update(_with_sound_rules(path, self.root))
            if path != start and not nested.leave_out(path, is_folder=is_folder):
                yield path

    def built_in_rule(self, name: str, *, is_folder: bool) -> str:
        """Return the built-in rule that ignores a file or folder called `name`; empty if none."""
        if name in NEVER or (is_folder and name in BUILT_IN and name not in self._reenabled):
            return f"{name}/" if is_folder else name
        return next((glob for glob in self._copies if fnmatchcase(name, glob)), "")

    def is_asked_for(self, path: str) -> bool:
        """Whether an exclude `!GLOB` includes the file at `path` although it may hold secrets.

        Rule files in the source cannot include such a file.
        """
        return len(self._include_globs) > 0 and self._include_globs.match_file(path)

    def _builder(self, start: str) -> ignore.WalkBuilder:
        return (
            ignore.WalkBuilder(Path(start))
            .hidden(False)
            .ignore(False)
            .add_custom_ignore_filename(OWN_FILE)
            .parents(self.can_start_below)
            .require_git(self._in_repository)  # so that rules of nested ones and worktrees count
            .overrides(self._overrides)
        )


_Excludes = tuple[str, list[str]]
"""The top of a submodule, and the lines of its exclude file."""

_EVERYTHING: _Excludes = ("", [])


def _excludes_of(top: str) -> _Excludes | None:
    """Return the excludes that the crate misses at `top`; `None` for none."""
    file = excludes_of_submodule(top)
    lines = rule_text(*os.path.split(file)).splitlines() if file else []
    return (top, lines) if lines else None


class _Nested:
    """Leaves out of one walk what submodules exclude, worktrees of the source, and data of ours.

    The walk must visit a folder before its contents.
    """

    def __init__(self, root: str, start: str) -> None:
        """`start` is where the walk begins, in the source at `root`."""
        self._root = root
        self._worktrees_git_dir = worktrees_git_dir(root)
        top = repository_top(Path(start))
        self._excludes_by_folder = {start: None if top is None else _excludes_of(os.fspath(top))}

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether to leave the absolute `path` out of the walk; remembers it for what is inside."""
        excludes = self._excludes_by_folder.get(path.rpartition(os.sep)[0])
        leaves_out = excludes is not None and self._is_ignored(excludes, path, is_folder)
        is_top = is_folder and not leaves_out and os.path.lexists(f"{path}{os.sep}.git")
        if is_top and self._worktrees_git_dir and shared_git_dir(path) == self._worktrees_git_dir:
            leaves_out = True
        leaves_out = leaves_out or (is_folder and is_left_out(path))
        if is_folder and leaves_out:
            self._excludes_by_folder[path] = _EVERYTHING
        elif is_folder:
            self._excludes_by_folder[path] = _excludes_of(path) if is_top else excludes
        return leaves_out

    def _is_ignored(self, excludes: _Excludes, path: str, is_folder: bool) -> bool:
        if excludes is _EVERYTHING:
            return True
        top, whole = Path(excludes[0]), Path(path)
        inside = whole.relative_to(top).as_posix()
        match = last_match(excludes[1], inside, is_folder=is_folder)
        if match is None or not match[1]:
            return False
        # No stronger rule ignores it, or the walk would not visit it; but one may allow it.
        stronger = [
            rule_place(each, OWN_FILE, whole) for each in folders_up_to(Path(self._root), whole)
        ]
        stronger += [rule_place(each, ".gitignore", whole) for each in folders_up_to(top, whole)]
        return find_rule_line(stronger, is_folder=is_folder) is None


def is_own_folder(path: str) -> bool:
    """Whether `path` is a folder that we made in a data directory, ours or another's."""
    above, _, name = path.rpartition(os.sep)
    return name in OWN_FOLDERS and (
        os.path.lexists(f"{above}{os.sep}{KNOWLEDGE}{os.sep}.state")
        or os.path.lexists(f"{above}{os.sep}codebase.sqlite")
    )


def is_git_folder(path: str) -> bool:
    """Whether `path` is a bare repository, or the git directory of one: it holds no sources."""
    return all(os.access(f"{path}{os.sep}{name}", os.F_OK) for name in ("HEAD", "objects", "refs"))


def is_left_out(path: str) -> bool:
    """Whether no walk enters the folder `path`, whatever the rules are."""
    return is_own_folder(path) or is_git_folder(path)


def worktree_around(root: Path, path: Path) -> Path | None:
    """Return the left-out worktree at or around `path` within the source at `root`, if any."""
    if path == root or not (own := worktrees_git_dir(os.fspath(root))):
        return None
    return next(
        (
            folder
            for folder in (path, *path.parents)[: len(path.relative_to(root).parts)]
            if shared_git_dir(os.fspath(folder)) == own
        ),
        None,
    )


def _with_sound_rules(folder: str, root: str) -> Iterator[str]:
    """Yield the folders in `folder` with their rules checked, before the walker reads them all."""
    try:
        with os.scandir(folder) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return  # the walker will report it
    for path in inner:
        check_rules(path, root)
        yield path


def check_excludes(excludes: tuple[str, ...]) -> None:
    """Raise UsageError for an exclude that is no glob, or one too large to be matched."""
    for glob in excludes:
        builder = OverrideBuilder(Path())
        _add_excludes(builder, (glob,))
        try:
            builder.build()
        except ignore.Error as error:
            raise UsageError(
                f"the exclude {abridge(repr(glob))} is too large a glob", hint="split it"
            ) from error


def valid_excludes(excludes: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `excludes` that `check_excludes` lets pass."""
    valid = []
    for glob in excludes:
        with suppress(UsageError):
            check_excludes((glob,))
            valid.append(glob)
    return tuple(valid)


def _overrides(root: str, excludes: tuple[str, ...], reenabled: frozenset[str]) -> Override:
    builder = OverrideBuilder(Path(root))
    for name in NEVER:
        builder.add(f"!{name}")
    for name in BUILT_IN:
        if name not in reenabled:
            builder.add(f"!{name}/")
    for glob in COPIES:
        if glob not in reenabled:
            builder.add(f"!{glob}")
    _add_excludes(builder, excludes)
    try:
        return builder.build()
    except ignore.Error as error:
        raise UsageError(
            f"the {len(excludes):,} excludes are too large together", hint="leave some out"
        ) from error


def _add_excludes(builder: OverrideBuilder, excludes: tuple[str, ...]) -> None:
    for glob in excludes:
        wanted = glob.removeprefix("!")
        if not wanted.strip() or wanted.startswith("!"):
            raise UsageError(
                f"{glob!r} is not a glob to exclude", hint="for example 'docs/**/*.txt'"
            )
        try:
            (builder if wanted == glob else OverrideBuilder(Path())).add(f"!{wanted}")
        except ignore.Error as error:
            why = str(error).rpartition("': ")[2]  # without the glob, which it quotes with our `!`
            raise UsageError(
                f"the exclude {glob!r} is not a valid glob: {why}",
                hint="for example 'docs/**/*.txt'",
            ) from error


def _reenabled_names(root: Path) -> frozenset[str]:
    """Return the built-in names that a `!` line of the `.sidecarignore` at `root` turns off."""
    lines = rule_text(os.fspath(root), OWN_FILE).splitlines()
    return frozenset(line[1:].strip().strip("/") for line in lines if line.startswith("!"))
