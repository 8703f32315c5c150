"""Rules that look at the pages around the atoms: there, short enough, and up to date."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

from memory_sidecar.context.findings import Finding
from memory_sidecar.context.layout import (
    CORTEX,
    INDEX,
    ISSUES,
    OVERVIEW,
    STATUS,
    TASKS,
    USER,
    Project,
    make_project,
    make_root,
    page_bytes,
)
from memory_sidecar.context.lists import (
    FILES,
    SITUATION_WORDS,
    Listed,
    files_of_project,
    files_of_root,
    with_list,
)
from memory_sidecar.context.refs import broken_lines
from memory_sidecar.context.regen import Change, write
from memory_sidecar.context.survey import Survey
from memory_sidecar.context.tasks import read_tasks
from memory_sidecar.core import reasons
from memory_sidecar.core.atomic import TEMPORARY_PREFIX, delete_file
from memory_sidecar.core.errors import PageBroken
from memory_sidecar.core.opening import Tree

MAX_STATUS_LINES = 120
MAX_ISSUES_LINES = 80
MAX_USER_BYTES = 3 * 1024
LEFT_BEHIND_AFTER_S = 3600  # a temporary file that is younger may be in use

# What a status says, each by a word that its heading has.
STATUS_SECTIONS = {
    "Current Situation": SITUATION_WORDS,
    "In Flight & New Variables": ("flight", "progress", "variables"),
    "Blockers & Pending Decisions": ("block", "decision"),
    "Next Step": ("next",),
}
REGEN = "run `memory-sidecar context regen`"

_HEADING = re.compile(r"##+[ \t]+(.*)")
_PLACE = re.compile(r":(\d+): (.*)")


def whole(survey: Survey) -> Iterator[Finding]:
    """Every page of the fixed shape is there."""
    for name in (OVERVIEW, USER):
        if not (path := survey.root.path / name).is_file():
            fix = partial(make_root, survey.root.path)
            remedy = f"run `memory-sidecar context init {quote(str(survey.root.path))}`"
            yield Finding(path, 1, "it is missing", remedy, fix=fix)
    for project in survey.projects:
        for name in (CORTEX, "mission.md", "roadmap.md", STATUS, ISSUES, TASKS):
            if not (path := project.path / name).is_file():
                remedy = f"run `memory-sidecar context init --project {project.name}`"
                fix = partial(make_project, project)
                yield Finding(path, 1, "it is missing", remedy, fix=fix)


def short(survey: Survey) -> Iterator[Finding]:
    """What is read at every start stays short."""
    for project in survey.projects:
        yield from _too_long(project, STATUS, MAX_STATUS_LINES, "keep what holds now")
        yield from _too_long(project, ISSUES, MAX_ISSUES_LINES, "delete what is resolved")
    user = survey.root.path / USER
    size = user.stat().st_size if user.is_file() else 0
    if size > MAX_USER_BYTES:
        text = f"it has {size:,} bytes, and 3 KB are allowed"
        yield Finding(user, 1, text, "keep what helps in every session")


def status_has_sections(survey: Survey) -> Iterator[Finding]:
    """STATUS.md says where things stand, what is under way, what blocks, and what is next."""
    for project in survey.projects:
        path = project.path / STATUS
        headings = [
            found[1].lower()
            for line in _lines(project.tree, path)
            if (found := _HEADING.fullmatch(line))
        ]
        for name, words in STATUS_SECTIONS.items():
            if path.is_file() and not any(word in head for head in headings for word in words):
                yield Finding(path, 1, f"it has no section {name!r}", f"add `## {name}`")


def generated(survey: Survey) -> Iterator[Finding]:
    """Indexes and overview say what the files say."""
    for plan in survey.plans:
        fix = partial(write, plan.changes)
        for change in plan.changes:
            if change.path.name == INDEX:
                yield Finding(change.path, 1, _outdated(change), REGEN, fix=fix)
    for change in survey.root_changes:
        if change.path.name == OVERVIEW and change.before is not None:
            fix = partial(write, survey.root_changes)
            yield Finding(change.path, 1, "it is out of date", REGEN, fix=fix)


def listed(survey: Survey) -> Iterator[Finding]:
    """Every file is named in the CORTEX.md above it."""
    root = survey.root
    yield from _unlisted(root.tree, root.path / CORTEX, files_of_root(root), survey.root_changes)
    for plan in survey.plans:
        path = plan.project.path / CORTEX
        yield from _unlisted(plan.project.tree, path, files_of_project(plan.project), plan.changes)


def tasks_readable(survey: Survey) -> Iterator[Finding]:
    """TASKS.yaml is a list of tasks."""
    for project in survey.projects:
        path = project.path / TASKS
        try:
            read_tasks(project)
        except PageBroken as error:
            found = _PLACE.fullmatch(error.message.removeprefix(str(path)))
            line, text = (int(found[1]), found[2]) if found else (1, error.message)
            yield Finding(path, line, text, error.hint or "mend it by hand")


def log_readable(survey: Survey) -> Iterator[Finding]:
    """Every line of the access log is JSON; others count nothing."""
    for project in survey.projects:
        for path, line in broken_lines(project):
            yield Finding(path, line, "this line is no JSON and counts nothing", "delete it")


def nothing_left_behind(survey: Survey) -> Iterator[Finding]:
    """No temporary file of a process that was killed."""
    for path in survey.root.path.rglob(TEMPORARY_PREFIX + "*"):
        if survey.now_ms / 1000 - path.stat().st_mtime > LEFT_BEHIND_AFTER_S:
            fix = partial(delete_file, survey.root.tree, path)
            yield Finding(path, 1, "a killed process left it behind", "delete it", fix=fix)


def plain(survey: Survey) -> Iterator[Finding]:
    """Whatever lies in a root is a file or a folder. Of the rest nothing is read or written."""
    told = {stray.path for plan in survey.plans for shelf in plan.shelves for stray in shelf.strays}
    for path in sorted(survey.root.path.rglob("*")):
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or path in told):
            why = reasons.SYMBOLIC_LINK if stat.S_ISLNK(mode) else reasons.NOT_REGULAR
            yield Finding(path, 1, f"it is not read: {why}", "put the file itself there")


def _too_long(project: Project, name: str, limit: int, remedy: str) -> Iterator[Finding]:
    path = project.path / name
    count = len(_lines(project.tree, path))
    if count > limit:
        yield Finding(path, limit + 1, f"it has {count} lines, and {limit} are allowed", remedy)


def _outdated(change: Change) -> str:
    return "it is missing" if change.before is None else "it is out of date"


def _unlisted(
    tree: Tree, page: Path, wanted: Sequence[Listed], changes: Sequence[Change]
) -> Iterator[Finding]:
    text = "\n".join(_lines(tree, page))
    if page.is_file() and with_list(text, FILES, []) is None:
        yield Finding(
            page, 1, "the comments around its list of files are not whole",
            f"write <!-- context:{FILES} --> and <!-- /context:{FILES} --> once each",
        )  # fmt: skip
    fix = partial(write, [change for change in changes if change.path == page])
    for each in wanted:
        if page.is_file() and not _names(text, each.path):
            yield Finding(page, 1, f"it does not name {each.path}", REGEN, fix=fix)


def _names(text: str, path: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w-])", text) is not None


def _lines(tree: Tree, path: Path) -> list[str]:
    """None for a file that is missing."""
    return (page_bytes(tree, path) or b"").decode("utf-8", "replace").splitlines()
