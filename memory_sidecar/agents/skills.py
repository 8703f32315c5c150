"""Skills for coding agents: folders with a SKILL.md that says when and how to call this program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import Conflict, PathRefused
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.frontmatter import parse_page

FOLDER = Path(__file__).parents[1] / "skills"
FILE = "SKILL.md"
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill for coding agents."""

    name: str
    description: str
    path: Annotated[Path, about("of its SKILL.md")]


def all_skills() -> list[Skill]:
    """List the skills that come with this version, by name."""
    return [_read(file) for file in sorted(FOLDER.glob(f"*/{FILE}"))]


def install_skills(folder: Path, *, force: bool = False) -> list[Skill]:
    """Copy each skill into its own folder below `folder`, and return the copies.

    Raises Conflict, before anything is written, where a skill of that name has another text and
    `force` is not set, and PathRefused where `folder` is a file, or a link is in a copy's place.
    """
    if folder.exists() and not folder.is_dir():
        raise PathRefused(f"{folder} is not a folder", hint="for example .claude/skills")
    copies = {skill: folder / skill.name / FILE for skill in all_skills()}
    tree = Tree(folder)
    for skill, copy in copies.items():
        with named_errors(copy):
            try:
                changed = tree.read(copy, MAX_BYTES) != skill.path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                changed = False
        if changed and not force:
            raise Conflict(f"{copy} says something else", hint="--force replaces it")
    for skill, copy in copies.items():
        with named_errors(copy):
            replace_file(tree, copy, skill.path.read_bytes())
    return [replace(skill, path=copy) for skill, copy in copies.items()]


def _read(file: Path) -> Skill:
    meta = parse_page(file.read_text(encoding="utf-8")).meta
    return Skill(str(meta["name"]), str(meta["description"]), file)
