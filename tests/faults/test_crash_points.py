"""SIGKILL before every change of the disk: each thing is done or not done, and nothing is lost."""

from __future__ import annotations

import signal
import zlib
from itertools import count

import pytest

from tests.faults.commands import WRITING
from tests.faults.conftest import Tally, everyday

SPREAD = 6  # where only one point is tried, it is one of so many


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("command", everyday(WRITING, every=7), ids=str)
def test_a_command_that_is_killed_anywhere(scene, scale, tally: Tally, command):
    usual = scene.usual(command)
    one = 1 + zlib.crc32(str(command).encode()) % SPREAD
    for nth in count(1) if scale.every_point else [one]:
        killed = scene.run(scene.line(command), dies_at=nth)[-1]
        if killed.status != -signal.SIGKILL:
            break  # it has no more changes
        try:
            scene.require_sound(usual, acknowledged=False)
        except AssertionError as error:
            tally.failed(f"{command} killed before change {nth}", error)
        tally.count("crash points")
        scene.restore()
    assert tally.tried
