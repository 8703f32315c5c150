"""Which daemons of the user run, whatever their data directories: told from the processes.

A daemon's working directory is its data directory, whose lock it has signed. Processes of another
home folder, as of a user whose rights are borrowed, are not this user's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psutil

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.core.projects import home
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.link import find
from memory_sidecar.daemon.lock import holder

ANSWER_S = 2.0
_STARTED_AS = ("memory_sidecar", "memory-sidecar")  # a module, or the program itself


@dataclass(frozen=True, slots=True)
class Running:
    """A daemon that runs."""

    data_dir: str  # absolute, without links
    pid: int
    started_at_s: float  # Unix time
    resident_bytes: int
    version: str  # "" where it does not answer


def running_daemons(environ: Mapping[str, str]) -> Iterator[Running]:
    """The daemons of the user whose environment this is, those of the longest life first."""
    processes = [each for each in psutil.process_iter() if _may_be_ours(each, environ)]
    for process in sorted(processes, key=lambda each: each.create_time()):
        try:
            data_dir = process.cwd()
            signed = holder(state_file(data_dir, "daemon.lock"))
            if signed is None or signed.pid != process.pid:
                continue
            started_at_s, resident = process.create_time(), process.memory_info().rss
        except (psutil.Error, OSError):
            continue  # it has ended
        yield Running(data_dir, process.pid, started_at_s, resident, _version(data_dir, environ))


def _may_be_ours(process: psutil.Process, environ: Mapping[str, str]) -> bool:
    try:
        if hasattr(os, "getuid") and process.uids().real != os.getuid():
            return False
        if not any(name in word for word in process.cmdline() for name in _STARTED_AS):
            return False
        return os.path.realpath(home(process.environ())) == os.path.realpath(home(environ))
    except (psutil.Error, OSError):
        return False


def _version(data_dir: str, environ: Mapping[str, str]) -> str:
    try:
        link = find(data_dir, environ, patience_s=ANSWER_S)
    except DaemonUnreachable:
        return ""
    if link is None:
        return ""
    link.close()
    return link.version
