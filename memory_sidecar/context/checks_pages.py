"""Checks of the pages around the atoms. Each docstring says what must hold."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

from memory_sidecar.context.atoms import Finding, Fix
from memory_sidecar.context.layout import (
    CORTEX,
    INDEX,
    ISSUES,
    OVERVIEW,
    STATUS,
    TASKS,
    USER,
    Change,
    Project,
    Root,
    make_project,
    make_root,
    page_text,
)
from memory_sidecar.context.lists import (
    FILES,
    SITUATION_WORDS,
    ListEntry,
    files_of_project,
    files_of_root,
    replace_list,
)
from memory_sidecar.context.loaded import Loaded, write
from memory_sidecar.context.refs import broken_lines
from memory_sidecar.context.tasks import read_tasks
from memory_sidecar.core import reasons
from memory_sidecar.core.atomic import LEFT_AFTER_MS, TEMPORARY_PREFIX, delete_file
from memory_sidecar.core.errors import PageBroken
from memory_sidecar.core.opening import Tree

MAX_STATUS_LINES = 120
MAX_ISSUES_LINES = 80
MAX_USER_BYTES = 3 * 1024

# The sections of STATUS.md, each with words of which its heading has one.
STATUS_SECTIONS = {
    "Current Situation": SITUATION_WORDS,
    "In Flight & New Variables": ("flight", "progress", "variables"),
    "Blockers & Pending Decisions": ("block", "decision"),
    "Next Step": ("next",),
}
REGEN = "run `memory-sidecar context regen`"

_HEADING = re.compile(r"##+[ \t]+(.*)")
_PLACE = re.compile(r":(\d+): (.*)")
_OF_PATH = re.compile(r"[\w./-]")  # before a path: it is the end of a longer one
_OF_NAME = re.compile(r"[\w-]")  # after it: it is the beginning of another


def check_missing(loaded: Loaded) -> Iterator[Finding]:
    """Every page of the fixed layout exists."""
    root = loaded.root
    remedy = f"run `memory-sidecar context init --root {quote(str(root.path))}`"
    yield from _missing(root.path, (OVERVIEW, USER), remedy, partial(make_root, root))
    for project in _projects(loaded):
        pages = (CORTEX, "mission.md", "roadmap.md", STATUS, ISSUES, TASKS)
        remedy = f"run `memory-sidecar context init --project {project.name}`"
        yield from _missing(project.path, pages, remedy, partial(make_project, project))


def check_size(loaded: Loaded) -> Iterator[Finding]:
    """The pages that agents read at every start stay short."""
    for project in _projects(loaded):
        for name, limit, remedy in (
            (STATUS, MAX_STATUS_LINES, "keep what holds now"),
            (ISSUES, MAX_ISSUES_LINES, "delete what is resolved"),
        ):
            path = project.path / name
            if (count := len(page_text(project.tree, path).splitlines())) > limit:
                text = f"it has {count} lines, and {limit} are allowed"
                yield Finding(path, limit + 1, text, remedy)
    user = loaded.root.path / USER
    size = user.stat().st_size if user.is_file() else 0
    if size > MAX_USER_BYTES:
        text = f"it has {size:,} bytes, and 3 KB are allowed"
        yield Finding(user, 1, text, "keep what helps in every session")


def check_sections(loaded: Loaded) -> Iterator[Finding]:
    """STATUS.md says where things stand, what is under way, what blocks, and what is next."""
    for project in _projects(loaded):
        path = project.path / STATUS
        lines = map(_HEADING.fullmatch, page_text(project.tree, path).splitlines())
        headings = [found[1].lower() for found in lines if found]
        for name, words in STATUS_SECTIONS.items():
            if path.is_file() and not any(word in head for head in headings for word in words):
                yield Finding(path, 1, f"it has no section {name!r}", f"add `## {name}`")


def check_generated(loaded: Loaded) -> Iterator[Finding]:
    """Indexes and overview are up to date with the files."""
    for changes in (loaded.changes, *(each.changes for each in loaded.projects)):
        for change in changes:
            is_new = change.before is None
            if change.path.name == INDEX or (change.path.name == OVERVIEW and not is_new):
                text = "it is missing" if is_new else "it is out of date"
                yield Finding(change.path, 1, text, REGEN, fix=partial(write, changes))


def check_unlisted(loaded: Loaded) -> Iterator[Finding]:
    """Every file is named in the CORTEX.md above it."""
    root = loaded.root
    yield from _unlisted(root.tree, root.path / CORTEX, files_of_root(root), loaded.changes)
    for each in loaded.projects:
        page, wanted = each.project.path / CORTEX, files_of_project(each.project)
        yield from _unlisted(root.tree, page, wanted, each.changes)


def check_tasks(loaded: Loaded) -> Iterator[Finding]:
    """TASKS.yaml is a list of tasks."""
    for project in _projects(loaded):
        path = project.path / TASKS
        try:
            read_tasks(project)
        except PageBroken as error:
            found = _PLACE.fullmatch(error.message.removeprefix(str(path)))
            line, text = (int(found[1]), found[2]) if found else (1, error.message)
            yield Finding(path, line, text, error.hint or "fix it by hand")


def check_access_log(loaded: Loaded) -> Iterator[Finding]:
    """Every line of the access log is JSON; others count nothing."""
    for project in _projects(loaded):
        for path, line in broken_lines(project):
            yield Finding(path, line, "this line is no JSON and counts nothing", "delete it")


def check_leftovers(loaded: Loaded) -> Iterator[Finding]:
    """There are no temporary files of killed processes."""
    left = (path for path in _entries(loaded.root) if path.name.startswith(TEMPORARY_PREFIX))
    for path in left:
        status = loaded.root.tree.status(path)  # None: a writer is done with it
        if status and status.st_mtime * 1000 < loaded.now_ms - LEFT_AFTER_MS:
            fix = partial(delete_file, loaded.root.tree, path)
            yield Finding(path, 1, "a killed process left it behind", "delete it", fix=fix)


def check_special_files(loaded: Loaded) -> Iterator[Finding]:
    """Everything in a root is a regular file or a folder, or hidden: nothing else is read."""
    shelves = (shelf for project in loaded.projects for shelf in project.shelves)
    reported = {stray.path for shelf in shelves for stray in shelf.strays}
    for path in _entries(loaded.root):
        if path.name.startswith("."):
            continue
        status = loaded.root.tree.status(path)
        mode = status.st_mode if status else stat.S_IFREG  # a file that is gone by now is no fault
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or path in reported):
            why = reasons.SYMBOLIC_LINK if stat.S_ISLNK(mode) else reasons.NOT_REGULAR
            yield Finding(path, 1, f"it is not read: {why}", "put the file itself there")


def _entries(root: Root) -> Iterator[Path]:
    """Yield all that lies in `root`, except what lies in hidden folders, such as `.git`."""
    for above, folders, files in os.walk(root.path):
        yield from (Path(above, name) for name in (*folders, *files))
        folders[:] = (name for name in folders if not name.startswith("."))


def _projects(loaded: Loaded) -> list[Project]:
    return [each.project for each in loaded.projects]


def _missing(above: Path, names: Sequence[str], remedy: str, fix: Fix) -> Iterator[Finding]:
    for path in (above / name for name in names):
        if not path.is_file():
            yield Finding(path, 1, "it is missing", remedy, fix=fix)


def _unlisted(
    tree: Tree, page: Path, wanted: Sequence[ListEntry], changes: Sequence[Change]
) -> Iterator[Finding]:
    if not page.is_file():
        return
    text = page_text(tree, page)
    if replace_list(text, FILES, []) is None:
        yield Finding(
            page, 1, "the comments around its list of files are not whole",
            f"write <!-- context:{FILES} --> and <!-- /context:{FILES} --> once each",
        )  # fmt: skip
    fix = partial(write, [change for change in changes if change.path == page])
    for each in wanted:
        if not _is_named(each.path, text):
            yield Finding(page, 1, f"it does not name {each.path}", REGEN, fix=fix)


def _is_named(path: str, text: str) -> bool:
    """Whether `text` names `path` as a whole; a regular expression takes a hundred times longer."""
    at = text.find(path)
    while at >= 0:
        end = at + len(path)
        if not (_OF_PATH.match(text[max(at - 1, 0) : at]) or _OF_NAME.match(text[end : end + 1])):
            return True
        at = text.find(path, at + 1)
    return False
