"""The fixed layout of a dense-context root: finds roots and projects, and creates them.

<root>/
├── CORTEX.md  OVERVIEW.md      what is here · where every project stands
├── decisions/  ideas/  scans/  DR-NNNN-title.md · anything · one a date
├── user/USER.md
└── projects/<project>/
    ├── CORTEX.md  mission.md  roadmap.md  STATUS.md  ISSUES.md  TASKS.yaml  tasks-archive.md
    ├── experiments/  knowledge/  patterns/    atoms, and an index.md that is generated
    ├── decisions/
    └── _meta/                  access-log.jsonl, and counts of what it no longer holds
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from string import Template

from memory_sidecar.core.atomic import create_file, delete_file, replace_unchanged
from memory_sidecar.core.errors import Conflict, NotFound, UsageError
from memory_sidecar.core.opening import FileRefused, Tree, real_path
from memory_sidecar.core.paths import FOLDER_NAME, FOLDER_NAME_RULE
from memory_sidecar.core.visible import visible_line
from memory_sidecar.disk.atoms import GENERATED_LIST, AtomKind

CORTEX = "CORTEX.md"
OVERVIEW = "OVERVIEW.md"
STATUS = "STATUS.md"
ISSUES = "ISSUES.md"
TASKS = "TASKS.yaml"
ARCHIVE = "tasks-archive.md"
INDEX = "index.md"
PROJECTS = "projects"
DECISIONS = "decisions"
SCANS = "scans"
USER = "user/USER.md"
META = "_meta"
ACCESS_LOG = "access-log.jsonl"

MAX_PAGE_BYTES = 64 << 20  # the log of a busy year takes ten

ROOT_FOLDERS = (DECISIONS, "ideas", SCANS, "user", PROJECTS)
PROJECT_FOLDERS = (*(kind.folder for kind in AtomKind), DECISIONS, META)

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Project:
    """The paths of one project of a root. Its files may be missing."""

    root: Root
    name: str

    @property
    def tree(self) -> Tree:
        """The tree that the files of its root are opened through."""
        return self.root.tree

    @property
    def path(self) -> Path:
        return self.root.path / PROJECTS / self.name

    def folder(self, kind: AtomKind) -> Path:
        return self.path / kind.folder

    def index(self, kind: AtomKind) -> Path:
        return self.folder(kind) / INDEX

    @property
    def meta(self) -> Path:
        return self.path / META

    @property
    def access_log(self) -> Path:
        return self.meta / ACCESS_LOG


@dataclass(frozen=True, slots=True)
class Root:
    """A dense-context root."""

    path: Path

    @property
    def tree(self) -> Tree:
        return Tree(self.path)

    def projects(self) -> list[Project]:
        """Every project, by name; a folder whose name is not UTF-8 or not one line is none."""
        folders = (self.path / PROJECTS).iterdir() if (self.path / PROJECTS).is_dir() else ()
        names = sorted(folder.name for folder in folders if folder.is_dir())
        fit = (each for each in names if not each.startswith(".") and name_on_page(each) == each)
        return [Project(self, name) for name in fit]

    def project(self, name: str) -> Project:
        """Return the project `name`. Raises NotFound without it, UsageError for an invalid name."""
        projects = {project.name: project for project in self.projects()}
        if name not in projects:
            known = ", ".join(projects) or "none yet"
            raise NotFound(
                f"there is no project {check_name(name)!r} in {self.path}",
                hint=f"there are: {known}; `memory-sidecar context init --project {name}` makes it",
            )
        return projects[name]

    def project_around(self, path: Path) -> Project | None:
        """Return the project that `path` lies in; None if it lies in none."""
        # A working directory is a real path, and a root may be named by a link.
        above, real = Path(real_path(self.path / PROJECTS)), Path(real_path(path))
        below = real.relative_to(above).parts if real.is_relative_to(above) else ()
        return Project(self, below[0]) if below else None

    def shown(self, path: Path) -> str:
        """Format `path` for people: relative to the root, with `/`."""
        return path.relative_to(self.path).as_posix()


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write; `before` is its content as it was read, `None` if there was no file."""

    tree: Tree
    path: Path
    before: bytes | None
    after: bytes

    def apply(self) -> None:
        """Write the file, if it changes. Raises Conflict if it is no longer as it was read."""
        if self.before == self.after:
            return
        if not replace_unchanged(self.tree, self.path, self.before, self.after):
            raise Conflict(f"{self.path} was changed in the meantime", hint="run it again")


def is_root(path: Path) -> bool:
    return (path / CORTEX).is_file() and (path / PROJECTS).is_dir()


def root_around(path: Path) -> Root | None:
    """Find the nearest root upwards from `path`, which itself may be one."""
    return next((Root(each) for each in (path, *path.parents) if is_root(each)), None)


def check_name(name: str) -> str:
    """Return `name` if it can name a project, which is a folder. Raises UsageError."""
    if not FOLDER_NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a project", hint=FOLDER_NAME_RULE)
    return name


def make_root(root: Root) -> list[Path]:
    """Create what is missing of `root`; return the new files. Existing ones stay.

    Raises UsageError in a folder of another root, such as that of a project.
    """
    around = None if is_root(root.path) else root_around(root.path)
    if around and around.shown(root.path).split("/")[0] in ROOT_FOLDERS:
        raise UsageError(
            f"{root.path} lies in the dense-context root {around.path}",
            hint=f"`memory-sidecar context init {quote(str(around.path))} --project NAME` adds a"
            " project to it",
        )
    return _make(root, root.path, "root", ROOT_FOLDERS, {})


def make_project(project: Project) -> list[Path]:
    """Create what is missing of `project`; return the new files. Existing ones stay."""
    values = {"project": project.name}
    return _make(project.root, project.path, "project", PROJECT_FOLDERS, values)


def page_bytes(tree: Tree, path: Path) -> bytes | None:
    """Read the page at `path`; `None` if nothing is there.

    Empty for anything but a file, and for one too large for a page: a check reports those.
    """
    try:
        return tree.read(path, MAX_PAGE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except FileRefused:
        return b""


def page_text(tree: Tree, path: Path) -> str:
    """Read the page at `path` as text; "" if nothing is there, or if `page_bytes` is empty."""
    return (page_bytes(tree, path) or b"").decode("utf-8", "replace")


def name_on_page(name: str) -> str:
    """Return the name of a file as a page can hold it: in one line, and in UTF-8."""
    return visible_line(name).encode("utf-8", "backslashreplace").decode()


def is_unfilled(path: str, text: str) -> bool:
    """Whether `text`, apart from its generated lists, is the template of the page at `path`.

    `path` begins at a root or above it, with `/`.
    """
    *above, name = path.split("/")
    kind, values = "root", {}
    if len(above) > 1 and above[-2] == PROJECTS:
        kind, values = "project", {"project": above[-1]}
    elif f"{above[-1] if above else ''}/{name}" == USER:
        name = USER
    try:
        pages = text, template(f"{kind}/{name}", values)
    except FileNotFoundError:
        return False
    own, empty = (GENERATED_LIST.sub("", page).split() for page in pages)
    return own == empty


def template(name: str, values: dict[str, str]) -> str:
    """Fill in the template `name`, such as `atoms/experiment.md`; `values["id"]` replaces `$id`."""
    return Template((_TEMPLATES / name).read_text(encoding="utf-8")).substitute(values)


def _make(
    root: Root, path: Path, templates: str, folders: tuple[str, ...], values: dict[str, str]
) -> list[Path]:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is not a folder", hint="name a folder, or a new one")
    for folder in folders:
        root.tree.make(path / folder)
    above = _TEMPLATES / templates
    names = sorted(each.relative_to(above) for each in above.rglob("*") if each.is_file())
    pages = {path / name: template(f"{templates}/{name.as_posix()}", values) for name in names}
    made: list[Path] = []
    try:
        for page, text in pages.items():
            if create_file(root.tree, page, text.encode()):
                made.append(page)
    except OSError:  # for example a full disk: create all of them or none
        for page in made:
            delete_file(root.tree, page)
        raise
    return made
