"""A new user's first hour, on a real project: every answer is looked at, and nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROGRAM
from tests.e2e.home import Home

ROOT = Path(__file__).parents[2]
PARTS = ("README.md", "docs", "memory_sidecar/daemon", "memory_sidecar/disk", "memory_sidecar/core")

# A question, and where its answer is, among the first three.
QUESTIONS = {
    "what masks a secret when results are printed": "memory_sidecar/core/credentials.py",
    "which paths does git ignore": "memory_sidecar/disk/ignores.py",
    "two clients start a daemon at the same time": "memory_sidecar/daemon/start.py",
    "a lock that the system takes back when its holder dies": "memory_sidecar/daemon/lock.py",
    "parse_frontmatter": "memory_sidecar/disk/frontmatter.py",
    "StoreForeign": "memory_sidecar/core/errors.py",
    "known_addresses": "memory_sidecar/daemon/address.py",
    "run another program without a shell": "memory_sidecar/core/children.py",
    "write a file atomically, by a temporary one": "memory_sidecar/core/atomic.py",
    "is_private": "memory_sidecar/daemon/address.py",
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Home]:
    """Somebody with Claude Code, a project to clone and a home folder of their own."""
    runtime_dir = Path(tempfile.mkdtemp(dir="/tmp"))
    folder = tmp_path / "home"
    (folder / ".claude").mkdir(parents=True)
    unset = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"), "")
    user = Home(folder, runtime_dir, HOME=str(folder), SHELL="/bin/bash", **unset)
    del user.environ["MEMORY_SIDECAR_DATA_DIR"]
    user.environ["PATH"] = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    user.data_dir = folder / ".local/share/memory-sidecar"
    yield user
    user.end()
    shutil.rmtree(runtime_dir)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with a part of this one."""
    root = tmp_path / "origin"
    for part in PARTS:
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, root / part)
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "All")
    return root


def git(folder: Path, *words: object) -> None:
    subprocess.run(["git", *map(str, words)], cwd=folder, check=True, capture_output=True)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_new_user(user, origin):
    git(user.folder, "clone", "--quiet", origin, "project")
    project = user.folder / "project"
    cloned = files(user.folder)

    def told(*words: object, place: Path = project, status: int = 0) -> str:
        done = subprocess.run(
            [PROGRAM, *map(str, words)], cwd=place, env=user.environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout

    assert "`memory-sidecar" in told("--help")
    told("search", "anything", status=3)  # nothing is indexed, which it says
    indexed = json.loads(told("index", ".", "--wait", "keyword"))
    assert indexed["files_total"] > 40
    assert indexed["files_failed"] == []
    for question, answer in QUESTIONS.items():
        hits = json.loads(told("search", question, "-n", "3", "--json"))
        assert answer in [hit["filename"] for hit in hits], question
    assert told("search", "parse_frontmatter", "--files").startswith("memory_sidecar/disk/")
    assert "indexed" in told("why", "README.md")

    stored = json.loads(told("store", "Totals are cents, not euros", "--category", "pitfall"))
    assert (stored["created"], stored["project"]) == (True, "project")
    (remembered,) = json.loads(told("query", "what unit do totals have", "--json"))
    assert remembered["content"] == "Totals are cents, not euros"
    assert told("get", "pit") == "Totals are cents, not euros\n"

    assert "MCP server" in told("setup", "--dry-run")
    assert files(user.folder / ".claude") == set()
    told("setup", "--yes")
    servers = json.loads((user.folder / ".claude.json").read_text())["mcpServers"]
    assert servers["memory-sidecar"]["args"] == ["mcp"]
    assert "hooks" in json.loads((user.folder / ".claude/settings.json").read_text())
    told("setup", "--undo", "--yes")
    assert files(user.folder / ".claude") == set()

    told("completion", "install")
    told("setup", "--yes")
    assert str(user.data_dir) in told("daemon", "list")
    told("uninstall", "--yes", "--data")
    assert files(user.folder) == cloned
    assert json.loads(told("daemon", "list", "--json")) == []
    assert not any(user.runtime_dir.iterdir())
    assert {path.name for path in user.folder.iterdir()} <= {
        *("project", ".claude", ".local", ".config"),
    }
