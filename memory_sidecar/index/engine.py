"""The wrapper of CocoIndex: builds changed files and hands their documents to a writer.

Given a batch of changed files, the engine builds each and has it written, in as few transactions
as the writer's pace allows. CocoIndex remembers the fingerprint of each file's document, sends
again what was in flight when the process died, and skips a document whose fingerprint is written
already.

CocoIndex runs in live mode: a feed hands it batches until the engine is closed. Its own full scan
is not used, since comparing a manifest costs O(changes).
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import memory_sidecar.index.nice_cocoindex  # noqa: F401  before cocoindex

import cocoindex as coco  # isort: skip

from memory_sidecar.core.model import Document, SourceFile
from memory_sidecar.core.process import INDEXING, available_cores, lower_thread_priority
from memory_sidecar.index.document import BuildError, Differences
from memory_sidecar.index.engine_state import StateBroken, check_state, engine_key, is_unmade
from memory_sidecar.index.requests import BEAT_S

INLINE_FILES = 4  # no more are built in the engine's own thread: handing them over takes as long
BUILD_THREADS = 2 * min(available_cores(), 8)  # twice, as some wait for other processes
MAX_INFLIGHT_FILES = 256  # being built or waiting for the writer; the most in one transaction
DELETIONS_AT_ONCE = 8  # each waits in a thread for a sync of the state, which concurrent ones share
FAILED_PATIENCE_S = 2.0  # how long an engine that failed may take to end
TICK_S = 1.0  # wakes the loop: asyncio ignores a failure to send another thread's wake-up byte
_LMDB_BYTES = 1 << 30  # address space of the state, not disk: 300 bytes a file are used

_BROKEN = ("MDB_", "tracking info not found")  # how errors of LMDB and of its records begin
_OS_ERROR = re.compile(r"\(os error (\d+)\)")

T = TypeVar("T")
Argument = TypeVar("Argument")


DocumentChange = tuple[str, Document | None]
"""One change for the database: a path, and its new document, or None to delete its rows."""

Build = Callable[[SourceFile], Document]
"""Reads and builds one file; called from several threads. If it raises, the earlier rows of the
file stay."""

WriteAll = Callable[[Sequence[DocumentChange]], None]
"""Writes changes in one transaction. Called by one thread at a time; a crash may repeat a call."""


_Subscriber = coco.LiveMapSubscriber[coco.StableKey, SourceFile]


@dataclass(slots=True, eq=False)
class _Root:
    """The engine as CocoIndex and the functions below see it: its feed, and a context value."""

    build: Build
    write: WriteAll
    workers: ThreadPoolExecutor
    writer: ThreadPoolExecutor
    batches: asyncio.Queue[tuple[Differences, asyncio.Future[None]] | None]
    failed: asyncio.Future[None]  # holds the first error of the writer or of the state, if any
    is_stopped: threading.Event
    is_inline: bool = True  # whether the batch under way has few files

    async def run(
        self, pool: ThreadPoolExecutor, work: Callable[[Argument], T], argument: Argument
    ) -> T:
        """Run `work` in a thread of `pool`, or right here if the batch has few files."""
        if self.is_inline:
            return work(argument)
        return await asyncio.get_running_loop().run_in_executor(pool, work, argument)

    async def write_all(
        self, provider: coco.ContextProvider, changes: Sequence[DocumentChange]
    ) -> None:
        """Write changes, as a sink of CocoIndex, which gathers the next ones meanwhile.

        So transactions grow with load. CocoIndex calls a sink from one thread at a time: therefore
        each engine has one of its own.
        """
        del provider
        await self.run(self.writer, self.write, list(changes))

    async def watch(self, subscriber: _Subscriber) -> None:
        """Hand batches to CocoIndex until the queue yields `None`; implements `LiveMapFeed`."""
        await subscriber.mark_ready()
        while (next_batch := await self.batches.get()) is not None:
            batch, done = next_batch
            self.is_inline = len(batch) <= INLINE_FILES
            sending = asyncio.ensure_future(_send(subscriber, batch, self.is_stopped))
            await asyncio.wait((sending, self.failed), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                # Once the disk of its state has failed, CocoIndex never completes these calls.
                sending.cancel()
                return
            if not done.done():
                done.set_result(sending.result())


_Sink = coco.TargetActionSink[DocumentChange]

_ROOT: coco.ContextKey[_Root] = coco.ContextKey("memory_sidecar/root")
_SINK: coco.ContextKey[_Sink] = coco.ContextKey("memory_sidecar/sink")


class Engine:
    """The engine of one source, with a thread of its own from `start` to `close`.

    `state` is CocoIndex's folder; the caller makes sure that one engine at a time uses it. Once
    `is_stopped` is set, `apply` returns soon, and the remaining files keep their rows.
    """

    def __init__(
        self, state: Path, *, name: str, build: Build, write: WriteAll, is_stopped: threading.Event
    ) -> None:
        self._state = state
        self._loop = asyncio.new_event_loop()
        self._root = _Root(
            build=build,
            write=write,
            workers=ThreadPoolExecutor(BUILD_THREADS, thread_name_prefix="build"),
            writer=ThreadPoolExecutor(1, thread_name_prefix="write"),
            batches=asyncio.Queue(),
            failed=self._loop.create_future(),
            is_stopped=is_stopped,
        )
        self._thread = threading.Thread(target=self._run_loop, name=f"flow {name}")

    def start(self) -> None:
        """Open the state and start the thread. Raises StateBroken and OSError."""
        try:
            check_state(self._state)
        except BaseException:
            self._loop.close()
            raise
        self._thread.start()
        try:
            self._call(self._open())
        except BaseException:
            self._stop_thread()
            raise

    def apply(self, batch: Differences, *, beat: Callable[[], None]) -> None:
        """Bring the database in line with `batch`; returns when all of it is committed.

        Calls `beat` every BEAT_S from this thread, and gives up with what that raises. Raises what
        the writer raised, and OSError and StateBroken for the state; after that the engine can only
        be closed. Files that `build` failed on keep their rows. For a file that is gone, the writer
        is given its `engine_key` in place of its path.
        """
        self._call(self._apply(batch), beat=beat)

    def close(self) -> None:
        """Finish what is under way, then close the state and the thread."""
        try:
            self._call(self._finish())
        finally:
            self._stop_thread()

    def _run_loop(self) -> None:
        lower_thread_priority(INDEXING)  # inherited by all threads of CocoIndex and of ours
        self._tick()
        self._loop.run_forever()

    def _tick(self) -> None:
        self._loop.call_later(TICK_S, self._tick)

    def _stop_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(
        self, coroutine: Coroutine[Any, Any, T], *, beat: Callable[[], None] = lambda: None
    ) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            while not wait([future], timeout=BEAT_S).done:
                beat()
        except BaseException:
            future.cancel()
            raise
        try:
            return future.result()
        except RuntimeError as error:
            if (named := _named(error)) is error:
                raise  # from itself, it would be its own cause
            raise named from error

    async def _open(self) -> None:
        provider = coco.ContextProvider()
        provider.provide(_ROOT, self._root)
        provider.provide(_SINK, coco.TargetActionSink.from_async_fn(self._root.write_all))
        is_fresh = is_unmade(self._state)
        self._environment = coco.Environment(
            coco.Settings(db_path=self._state, lmdb_map_size=_LMDB_BYTES),
            context_provider=provider,
            exception_handler=self._on_error,
        )
        try:
            await self._begin(is_fresh=is_fresh)
        except BaseException:  # as on a full disk: left open, it keeps later engines from the state
            self._environment.close()
            raise

    async def _begin(self, *, is_fresh: bool) -> None:
        config = coco.AppConfig(
            name="files", environment=self._environment, max_inflight_components=MAX_INFLIGHT_FILES
        )
        app = coco.App(config, _main, self._root)
        if is_fresh:
            # The first run of an app ends by deleting every child that it did not mount itself,
            # so make that run an empty one.
            self._root.batches.put_nowait(None)
            await app.update(live=True).result()
        self._run = asyncio.ensure_future(app.update(live=True).result())

    async def _apply(self, batch: Differences) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._root.batches.put_nowait((batch, done))
        ends = (self._root.failed, self._run, done)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        next(end for end in ends if end.done()).result()

    async def _finish(self) -> None:
        self._root.batches.put_nowait(None)
        patience_s = FAILED_PATIENCE_S if self._root.failed.done() else None
        try:
            await asyncio.wait_for(self._run, patience_s)
        finally:
            self._root.workers.shutdown()
            self._root.writer.shutdown()
            await _end_others()
            self._environment.close()

    def _on_error(self, error: BaseException, context: object) -> None:
        del context
        if not isinstance(error, BuildError):
            self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: BaseException) -> None:
        if not self._root.failed.done():
            self._root.failed.set_exception(error)
            self._root.failed.exception()  # else asyncio prints it if no batch waits for it


async def _end_others() -> None:
    """Cancel the tasks that a failure left running in this event loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _named(error: RuntimeError) -> Exception:
    """Return the OSError or StateBroken that a CocoIndex error stands for, else `error` itself."""
    if number := _OS_ERROR.search(str(error)):
        return OSError(int(number[1]), str(error))
    return StateBroken(str(error)) if str(error).startswith(_BROKEN) else error


async def _send(subscriber: _Subscriber, batch: Differences, is_stopped: threading.Event) -> None:
    sent = []
    for at in range(0, len(batch.gone), DELETIONS_AT_ONCE):
        gone = batch.gone[at : at + DELETIONS_AT_ONCE]
        sent += await asyncio.gather(*map(subscriber.delete, map(engine_key, gone)))
    # One after the other: each awaited call keeps a thread of CocoIndex busy, and CocoIndex works
    # on everything sent concurrently anyway.
    for file in batch.changed:
        if is_stopped.is_set():
            break
        sent.append(await subscriber.update(engine_key(file.path), file))
    for each in sent:
        await each.ready()


@coco.fn
async def _main(feed: _Root) -> None:
    await coco.mount_each(coco.component_subpath(coco.Symbol("file")), _process_file, feed)


@coco.fn
async def _process_file(file: SourceFile) -> None:
    root = coco.use_context(_ROOT)
    document = await root.run(root.workers, root.build, file)
    desired = _Desired(document, coco.use_context(_SINK))
    coco.declare_target_state(_FILES.target_state(engine_key(file.path), desired))


def _remove_all(provider: coco.ContextProvider, changes: Sequence[DocumentChange]) -> None:
    """Write deletions; all engines share this sink, since `reconcile` gets none for a deletion.

    Not a coroutine: one whose event loop has ended would never return, and block all engines.
    """
    root = provider.get(_ROOT)
    root.writer.submit(root.write, list(changes)).result()


_REMOVING: _Sink = coco.TargetActionSink.from_fn(_remove_all)


class _Desired(NamedTuple):
    document: Document
    sink: _Sink


class _FileTarget(coco.TargetHandler[_Desired, str, None]):
    """Decides by fingerprints whether the document of a file has to be written."""

    def reconcile(
        self,
        key: coco.StableKey,
        desired: _Desired | coco.NonExistenceType,
        prev_possible_records: Collection[str],
        prev_may_be_missing: bool,
        /,
    ) -> coco.TargetReconcileOutput[DocumentChange, str] | None:
        if coco.is_non_existence(desired):
            if not prev_possible_records and not prev_may_be_missing:
                return None
            return coco.TargetReconcileOutput(
                action=(str(key), None), sink=_REMOVING, tracking_record=coco.NON_EXISTENCE
            )
        written = bool(prev_possible_records) and not prev_may_be_missing
        document, sink = desired
        if written and all(record == document.fingerprint for record in prev_possible_records):
            return None
        return coco.TargetReconcileOutput(
            action=(document.file.path, document), sink=sink, tracking_record=document.fingerprint
        )


_FILES = coco.register_root_target_states_provider("memory_sidecar/file", _FileTarget())
