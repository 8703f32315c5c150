"""The tools about a dense-context root, in the toolset `context`.

The host decides which root: by its environment, or by the folder that the client has open.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from memory_sidecar.context.access import accesses_of_paths
from memory_sidecar.context.atoms import AtomDraft
from memory_sidecar.context.checks import CHECKS
from memory_sidecar.context.handlers import Context, find_root, record
from memory_sidecar.context.results import AtomCounts, AtomUse, ContextFinding, Misread
from memory_sidecar.context.tasks import Task
from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.results import Reporter, about, build_from, pluralize
from memory_sidecar.mcp.arguments import Arguments, Unlisted
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.quoting import DATA, quote_line
from memory_sidecar.mcp.report import CallReport
from memory_sidecar.mcp.tool import Answer, StoredAnswer

MAX_LISTED = 200


class OfProject(Arguments):
    project: str = ""  # by default the one that contains the folder, or all


class WriteAtom(OfProject):
    kind: Literal["experiment", "knowledge", "pattern", "decision"]
    summary: str = Field(description="What was found, in one line")
    body: str = Field(default="", description="Markdown")
    tags: list[str] = Field(default=[])
    status: str = ""
    evidence: list[str] = Field(default=[], description="Of knowledge: EXP-042")
    source_experiments: list[str] = Field(default=[], description="Of a pattern")
    links: list[str] = Field(default=[])
    executor: str = ""
    allow_secrets: Unlisted[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAtom(Answer):
    id: str
    project: str
    path: str

    def text(self) -> str:
        return f"{self.id}: {self.path}"


def write_atom(caller: Caller, asked: WriteAtom, report: Reporter) -> WrittenAtom:
    """Write an experiment, finding, pattern or decision down, under the next free number."""
    context = _context(caller)
    draft = build_from(AtomDraft, asked)
    project = context.project(asked.project or None, cwd=caller.folders[0])
    made = context.new(project, asked.kind, draft, allow_secrets=asked.allow_secrets)
    _index(caller, Path(real_path(made.path)), report)
    return build_from(WrittenAtom, made)


class ListAtoms(OfProject):
    hot: bool = Field(default=False, description="Read 5 times or more")
    cold: bool = Field(default=False, description="Two weeks old, never read")
    limit: int = Field(default=50, ge=1, le=MAX_LISTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Atoms(StoredAnswer):
    atoms: tuple[AtomUse, ...]
    total: Annotated[int, about("That there are, of this sort.")]

    def text(self) -> str:
        lines = [
            quote_line(f"{each.project}/{each.id}  {each.refs}  {each.status}  {each.summary}")
            for each in self.atoms
        ]
        return "\n".join([f"{len(lines)} of {self.total}, the most read first: {DATA}.", *lines])


def list_atoms(caller: Caller, asked: ListAtoms, _report: Reporter) -> Atoms:
    """List experiments, findings and patterns, with their reads."""
    context = _context(caller)
    projects = context.projects(asked.project or None, cwd=caller.folders[0])
    used = context.list_uses(projects, hot=asked.hot, cold=asked.cold)
    return Atoms(atoms=tuple(used[: asked.limit]), total=len(used))


class CheckContext(OfProject):
    rules: list[str] = Field(default=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(StoredAnswer):
    findings: tuple[ContextFinding, ...]

    def text(self) -> str:
        lines = [
            quote_line(f"{each.file}:{each.line}: [{each.rule}] {each.text} — {each.remedy}")
            for each in self.findings
        ]
        return "\n".join(lines) or "nothing is wrong"


def check_context(caller: Caller, asked: CheckContext, report: CallReport) -> Findings:
    """Find what is wrong: broken links, missing fields, what is stale or doubled."""
    for rule in asked.rules:
        if rule not in CHECKS:
            raise UsageError(f"there is no rule {rule!r}", hint=f"any of {', '.join(CHECKS)}")
    context = _context(caller)
    project = context.root.project(asked.project) if asked.project else None
    rules = asked.rules or list(CHECKS)
    found = context.check(rules=rules, project=project, reporter=report)
    return Findings(findings=tuple(context.shown(each, remedy_of=report.word) for each in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegeneratedContext(Answer):
    projects: tuple[AtomCounts, ...]
    written: tuple[str, ...]
    problems: tuple[Misread, ...]

    def text(self) -> str:
        problems = [quote_line(f"{p.file}:{p.line}: {p.text}") for p in self.problems]
        written = f"{pluralize(len(self.written), 'file')} written"
        return "\n".join([written, *self.written, *problems])


def regenerate_context(caller: Caller, asked: OfProject, report: Reporter) -> RegeneratedContext:
    """Update indexes, read counts and lists of files. Writes only what changed."""
    context = _context(caller)
    projects = context.projects(asked.project or None, cwd=caller.folders[0])
    done = context.regenerate(projects, reporter=report)
    return build_from(RegeneratedContext, done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks(StoredAnswer):
    tasks: tuple[Task, ...]

    def text(self) -> str:
        lines = [
            quote_line(f"{each.project}  {each.id}  {each.status}  {each.text}")
            for each in self.tasks
        ]
        return "\n".join(lines) or "no tasks"


def list_tasks(caller: Caller, asked: OfProject, report: Reporter) -> Tasks:
    """List the tasks of TASKS.yaml."""
    context = _context(caller)
    projects = context.projects(asked.project or None, cwd=caller.folders[0])
    return Tasks(tasks=tuple(context.tasks(projects, archive=False, reporter=report)))


class CountReads(Arguments):
    paths: list[str] = Field(description="Relative to the root")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedReads(Answer):
    files: tuple[str, ...]

    def text(self) -> str:
        return f"counted: {', '.join(self.files) or 'none of these is an atom'}"


def count_reads(caller: Caller, asked: CountReads, _report: Reporter) -> CountedReads:
    """Count that you read these files, if no hook does."""
    root = _context(caller).root
    paths = [Path(root.path, path) for path in asked.paths]
    reads = accesses_of_paths(paths, tool="count_reads", only=root)
    record(reads)
    return CountedReads(files=tuple(f"{access.project}/{access.file}" for _, access in reads))


def _index(caller: Caller, file: Path, report: Reporter) -> None:
    """Index a new `file` for the agents that know its root, so that their searches find it."""
    own = caller.services.agent(caller.agent)
    for agent in (own, own.shared):
        with suppress(SidecarError):  # the file is written; searches report a broken database
            if agent is not None and (source := agent.registry.containing(file)) is not None:
                path = file.relative_to(source.root).as_posix()
                agent.index([path], reporter=report, directory=source.name)


def _context(caller: Caller) -> Context:
    """Open the root that the host chose. Raises NotFound."""
    root = find_root(None, cwd=caller.folders[0], environ=caller.environ)
    return Context(root, embed_with=lambda: caller.services.models.embed)
