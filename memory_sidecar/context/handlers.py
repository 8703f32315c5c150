"""Carries out the `context` commands, and the regeneration that the daemon does by itself."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from memory_sidecar.context.access import Reads, accesses_of_paths, append
from memory_sidecar.context.atoms import DECISION, AtomDraft, Finding, create_atom, create_decision
from memory_sidecar.context.checks import apply_fixes, examine
from memory_sidecar.context.commit import commit_logs
from memory_sidecar.context.index import note_given
from memory_sidecar.context.layout import (
    Project,
    Root,
    check_name,
    is_root,
    make_project,
    make_root,
    root_around,
)
from memory_sidecar.context.loaded import Embed, load, load_project, root_changes, write
from memory_sidecar.context.refs import rotate_log
from memory_sidecar.context.results import (
    AtomCounts,
    AtomUse,
    ContextFinding,
    Misread,
    NewAtom,
    Regenerated,
)
from memory_sidecar.context.tasks import Task, archive_tasks, read_tasks
from memory_sidecar.core.credentials import refuse_credentials
from memory_sidecar.core.errors import (
    ModelError,
    NotFound,
    PageBroken,
    SidecarError,
    StoreReadOnly,
    UsageError,
    system_error,
)
from memory_sidecar.core.projects import absolute_path
from memory_sidecar.core.results import Reporter, build_from
from memory_sidecar.core.settings import Settings, load_settings
from memory_sidecar.core.times import Clock, iso_utc, local_day, system_clock
from memory_sidecar.disk.atoms import HOT_REFS, AtomKind

if TYPE_CHECKING:
    from memory_sidecar.context.loaded import Vectors

EMBED_AT_ONCE = 512  # texts embedded between two reports of progress


def find_root(option: Path | None, *, cwd: Path, environ: Mapping[str, str]) -> Root:
    """Find the root: `option`, else the one in the settings, else upwards from `cwd`.

    Raises NotFound if that is no root, UsageError for settings that cannot be read.
    """
    named = option or load_settings(cwd, environ).context_root
    if not named:
        return _find_root_around(cwd)
    named = Path(absolute_path(str(cwd), str(named)))
    if not is_root(named):
        raise NotFound(
            f"{named} is not a dense-context root",
            hint=f"`memory-sidecar context init --root {quote(str(named))}` makes it one",
        )
    return Root(named)


def root_to_follow(settings: Settings, *, cwd: Path) -> Root:
    """Find the root as `find_root` does, but the one in `settings` may still have to be made."""
    return Root(Path(settings.context_root)) if settings.context_root else _find_root_around(cwd)


def _find_root_around(cwd: Path) -> Root:
    if (found := root_around(cwd)) is not None:
        return found
    raise NotFound(
        f"no dense-context root at {cwd} or above",
        hint="name one with MEMORY_SIDECAR_CONTEXT or the setting context_root, or make one: "
        "`memory-sidecar context init ROOT`",
    )


def init(path: Path, *, project: str | None, clock: Clock = system_clock) -> list[Path]:
    """Create what is missing of the root at `path` and of `project` in it; return the new files."""
    if project is not None:
        check_name(project)
    root = Root(path)
    with _named_errors(path):
        made = make_root(root)
        if project is not None:
            added = Project(root, project)
            made += make_project(added) + write(load_project(added, now_ms=clock()).changes)
        return list(dict.fromkeys(made + write(root_changes(root))))


def record(reads: Reads) -> None:
    """Append `reads` to the access logs of their projects."""
    if reads:
        with _named_errors(reads[0][0].root.path):
            append(reads, at=iso_utc(system_clock()))


def commit(reads: Reads, *, environ: Mapping[str, str]) -> None:
    """Commit the access logs of the projects in `reads`. Raises SidecarError if git cannot."""
    projects = {project for project, _ in reads}
    for root in {project.root for project in projects}:
        logs = sorted(each.access_log for each in projects if each.root == root)
        commit_logs(root.path, logs, environ)


def record_own_read(file: Path) -> None:
    """Count that `get` of the sidecar itself read `file`, if that is an atom of a root."""
    if file.is_file():
        record(accesses_of_paths([file], tool="get"))


class Context:
    """One dense-context root. Everything is read from its files at each call.

    `embed_with` returns the model's function; only the check for atoms to merge calls it. It raises
    ModelError without a model.
    """

    def __init__(self, root: Root, *, embed_with: Callable[[], Embed]) -> None:
        self.root = root
        self._embed_with = embed_with

    def project(self, name: str | None, *, cwd: Path) -> Project:
        """Return the project called `name`, else the one around `cwd`, else the only one.

        Raises UsageError if several are left, NotFound if there is none.
        """
        projects = self.projects(name, cwd=cwd)
        if not projects:
            hint = "make one: `memory-sidecar context init --project NAME`"
            raise NotFound(f"{self.root.path} has no project", hint=hint)
        if len(projects) > 1:
            names = ", ".join(project.name for project in projects)
            raise UsageError("which project?", hint=f"name it with --project: {names}")
        return projects[0]

    def projects(self, name: str | None, *, cwd: Path, every: bool = False) -> list[Project]:
        """Return the project `name`, else the one around `cwd` unless `every`, else all."""
        if name is not None:
            return [self.root.project(name)]
        around = None if every else self.root.project_around(cwd)
        return [around] if around is not None else self.root.projects()

    def new(
        self, project: Project, kind: str, draft: AtomDraft, *, allow_secrets: bool = False
    ) -> NewAtom:
        """Create an atom, or a decision record, under the next free number.

        `kind`: a name in AtomKind in lower case, or DECISION. Raises SecretRefused, and as
        `create_atom` and `create_decision`.
        """
        if not allow_secrets:
            refuse_credentials(draft)
        today = local_day(system_clock())
        with _named_errors(self.root.path):
            if kind == DECISION:
                made, path = create_decision(project, draft, today=today)
            else:
                atom, path = create_atom(project, AtomKind[kind.upper()], draft, today=today)
                made = str(atom)
                with suppress(OSError):  # the atom is there all the same
                    write([note_given(project, atom)])
        return NewAtom(made, kind, project.name, path.as_posix())

    def regenerate(self, projects: Sequence[Project], *, reporter: Reporter) -> Regenerated:
        """Update the indexes, refs and lists of `projects`, and the generated lists of the root."""
        counts, written, problems = [], [], []
        with _named_errors(self.root.path):
            for done, project in enumerate(projects):
                reporter.progress("projects", done, len(projects))
                loaded = load_project(project, now_ms=system_clock())
                written += write(loaded.changes)
                problems += loaded.problems
                sizes = (len(shelf.atoms) for shelf in loaded.shelves)
                counts.append(AtomCounts(project.name, *sizes))
            written += write(root_changes(self.root))
        shown = self.root.shown
        return Regenerated(
            root=self.root.path.as_posix(),
            projects=tuple(counts),
            written=tuple(map(shown, written)),
            problems=tuple(Misread(shown(each.path), each.line, each.text) for each in problems),
        )

    def check(
        self, *, rules: Collection[str], project: Project | None, reporter: Reporter
    ) -> list[Finding]:
        """Run the checks `rules`; return the findings by file and line. Writes nothing."""
        with _named_errors(self.root.path):
            embed = self._embed(reporter) if "merge" in rules else None
            loaded = load(self.root, now_ms=system_clock(), embed=embed)
            return examine(loaded, rules=rules, project=project)

    def shown(self, finding: Finding, *, remedy_of: Callable[[str], str]) -> ContextFinding:
        """Convert `finding` to a result; `remedy_of` completes the commands in its remedy."""
        return build_from(
            ContextFinding,
            finding,
            file=self.root.shown(finding.path),
            remedy=remedy_of(finding.remedy),
            fixable=finding.fix is not None,
        )

    def fix(self, findings: Sequence[Finding], *, reporter: Reporter) -> int:
        """Apply the fixes of `findings`, then regenerate all projects; return how many were done.

        A file that was changed or deleted meanwhile is left as it is, with a notice.
        """
        with _named_errors(self.root.path):
            fixed = apply_fixes(findings, reporter)
        self.regenerate(self.root.projects(), reporter=reporter)
        return fixed

    def list_uses(
        self, projects: Sequence[Project], *, hot: bool = False, cold: bool = False
    ) -> list[AtomUse]:
        """List all atoms, or the `hot` or `cold` ones, with their refs, the most read first.

        Writes nothing.
        """
        with _named_errors(self.root.path):
            loaded = load(self.root, projects, now_ms=system_clock())
        by_use = sorted(
            loaded.atoms.values(), key=lambda a: (-loaded.refs(a).count, a.project.name, a.id)
        )
        uses = [
            AtomUse(
                project=atom.project.name,
                id=atom.name,
                kind=atom.id.kind.value,
                summary=atom.facts.summary,
                status=atom.facts.status,
                standing=atom.facts.standing.value,
                refs=loaded.refs(atom).count,
                last_ref=loaded.refs(atom).last or None,
                hot=loaded.refs(atom).count >= HOT_REFS,
                cold=loaded.is_cold(atom),
                file=self.root.shown(atom.path),
                basis=[f"{other.project.name}/{other.name}" for other in loaded.basis(atom)],
            )
            for atom in by_use
        ]
        return [use for use in uses if (use.hot or not hot) and (use.cold or not cold)]

    def rotate(self, projects: Sequence[Project], *, reporter: Reporter) -> list[Path]:
        """Count the reads in the access logs and start new logs; return the old ones."""
        self.regenerate(projects, reporter=reporter)
        suffix = iso_utc(system_clock()).replace(":", "").replace(".", "")
        with _named_errors(self.root.path):
            rotated = [rotate_log(project, suffix=suffix) for project in projects]
        return [path for path in rotated if path is not None]

    def tasks(
        self, projects: Sequence[Project], *, archive: bool, reporter: Reporter
    ) -> list[Task]:
        """List the tasks of `projects`; with `archive`, move the done ones, and list only these.

        A project with a broken file is left out, with a notice. Raises PageBroken if all are.
        """
        found: list[Task] = []
        broken: list[PageBroken] = []
        for project in projects:
            try:
                with _named_errors(self.root.path):
                    found += archive_tasks(project) if archive else read_tasks(project)
            except PageBroken as error:
                broken.append(error)
        if broken and len(broken) == len(projects):
            raise broken[0]
        for each in broken:
            reporter.notice(f"left out: {each.with_hint}")
        return found

    def _embed(self, reporter: Reporter) -> Embed | None:
        try:
            embed_all = self._embed_with()
        except ModelError as error:
            reporter.notice(f"atoms to merge are not looked for: {error.message}")
            return None

        import numpy as np  # 0.1 s

        def embed(texts: Sequence[str]) -> Vectors:
            parts = []
            for start in range(0, len(texts), EMBED_AT_ONCE):
                reporter.progress("vectors", start, len(texts))
                parts.append(embed_all(texts[start : start + EMBED_AT_ONCE]))
            return np.concatenate(parts)

        return embed


@contextmanager
def _named_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EROFS:
            text = f"{root} is on a read-only disk"
            raise StoreReadOnly(text, hint="mount it writable") from error
        where = root / (error.filename or "")  # which may be a name in a folder of it
        refused = SidecarError(f"{where}: {error.strerror}", hint="check its permissions")
        raise system_error(error, where) or refused from error
