"""A watched source follows its files: saved, moved, ignored, gone and back."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.code.breakdown import break_down
from memory_sidecar.code.builder import CodeBuilder
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.navigation import NameQuery, definitions
from memory_sidecar.code.snapshot import Snapshot
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import NotFound, PathRefused, SidecarError
from memory_sidecar.core.model import Document, FileStatus, Scan, SearchMode, Source, SourceFile
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.disk import watch
from memory_sidecar.disk.watch import Watch
from memory_sidecar.embedding.models import Models
from memory_sidecar.index import loop
from memory_sidecar.index.apply import Applier
from memory_sidecar.index.document import BuildError, Differences
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.scheduler import Scheduler
from memory_sidecar.index.source import PassResult, pass_over
from memory_sidecar.index.watched import DEBOUNCE_MS, WORTH_SAYING, WatchedSource
from tests.waiting import eventually

DEADLINE_S = 60.0
WITHOUT_MODEL = Settings(model_dir="/nowhere")
SLICE = 32  # files between which requests are served, instead of 512


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "cart.py").write_text("def total_of_cart(): return 0\n")
    return root


@pytest.fixture
def _three_slices(root):
    """Files that are there before the watch, which reports none of them."""
    for number in range(3 * SLICE):
        (root / "pkg" / f"h{number}.py").write_text("def heron(): pass\n")


@pytest.fixture
def codebase(tmp_path):
    models = Models(WITHOUT_MODEL, cache=tmp_path / "data" / "embeddings.sqlite")
    paths = StorePaths(tmp_path / "data" / "codebase.sqlite")
    codebase = Codebase(paths, settings=WITHOUT_MODEL, models=models, clock=system_clock)
    yield codebase
    codebase.close()
    models.close()


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch):
    monkeypatch.setattr("memory_sidecar.index.apply.SLICE_FILES", SLICE)


@pytest.fixture
def _quick_rules(monkeypatch):
    monkeypatch.setattr("memory_sidecar.index.watched.RULES_S", 0.05)


@pytest.fixture
def _rare_looks(monkeypatch):
    monkeypatch.setattr("memory_sidecar.index.watched.RULES_S", 3600.0)


@pytest.fixture
def live(codebase, root):
    codebase.index([root], reporter=Silent(), embed=False)
    scheduler = start_scheduler(codebase)
    eventually(lambda: [state.is_current for state in codebase.data.states().values()] == [True])
    yield codebase.data
    end(scheduler)


def start_scheduler(codebase: Codebase) -> Scheduler:
    scheduler = Scheduler()
    scheduler.add(codebase.data)
    scheduler.start()
    return scheduler


def end(scheduler: Scheduler) -> None:
    scheduler.close(until_s=time.monotonic() + DEADLINE_S)


def files_with(codebase: Codebase, word: str, reporter: Reporter | None = None) -> set[str]:
    query = CodeQuery(word, mode=SearchMode.KEYWORD)
    return {hit.filename for hit in codebase.search(query, reporter=reporter or Silent())}


def held_builds(
    monkeypatch: pytest.MonkeyPatch, is_held: Callable[[CodeBuilder, SourceFile], bool]
) -> tuple[threading.Event, threading.Event, list[str]]:
    """Hold the builds of the files for which `is_held`, from now on.

    Returns an event set once one has begun, one that lets them go on, and the paths built since.
    """
    begun, goes_on = threading.Event(), threading.Event()
    built = list[str]()
    build = CodeBuilder.build

    def build_slowly(builder: CodeBuilder, file: SourceFile) -> Document:
        if is_held(builder, file):
            begun.set()
            assert goes_on.wait(DEADLINE_S)
            built.append(file.path)
        return build(builder, file)

    monkeypatch.setattr(CodeBuilder, "build", build_slowly)
    return begun, goes_on, built


def test_a_save_is_found_without_a_call(codebase, live, root):
    (root / "pkg" / "new.py").write_text("def zebra(): pass\n")
    eventually(lambda: files_with(codebase, "zebra") == {"pkg/new.py"})


def test_a_database_whose_sources_cannot_be_read_holds_up_no_other(codebase, root, monkeypatch):
    codebase.index([root], reporter=Silent(), embed=False)
    other = Codebase(
        StorePaths(codebase.paths.db.with_name("other.sqlite")),
        settings=WITHOUT_MODEL,
        models=codebase.data.models,
        clock=system_clock,
    )

    def fail() -> list[Source]:
        raise ValueError("an error that no code expects")

    monkeypatch.setattr(other.data, "sources", fail)
    scheduler = Scheduler()
    scheduler.add(other.data)
    scheduler.add(codebase.data)
    scheduler.start()
    try:
        eventually(lambda: len(codebase.data.states()) == 1)
    finally:
        end(scheduler)
        other.close()


def test_a_change_replaces_what_was_there(codebase, live, root):
    (root / "pkg" / "cart.py").write_text("def okapi(): return 1\n")
    eventually(lambda: files_with(codebase, "okapi") == {"pkg/cart.py"})
    assert files_with(codebase, "total") == set()


def test_a_renamed_folder_moves_its_files(codebase, live, root):
    (root / "pkg").rename(root / "shop")
    eventually(lambda: files_with(codebase, "total") == {"shop/cart.py"})


def test_renamed_files_are_there_under_one_of_their_names_at_any_time(live, root, monkeypatch):
    build, write, seen = CodeBuilder.build, CodeStore.write, list[list[str]]()
    is_written = threading.Event()

    def build_tax_last(builder, file):
        if file.path == "shop/tax.py":
            is_written.wait(timeout=0.3)  # time enough to write the other file alone
        return build(builder, file)

    def write_and_look(store, documents, **rest):
        written = write(store, documents, **rest)
        seen.append(live.open().paths("project"))
        is_written.set()
        return written

    (root / "pkg" / "tax.py").write_text("RATE = 19\n")
    eventually(lambda: live.open().paths("project") == ["pkg/cart.py", "pkg/tax.py"])
    monkeypatch.setattr(CodeBuilder, "build", build_tax_last)
    monkeypatch.setattr(CodeStore, "write", write_and_look)
    (root / "pkg").rename(root / "shop")
    eventually(lambda: ["shop/cart.py", "shop/tax.py"] in seen)
    assert {len(paths) for paths in seen} == {2}


def test_a_file_in_a_new_folder_in_a_new_folder_is_found(codebase, live, root):
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "first.py").write_text("def tapir(): pass\n")
    eventually(lambda: files_with(codebase, "tapir") == {"a/b/first.py"})
    (deep / "second.py").write_text("def tapir(): return 2\n")
    eventually(lambda: files_with(codebase, "tapir") == {"a/b/first.py", "a/b/second.py"})


def test_what_becomes_ignored_leaves_and_comes_back(codebase, live, root):
    (root / ".gitignore").write_text("pkg/\n")
    eventually(lambda: not files_with(codebase, "total"))
    (root / ".gitignore").unlink()
    eventually(lambda: files_with(codebase, "total") == {"pkg/cart.py"})


@pytest.mark.usefixtures("_quick_rules")
def test_rules_of_the_repository_above_the_root_are_followed(codebase, live, root):
    above = root.parent
    (root / "other.py").touch()
    subprocess.run(["git", "init", "-q", above], check=True)
    for rules in (above / ".gitignore", above / ".git" / "info" / "exclude"):
        rules.write_text("pkg/\n")
        eventually(lambda: not files_with(codebase, "total"))
        rules.unlink()
        eventually(lambda: files_with(codebase, "total") == {"pkg/cart.py"})


@pytest.mark.usefixtures("_quick_rules")
def test_a_folder_of_sources_is_indexed_once_git_tracks_files_in_it(codebase, live, root):
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    (root / "bin").mkdir()
    (root / "bin" / "run.py").write_text("def tapir(): pass\n")
    (root / "other.py").write_text("def other(): pass\n")
    eventually(lambda: files_with(codebase, "other") == {"other.py"})
    assert not files_with(codebase, "tapir")
    subprocess.run([*git, "add", "bin"], check=True)
    eventually(lambda: files_with(codebase, "tapir") == {"bin/run.py"})
    subprocess.run([*git, "rm", "-q", "--cached", "-r", "bin"], check=True)
    eventually(lambda: not files_with(codebase, "tapir"))


@pytest.mark.usefixtures("_rare_looks")
def test_a_save_by_rules_that_held_only_for_a_moment_leaves_again(codebase, live, root):
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    (root / "bin").mkdir()
    (root / "bin" / "run.py").write_text("def run(): pass\n")
    subprocess.run([*git, "add", "bin"], check=True)
    (root / "bin" / "new.py").write_text("def tapir(): pass\n")
    (root / "look.py").touch()  # as `bin` was not watched before it was added
    eventually(lambda: files_with(codebase, "tapir") == {"bin/new.py"})
    eventually(lambda: [state.is_current for state in live.states().values()] == [True])
    subprocess.run([*git, "rm", "-q", "--cached", "-r", "bin"], check=True)
    (root / "other.py").write_text("def other(): pass\n")
    eventually(lambda: files_with(codebase, "other") == {"other.py"})
    assert not files_with(codebase, "tapir")


@pytest.mark.usefixtures("_rare_looks")
def test_rules_that_only_a_scan_has_seen_are_looked_at_again(codebase, live, root, monkeypatch):
    rules = root.parent / ".gitignore"
    subprocess.run(["git", "init", "-q", root.parent], check=True)
    apply, seen = Applier.apply, list[int]()

    def scan_by_other_rules(*arguments: Any) -> PassResult:
        if not seen:
            rules.write_text("pkg/\n")
        return pass_over(*arguments)

    def forget_rules(applier: Applier, found: Differences, scan: Scan, *more: Any, **how: Any):
        rules.unlink(missing_ok=True)
        seen.append(len(found.gone))
        apply(applier, found, scan, *more, **how)

    monkeypatch.setattr("memory_sidecar.index.owner.pass_over", scan_by_other_rules)
    monkeypatch.setattr(Applier, "apply", forget_rules)
    (root / "look.py").touch()
    eventually(lambda: len(seen) > 1)
    assert seen[0] == 1
    eventually(lambda: files_with(codebase, "total") == {"pkg/cart.py"})


@pytest.mark.usefixtures("_quick_rules")
def test_commits_that_change_no_file_are_followed(codebase, live, root):
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")

    def git(*arguments: str) -> None:
        subprocess.run(["git", *who, "-C", root, *arguments], check=True)

    def subjects() -> list[str]:
        with codebase.data.open().reading() as connection:
            return [subject for (subject,) in connection.execute("SELECT subject FROM commits")]

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "Sell tapirs")
    eventually(lambda: subjects() == ["Sell tapirs"])
    git("commit", "-q", "--amend", "-m", "Sell okapis")
    eventually(lambda: subjects() == ["Sell okapis"])


def test_an_answer_tells_of_many_files_that_are_still_to_be_indexed(
    codebase, live, root, monkeypatch, notices
):
    begun, goes_on, _ = held_builds(monkeypatch, lambda _, file: "heron" in file.path)
    new = root.with_name("new")
    new.mkdir()
    for number in range(WORTH_SAYING):
        (new / f"heron{number}.py").write_text("def heron(): pass\n")
    new.rename(root / "new")
    assert begun.wait(DEADLINE_S)
    eventually(lambda: live.owner.states()["project"].indexing)
    assert files_with(codebase, "total", notices) == {"pkg/cart.py"}
    assert notices.has(" files are still to be indexed: answering from what was indexed of")
    goes_on.set()
    eventually(lambda: files_with(codebase, "heron"))


@pytest.mark.usefixtures("_quick_rules")
def test_rules_above_the_root_that_change_during_a_pass_hold(codebase, live, root, monkeypatch):
    subprocess.run(["git", "init", "-q", root.parent], check=True)
    (root / "other.py").write_text("def other(): pass\n")
    eventually(lambda: files_with(codebase, "other") == {"other.py"})
    begun, goes_on, _ = held_builds(monkeypatch, lambda _, file: file.path == "slow.py")
    (root / "slow.py").write_text("def slow(): pass\n")
    codebase.data.owner.watched_sources()[0].rescan_soon()
    assert begun.wait(DEADLINE_S)
    (root.parent / ".gitignore").write_text("pkg/\n")
    watched = codebase.data.owner.watched_sources()[0]
    before = watched._outside
    eventually(lambda: watched._outside != before)
    goes_on.set()
    eventually(lambda: not files_with(codebase, "total"))


def test_a_failure_is_told_only_as_long_as_it_holds(make_codebase, root):
    codebase = make_codebase(model="")
    codebase.index([root], reporter=Silent())
    scheduler = start_scheduler(codebase)
    try:
        eventually(lambda: last_failure(codebase) == "no model here")
        codebase.data.models.version = "1"
        codebase.data.owner.embed_soon()
        eventually(lambda: last_failure(codebase) is None)
        root.rename(root.with_name("away"))
        eventually(lambda: f"{root} is not there" in (last_failure(codebase) or ""))
        root.with_name("away").rename(root)
        codebase.data.owner.watched_sources()[0].rescan_soon()
        eventually(lambda: last_failure(codebase) is None)
        root.rename(root.with_name("away"))
        eventually(lambda: last_failure(codebase) is not None)
        codebase.remove("project", reporter=Silent())
        assert last_failure(codebase) is None
    finally:
        end(scheduler)


def last_failure(codebase: Codebase) -> str | None:
    failure = codebase.data.owner.activity.last_failure
    return failure.message if failure else None


@pytest.mark.skipif(os.name != "posix", reason="needs FIFOs")
def test_rules_that_cannot_be_followed_are_said_and_stop_no_other_source(
    codebase, live, root, notices
):
    second = root.with_name("second")
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")
    os.mkfifo(second / ".gitignore")
    with pytest.raises(PathRefused):
        codebase.index([second], reporter=Silent())
    eventually(lambda: live.states()["second"].error != "")
    assert files_with(codebase, "total", notices) == {"pkg/cart.py"}
    assert notices.has("second cannot be indexed: ")
    (second / ".gitignore").unlink()
    live.owner.watched_sources()[-1].rescan_soon()
    eventually(lambda: files_with(codebase, "okapi") == {"a.py"})


def test_a_root_that_goes_away_keeps_its_index_and_is_followed_again(
    codebase, live, root, notices, caplog
):
    away = root.with_name("away")
    root.rename(away)
    eventually(lambda: live.states()["project"].error != "")
    assert files_with(codebase, "total", notices) == {"pkg/cart.py"}
    assert "is not there: answering from what was indexed of project" in notices.said[0]
    eventually(lambda: "project is not there" in caplog.text)
    assert "Traceback" not in caplog.text  # which is for what nobody expects
    away.rename(root)
    (root / "pkg" / "back.py").write_text("def walrus(): pass\n")
    eventually(lambda: files_with(codebase, "walrus") == {"pkg/back.py"})


def test_a_branch_switch_is_followed(codebase, live, root):
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    git("switch", "-qc", "other")
    for number in range(100):
        (root / "pkg" / f"m{number}.py").write_text(f"def gnu{number}(): pass  # herd\n")
    git("add", ".")
    git("commit", "-qm", "second")
    eventually(lambda: len(codebase.status().sources) == 1 and _count(codebase) == 101)
    git("switch", "-q", "main")
    eventually(lambda: _count(codebase) == 1)
    git("switch", "-q", "other")
    eventually(lambda: _count(codebase) == 101)


def test_the_barrier_covers_every_save_before_it(codebase, live, root):
    for number in range(20):
        (root / "pkg" / f"b{number}.py").write_text(f"def barrier{number}(): pass\n")
        codebase.wait_fresh((), 20_000, reporter=Silent())
        assert files_with(codebase, f"barrier{number}") == {f"pkg/b{number}.py"}


@pytest.mark.usefixtures("live")
def test_a_question_about_a_name_just_saved_waits_for_it(codebase, root):
    for name in ("adder", "bison", "crane"):
        (root / "pkg" / f"{name}.py").write_text(f"def {name}(): pass\n")
        eventually(partial(_is_saved_or_on_its_way, codebase, name))
        ask = partial(_definitions_of, name)
        assert codebase.navigate(CodeFilter(), ask, reporter=Silent()) == [f"pkg/{name}.py"]


def test_a_question_about_no_name_does_not_wait_for_a_source_that_is_not_asked_for(
    codebase, live, root, tmp_path, monkeypatch, notices
):
    other = tmp_path / "other"
    other.mkdir()
    codebase.index([other], reporter=Silent(), embed=False)
    begun, goes_on, _ = held_builds(monkeypatch, lambda _, file: file.path == "slow.py")
    (other / "slow.py").write_text("def slow(): pass\n")
    assert begun.wait(DEADLINE_S)
    with pytest.raises(NotFound):
        codebase.navigate(
            CodeFilter(sources=("project",)), partial(_definitions_of, "nowhere"), reporter=notices
        )
    goes_on.set()
    assert notices.said == []


def _is_saved_or_on_its_way(codebase: Codebase, name: str) -> bool:
    is_current = all(each.is_current for each in codebase.data.states().values())
    return not is_current or bool(files_with(codebase, name))


def _definitions_of(name: str, here: Snapshot) -> list[str]:
    return [hit.filename for hit in definitions(here.graph, NameQuery(what=name))]


def test_the_barrier_minds_no_source_that_is_not_asked_for(codebase, live, root, tmp_path, notices):
    (tmp_path / "gone").mkdir()
    codebase.index([tmp_path / "gone"], reporter=Silent(), embed=False)
    (tmp_path / "gone").rmdir()
    codebase.wait_fresh(["project"], 20_000, reporter=notices)
    assert notices.said == []
    codebase.wait_fresh((), 20_000, reporter=notices)
    assert notices.said == ["not everything is indexed yet: answering from what is"]


def is_due(live, name, path):
    """Whether the save of `path` in a source has settled, so that it is served between slices."""
    owner = live.owner
    (watched,) = (each for each in owner.watched_sources() if each.source.name == name)
    waiting = watched._gathering
    return not waiting._paths.isdisjoint({path, ""}) and waiting.due_s <= owner._now_s()


def test_a_source_that_is_indexed_is_watched_from_then_on(codebase, live, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def heron(): pass\n")
    codebase.index([second], reporter=Silent(), embed=False)
    (second / "b.py").write_text("def heron(): return 2\n")
    eventually(lambda: files_with(codebase, "heron") == {"a.py", "b.py"})
    codebase.remove("second", reporter=Silent())
    assert files_with(codebase, "heron") == set()
    assert list(live.states()) == ["project"]


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_source_that_another_process_registered_or_moved_is_followed_once_asked_for(
    codebase, live, root, tmp_path, is_moved
):
    others = Codebase(
        codebase.paths, settings=WITHOUT_MODEL, models=live.models, clock=system_clock
    )
    second = tmp_path / "second"
    if is_moved:
        root.rename(second)
        others.move("project", second, reporter=Silent())
    else:
        second.mkdir()
        others.index([second], reporter=Silent(), embed=False)
    files_with(codebase, "okapi")
    (second / "new.py").write_text("def okapi(): pass\n")
    eventually(lambda: files_with(codebase, "okapi") == {"new.py"})
    eventually(lambda: all(each.is_current for each in live.states().values()))
    others.close()


@pytest.mark.parametrize("is_same_source", [False, True])
def test_a_save_does_not_wait_for_a_long_pass(
    codebase, live, root, tmp_path, monkeypatch, is_same_source
):
    monkeypatch.setattr("memory_sidecar.index.apply.SLICE_FILES", SLICE)
    second = tmp_path / "second"
    second.mkdir()
    for number in range(2 * SLICE):
        (second / f"s{number}.py").write_text(f"def heron{number}(): pass\n")
    started, saved, looked = threading.Event(), threading.Event(), threading.Event()
    built, built_before = list[str](), list[int]()
    build = CodeBuilder.build

    def build_slowly(builder: CodeBuilder, file: SourceFile) -> Document:
        if file.path == "pkg/okapi.py":
            built_before.append(len(built))
        elif not file.path.startswith("pkg"):
            started.set()
            assert (looked if built_before else saved).wait(DEADLINE_S)
            built.append(file.path)
        return build(builder, file)

    monkeypatch.setattr(CodeBuilder, "build", build_slowly)
    if is_same_source:
        second.rename(root / "second")
    else:
        live.owner.watch(codebase.registry.add(second))
    assert started.wait(DEADLINE_S)
    if is_same_source:
        live.owner.watched_sources()[0].rescan_soon()  # which the pass over the save leaves alone
    paused_s = time.monotonic() + 2 * DEBOUNCE_MS / 1000  # a save follows a pause
    eventually(lambda: time.monotonic() > paused_s)
    (root / "pkg" / "okapi.py").write_text("def okapi(): pass\n")
    project = live.owner.watched_sources()[0]
    under_way = ["project" if is_same_source else "second"]
    eventually(lambda: project.due_during(under_way) <= time.monotonic())
    saved.set()
    eventually(lambda: files_with(codebase, "okapi") == {"pkg/okapi.py"})
    assert not is_same_source or not live.owner.states()["project"].is_current
    looked.set()
    eventually(lambda: live.owner.states()["project"].is_current)
    eventually(lambda: len(built) == 2 * SLICE)
    assert built_before[0] <= SLICE


@pytest.mark.parametrize("is_known", [False, True])
def test_after_a_restart_no_source_that_was_indexed_waits_for_what_another_has_missed(
    codebase, root, tmp_path, monkeypatch, is_known
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def heron(): pass\n")
    codebase.index([root, *([second] if is_known else [])], reporter=Silent(), embed=False)
    codebase.registry.add(second)
    for number in range(4 * SLICE):  # while nothing watches
        (root / "pkg" / f"s{number}.py").write_text(f"def heron{number}(): pass\n")
    (second / "a.py").write_text("def okapi(): pass\n")
    built = list[str]()
    build = CodeBuilder.build

    def note(builder: CodeBuilder, file: SourceFile) -> Document:
        built.append(file.path)
        return build(builder, file)

    monkeypatch.setattr(CodeBuilder, "build", note)
    scheduler = start_scheduler(codebase)
    eventually(lambda: codebase.data.states() and not codebase.data.unscanned())
    end(scheduler)
    assert len(built) == 4 * SLICE + 1
    assert (built.index("a.py") < 2 * SLICE) == is_known


@pytest.mark.parametrize("is_reached", [False, True])
def test_a_save_during_a_pass_over_its_file_keeps_its_times(
    codebase, live, root, monkeypatch, caplog, is_reached
):
    monkeypatch.setattr("memory_sidecar.index.apply.SLICE_FILES", 3)
    for number in range(9):
        (root / "pkg" / f"h{number}.py").write_text("def heron(): pass\n" * (number + 1))
    live.wait_fresh(patience_s=DEADLINE_S)
    saved = root / "pkg" / ("h0.py" if is_reached else "h8.py")  # the smallest is read first
    started, goes_on, _ = held_builds(monkeypatch, lambda _, file: "h2.py" in file.path)
    with ThreadPoolExecutor() as threads:
        indexing = threads.submit(codebase.index, [root], reporter=Silent(), embed=False, full=True)
        assert started.wait(DEADLINE_S)
        saved.write_text("def okapi(): pass\n")
        eventually(lambda: live.owner.states()["project"].waiting)
        goes_on.set()
        indexing.result(DEADLINE_S)
    eventually(lambda: live.owner.states()["project"].is_current)
    assert files_with(codebase, "okapi") == {f"pkg/{saved.name}"}
    status = saved.stat()
    known = live.open().manifest("project")[f"pkg/{saved.name}"].stamp
    assert known == (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    assert "were lost" not in caplog.text


@pytest.mark.usefixtures("_three_slices")
def test_a_save_does_not_wait_until_many_files_are_removed(live, root, monkeypatch):
    removed, removed_before = list[int](), list[int]()
    forget, build = Applier._forget, CodeBuilder.build

    def forget_and_save(
        applier: Applier, gone: Sequence[str], left_out: Sequence[SourceFile]
    ) -> None:
        forget(applier, gone, left_out)
        removed.append(len(gone))
        if len(removed) == 1:
            (watched,) = live.owner.watched_sources()
            before_s = watched._gathering._last_s  # a save follows a pause
            eventually(lambda: live.owner._now_s() - before_s > 2 * DEBOUNCE_MS / 1000)
            (root / "okapi.py").write_text("def okapi(): pass\n")
            eventually(lambda: is_due(live, "project", "okapi.py"))

    def note(builder: CodeBuilder, file: SourceFile) -> Document:
        removed_before.append(sum(removed))
        return build(builder, file)

    monkeypatch.setattr(Applier, "_forget", forget_and_save)
    monkeypatch.setattr(CodeBuilder, "build", note)
    (root / "pkg").rename(root.with_name("away"))
    eventually(lambda: live.owner.states()["project"].is_current and removed_before)
    assert removed_before == [SLICE]
    assert live.open().paths("project") == ["okapi.py"]


@pytest.mark.parametrize("is_first", [False, True])
def test_new_rules_do_not_wait_for_a_long_pass(codebase, live, root, monkeypatch, is_first):
    """They are saved at the root, and are about what the pass has still to do."""
    started, saved, built = held_builds(monkeypatch, lambda _, file: "heron" in file.path)
    new = root.with_name("new")
    (new / "kept").mkdir(parents=True)
    for number in range(4 * SLICE):
        (new / f"heron{number}.py").write_text(f"def heron{number}(): pass\n")
    if not is_first:
        new = new.rename(root / "new")
    else:
        live.owner.watch(codebase.registry.add(new))
    name = "new" if is_first else "project"
    assert started.wait(DEADLINE_S)
    (new if is_first else root).joinpath(".gitignore").write_text("heron*\n")
    eventually(lambda: is_due(live, name, ".gitignore"))
    saved.set()
    eventually(lambda: live.owner.states()[name].is_current)
    assert len(built) <= 2 * SLICE
    assert files_with(codebase, "heron1") == set()
    (new / "kept" / "okapi.py").write_text("def okapi(): pass\n")
    eventually(lambda: len(files_with(codebase, "okapi")) == 1)


@pytest.mark.parametrize("is_full", [False, True])
def test_the_report_counts_what_was_done_within_the_pass(
    codebase, live, root, monkeypatch, is_full
):
    """That follows the rules, too, that were saved meanwhile."""
    started, saved, built = held_builds(monkeypatch, lambda b, _: b._source.name == "new")
    new = root.with_name("new")
    new.mkdir()
    for number in range(SLICE):
        (new / f"okapi{number}.py").write_text("pass\n")
        (new / f"heron{number}.py").write_text(f"def heron{number}(): return 0\n")
    with ThreadPoolExecutor() as pool:
        indexing = pool.submit(
            partial(codebase.index, [new], reporter=Silent(), embed=False, full=is_full)
        )
        assert started.wait(DEADLINE_S)
        (new / ".gitignore").write_text("heron*\n")
        eventually(lambda: is_due(live, "new", ".gitignore"))
        saved.set()
        report = indexing.result(DEADLINE_S)
    assert (report.files_total, report.files_processed) == (SLICE + 1, len(built))
    assert len(live.open().paths("new")) == report.files_total
    eventually(lambda: live.owner.states()["new"].is_current)
    assert len(live.open().paths("new")) == report.files_total


def test_the_barrier_waits_for_no_save_in_another_source(
    codebase, live, root, tmp_path, monkeypatch
):
    second = tmp_path / "second"
    second.mkdir()
    codebase.index([second], reporter=Silent(), embed=False)
    begun, saved, is_answered = threading.Event(), threading.Event(), threading.Event()
    built_before_the_answer = list[str]()
    build = CodeBuilder.build

    def note(builder: CodeBuilder, file: SourceFile) -> Document:
        if not is_answered.is_set():
            built_before_the_answer.append(file.path)
        return build(builder, file)

    def occupy(_: Reporter) -> None:
        begun.set()
        assert saved.wait(DEADLINE_S)

    monkeypatch.setattr(CodeBuilder, "build", note)
    with ThreadPoolExecutor() as threads:
        occupied = threads.submit(live.ask, occupy, Silent(), patience_s=0.0)
        assert begun.wait(DEADLINE_S)
        (root / "pkg" / "saved.py").write_text("def okapi(): pass\n")
        (second / "other.py").write_text("def heron(): pass\n")
        watched = live.owner.watched_sources()[1]
        eventually(lambda: watched.due_s <= time.monotonic())
        recheck = partial(live.owner.refresh, codebase.registry.get("project"), Silent())
        answer = live.owner.loop.ask_soon(recheck, urgency=Urgency.BARRIER, key="recheck")
        answer.add_done_callback(lambda _: is_answered.set())
        saved.set()
        answer.result(DEADLINE_S)
        occupied.result(DEADLINE_S)
    assert built_before_the_answer == ["pkg/saved.py"]
    eventually(lambda: files_with(codebase, "heron") == {"other.py"})


def test_a_source_that_is_removed_as_its_pass_begins_leaves_no_rows(
    codebase, live, root, tmp_path, monkeypatch
):
    second = tmp_path / "second"
    second.mkdir()
    for number in range(SLICE + 10):
        (second / f"s{number}.py").write_text(f"def heron{number}(): pass\n")
    begins, goes_on = threading.Event(), threading.Event()
    start = Watch.start

    def start_slowly(watch: Watch, folders: set[str]) -> None:
        begins.set()
        assert goes_on.wait(DEADLINE_S)
        start(watch, folders)

    monkeypatch.setattr(Watch, "start", start_slowly)
    live.owner.watch(codebase.registry.add(second))
    assert begins.wait(DEADLINE_S)
    with ThreadPoolExecutor() as threads:
        removed = threads.submit(codebase.remove, "second", reporter=Silent())
        eventually(lambda: list(live.states()) == ["project"])
        goes_on.set()
        removed.result(DEADLINE_S)
    eventually(lambda: not live.owner.loop.is_running)
    assert live.open().paths("second") == []
    assert not live.paths.flow_state("second").exists()
    assert "second" not in (last_failure(codebase) or "")


@pytest.fixture
def beginning(codebase, live, root, monkeypatch):
    """A new source in its first pass, which goes on once the event is set."""
    new = root.with_name("new")
    (new / "herons").mkdir(parents=True)
    for number in range(3 * SLICE):
        (new / "herons" / f"h{number}.py").write_text("def heron(): pass\n")
        (new / "herons" / f"h{number}.min.js").write_text("heron()\n")
    (new / "kept.py").write_text("def okapi(): pass\n")
    begins, goes_on = threading.Event(), threading.Event()
    forget = Applier._forget

    def forget_slowly(applier: Applier, *parts: Sequence[Any]) -> None:
        begins.set()
        assert goes_on.wait(DEADLINE_S)
        forget(applier, *parts)

    monkeypatch.setattr(Applier, "_forget", forget_slowly)
    live.owner.watch(codebase.registry.add(new))
    assert begins.wait(DEADLINE_S)
    yield new, goes_on
    goes_on.set()


@pytest.mark.parametrize("change", ["exclude", "move", "remove"])
def test_what_is_changed_about_a_source_during_its_pass_holds_at_once(
    codebase, live, beginning, change
):
    new, goes_on = beginning
    moved = new.with_name("moved")
    calls: dict[str, tuple[Callable[[], object], int]] = {
        "exclude": (
            partial(codebase.index, [new], excludes=("/herons/",), reporter=Silent()),
            1,
        ),
        "move": (partial(codebase.move, "new", moved, reporter=Silent()), 6 * SLICE + 1),
        "remove": (partial(codebase.remove, "new", reporter=Silent()), 0),
    }
    call, paths = calls[change]
    if change == "move":
        new.rename(moved)
    with ThreadPoolExecutor() as threads:
        called = threads.submit(call)
        eventually(lambda: live.owner.loop._queue)
        goes_on.set()
        called.result(DEADLINE_S)
    assert len(live.open().paths("new")) == paths
    eventually(lambda: not live.owner.loop.is_running)
    assert len(live.open().paths("new")) == paths


def test_an_index_run_ends_for_one_with_other_excludes(codebase, live, root, monkeypatch):
    new = root.with_name("new")
    (new / "herons").mkdir(parents=True)
    for number in range(4 * SLICE):
        (new / "herons" / f"h{number}.py").write_text(f"def heron{number}(): pass\n")
    (new / "kept.py").write_text("def okapi(): pass\n" * 9)
    started, goes_on, built = held_builds(monkeypatch, lambda _, file: "heron" in file.path)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(codebase.index, [new], reporter=Silent())
        assert started.wait(DEADLINE_S)
        again = threads.submit(
            codebase.index, [new], excludes=("/herons/",), reporter=Silent(), embed=False
        )
        eventually(lambda: live.owner.loop._queue)
        goes_on.set()
        with pytest.raises(SidecarError, match="did not finish"):
            first.result(DEADLINE_S)
        assert again.result(DEADLINE_S).chunks_total == 2  # with that of "project"
    assert len(built) <= 2 * SLICE


def test_a_source_that_was_removed_is_neither_indexed_nor_watched_by_who_knew_it(
    codebase, live, tmp_path
):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def heron(): pass\n")
    source = codebase.registry.add(second)
    live.update([source], Silent())
    codebase.remove("second", reporter=Silent())
    with pytest.raises(NotFound, match="second is no longer a source"):
        live.update([source], Silent())
    live.owner.watch(source)
    eventually(lambda: list(live.states()) == ["project"])
    assert live.open().paths("second") == []


def test_a_source_that_another_process_moved_is_watched_at_its_new_place(
    codebase, live, root, tmp_path
):
    new = root.rename(tmp_path / "new")
    codebase.registry.move("project", new)
    live.open().move_source("project", new)
    (new / "pkg" / "saved.py").write_text("def okapi(): pass\n")
    eventually(lambda: "pkg/saved.py" in live.open().paths("project"))
    eventually(lambda: not live.states()["project"].error)


def test_a_source_that_could_not_be_moved_is_watched_where_it_is(codebase, live, root, tmp_path):
    with pytest.raises(NotFound):
        codebase.move("project", tmp_path / "nowhere", reporter=Silent())
    (root / "pkg" / "saved.py").write_text("def okapi(): pass\n")
    eventually(lambda: "pkg/saved.py" in live.open().paths("project"))


def test_what_is_saved_is_left_out_as_another_process_has_said(codebase, live, root):
    codebase.registry.add(root, excludes=("*.md",))
    (root / "pkg" / "notes.md").write_text("okapi\n")
    (root / "pkg" / "saved.py").write_text("def okapi(): pass\n")
    eventually(lambda: "pkg/saved.py" in live.open().paths("project"))
    assert "pkg/notes.md" not in live.open().paths("project")


def test_what_a_database_that_closes_leaves_undone_is_no_missing_source(codebase, live, root):
    def close_and_look(said):
        live.owner.stop()
        live.owner.refresh(codebase.registry.get("project"), said)

    (root / "later.py").write_text("def plover(): pass\n")
    with pytest.raises(SidecarError, match="did not finish") as raised:
        live.ask(close_and_look, Silent(), patience_s=0.0)
    assert (raised.value.exit_status, raised.value.code) == (1, "failed")


def test_index_of_a_watched_source_goes_on_beside_the_watch(codebase, live, root):
    for number in range(10):
        (root / "pkg" / f"i{number}.py").write_text(f"def ibis{number}(): pass\n")
        codebase.index([root], reporter=Silent(), embed=False)
        assert files_with(codebase, f"ibis{number}") == {f"pkg/i{number}.py"}


def _count(codebase: Codebase) -> int:
    return sum(source.files_indexed for source in codebase.status().sources)


def test_a_file_that_the_disk_refuses_is_tried_again(codebase, live, root, monkeypatch):
    opened = Tree.read
    refused: list[str | Path] = []

    def refuse_twice(tree: Tree, path: str | Path, limit_bytes: int) -> bytes:
        if str(path).endswith("flaky.py") and len(refused) < 2:
            refused.append(path)
            raise OSError(errno.EIO, "Input/output error")
        return opened(tree, path, limit_bytes)

    monkeypatch.setattr(loop, "RETRY_FIRST_S", 0.05)
    monkeypatch.setattr(Tree, "read", refuse_twice)
    (root / "pkg" / "flaky.py").write_text("def gecko(): pass\n")
    eventually(lambda: files_with(codebase, "gecko") == {"pkg/flaky.py"})
    assert len(refused) == 2
    assert codebase.files(FileStatus.FAILED) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_named_until_it_may(live, root):
    def says(notice: str) -> Callable[[], bool]:
        return lambda: live.states()["project"].notice == notice

    (root / "pkg").chmod(0)
    (root / "new.py").write_text("def zebra(): pass\n")
    live.owner.watched_sources()[0].rescan_soon()
    eventually(says("unreadable, its index stays as it was: pkg"))
    (root / "pkg").chmod(0o755)
    eventually(says(""))


def test_an_answer_says_that_a_save_waits_as_nothing_can_be_written(
    codebase, live, root, notices, monkeypatch
):
    monkeypatch.setattr(loop, "RETRY_FIRST_S", 0.05)
    lock = live.file.paths.writer_lock
    eventually(lambda: not live.owner.loop.is_running)  # which holds the lock
    lock.unlink()
    lock.mkdir()  # refused as on a disk that became read-only
    (root / "pkg" / "new.py").write_text("def zebra(): pass\n")
    said = "Is a directory: answering from what was indexed of project"
    eventually(lambda: not files_with(codebase, "zebra", notices) and notices.has(said))
    lock.rmdir()
    eventually(lambda: files_with(codebase, "zebra") == {"pkg/new.py"})
    eventually(lambda: not live.owner.states()["project"].error)


def test_what_failed_in_a_pass_and_is_saved_during_it_is_no_failure(
    codebase, live, root, monkeypatch
):
    for number in range(2 * SLICE):
        (root / "pkg" / f"h{number:02}.py").write_text("def heron(): pass\n" * (number + 1))
    live.wait_fresh(patience_s=DEADLINE_S)
    saved = root / "pkg" / "h00.py"  # the smallest is read first
    build, refused = CodeBuilder.build, [saved.name]

    def refuse_once(builder: CodeBuilder, file: SourceFile) -> Document:
        if saved.name in file.path and refused:
            raise BuildError(refused.pop())
        return build(builder, file)

    monkeypatch.setattr(CodeBuilder, "build", refuse_once)
    started, goes_on, _ = held_builds(monkeypatch, lambda _, file: "h40.py" in file.path)
    with ThreadPoolExecutor() as threads:
        indexing = threads.submit(codebase.index, [root], reporter=Silent(), embed=False, full=True)
        assert started.wait(DEADLINE_S)
        saved.write_text("def okapi(): pass\n")
        eventually(lambda: live.owner.states()["project"].waiting)
        asked = threads.submit(live.wait_fresh, patience_s=DEADLINE_S)
        eventually(lambda: live.owner.loop._queue)
        goes_on.set()
        assert asked.result(DEADLINE_S)
        assert indexing.result(DEADLINE_S).files_failed == ()
    assert not refused


def test_a_damaged_database_is_made_again_without_a_question(codebase, root, tmp_path, notices):
    codebase.index([root], reporter=Silent(), embed=False)
    codebase.close()
    damage(codebase.paths.db)
    scheduler = start_scheduler(codebase)
    eventually(lambda: [state.is_current for state in codebase.data.states().values()] == [True])
    assert files_with(codebase, "total", notices) == {"pkg/cart.py"}
    assert notices.said == []
    # And it is followed as before.
    (root / "pkg" / "new.py").write_text("def zebra(): pass\n")
    eventually(lambda: files_with(codebase, "zebra") == {"pkg/new.py"})
    end(scheduler)


def test_an_index_of_a_damaged_database_is_complete(codebase, live, root, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def heron(): pass\n")
    codebase.index([second], reporter=Silent(), embed=False)
    codebase.data.file.rest()  # so that nothing of it is remembered
    damage(codebase.paths.db)
    codebase.index([second], reporter=Silent(), embed=False)
    eventually(lambda: all(state.is_current for state in live.states().values()))
    assert files_with(codebase, "heron") == {"a.py"}
    assert files_with(codebase, "total") == {"pkg/cart.py"}


def test_a_deleted_database_is_made_again_by_the_next_question(codebase, live, root, notices):
    for file in codebase.paths.db.parent.glob("codebase.sqlite*"):
        file.unlink()
    assert files_with(codebase, "total", notices) == {"pkg/cart.py"}
    # The owner may have found it gone by itself, and not yet have indexed.
    assert notices.said[0].endswith(
        ("was deleted or replaced: rebuilding it", "holds nothing of project: indexing it")
    )
    assert codebase.paths.db.exists()
    (root / "pkg" / "new.py").write_text("def zebra(): pass\n")
    eventually(lambda: files_with(codebase, "zebra") == {"pkg/new.py"})


def test_of_two_processes_one_makes_a_deleted_database_again_and_both_answer_from_it(
    codebase, root
):
    others = Codebase(
        codebase.paths, settings=WITHOUT_MODEL, models=codebase.data.models, clock=system_clock
    )
    codebase.index([root], reporter=Silent(), embed=False)
    folder = codebase.paths.db.parent
    assert files_with(others, "total") == {"pkg/cart.py"}
    for file in folder.glob("codebase.sqlite*"):
        file.unlink()
    for asked in (codebase, others, codebase, others):
        assert files_with(asked, "total") == {"pkg/cart.py"}
    assert not (folder / "codebase.sqlite.old").exists()  # as it is where one is set aside
    (root / "pkg" / "new.py").write_text("def zebra(): pass\n")
    others.index([root], reporter=Silent(), embed=False)
    assert files_with(codebase, "zebra") == {"pkg/new.py"}
    others.close()


def test_nothing_counts_as_scanned_in_a_database_that_was_begun_anew(codebase, live):
    def begin_anew(_):
        codebase.data.owner.start_over()
        return codebase.data.unscanned()  # as a reader asks, who waits if it names a source

    assert codebase.data.unscanned() == set()
    assert codebase.data.ask(begin_anew, Silent(), patience_s=10.0) == {"project"}
    assert codebase.data.wait_fresh(patience_s=10.0)
    assert codebase.data.unscanned() == set()
    assert files_with(codebase, "total") == {"pkg/cart.py"}


@pytest.mark.parametrize("asked", ["status", "why", "breakdown"])
def test_a_report_on_a_deleted_database_makes_it_again_too(codebase, live, root, asked):
    """Eventually: the owner may have found it gone by itself, and not yet have indexed."""
    for file in codebase.paths.db.parent.glob("codebase.sqlite*"):
        file.unlink()
    if asked == "status":
        eventually(lambda: codebase.status().sources[0].files_indexed == 1)
    elif asked == "why":
        eventually(lambda: codebase.why(root / "pkg" / "cart.py").fate == "indexed")
    else:
        eventually(
            lambda: [e.path for e in break_down(codebase, root.name).largest] == ["pkg/cart.py"]
        )


def test_a_question_has_a_first_scan_that_failed_begin_anew(codebase, live, monkeypatch):
    monkeypatch.setattr(loop, "RETRY_FIRST_S", 3600.0)
    db = codebase.paths.db
    for _ in range(2):  # though by the second time questions have waited as long as they may
        monkeypatch.setattr("memory_sidecar.index.database.MISSING_PATIENCE_S", 0.0)
        for file in db.parent.glob("codebase.sqlite*"):
            file.unlink()
        db.mkdir()
        with pytest.raises(SidecarError, match="is a folder"):
            files_with(codebase, "total")
        eventually(lambda: "is a folder" in live.states()["project"].error)
        db.rmdir()
        assert files_with(codebase, "total") == {"pkg/cart.py"}


def test_a_watch_that_cannot_begin_begins_after_a_while(codebase, root, monkeypatch):
    started = Watch.start

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(loop, "RETRY_FIRST_S", 0.05)
    monkeypatch.setattr(Watch, "start", fail)
    codebase.index([root], reporter=Silent(), embed=False)
    scheduler = start_scheduler(codebase)
    eventually(lambda: "can't start new thread" in str(codebase.status().last_failure))
    assert not codebase.data.wait_fresh(patience_s=10.0)
    monkeypatch.setattr(Watch, "start", started)
    (root / "pkg" / "new.py").write_text("def zebra(): pass\n")
    eventually(lambda: files_with(codebase, "zebra") == {"pkg/new.py"})
    end(scheduler)


def test_without_a_thread_for_what_is_due_the_rest_is_tended_and_no_processor_kept_busy(
    codebase, root, monkeypatch
):
    tried, tended = list[float](), list[int]()
    begin = loop.Loop.begin

    def fail(_: loop.Loop) -> None:
        tried.append(time.monotonic())
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(loop.Loop, "begin", fail)
    codebase.registry.add(root)
    scheduler = Scheduler()
    scheduler.every(0.02, lambda: tended.append(len(tried)))
    scheduler.add(codebase.data)
    scheduler.start()
    eventually(lambda: len(tended) >= 10)
    assert 0 < len(tried) < 100
    monkeypatch.setattr(loop.Loop, "begin", begin)
    eventually(lambda: codebase.data.states()["project"].is_current)
    end(scheduler)


def test_a_save_is_waited_for_in_the_middle_of_an_index_which_comes_to_its_end(
    codebase, live, root
):
    for number in range(5 * SLICE):
        (root / f"m{number}.py").write_text(f"def zebra_{number}(): pass\n")
    passes = codebase.data.owner.activity
    with ThreadPoolExecutor(2) as pool:
        indexing = pool.submit(codebase.index, [root], reporter=Silent(), embed=False)
        eventually(lambda: passes.files_under_way("project") is not None)
        (root / "pkg" / "last.py").write_text("def okapi(): pass\n")
        waiting = pool.submit(codebase.data.wait_fresh, patience_s=DEADLINE_S)
        eventually(lambda: files_with(codebase, "okapi") == {"pkg/last.py"})
        assert waiting.result(DEADLINE_S)
        report = indexing.result(DEADLINE_S)
    assert report.files_total >= 5 * SLICE
    assert codebase.status().sources[0].files_indexed == 5 * SLICE + 2


def damage(db: Path) -> None:
    """Overwrite every page but the first."""
    with db.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(range(256)) * ((db.stat().st_size - 4096) // 256))


def test_a_disk_that_hangs_keeps_no_other_source_waiting(
    codebase, live, root, tmp_path, monkeypatch
):
    held, goes_on = threading.Event(), threading.Event()
    real = watch._identity

    def identity(path):
        if path == root and threading.current_thread().name.startswith("polling"):
            held.set()
            goes_on.wait(DEADLINE_S)
        return real(path)

    monkeypatch.setattr(watch, "_identity", identity)
    assert held.wait(DEADLINE_S)
    other = tmp_path / "other"
    other.mkdir()
    codebase.index([other], reporter=Silent(), embed=False)
    try:
        (other / "new.py").write_text("def zebra(): pass\n")
        eventually(lambda: files_with(codebase, "zebra") == {"new.py"})
    finally:
        goes_on.set()


def go_on_when_a_question_waits(monkeypatch: pytest.MonkeyPatch, goes_on: threading.Event) -> None:
    hasten = WatchedSource.hasten

    def hasten_and_go_on(watched: WatchedSource) -> None:
        hasten(watched)
        goes_on.set()

    monkeypatch.setattr(WatchedSource, "hasten", hasten_and_go_on)


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """The folder of a second source, with a file that holds "zebra"."""
    folder = tmp_path / "second"
    folder.mkdir()
    (folder / "new.py").write_text("def zebra(): pass\n")
    return folder


def test_a_question_waits_for_the_first_rows_of_each_source_that_it_asks(
    codebase, live, second, monkeypatch
):
    begun, goes_on, _ = held_builds(monkeypatch, lambda builder, _: True)
    codebase.registry.add(second)
    live.follow()
    assert begun.wait(DEADLINE_S)
    go_on_when_a_question_waits(monkeypatch, goes_on)
    assert files_with(codebase, "zebra") == {"new.py"}


@pytest.mark.usefixtures("_three_slices")
def test_a_source_that_a_question_waits_for_is_indexed_before_the_rest_of_another(
    codebase, root, second, monkeypatch
):
    begun, goes_on, built = held_builds(monkeypatch, lambda builder, _: True)
    go_on_when_a_question_waits(monkeypatch, goes_on)
    codebase.registry.add(root)
    scheduler = start_scheduler(codebase)
    try:
        assert begun.wait(DEADLINE_S)
        codebase.registry.add(second)
        only_second = CodeFilter(sources=("second",))
        query = CodeQuery("zebra", filter=only_second, mode=SearchMode.KEYWORD)
        assert codebase.search(query, reporter=Silent())
        eventually(lambda: not codebase.data.unscanned())
        assert built.index("new.py") <= SLICE + 1
    finally:
        end(scheduler)
