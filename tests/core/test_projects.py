"""Folders that the user trusts, and what one that they do not trust brings."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memory_sidecar.core.projects import (
    DAY_S,
    absolute_path,
    locate_data_dir,
    read_trust,
    record_trust,
    settle_folders,
    trust_of,
)


@pytest.fixture
def environ(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "own")}


@pytest.fixture
def clone(tmp_path):
    (tmp_path / "clone" / "data" / "memory").mkdir(parents=True)
    (tmp_path / "clone" / "deep").mkdir()
    return tmp_path / "clone"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config" / "memory-sidecar" / "trusted"


def located(cwd, environ, option=None):
    return locate_data_dir(option, cwd=str(cwd), environ=environ)


def test_a_folder_that_nobody_trusts_is_passed_over_and_told_of(clone, environ, tmp_path):
    own = str(tmp_path / "own" / "memory-sidecar")
    assert located(clone / "deep", environ) == (own, str(clone))
    (clone / "data" / "memory").rmdir()
    assert located(clone, environ) == (own, None)
    (clone / "memory-sidecar.toml").touch()
    assert located(clone, environ) == (own, str(clone))


def test_a_trusted_one_counts_and_one_inside_of_it_does_not(clone, environ):
    record_trust(str(clone), True, environ)
    assert located(clone / "deep", environ) == (str(clone / "data" / "memory"), None)
    (clone / "deep" / "memory-sidecar.toml").touch()
    data_dir, passed_over = located(clone / "deep", environ)
    assert (data_dir, passed_over) == (str(clone / "data" / "memory"), str(clone / "deep"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no HOME")
def test_a_relative_home_makes_no_folder_where_one_works(clone, monkeypatch):
    for variable in ("HOME", "XDG_DATA_HOME"):
        for value in ("rel", ""):
            environ = {"HOME": "/h", "XDG_DATA_HOME": "/h/share", variable: value}
            settle_folders(environ)
            monkeypatch.setattr(os, "environ", environ)
            data_dir, _ = located(clone, environ)
            assert Path(data_dir).is_absolute()
            assert not data_dir.startswith(str(clone))


def test_a_relative_folder_of_ours_means_that_below_the_working_directory(clone, monkeypatch):
    monkeypatch.chdir(clone)
    absolute = {"MEMORY_SIDECAR_MODEL_DIR": str(clone), "HOME": str(clone)}
    environ = {"MEMORY_SIDECAR_CONTEXT": "deep"} | absolute
    settle_folders(environ)
    assert environ == {"MEMORY_SIDECAR_CONTEXT": str(clone / "deep")} | absolute


def test_a_refused_one_is_not_told_of(clone, environ, tmp_path):
    record_trust(str(clone), False, environ)
    assert located(clone, environ) == (str(tmp_path / "own" / "memory-sidecar"), None)


def test_what_is_named_needs_no_trust(clone, environ):
    named = {**environ, "MEMORY_SIDECAR_DATA_DIR": str(clone / "data" / "memory")}
    assert located("/", named) == (str(clone / "data" / "memory"), None)
    assert located(clone, environ, option="data/memory") == (str(clone / "data" / "memory"), None)


@pytest.mark.parametrize(
    ("path", "meant"),
    [("link/../x", "there/x"), ("link/..", "there"), ("link/x/./", "here/link/x"), ("../x", "x"),
     ("gone/../x..", "here/x.."), ("link/../../here/link", "here/link"), ("", "here")],
)  # fmt: skip
@pytest.mark.skipif(os.name == "nt", reason="Windows takes `..` away before it follows links")
def test_two_dots_behind_a_link_lead_to_the_folder_above_its_target(tmp_path, path, meant):
    (tmp_path / "there" / "inner").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "there" / "inner")
    assert absolute_path(str(tmp_path / "here"), path) == str(tmp_path / meant)


def test_an_answer_is_for_the_folder_itself_however_it_is_reached(clone, environ, tmp_path):
    (tmp_path / "link").symlink_to(clone)
    record_trust(str(tmp_path / "link"), True, environ)
    assert trust_of(str(clone), environ)
    clone.rename(tmp_path / "moved")
    assert trust_of(str(tmp_path / "moved"), environ) is None


def test_answers_are_kept_changed_and_taken_back(tmp_path, environ, file):
    odd = tmp_path / os.fsdecode(b"+ \xff\xc3\xa9")
    record_trust("/one", True, environ)
    record_trust(str(odd), False, environ)
    record_trust("/one", False, environ)
    assert read_trust(environ) == {"/one": False, str(odd): False}
    record_trust("/one", None, environ)
    assert read_trust(environ) == {str(odd): False}
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_folder_that_could_forge_a_line_is_refused(environ):
    with pytest.raises(ValueError, match="line break"):
        record_trust("/clone\n+/", True, environ)


def test_answers_that_others_could_have_written_count_for_nothing(environ, file):
    record_trust("/one", True, environ)
    file.chmod(0o666)
    assert read_trust(environ) == {}
    file.unlink()
    os.mkfifo(file)
    assert read_trust(environ) == {}


@pytest.mark.skipif(os.getuid() != 0, reason="giving a file away takes root")
def test_a_full_disk_cuts_no_answer_to_a_folder_above(environ, file, clone):
    resource = pytest.importorskip("resource")
    record_trust("/srv", False, environ)
    before, (soft, hard) = file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + len(str(clone.parent)) + 1, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            record_trust(clone, True, environ)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    file.write_text(f"+{clone}\n+{clone.parent}")  # as an earlier version left it
    assert read_trust(environ) == {str(clone): True}


def test_answers_that_cannot_be_read_are_not_replaced(environ, file, clone):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.mkdir()
    assert read_trust(environ) == {}
    with pytest.raises(IsADirectoryError):
        record_trust(clone, True, environ)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs to give files away")
def test_answers_of_another_user_count_for_nothing(environ, file):
    record_trust("/one", True, environ)
    os.chown(file, 12345, 12345)
    assert read_trust(environ) == {}


def test_the_command_trusts_lists_and_takes_back(run, clone):
    assert run("trust", "--list").out == ""
    assert run("trust", cwd=clone).out == f"{clone} is trusted\n"
    assert run("trust", "--list").out == f"{clone}\n"
    assert run("trust", clone, "--remove", "--json").json == {"trusted": []}
    assert run("trust", clone, "--remove").out == f"{clone} is not trusted\n"
    assert run("trust", clone / "nothing").status == 3
    assert run("trust", clone, "--list").status == 2


def test_what_passes_over_a_folder_says_so_in_one_line(sidecar, clone, tmp_path):
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "own")}
    done = sidecar("source", "list", cwd=clone, MEMORY_SIDECAR_DATA_DIR="", **own)
    assert (done.status, done.out) == (0, "")
    assert done.err.startswith(f"note: {clone} is not trusted")
    noted = done.err.splitlines()[0]
    assert f"`memory-sidecar trust {clone}`" in noted
    assert done.err == f"{noted}\nnote: no source is registered\n"
    again = sidecar("source", "list", cwd=clone / "deep", MEMORY_SIDECAR_DATA_DIR="", **own)
    assert (again.status, again.err) == (0, "note: no source is registered\n")
    told = tmp_path / "config" / "memory-sidecar" / "told"
    told.write_text(told.read_text().replace(str(int(time.time() // DAY_S)), "20000"))
    tomorrow = sidecar("source", "list", cwd=clone, MEMORY_SIDECAR_DATA_DIR="", **own)
    assert tomorrow.err == done.err
    assert sidecar("source", "--help", cwd=clone, MEMORY_SIDECAR_DATA_DIR="", **own).err == ""
    assert sidecar("trust", clone, MEMORY_SIDECAR_DATA_DIR="", **own).err == ""
    trusted = sidecar("source", "list", cwd=clone, MEMORY_SIDECAR_DATA_DIR="", **own)
    assert trusted.err == "note: no source is registered\n"


def test_trust_names_the_data_directory_that_commands_there_leave_and_the_new_one(
    sidecar, clone, tmp_path
):
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "own")}
    (used := tmp_path / "own" / "memory-sidecar").mkdir(parents=True)
    project = clone / "data" / "memory"
    for more, now, old in (((), project, used), (("--remove",), used, project)):
        done = sidecar("trust", clone, *more, MEMORY_SIDECAR_DATA_DIR="", **own)
        assert f"use {now} from now on, no longer {old}: `memory-sidecar index {clone}`" in done.err
        again = sidecar("trust", clone, *more, MEMORY_SIDECAR_DATA_DIR="", **own)
        assert again.err == ""
    assert sidecar("index", clone, "--data-dir", project, "--wait", "keyword", **own).status == 0
    done = sidecar("trust", clone, MEMORY_SIDECAR_DATA_DIR="", **own)
    assert done.err.endswith(f"use {project} from now on, no longer {used}\n")
    assert sidecar("trust", clone, "--remove", MEMORY_SIDECAR_DATA_DIR="", **own).status == 0
    (project / "state" / "codebase" / "sources.json").write_text("{")
    done = sidecar("trust", clone, MEMORY_SIDECAR_DATA_DIR="", **own)
    assert (done.status, done.out) == (0, f"{clone} is trusted\n")


@pytest.mark.parametrize(("said", "trusted"), [("y", True), ("", False), ("perhaps", False)])
def test_at_a_terminal_it_is_asked_once(clone, tmp_path, said, trusted, terminal):
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "own")}
    shown = terminal("source", "list", cwd=clone, types=said + "\n", **own)
    assert "Trust it? [y/N]" in shown
    assert read_trust(own) == {str(clone): trusted}
    assert "Trust it" not in terminal("source", "list", cwd=clone, types="y\n", **own)


def test_the_name_of_a_folder_cannot_speak_to_the_terminal(sidecar, tmp_path):
    odd = tmp_path / "odd\x1b[31m"
    (odd / "data" / "memory").mkdir(parents=True)
    own = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "own")}
    done = sidecar("source", "list", cwd=odd, MEMORY_SIDECAR_DATA_DIR="", **own)
    assert "\x1b" not in done.err


@pytest.fixture
def terminal():
    """Runs the program at a terminal where somebody types; what is shown there."""
    pty = pytest.importorskip("pty")
    import select
    import subprocess
    import time

    from tests.conftest import PROGRAM

    def terminal(*arguments: str, cwd: Path, types: str, **environ: str) -> str:
        ours, theirs = pty.openpty()
        os.write(ours, types.encode())
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=cwd,
            env=os.environ | {"MEMORY_SIDECAR_DATA_DIR": ""} | environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown, deadline = b"", time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                try:
                    shown += os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
        assert process.wait(timeout=60) == 0
        os.close(ours)
        return shown.decode()

    return terminal
