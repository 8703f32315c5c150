"""What a program that we start is given, and which one that is."""

from __future__ import annotations

import os
import sys

import pytest

from memory_sidecar.core.children import child_environment, find_program, run_child


def test_a_program_gets_the_usual_variables_and_those_that_are_named():
    caller = {
        "PATH": os.defpath,
        "https_proxy": "http://proxy",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "sk",
        "AWS_SECRET_ACCESS_KEY": "aws",
        "GIT_DIR": "/repository",
        "LD_PRELOAD": "/lib",
    }
    usual = {"PATH": os.defpath, "https_proxy": "http://proxy", "LC_ALL": "C"}
    assert child_environment(caller) == usual
    assert child_environment(caller, ["OPENAI_API_KEY", "NOT_SET"]) == usual | {
        "OPENAI_API_KEY": "sk"
    }


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "bin" / "tool"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport os\nprint(os.getcwd(), sorted(os.environ))\n")
    path.chmod(0o755)
    return path


def test_only_absolute_folders_are_looked_in(program, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for path in ("bin", "", ".", "./bin" + os.pathsep + "bin"):
        assert find_program("tool", {"PATH": path}) is None
    assert find_program("bin/tool", {"PATH": "bin"}) is None
    assert find_program("./tool", {"PATH": str(program.parent)}) is None
    path = os.pathsep.join(["bin", str(program.parent)])
    assert find_program("tool", {"PATH": path}) == str(program)
    assert find_program(str(program), {}) == str(program)
    assert child_environment({"PATH": path})["PATH"] == str(program.parent)


def test_it_works_in_the_home_folder_with_nothing_else(program, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    done = run_child([str(program)], environ={"HOME": str(tmp_path)}, timeout_s=60)
    folder, _, names = done.stdout.decode().partition(" ")
    assert folder == str(tmp_path)
    assert set(eval(names)) <= {"HOME", "LC_CTYPE", "PWD"}


def test_a_program_that_takes_longer_than_a_step_still_gets_all_of_its_text(monkeypatch):
    monkeypatch.setattr("memory_sidecar.core.children.STEP_S", 0.01)
    steps: list[None] = []
    waits = "import sys, time; time.sleep(0.2); sys.stdout.write(sys.stdin.read())"
    text = b"x" * 1_000_000  # more than a pipe holds
    done = run_child(
        [sys.executable, "-c", waits],
        environ={},
        text=text,
        timeout_s=60,
        meanwhile=lambda: steps.append(None),
    )
    assert done.stdout == text
    assert steps
