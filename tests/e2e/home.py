"""A data directory as a user sees it, with whatever daemon serves it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from typing import Any

from memory_sidecar.daemon.address import read_address
from memory_sidecar.daemon.lock import ProcessLock
from tests.waiting import eventually

PROGRAM = Path(sys.executable).with_name("memory-sidecar")
TIMEOUT_S = 60

Done = subprocess.CompletedProcess[str]


class Home:
    """One data directory, and calls that mean it."""

    def __init__(self, folder: Path, runtime_dir: Path, **environment: str) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.runtime_dir = runtime_dir
        of_agents = ("CLAUDE_", "CODEX_", "GEMINI_")  # which may name the caller's own settings
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MEMORY_SIDECAR_", "XDG_", *of_agents))
        }
        self.environ = {
            **inherited,
            "MEMORY_SIDECAR_DATA_DIR": str(self.data_dir),
            "XDG_RUNTIME_DIR": str(runtime_dir),
            "XDG_CONFIG_HOME": str(folder / "config"),
            **environment,
        }

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(PROGRAM), *map(str, arguments)],
            **{
                "cwd": self.folder,
                "env": self.environ,
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **options,
            },
        )

    def call(self, *arguments: object, stdin: str | None = None, **environment: str) -> Done:
        return subprocess.run(
            [str(PROGRAM), *map(str, arguments)],
            cwd=self.folder,
            env={**self.environ, **environment},
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def sources(self) -> list[str]:
        """The names of the sources, as the daemon lists them: a call that needs no model."""
        done = self.call("source", "list", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return [source["name"] for source in json.loads(done.stdout)]

    def add_source(self, name: str = "shop") -> Path:
        root = self.folder / name
        root.mkdir()
        (root / "cart.py").write_text("def total(prices):\n    return sum(prices)\n")
        assert self.call("source", "add", root).returncode == 0
        return root

    @property
    def is_served(self) -> bool:
        """Whether a daemon holds the lock."""
        lock = ProcessLock(str(self.data_dir / "state" / "daemon.lock"))
        try:
            return not lock.acquire()
        except OSError:  # there is no such folder
            return False
        finally:
            lock.release()

    @property
    def pid(self) -> int:
        return int(json.loads((self.data_dir / "state" / "daemon.json").read_text())["pid"])

    @property
    def log(self) -> str:
        return (self.data_dir / "state" / "daemon.log").read_text()

    def connect(self) -> socket.socket:
        """A raw connection to the daemon."""
        address = read_address(str(self.data_dir))
        assert address is not None
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(TIMEOUT_S)
        connected.connect(address.removeprefix("unix:"))
        return connected

    def signal(self, number: Signals) -> None:
        """Send `number` to the daemon and wait until it has ended."""
        os.kill(self.pid, number)
        self.wait_until_free()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Have the lock of the daemon, as one that neither answers nor says who it is."""
        lock = ProcessLock(str(self.data_dir / "state" / "daemon.lock"))
        assert lock.acquire()
        yield
        lock.release()

    def wait_until_served(self, daemon: subprocess.Popen[str]) -> None:
        """Wait until `daemon`, which was just started, can be found."""
        while not (self.data_dir / "state" / "daemon.json").exists():
            assert daemon.poll() is None
            time.sleep(0.01)

    def wait_until_free(self) -> None:
        eventually(lambda: not self.is_served)

    def wait_for_requests(self, count: int) -> None:
        """Wait until the daemon's journal holds so many requests that are being answered."""

        def are_answered() -> bool:
            content = (self.data_dir / "state" / "requests").read_bytes()
            slots = [content[at : at + 16] for at in range(0, len(content), 16)]
            return sum(map(any, slots)) == count

        eventually(are_answered)

    def run_python(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        """Another build: a process that runs `code` on this data directory."""
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments], env=self.environ, text=True, cwd=self.folder
        )

    def end(self) -> None:
        if self.is_served:
            self.signal(signal.SIGKILL)
