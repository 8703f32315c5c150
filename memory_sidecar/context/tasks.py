"""`TASKS.yaml`: read as YAML, cut as text, so that comments and order stay as they are.

    tasks:
      - id: a1
        text: Extract the registry
        status: done

A task that is done moves, with every line of it, to `tasks-archive.md`. The archive is written
first: a kill in between leaves a task in both, and the next run takes it out of the first only.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memory_sidecar.context.layout import ARCHIVE, MAX_PAGE_BYTES, TASKS, Project, template
from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import Conflict, PageBroken
from memory_sidecar.core.opening import FileRefused
from memory_sidecar.disk.atoms import text_of
from memory_sidecar.disk.yaml_read import BrokenYaml, Node, read_yaml

DONE = frozenset({"done", "completed", "complete", "closed"})

_TASKS_KEY = re.compile(r"(?P<key>tasks\s*:)(?P<comment>\s*#.*)?\s*")
_DASH = re.compile(r"\s*-(\s|$)")


@dataclass(frozen=True, slots=True)
class Task:
    """One entry, and the lines it has to itself: 1-based, inclusive."""

    project: str
    id: str
    text: str
    status: str
    priority: str
    first_line: int
    last_line: int

    @property
    def is_done(self) -> bool:
        return self.status.lower() in DONE


@dataclass(frozen=True, slots=True)
class _File:
    lines: list[str]  # with their ends
    tasks: list[Task]
    is_block: bool  # every task begins in a line of its own, with a dash


def read_tasks(project: Project) -> list[Task]:
    """In the order of the file; none where it is missing. Raises PageBroken where it is no YAML."""
    return _parse(project, _text(project, project.path / TASKS)).tasks


def archive_tasks(project: Project) -> list[Task]:
    """Move what is done to the archive; returns it.

    Raises PageBroken, and changes nothing, where a task cannot be cut out without touching others;
    Conflict where someone else writes to the file meanwhile.
    """
    path, archive = project.path / TASKS, project.path / ARCHIVE
    before = _text(project, path)
    file = _parse(project, before)
    done = [task for task in file.tasks if task.is_done]
    if not done:
        return []
    left = _without(project, file, done)
    archived = _text(project, archive) or template(f"project/{ARCHIVE}", {"project": project.name})
    longer = _with_entries(archived, [_entry(task, file.lines) for task in done])
    if longer != archived:
        replace_file(project.tree, archive, longer.encode())
    if _text(project, path) != before:
        raise Conflict(f"{path} was changed meanwhile", hint="do it again")
    replace_file(project.tree, path, left.encode())
    return done


# Reading


def _parse(project: Project, text: str) -> _File:
    path = project.path / TASKS
    try:
        root = read_yaml(text)
    except BrokenYaml as broken:
        raise PageBroken(f"{path}:{broken.line}: {broken.why}", hint="mend it by hand") from broken
    found = root.entries().get("tasks") if root and isinstance(root.value, dict) else root
    if found is None or found.value is None:
        return _File(text.splitlines(keepends=True), [], is_block=True)
    if not isinstance(found.value, list):
        raise PageBroken(
            f"{path}:{found.first_line}: the tasks are no list", hint="begin each with a dash"
        )
    lines = text.splitlines(keepends=True)
    tasks = [_task(project, node, lines) for node in found.items]
    return _File(lines, tasks, is_block=not found.is_flow)


def _task(project: Project, node: Node, lines: Sequence[str]) -> Task:
    values = node.entries() if isinstance(node.value, dict) else {"text": node}

    def value(key: str) -> str:
        return text_of(values[key].text) if key in values else ""

    first = node.first_line
    while first > 1 and not _DASH.match(lines[first - 1]):
        first -= 1  # the dash stands above what it begins
    return Task(
        project=project.name,
        id=value("id"),
        text=value("text") or value("title"),
        status=value("status") or "open",
        priority=value("priority"),
        first_line=first,
        last_line=node.last_line,
    )


# Moving


def _without(project: Project, file: _File, done: Sequence[Task]) -> str:
    refused = PageBroken(
        f"{project.path / TASKS}: the tasks that are done cannot be cut out of it line by line",
        hint="give each task lines of its own, with a dash in front, and no anchors",
    )
    if not file.is_block:
        raise refused
    cut = {number for task in done for number in range(task.first_line, task.last_line + 1)}
    kept = [task for task in file.tasks if not task.is_done]
    lines = [line for number, line in enumerate(file.lines, 1) if number not in cut]
    if not kept:
        lines = _with_empty_list(lines)
    left = "".join(lines)
    try:
        remaining = _parse(project, left).tasks
    except PageBroken:
        raise refused from None
    if [_placeless(task) for task in remaining] != [_placeless(task) for task in kept]:
        raise refused
    return left


def _with_empty_list(lines: Sequence[str]) -> list[str]:
    """`tasks: []`, since a key without a value is nothing, and no list."""
    changed = []
    for line in lines:
        found = _TASKS_KEY.fullmatch(line.rstrip("\r\n"))
        end = line[len(line.rstrip("\r\n")) :]
        changed.append(f"{found['key']} []{found['comment'] or ''}{end}" if found else line)
    return changed


def _placeless(task: Task) -> Task:
    return replace(task, first_line=0, last_line=0)


def _entry(task: Task, lines: Sequence[str]) -> str:
    """A task for the archive: what it was in a line, then every line it had."""
    own = "".join(lines[task.first_line - 1 : task.last_line]).replace("\r\n", "\n").rstrip("\n")
    fence = "```"
    while fence in own:
        fence += "`"
    block = f"{fence}yaml\n{textwrap.dedent(own)}\n{fence}"
    name = f" [id: {task.id}]" if task.id else ""
    return f"- [x] {task.text or 'untitled'}{name}\n\n{textwrap.indent(block, '  ')}\n"


def _with_entries(archive: str, entries: Sequence[str]) -> str:
    newline = "\r\n" if "\r\n" in archive else "\n"
    for entry in (entry.replace("\n", newline) for entry in entries):
        if entry not in archive:
            archive = archive.rstrip() + newline * 2 + entry
    return archive


def _text(project: Project, path: Path) -> str:
    try:
        return project.tree.read(path, MAX_PAGE_BYTES).decode("utf-8")
    except FileNotFoundError:
        return ""
    except FileRefused as refusal:
        raise PageBroken(f"{path}: {refusal.reason}", hint="put the file itself there") from refusal
    except UnicodeDecodeError as error:
        raise PageBroken(f"{path} is not UTF-8 (byte {error.start})") from error
