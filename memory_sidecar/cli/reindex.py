"""`memory-sidecar reindex`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.index import print_report, report_json
from memory_sidecar.cli.options import with_call
from memory_sidecar.core.errors import NoIndex, SidecarError, UsageError
from memory_sidecar.index.indexing import IndexReport


@click.command()
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source.")
@click.option("--agent", "agent", metavar="A", help="Only this agent's memories and sessions.")
@click.option("--all", "everything", is_flag=True, help="Every source and every agent.")
@with_call
def reindex(call: Call, sources: tuple[str, ...], agent: str | None, everything: bool) -> None:
    """Derive the index again from the files. Vectors that are known are not computed again."""
    if [bool(sources), agent is not None, everything].count(True) != 1:
        raise UsageError("name what to rebuild", hint="--source NAME, --agent A or --all")
    if agent is not None:
        report = call.services.agent(agent, call.db).rebuild(reporter=call.reporter)
        _print_agent(call, agent, report)
    elif sources:
        print_report(call, call.codebase.rebuild(sources, reporter=call.reporter))
    else:
        _rebuild_all(call)


def _rebuild_all(call: Call) -> None:
    """Rebuild each, whatever becomes of the others; then say what went wrong, if anything did."""
    rebuilt: dict[str, IndexReport] = {}  # by agent, the code under ""
    problems: list[SidecarError] = []
    for name in ("", *call.services.agent_names()):
        try:
            rebuilt[name] = _rebuild(call, name)
        except NoIndex:
            continue  # nothing there, not even files
        except SidecarError as error:
            problems.append(error)
    if problems:
        for problem in problems[1:]:
            call.reporter.notice(f"{problem.message}; {problem.hint}")
        raise problems[0]
    if not rebuilt:
        raise NoIndex("nothing is indexed here", hint="run `memory-sidecar index PATH`")
    call.reporter.close()
    code = rebuilt.pop("", None)
    if call.wants_json:
        agents = [{"agent": name} | report_json(report) for name, report in rebuilt.items()]
        call.print_json((report_json(code) if code else {}) | {"agents": agents})
        return
    if code:
        print_report(call, code)
    for name, report in rebuilt.items():
        _print_agent(call, name, report)


def _rebuild(call: Call, agent: str) -> IndexReport:
    if agent:
        return call.services.agent(agent).rebuild(reporter=call.reporter)
    return call.codebase.rebuild((), reporter=call.reporter)


def _print_agent(call: Call, name: str, report: IndexReport) -> None:
    call.reporter.close()
    if call.wants_json:
        call.print_json({"agent": name} | report_json(report))
    else:
        call.print(f"agent {name}:")
        print_report(call, report)
