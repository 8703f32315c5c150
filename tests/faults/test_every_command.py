"""Every command on a disk that is full or may only be read: reading works, writing says no.

A command that needs no room may do what it is asked on a full disk, but then all of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest

from memory_sidecar.cli.main import every_command
from tests.faults.commands import ELSEWHERE, READING, WRITING, Command
from tests.faults.conftest import Tally, everyday
from tests.faults.scene import Scene, Usual
from tests.finished import Finished

NO_ROOM = {"disk_full", "store_read_only"}
BALLAST = "ballast"


def words_of(group: click.Group, *words: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from words_of(command, *words, name)
        else:
            yield " ".join((*words, name))


def test_every_command_is_tried():
    tried = {command.words for command in (*WRITING, *READING)}
    assert tried | ELSEWHERE.keys() == set(words_of(every_command()))
    assert tried.isdisjoint(ELSEWHERE)


@pytest.fixture
def disk(scene: Scene) -> Iterator[Scene]:
    """The scene on a file system of its own."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m,mode=700", "tmpfs", scene.folder],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("mounting needs more rights")
    try:
        scene.restore()
        yield scene
    finally:
        scene.home.end()
        subprocess.run(["umount", "--lazy", scene.folder], check=True)


@contextmanager
def full(scene: Scene) -> Iterator[None]:
    """Not a byte is free, even where SQLite would use a page again."""
    ballast = scene.folder / BALLAST
    with ballast.open("wb") as file:
        file.write(b"\0" * shutil.disk_usage(scene.folder).free)
    assert shutil.disk_usage(scene.folder).free == 0
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(scene: Scene) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", scene.folder], check=True)
    try:
        yield
    finally:
        scene.home.end()
        subprocess.run(["mount", "-o", "remount,rw", scene.folder], check=True)


CONDITIONS = {"full": full, "read-only": read_only}


def refusal(done: Finished) -> str:
    """What is wrong with the way in which a command says that it cannot; "" for nothing."""
    *notices, last = done.err.splitlines() or [""]
    try:
        error = json.loads(last)["error"]
    except (ValueError, KeyError, TypeError):
        return f"status {done.status}, and no error in one line: {done.err[-500:]}"
    if error["code"] not in NO_ROOM or not error["hint"]:
        return f"said to be {error}"
    if any("Traceback" in notice for notice in notices):
        return done.err[-500:]
    return ""


def require_reading(usual: list[Finished], now: list[Finished], tally: Tally, where: str) -> None:
    for command, before, done in zip(READING, usual, now, strict=False):
        if done.status != before.status:
            tally.failed(f"{command.words} {where}", f"status {done.status}: {done.err[-300:]}")
        tally.count("commands without room")
    if len(now) != len(READING):
        tally.failed(f"reading {where}", f"ended after {len(now)}: {now[-1].err}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_reading_works(disk, tally, condition):
    lines = [disk.line(command) for command in READING]
    usual = disk.run(*lines)
    assert len(usual) == len(lines)
    with_reads_counted = disk.truth()
    disk.restore()
    truth = disk.truth()
    with CONDITIONS[condition](disk):
        require_reading(usual, disk.run(*lines), tally, f"where the disk is {condition}")
        assert disk.truth() in (truth, with_reads_counted)
    assert disk.answers() == disk.sound


@pytest.mark.timeout(600)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("command", everyday(WRITING, every=18), ids=str)
def test_writing_is_whole_or_refused(disk, tally, command, condition):
    usual = disk.usual(command)
    line = disk.line(command)
    with CONDITIONS[condition](disk):
        (done,) = disk.run(line)
        require_whole_or_refused(disk, usual, done, tally)
        assert condition == "full" or disk.truth() == usual.before
    assert len(disk.answers()) > 0
    (again,) = disk.run(line)
    assert again.status in (0, 2, 3, 4) or command.may_find_fault, again.err
    tally.count("commands without room")


@pytest.mark.full
def test_a_daemon_goes_on_once_there_is_room(disk, tally):
    """One daemon, every command, no room: it refuses what it cannot do, and lives."""
    lines = [disk.line(command) for command in READING]
    usual = [_call(disk, *line) for line in lines]
    pid = disk.home.pid
    with full(disk):
        require_reading(usual, [_call(disk, *line) for line in lines], tally, "in a daemon")
        for command in WRITING:
            if command.change[0]:
                continue  # which itself takes room
            before = disk.truth()
            done = _call(disk, *disk.line(command))
            tally.count("commands without room")
            is_named = done.status in (0, 2, 3, 4) or has_found_fault(command, done)
            if not is_named and (wrong := refusal(done)):
                tally.failed(f"{command} in a daemon", wrong)
            says_so = "again for the others" in done.err
            if done.status and not says_so and disk.truth() != before:
                tally.failed(f"{command} in a daemon", "refused, and done in part")
    assert disk.home.call("store", "There is room", "--agent", "b").returncode == 0
    assert disk.home.pid == pid
    assert disk.home.call("stop").returncode == 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_daemon_starts_without_room(disk, tally, condition):
    with CONDITIONS[condition](disk):
        for command in READING[:4]:
            done = _call(disk, *disk.line(command))
            if done.status:
                tally.failed(f"{command} where the disk is {condition}", done.err)
        if disk.home.call("stop").returncode:
            tally.failed("stop", f"where the disk is {condition}")
    assert disk.home.call("store", "There is room", "--agent", "b").returncode == 0


def require_whole_or_refused(scene: Scene, usual: Usual, done: Finished, tally: Tally) -> None:
    if done.status == 0:
        if scene.truth() != usual.after:
            tally.failed(str(usual.command), "status 0, and not done")
        return
    if not has_found_fault(usual.command, done) and (wrong := refusal(done)):
        tally.failed(str(usual.command), wrong)
    if (now := scene.truth()) != usual.before:
        parts = sorted(path for path, _ in (now - usual.before) + (usual.before - now))
        tally.failed(str(usual.command), f"refused, and done in part: {parts}")


def has_found_fault(command: Command, done: Finished) -> bool:
    """Whether `doctor` did what it is for."""
    return command.may_find_fault and done.status == 1


def _call(scene: Scene, arguments: list[str], stdin: str) -> Finished:
    try:
        done = scene.home.call(*arguments, stdin=stdin)
    except subprocess.TimeoutExpired:
        return Finished(124, "", "no answer")
    return Finished(done.returncode, done.stdout, done.stderr)
