"""`memory-sidecar reindex`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.index import print_report
from memory_sidecar.cli.options import with_call
from memory_sidecar.core.errors import UsageError
from memory_sidecar.index.indexing import AgentReports, IndexReport


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
    report: IndexReport | AgentReports
    if agent is not None:
        report = call.services.agent(agent, call.db).rebuild(reporter=call.reporter)
    elif sources:
        report = call.codebase.rebuild(sources, reporter=call.reporter)
    else:
        report = call.services.rebuild(reporter=call.reporter)
    return call.show(report, _print)


def _print(call: Call, report: IndexReport | AgentReports) -> None:
    if isinstance(report, IndexReport):
        if report.agent:
            call.print(f"agent {report.agent}:")
        print_report(call, report)
    for each in report.agents or ():
        _print(call, each)
