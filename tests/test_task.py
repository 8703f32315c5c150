"""The wrapper on machines where it cannot work: one line that says what would help.

That it works is shown by whoever runs these tests through it.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="task.cmd is the wrapper there")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what the wrapper needs, in a folder with a space, never set up."""
    folder = tmp_path / "a project"
    (folder / "tools").mkdir(parents=True)
    for name in ("task", "tools/setup_venv.py", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with nothing but what the wrapper itself calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "dirname").symlink_to(shutil.which("dirname") or "")
    return folder


def call(project: Path, bin_folder: Path, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [shutil.which("sh") or "", project / "task", "test"],
        env={"PATH": str(bin_folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_without_a_python_one_line_says_which_would_do(project, bin_folder):
    status, output, error = call(project, bin_folder)
    assert (status, output, error.count("\n")) == (1, "", 1)
    assert "no Python 3.11 to 3.14 found" in error


@pytest.mark.parametrize(
    ("question", "answer"),
    [("ensurepip", "sudo apt install python3-venv"), ("GIL", "is free-threaded")],
)
def test_a_python_that_cannot_be_used_is_named_with_the_reason(
    project, bin_folder, question, answer
):
    python = bin_folder / "python3"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *{question}*) exit 1 ;; esac\nexec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    status, _, error = call(project, bin_folder)
    assert (status, error.count("\n")) == (1, 1)
    assert error.startswith("task: python3 ")
    assert answer in error


def test_chosen_python_that_is_none(project, bin_folder):
    status, _, error = call(project, bin_folder, PYTHON="/nowhere/python3")
    assert (status, error.count("\n")) == (1, 1)
    assert "PYTHON=/nowhere/python3" in error


def test_what_was_never_set_up_is_not_current(project):
    check = (sys.executable, "-I", "-S", project / "tools" / "setup_venv.py", "--check")
    assert subprocess.run(check, check=False).returncode == 1


def test_a_python_that_will_do_makes_the_environment(project, bin_folder):
    python = bin_folder / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (project / "tools" / "setup_venv.py").write_text(
        "import sys\nsys.exit('made by ' + __file__)\n"
    )
    status, _, error = call(project, bin_folder)
    assert (status, error) == (1, f"made by {project}/tools/setup_venv.py\n")


def test_where_to_install_is_not_for_a_users_settings_of_pip(monkeypatch, capfd):
    """They would have it elsewhere, or refuse what is installed from this folder."""
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_REQUIRE_HASHES", "1")
    monkeypatch.setenv("PIP_PROXY", "proxy.example:8080")
    set_up = runpy.run_path(str(ROOT / "tools" / "setup_venv.py"))
    set_up["run"](sys.executable, "-m", "pip", "config", "list", step="showing pip's settings")
    shown = capfd.readouterr().err
    assert "proxy.example" in shown
    assert "elsewhere" not in shown
    assert "require-hashes" not in shown
