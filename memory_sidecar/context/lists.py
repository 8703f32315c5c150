"""Makes the generated lists in `CORTEX.md` and `OVERVIEW.md`; the text around them is the user's.

A list lies between two comments, `<!-- context:files -->` and `<!-- /context:files -->`. A page
without them gets them at its end, once; one with only one of them, or with a merge conflict, is
left as it is, since a guess could lose what a person wrote.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.context.layout import (
    ARCHIVE,
    CORTEX,
    INDEX,
    ISSUES,
    MAX_PAGE_BYTES,
    META,
    OVERVIEW,
    PROJECTS,
    SCANS,
    STATUS,
    TASKS,
    USER,
    Project,
    Root,
    name_on_page,
)
from memory_sidecar.core.atomic import TEMPORARY_PREFIX
from memory_sidecar.core.opening import Tree
from memory_sidecar.disk.atoms import AtomKind

FILES = "files"
PROJECT_LINES = "projects"

MAX_CHARACTERS = 160  # of a text that is copied from another page
HEAD_BYTES = 4096  # of a page, in which its title must be

# Words of the heading in STATUS.md under which the situation is described, the surest first.
SITUATION_WORDS = ("situation", "current", "status")

_HEADINGS = {FILES: "## Files", PROJECT_LINES: "## Projects"}
_TITLE = re.compile(r"^#[ \t]+(\S.*)", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: |$)", re.MULTILINE)

_PURPOSES = {
    OVERVIEW: "where every project stands",
    USER: "how the people here like to work",
    STATUS: "what holds now",
    ISSUES: "what slows the work down",
    TASKS: "what is to be done",
    ARCHIVE: "what was done",
    "mission.md": "what it is for",
    "roadmap.md": "milestones and their conditions",
}


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One line of a list of files."""

    path: str  # from the page that lists it; a folder ends in /
    purpose: str

    def __str__(self) -> str:
        return f"- `{self.path}`: {self.purpose}" if self.purpose else f"- `{self.path}`"


def replace_list(text: str, name: str, lines: list[str]) -> str | None:
    """Replace the list `name` in `text` by `lines`; `None` if its place is unclear."""
    newline = "\r\n" if "\r\n" in text else "\n"
    begin, end = f"<!-- context:{name} -->", f"<!-- /context:{name} -->"
    inside = newline.join([begin, *lines, end])
    counts = (text.count(begin), text.count(end))
    if _CONFLICT.search(text):
        return None
    if counts == (0, 0):
        above = text.rstrip() + newline * 2 if text.strip() else ""
        return above + newline.join([_HEADINGS[name], "", inside, ""])
    start, stop = text.find(begin), text.find(end)
    if counts != (1, 1) or stop < start:
        return None
    return text[:start] + inside + text[stop + len(end) :]


def files_of_root(root: Root) -> list[ListEntry]:
    """List the files that the root's `CORTEX.md` should name."""
    listed: list[ListEntry] = []
    for entry in _entries(root.path):
        if entry.name == PROJECTS:
            pages = (project.path / CORTEX for project in root.projects())
            listed += [ListEntry(root.shown(page), _title(root.tree, page)) for page in pages]
        elif entry.name != SCANS:
            listed += _list_entry(root.tree, root.path, entry)
        elif dates := _scan_dates(root):
            listed.append(ListEntry(f"{SCANS}/", f"one a date, the last on {dates[-1]}"))
    return listed


def files_of_project(project: Project) -> list[ListEntry]:
    """List the files that a project's `CORTEX.md` should name."""
    generated = {
        kind.folder: ListEntry(f"{kind.folder}/{INDEX}", f"{kind.tells}, one file each")
        for kind in AtomKind
    } | {META: ListEntry(f"{META}/", "who read what")}
    listed: list[ListEntry] = []
    for entry in _entries(project.path):
        if entry.name in generated:
            listed.append(generated[entry.name])
        else:
            listed += _list_entry(project.tree, project.path, entry)
    return listed


def project_lines(root: Root) -> list[str]:
    """Make the list in `OVERVIEW.md`: a line for each project, and the date of the last scan."""
    lines = [
        f"- [{project.name}]({PROJECTS}/{project.name}/{CORTEX}): {read_situation(project)}"
        for project in root.projects()
    ]
    dates = _scan_dates(root)
    return [*lines, *([""] if lines else []), f"Last scan: {dates[-1] if dates else 'none yet'}"]


def read_situation(project: Project) -> str:
    """Read a project's situation: the first paragraph of STATUS.md below a heading on it."""
    try:
        text = project.tree.read(project.path / STATUS, MAX_PAGE_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return f"no {STATUS} that can be read"
    sections = [(heading.lower(), first) for heading, first in _first_paragraphs(text) if first]
    for word in SITUATION_WORDS:
        for heading, first in sections:
            if heading.startswith("##") and word in heading:
                return shorten(first)
    return shorten(sections[0][1]) if sections else "nothing said"


def _first_paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Yield each heading with the first paragraph below it; "" for text before any heading."""
    heading = ""
    paragraph: list[str] = []
    is_over = False
    for line in (*text.splitlines(), "# "):
        if _HEADING.match(line):
            yield heading, " ".join(paragraph)
            heading, paragraph, is_over = line, [], False
        elif line.strip() and not is_over:
            paragraph.append(line.strip().removeprefix("- "))
        elif paragraph:
            is_over = True


def shorten(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Cut `text` to `limit` characters, the last of them an ellipsis, if it has more."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _list_entry(tree: Tree, above: Path, entry: Path) -> Iterator[ListEntry]:
    """Yield the entry of a file, or of each file and folder in a folder."""
    for each in _entries(entry) if _is_folder(entry) else [entry]:
        name = each.relative_to(above).as_posix()
        if _is_folder(each):
            yield ListEntry(f"{name_on_page(name)}/", "")
        else:
            yield ListEntry(name_on_page(name), _PURPOSES.get(name) or _title(tree, each))


def _entries(folder: Path) -> list[Path]:
    """List the files and folders in `folder` that a list may name, files first."""
    entries = [
        entry
        for entry in folder.iterdir()
        if not entry.name.startswith((".", TEMPORARY_PREFIX)) and entry.name != CORTEX
    ]
    return sorted(entries, key=lambda entry: (_is_folder(entry), entry.name))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _title(tree: Tree, page: Path) -> str:
    """Return the first heading of a Markdown page; "" if there is none."""
    if page.suffix.lower() != ".md":
        return ""
    try:
        with os.fdopen(tree.open(page), "rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    found = _TITLE.search(head)
    return shorten(" ".join(found[1].rstrip().rstrip("#").split())) if found else ""


def _scan_dates(root: Root) -> list[str]:
    folder = root.path / SCANS
    names = (entry.name for entry in folder.iterdir()) if folder.is_dir() else ()
    return sorted(found.group() for name in names if (found := _DATE.search(name)))
