"""Documents built in other processes are the same, and one that crashes them ends nothing else."""

from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
import sys
from contextlib import closing, suppress

import psutil
import pytest

from memory_sidecar.code import workers as module
from memory_sidecar.code.builder import MAX_PROCESSES, worth_processes
from memory_sidecar.code.document import build_document
from memory_sidecar.code.workers import (
    GROUP_BYTES,
    GROUP_FILES,
    Workers,
    grouped,
)
from memory_sidecar.core.model import Document, Source, SourceFile
from memory_sidecar.disk.walk import walk
from memory_sidecar.index.document import BuildCrashed, FileVanished
from tests.waiting import eventually

MAX_FILE_BYTES = 1 << 20
DEADLINE_S = 30.0


@pytest.fixture
def source(tmp_path):
    for number in range(40):
        (tmp_path / f"m{number:02}.py").write_text(f"def f{number}():\n    return {number}\n")
    return Source("s", tmp_path)


def files_of(source):
    return walk(source.root, max_file_bytes=MAX_FILE_BYTES).files


def running(source, files, *, processes):
    return closing(Workers(source, files, max_file_bytes=MAX_FILE_BYTES, processes=processes))


def has_semaphores() -> bool:
    """Whether processes can wait for each other: not in a container without /dev/shm."""
    try:
        multiprocessing.get_context("spawn").Lock()
    except OSError:
        return False
    return True


NEEDS_PROCESSES = pytest.mark.skipif(not has_semaphores(), reason="no semaphores: no processes")


def assert_built_as_here(source):
    files = files_of(source)
    with running(source, files, processes=2) as workers:
        for file in files:
            assert workers.build(file) == build_document(source, file, MAX_FILE_BYTES)


def test_processes_build_what_this_one_builds(source):
    assert_built_as_here(source)


def test_a_message_takes_many_small_files_or_few_large_ones():
    sizes = [10] * (GROUP_FILES + 1) + [GROUP_BYTES // 2] * 3 + [GROUP_BYTES * 2] * 2
    groups = grouped([SourceFile(f"{n}.py", size, 0, 0) for n, size in enumerate(sizes)])
    assert [len(group) for group in groups] == [GROUP_FILES, 2, 2, 1, 1]
    assert [file.path for group in groups for file in group] == [
        f"{n}.py" for n in range(len(sizes))
    ]


@pytest.mark.parametrize(
    ("count", "size", "processes"),
    [
        (0, 0, 0),
        (100, 1_000, 0),
        (10, 1 << 20, 0),
        (40, 1 << 20, 1),
        (300, 6_000, 1),
        (9_999, 10, 8),
    ],
)
def test_processes_are_worth_it_by_files_and_their_sizes(monkeypatch, count, size, processes):
    monkeypatch.setattr("memory_sidecar.code.builder.available_cores", lambda: 8)
    files = [SourceFile(f"{n}.py", size, 0, 0) for n in range(count)]
    assert worth_processes(files) == min(processes, MAX_PROCESSES)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux tells")
def test_there_are_no_more_processes_than_cores_that_may_be_used():
    """As in a container, or under `taskset`, whatever the machine has."""
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from memory_sidecar.code.builder import worth_processes
from memory_sidecar.core.model import SourceFile
print(worth_processes([SourceFile(f"{n}.py", 10, 0, 0) for n in range(9_999)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.split() == [b"1"]


def test_a_vanished_file_is_told_from_the_others(source):
    files = files_of(source)
    (source.root / "m05.py").unlink()
    with running(source, files, processes=1) as workers:
        with pytest.raises(FileVanished):
            workers.build(files[5])
        assert workers.build(files[6]).embedded_texts


def die_on_m07(source, file, max_file_bytes) -> Document:
    if file.path == "m07.py":
        os._exit(139)
    return build_document(source, file, max_file_bytes)


def build_group_that_dies(source, files, max_file_bytes):
    return {file.path: die_on_m07(source, file, max_file_bytes) for file in files}


@NEEDS_PROCESSES
def test_only_the_file_that_ends_its_process_fails(source, monkeypatch):
    monkeypatch.setattr(module, "_build_group", build_group_that_dies)
    files = files_of(source)
    with running(source, files, processes=2) as workers:
        for file in files:
            if file.path == "m07.py":
                with pytest.raises(BuildCrashed):
                    workers.build(file)
            else:
                assert workers.build(file).file == file


def build_group_with_a_fault(source, files, max_file_bytes):
    if any(file.path == "m07.py" for file in files):
        raise ValueError("odd")
    return {file.path: build_document(source, file, max_file_bytes) for file in files}


def test_only_the_file_that_shows_a_fault_of_ours_fails(source, monkeypatch):
    monkeypatch.setattr(module, "_build_group", build_group_with_a_fault)
    files = files_of(source)
    with running(source, files, processes=2) as workers:
        for file in files:
            if file.path == "m07.py":
                with pytest.raises(ValueError, match="odd"):
                    workers.build(file)
            else:
                assert workers.build(file).file == file


def test_where_no_process_can_be_started_documents_are_built_here(source, monkeypatch, caplog):
    def refused(*_):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("multiprocessing.util.spawnv_passfds", refused)
    assert_built_as_here(source)
    assert "no process can be started" in caplog.text


def end_at_once() -> None:
    os._exit(1)


@NEEDS_PROCESSES
def test_without_processes_documents_are_built_here(source, monkeypatch, caplog):
    monkeypatch.setattr(module, "_init_worker", end_at_once)
    assert_built_as_here(source)
    assert [record.message for record in caplog.records] == [
        "processes end as soon as they are started: building in this one"
    ]


PARENT_OF_ONE_AT_WORK = """
import os, time
from memory_sidecar.code.builder import MAX_PROCESSES, worth_processes
from memory_sidecar.code.workers import _executor
executor = _executor(1)
print(executor.submit(os.getpid).result(), flush=True)
executor.submit(sum, range(10**15))  # without end, in C: no other thread gets Python's lock
time.sleep(3600)
"""


@NEEDS_PROCESSES
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread sees to it")
def test_a_process_ends_with_its_killed_parent_whatever_it_does():
    command = [sys.executable, "-c", PARENT_OF_ONE_AT_WORK]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout
            worker = psutil.Process(int(parent.stdout.readline()))
            started_s = worker.cpu_times().user
            eventually(lambda: worker.cpu_times().user > started_s + 0.2)
        finally:
            parent.kill()
    try:
        worker.wait(DEADLINE_S)  # raises where it goes on
    finally:
        with suppress(psutil.NoSuchProcess):
            worker.kill()
