"""What one root's engine takes of the process while it applies a long batch."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_sidecar.core.model import SourceFile
from memory_sidecar.disk.registry import Source
from memory_sidecar.index.document import skipped_document
from memory_sidecar.index.engine import Change, Engine
from memory_sidecar.index.scan import Differences

FILES = 1000
MOST_THREADS = 30  # the engine's runtime has one for each processor, besides those that build


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_a_long_batch_takes_few_threads(tmp_path: Path) -> None:
    written: set[str] = set()
    threads: list[int] = []

    def write(changes: Sequence[Change]) -> None:
        written.update(path for path, _ in changes)
        threads.append(count_threads())

    source = Source("many", tmp_path)
    engine = Engine(
        tmp_path / "state",
        name="many",
        build=lambda file: skipped_document(source, file, "", version=""),
        write=write,
        threads=2,
        is_stopped=threading.Event(),
    )
    engine.start()
    before = count_threads()
    paths = [f"m{number}.py" for number in range(FILES)]
    changed = [SourceFile(path, size=1, mtime_ns=1, ctime_ns=1) for path in paths]
    try:
        engine.apply(Differences(changed, gone=()), beat=lambda: None)
    finally:
        engine.close()
    assert written == set(paths)
    assert max(threads) - before <= MOST_THREADS


def count_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))
