"""`memory-sidecar stop`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.link import reach
from memory_sidecar.daemon.lock import FileLock
from memory_sidecar.daemon.start import ask_to_stop
from memory_sidecar.errors import DaemonUnreachable
from memory_sidecar.paths import find_data_dir


@click.command()
@with_call
def stop(call: Call) -> None:
    """Stop the daemon once it has finished what runs. The next command starts one again."""
    data_dir = str(find_data_dir(call.data_dir, cwd=call.cwd, environ=call.environ).root)
    running = reach(data_dir, call.environ)
    if running is not None:
        ask_to_stop(running)
    if _is_locked(data_dir):
        raise DaemonUnreachable(
            f"the daemon of {data_dir} still runs",
            hint=f"{state_file(data_dir, 'daemon.json')} names its process",
        )
    if call.wants_json:
        call.print_json({"stopped": running is not None, "pid": running.pid if running else None})
    elif running is not None:
        call.print(f"stopped the daemon of {data_dir} (process {running.pid})")
    else:
        call.print(f"no daemon runs for {data_dir}")


def _is_locked(data_dir: str) -> bool:
    lock = FileLock(state_file(data_dir, "daemon.lock"))
    try:
        return not lock.acquire()
    except OSError:  # there is no such folder
        return False
    finally:
        lock.release()
