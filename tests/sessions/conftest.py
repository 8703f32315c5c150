"""Sessions as values, and where memvid is looked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.model import Session

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z
DAY_MS = 86_400_000


def session_of(**document: Any) -> Session:
    """The session that this document says."""
    known = {"session_id": "s", "created_at": "2026-03-01T09:12:00Z"}
    return read_session(known | document)


def said(*contents: str) -> list[dict[str, str]]:
    """Messages with these contents, of user and assistant in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(contents)]


MEMVID = "memvid-cli@2.0.151"


@pytest.fixture(scope="session")
def memvid_environ() -> Mapping[str, str]:
    """An environment with memvid on its PATH: the one that is there, else npm's."""
    if shutil.which("memvid"):
        return os.environ
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("neither memvid nor npm is on the PATH")
    cached = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cached / "memory-sidecar-tests" / MEMVID
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(dir=folder.parent))
        install = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", MEMVID]
        done = subprocess.run(install, cwd=made, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(made)
            pytest.skip(f"npm has no {MEMVID} for us: {done.stderr[-200:]}")
        try:
            made.rename(folder)
        except OSError:  # another worker was first
            shutil.rmtree(made)
    path = os.pathsep.join([str(folder / "node_modules" / ".bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path}
