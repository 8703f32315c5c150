"""What changes only what is there makes no data directory, and no folders of an agent."""

from __future__ import annotations

import pytest

COMMANDS = (
    *("get x", "update x --pin", "move x y", "share x", "remove x", "remove x --for-good"),
    *("restore x", "prune", "category describe x y", "category delete x"),
    *("session show x", "session delete x", "session promote x", "session prune --keep-count 1"),
    *("judged remove x", "source remove x", "source prune", "source move x y", "reindex --all"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_data_directory_that_is_not_there_stays_so(run, data_dir, command):
    done = run(*command.split())
    assert done.status in (0, 3)
    assert not data_dir.exists()


@pytest.mark.parametrize("command", ["update x --pin", "remove x", "session delete x"])
def test_a_mistyped_agent_gets_no_folders(run, data_dir, command):
    run("store", "kept", "--agent", "architect")
    before = sorted(data_dir.rglob("*"))
    done = run(*command.split(), "--agent", "architct")
    assert done.status == 3
    assert sorted(data_dir.rglob("*")) == before
