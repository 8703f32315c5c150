from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that the developer's own global excludes decide nothing."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty source that is no repository."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def write(root: Path) -> Callable[..., None]:
    """`write("a/b.py", "a/c.py", text="…")` makes files below the source."""

    def write(*paths: str, text: str = "x = 1\n") -> None:
        for path in paths:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def git(root: Path) -> Callable[..., str]:
    """Runs git in the source, or in `cwd`, and returns what it prints."""

    def git(*arguments: str, cwd: Path = root) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout

    return git


@pytest.fixture
def locked_root() -> Iterator[Path]:
    """An empty source, for a test that runs as a user whom permissions bind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)  # pytest's own folders let nobody else in
        try:
            yield folder
        finally:
            os.seteuid(os.getuid())
            for directory in (folder, *folder.rglob("*")):
                if directory.is_dir() and not directory.is_symlink():
                    directory.chmod(0o755)


@pytest.fixture
def drop_privileges() -> Callable[[], None]:
    """Stop being root, if we are, until the end of the test."""

    def drop() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)

    return drop
