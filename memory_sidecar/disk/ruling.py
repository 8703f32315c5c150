"""Which rule keeps a path of a source from being looked at: its file, line and pattern.

The walk alone decides whether a path is ignored; this reads the same rules again, in the order of
`ignores`, to say why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pathspec import GitIgnoreSpec

from memory_sidecar.core.opening import Tree
from memory_sidecar.core.results import about
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.disk.recheck import folders_above
from memory_sidecar.disk.rule_files import MAX_RULES_BYTES, OWN_FILE

BUILT_IN, EXCLUDE = "built in", "--exclude"
_EXCLUDES_FILE = re.compile(r'(?im)^\s*excludesfile\s*=\s*"?\s*(?P<path>\S+?)\s*"?\s*$')


@dataclass(frozen=True, slots=True)
class Rule:
    """What an ignored path owes that to."""

    file: Annotated[str, about("absolute; `built in`, or `--exclude` of the source")]
    line: Annotated[int, about("from 1; 0 where it stands in no file")]
    pattern: str
    path: Annotated[str, about("what it ignores: the path, or a folder above it")]

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.pattern} ({where})"


def rule_for(root: Path, path: str, *, is_folder: bool, excludes: tuple[str, ...]) -> Rule | None:
    """The rule that ignores `path`, relative to the source at `root`, or a folder above it."""
    rules = IgnoreRules(os.fspath(root), excludes)
    above = sorted((folder for folder in folders_above(path) if folder), key=len)
    for part, part_is_folder in (*((folder, True) for folder in above), (path, is_folder)):
        if found := _of(root, part, is_folder=part_is_folder, excludes=excludes, rules=rules):
            return found
        if found := _of_git(root, part, is_folder=part_is_folder):
            return found
    return None


def _of(
    root: Path, path: str, *, is_folder: bool, excludes: tuple[str, ...], rules: IgnoreRules
) -> Rule | None:
    """The rules that no file of git holds."""
    name = PurePosixPath(path).name
    if rules.is_built_in(name, is_folder=is_folder):
        return Rule(BUILT_IN, 0, f"{name}/" if is_folder else name, path)
    globs = [glob for glob in excludes if not glob.startswith("!")]
    if (found := _last_match(globs, path, is_folder=is_folder)) and found[1]:
        return Rule(EXCLUDE, 0, globs[found[0]], path)
    if is_folder and name.endswith(".egg-info"):  # the only built-in one that is no plain name
        return Rule(BUILT_IN, 0, "*.egg-info/", path)
    return _in_files(root / path, [(f, OWN_FILE) for f in _folders(root, path)], is_folder, path)


def _of_git(root: Path, path: str, *, is_folder: bool) -> Rule | None:
    folders = list(_folders(root, path))
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is not None:
        folders += [folder for folder in root.parents if folder.is_relative_to(top)]
    files = [(folder, ".gitignore") for folder in folders]
    if found := _in_files(root / path, files, is_folder, path):
        return found
    beside = [(top, ".git/info/exclude")] if top is not None else []
    if found := _in_files(root / path, beside, is_folder, path):
        return found
    return _of_user(path, global_excludes(), is_folder)


def global_excludes() -> Path:
    """The user's own rules for every repository: what `core.excludesFile` of git names.

    As the walk finds it: by the environment of this process.
    """
    home = Path(os.environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111  never fails
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    for folder, name in ((home, ".gitconfig"), (config, "config")):
        if found := _EXCLUDES_FILE.search("\n".join(_lines(folder, name))):
            named = found["path"]
            return home / named.removeprefix("~/") if named.startswith("~/") else Path(named)
    return config / "ignore"


def _of_user(path: str, file: Path, is_folder: bool) -> Rule | None:
    lines = _lines(file.parent, file.name)
    match = _last_match(lines, path, is_folder=is_folder)
    if match is None or not match[1]:
        return None
    return Rule(os.fspath(file), match[0] + 1, lines[match[0]].strip(), path)


def _in_files(
    whole: Path, files: list[tuple[Path, str]], is_folder: bool, path: str
) -> Rule | None:
    """What the first of `files` that says anything of the path `whole` says."""
    for folder, name in files:
        lines = _lines(folder, name)
        inside = whole.relative_to(folder).as_posix()
        match = _last_match(lines, inside, is_folder=is_folder)
        if match is not None:
            index, ignores = match
            file = os.fspath(folder / name)
            return Rule(file, index + 1, lines[index].strip(), path) if ignores else None
    return None


def _folders(root: Path, path: str) -> Iterator[Path]:
    """Those that may hold rules for `path`, innermost first, up to the source's own."""
    for folder in PurePosixPath(path).parents:
        yield root / folder


def _lines(folder: Path, name: str) -> list[str]:
    try:
        return Tree(folder).read(name, MAX_RULES_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _last_match(lines: list[str], path: str, *, is_folder: bool) -> tuple[int, bool] | None:
    """The index of the line that decides on `path`, and whether it ignores it."""
    if not lines:
        return None
    found = GitIgnoreSpec.from_lines(lines).check_file(f"{path}/" if is_folder else path)
    if found.include is None or found.index is None:
        return None
    return found.index, found.include
