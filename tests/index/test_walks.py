"""The two walks of docs/architecture.md, module by module, as they are when they are walked.

What is counted are the modules of the package that a function is entered of, in any thread.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import pytest

from memory_sidecar import client
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.scheduler import Scheduler
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = f"{ROOT / 'memory_sidecar'}/"
DEADLINE_S = 60.0
MOST_HAND_OVERS = 4
_MODULE = re.compile(r"`((?:\w+/)*\w+)`")


class Walk:
    """Notes the modules, and the threads, that are entered while it is recorded."""

    def __init__(self, *, last: str, beside: str = "") -> None:
        """It ends when the function called `last` returns, and leaves out what is for `beside`."""
        self.modules: dict[str, None] = {}
        self.threads: dict[str, None] = {}
        self.has_ended = threading.Event()
        self._last = last
        self._beside = beside
        self._is_recorded = False
        self._aside = threading.local()

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """A profile function, as `threading.setprofile` takes it."""
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or not code.co_flags & CO_OPTIMIZED:
            return  # of others, or the body of a class or a module
        if code.co_name == self._beside and event in ("call", "return"):
            self._aside.it_is = event == "call"
        if not self._is_recorded or getattr(self._aside, "it_is", False):
            return
        if event == "return" and code.co_name == self._last:
            self._is_recorded = False
            self.has_ended.set()
        if event == "call":
            module = code.co_filename.removeprefix(PACKAGE).removesuffix(".py")
            self.modules.setdefault(module)
            self.threads.setdefault(threading.current_thread().name)

    def begin(self) -> None:
        self._is_recorded = True

    def require(self, title: str) -> None:
        """Raises AssertionError unless the page names what was entered, and how many these are."""
        named, entered = listed(title), set(self.modules)
        assert not (named ^ entered), (
            f"{len(entered)} modules are entered; the page lacks {sorted(entered - named)}"
            f" and has too many: {sorted(named - entered)}"
        )
        assert f"{len(entered)} modules" in section(title)


@contextmanager
def watched(walk: Walk) -> Iterator[None]:
    """Have `walk` hear of this thread, and of those that begin from now on."""
    before = sys.getprofile()
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def listed(title: str) -> set[str]:
    """The modules that the page names below `title`."""
    return set(_MODULE.findall(section(title)))


def section(title: str) -> str:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def codebase(data_dir: Path) -> Iterator[Codebase]:
    """With the model itself, which takes part in both walks."""
    models = Models(Settings(), cache=data_dir / "embeddings.sqlite")
    paths = StorePaths(data_dir / "codebase.sqlite")
    codebase = Codebase(paths, settings=Settings(), models=models, clock=system_clock)
    yield codebase
    codebase.close()
    models.close()


@pytest.mark.skipif(sys.platform != "linux", reason="walks through inotify")
def test_a_save_is_walked_as_the_page_says(codebase, project):
    walk, scheduler = Walk(last="put_vectors", beside="_do_chores"), Scheduler()
    with watched(walk):
        codebase.index([project], reporter=Silent())
        loop = codebase.data.owner.loop
        try:
            scheduler.add(codebase.data)
            scheduler.start()
            eventually(
                lambda: [each.is_current for each in codebase.data.states().values()] == [True]
            )
            eventually(lambda: not loop.is_running and loop.due_s > time.monotonic() + 1)
            walk.begin()
            (project / "new.py").write_text("def zebra():\n    return 1\n")
            assert walk.has_ended.wait(DEADLINE_S)
        finally:
            scheduler.close(until_s=time.monotonic() + DEADLINE_S)
    walk.require("A saved file becomes searchable")
    assert len(walk.threads) - 1 <= MOST_HAND_OVERS, list(walk.threads)


def test_a_query_is_walked_as_the_page_says(run, project, data_dir, monkeypatch, capsys):
    """Without a daemon, and a second time, so that nothing is imported."""
    assert run("index", project).status == 0
    walk = Walk(last="main")
    question = ["memory-sidecar", "search", "total of the cart", "--source", "project"]
    monkeypatch.setenv("MEMORY_SIDECAR_DATA_DIR", str(data_dir))
    monkeypatch.setattr(sys, "argv", question)
    with watched(walk):
        assert client.run() == 0, capsys.readouterr().err
        capsys.readouterr()
        walk.begin()
        assert client.run() == 0
    assert "cart.py" in capsys.readouterr().out
    walk.require("A query becomes hits")
