"""What `doctor` and `task qmd:setup` do where QMD is installed, broken or absent.

QMD itself is not installed for tests: a script that answers as version 2.8.3 does stands for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_sidecar.agents import qmd as neighbours
from memory_sidecar.agents.qmd import examine_qmd

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for sh")

QMD = """#!/bin/sh
echo "$*" >> "$0.log"
case "$*" in
  --version) echo "qmd 2.8.3 (facd35e)" ;;
  "collection list")
    [ -e "$0.there" ] && printf 'Collections (1):\\n\\ndocs (qmd://docs/)\\n' \
      || echo "No collections found. Run 'qmd collection add .' to create one." ;;
  "collection show "*) [ -e "$0.there" ] || { echo "Collection not found: $3" >&2; exit 1; } ;;
  "collection add "*) touch "$0.there" ;;
esac
"""


@pytest.fixture
def qmd(tmp_path: Path) -> Path:
    return script(tmp_path / "bin" / "qmd", QMD)


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def environ(*programs: Path) -> dict[str, str]:
    folders = [*(str(program.parent) for program in programs), "/usr/bin", "/bin"]
    return {"PATH": os.pathsep.join(folders)}


def test_without_qmd_nothing_is_wrong(tmp_path):
    finding = examine_qmd({"PATH": str(tmp_path)})
    assert finding.ok
    assert "not installed" in finding.text
    assert "npm install" in finding.hint


def test_qmd_is_told_of_with_its_collections(qmd):
    before = examine_qmd(environ(qmd))
    assert (before.text, before.hint) == (
        "qmd 2.8.3 (facd35e), without a collection",
        "`qmd collection add FOLDER`",
    )
    (qmd.parent / "qmd.there").touch()
    assert examine_qmd(environ(qmd)).text == "qmd 2.8.3 (facd35e), collections: 1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#!/bin/sh\necho broken >&2\nexit 1\n", "broken"),
        ("#!/bin/sh\nkill -SEGV $$\n", "ended with status -11"),
        ("#!/nowhere/node\n", "No such file"),
        ("#!/bin/sh\nsleep 60\n", "took longer than 1 s"),
    ],
    ids=["says why", "crashes", "lacks its runtime", "hangs"],
)
def test_a_broken_qmd_is_told_of_and_no_failure_of_ours(tmp_path, monkeypatch, text, why):
    monkeypatch.setattr(neighbours, "QMD_TIMEOUT_S", 1)
    finding = examine_qmd(environ(script(tmp_path / "bin" / "qmd", text)))
    assert finding.ok
    assert "does not work" in finding.text
    assert why in finding.text


def test_doctor_asks_the_callers_qmd(run, indexed, data_dir, qmd):
    made = {"MEMORY_SIDECAR_DATA_DIR": str(data_dir), **environ(qmd)}
    (finding,) = (
        each for each in run("doctor", "--json", environ=made).json if each["check"] == "qmd"
    )
    assert finding["text"].startswith("qmd 2.8.3")


@pytest.fixture
def setup(tmp_path):
    """`task qmd:setup` in a project of its own, with these programs on the PATH."""
    task = shutil.which("task", path=Path(sys.executable).parent)
    if task is None:
        pytest.skip("task is not installed")
    project = tmp_path / "shop"
    (project / "docs").mkdir(parents=True)
    shutil.copy(ROOT / "Taskfile.yml", project)

    def setup(*programs: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [task, "qmd:setup"],
            cwd=project,
            env={**environ(*programs), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return setup


def test_setup_registers_docs_once_and_then_updates(setup, qmd):
    assert setup(qmd).returncode == 0
    assert setup(qmd).returncode == 0
    calls = (qmd.parent / "qmd.log").read_text().splitlines()
    assert calls == [
        "collection show shop-docs",
        "collection add docs --name shop-docs",
        "collection show shop-docs",
        "update",
    ]


def test_setup_without_qmd_says_how_to_get_it(setup):
    done = setup()
    assert done.returncode == 0
    assert "npm install --global @tobilu/qmd" in done.stdout


def test_setup_fails_where_qmd_does(setup, tmp_path):
    broken = script(tmp_path / "bin" / "qmd", "#!/bin/sh\necho broken >&2\nexit 1\n")
    assert setup(broken).returncode != 0
