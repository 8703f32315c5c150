"""A user with a home of their own, and the clone that they open in it."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.home import Done, Home
from tests.security.hostile_clone import Outside, build, fingerprint

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # Unix sockets, pipes and links

MAX_ADDRESSES = 6 << 30  # a process that reads an endless file meets this, not the machine's end
PRIVATE = "do-not-pass-on"


@dataclass(repr=False)
class Scene:
    """A clone, what lies outside of it, and a user who opens it."""

    user: Home
    clone: Path
    outside: Outside
    before: dict[str, str]  # of what lies outside
    clone_before: dict[str, str]
    harm: list[str] = field(default_factory=list)  # what was seen, all of it

    def call(self, *arguments: object, stdin: str | None = None, **environment: str) -> Done:
        """Run a command in the clone; it must end, and say what it means in its own words."""
        try:
            done = self.user.call(*arguments, stdin=stdin, **environment)
        except subprocess.TimeoutExpired:
            self.harm.append(f"{arguments}: hangs")
            return Done([], 0, "", "")
        if done.returncode not in range(6):
            self.harm.append(f"{arguments}: ended with {done.returncode}: {done.stderr}")
        for said in ("internal error", "Traceback"):
            if said in done.stderr:
                self.harm.append(f"{arguments}: {done.stderr}")
        self.look(arguments)
        return done

    def look(self, doing: object) -> None:
        """Note what has been harmed by `doing` it."""
        now = fingerprint(self.outside.folder)
        changed = sorted(name for name, _ in now.items() ^ self.before.items())
        if changed:
            self.harm.append(f"{doing}: changed {', '.join(dict.fromkeys(changed))}")
            self.before = now
        if self.outside.canary.exists():
            self.harm.append(f"{doing}: ran {self.outside.canary.read_text()}")
            self.outside.canary.unlink()
        if self.outside.was_contacted():
            self.harm.append(f"{doing}: contacted a socket")


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
