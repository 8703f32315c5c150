"""Finds the running daemons of a user among all processes, whatever their data directories.

A daemon's working directory is its data directory, whose lock it has signed. Processes with another
home folder, for example under `sudo`, do not count as this user's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import psutil

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.core.projects import home
from memory_sidecar.core.results import about
from memory_sidecar.core.times import iso_utc
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.link import find
from memory_sidecar.daemon.lock import find_holder

ANSWER_S = 2.0
_STARTED_AS = ("memory_sidecar", "memory-sidecar")  # a module, or the program itself


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that runs."""

    data_dir: Annotated[str, about("absolute")]
    pid: int
    version: Annotated[str, about("empty if it does not answer")]
    started_at: Annotated[str, about("ISO 8601, UTC")]
    resident_bytes: Annotated[int, about("of memory that it holds")]


def running_daemons(environ: Mapping[str, str]) -> Iterator[Daemon]:
    """Yield the daemons of the user with the environment `environ`, the oldest first."""
    processes = [each for each in psutil.process_iter() if _may_be_ours(each, environ)]
    for process in sorted(processes, key=lambda each: each.create_time()):
        try:
            data_dir = process.cwd()
            signed = find_holder(state_file(data_dir, "daemon.lock"))
            if signed is None or signed.pid != process.pid:
                continue
            started_at = iso_utc(int(process.create_time() * 1000))
            resident = process.memory_info().rss
        except (psutil.Error, OSError):
            continue  # it has ended
        yield Daemon(data_dir, process.pid, _version(data_dir, environ), started_at, resident)


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
