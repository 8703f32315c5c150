"""Builds documents in other processes while there are many to build.

Parsing holds Python's lock, so a second thread gains nothing (4,634 chunks a second against
4,600), and contends for that lock with the one that writes. With processes the whole way is 1.9
times as fast on two cores (3,130 chunks a second over Django, 1,650 without). They also keep a
grammar that crashes on a file from taking this process with it. Where the system lets no process
start, this one builds.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import TypeAlias

import msgspec

from memory_sidecar.code.document import CodeDocument, build_document
from memory_sidecar.core.model import Document, Source, SourceFile
from memory_sidecar.core.process import EMBEDDING, lower_process_priority
from memory_sidecar.index.document import BuildCrashed, BuildError

if sys.platform != "win32":
    import fcntl

WORTH_PROCESSES = 200  # files for each; a process takes as long to start as 150 to build
MAX_PROCESSES = 4  # 80 MB each; the one that writes keeps no more than these busy
_GROUP = 16  # files sent to a process at once: a message costs as much as building a small one
_AHEAD = 3  # groups begun before they are asked for, for each process

_Built: TypeAlias = bytes | Document | BuildError
"""A document with rows as MessagePack: that is a fifth of the work of pickling it, here and there.
"""
_GroupResult: TypeAlias = dict[str, _Built]  # by path

_as_document = msgspec.msgpack.Decoder(CodeDocument)

_starting = threading.Lock()  # of the environment, while a process is started
_log = logging.getLogger(__name__)


class Workers:
    """Processes that build the documents of `files`. Used by several threads at once."""

    def __init__(
        self, source: Source, files: Sequence[SourceFile], *, max_file_bytes: int, processes: int
    ) -> None:
        self._source = source
        self._max_file_bytes = max_file_bytes
        self._processes = processes
        self._groups = [files[at : at + _GROUP] for at in range(0, len(files), _GROUP)]
        self._group_of = {file.path: at // _GROUP for at, file in enumerate(files)}
        self._built: dict[int, Future[_GroupResult]] = {}
        self._lock = threading.Lock()
        self._executor: ProcessPoolExecutor | None = None
        self._isolating = threading.Lock()
        self._isolated: ProcessPoolExecutor | None = None
        self._is_in_vain = False  # no process can be started
        self._begun(0)  # they start while this one opens CocoIndex

    def build(self, file: SourceFile) -> Document:
        """As `build_document`; raises BuildCrashed for a file that ended its process."""
        begun = self._begun(self._group_of[file.path])
        if begun is None:
            return build_document(self._source, file, self._max_file_bytes)
        try:
            built = begun.result().pop(file.path)
        except BrokenProcessPool:
            built = self._alone(file)
        if isinstance(built, BuildError):
            raise built
        return _as_document.decode(built) if isinstance(built, bytes) else built

    def close(self) -> None:
        for executor in (self._executor, self._isolated):
            if executor is not None:
                executor.shutdown(cancel_futures=True)

    def _begun(self, group: int) -> Future[_GroupResult] | None:
        """The work on a group; that on the next groups is begun, too, so that no process waits.

        `None` where no process can be started.
        """
        end = min(group + 1 + _AHEAD * self._processes, len(self._groups))
        with self._lock:
            try:
                for each in range(group, end):
                    if each not in self._built and not self._is_in_vain:
                        self._built[each] = self._begin(self._groups[each])
            except OSError as error:
                _log.warning("no process can be started, building in this one: %s", error)
                self._is_in_vain = True
            return None if self._is_in_vain else self._built[group]

    def _begin(self, files: Sequence[SourceFile]) -> Future[_GroupResult]:
        if self._executor is not None:
            with suppress(BrokenProcessPool):
                return self._send(self._executor, files)
        self._executor = _executor(self._processes)
        return self._send(self._executor, files)

    def _alone(self, file: SourceFile) -> _Built:
        """What comes of a file whose group was under way when a process crashed.

        The files of such a group are built one by one in a single process, which shows whose fault
        it was.
        """
        with self._isolating:
            if self._isolated is None:
                self._isolated = self._start_isolated()
            if self._is_in_vain:
                return _build_group(self._source, [file], self._max_file_bytes)[file.path]
            try:
                return self._send(self._isolated, [file]).result()[file.path]
            except BrokenProcessPool:
                self._isolated = None
                return BuildCrashed("crashed the chunker")

    def _start_isolated(self) -> ProcessPoolExecutor:
        executor = _executor(1)
        try:
            with _importing_nothing_from_here():
                started = executor.submit(os.getpid)
            started.result()
        except BrokenProcessPool:
            _log.warning("processes end as soon as they are started: building in this one")
            self._is_in_vain = True
        return executor

    def _send(
        self, executor: ProcessPoolExecutor, files: Sequence[SourceFile]
    ) -> Future[_GroupResult]:
        with _importing_nothing_from_here():
            return executor.submit(_build_group, self._source, files, self._max_file_bytes)


def _build_group(source: Source, files: Sequence[SourceFile], max_file_bytes: int) -> _GroupResult:
    built: _GroupResult = {}
    for file in files:
        try:
            document = build_document(source, file, max_file_bytes)
        except BuildError as error:
            built[file.path] = error
        else:
            has_rows = isinstance(document, CodeDocument)
            built[file.path] = msgspec.msgpack.encode(document) if has_rows else document
    return built


def _executor(processes: int) -> ProcessPoolExecutor:
    with _importing_nothing_from_here():
        return ProcessPoolExecutor(
            processes,
            # A fork would copy locks that other threads hold.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
        )


@contextmanager
def _importing_nothing_from_here() -> Iterator[None]:
    """Around whatever starts a process, as `submit` does.

    Python looks for modules in the working directory first, which may be the tree that is
    indexed: a `signal.py` there would be run.
    """
    with _starting:
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = before


def _begin_worker() -> None:
    """Leave interrupts to the parent, end when it ends, however it ends, and hold no exit up."""
    lower_process_priority(EMBEDDING)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    if sys.platform == "linux":
        _kill_at_end_of(parent.sentinel)
    threading.Thread(target=_end_at_end_of, args=(parent.sentinel,), daemon=True).start()


def _kill_at_end_of(pipe: int) -> None:
    """Have the system kill this process once no other holds an end of `pipe` to write to.

    A thread that waits for that ends nothing while another one holds Python's lock.
    """
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def _end_at_end_of(pipe: int) -> None:
    wait([pipe])
    os._exit(1)
