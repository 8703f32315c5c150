"""What the project's own files promise, and that nothing in them works on one machine only."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from memory_sidecar.core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = "\n".join(page.read_text("utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Written so that they do not match themselves.
OF_ONE_MACHINE = re.compile(
    r"(?<![\w.])/(?:home|Users|root|work|opt)/\w"
    r"|https?://[^\s\"']*(?:/sim[p]le|pythonh[o]sted)"
    r"|--(?:extra-)?index-url|--find-l[i]nks"
)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


@pytest.mark.parametrize("name", PROJECT["scripts"])
def test_command_can_be_imported(name):
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=name)
    assert callable(script.load())


def test_what_is_written_names_only_tasks_that_exist():
    taskfile = (ROOT / "Taskfile.yml").read_text(encoding="utf-8")
    tasks = set(re.findall(r"^  ([a-z:]+):$", taskfile, re.MULTILINE))
    assert {"memory:index", "test"} <= set(re.findall(r"\./task ([a-z][a-z:]*)", README))
    assert set(re.findall(r"\./task ([a-z][a-z:]*)", README + PAGES)) <= tasks


def test_no_task_runs_a_script_whose_first_line_a_folder_of_any_name_may_break():
    """The folder stands there between double quotes where it has a blank, and `"` ends them."""
    scripts = {each.name for each in importlib.metadata.entry_points(group="console_scripts")}
    tasks = yaml.safe_load((ROOT / "Taskfile.yml").read_text("utf-8"))["tasks"].values()
    commands = [each for task in tasks for each in (*task.get("cmds", ()), task.get("cmd", ""))]
    assert "ruff check" in commands
    assert [each for each in commands if each.partition(" ")[0] in scripts] == []


def test_what_is_written_names_only_commands_that_exist():
    program = Path(sys.executable).with_name("memory-sidecar")
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"^memory-sidecar (\w+)", README + PAGES, re.MULTILINE))
    assert {"index", "search"} <= named
    assert named <= set(re.findall(r"^ +(\w+)", usage, re.MULTILINE))


def test_every_place_that_chooses_a_python_takes_the_same_ones():
    least, below = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    assert f"With Python 3.{least} to 3.{int(below) - 1} " in README
    for script in ("task", "task.cmd"):
        text = (ROOT / script).read_text("utf-8")
        assert f"not (3, {least}) <= sys.version_info < (3, {below})" in text
        assert f"no Python 3.{least} to 3.{int(below) - 1} found" in text
    assert f"PYTHONS = (3, {least}), (3, {below}) " in (ROOT / "tools/setup_venv.py").read_text()


def test_ci_runs_what_the_readme_says():
    steps = re.findall(r"^\./task (\S+)", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert steps == ["lint", "test", "test:slow"]
    assert "./task lint && ./task test\n" in README
    assert "\n./task test:slow " in README


def test_every_setting_is_told_with_its_default():
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    told = dict(re.findall(r"(?m)^\| `(\w+)` \| `(.*?)` \|", page))
    settings = Settings()
    assert told == {key.name: json.dumps(getattr(settings, key.name)) for key in fields(Settings)}


def test_lock_holds_every_dependency_with_its_hash():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)[^\n]*\\\n +--hash=sha256:", lock, re.MULTILINE))
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(one for extra in extras for one in extra)]:
        name, exact = re.findall(r"^([\w-]+)(?:==(\S+))?", requirement)[0]
        assert name in locked, f"{name} is not in the lock; run ./task lock"
        assert exact in ("", locked[name]), f"the lock is behind for {name}; run ./task lock"


def test_nothing_tracked_belongs_to_one_machine():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if OF_ONE_MACHINE.search(line)
    ]
    assert found == []
