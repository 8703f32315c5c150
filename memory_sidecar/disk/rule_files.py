"""Files of ignore rules that a walk may open: no device, no FIFO, none without end.

A link is followed within its own source only. The rules of a worktree or a submodule lie where its
file `.git` says. A digest tells whether rules have changed that lie elsewhere than in a source:
while it is the same, a walk need not ask the rules again about what it knows (`recheck`).

The git directory that the file `.git` of a submodule names is its own. The crate that walks asks
every such file for the one that a worktree shares, and finds no exclude file where that is missing.
So what it lets through is asked about once more: see `Submodules`.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.opening import FileRefused, Tree, real_path
from memory_sidecar.core.projects import CONFIG_NAME

OWN_FILE = ".sidecarignore"

RULE_FILES = frozenset({".gitignore", OWN_FILE})
"""Names of the files that say what is ignored in their folder, and below."""

RULE_NAMES = RULE_FILES | {CONFIG_NAME}
"""The same, and of the settings of a source, which may exclude more."""

MAX_RULES_BYTES = 1 << 20
MAX_RULES = 10_000  # of the costliest kind they take 120 MB
_UNCHECKED_BYTES = 8192  # too short for that
_POINTER_BYTES = 4096

_GIT, _SHARED = ".git", "commondir"
# As `ignore` has it, which does the walking.
_EXCLUDES_FILE = re.compile(r'(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$')


def check_rules(folder: str, root: str) -> None:
    """Raise PathRefused unless the rules in `folder`, of the source at `root`, can be read."""
    for name in RULE_FILES:
        _check(f"{folder}{os.sep}{name}", within=root)
    if excludes := git_excludes(folder):
        _check(excludes)


def git_excludes(folder: str) -> str:
    """The file of rules in the git directory of the repository at `folder`; "" without one.

    Raises PathRefused where that cannot be told.
    """
    git = f"{folder}{os.sep}{_GIT}"
    try:
        is_pointer = stat.S_ISREG(os.stat(git).st_mode)
    except OSError:
        return ""
    return os.path.join(_pointed_to(folder) if is_pointer else git, "info", "exclude")


def excludes_of_submodule(folder: str) -> str:
    """The same where `.git` is a file that leads to a git directory of its own; else ""."""
    if not os.path.isfile(os.path.join(folder, _GIT)):
        return ""
    git = _named(folder)
    return "" if _content(git, _SHARED) else os.path.join(git, "info", "exclude")


def check_rules_above(root: str) -> None:
    """The same for every folder above `root`."""
    for folder in Path(root).parents:
        check_rules(os.fspath(folder), os.fspath(folder))


def rules_above(paths: Iterable[str]) -> set[str]:
    """Where rules may be that say whether `paths` are ignored."""
    folders = folders_of(paths)
    return {f"{folder}/{name}".lstrip("/") for folder in folders for name in RULE_NAMES}


def folders_of(paths: Iterable[str]) -> set[str]:
    """Every folder that one of the relative `paths` lies in, the root, "", too."""
    found: set[str] = set()
    for path in paths:
        for folder in folders_above(path):
            if folder in found:
                break  # and so are those above it
            found.add(folder)
    return found


def folders_above(path: str) -> Iterator[str]:
    """Every folder that the relative `path` lies in, the innermost first, up to the root, ""."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def rules_elsewhere(root: str, folders: Iterable[str], excludes: Iterable[str]) -> str:
    """A digest of the rules for the source at `root` that no rule file inside of it holds.

    These are the rule files above it, git's own (of the user, and of each repository among
    `folders`, relative to `root`), and `excludes`. "" where they cannot be told. What comes before
    the space is of the `root` alone, and the same whatever the folders are.
    """
    try:
        around = _digest(
            repr((root, sorted(excludes))),
            (*_above(Path(root)), *_of_user(), *_of_repository(root)),
        )
        return f"{around} {_digest('', _inside(root, folders))}"
    except PathRefused:
        return ""


def _digest(more: str, paths: Iterable[str]) -> str:
    """Of `more`, and of `paths` with what is there."""
    digest = hashlib.blake2b(more.encode("utf-8", "replace"))
    for path in paths:
        digest.update(f"{path}\0{_stamp(path)}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def _above(root: Path) -> Iterator[str]:
    for folder in root.parents:
        yield from (os.path.join(folder, name) for name in sorted(RULE_FILES))
        yield from _of_repository(os.fspath(folder))


def _of_user() -> Iterator[str]:
    yield from _git_configs()
    yield from user_excludes()


def _git_configs() -> tuple[str, str]:
    """https://git-scm.com/docs/git-config: where that of the user lies."""
    xdg = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.expanduser("~/.gitconfig"), os.path.join(xdg, "git", "config")


def user_excludes() -> list[str]:
    """The user's own rules for every repository, of which the first count.

    They are what `core.excludesFile` of git names, and its default. As the walk finds them: by the
    environment of this process.
    """
    *_, config = configs = _git_configs()
    named = (
        name for each in configs for name in _EXCLUDES_FILE.findall(rule_text(*os.path.split(each)))
    )
    return [*map(os.path.expanduser, named), os.path.join(os.path.dirname(config), "ignore")]


def rule_text(folder: str, name: str) -> str:
    """What a file of rules in `folder` says; "" where it cannot be read, as behind a link."""
    try:
        return Tree(folder).read(name, MAX_RULES_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _inside(root: str, folders: Iterable[str]) -> Iterator[str]:
    for folder in sorted(filter(None, folders)):
        yield from _of_repository(os.path.join(root, folder))


def _of_repository(folder: str) -> Iterator[str]:
    """That there is one in `folder`, and its excludes."""
    if os.path.lexists(os.path.join(folder, _GIT)):
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


def _check(path: str, *, within: str = "") -> None:
    """`within` is the folder that a link must not lead out of."""
    try:
        status = os.lstat(path)
    except OSError:
        return  # the walk cannot open it either
    if stat.S_ISLNK(status.st_mode):
        real = real_path(path)
        if within and not Path(real).is_relative_to(os.path.realpath(within)):
            raise _refused(path, reasons.LINK_OUT)
        _check(real)
    elif stat.S_ISREG(status.st_mode):
        if status.st_size > _UNCHECKED_BYTES:
            _check_content(path)
    elif not stat.S_ISDIR(status.st_mode):
        raise _refused(path, reasons.NOT_REGULAR)


def _check_content(path: str) -> None:
    folder, name = os.path.split(path)
    try:
        rules = Tree(folder).read(name, MAX_RULES_BYTES).count(b"\n")
    except FileRefused as refusal:
        raise _refused(path, refusal.reason) from refusal
    except OSError:
        return
    if rules > MAX_RULES:
        raise _refused(path, f"more than {MAX_RULES:,} rules")


def _pointed_to(folder: str) -> str:
    """The git directory that the file `.git` in `folder` names, or the one that it shares."""
    git = _named(folder)
    return os.path.join(git, _content(git, _SHARED).strip())


def _named(folder: str) -> str:
    return os.path.join(folder, _content(folder, _GIT).removeprefix("gitdir:").strip())


def _content(folder: str, name: str) -> str:
    """Of a file that holds one path; "" where there is none."""
    try:
        return os.fsdecode(Tree(folder).read(name, _POINTER_BYTES))
    except FileRefused as refusal:
        raise _refused(f"{folder}{os.sep}{name}", refusal.reason) from refusal
    except (OSError, ValueError):
        return ""


def _refused(path: str, reason: str) -> PathRefused:
    return PathRefused(
        f"{path} cannot be followed: {reason}", hint="put a file of rules there, or take it away"
    )


Place = tuple[str, str, str]
"""A folder, a file of rules in it, and the path that they are asked about as they name it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a line of a file of rules says of a path."""

    file: str
    line: int  # from 1
    pattern: str
    ignores: bool


def said(places: Iterable[Place], *, is_folder: bool) -> Said | None:
    """By the first of `places` that says anything of its path."""
    for folder, name, path in places:
        lines = rule_text(folder, name).splitlines()
        if match := last_match(lines, path, is_folder=is_folder):
            index, ignores = match
            return Said(f"{folder}{os.sep}{name}", index + 1, lines[index].strip(), ignores)
    return None


def last_match(lines: list[str], path: str, *, is_folder: bool) -> tuple[int, bool] | None:
    """The index of the line that decides on `path`, and whether it ignores it."""
    if not lines:
        return None
    found = GitIgnoreSpec.from_lines(lines).check_file(f"{path}/" if is_folder else path)
    if found.include is None or found.index is None:
        return None
    return found.index, found.include


def place(folder: Path, name: str, path: Path) -> Place:
    return os.fspath(folder), name, path.relative_to(folder).as_posix()


def up_to(top: Path, path: Path) -> Iterator[Path]:
    """The folders that `path` lies in, innermost first, up to `top`."""
    for folder in path.parents:
        yield folder
        if folder == top:
            return


def repository_top(folder: Path) -> Path | None:
    """The nearest at or above `folder` that holds a repository."""
    folders = (folder, *folder.parents)
    return next((each for each in folders if os.access(each / ".git", os.F_OK)), None)


class Submodules:
    """Tells of one walk, which shows a folder before what lies in it, what they leave out."""

    def __init__(self, root: str, start: str) -> None:
        """`start` is where the walk begins, in the source at `root`."""
        self._root = root
        top = repository_top(Path(start))
        self._of = {start: None if top is None else _excludes_of(os.fspath(top))}

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        excludes = self._of.get(path.rpartition(os.sep)[0])
        leaves_out = excludes is not None and self._are_obeyed(excludes, path, is_folder)
        if is_folder and leaves_out:
            self._of[path] = _EVERYTHING
        elif is_folder:
            is_top = os.path.lexists(f"{path}{os.sep}.git")
            self._of[path] = _excludes_of(path) if is_top else excludes
        return leaves_out

    def _are_obeyed(self, excludes: _Excludes, path: str, is_folder: bool) -> bool:
        if excludes is _EVERYTHING:
            return True
        top, whole = Path(excludes.top), Path(path)
        inside = whole.relative_to(top).as_posix()
        match = last_match(excludes.lines, inside, is_folder=is_folder)
        if match is None or not match[1]:
            return False
        # Nothing stronger ignores it, as the walk shows it, but it may be allowed.
        stronger = [place(each, OWN_FILE, whole) for each in up_to(Path(self._root), whole)]
        stronger += [place(each, ".gitignore", whole) for each in up_to(top, whole)]
        return said(stronger, is_folder=is_folder) is None


@dataclass(frozen=True, slots=True)
class _Excludes:
    """The lines of a submodule's exclude file."""

    top: str
    lines: list[str]


_EVERYTHING = _Excludes("", [])


def _excludes_of(top: str) -> _Excludes | None:
    """`None` where there are none, or the crate finds them."""
    file = excludes_of_submodule(top)
    lines = rule_text(*os.path.split(file)).splitlines() if file else []
    return _Excludes(top, lines) if lines else None
