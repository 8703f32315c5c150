"""`memory-sidecar stop`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call
from memory_sidecar.core.paths import find_data_dir
from memory_sidecar.daemon.end import END_TIMEOUT_S, end_daemon


@click.command()
@with_call
def stop(call: Call) -> None:
    """Stop the daemon once it has finished what runs. The next command starts one again.

    It has some seconds for that. What it has committed stays, whatever it leaves behind.
    """
    data_dir = str(find_data_dir(call.data_dir, cwd=call.cwd, environ=call.environ).root)
    ended = end_daemon(data_dir, call.environ)
    if ended is not None and ended.was_killed:
        call.reporter.notice(f"it did not end within {END_TIMEOUT_S:.0f} s, and was killed")
    if call.wants_json:
        call.print_json({"stopped": ended is not None, "pid": ended.pid if ended else None})
    elif ended is not None:
        call.print(f"stopped the daemon of {data_dir} (process {ended.pid})")
    else:
        call.print(f"no daemon runs for {data_dir}")
