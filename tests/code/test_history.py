"""What the commits of a source tell of its files, and what of a repository is never believed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from memory_sidecar.code.commits import read_commits
from memory_sidecar.code.history import (
    RETRY_FIRST_MS,
    RETRY_LONGEST_MS,
    history_boosts,
    unread_histories,
    update_history,
)
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.core.children import run_child
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import system_clock
from tests.code.test_commits import Repository

ASKED = "double charges of a card"


@pytest.fixture
def repository(project) -> Repository:
    made = Repository(project)
    made.commit("Begin", *(path.relative_to(project).as_posix() for path in files_of(project)))
    made.commit("Keep a card from being charged twice\n\nNo double charges.", "shop/payment.py")
    made.commit("Sum prices with their counts", "shop/cart.py")
    return made


def files_of(project: Path) -> list[Path]:
    return [path for path in project.rglob("*") if path.is_file() and ".git" not in path.parts]


def lent(codebase, text=ASKED, sources=()):
    with codebase.data.open().reading() as connection:
        return history_boosts(connection, text, sources)


def subjects(codebase):
    with codebase.data.open().reading() as connection:
        rows = connection.execute("SELECT subject FROM commits ORDER BY subject")
        return [subject for (subject,) in rows]


def unread(codebase):
    with codebase.data.open().reading() as connection:
        return unread_histories(connection, codebase.data.sources())


def test_a_commit_lends_to_the_files_it_changed(repository, make_codebase):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    found = lent(codebase)
    best = max(found, key=lambda file: found[file].boost)
    assert best == (repository.root.name, "shop/payment.py")
    assert found[best].subjects[0] == "Keep a card from being charged twice"
    (hit, *_) = codebase.search(CodeQuery(ASKED, explain=True), reporter=Silent())
    assert hit.filename == "shop/payment.py"
    assert hit.explain.terms["history"] > 0
    assert hit.explain.commits[0] == "Keep a card from being charged twice"
    assert sum(hit.explain.terms.values()) == pytest.approx(hit.score, abs=1e-5)


def test_the_command_names_the_commit(repository, run):
    run("index", repository.root)
    done = run("search", ASKED, "--explain", "--source", repository.root.name)
    assert "history ('Keep a card from being charged twice'" in done.out


def test_only_what_is_new_is_read_when_the_branch_moves(repository, make_codebase, monkeypatch):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    known = []

    def noted(repository, those):
        known.append(those)
        return read_commits(repository, those)

    monkeypatch.setattr("memory_sidecar.code.history.read_commits", noted)
    codebase.index([repository.root], reporter=Silent())
    assert known == []
    repository.commit("Decline expired cards", "shop/payment.py")
    codebase.index([repository.root], reporter=Silent())
    assert len(known[0]) == 3
    assert "Decline expired cards" in subjects(codebase)


def test_commits_of_another_branch_leave(repository, make_codebase):
    codebase = make_codebase()
    repository.commit("Refund what was charged", "shop/payment.py")
    codebase.index([repository.root], reporter=Silent())
    assert "Refund what was charged" in subjects(codebase)
    repository.go_back()
    codebase.index([repository.root], reporter=Silent())
    assert "Refund what was charged" not in subjects(codebase)
    assert lent(codebase)


def test_a_source_inside_of_a_repository_has_its_own_paths(repository, make_codebase):
    codebase = make_codebase()
    codebase.index([repository.root / "shop"], reporter=Silent())
    assert ("shop", "payment.py") in lent(codebase)


def test_another_source_lends_nothing(repository, make_codebase):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    assert lent(codebase, sources=("other",)) == {}


def test_a_project_ranks_beside_another_as_alone(repository, make_codebase, tmp_path):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())

    def ranked():
        of_project = CodeFilter(sources=(repository.root.name,))
        (hit, *_) = codebase.search(
            CodeQuery(ASKED, explain=True, filter=of_project), reporter=Silent()
        )
        history = lent(codebase, sources=(repository.root.name,))
        return hit.explain.terms, {file: each.boost for file, each in history.items()}

    alone = ranked()
    other = Repository(tmp_path / "other")  # where the words of the question tell nothing
    for number in range(8):
        (other.root / f"{number}.py").write_text(f"# double charges of a card\ncard_{number} = 1\n")
        other.commit(f"Double charges of card {number}", f"{number}.py")
    codebase.index([other.root], reporter=Silent())
    for terms, expected in zip(ranked(), alone, strict=True):
        assert terms == pytest.approx(expected, rel=0.1)


def test_what_is_forgotten_leaves_no_commit(repository, make_codebase):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    codebase.remove(repository.root.name, reporter=Silent())
    assert subjects(codebase) == []
    assert lent(codebase) == {}


def test_a_shallow_clone_that_gets_deeper_has_all_commits(repository, make_codebase, tmp_path):
    clone = tmp_path / "clone"
    git = ["git", "-C", str(clone)]
    address = repository.root.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", address, clone], check=True)
    codebase = make_codebase()
    codebase.index([clone], reporter=Silent())
    assert len(subjects(codebase)) == 1
    assert not lent(codebase, "prices")
    subprocess.run([*git, "fetch", "-q", "--unshallow"], check=True)
    codebase.index([clone], reporter=Silent())
    assert len(subjects(codebase)) == 3
    assert lent(codebase, "prices")


def test_a_repository_that_goes_takes_its_commits_along(repository, make_codebase):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    (repository.root / ".git").rename(repository.root.parent / "elsewhere")
    codebase.index([repository.root], reporter=Silent())
    assert subjects(codebase) == []


def test_a_damaged_repository_is_indexed_without_its_commits(repository, make_codebase):
    for file in (repository.root / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"no object")
    codebase = make_codebase()
    report = codebase.index([repository.root], reporter=Silent())
    assert report.chunks_total > 0
    assert subjects(codebase) == []


def test_objects_that_block_do_not_hold_an_index_up(repository, make_codebase, monkeypatch):
    monkeypatch.setattr("memory_sidecar.code.commits.PATIENCE_S", 1.0)
    newest = str(repository.made.head.target)
    commit = repository.root / ".git" / "objects" / newest[:2] / newest[2:]
    commit.unlink()
    os.mkfifo(commit)
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    assert subjects(codebase) == []


def test_commits_outlive_a_moment_without_processes_or_time(repository, make_codebase, monkeypatch):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    assert len(subjects(codebase)) == 3

    def too_slow(*_, **__):
        raise subprocess.TimeoutExpired("read", 30)

    def refused(*_, **__):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("memory_sidecar.code.history.RETRY_FIRST_MS", 0)

    def killed(arguments, **_):
        return subprocess.CompletedProcess(arguments, -9, b"", b"")

    for number, fails in enumerate((too_slow, refused, killed)):
        repository.commit(f"Change {number}", "shop/cart.py")
        with monkeypatch.context() as patch:
            patch.setattr("memory_sidecar.code.commits.run_child", fails)
            codebase.index([repository.root], reporter=Silent())
        assert len(subjects(codebase)) == 3
    codebase.index([repository.root], reporter=Silent())
    assert len(subjects(codebase)) == 6


def test_commits_come_back_with_their_objects_and_are_said_to_be_missing(
    repository, make_codebase, monkeypatch
):
    monkeypatch.setattr("memory_sidecar.code.history.RETRY_FIRST_MS", 0)
    codebase = make_codebase()
    objects = repository.root / ".git" / "objects"
    for is_there, known in ((True, 4), (False, 4), (True, 6)):
        repository.commit(f"It is {is_there}", "shop/cart.py")
        if not is_there:
            objects.rename(objects.with_name("away"))
            objects.mkdir()
        codebase.index([repository.root], reporter=Silent())
        told = f"{repository.root.name}: objects are missing or damaged, or it takes too long"
        assert unread(codebase) == ([] if is_there else [told])
        assert len(subjects(codebase)) == known
        if not is_there:
            objects.rmdir()
            objects.with_name("away").rename(objects)


def test_another_head_ends_the_pause_for_one_that_was_not_there(repository, make_codebase):
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    repository.commit("This one is not there", "shop/cart.py")
    head = str(repository.made.head.target)
    lost = repository.root / ".git" / "objects" / head[:2] / head[2:]
    kept = lost.read_bytes()
    lost.unlink()
    codebase.index([repository.root], reporter=Silent())
    lost.write_bytes(kept)
    codebase.index([repository.root], reporter=Silent())
    assert len(subjects(codebase)) == 3  # the pause for this head lasts
    repository.commit("This one is", "shop/cart.py")
    codebase.index([repository.root], reporter=Silent())
    assert len(subjects(codebase)) == 5
    assert unread(codebase) == []


def test_a_tree_that_is_away_during_the_read_is_read_once_it_is_back(
    repository, make_codebase, monkeypatch
):
    codebase = make_codebase()
    root, away = repository.root, repository.root.with_name("away")

    def moved_away(*arguments, **options):
        root.rename(away)
        return run_child(*arguments, **options)

    monkeypatch.setattr("memory_sidecar.code.commits.run_child", moved_away)
    codebase.index([root], reporter=Silent())
    monkeypatch.undo()
    away.rename(root)
    codebase.index([root], reporter=Silent())
    assert len(subjects(codebase)) == 3


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("HEAD", "", "its HEAD names no commit"),
        ("HEAD", "ref: refs/heads/not-yet-born", ""),
        ("config", "[extensions]\n\tobjectFormat = sha256\n", "its hashes are of SHA-256"),
        ("reftable/tables.list", "", "its branches are in a reftable"),
        ("objects/info/alternates", "/", "its objects are in another folder, which is not read"),
    ],
)
def test_the_doctor_hears_of_whom_no_commits_are_read_and_why(
    repository, make_codebase, file, text, reason
):
    changed = repository.root / ".git" / file
    changed.parent.mkdir(exist_ok=True)
    changed.write_text(text)
    if "alternates" in file:
        for each in (repository.root / ".git" / "objects").glob("??"):
            shutil.rmtree(each)
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    assert unread(codebase) == ([f"{repository.root.name}: {reason}"] if reason else [])


def test_the_doctor_hears_of_a_git_file_that_is_not_believed(repository, make_codebase):
    git = repository.root / ".git"
    git.rename(git.with_name("elsewhere"))
    codebase = make_codebase()
    for named, reason in (
        ("elsewhere", "its .git names a folder that does not name it in turn"),
        ("nowhere", "its .git names a folder that is not there"),
    ):
        git.write_text(f"gitdir: {named}\n")
        codebase.index([repository.root], reporter=Silent())
        assert unread(codebase) == [f"{repository.root.name}: {reason}"]


def test_commits_that_took_too_long_are_read_after_pauses_that_grow(
    repository, make_codebase, monkeypatch
):
    codebase = make_codebase()
    now_ms, tries = system_clock(), []

    def now():
        return now_ms

    def too_slow(*_, **__):
        tries.append(now_ms)
        raise subprocess.TimeoutExpired("read", 30)

    monkeypatch.setattr("memory_sidecar.code.commits.run_child", too_slow)
    codebase.index([repository.root], reporter=Silent())
    (source,) = codebase.data.sources()
    first_ms, day_ms = now_ms, RETRY_LONGEST_MS
    for _ in range(3 * day_ms // RETRY_FIRST_MS):
        now_ms += RETRY_FIRST_MS
        update_history(source, codebase.data.open(), clock=now)
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[1:4] == [2 * RETRY_FIRST_MS, 4 * RETRY_FIRST_MS, 8 * RETRY_FIRST_MS]
    assert max(pauses) == day_ms
    now_ms = first_ms - day_ms  # the clock was set back
    before = len(tries)
    update_history(source, codebase.data.open(), clock=now)
    assert len(tries) == before + 1
    monkeypatch.undo()
    now_ms += day_ms
    update_history(source, codebase.data.open(), clock=now)
    assert len(subjects(codebase)) == 3


def test_nothing_that_the_configuration_names_is_run(repository, make_codebase, tmp_path):
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    with (repository.root / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n")
        config.write(f"[include]\n\tpath = {tmp_path / 'pipe'}\n[diff]\n\texternal = {program}\n")
    os.mkfifo(tmp_path / "pipe")
    codebase = make_codebase()
    codebase.index([repository.root], reporter=Silent())
    assert lent(codebase)
    assert not ran.exists()
