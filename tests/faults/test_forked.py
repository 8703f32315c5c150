"""A process that hangs is told from one that the machine does not let run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

from tests.faults import forked

SHORT_S = 0.3


def sleep(pipe: Connection) -> None:
    while True:
        time.sleep(1)


def spin(pipe: Connection) -> None:
    while True:
        pass


def wait_for_a_child_that_spins(pipe: Connection) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        child.wait()


def be_stopped_and_answer(pipe: Connection) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    pipe.send("done")


def _begin(act: Callable[[Connection], None], pipe: Connection) -> None:
    pipe.send("ready")
    act(pipe)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Connection, int]]]:
    """Starts a process that does it; its pipe and its number, once it began."""
    monkeypatch.setattr(forked, "DEADLINE_S", SHORT_S)
    monkeypatch.setattr(forked, "LOOK_EVERY_S", 0.02)
    started: list[int] = []

    def run(act: Callable[[Connection], None]) -> tuple[Connection, int]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_begin, args=(act, theirs))
        process.start()
        theirs.close()
        assert process.pid
        started.append(process.pid)
        assert ours.recv() == "ready"
        return ours, process.pid

    yield run
    for pid in started:
        for each in forked.family(pid):
            each.kill()


@pytest.mark.parametrize("act", [sleep, spin, wait_for_a_child_that_spins])
def test_what_sleeps_or_spins_for_long_hangs(run, act):
    assert not forked.answers(*run(act))


def test_what_is_not_let_run_does_not_hang(run):
    ours, pid = run(be_stopped_and_answer)
    until = time.monotonic() + 3 * SHORT_S
    hears = ours.poll

    def poll(timeout_s: float) -> Any:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGCONT)
        return hears(timeout_s)

    ours.poll = poll
    assert forked.answers(ours, pid)
    assert ours.recv() == "done"


def test_what_ends_between_two_looks_answers(run):
    ours, pid = run(be_stopped_and_answer)
    for each in forked.family(pid):
        each.kill()
        each.wait()
    hears = ours.poll
    looks = [False]  # the pipe is asked once before the process has ended

    def poll(timeout_s: float) -> Any:
        return looks.pop() if looks else hears(timeout_s)

    ours.poll = poll
    assert forked.answers(ours, pid)
