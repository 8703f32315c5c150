"""A state that would end the process is found out before it is opened."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from memory_sidecar.core.crash_log import MAX_CRASHES, CrashLog
from memory_sidecar.core.errors import CannotWrite
from memory_sidecar.core.results import Silent
from memory_sidecar.core.sqlite import column
from memory_sidecar.index.engine import Engine
from memory_sidecar.index.engine_state import (
    MAX_UNCLEAN_ENDS,
    EngineState,
    StateBroken,
    check_state,
    is_unmade,
)
from tests.conftest import Notices, write_memory


@pytest.fixture
def state(make_agent, data_dir: Path) -> Path:
    """Of an agent with one memory: CocoIndex's folder."""
    write_memory(data_dir / "knowledge" / "architect", "one.md", "The first.")
    agent = make_agent()
    agent.answer(lambda store, _: store, Silent())
    agent.close()
    return data_dir / "knowledge" / ".state" / "architect" / "memories" / "cocoindex"


def test_a_state_that_is_whole_or_not_there_is_fine(state, tmp_path):
    assert not is_unmade(state)
    check_state(state)
    assert is_unmade(tmp_path)
    check_state(tmp_path)


def test_an_id_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    state = EngineState(tmp_path)
    state.pair("one")

    def fail(_path: Path) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))  # as reading says it: of no file

    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(CannotWrite, match="state_id cannot be read or written"):
        _ = state.paired_with


@pytest.mark.parametrize("size", [0, 20, 4_096, 10_000])
def test_a_state_that_is_cut_off_is_broken(state, size):
    os.truncate(state / "mdb" / "data.mdb", size)
    with pytest.raises(StateBroken):
        check_state(state)


def test_a_header_that_is_none_is_broken(state):
    with (state / "mdb" / "data.mdb").open("r+b") as file:
        file.write(bytes(range(256)))
    with pytest.raises(StateBroken, match="header is damaged"):
        check_state(state)


@pytest.mark.parametrize("count", [MAX_UNCLEAN_ENDS])
def test_ends_before_it_was_of_use_are_counted(tmp_path, count):
    for _ in range(count):
        EngineState(tmp_path).note_opening()
    with pytest.raises(StateBroken, match=f"ended {count} times"):
        EngineState(tmp_path).note_opening()


def test_a_new_state_knows_the_files_that_ended_the_process(tmp_path):
    state = EngineState(tmp_path / "data" / "state" / "codebase" / "shop")
    state.clear()
    crashes = CrashLog(state.folder, "in_flight")
    for _ in range(MAX_CRASHES):
        state.note_opening()
        crashes.count_crash("a file")
    crashes.close()
    with pytest.raises(StateBroken):
        state.note_opening()
    state.clear()
    state.note_opening()
    assert CrashLog(state.folder, "in_flight").is_barred("a file")


def test_ends_after_it_was_of_use_are_not_counted(tmp_path):
    for _ in range(2 * MAX_UNCLEAN_ENDS):
        state = EngineState(tmp_path)
        state.note_opening()  # raises where too many are counted
        state.note_usable()
    EngineState(tmp_path).note_opening()
    assert (tmp_path / "opened").read_text() == "1"


def test_a_broken_state_is_made_again(make_agent, state, data_dir, notices):
    os.truncate(state / "mdb" / "data.mdb", 10_000)
    folder = data_dir / "knowledge" / "architect"
    write_memory(folder, "two.md", "The second.")
    agent = make_agent()
    agent.index_written(["two.md"], reporter=notices)
    assert notices.has("the state of memories is broken (it is cut off: 10000 bytes")
    paths = agent.answer(
        lambda _, connection: column(connection, "SELECT path FROM memories ORDER BY path"), notices
    )
    assert paths == ["one.md", "two.md"]


def test_a_state_whose_making_was_interrupted_is_made_anew(
    make_agent, state, data_dir, monkeypatch
):
    agent = make_agent()
    EngineState(state.parent).clear()  # as a rebuild does

    async def end_early(_self, *, is_fresh):
        raise RuntimeError("did not finish")

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "_begin", end_early)
        with pytest.raises(RuntimeError) as ended:
            agent.answer(lambda *_: None, Silent())
    assert ended.value.__cause__ is None
    agent.close()
    assert not is_unmade(state)  # CocoIndex has it, and has never run in it
    assert EngineState(state.parent).is_empty
    write_memory(data_dir / "knowledge" / "architect", "two.md", "The second.")
    paths = make_agent().answer(
        lambda _, connection: column(connection, "SELECT path FROM memories ORDER BY path"),
        Silent(),
    )
    assert paths == ["one.md", "two.md"]
    assert not EngineState(state.parent).is_empty


def test_a_disk_that_refuses_is_no_end_of_the_process(make_agent, state, data_dir, monkeypatch):
    write_memory(data_dir / "knowledge" / "architect", "two.md", "The second.")

    async def fail(*_args, **_named):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "_begin", fail)
        for _ in range(MAX_UNCLEAN_ENDS + 1):
            agent, notices = make_agent(), Notices()
            agent.answer(lambda *_: None, notices)
            assert not notices.has("is broken")
            agent.close()
    make_agent().answer(lambda *_: None, notices)
    assert not notices.has("is broken")
