"""An index run over several sources keeps no other caller waiting, and outlives each of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.code import builder as code_flow
from memory_sidecar.code.document import build_document
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.results import Silent
from memory_sidecar.index.scheduler import Scheduler
from tests.conftest import HashEmbedder, write_other_project
from tests.waiting import DEADLINE_S


def write_functions(root: Path, files: int) -> Path:
    root.mkdir()
    for number in range(files):
        (root / f"m{number}.py").write_text(f"def heron{number}(): return {number}\n")
    return root


@pytest.fixture
def watching(make_codebase):
    codebase, scheduler = make_codebase(), Scheduler()
    scheduler.add(codebase.data)
    scheduler.start()
    yield codebase
    scheduler.close(until_s=time.monotonic() + DEADLINE_S)


CHANGES: dict[str, Callable[[Codebase, Path], Any]] = {
    "another is indexed": lambda codebase, folder: codebase.index(
        [write_other_project(folder / "third")], reporter=Silent()
    ),
    "another is removed": lambda codebase, _: codebase.remove("lamps", reporter=Silent()),
    "it is removed": lambda codebase, _: codebase.remove("herons", reporter=Silent()),
    "all is rebuilt": lambda codebase, _: codebase.index([], full=True, reporter=Silent()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("rebuilds", [False, True], ids=["index", "rebuild"])
def test_no_other_request_waits_for_the_vectors_of_a_source(
    watching, tmp_path, monkeypatch, change, rebuilds
):
    monkeypatch.setattr("memory_sidecar.index.embed.SLICE_TEXTS", 1)
    herons, lamps = (
        write_functions(tmp_path / "herons", 60),
        write_other_project(tmp_path / "lamps"),
    )
    watching.index([lamps], embed=True, reporter=Silent())
    begun, slices = threading.Event(), threading.Semaphore(0)
    embed_passages = HashEmbedder.embed_passages

    def embed_one_by_one(embedder: HashEmbedder, texts: Sequence[str], **how: Any) -> Any:
        begun.set()
        assert slices.acquire(timeout=DEADLINE_S)
        return embed_passages(embedder, texts, **how)

    def run() -> Any:
        if not rebuilds:
            return watching.index([herons], embed=True, reporter=Silent())
        return watching.rebuild((), reporter=Silent())

    if rebuilds:
        watching.index([herons], reporter=Silent())
    monkeypatch.setattr(HashEmbedder, "embed_passages", embed_one_by_one)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(run)
        assert begun.wait(DEADLINE_S)
        changing = pool.submit(change, watching, tmp_path)
        for _ in range(30):  # of 60: it waits for a few, but not for all
            slices.release()
            if wait([changing], timeout=0.1).done:
                break
        wait([changing], timeout=DEADLINE_S)  # the rest of the vectors cannot be made meanwhile
        was_done, was_running = changing.done(), not running.done()
        slices.release(1000)
        changing.result(DEADLINE_S)
        running.result(DEADLINE_S)
    assert was_done
    assert was_running or change is CHANGES["it is removed"]


@pytest.mark.parametrize("removed", ["herons", "lamps"], ids=["under way", "still to come"])
def test_a_rebuild_of_all_goes_on_where_one_source_is_removed_meanwhile(
    make_codebase, tmp_path, monkeypatch, notices, removed
):
    codebase = make_codebase()
    roots = [write_functions(tmp_path / "herons", 9), write_other_project(tmp_path / "lamps")]
    third = write_other_project(tmp_path / "third")
    codebase.index([*roots, third], reporter=Silent())
    begun, go_on = threading.Event(), threading.Event()

    def build_slowly(*arguments: Any) -> Any:
        begun.set()
        assert go_on.wait(DEADLINE_S)
        return build_document(*arguments)

    unwatch = codebase.data.owner.unwatch

    def unwatch_and_go_on(name: str) -> None:
        unwatch(name)
        go_on.set()

    monkeypatch.setattr(code_flow, "build_document", build_slowly)
    monkeypatch.setattr(codebase.data.owner, "unwatch", unwatch_and_go_on)
    with ThreadPoolExecutor() as pool:
        rebuilding = pool.submit(codebase.rebuild, (), reporter=notices)
        assert begun.wait(DEADLINE_S)
        assert pool.submit(codebase.remove, removed, reporter=Silent()).result(DEADLINE_S)
        report = rebuilding.result(DEADLINE_S)
    assert report.sources_absent == (removed,)
    assert report.files_processed == (1 if removed == "herons" else 9) + 1
    assert notices.has(f"{removed} was left out")
    assert {each.name for each in codebase.registry.all()} == {"herons", "lamps", "third"} - {
        removed
    }
    assert codebase.data.open().source_state(removed) is None
