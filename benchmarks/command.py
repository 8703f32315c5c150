"""Runs one command as a separate process and measures its time, processor and memory.

Memory is sampled ten times a second, so a peak that is shorter may be missed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import psutil

_COMMAND = (
    sys.executable,
    "-P",  # the working directory is a source tree, with modules of its own
    "-c",
    "import sys; from memory_sidecar.cli.main import main; sys.exit(main())",
)
_SAMPLE_SECONDS = 0.1
NO_CHANGE_FILES = 10_020  # 10,000 and some that git would ignore
NO_CHANGE_RUNS = 5


@dataclass(frozen=True, slots=True)
class Run:
    """One finished command."""

    output: Any  # what it printed, parsed
    seconds: float  # from start to exit
    cpu_seconds: float  # user and system, of the process and the ones it started
    peak_mb: float  # resident, of the process and the ones it started together


def run_command(
    *arguments: str | Path, data_dir: Path, cwd: Path, statuses: tuple[int, ...] = (0,)
) -> Run:
    """`memory-sidecar ARGUMENTS --json`. Raises if the exit status is none of `statuses`."""
    command = command_line(*arguments, data_dir=data_dir)
    with tempfile.TemporaryFile() as output:
        cpu_before = _cpu_of_ended_children()
        started = time.perf_counter()
        process = psutil.Popen(command, stdout=output, stderr=subprocess.PIPE, cwd=cwd)
        memory = _Memory(process)
        memory.start()
        _, errors = process.communicate()
        seconds = time.perf_counter() - started
        memory.join()
        if process.returncode not in statuses:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {errors.decode()}")
        output.seek(0)
        cpu_seconds = _cpu_of_ended_children() - cpu_before
        return Run(json.load(output), seconds, cpu_seconds, memory.peak_bytes / 2**20)


def index_words(root: Path, data_dir: Path) -> Run:
    """Index `root` until all its files are found by keyword."""
    return run_command("index", root, "--wait", "keyword", data_dir=data_dir, cwd=root)


def index_unchanged(root: Path, data_dir: Path) -> list[Run]:
    """Index `root`, then NO_CHANGE_RUNS times without a change; return those runs."""
    index_words(root, data_dir)
    runs = [index_words(root, data_dir) for _ in range(NO_CHANGE_RUNS)]
    assert not any(run.output["files_processed"] for run in runs)
    return runs


def median_run(runs: Sequence[Run], *, cpu: bool = False) -> Run:
    """The run in the middle by seconds, or by those of the processor."""
    ordered = sorted(runs, key=attrgetter("cpu_seconds" if cpu else "seconds"))
    return ordered[len(ordered) // 2]


def command_line(*arguments: str | Path, data_dir: Path) -> list[str]:
    """`memory-sidecar ARGUMENTS --json` without a daemon."""
    return [*_COMMAND, *map(str, arguments), "--data-dir", str(data_dir), "--json"]


class _Memory(threading.Thread):
    """Watches a process and its children until it ends."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.peak_bytes = 0

    def run(self) -> None:
        while resident := self._all_resident():
            self.peak_bytes = max(self.peak_bytes, resident)
            time.sleep(_SAMPLE_SECONDS)

    def _all_resident(self) -> int:
        try:
            family = [self._process, *self._process.children(recursive=True)]
        except psutil.Error:
            return 0
        total = 0
        for process in family:
            with suppress(psutil.Error):  # it has just ended
                total += _resident(process)
        return total


def _resident(process: psutil.Process) -> int:
    """Resident bytes of the process and its children; shared pages count once."""
    if sys.platform == "linux":
        return int(process.memory_full_info().pss)
    return int(process.memory_info().rss)


def _cpu_of_ended_children() -> float:
    times = psutil.Process().cpu_times()
    return float(times.children_user + times.children_system)
