"""A data directory with its daemon, used as a host does: by processes and the socket."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from memory_sidecar.daemon.link import Link, reach

PROGRAM = Path(sys.executable).with_name("memory-sidecar")
STOP_TIMEOUT_S = 120.0  # a daemon takes its time while the machine is busy


class Served:
    """Calls to one data directory; the first call starts its daemon."""

    def __init__(self, data_dir: Path, runtime_dir: Path, **environ: str) -> None:
        self.data_dir = data_dir
        inherited = {n: v for n, v in os.environ.items() if not n.startswith("MEMORY_SIDECAR_")}
        self.environ = inherited | {
            "MEMORY_SIDECAR_DATA_DIR": str(data_dir),
            "XDG_RUNTIME_DIR": str(runtime_dir),
            **environ,
        }

    def call(self, *arguments: str | Path) -> float:
        """Run `memory-sidecar ARGUMENTS`; return the seconds from start to exit."""
        command = [str(PROGRAM), *map(str, arguments)]
        started = time.perf_counter()
        subprocess.run(
            command, env=self.environ, cwd=self.data_dir.parent, capture_output=True, check=True
        )
        return time.perf_counter() - started

    def begin(self, *arguments: str | Path) -> subprocess.Popen[bytes]:
        """Start `memory-sidecar ARGUMENTS` without waiting for it."""
        return subprocess.Popen(
            [str(PROGRAM), *map(str, arguments)],
            env=self.environ,
            cwd=self.data_dir.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, *arguments: str) -> Any:  # noqa: ANN401  whatever it prints
        """The parsed answer of the running daemon, asked over its socket."""
        link = self.link()
        try:
            link.send(
                {
                    "type": "run",
                    "arguments": [*arguments, "--json"],
                    "cwd": str(self.data_dir.parent),
                    "environ": {"MEMORY_SIDECAR_DATA_DIR": str(self.data_dir)},
                }
            )
            out, err = [], []
            while (frame := link.receive()) is not None:
                match frame["type"]:
                    case "out":
                        out.append(frame["text"])
                    case "err":
                        err.append(frame["text"])
                    case "exit" if frame["status"] == 0:
                        return json.loads("".join(out))
                    case other:
                        raise RuntimeError(f"{' '.join(arguments)}: {other} {''.join(err)}")
            raise RuntimeError(f"{' '.join(arguments)}: the daemon hung up")
        finally:
            link.close()

    def link(self) -> Link:
        link = reach(str(self.data_dir), self.environ)
        if link is None:
            raise RuntimeError("no daemon runs")
        return link

    def ask_ms(self, *arguments: str) -> float:
        """Milliseconds until the answer, including the connection."""
        started = time.perf_counter()
        self.ask(*arguments)
        return 1000 * (time.perf_counter() - started)

    @property
    def process(self) -> psutil.Process:
        """The daemon's process."""
        link = self.link()
        link.close()
        return psutil.Process(link.pid)

    @property
    def is_current(self) -> bool:
        """Whether every source is indexed as it is on disk, vectors included."""
        status = self.ask("status")
        live = [source["live"] for source in status["sources"]]
        return all(each and each["is_current"] for each in live) and not status["vectors_pending"]

    def start(self) -> float:
        """Start the daemon in the background; return the seconds until it answers."""
        started = time.perf_counter()
        self.call("source", "list")
        return time.perf_counter() - started

    def stop(self) -> None:
        """Stop the daemon. Raises RuntimeError if it still runs after STOP_TIMEOUT_S."""
        deadline = time.monotonic() + STOP_TIMEOUT_S
        command = [str(PROGRAM), "stop"]
        while (
            ended := subprocess.run(command, env=self.environ, capture_output=True, check=False)
        ).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError(ended.stderr.decode())
            time.sleep(0.1)


@contextmanager
def served(data_dir: Path, **environ: str) -> Iterator[Served]:
    """Serve `data_dir` for the length of the block, with a folder for the socket."""
    runtime_dir = Path(tempfile.mkdtemp(prefix="ms-"))  # short enough for a socket
    data_dir.mkdir(parents=True, exist_ok=True)
    each = Served(data_dir, runtime_dir, **environ)
    try:
        yield each
    finally:
        each.stop()
        shutil.rmtree(runtime_dir)
