"""Runs command lines in processes that cost little to start and may be killed anywhere.

They are forked from a server that has imported what takes long and starts no threads. Each
runs one command line or several without a daemon, and may be told to kill itself with SIGKILL
right before its n-th change of the disk: before a file is opened for writing, made durable,
renamed, linked or removed, before a folder is made or removed, and before a commit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import Finished

DEADLINE_S = 60.0  # none of these commands takes two seconds on a machine that is not busy
HUNG = 124  # as `timeout` says it
_SLOW_TO_IMPORT = [  # and starts no thread, as the engine does
    *("numpy", "apsw", "click", "yaml", "rich.progress", "loguru", "sqlite_vec", "logging"),
    *("memory_sidecar.cli.main", "memory_sidecar.agents.store", "memory_sidecar.memories.write"),
]
_CHANGING = {
    *("os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir"),
    *("os.truncate", "os.chmod", "os.utime", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Command lines, each with its standard input, and what befalls the process that runs them."""

    lines: Sequence[tuple[Sequence[str], str]]
    folder: Path  # where it runs; only changes below it count
    environ: dict[str, str] = field(default_factory=dict)
    dies_at: int = 0  # the n-th change; 0 for never
    dies_after_s: float | None = None

    def run(self) -> list[Finished]:
        """What each line left behind; only of those that were run, the last with its signal."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_SLOW_TO_IMPORT)
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(self, theirs), daemon=True)
        process.start()
        theirs.close()
        finished: list[Finished] = []
        if self.dies_after_s is not None:
            process.join(self.dies_after_s)
            process.kill()
        while True:
            try:
                if not ours.poll(DEADLINE_S):
                    process.kill()
                    finished.append(Finished(HUNG, "", f"no answer in {DEADLINE_S:.0f} s"))
                    break
                finished.append(Finished(*ours.recv()))
            except (EOFError, OSError):
                break
        process.join()
        ours.close()
        if process.exitcode:
            finished.append(Finished(process.exitcode, "", f"ended with {process.exitcode}"))
        return finished


def _run(job: Job, pipe: Any) -> None:
    os.chdir(job.folder)
    os.environ.clear()
    os.environ.update(job.environ)
    if job.dies_at:
        _die_at(job.dies_at, job.folder)
    from memory_sidecar.cli.main import main

    for arguments, stdin in job.lines:
        with _streams(stdin) as said:
            status = main(list(arguments))
        pipe.send((status, *said))
    os._exit(0)  # as the program ends: with whatever threads it has


@contextmanager
def _streams(stdin: str) -> Iterator[list[str]]:
    """Standard streams that are files; afterwards, what was written to them is in the list."""
    said: list[str] = []
    with ExitStack() as opened:
        files = [
            opened.enter_context(tempfile.TemporaryFile("w+", dir="/tmp", encoding="utf-8"))
            for _ in range(3)
        ]
        files[0].write(stdin)
        files[0].seek(0)
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  stays open
            for number, mode in enumerate(("r", "w", "w"))
        )
        yield said
        sys.stdout.flush()
        sys.stderr.flush()
        for file in files[1:]:
            file.seek(0)
            said.append(file.read())


def _die_at(nth: int, folder: Path) -> None:
    """Have this process kill itself right before its `nth` change of anything below `folder`."""
    import apsw

    left, lock = nth, threading.Lock()

    def count() -> bool:
        nonlocal left
        with lock:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return False

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGING or (event == "open" and _opens_to_write(arguments)):
            path = arguments[0]
            elsewhere = (
                isinstance(path, (str, bytes)) and folder not in Path(os.fsdecode(path)).parents
            )
            if not elsewhere or not Path(os.fsdecode(path)).is_absolute():
                count()

    def watch(connection: apsw.Connection) -> None:
        connection.set_commit_hook(count)

    real_fsync = os.fsync

    def fsync(fd: Any) -> None:
        count()
        real_fsync(fd)

    sys.addaudithook(audit)
    os.fsync = fsync
    apsw.connection_hooks.append(watch)


def _opens_to_write(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    if mode is not None:
        return any(letter in mode for letter in "wax+")
    return bool(flags & _WRITES)
