"""Killed before any change of the disk: each thing is done or not done, and nothing is lost.

A command runs once and is halted before each change; what is on the disk then is what the kill
would leave. Two changes with nothing between them that a later process can tell leave the same,
which is looked at once.
"""

from __future__ import annotations

import sys
import zlib

import pytest

from tests.faults.commands import WRITING
from tests.faults.conftest import everyday

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who has halted")


@pytest.mark.parametrize("command", everyday(WRITING, every=13), ids=str)
def test_a_command_that_is_killed_anywhere(scene, scale, tally, command):
    usual = scene.usual(command)
    states = scene.states_during(command)
    assert states, "the command changes nothing"
    if not scale.every_point:
        states = [states[zlib.crc32(str(command).encode()) % len(states)]]
    for state in states:
        scene.restore(state.copy)
        try:
            scene.require_sound(usual, acknowledged=False)
        except AssertionError as error:
            tally.failed(f"{command} killed before change {state.changes}", error)
        tally.count("crash points", len(state.changes))
        tally.count("states of the disk at a crash point")
    scene.restore()
