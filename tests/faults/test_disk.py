"""A disk that is full or may not be written: an error, nothing lost, and the next run ends."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import CannotWrite, DiskFull, StoreReadOnly
from memory_sidecar.core.sqlite import connect, named_errors
from memory_sidecar.index.report import SourceState

NO_CONFIG = {"XDG_CONFIG_HOME": os.devnull}  # that of a test lies where nobody else may look


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own: `resize(mount, kib)` makes it larger or smaller."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("mounting needs more rights")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def resize(mount: Path, kib: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kib}k", mount], check=True)


def fill(mount: Path, *, but_kib: int) -> Path:
    ballast = mount / "ballast"
    with ballast.open("wb") as file:
        file.write(b"\0" * (shutil.disk_usage(mount).free - but_kib * 1024))
    return ballast


def write_modules(root: Path, verb: str, *, functions: int) -> None:
    """120 modules; what they need in an index grows with the number of functions in each."""
    for number in range(120):
        bodies = [
            "\n".join(f"    value_{n} = {verb}_{number}_{at}_{n}(value)" for n in range(60))
            for at in range(functions)
        ]
        text = "\n".join(f"def function_{number}(value):\n{body}\n" for body in bodies)
        (root / f"m{number:03}.py").write_text(text)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Enough to fill a few megabytes with."""
    root = tmp_path / "source"
    root.mkdir()
    write_modules(root, "compute", functions=1)
    return root


@pytest.mark.parametrize("kib", [16, 64, 200, 600])
def test_a_disk_that_fills_up_is_named_and_the_next_run_ends(run, mount, source, kib):
    resize(mount, kib)
    index = ("index", source, "--wait", "keyword", "--db", mount / "codebase.sqlite")
    failed = run(*index)
    assert (failed.status, failed.error["code"]) == (1, "disk_full")
    assert "free some space" in failed.error["hint"]
    resize(mount, 65536)
    done = run(*index)
    assert (done.status, done.json["files_failed"]) == (0, [])
    hits = run("search", "function_77", "--db", mount / "codebase.sqlite", "--json").json
    assert hits[0]["filename"] == "m077.py"


def test_what_was_there_survives_a_full_disk(run, mount, source):
    db = mount / "codebase.sqlite"
    assert run("index", source, "--wait", "keyword", "--db", db).status == 0
    ballast = fill(mount, but_kib=40)
    write_modules(source, "calculate", functions=5)  # a log emptied before has room for one
    failed = run("index", source, "--wait", "keyword", "--db", db)
    assert (failed.status, failed.error["code"]) == (1, "disk_full")
    assert len(run("search", "function_77", "--db", db, "--json").json) > 0
    ballast.unlink()
    done = run("index", source, "--wait", "keyword", "--db", db)
    assert done.status == 0
    for hit in run("search", "function_77", "--db", db, "--json").json:
        assert "calculate" in hit["code"]


def test_an_open_codebase_goes_on_once_there_is_room(make_codebase, mount, source, notices):
    codebase = make_codebase(data_dir=mount)
    codebase.index([source], reporter=notices, embed=False)
    ballast = fill(mount, but_kib=40)
    write_modules(source, "calculate", functions=5)
    with pytest.raises(DiskFull):
        codebase.index([source], reporter=notices, embed=False)
    ballast.unlink()
    report = codebase.index([source], reporter=notices, embed=False)
    assert report.files_failed == ()
    assert report.files_processed > 0


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder that may be looked into but not changed, by whoever runs the test from now on."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders let nobody else in
        folder = Path(name)
        folder.chmod(0o555)
        if os.geteuid() == 0:  # permissions do not bind root
            os.seteuid(65534)
        yield folder
        os.seteuid(os.getuid())
        folder.chmod(0o755)


def test_a_data_directory_that_may_not_be_written_is_named(run, locked):
    with tempfile.TemporaryDirectory() as source:
        index = ("index", source, "--db", locked / "codebase.sqlite")
        done = run(*index, cwd=locked, environ=NO_CONFIG)
    assert (done.status, done.error["code"]) == (1, "store_read_only")
    assert "--data-dir" in done.error["hint"]
    assert list(locked.iterdir()) == []


@pytest.fixture
def locked_index(run, project, known_vectors, data_dir) -> Iterator[Path]:
    """A data directory with `project` in it, where nothing may be changed from now on."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        data, source = top / "data", top / "project"
        shutil.copytree(data_dir, data)
        shutil.copytree(project, source)
        assert run("index", source, "--data-dir", data).status == 0
        top.chmod(0o755)
        everything = [data, *data.rglob("*")]
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        if os.geteuid() == 0:
            os.seteuid(65534)
        yield data
        os.seteuid(os.getuid())
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)
        found = run("search", "--all", "total_price", "--data-dir", data, "--json").json
        assert found[0]["filename"] == "shop/cart.py"


@pytest.mark.parametrize(
    "command", [("index",), ("reindex", "--all"), ("source", "remove", "project")], ids=" ".join
)
def test_an_index_that_may_not_be_written_is_left_as_it_is(run, locked_index, command):
    asked = (*command, "--data-dir", locked_index, "--json")
    done = run(*asked, cwd=locked_index, environ=NO_CONFIG)
    assert (done.status, done.error["code"]) == (1, "store_read_only")


def test_a_read_only_disk_answers_whatever_only_reads(run, mount):
    data = ("--data-dir", mount / "data")
    path = run("store", "Use one lock.", "--json", *data).json["path"]
    subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
    assert run("get", path, "--json", *data).json["content"] == "Use one lock."
    assert (
        run("query", "lock", "--no-rerank", "--json", *data).json[0]["content"] == "Use one lock."
    )
    for command in (("list",), ("recent",), ("status",), ("source", "list")):
        done = run(*command, "--json", *data)
        assert (done.status, done.err) == (0, "")  # as nothing has changed
    done = run("doctor", "--json", *data)
    faults = [each["text"] for each in done.json if not each["ok"]]
    assert (done.status, faults) == (1, [f"{mount / 'data'} cannot be written"])
    for writing in (("store", "More."), ("remove", path), ("move", path, "new/")):
        done = run(*writing, "--json", *data)
        assert (done.status, done.error["code"]) == (1, "store_read_only")
    assert run("get", path, "--json", *data).status == 0


def test_a_move_on_a_full_disk_is_told_as_done(run, mount):
    data = ("--data-dir", mount / "data", "--json")
    path = run("store", "Use one lock.", *data).json["path"]
    (mount / "data/knowledge/default/new").mkdir()
    with full(mount):
        done = run("move", path, "new/", *data)
        assert (done.status, done.json["path"]) == (0, f"new/{path}")
        assert "no longer count: no room left to write" in done.err
    assert [each["path"] for each in run("list", *data).json] == [f"new/{path}"]


@contextmanager
def small_files(limit_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond `limit_bytes`: SQLite says as of a used up quota."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_limit_of_file_sizes_is_not_told_as_a_failing_disk_alone(tmp_path):
    path = tmp_path / "x.sqlite"
    connection = connect(path)
    with small_files(1 << 14), pytest.raises(CannotWrite) as told, named_errors(path):
        connection.execute("CREATE TABLE t AS SELECT zeroblob(100000)")
    connection.close()
    assert "a quota or a limit of file sizes" in told.value.hint


def test_doctor_tries_to_write(run, data_dir):
    data_dir.mkdir()
    with small_files(0):  # which the permissions of the folder do not show
        done = run("doctor", "--json")
    (found,) = [each for each in done.json if each["check"] == "data directory"]
    assert (found["ok"], found["text"]) == (False, f"{data_dir} cannot be written")
    assert found["hint"].startswith("File too large; ")


def test_doctor_says_that_a_disk_is_full(run, mount):
    data = ("--data-dir", mount / "data")
    assert run("store", "Use one lock.", "--json", *data).status == 0
    ballast = fill(mount, but_kib=40)
    done = run("doctor", "--json", *data)
    faults = [each["text"] for each in done.json if not each["ok"]]
    assert (done.status, faults[0]) == (1, f"no room left to write {mount / 'data'}")
    ballast.unlink()
    assert run("doctor", *data).status == 0


def close(connection: apsw.Connection) -> None:
    connection.close()


def leave(connection: apsw.Connection) -> None:
    """As the kill of its process does."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


def leave_log_alone(connection: apsw.Connection) -> None:
    path = Path(connection.filename)
    leave(connection)
    path.with_name(path.name + "-shm").unlink()


@contextmanager
def full(mount: Path) -> Iterator[None]:
    ballast = fill(mount, but_kib=0)
    yield
    ballast.unlink()


@contextmanager
def read_only(mount: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", mount], check=True)


@pytest.mark.parametrize("without_room", [full, read_only])
@pytest.mark.parametrize("end", [close, leave, leave_log_alone])
def test_a_database_is_read_without_room_whatever_its_writer_left(mount, end, without_room):
    path = mount / "a.sqlite"
    writer = connect(path)
    writer.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    end(writer)
    with without_room(mount):
        readers = [connect(path, read_only=True) for _ in range(2)]
        for reader in readers:
            assert reader.execute("SELECT x FROM t").get == 1
        for reader in readers:
            reader.close()
    writer = connect(path)
    assert writer.execute("SELECT count(*) FROM t").get == 1
    writer.close()


@pytest.mark.parametrize("without_room", [full, read_only])
def test_a_store_goes_on_once_there_is_room(mount, without_room):
    path = mount / "codebase.sqlite"
    CodeStore(path, clock=lambda: 1).close()
    leave(connect(path))
    with without_room(mount):
        store = CodeStore(path, clock=lambda: 1)
        assert store.source_state("src") is None
        with pytest.raises((DiskFull, StoreReadOnly)):
            store.begin_source("src", root=mount, state_id="1")
    other = CodeStore(path, clock=lambda: 1)
    other.begin_source("src", root=mount, state_id="1")
    assert store.source_state("src") == SourceState(mount, "1", "", None)
    store.begin_source("src", root=mount, state_id="2")
    assert other.source_state("src") == SourceState(mount, "2", "", None)
    other.close()
    store.close()
