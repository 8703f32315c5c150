"""Turns paths and tool calls of coding agents into lines of the access log.

A tool call comes as the JSON that agents pass to their hooks: `tool_name`, `tool_input` and
`tool_response`. Reading a file counts that file; a search counts each file that it found once, or
one `_directory_search` if it found none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from memory_sidecar.context.layout import PROJECTS, Project, Root, is_root
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.results import about
from memory_sidecar.disk.atoms import is_atom_path
from memory_sidecar.disk.usage import append_lines

DIRECTORY_SEARCH = "_directory_search"
MAX_DEPTH = 20  # of lists and objects in a tool's response

# A line of a search's output that begins with the path of an atom, or is one.
_FOUND = re.compile(r"\s*+(?P<path>[^\0]*?(?<![A-Z])(?P<id>[A-Z]++-\w++)\.md)(?P<rest>[:\s].*)?")
_COUNT = re.compile(r":(\d+)\s*")
_NOTHING = re.compile(r"No (?:files|matches) found.*")


@dataclass(frozen=True, slots=True)
class Access:
    """A counted read of an atom, or a search without a hit."""

    project: str
    file: str  # experiments/EXP-042.md, or `_directory_search`
    tool: str
    matches: Annotated[int | None, about("of a search")]  # how many lines of the file it found


Reads = list[tuple[Project, Access]]


def accesses_of_paths(
    paths: Iterable[Path], *, tool: str = "Read", only: Root | None = None
) -> Reads:
    """Make a read of each atom among `paths`, once. Raises NotFound for a missing file.

    `only` limits the atoms to one root; by default they may lie in any.
    """
    found: dict[Path, tuple[Project, Access]] = {}
    for path in paths:
        if not _is_file(path):
            hint = "name the file of an atom, such as experiments/EXP-001.md, not its id"
            raise NotFound(f"there is no file {path}", hint=hint)
        if (project := _project_of_atom(path, only)) is not None:
            found[path] = project, Access(project.name, _shown(path), tool, None)
    return list(found.values())


def accesses_of_event(event: Mapping[str, object], *, cwd: Path, only: Root | None = None) -> Reads:
    """Make the reads of the tool call `event`; none for other tools, files or forms of a call."""
    given = event.get("tool_input")
    given = given if isinstance(given, dict) else {}
    cwd = _path(event.get("cwd"), cwd)
    if event.get("tool_name") == "Read":
        path = _path(given.get("file_path"), cwd)
        return accesses_of_paths([path] if _is_file(path) else [], only=only)
    if event.get("tool_name") != "Grep":
        return []
    response = event.get("tool_response", event.get("tool_output"))
    lines = [line for text in _texts(response) for line in text.splitlines()]
    searched = _path(given.get("path"), cwd)
    by_number = given.get("output_mode") == "count"
    accesses = [
        (project, Access(project.name, _shown(path), "Grep", matches))
        for path, matches in _hits(lines, (cwd, searched), by_number=by_number).items()
        if matches and (project := _project_of_atom(path, only)) is not None
    ]
    project = _project_of(searched, only)
    if not accesses and project is not None:
        return [(project, Access(project.name, DIRECTORY_SEARCH, "Grep", 0))]
    return accesses


def append(reads: Reads, *, at: str) -> None:
    """Append a line for each of `reads` to the log of its project. `at`: the time, ISO 8601."""
    for project, accesses in by_key(reads).items():
        lines = [
            {"ts": at, "file": each.file, "tool": each.tool}
            | ({} if each.matches is None else {"matches": each.matches})
            for each in accesses
        ]
        append_lines(project.tree, project.access_log, lines)


# Searches


def _hits(lines: Iterable[str], folders: tuple[Path, Path], *, by_number: bool) -> dict[Path, int]:
    """Count the lines of a search's output for each atom that it found.

    `by_number`: each line holds a file's count instead. Paths may be relative to any of `folders`,
    the last of which is the path that was searched.
    """
    hits: dict[Path, int] = {}
    searched = folders[-1]
    is_one_atom = is_atom_path(searched.as_posix()) and _is_file(searched)
    for line in lines:
        if not line.strip() or _NOTHING.fullmatch(line):
            continue
        found = _FOUND.fullmatch(line)
        paths = [_path(found["path"], folder) for folder in folders] if found else []
        path = next((p for p in paths if is_atom_path(p.as_posix()) and _is_file(p)), None)
        if path is None and is_one_atom:
            path = searched  # a search of a single file prints its lines without the path
        if path is not None:
            number = _COUNT.fullmatch((found["rest"] or "") if found else "")
            hits[path] = hits.get(path, 0) + (int(number[1]) if by_number and number else 1)
    return hits


def _texts(response: object, depth: int = 0) -> Iterator[str]:
    """Yield every text in a tool's response, in whatever structure it is."""
    match response:
        case str():
            yield response
        case list() if depth < MAX_DEPTH:
            for item in response:
                yield from _texts(item, depth + 1)
        case dict() if depth < MAX_DEPTH:
            for key, value in response.items():
                if key not in ("mode", "type"):
                    yield from _texts(value, depth + 1)


# Paths


def _path(text: object, cwd: Path) -> Path:
    """Make a path that an agent wrote absolute, without following links; `cwd` if it is no text."""
    named = os.path.expanduser(text.replace("\0", "")) if isinstance(text, str) else ""  # noqa: PTH111  which never fails
    return Path(os.path.normpath(cwd / named))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # longer than a name can be
        return False


def _project_of_atom(path: Path, only: Root | None) -> Project | None:
    project = _project_of(path, only) if is_atom_path(path.as_posix()) else None
    return project if project is not None and path.parent.parent == project.path else None


def _project_of(path: Path, only: Root | None) -> Project | None:
    """Return the project whose folder, in `projects` of a root, `path` is or lies in."""
    for folder in (path, *path.parents):
        root = Root(folder.parent.parent)
        if folder.parent.name == PROJECTS and is_root(root.path):
            is_meant = only is None or only.path.resolve() == root.path.resolve()
            return Project(root, folder.name) if is_meant else None
    return None


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
