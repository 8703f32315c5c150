"""Runs command lines in processes that cost little to start and may be stopped anywhere.

They are forked from a server that has imported what takes long and starts no threads. Each runs
one command line or several without a daemon. It may be killed after some time, or be halted right
before each change of the disk: before a file is opened for writing, made durable, renamed, linked
or removed, before a folder is made or removed, and before a commit. What is on the disk while all
threads of a process stand still is what a SIGKILL at that moment would leave there.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from tests.finished import Finished

DEADLINE_S = 60.0  # of doing nothing, or of a processor: none of these commands takes two seconds
LOOK_EVERY_S = 0.25
HUNG = 124  # as `timeout` says it
# Neither what starts threads on import, as the engine does, which a fork would be without, nor what
# sets variables of the environment, which a job has of its own.
_SLOW_TO_IMPORT = [
    *("numpy", "apsw", "click", "yaml", "rich.progress", "loguru", "sqlite_vec", "msgspec"),
    *("concurrent.futures.process", "pathspec", "watchdog.observers", "tree_sitter"),
    *("memory_sidecar.cli.main", "memory_sidecar.index.arms", "memory_sidecar.index.store_file"),
    *("memory_sidecar.disk.watch", "memory_sidecar.disk.registry", "memory_sidecar.memories.write"),
    "tests.faults.forked",
]
_CHANGING = {
    *("os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir"),
    *("os.truncate", "os.chmod", "os.utime", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = "changes"  # what the process sends before each change, and goes on once answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Command lines, each with its standard input, and what befalls the process that runs them."""

    lines: Sequence[tuple[Sequence[str], str]]
    folder: Path  # where it runs; only changes below it count
    environ: dict[str, str] = field(default_factory=dict)
    dies_after_s: float | None = None
    halts: bool = False  # before each change

    def run(self, at_change: Callable[[], None] | None = None) -> list[Finished]:
        """What each line left behind; only of those that were run, the last with its signal.

        `at_change` is called while the process, if it `halts`, stands still.
        """
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_SLOW_TO_IMPORT)
        ours, theirs = context.Pipe()
        process = context.Process(target=_run, args=(self, theirs), daemon=True)
        process.start()
        theirs.close()
        finished: list[Finished] = []
        if self.dies_after_s is not None:
            process.join(self.dies_after_s)
            process.kill()
        while True:
            try:
                assert process.pid is not None
                if not answers(ours, process.pid):
                    process.kill()
                    finished.append(Finished(HUNG, "", f"no answer in {DEADLINE_S:.0f} s"))
                    break
                said = ours.recv()
                if said != _CHANGES:
                    finished.append(Finished(*said))
                    continue
                assert at_change is not None
                with _halted(process.pid):
                    at_change()
                ours.send(_CHANGES)
            except (EOFError, OSError):
                break
        process.join()
        ours.close()
        if process.exitcode:
            finished.append(Finished(process.exitcode, "", f"ended with {process.exitcode}"))
        return finished


def answers(pipe: Connection, pid: int) -> bool:
    """Whether the process says something, or ends, before it or its children hang.

    It hangs that sleeps for `DEADLINE_S` though nothing keeps it from running, or takes as much of
    a processor. The time it waits for a processor or a disk is the machine's, which may be busy.
    """
    slept_s, before_s, began_s = 0.0, 0.0, math.inf
    while not pipe.poll(LOOK_EVERY_S):
        used_s = _used_s(pid)
        began_s = min(began_s, used_s)
        if used_s == before_s and all(_sleeps(each) for each in family(pid)):
            slept_s += LOOK_EVERY_S
        if max(slept_s, used_s - began_s) > DEADLINE_S:
            return False
        before_s = used_s
    return True


def _used_s(pid: int) -> float:
    """Seconds of a processor that the process and its children used, also those that ended."""
    times: list[float] = []
    for each in family(pid):
        with suppress(psutil.NoSuchProcess):
            times += each.cpu_times()[:4]
    return sum(times)


def family(pid: int) -> list[psutil.Process]:
    """The process and its children; none once it has ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _sleeps(process: psutil.Process) -> bool:
    """Whether none of its threads runs, waits for a disk or was stopped."""
    try:
        return all(_state(each) in "SZXI" for each in Path(f"/proc/{process.pid}/task").iterdir())
    except OSError:  # it ended
        return True


@contextmanager
def _halted(pid: int) -> Iterator[None]:
    """No thread of the process runs: each has left the call to the system it was in, or ended."""
    os.kill(pid, signal.SIGSTOP)
    states = Path(f"/proc/{pid}/task")
    while any(_state(thread) not in "TtZX" for thread in states.iterdir()):
        time.sleep(0.0005)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _state(thread: Path) -> str:
    """As proc(5) has it; "T" of a thread that has ended meanwhile."""
    try:
        return (thread / "stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return "T"


def _run(job: Job, pipe: Connection) -> None:
    assert "cocoindex" not in sys.modules, "imported before the fork, it waits for its threads"
    os.chdir(job.folder)
    os.environ.clear()
    os.environ.update(job.environ)
    turn = threading.Lock()  # to send: any thread may come to a change
    if job.halts:
        _ask_before_each_change(pipe, turn, job.folder)
    from memory_sidecar.cli.main import main

    for arguments, stdin in job.lines:
        with _streams(stdin) as said:
            status = main(list(arguments))
        with turn:
            pipe.send((status, *said))
    turn.acquire()  # no other thread comes to a change any more
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


def _ask_before_each_change(pipe: Connection, turn: threading.Lock, folder: Path) -> None:
    """Wait, right before each change of anything below `folder`, until the other end answers."""
    import apsw

    def ask() -> bool:
        with turn:
            pipe.send(_CHANGES)
            pipe.recv()
        return False

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGING or (event == "open" and _opens_to_write(arguments)):
            path = arguments[0]
            elsewhere = (
                isinstance(path, (str, bytes)) and folder not in Path(os.fsdecode(path)).parents
            )
            if not elsewhere or not Path(os.fsdecode(path)).is_absolute():
                ask()

    def watch(connection: apsw.Connection) -> None:
        connection.set_commit_hook(ask)

    real_fsync = os.fsync

    def fsync(fd: Any) -> None:
        ask()
        real_fsync(fd)

    sys.addaudithook(audit)
    os.fsync = fsync
    apsw.connection_hooks.append(watch)


def _opens_to_write(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    if mode is not None:
        return any(letter in mode for letter in "wax+")
    return bool(flags & _WRITES)
