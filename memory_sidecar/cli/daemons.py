"""`memory-sidecar daemon`: the daemons of this user, one for each data directory in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title
from memory_sidecar.cli.options import Group, with_call, with_help
from memory_sidecar.core.results import about, told_as
from memory_sidecar.core.times import iso_utc
from memory_sidecar.daemon.running import running_daemons

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that runs."""

    data_dir: Annotated[str, about("absolute")]
    pid: int
    version: Annotated[str, about("empty where it does not answer")]
    started_at: Annotated[str, about("ISO 8601, UTC")]
    resident_bytes: Annotated[int, about("of memory that it holds")]


@click.group(cls=Group)
@with_help
def daemon() -> None:
    """The daemons of yours that run. Each ends with `stop`, or unused, where it keeps nothing."""


@daemon.command(name="list")
@with_call
def list_daemons(call: Call) -> list[Daemon]:
    """List the daemons that run, each with its data directory, process and memory."""
    shown = [
        told_as(Daemon, each, started_at=iso_utc(int(each.started_at_s * 1000)))
        for each in running_daemons(call.environ)
    ]
    return call.show(shown, _print_daemons)


def _print_daemons(call: Call, daemons: list[Daemon]) -> None:
    for each in daemons:
        state = f"version {each.version}" if each.version else "does not answer"
        call.print(
            title(each.data_dir),
            f"  process {each.pid}, {state}, since {each.started_at}, "
            f"{each.resident_bytes // MIB} MiB",
        )
    if not daemons:
        call.reporter.notice("none runs")
