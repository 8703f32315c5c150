"""The owner of a database by itself: real files and rows, a clock that the test sets, no daemon."""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.code.builder import CodeBuilder
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import DiskFull, NotFound, OutOfFiles
from memory_sidecar.core.model import Document, Source, SourceFile
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.disk.watch import EVERYTHING
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.embed import embed_pending, next_pending
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import DATABASE, FilesUnderWay
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import PassResult, ScanScope
from memory_sidecar.index.store_file import StoreFile
from memory_sidecar.index.watched import RESCAN_S, RULES_S, WORTH_SAYING, WatchedSource
from tests.conftest import HashEmbedder, HashModels, Notices
from tests.waiting import DEADLINE_S, eventually

if sys.platform != "win32":
    import resource


@pytest.fixture
def source(project: Path) -> Source:
    return Source("project", project)


@pytest.fixture
def file(data_dir: Path) -> Iterator[StoreFile[CodeStore]]:
    file = StoreFile(StorePaths(data_dir / "codebase.sqlite"), CodeStore, clock=system_clock)
    yield file
    file.close()


@pytest.fixture
def owner(data_dir, file, source, clock) -> Iterator[Owner[CodeStore]]:
    models = HashModels(data_dir / "embeddings.sqlite")
    owner = make_owner(file, source, models, clock)
    yield owner
    assert owner.close()
    models.close()


def do_all_that_is_due(owner, clock) -> None:
    def do_what_is_due() -> bool:
        owner.loop.begin()
        eventually(lambda: not owner.loop.is_running)
        return bool(owner.loop.due_s > clock.now_s)

    eventually(do_what_is_due)


def make_owner(file, source, models, clock) -> Owner[CodeStore]:
    return Owner(
        file,
        sources=lambda: [source],
        builder=lambda source: CodeBuilder(source, settings=Settings()),
        models=models,
        embed=embed_pending,
        now_s=clock,
    )


def watched_source(source, builder, clock) -> WatchedSource:
    return WatchedSource(
        source, builder, was_indexed=lambda: False, now_s=clock, on_due=lambda: None
    )


def ask(owner: Owner[CodeStore], work: Callable[[Reporter], Any], reporter: Any = None) -> Any:
    return owner.loop.ask(
        work, reporter or Silent(), urgency=Urgency.LONG, patience_s=0.0
    )  # fmt: skip


def test_a_pass_makes_rows_and_embedding_gives_them_vectors(owner, file, source):
    done = ask(owner, lambda said: owner.refresh(source, said))
    assert done.files_processed == done.files_total - 1  # a picture is left out
    assert done.chunks_indexed == len(next_pending(file.open(), 100))
    assert ask(owner, owner.embed) == done.chunks_indexed
    assert next_pending(file.open(), 100) == []
    again = ask(owner, lambda said: owner.refresh(source, said))
    assert (again.files_processed, again.chunks_indexed) == (0, 0)


def test_a_part_is_enough_only_after_the_whole_was_seen(owner, source):
    part = ScanScope(under=("shop/cart.py",))
    assert ask(owner, lambda said: owner.refresh(source, said, part)).files_total > 1
    assert ask(owner, lambda said: owner.refresh(source, said, part)).files_total == 1


def test_a_damaged_database_is_begun_anew_and_the_caller_is_told(owner, file, source):
    ask(owner, lambda said: owner.refresh(source, said))
    chunks = len(next_pending(file.open(), 100))
    file.close()
    size = file.path.stat().st_size
    file.path.write_bytes(file.path.read_bytes()[:4096] + b"\xff" * (size - 4096))
    notices = Notices()
    ask(owner, lambda said: owner.refresh(source, said, ScanScope(full=True)), notices)
    assert notices.has("rebuilding it")
    assert len(next_pending(file.open(), 100)) == chunks


def test_a_root_that_is_gone_is_an_error_and_its_rows_stay(owner, file, source):
    ask(owner, lambda said: owner.refresh(source, said))
    chunks = len(next_pending(file.open(), 100))
    source.root.rename(source.root.with_name("away"))
    with pytest.raises(NotFound):
        ask(owner, lambda said: owner.refresh(source, said))
    assert len(next_pending(file.open(), 100)) == chunks


@pytest.mark.parametrize(
    ("folder", "said"),
    [("vendor/data", " 20 of them lie in vendor/data/"), ("", "says how to leave folders out")],
)
def test_of_many_files_the_caller_is_told_where_they_lie(
    owner, source, monkeypatch, notices, folder, said
):
    monkeypatch.setattr("memory_sidecar.index.source.MANY_FILES", 20)
    for number in range(20):
        path = source.root / (folder or f"part{number}") / f"{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"part = {number}\n")
    ask(owner, lambda reporter: owner.refresh(source, reporter), notices)
    assert len(notices.said) == 1
    assert said in notices.said[0]
    (source.root / "more.py").write_text("more = 1\n")
    ask(owner, lambda reporter: owner.refresh(source, reporter, ScanScope(full=True)), notices)
    assert len(notices.said) == 1


def test_closing_ends_what_embeds_with_what_is_committed(owner, source):
    ask(owner, lambda said: owner.refresh(source, said))

    class Interrupting(Silent):
        def progress(self, stage: str, done: int, total: int) -> None:
            owner.stop()

    with pytest.raises(Stopped):
        ask(owner, lambda _: owner.embed(Interrupting()))
    assert owner.close()
    assert ask(owner, lambda said: owner.refresh(source, said)).files_processed == 0


def test_a_source_that_is_taken_away_ends_its_pass_and_is_why(owner, source, monkeypatch):
    build = CodeBuilder.build

    def build_removed(builder: CodeBuilder, file: SourceFile) -> Document:
        owner.unwatch(source.name)
        return build(builder, file)

    monkeypatch.setattr(CodeBuilder, "build", build_removed)
    with pytest.raises(Stopped, match="its source was removed or moved"):
        ask(owner, lambda said: owner.refresh(source, said))


def test_what_is_saved_while_a_caller_waits_for_vectors_is_found_before_the_last(
    owner, file, source, clock, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_TEXTS", 1)
    owner.loop.run_in_background(lambda: None)
    owner.watch(source)

    class Saving(Silent):
        def progress(self, stage: str, done: int, total: int) -> None:
            if done == 1:
                (source.root / "saved.py").write_text("def saved(): pass\n")
                clock.now_s += RESCAN_S
            elif done == 2:
                assert "saved.py" in file.open().paths(source.name)

    def work(said: Reporter) -> Any:  # one request, or vectors are made in the background meanwhile
        owner.refresh(source, said)
        return owner.embed(Saving())

    assert ask(owner, work) > 2
    assert next_pending(file.open(), 100) == []


def test_what_is_saved_is_found_while_vectors_are_made_of_what_came_after_they_were_begun(
    owner, file, source, clock, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_TEXTS", 1)
    owner.loop.run_in_background(lambda: None)
    owner.watch(source)
    first = 0

    class Saving(Silent):
        def progress(self, stage: str, done: int, total: int) -> None:
            assert done < total or next_pending(file.open(), 1) == []
            if done == 1:
                for number in range(5):
                    (source.root / f"more{number}.py").write_text(f"def more{number}(): pass\n")
                clock.now_s += RESCAN_S
            elif done == first + 1:
                (source.root / "saved.py").write_text("def saved(): pass\n")
                clock.now_s += RESCAN_S
            elif done == first + 2:
                assert "saved.py" in file.open().paths(source.name)

    def work(said: Reporter) -> Any:  # one request, as above
        nonlocal first
        first = owner.refresh(source, said).chunks_indexed
        return owner.embed(Saving())

    assert ask(owner, work) > first + 2


def test_requests_are_served_while_another_database_embeds(
    owner, data_dir, source, clock, monkeypatch
):
    ask(owner, lambda said: owner.refresh(source, said))
    owner.loop.run_in_background(lambda: None)
    file = StoreFile(StorePaths(data_dir / "other.sqlite"), CodeStore, clock=system_clock)
    other = make_owner(file, source, owner.models, clock)
    ask(other, lambda said: other.refresh(source, said))
    begun, may_end = threading.Event(), threading.Event()
    embed_passages = HashEmbedder.embed_passages

    def embed_slowly(embedder: HashEmbedder, texts: Sequence[str], **how: Any) -> Any:
        begun.set()
        assert may_end.wait(DEADLINE_S)
        return embed_passages(embedder, texts, **how)

    monkeypatch.setattr(HashEmbedder, "embed_passages", embed_slowly)
    with ThreadPoolExecutor() as pool:
        embedding = [pool.submit(ask, other, other.embed)]
        assert begun.wait(DEADLINE_S)
        embedding.append(pool.submit(ask, owner, owner.embed))
        eventually(lambda: owner.loop.is_running)
        served = owner.loop.ask_soon(lambda: "served", urgency=Urgency.SHORT, key="")
        with suppress(TimeoutError):
            served.result(DEADLINE_S)
        was_served = served.done()
        may_end.set()
        assert was_served
        assert all(each.result() > 0 for each in embedding)
    assert other.close()
    file.close()


def test_a_failure_is_over_as_soon_as_rows_are_written_again(owner, source):
    full, seen = DiskFull("no room left"), []

    class Watching(Silent):
        def progress(self, stage: str, done: int, total: int) -> None:
            seen.append(owner.activity.last_failure)

    for what, work in (
        (source.name, lambda _: owner.refresh(source, Watching())),
        (DATABASE, lambda _: owner.embed(Watching())),
    ):
        owner.note(full, what)
        assert owner.activity.last_failure.message.endswith("no room left")
        ask(owner, work)
        assert seen.pop() is None


def test_a_source_that_is_indexed_again_has_no_error_to_show(source, clock):
    builder = CodeBuilder(source, settings=Settings())
    watched = watched_source(source, builder, clock)
    watched.error = "no room left"
    assert watched.state(None).error == "no room left"
    assert watched.state(FilesUnderWay(1, 2, 0.0, None)).error == ""


def test_what_the_system_refused_is_told_without_its_number(source, clock):
    watched = watched_source(source, CodeBuilder(source, settings=Settings()), clock)

    def fail() -> PassResult:
        raise OSError(errno.EIO, "Input/output error", "/data/state_id")

    watched.begin(lambda: (), everything=True)
    with pytest.raises(OSError, match="Input/output error"):
        watched.record(fail, None, clock=system_clock)
    assert (
        watched.state(None).error == "/data/state_id cannot be read or written: Input/output error"
    )
    watched.close()


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ([f"heron{n}.py" for n in range(WORTH_SAYING)], "20 files are still to be indexed"),
        (["heron.py"], ""),
        ([""], "being rescanned"),
    ],
)
def test_until_changes_are_looked_at_files_are_shown_as_they_were(source, clock, paths, problem):
    builder = CodeBuilder(source, settings=Settings())
    watched = watched_source(source, builder, clock)
    outcome = PassResult((), 1, 1, 0, 0, 1, 0, (), builder.outer_state().partition(" ")[0])

    def look_at_them() -> PassResult:
        assert watched.state(None).problem == problem
        assert watched.state(FilesUnderWay(1, WORTH_SAYING, 0.0, None)).problem == ""
        return outcome

    watched.begin(lambda: (), everything=True)
    watched.record(lambda: outcome, None, clock=system_clock)
    for path in paths:
        watched._on_change(path)
    assert watched.state(None).problem == problem
    watched.begin(lambda: (), everything=False)
    watched.record(look_at_them, None, clock=system_clock)
    assert watched.state(None).problem == ""
    watched.close()


@pytest.mark.parametrize("error", [Stopped("ended early"), DiskFull("no room", hint="")])
def test_a_pass_does_not_make_good_what_failed_within_it(source, clock, error):
    builder = CodeBuilder(source, settings=Settings())
    watched = watched_source(source, builder, clock)
    outcome = PassResult((), 1, 1, 0, 0, 1, 0, (), builder.outer_state().partition(" ")[0])

    def fail() -> PassResult:
        raise error

    def run_around() -> PassResult:
        watched.begin(lambda: (), everything=False)
        with pytest.raises(type(error)):
            watched.record(fail, ["shop/cart.py"], clock=system_clock)
        return outcome

    watched.begin(lambda: (), everything=True)
    watched.record(run_around, None, clock=system_clock)
    assert watched.due_s < clock.now_s + RESCAN_S
    clock.now_s = watched.due_s
    assert watched.begin(lambda: (), everything=False) == EVERYTHING
    watched.record(lambda: outcome, None, clock=system_clock)
    assert watched.due_s == clock.now_s + RESCAN_S
    assert watched.state(None).error == ""
    watched.close()


def test_folders_new_to_the_watch_are_looked_at_before_anything_is_embedded(source, clock):
    builder = CodeBuilder(source, settings=Settings())
    watched = watched_source(source, builder, clock)
    rules = builder.outer_state().partition(" ")[0]
    outcome = PassResult(("", "shop"), 1, 1, 0, 0, 1, 0, (), rules)
    assert watched.begin(lambda: (), everything=True) == EVERYTHING
    watched.record(lambda: outcome, None, clock=system_clock)
    assert watched.due_s <= clock.now_s
    assert (watched.state(None).waiting, watched.state(None).is_current) == (0, False)
    assert watched.begin(lambda: (), everything=False) == {"shop"}
    assert (watched.state(None).waiting, watched.state(None).is_current) == (0, False)
    watched.record(lambda: outcome, ["shop"], clock=system_clock)
    assert watched.state(None).is_current
    watched.close()


def test_vectors_are_made_once_a_model_is_there(data_dir, file, source, clock):
    models = HashModels(data_dir / "embeddings.sqlite", version="")
    owner = make_owner(file, source, models, clock)
    owner.loop.run_in_background(lambda: None)
    owner.watch(source)
    do_all_that_is_due(owner, clock)
    failure = owner.activity.last_failure
    assert failure is not None
    assert failure.message == "no model here"
    assert len(next_pending(file.open(), 100)) > 1
    models.version = "1"
    clock.now_s += RESCAN_S
    do_all_that_is_due(owner, clock)
    assert next_pending(file.open(), 100) == []
    assert owner.close()
    models.close()


def test_vectors_that_are_asked_for_while_others_fail_are_made(
    data_dir, file, source, clock, monkeypatch
):
    models = HashModels(data_dir / "embeddings.sqlite", version="")
    owner = make_owner(file, source, models, clock)
    note = owner.note

    def note_and_ask(error: Exception, what: str) -> None:
        note(error, what)
        models.version = "1"
        owner.embed_soon()

    monkeypatch.setattr(owner, "note", note_and_ask)
    owner.loop.run_in_background(lambda: None)
    owner.watch(source)
    do_all_that_is_due(owner, clock)
    assert next_pending(file.open(), 100) == []
    assert owner.activity.last_failure is None
    assert owner.close()
    models.close()


@pytest.mark.skipif(sys.platform == "win32", reason="limits this process")
def test_a_pass_that_cannot_begin_is_begun_again(source, clock):
    builder = CodeBuilder(source, settings=Settings())
    watched = watched_source(source, builder, clock)
    outcome = PassResult((), 1, 1, 0, 0, 1, 0, (), builder.outer_state().partition(" ")[0])
    watched.begin(lambda: (), everything=False)
    watched.record(lambda: outcome, None, clock=system_clock)
    clock.now_s = watched.due_s
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(OutOfFiles):
            watched.begin(lambda: (), everything=False)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert watched.begin(lambda: (), everything=False) == EVERYTHING
    watched.record(lambda: outcome, None, clock=system_clock)
    assert watched.due_s == clock.now_s + RESCAN_S
    assert watched.state(None).is_current
    watched.close()


def test_without_a_watch_nothing_is_followed(owner, source):
    owner.watch(source)
    assert owner.states() == {}


def test_what_is_watched_is_due_at_once_and_again_after_a_rescan(owner, source, clock):
    owner.loop.run_in_background(lambda: None)
    owner.watch(source)
    assert owner.loop.due_s <= clock.now_s
    ask(owner, lambda said: owner.refresh(source, said))
    ask(owner, owner.embed)
    eventually(lambda: not owner.loop.is_running)  # else it does at once what becomes due
    (followed,) = owner.watched_sources()
    assert followed.due_s > clock.now_s
    clock.now_s += RESCAN_S
    assert followed.due_s <= clock.now_s
    owner.unwatch(source.name)
    assert owner.watched_sources() == []


def test_who_else_may_write_is_told_only_while_another_does(owner, file, data_dir):
    assert owner.loop.other_writer() == ""
    other = Owner(
        StoreFile(file.paths, CodeStore, clock=system_clock),
        sources=list,
        builder=lambda source: CodeBuilder(source, settings=Settings()),
        models=owner.models,
        embed=embed_pending,
    )
    assert ask(other, lambda _: owner.loop.other_writer()) != ""
    assert owner.loop.other_writer() == ""


def test_a_look_at_rules_that_takes_long_does_not_undo_a_later_one(source, clock):
    began, goes_on = threading.Event(), threading.Event()

    class SlowOnce(CodeBuilder):
        outside = "none"

        def outer_state(self) -> str:
            seen = self.outside
            if threading.current_thread().name == "slow":
                began.set()
                assert goes_on.wait(DEADLINE_S)
            return seen

    builder = SlowOnce(source, settings=Settings())
    watched = watched_source(source, builder, clock)

    def run_pass() -> None:
        watched.begin(lambda: (), everything=True)
        outcome = PassResult((), 1, 1, 0, 0, 1, 0, (), builder.outside)
        watched.record(lambda: outcome, None, clock=system_clock)

    run_pass()
    clock.now_s += RULES_S
    slow = threading.Thread(target=watched.poll, name="slow")
    slow.start()
    assert began.wait(DEADLINE_S)
    builder.outside = "some"
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(run_pass)
        wait([later], timeout=0.2)
        goes_on.set()
        slow.join()
        later.result()
    builder.outside = "none"
    clock.now_s += RULES_S
    watched.poll()
    assert watched.due_s < clock.now_s + RULES_S
    watched.close()
