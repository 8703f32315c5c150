"""`memory-sidecar serve`, `stop` and `daemon`: runs, stops and lists daemons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.daemon import serve as serve_until_stopped
from memory_sidecar.cli.daemon import take_over
from memory_sidecar.cli.form import title
from memory_sidecar.cli.options import command_group, with_data_dir
from memory_sidecar.core.settings import LOG_LEVELS, load_settings
from memory_sidecar.core.times import shown_utc
from memory_sidecar.core.visible import visible_line
from memory_sidecar.daemon import log
from memory_sidecar.daemon.link import reach
from memory_sidecar.daemon.running import Daemon, running_daemons
from memory_sidecar.daemon.start import END_TIMEOUT_S, end_daemon


@dataclass(frozen=True, slots=True)
class StoppedDaemon:
    """Whether a daemon ran, and which."""

    stopped: bool
    pid: int | None


@click.command()
@click.option("--replace", is_flag=True, help="Replace a running daemon.")
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    help="What to log; also changes it for a running daemon.",
)
@with_data_dir
def serve(call: Call, replace: bool, log_level: str | None) -> None:
    """Run the daemon in the foreground, and log to standard error.

    You need not: the first command starts a daemon in the background. This is for service managers,
    and for watching what happens.
    """
    data_dir = str(call.chosen_data_dir.root)
    if log_level and not replace and _set_log_level(data_dir, call, log_level):
        call.reporter.notice(f"the daemon that runs now logs from {log_level!r} on")
        return
    level = log_level or load_settings(Path(data_dir), call.environ).log_level
    lock = take_over(data_dir, call.environ, replace=replace)
    log.log_to_stderr(level)
    serve_until_stopped(lock, data_dir, environ=call.environ)


def _set_log_level(data_dir: str, call: Call, log_level: str) -> bool:
    """Change the log level of a running daemon. Returns whether one runs."""
    running = reach(data_dir, call.environ)
    if running is None:
        return False
    running.send({"type": "log_level", "level": log_level})
    running.receive()
    running.close()
    return True


@click.command()
@with_data_dir
def stop(call: Call) -> StoppedDaemon:
    """Stop the daemon once it has finished what runs. The next command starts one again.

    It gets some seconds for that. What is committed stays, even if something is left unfinished.
    """
    data_dir = str(call.chosen_data_dir.root)
    ended = end_daemon(data_dir, call.environ)
    if ended is not None and ended.was_killed:
        call.reporter.notice(f"it did not stop within {END_TIMEOUT_S:.0f} s, and was killed")
    line = f"stopped the daemon of {data_dir} (process {ended.pid})" if ended else ""
    stopped = StoppedDaemon(ended is not None, ended.pid if ended else None)
    return call.show(stopped, [visible_line(line or f"no daemon runs for {data_dir}")])


@command_group
def daemon() -> None:
    """Your running daemons. `stop` ends one; one that keeps nothing ends when it is unused."""


@daemon.command(name="list")
@with_data_dir
def list_daemons(call: Call) -> list[Daemon]:
    """List the daemons that run, each with its data directory, process and memory."""
    shown = list(running_daemons(call.environ))
    return call.show(shown, map(_daemon_line, shown), nothing="no daemon runs")


def _daemon_line(each: Daemon) -> TextLine:
    state = f"version {each.version}" if each.version else "does not answer"
    since = f"since {shown_utc(each.started_at)}, {each.resident_bytes / 1e6:.0f} MB"
    return title(each.data_dir), f"  process {each.pid}, {state}, {since}"
