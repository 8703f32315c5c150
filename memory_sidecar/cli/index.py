"""`memory-sidecar index`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import force_option, with_call
from memory_sidecar.index.indexing import IndexReport


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--full", is_flag=True, help="Read unchanged files too.")
@click.option(
    "--wait",
    type=click.Choice(["dense", "keyword"]),
    help="Return when vectors are done, or as soon as keywords are. By default keyword where a "
    "daemon embeds behind, and dense without one.",
)
@click.option(
    "--exclude",
    "excludes",
    multiple=True,
    metavar="GLOB",
    help="As in a .gitignore; `!GLOB` asks for files that may hold secrets.",
)
@force_option
@with_call
def index(
    call: Call,
    *,
    paths: tuple[str, ...],
    full: bool,
    wait: str | None,
    excludes: tuple[str, ...],
    force: bool,
) -> IndexReport:
    """Register folders and index what changed in them.

    Without a PATH, every registered source. Files are never written to; ignored, binary,
    generated and very large ones are left out, each with its reason (`status --skipped`).
    """
    report = call.codebase.index(
        [call.path(path) for path in paths],
        reporter=call.reporter,
        excludes=excludes,
        full=full,
        embed=wait == "dense" if wait else None,
        force=force,
    )
    return call.show(report, print_report)


def print_report(call: Call, report: IndexReport) -> None:
    """For a person, what `index` and `reindex` did."""
    call.print(
        f"{', '.join(report.sources)}: {report.files_total:,} files, "
        f"{report.files_processed:,} indexed now, {report.files_deleted:,} gone, "
        f"{len(report.files_skipped):,} skipped, {len(report.files_failed):,} failed"
    )
    waiting = f", {report.vectors_pending:,} wait for a vector" if report.vectors_pending else ""
    call.print(f"{report.chunks_total:,} chunks{waiting} ({report.seconds:.1f} s)")
    for file in report.files_failed:
        call.print(f"failed: {file.path}: {file.reason}")
    for folder in report.folders_unreadable:
        call.print(f"unreadable, left as it was: {folder}")
