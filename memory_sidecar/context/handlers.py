"""What the `context` commands do, and what the daemon does for a dense-context root by itself."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from memory_sidecar.context import health
from memory_sidecar.context.access import Access, accesses_of_paths, append
from memory_sidecar.context.commit import commit_logs
from memory_sidecar.context.create import Draft, create_atom
from memory_sidecar.context.findings import Finding, apply_fixes
from memory_sidecar.context.layout import (
    Project,
    Root,
    checked_name,
    is_root,
    make_project,
    make_root,
    root_around,
)
from memory_sidecar.context.refs import Refs, rotate_log
from memory_sidecar.context.regen import Plan, plan_project, plan_root, write
from memory_sidecar.context.tasks import Task, archive_tasks, read_tasks
from memory_sidecar.core.clock import Clock, iso_utc, system_clock
from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import (
    DiskFull,
    NotFound,
    PageBroken,
    SidecarError,
    StoreReadOnly,
    UsageError,
)
from memory_sidecar.core.settings import load_settings
from memory_sidecar.disk.atoms import HOT_REFS, AtomFacts, AtomId, AtomKind
from memory_sidecar.index.reporter import Reporter

if TYPE_CHECKING:  # only a look for atoms to merge needs vectors, and the libraries for these
    from memory_sidecar.context.survey import Embed
    from memory_sidecar.embedding.embedder import Vectors
    from memory_sidecar.index.models import Models

ROOT_VARIABLE = "MEMORY_SIDECAR_CONTEXT"
EMBED_AT_ONCE = 512  # texts between two reports of progress


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that an index could not be made of, or not fully."""

    path: Path
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Regenerated:
    """What `regenerate` found and wrote."""

    atoms: Mapping[str, Mapping[AtomKind, int]]  # by project
    problems: Sequence[Problem]
    written: Sequence[Path]


@dataclass(frozen=True, slots=True)
class UsedAtom:
    """An atom and its use, as counted now."""

    facts: AtomFacts
    refs: Refs
    is_cold: bool

    @property
    def is_hot(self) -> bool:
        return self.refs.count >= HOT_REFS


def find_root(option: Path | None, *, cwd: Path, environ: Mapping[str, str]) -> Root:
    """`option`, else what the environment or the settings name, else the nearest upwards of `cwd`.

    Raises NotFound where that is no root, UsageError for settings that cannot be read.
    """
    named = option or _configured_root(cwd, environ)
    if named is None:
        if (found := root_around(cwd)) is not None:
            return found
        raise NotFound(
            f"no dense-context root at {cwd} or above",
            hint=f"name one with --root or {ROOT_VARIABLE}, or make one: "
            "`memory-sidecar context init ROOT`",
        )
    if not is_root(named):
        raise NotFound(
            f"{named} is no dense-context root",
            hint=f"`memory-sidecar context init {quote(str(named))}` makes it one",
        )
    return Root(named)


def _configured_root(cwd: Path, environ: Mapping[str, str]) -> Path | None:
    if variable := environ.get(ROOT_VARIABLE):
        return _resolved(variable, cwd)
    setting = load_settings(cwd, environ).context_root
    return _resolved(setting, cwd) if setting else None


def _resolved(path: str, above: Path) -> Path:
    return Path(os.path.normpath(above / os.path.expanduser(path)))  # noqa: PTH111  which never fails


def init(path: Path, *, project: str | None, clock: Clock = system_clock) -> list[Path]:
    """Make a root, or a project in it, or what is missing of either; returns the new files."""
    if project is not None:
        checked_name(project)
    root = Root(path)
    with _named_errors(path):
        made = make_root(path)
        if project is not None:
            added = Project(path, project)
            made += make_project(added)
            plan = plan_project(added, now_ms=clock(), today=_day(clock()))
            made += write(plan.changes)
        return list(dict.fromkeys(made + write(plan_root(root))))


def record(accesses: Sequence[Access], *, clock: Clock = system_clock) -> None:
    """Count `accesses` in the logs of their projects."""
    if accesses:
        with _named_errors(accesses[0].project.root):
            append(accesses, at=iso_utc(clock()))


def commit(accesses: Sequence[Access]) -> None:
    """Commit the logs that `accesses` were counted in. Raises SidecarError where git cannot."""
    logs: dict[Path, set[Path]] = {}
    for access in accesses:
        logs.setdefault(access.project.root, set()).add(access.project.access_log)
    for root, inside in logs.items():
        commit_logs(root, sorted(inside))


def record_own_read(file: Path, tool: str) -> None:
    """Count that the sidecar itself gave out `file`, if that is an atom of a root."""
    if file.is_file():
        record(accesses_of_paths([file], tool=tool))


class Context:
    """One dense-context root. Everything is read from its files at each call."""

    def __init__(
        self, root: Root, *, models: Callable[[], Models], clock: Clock = system_clock
    ) -> None:
        self.root = root
        self._models = models
        self._clock = clock

    @property
    def today(self) -> date:
        """Where the people here are."""
        return _day(self._clock())

    def project(self, name: str | None, *, cwd: Path) -> Project:
        """The project called `name`, else the one around `cwd`, else the only one there is.

        Raises UsageError where that leaves more than one, NotFound where there is none.
        """
        if name is not None:
            return self.root.project(name)
        if (around := self.root.project_around(cwd)) is not None:
            return around
        projects = self.root.projects()
        if len(projects) == 1:
            return projects[0]
        if not projects:
            raise NotFound(
                f"{self.root.path} has no project",
                hint="make one: `memory-sidecar context init --project NAME`",
            )
        names = ", ".join(project.name for project in projects)
        raise UsageError("which project?", hint=f"name it with --project: {names}")

    def new(
        self, project: Project, kind: AtomKind, draft: Draft, *, allow_secrets: bool = False
    ) -> tuple[AtomId, Path]:
        """Make an atom under the next free number; raises SecretRefused, and as `create_atom`."""
        if not allow_secrets:
            refuse_credentials(draft)
        with _named_errors(self.root.path):
            return create_atom(project, kind, draft, today=self.today)

    def regenerate(self, projects: Sequence[Project], *, reporter: Reporter) -> Regenerated:
        """Bring the indexes, refs and lists of `projects`, and the root's pages, up to date."""
        plans, written = [], []
        with _named_errors(self.root.path):
            for done, project in enumerate(projects):
                reporter.progress("projects", done, len(projects))
                plan = plan_project(project, now_ms=self._clock(), today=self.today)
                written += write(plan.changes)
                plans.append(plan)
            written += write(plan_root(self.root))
        return Regenerated(
            atoms={
                plan.project.name: {shelf.kind: len(shelf.atoms) for shelf in plan.shelves}
                for plan in plans
            },
            problems=[problem for plan in plans for problem in _problems(plan)],
            written=written,
        )

    def check(
        self, *, rules: Collection[str], project: Project | None, reporter: Reporter
    ) -> list[Finding]:
        """What is wrong, by file and line. Writes nothing."""
        with _named_errors(self.root.path):
            embed = self._embed(reporter) if "merge" in rules else None
            surveyed = health.survey(self.root, now_ms=self._clock(), today=self.today, embed=embed)
            return health.examine(surveyed, rules=rules, project=project)

    def fix(self, findings: Sequence[Finding], *, reporter: Reporter) -> int:
        """Do what is safe about `findings`, then regenerate; returns how many that were."""
        with _named_errors(self.root.path):
            fixed = apply_fixes(findings)
        self.regenerate(self.root.projects(), reporter=reporter)
        return fixed

    def used(self, projects: Sequence[Project]) -> list[UsedAtom]:
        """Every atom with its refs as of now, the most used first. Writes nothing."""
        used = []
        with _named_errors(self.root.path):
            for project in projects:
                plan = plan_project(project, now_ms=self._clock(), today=self.today)
                for atom in plan.atoms:
                    refs = plan.refs.get(atom.name, Refs())
                    is_cold = not refs.count and atom.facts.is_cold(self.today)
                    used.append(UsedAtom(atom.facts, refs, is_cold))
        return sorted(used, key=lambda each: (-each.refs.count, each.facts.project, each.facts.id))

    def rotate(self, projects: Sequence[Project], *, reporter: Reporter) -> list[Path]:
        """Count what the logs hold and begin new ones; returns the old ones."""
        self.regenerate(projects, reporter=reporter)
        suffix = iso_utc(self._clock()).replace(":", "").replace(".", "")
        with _named_errors(self.root.path):
            rotated = [rotate_log(project, suffix=suffix) for project in projects]
        return [path for path in rotated if path is not None]

    def tasks(self, projects: Sequence[Project], *, reporter: Reporter) -> list[Task]:
        """In the order of the files. Raises PageBroken if that of every project is."""
        return self._of_each(projects, read_tasks, reporter)

    def archive(self, projects: Sequence[Project], *, reporter: Reporter) -> list[Task]:
        """Move every task that is done to its archive. Raises as `tasks`."""
        return self._of_each(projects, archive_tasks, reporter)

    def _of_each(
        self,
        projects: Sequence[Project],
        work: Callable[[Project], list[Task]],
        reporter: Reporter,
    ) -> list[Task]:
        """A project whose file is broken does not stop the others."""
        found: list[Task] = []
        broken: list[PageBroken] = []
        for project in projects:
            try:
                with _named_errors(self.root.path):
                    found += work(project)
            except PageBroken as error:
                broken.append(error)
        if broken and len(broken) == len(projects):
            raise broken[0]
        for each in broken:
            reporter.notice(f"left out: {each.message}; {each.hint}")
        return found

    def _embed(self, reporter: Reporter) -> Embed | None:
        models = self._models()
        if models.problem is not None:
            reporter.notice(f"atoms to merge are not looked for: {models.problem.message}")
            return None

        import numpy as np

        from memory_sidecar.embedding.service import embed_texts

        def embed(texts: Sequence[str]) -> Vectors:
            parts = []
            for start in range(0, len(texts), EMBED_AT_ONCE):
                reporter.progress("vectors", start, len(texts))
                part = texts[start : start + EMBED_AT_ONCE]
                parts.append(embed_texts(part, embedder=models.embedder, cache=models.cache))
            return np.concatenate(parts)

        return embed


def _day(epoch_ms: int) -> date:
    return datetime.fromtimestamp(epoch_ms / 1000).date()


def _problems(plan: Plan) -> Iterator[Problem]:
    for shelf in plan.shelves:
        for atom in shelf.atoms:
            if atom.problem:
                yield Problem(atom.path, atom.problem_line, atom.problem)
        for stray in shelf.strays:
            yield Problem(stray.path, 1, stray.why)


@contextmanager
def _named_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no room left at {root}", hint="make room, and do it again") from error
        if error.errno == errno.EROFS:
            raise StoreReadOnly(
                f"{root} lies on a disk that may only be read", hint="mount it for writing"
            ) from error
        raise SidecarError(
            f"{error.filename or root}: {error.strerror or error}", hint="check its permissions"
        ) from error
