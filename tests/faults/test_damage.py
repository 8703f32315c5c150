"""Damage to a database or its state: the next access answers as before, or says what is missing.

Each kind is done to the agent's database and state and to those of the code, with a daemon that
has them open and without one.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.conftest import everyday
from tests.faults.scene import QUESTIONS, Scene, steady
from tests.finished import Finished

FOREIGN = "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org')"


@dataclass(frozen=True, slots=True)
class Damage:
    """`do` is done to each path of the data directory that `glob` matches."""

    name: str
    glob: str
    do: Callable[[Path], object]
    is_ours: bool = True  # so that `doctor --fix` and `reindex` mend it, and nobody else has to

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def cut(left: float) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        os.truncate(path, int(path.stat().st_size * left))

    return cut


def overwrite(at: float, count: int, byte: bytes = b"\xaa") -> Callable[[Path], None]:
    def overwrite(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(int(path.stat().st_size * at))
            file.write(byte * count)

    return overwrite


def hold(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def zero(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def replace_by_foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.executescript(FOREIGN)
    connection.close()


def set_version(version: int) -> Callable[[Path], None]:
    def set_version(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(60)
            file.write(version.to_bytes(4, signed=True))

    return set_version


def write_wal(content: bytes) -> Callable[[Path], object]:
    return lambda path: Path(f"{path}-wal").write_bytes(content)


def append(text: str) -> Callable[[Path], None]:
    def append(path: Path) -> None:
        with path.open("a") as file:
            file.write(text)

    return append


def write_in(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def write_beside(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda path: path.with_name(name).write_bytes(content)


DATABASES = "**/[ac]*.sqlite"  # an agent's and that of code
ENGINE = "**/data.mdb"
NOWHERE = b'{"address": "tcp:99999:y"}'

DAMAGES = (
    Damage("engine deleted", ENGINE, Path.unlink),
    Damage("header overwritten", DATABASES, overwrite(0, 16)),
    Damage("engine cut", ENGINE, cut(0.3)),
    Damage("crash counts cut", "**/in_flight", write_beside("crashes.json", b'{"a')),
    Damage("daemon's address is garbage", "state", write_in("daemon.json", b"{")),
    Damage("database emptied", DATABASES, cut(0)),
    Damage("database cut in half", DATABASES, cut(0.5)),
    Damage("database deleted", DATABASES, Path.unlink),
    Damage("database zeroed", DATABASES, zero),
    Damage("middle overwritten", DATABASES, overwrite(0.5, 16)),
    Damage("much of it overwritten", DATABASES, overwrite(0.2, 20_000)),
    Damage("database of an older build", DATABASES, set_version(-1)),
    Damage("log is garbage", DATABASES, write_wal(b"no such thing" * 100)),
    Damage("log emptied", DATABASES, write_wal(b"")),
    Damage("engine emptied", ENGINE, cut(0)),
    Damage("engine is garbage", ENGINE, hold("no such thing" * 1000)),
    Damage("engine overwritten", ENGINE, overwrite(0, 4096)),
    Damage("state id deleted", "**/state_id", Path.unlink),
    Damage("state id of another", "**/state_id", hold("another")),
    Damage("state deleted", "**/cocoindex", lambda path: shutil.rmtree(path.parent)),
    Damage("access log with garbage", "**/access.jsonl", append('{"ts": \n\0\0x')),
    Damage("locks deleted", "**/writer.lock", Path.unlink),
    Damage("daemon's address leads nowhere", "state", write_in("daemon.json", NOWHERE)),
    Damage("daemon's journal cut", "state", write_in("requests", b"\1" * 7)),
    Damage("database is a folder", DATABASES, replace_by_folder, is_ours=False),
    Damage("database is a link", DATABASES, replace_by_link, is_ours=False),
    Damage("database is another program's", DATABASES, replace_by_foreign, is_ours=False),
    Damage("database of a newer build", DATABASES, set_version(100_000), is_ours=False),
    Damage("registry cut", "**/sources.json", cut(0.5), is_ours=False),
    Damage("registry emptied", "**/sources.json", cut(0), is_ours=False),
    Damage("registry is garbage", "**/sources.json", hold("no such thing"), is_ours=False),
    Damage("registry deleted", "**/sources.json", Path.unlink),
)


def test_damage_is_of_many_kinds():
    assert len({damage.name for damage in DAMAGES}) >= 22


@pytest.mark.timeout(600)
@pytest.mark.parametrize("damage", everyday(DAMAGES, every=16), ids=str)
@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_damage_is_mended_or_named(scene, tally, damage, served):
    if served:
        assert [done.status for done in ask(scene, served=True)] == [0] * len(QUESTIONS)
    harmed = harm(scene, damage)
    assert harmed
    tally.count("damages")
    answers = ask(scene, served=served)
    for question, done, sound in zip(QUESTIONS, answers, scene.sound, strict=True):
        if wrong := misled(done, sound):
            tally.failed(f"{damage.name}: {' '.join(question[:2])}", wrong)
    if damage.is_ours:
        for command in (["doctor", "--fix"], ["reindex", "--all"]):
            done = call(scene, [*command, "--json"], served=served)
            if done.status not in (0, 1) or "internal error" in done.err:
                tally.failed(f"{damage.name}: {command[0]}", done.err)
    else:
        put_back(scene, harmed)
    for question, done, sound in zip(
        QUESTIONS, ask(scene, served=served), scene.sound, strict=True
    ):
        if done.status or steady(done.json) != sound:
            tally.failed(f"{damage.name}: afterwards {' '.join(question[:2])}", done)
    if served and scene.home.call("stop").returncode:
        tally.failed(f"{damage.name}: stop", "the daemon does not end")


def harm(scene: Scene, damage: Damage) -> list[Path]:
    """Relative to the data directory: what was harmed."""
    paths = list(scene.data.glob(damage.glob))
    for path in paths:
        damage.do(path)
    return [path.relative_to(scene.data) for path in paths]


def put_back(scene: Scene, harmed: list[Path]) -> None:
    """As the person would who has read what is wrong: what is no file of ours goes away."""
    for path in harmed:
        now = scene.data / path
        if now.is_dir() and not now.is_symlink():
            now.rmdir()
        else:
            now.unlink(missing_ok=True)
        if path.suffix == ".json":
            shutil.copy2(scene.built / "data" / path, now)


def misled(done: Finished, sound: object) -> str:
    """What the asker could not know from this answer; "" for nothing."""
    if "internal error" in done.err or done.status not in (0, 1, 2, 3):
        return f"status {done.status}: {done.err[-500:]}"
    if done.status:
        return "" if done.error["hint"] else f"no hint: {done.err}"
    if steady(done.json) != sound and not done.err:
        return f"answered without a word: {_unlike(steady(done.json), sound)}"
    return ""


def _unlike(now: object, sound: object) -> str:
    """What only one of two answers holds."""
    if not (isinstance(now, list) and isinstance(sound, list)):
        return f"{now}, not {sound}"
    more, less = ([x for x in one if x not in other] for one, other in ((now, sound), (sound, now)))
    return f"{more}, not {less}"


def ask(scene: Scene, *, served: bool) -> list[Finished]:
    lines = [scene.here(*question, "--json") for question in QUESTIONS]
    if served:
        return [call(scene, line, served=True) for line in lines]
    answers = scene.run(*((line, "") for line in lines))
    return answers + [answers[-1]] * (len(lines) - len(answers))


def call(scene: Scene, line: list[str], *, served: bool) -> Finished:
    if not served:
        return scene.run((line, ""))[0]
    try:
        done = scene.home.call(*line)
    except subprocess.TimeoutExpired as error:
        return Finished(124, "", f"no answer in {error.timeout:.0f} s")
    return Finished(done.returncode, done.stdout, done.stderr)
