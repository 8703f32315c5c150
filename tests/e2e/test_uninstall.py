"""Daemons are listed, end when they keep nothing, and go with everything else that is of ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from schemas import all_schemas

from tests.e2e.home import Home

IDLE_AT_ONCE = """
import sys
from memory_sidecar.cli import daemon
from memory_sidecar.daemon import host

host.IN_PLACE_CHECK_S = 0.05
may_end = daemon.Commands.may_end
daemon.Commands.may_end = lambda self, idle_s: may_end(self, idle_s=idle_s * 1200)
daemon.main()
"""


@pytest.fixture
def user(tmp_path: Path, runtime_dir: Path):
    """A user whose home holds a coding agent, and nobody else's daemon."""
    folder = tmp_path / "home"
    (folder / ".claude").mkdir(parents=True)
    unset = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"), "")
    home = Home(folder, runtime_dir, HOME=str(folder), SHELL="/bin/bash", **unset)
    del home.environ["MEMORY_SIDECAR_DATA_DIR"]
    home.data_dir = folder / ".local/share/memory-sidecar"
    yield home
    home.end()


def daemons(home: Home) -> list[str]:
    return [each["data_dir"] for each in json.loads(home.call("daemon", "list", "--json").stdout)]


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_every_daemon_is_listed_and_nothing_is_left_of_an_uninstall(user, tmp_path):
    assert daemons(user) == []
    root = user.add_source()
    other = tmp_path / "other"
    assert user.call("store", "Totals are cents", "--data-dir", other).returncode == 0
    assert daemons(user) == [str(user.data_dir), str(other)]
    told = json.loads(user.call("daemon", "list", "--json").stdout)
    Draft202012Validator(all_schemas()["daemon-list"]).validate(told)
    (listed, _) = told
    assert (listed["pid"], listed["version"] != "") == (user.pid, True)
    assert str(user.data_dir) in user.call("daemon", "list").stdout

    assert user.call("setup", "claude", "--yes").returncode == 0
    assert user.call("completion", "install").returncode == 0
    before = files(user.folder)
    shown = user.call("uninstall", "--dry-run").stdout
    for named in (user.data_dir, other, ".claude/settings.json", "bash-completion"):
        assert str(named) in shown
    (skills,) = (line for line in shown.splitlines() if "skill" in line)
    assert skills.endswith(f"  {user.folder}/.claude/skills")
    assert {"project-search", "knowledge-search", "indexing"} < {*re.split("[ ,]+", skills)}
    asked = user.call("uninstall")
    assert (asked.returncode, asked.stdout) == (2, "")  # nobody is there to be asked
    for told in (shown, asked.stderr):
        assert "to be removed" in told
        assert "\nremoved" not in f"\n{told}"
    assert files(user.folder) >= {each for each in before if not each.endswith(("-wal", "-shm"))}
    assert len(daemons(user)) == 2

    done = user.call("uninstall", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"kept: {user.data_dir}" in done.stdout
    assert done.stdout.startswith("removed")
    assert user.call("uninstall", "--yes").stdout.startswith("kept")
    assert daemons(user) == []
    assert (user.data_dir / "codebase.sqlite").exists()
    assert not [each for each in files(user.folder / ".claude") if "memory" in each]

    done = user.call("uninstall", "--yes", "--data", "--json")
    assert json.loads(done.stdout)["done"]
    left = {path.name for path in user.folder.iterdir()} - {root.name, ".claude"}
    assert left <= {".local", ".config"}
    assert files(user.folder) == {"shop/cart.py"}
    assert not any(user.runtime_dir.iterdir())
    assert "nothing but the program" in user.call("uninstall", "--data", "--yes").stdout
    shutil.rmtree(other)


@pytest.mark.parametrize("odd", [b"\xff\xfe", b'{"hooks": '])
def test_what_cannot_be_taken_back_holds_up_nothing_but_what_was_learnt(user, odd):
    assert user.call("store", "Totals are cents").returncode == 0
    assert user.call("setup", "claude", "--yes").returncode == 0
    assert user.call("completion", "install").returncode == 0
    settings = user.folder / ".claude" / "settings.json"
    ours = settings.read_text()
    settings.write_bytes(odd)
    for _ in range(2):  # the second time nothing but the settings is left to be taken back
        done = user.call("uninstall", "--data", "--yes")
        assert (done.returncode, str(settings) in done.stderr) == (1, True)
        assert "Traceback" not in done.stderr
    assert user.call("uninstall", "--yes").returncode == 1
    done = user.call("setup", "--undo", "--yes")
    assert (done.returncode, "taken back" in done.stdout) == (1, False)
    assert not [each for each in files(user.folder) if "completion" in each]
    assert [each for each in files(user.data_dir) if each.endswith("totals-are-cents.md")]
    settings.write_text(ours)
    assert user.call("uninstall", "--data", "--yes").returncode == 0
    assert files(user.folder) == set()


def test_a_damaged_list_of_what_agents_were_given_holds_up_nothing_else(user):
    assert user.call("store", "Totals are cents").returncode == 0
    noted = user.folder / ".config/memory-sidecar/setup.json"
    noted.parent.mkdir(parents=True)
    noted.write_text("[{")
    done = user.call("uninstall", "--yes")
    assert (done.returncode, str(noted) in done.stderr) == (2, True)
    assert daemons(user) == []
    assert noted.read_text() == "[{"


def test_a_file_of_others_in_the_data_directory_stays(user):
    assert user.call("store", "Totals are cents").returncode == 0
    (user.data_dir / "theirs.txt").write_text("x")
    assert user.call("uninstall", "--yes", "--data").returncode == 0
    assert files(user.data_dir) == {"theirs.txt"}


def test_a_daemon_with_nothing_registered_ends_after_idling(home):
    home.data_dir.mkdir(exist_ok=True)
    assert home.run_python(IDLE_AT_ONCE, str(home.data_dir)).wait(60) == 0
    assert "nothing to keep" in home.log
    home.add_source()
    home.call("stop")
    kept = home.run_python(IDLE_AT_ONCE, str(home.data_dir))
    home.wait_until_served(kept)
    assert home.sources() == ["shop"]
    with pytest.raises(subprocess.TimeoutExpired):
        kept.wait(1)  # twenty minutes, as it counts them
    home.end()
    kept.wait(60)
