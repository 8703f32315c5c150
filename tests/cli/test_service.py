"""What `service` leaves behind where systemd does as it is told, and where it does not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from memory_sidecar.cli.service import UNITS
from tests.conftest import run_here
from tests.finished import Finished

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="systemd is Linux's")

Run = Callable[..., Finished]
NO_BUS = "Failed to connect to bus: No medium found"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Each call of systemctl, one a line."""
    return tmp_path / "told"


@pytest.fixture
def run(tmp_path: Path, config: Path, told: Path) -> Callable[..., Run]:
    """Runs commands where systemctl fails at what `failing` matches, as a pattern of the shell."""

    def run(failing: str, **more: str) -> Run:
        program = tmp_path / "bin" / "systemctl"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f"#!/bin/sh\necho \"$*\" >> '{told}'\n"
            f"case \"$*\" in {failing}) echo '{NO_BUS}' >&2; exit 1;; esac\n"
        )
        program.chmod(0o755)
        environ = {
            "PATH": str(program.parent),
            "XDG_CONFIG_HOME": str(config),
            "MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data"),
        }
        return partial(run_here, "service", environ=environ | more, cwd=tmp_path)

    return run


def left(config: Path) -> list[Path]:
    return [path for path in config.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_not_written_through_a_link(run, config, tmp_path, unit):
    folder = config / "systemd" / "user"
    folder.mkdir(parents=True)
    (folder / unit).symlink_to(tmp_path / "victim")
    done = run("nothing")("install")
    assert done.status == 2
    assert "not a regular file" in done.err
    assert not (tmp_path / "victim").exists()


def test_systemctl_runs_in_no_repository_and_comes_from_none(run, told, tmp_path, monkeypatch):
    well, here = run("nothing", HOME=str(tmp_path)), tmp_path / "bin"
    (here / "systemctl").write_text(f"#!/bin/sh\npwd >> '{told}'\n")
    monkeypatch.chdir(here)
    assert well("install").status == 0
    assert set(told.read_text().split()) == {str(tmp_path)}
    told.unlink()
    assert "systemctl is not installed" in run("nothing", PATH=".:")("install").err
    assert not told.exists()


@pytest.mark.parametrize("name", ["two\nlines", "backslash\\", "@command@"])
def test_a_folder_adds_no_line_to_a_unit(run, config, tmp_path, name):
    done = run("nothing", MEMORY_SIDECAR_DATA_DIR=str(tmp_path / name))("install")
    if name == "@command@":
        (unit,) = config.rglob("memory-sidecar.service")
        assert f"WorkingDirectory={tmp_path}/@command@\n" in unit.read_text()
    else:
        assert (done.status, left(config)) == (2, [])
        assert "cannot be written in a unit of systemd" in done.err


def test_units_are_written_started_shown_and_removed(run, config):
    well = run("nothing")
    installed = well("install")
    assert (installed.status, installed.err) == (0, "")
    assert "enable-linger" in installed.out
    assert sorted(path.name for path in left(config)) == sorted(UNITS)
    assert well("status").status == 0
    assert well("uninstall").status == 0
    assert left(config) == []
    assert well("status").status == 3


@pytest.mark.parametrize("failing", ["*", "*daemon-reload*", "*enable*--now*"])
def test_install_that_systemd_refuses_leaves_nothing(run, config, failing):
    done = run(failing)("install")
    assert (done.status, done.out) == (1, "")
    assert NO_BUS in done.err
    assert left(config) == []


def test_without_a_session_it_says_what_to_do(run):
    assert "loginctl enable-linger" in run("*")("install").err


def test_uninstall_takes_back_whatever_systemd_says(run, config):
    assert run("nothing")("install").status == 0
    wants = config / "systemd" / "user" / "sockets.target.wants"
    wants.mkdir()
    (wants / UNITS[0]).symlink_to(config / "systemd" / "user" / UNITS[0])
    done = run("*")("uninstall")
    assert done.status == 0
    assert NO_BUS in done.err
    assert left(config) == []


def test_a_unit_that_cannot_be_removed_is_named_and_holds_up_no_other_step(run, config, sidecar):
    assert run("nothing")("uninstall").out == "not installed\n"
    unit = config / "systemd" / "user" / UNITS[1]
    unit.mkdir(parents=True)
    completion = config / "fish" / "completions" / "memory-sidecar.fish"
    environ = {
        "XDG_CONFIG_HOME": str(config),
        "HOME": str(config.parent),
        "XDG_RUNTIME_DIR": str(config.parent),
        "PATH": str(config.parent / "bin"),
    }
    assert sidecar("completion", "install", "fish", **environ).status == 0
    assert completion.exists()
    for done in (run("nothing")("uninstall"), sidecar("uninstall", "--yes", **environ)):
        assert (done.status, str(unit) in done.err) == (1, True)
        assert "internal error" not in done.err
    assert not completion.exists()


def test_status_fails_where_nothing_runs(run):
    assert run("nothing")("install").status == 0
    done = run("*is-active*")("status", "--json")
    assert (done.status, done.json["is_active"]) == (1, False)
    assert "does not run" in done.err


def test_without_systemd_nothing_is_written_and_all_is_removed(run, config):
    well = run("nothing")
    without = partial(well, environ={"PATH": "/nowhere", "XDG_CONFIG_HOME": str(config)})
    done = without("install")
    assert done.status == 1
    assert "serve --replace" in done.err
    assert left(config) == []
    assert well("install").status == 0
    assert without("uninstall").status == 0
    assert left(config) == []
