"""One root's engine by itself: what it builds and writes, what it remembers, what it costs."""

from __future__ import annotations

import errno
import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory_sidecar.core.model import Document, Source, SourceFile
from memory_sidecar.index import engine as engine_module
from memory_sidecar.index.document import BuildError, Differences, skipped_document
from memory_sidecar.index.engine import DELETIONS_AT_ONCE, INLINE_FILES, DocumentChange, Engine

FILES = 300
MOST_THREADS = 30  # the engine's runtime has one for each processor, besides those that build


class Database:
    """Stands for what an engine writes to: the fingerprints that were committed, by path."""

    def __init__(self, folder: Path) -> None:
        self.rows: dict[str, str] = {}
        self.transactions: list[set[str]] = []
        self.on_write: Callable[[], None] = lambda: None
        self.broken: set[str] = set()  # paths that cannot be built
        self._folder = folder
        self._source = Source("many", folder)

    def build(self, file: SourceFile) -> Document:
        if file.path in self.broken:
            raise BuildError("no file that one could build")
        return skipped_document(self._source, file, str(file.mtime_ns), version="")

    def write(self, changes: Sequence[DocumentChange]) -> None:
        self.on_write()
        self.transactions.append({path for path, _ in changes})
        for path, document in changes:
            if document is None:
                self.rows.pop(path, None)
            else:
                self.rows[path] = document.fingerprint

    def open(self) -> Engine:
        self.engine = Engine(
            self._folder / "state",
            name="many",
            build=self.build,
            write=self.write,
            is_stopped=threading.Event(),
        )
        self.engine.start()
        return self.engine

    def apply(self, changed: Sequence[SourceFile] = (), gone: Sequence[str] = ()) -> None:
        """One batch, by an engine that is opened for it and closed."""
        engine = self.open()
        try:
            engine.apply(Differences(changed, gone), beat=lambda: None)
        finally:
            engine.close()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "one")


@pytest.fixture
def neighbour(tmp_path: Path) -> Database:
    """What another engine of the same process writes to."""
    return Database(tmp_path / "two")


def files(count: int, *, mtime_ns: int = 1) -> list[SourceFile]:
    return [SourceFile(f"m{n}.py", size=1, mtime_ns=mtime_ns, ctime_ns=1) for n in range(count)]


@pytest.mark.parametrize("count", [INLINE_FILES - 1, 5 * INLINE_FILES])
def test_what_changed_is_written_and_what_is_gone_is_removed(database, count):
    database.apply(files(count))
    assert set(database.rows) == {f"m{n}.py" for n in range(count)}
    before = dict(database.rows)
    database.apply(files(1, mtime_ns=2), gone=["m1.py"])
    assert set(before) - set(database.rows) == {"m1.py"}
    assert {path for path in database.rows if database.rows[path] != before[path]} == {"m0.py"}


@pytest.mark.parametrize("name", ["a", "ß", "\x01"])
def test_paths_of_any_length_are_written_and_stop_no_other(database, name):
    paths = [f"{name * 250}/{'d' * count}.py" for count in (1, 240, 250)] + ["a.py"]
    files = [SourceFile(path, size=1, mtime_ns=1, ctime_ns=1) for path in paths]
    database.apply(files)
    assert set(database.rows) == set(paths)
    written = len(database.transactions)
    database.apply(files)
    assert len(database.transactions) == written
    database.apply(gone=paths)
    assert "a.py" not in database.rows


def test_many_files_that_are_gone_share_transactions(database):
    many = files(5 * DELETIONS_AT_ONCE)
    database.apply(many)
    database.transactions.clear()
    database.apply(gone=[file.path for file in many])
    assert database.rows == {}
    assert len(database.transactions) < len(many)  # a quarter; more on a busy machine


def test_what_is_as_it_was_written_is_not_written_again(database):
    database.apply(files(3))
    written = len(database.transactions)
    database.apply(files(3))
    assert len(database.transactions) == written


def test_a_file_that_cannot_be_built_keeps_its_row_and_stops_no_other(database):
    database.apply(files(3))
    before = dict(database.rows)
    database.broken = {"m1.py"}
    database.apply(files(3, mtime_ns=2))
    assert {path for path in before if database.rows[path] == before[path]} == {"m1.py"}


def test_what_the_writer_raises_is_raised_and_written_the_next_time(database):
    def fail() -> None:
        raise OSError(28, "no space left on device")

    database.on_write = fail
    with pytest.raises(OSError, match="no space left"):
        database.apply(files(3))
    assert database.rows == {}
    database.on_write = lambda: None
    database.apply(files(3))
    assert len(database.rows) == 3


def test_a_write_does_not_wait_for_that_of_another_engine(database, neighbour):
    may_end, is_writing = threading.Event(), threading.Event()

    def write_slowly() -> None:
        is_writing.set()
        may_end.wait(60)

    database.on_write = write_slowly
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(database.apply, files(5 * INLINE_FILES))
        assert is_writing.wait(60)
        neighbour.apply(files(5 * INLINE_FILES))
        assert not slow.done()
        may_end.set()
        slow.result(60)
    assert len(database.rows) == len(neighbour.rows) == 5 * INLINE_FILES


def test_an_engine_that_failed_while_it_wrote_holds_up_no_other(database, neighbour, monkeypatch):
    monkeypatch.setattr(engine_module, "FAILED_PATIENCE_S", 0.05)
    many = files(5 * INLINE_FILES)
    gone = [file.path for file in many]
    database.apply(many)
    neighbour.apply(many)

    def lose_the_state() -> None:
        database.on_write = lambda: None
        database.engine._on_error(OSError(5, "input/output error"), None)
        while not database.engine._root.writer._shutdown:  # until it is being closed
            time.sleep(0.01)

    database.on_write = lose_the_state
    with pytest.raises(OSError):
        database.apply(gone=gone)
    with ThreadPoolExecutor() as pool:
        pool.submit(neighbour.apply, gone=gone).result(60)
    assert neighbour.rows == {}


def test_an_error_after_the_last_batch_is_not_printed(database, caplog):
    engine = database.open()
    engine._on_error(RuntimeError("the disk fails"), None)
    engine.close()
    del engine, database.engine
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_what_cocoindex_drops_where_an_engine_fails_is_not_printed():
    code = (
        "import warnings, memory_sidecar.index.nice_cocoindex\n"
        "for name in ('ComponentContext.resolve_exception_handler', 'ours'):\n"
        "    warnings.warn(f\"coroutine '{name}' was never awaited\", RuntimeWarning)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'ours' was never awaited" in done.stderr
    assert "ComponentContext" not in done.stderr.replace("warnings.warn", "")


def test_a_wake_up_that_the_system_refuses_stops_no_engine(database, monkeypatch):
    monkeypatch.setattr("memory_sidecar.index.engine.TICK_S", 0.02)
    engine = database.open()
    waking = engine._loop._csock

    class Refusing:
        def send(self, _: bytes) -> int:
            raise OSError(errno.ENOBUFS, "no buffer space available")

        def close(self) -> None:
            waking.close()

    monkeypatch.setattr(engine._loop, "_csock", Refusing())
    engine.apply(Differences(files(1), gone=()), beat=lambda: None)
    engine.close()
    assert set(database.rows) == {"m0.py"}


def test_engines_that_ended_do_not_pile_up(database):
    roots = []
    for mtime_ns in range(1, 6):
        database.apply(files(3, mtime_ns=mtime_ns))
        roots.append(weakref.ref(database.engine._environment))
    del database.engine
    deadline = time.monotonic() + 60
    # CocoIndex's own threads let go of an engine a moment later; one may hold the last it served.
    while (alive := sum(root() is not None for root in roots)) > 1 and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert alive <= 1


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_a_long_batch_takes_few_threads(database):
    threads: list[int] = []
    database.on_write = lambda: threads.append(count_threads())
    before = count_threads()
    database.apply(files(FILES))
    assert len(database.rows) == FILES
    assert max(threads) - before <= MOST_THREADS


def count_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))
