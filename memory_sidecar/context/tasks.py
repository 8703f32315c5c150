"""Reads `TASKS.yaml`, and archives done tasks by cutting lines, so that comments and order stay.

    tasks:
      - id: a1
        text: Extract the registry
        status: done

A done task moves, with all its lines, to `tasks-archive.md`. The archive is written first: after a
kill in between a task is in both files, and the next run only removes it from the first.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memory_sidecar.context.layout import ARCHIVE, MAX_PAGE_BYTES, TASKS, Change, Project, template
from memory_sidecar.core.errors import PageBroken
from memory_sidecar.core.opening import FileRefused
from memory_sidecar.disk.atoms import text_of
from memory_sidecar.disk.frontmatter import UNRESOLVED, conflict_line
from memory_sidecar.disk.yaml_text import BrokenYaml, Node, read_yaml

DONE = frozenset({"done", "completed", "complete", "closed"})

_TASKS_KEY = re.compile(r"^(?P<key>tasks\s*:)(?P<rest>\s*(?:#.*)?)$", re.DOTALL)
_DASH = re.compile(r"\s*-(\s|$)")


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a project."""

    project: str
    id: str
    text: str
    status: str
    done: bool
    priority: str
    line: int  # its first, 1-based


@dataclass(frozen=True, slots=True)
class _File:
    lines: list[str]  # with their ends
    tasks: list[tuple[Task, slice]]  # each with its lines
    is_block: bool  # every task begins in a line of its own, with a dash


def read_tasks(project: Project) -> list[Task]:
    """List the tasks in the order of the file; none without a file. Raises PageBroken."""
    file = _parse(project, _text(project, project.path / TASKS) or "")
    return [task for task, _ in file.tasks]


def archive_tasks(project: Project) -> list[Task]:
    """Move the done tasks to the archive, and return them.

    Raises PageBroken, and changes nothing, if a task cannot be cut out without touching others, and
    Conflict if another program changes one of the files meanwhile.
    """
    path, archive = project.path / TASKS, project.path / ARCHIVE
    before = _text(project, path)
    file = _parse(project, before or "")
    done = [(task, file.lines[span]) for task, span in file.tasks if task.done]
    if not done:
        return []
    left = _cut_done(project, file)
    archived = _text(project, archive)
    empty = template(f"project/{ARCHIVE}", {"project": project.name})
    longer = _add_entries(archived or empty, [_archive_entry(*each) for each in done])
    for place, was, text in ((archive, archived, longer), (path, before, left)):
        known = None if was is None else was.encode()
        Change(project.tree, place, known, text.encode()).apply()
    return [task for task, _ in done]


# Reading


def _parse(project: Project, text: str) -> _File:
    path = project.path / TASKS
    try:
        root = read_yaml(text)
    except BrokenYaml as broken:
        at = conflict_line(text)
        line, why = (at, UNRESOLVED) if at else (broken.line, broken.why)
        raise PageBroken(f"{path}:{line}: {why}", hint="fix it by hand") from broken
    found = root.entries().get("tasks") if root and isinstance(root.value, dict) else root
    lines = text.splitlines(keepends=True)
    if found is None or found.value is None:
        return _File(lines, [], is_block=True)
    if not isinstance(found.value, list):
        raise PageBroken(
            f"{path}:{found.first_line}: the tasks are no list", hint="begin each with a dash"
        )
    tasks = [(_task(project, node, lines), node.last_line) for node in found.items]
    spans = [(task, slice(task.line - 1, last)) for task, last in tasks]
    return _File(lines, spans, not found.is_flow)


def _task(project: Project, node: Node, lines: Sequence[str]) -> Task:
    values = node.entries() if isinstance(node.value, dict) else {"text": node}

    def value(key: str) -> str:
        return text_of(values[key].text) if key in values else ""

    first = node.first_line
    while first > 1 and not _DASH.match(lines[first - 1]):
        first -= 1  # the dash stands above what it begins
    status = value("status") or "open"
    return Task(
        project=project.name,
        id=value("id"),
        text=value("text") or value("title"),
        status=status,
        done=status.lower() in DONE,
        priority=value("priority"),
        line=first,
    )


# Moving


def _cut_done(project: Project, file: _File) -> str:
    refused = PageBroken(
        f"{project.path / TASKS}: the tasks that are done cannot be cut out of it line by line",
        hint="give each task lines of its own, with a dash in front, and no anchors",
    )
    if not file.is_block:
        raise refused
    lines = list(file.lines)
    for task, span in reversed(file.tasks):
        if task.done:
            del lines[span]
    kept = [replace(task, line=0) for task, _ in file.tasks if not task.done]
    if not kept:
        # `tasks: []`, since a key without a value is null, not a list.
        lines = [_TASKS_KEY.sub(r"\g<key> []\g<rest>", line) for line in lines]
    left = "".join(lines)
    try:
        remaining = _parse(project, left).tasks
    except PageBroken:
        raise refused from None
    if [replace(task, line=0) for task, _ in remaining] != kept:
        raise refused
    return left


def _archive_entry(task: Task, lines: Sequence[str]) -> str:
    """Make the archive's entry of a task: its text in one line, then all `lines` it had."""
    own = "".join(lines).replace("\r\n", "\n").rstrip("\n")
    fence = "```"
    while fence in own:
        fence += "`"
    block = f"{fence}yaml\n{textwrap.dedent(own)}\n{fence}"
    name = f" [id: {task.id}]" if task.id else ""
    return f"- [x] {task.text or 'untitled'}{name}\n\n{textwrap.indent(block, '  ')}\n"


def _add_entries(archive: str, entries: Sequence[str]) -> str:
    newline = "\r\n" if "\r\n" in archive else "\n"
    written = dict.fromkeys(entry.replace("\n", newline).rstrip() for entry in entries)
    new = [entry for entry in written if entry not in archive]
    return (newline * 2).join([archive.rstrip(), *new]) + newline if new else archive


def _text(project: Project, path: Path) -> str | None:
    """Read a file; `None` without one. Raises PageBroken."""
    try:
        return project.tree.read(path, MAX_PAGE_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except FileRefused as refusal:
        raise PageBroken(f"{path}: {refusal.reason}", hint=refusal.remedy) from refusal
    except UnicodeDecodeError as error:
        raise PageBroken(f"{path} is not UTF-8 (byte {error.start})") from error
