"""What changes only what is there makes no data directory, and no folders of an agent."""

from __future__ import annotations

import pytest

from memory_sidecar.cli.main import makes_data

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


def test_what_a_team_has_may_be_the_first_in_a_data_directory():
    assert makes_data(("memory", "pull", "--agent", "shared"))
    assert not makes_data(("memory", "push", "--agent", "shared"))


@pytest.mark.parametrize(
    "command",
    [
        *("restore", "category list", "trust --list", "source list", "list --tag z"),
        *("recent --tag z", "context refs --root root", "context tasks --root root"),
    ],
)
def test_a_list_of_nothing_says_so_once(run, command):
    run("store", "kept")
    run("context", "init", "root", "--project", "fly")
    done = run(*command.split())
    assert (done.status, done.out) == (0, "")
    assert done.err.startswith("note: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["update x --pin", "remove x", "session delete x"])
def test_a_mistyped_agent_gets_no_folders(run, data_dir, command):
    run("store", "kept", "--agent", "architect")
    before = sorted(data_dir.rglob("*"))
    done = run(*command.split(), "--agent", "architct")
    assert done.status == 3
    assert sorted(data_dir.rglob("*")) == before
