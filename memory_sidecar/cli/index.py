"""`memory-sidecar index` and `reindex`: registers folders and indexes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import path_from, title
from memory_sidecar.cli.options import force_option, with_call
from memory_sidecar.code.builder import unusable_excludes
from memory_sidecar.code.clones import PASSED_ON, GitAddress, is_address
from memory_sidecar.core.children import child_environment
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import AgentReports, IndexReport, pluralize
from memory_sidecar.core.times import format_duration
from memory_sidecar.core.visible import abridge, visible_line
from memory_sidecar.index.upkeep import may_have_moved

PACE_WAIT_S = 2.0  # how long to measure the speed of embedding, if it is unknown

exclude_option = click.option(
    "--exclude",
    "excludes",
    multiple=True,
    metavar="GLOB",
    help="As in a .gitignore, and kept; `!GLOB` asks for files that may hold secrets.",
)

branch_option = click.option(
    "--branch", default="", metavar="NAME", help="Of an address: the branch or tag wanted."
)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH|ADDRESS]...")
@click.option("--full", is_flag=True, help="Read unchanged files too.")
@click.option(
    "--wait",
    type=click.Choice(["dense", "keyword"]),
    help="Return when the vectors of PATH are done, or as soon as keywords are. By default keyword "
    "where a daemon embeds behind, and dense without one.",
)
@exclude_option
@branch_option
@force_option
@with_call
def index(
    call: Call,
    *,
    paths: tuple[str, ...],
    full: bool,
    wait: str | None,
    excludes: tuple[str, ...],
    branch: str,
    force: bool,
) -> IndexReport:
    """Register folders and index what changed in them.

    Without a PATH, every registered source. Files are never written to; ignored, binary,
    generated and very large ones are left out, each with its reason (`status --skipped`).

    The repository at a git ADDRESS (`https://…`, `git@…`) is cloned into the data directory. Naming
    it again, or indexing every source, fetches what is new.
    """
    call.reporter.progress("looking", 0, 0)
    require_kind(paths, branch=branch, force=force)
    known = call.codebase.registry.all()
    if not paths:
        fetch_clones(call, known)
    report = call.codebase.index(
        [
            add_clone(call, GitAddress(path, branch), excludes=excludes).root
            if is_address(path)
            else call.path(path)
            for path in paths
        ],
        reporter=call.reporter,
        excludes=excludes,
        full=full,
        embed=wait == "dense" if wait else None,
        force=force,
    )
    added = set(report.sources) - {each.name for each in known}
    new = [each for each in call.codebase.registry.all() if each.name in added]
    _notice_inside(call, known, new)
    _notice_moved(call, new)
    return show_report(call, report)


def _notice_inside(call: Call, known: Sequence[Source], new: Sequence[Source]) -> None:
    """Name each of the `known` sources that is a part of a `new` one, and indexed in both."""
    for each in known:
        for around in (one for one in new if one.root in each.root.parents):
            if not call.codebase.leaves_out(around, each.root):
                call.reporter.notice(
                    f"{each.name} lies in {around.name}, and a search from there finds it alone:"
                    f" `memory-sidecar source remove {each.name}` leaves its files to {around.name}"
                )


def _notice_moved(call: Call, new: Sequence[Source]) -> None:
    """Name the only source whose folder is gone and whose files are in the only `new` one.

    Without a new one no folder is looked at, since the drive of any may be slow.
    """
    if len(new) != 1:
        return
    data, root = call.codebase.data, new[0].root
    gone = [each for each in call.codebase.missing_sources() if may_have_moved(data, each, root)]
    if len(gone) == 1:
        old, remove = gone[0].name, f"source remove {new[0].name}"
        move = f"source move {quote(old)} {quote(str(new[0].root))}"
        call.reporter.notice(
            f"{old} is gone: if it was moved here, `memory-sidecar {remove}` and"
            f" `memory-sidecar {move}` keep its name, for its memories, too"
        )


def show_report(call: Call, report: IndexReport) -> IndexReport:
    """Show a report of what was indexed, and which excludes of its sources are of no use."""
    for each in call.codebase.registry.all():
        if each.name in report.sources:
            for problem in unusable_excludes(each, call.services.settings):
                call.reporter.notice(problem)
    report = call.mask(report)
    return call.show(report, _report_lines(call, report))


def require_kind(paths: Sequence[str], *, branch: str, force: bool) -> None:
    """Raise UsageError for a `branch` without an address in `paths`, `force` without a folder."""
    if branch and not any(map(is_address, paths)):
        raise UsageError("--branch needs an ADDRESS", hint="a folder has its own branch")
    if force and all(map(is_address, paths)):
        hint = "name that, or leave it out"
        raise UsageError("--force is for a folder that holds your home", hint=hint)


def add_clone(
    call: Call, address: GitAddress, *, excludes: tuple[str, ...], name: str | None = None
) -> Source:
    """Register a clone of `address` as the source `name`, and say how to search it."""
    source = call.codebase.clones.add(
        address, name=name, excludes=excludes, environ=_git_environ(call), reporter=call.reporter
    )
    call.reporter.notice(f"`memory-sidecar search QUERY --source {source.name}` searches the clone")
    return source


def fetch_clones(call: Call, sources: Sequence[Source]) -> None:
    """Fetch what is new for those of `sources` that are clones; a notice names each failure."""
    call.codebase.clones.refresh(sources, _git_environ(call), call.reporter)


def _git_environ(call: Call) -> dict[str, str]:
    named = call.services.settings.child_environment
    return child_environment(call.environ, {*named, *PASSED_ON})


def _report_lines(call: Call, report: IndexReport) -> Iterator[TextLine]:
    """Yield a report of `index` or `reindex` for a person."""
    roots = {} if report.agent else call.mask(dict(call.places.roots))
    for name in report.sources:
        yield title(name), f"  {visible_line(str(roots[name]))}" if name in roots else ""
    yield (
        f"{pluralize(report.files_total, 'file')}, {report.files_processed:,} indexed now, "
        f"{report.files_deleted:,} gone, {len(report.files_skipped):,} skipped, "
        f"{len(report.files_failed):,} failed; {pluralize(report.chunks_total, 'chunk')} in all "
        f"({report.seconds:.1f} s)"
    )
    for file in report.files_failed:
        path = path_from(roots[file.source] / file.path, call.cwd) if file.source in roots else ""
        yield visible_line(f"failed: {path or file.path}: {file.reason}")
    for folder in report.folders_unreadable:
        yield visible_line(f"unreadable, its index stays as it was: {abridge(folder)}")
    if report.vectors_pending:
        yield call.hint(_remaining_work(call, report))


def _remaining_work(call: Call, report: IndexReport) -> str:
    """Return what is left to do after `index`, who does it, and about how long it takes."""
    waiting = pluralize(report.vectors_pending, "chunk")
    if call.host is None:
        return f"{waiting} have no vector yet: `memory-sidecar index --wait dense` makes them"
    left_s = call.codebase.data.owner.activity.vectors.seconds_for(
        report.vectors_pending, wait_s=PACE_WAIT_S, cancelled=call.cancelled
    )
    about = f", about {format_duration(left_s)}" if left_s else ""
    return (
        f"it can be searched now; the daemon makes vectors of {waiting} behind it{about}: "
        "`memory-sidecar status` shows it"
    )


@click.command()
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source.")
@click.option("--agent", "agent", metavar="A", help="Only this agent's memories and sessions.")
@click.option("--all", "everything", is_flag=True, help="Every source and every agent.")
@with_call
def reindex(
    call: Call, sources: tuple[str, ...], agent: str | None, everything: bool
) -> IndexReport | AgentReports:
    """Derive the index again from the files. Vectors that are known are not computed again."""
    if [bool(sources), agent is not None, everything].count(True) != 1:
        raise UsageError("name what to rebuild", hint="--source NAME, --agent A or --all")
    if everything and call.db:
        raise UsageError("--all means a data directory, --db one database", hint="--source NAME")
    report: IndexReport | AgentReports
    if agent is not None:
        report = call.services.agent(agent, call.db).rebuild(reporter=call.reporter)
    elif sources:
        names = [call.codebase.registry.name_of(each, call.cwd) for each in sources]
        report = call.codebase.rebuild(names, reporter=call.reporter)
    else:
        report = call.services.rebuild(reporter=call.reporter)
    report = call.mask(report)
    return call.show(report, _all_report_lines(call, report))


def _all_report_lines(call: Call, report: IndexReport | AgentReports) -> Iterator[TextLine]:
    if isinstance(report, IndexReport):
        if report.agent:
            yield f"agent {report.agent}:"
        yield from _report_lines(call, report)
    for each in report.agents or ():
        yield from _all_report_lines(call, each)
