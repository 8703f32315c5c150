"""SIGKILL at any moment, of a command or of the daemon: what was acknowledged is there, once."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.e2e.home import TIMEOUT_S
from tests.faults.commands import WRITING
from tests.faults.conftest import Scale, everyday
from tests.faults.scene import Usual

UNREACHABLE = 5


def moments(scale: Scale, usual: Usual) -> Iterator[float]:
    """Seconds after the start; the same in every run."""
    chance = random.Random(str(usual.command))
    for _ in range(scale.kills):
        yield chance.uniform(0, usual.seconds)


@pytest.mark.parametrize("command", everyday(WRITING, every=17), ids=str)
def test_a_command_that_is_killed(scene, scale, tally, command):
    usual = scene.usual(command)
    for moment_s in moments(scale, usual):
        done = scene.run(scene.line(command), dies_after_s=moment_s)[0]
        try:
            scene.require_sound(usual, acknowledged=done.status == 0)
        except AssertionError as error:
            tally.failed(f"{command} killed after {moment_s:.2f} s", error)
        tally.count("kills of a command")
        scene.restore()


@pytest.mark.parametrize("command", everyday(WRITING, every=17), ids=str)
def test_a_daemon_that_is_killed(scene, scale, tally, command):
    usual = scene.usual(command)
    for moment_s in moments(scale, usual):
        assert scene.home.sources() == ["src"]
        arguments, stdin = scene.line(command)
        client = scene.home.start(*arguments, stdin=subprocess.PIPE)
        client.stdin.write(stdin)
        client.stdin.close()
        client.stdin = None
        time.sleep(moment_s)
        scene.home.signal(signal.SIGKILL)
        try:
            _, said = client.communicate(timeout=TIMEOUT_S)
            assert client.returncode in (0, UNREACHABLE) or command.may_find_fault, said
            scene.home.end()  # the client may have found or started another one
            scene.require_sound(usual, acknowledged=client.returncode == 0)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            client.kill()
            tally.failed(f"daemon killed {moment_s:.2f} s into {command}", error)
        tally.count("kills of a daemon")
        scene.restore()
