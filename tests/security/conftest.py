"""A user with a home of their own, and the clone that they open in it."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.home import Done, Home
from tests.security.hostile_clone import Outside, build, fingerprint

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # Unix sockets, pipes and links

MAX_ADDRESSES = 6 << 30  # a process that reads an endless file meets this, not the machine's end
PRIVATE = "do-not-pass-on"


@dataclass
class Scene:
    """A clone, what lies outside of it, and a user who opens it."""

    user: Home
    clone: Path
    outside: Outside
    before: dict[str, str]  # of what lies outside
    clone_before: dict[str, str]

    def call(self, *arguments: object, stdin: str | None = None, **environment: str) -> Done:
        """Run a command in the clone; it must end, and say what it means in its own words."""
        done = self.user.call(*arguments, stdin=stdin, **environment)
        assert done.returncode in range(6), (arguments, done)
        for said in ("internal error", "Traceback"):
            assert said not in done.stderr, (arguments, done.stderr)
        self.look(arguments)
        return done

    def look(self, doing: object) -> None:
        """That nothing has been harmed, by `doing` it or before."""
        assert not self.outside.canary.exists(), (doing, self.outside.canary.read_text())
        assert fingerprint(self.outside.folder) == self.before, doing
        assert not self.outside.was_contacted(), doing


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    short = Path(tempfile.mkdtemp(dir="/tmp"))  # for sockets
    folder = tmp_path / "user"
    folder.mkdir()
    outside = Outside(short / "outside")
    outside.folder.mkdir()
    build(folder / "clone", outside)
    (short / "run").mkdir(mode=0o700)
    own = {
        "HOME": str(folder),
        "PATH": f".:{Home(folder, short).environ['PATH']}:",
        "PRIVATE_KEY": PRIVATE,
        "MEMORY_SIDECAR_DATA_DIR": "",
        "MEMORY_SIDECAR_NO_DAEMON": "",
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / ".local"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }
    user = Home(folder / "clone", short / "run", **own)
    user.data_dir = folder / ".local" / "memory-sidecar"
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESSES, limits[1]))
    try:
        yield Scene(
            user, user.folder, outside, fingerprint(outside.folder), fingerprint(user.folder)
        )
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        user.end()
        outside.close()
        shutil.rmtree(short)
