"""Finds the running daemons of a user among all processes, whatever their data directories.

A daemon's working directory is its data directory, whose lock it has signed. Processes with another
home folder, for example under `sudo`, do not count as this user's.
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
from memory_sidecar.daemon.lock import find_holder

ANSWER_S = 2.0
_STARTED_AS = ("memory_sidecar", "memory-sidecar")  # a module, or the program itself


@dataclass(frozen=True, slots=True)
class RunningDaemon:
    """A running daemon, as `running_daemons` yields it."""

    data_dir: str  # absolute, without links
    pid: int
    started_at_s: float  # Unix time
    resident_bytes: int
    version: str  # "" if it does not answer


def running_daemons(environ: Mapping[str, str]) -> Iterator[RunningDaemon]:
    """Yield the daemons of the user with the environment `environ`, the oldest first."""
    processes = [each for each in psutil.process_iter() if _may_be_ours(each, environ)]
    for process in sorted(processes, key=lambda each: each.create_time()):
        try:
            data_dir = process.cwd()
            signed = find_holder(state_file(data_dir, "daemon.lock"))
            if signed is None or signed.pid != process.pid:
                continue
            started_at_s, resident = process.create_time(), process.memory_info().rss
        except (psutil.Error, OSError):
            continue  # it has ended
        yield RunningDaemon(
            data_dir, process.pid, started_at_s, resident, _version(data_dir, environ)
        )


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
