"""The scene, how hard it is tried, and the record of a full run.

`./task faults` tries everything; without `--faults=full` a part of it is, for every day.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from figures import Results
from options import figure_options

from tests.faults.scene import Scene

T = TypeVar("T")
ParameterSet = Any  # pytest keeps the name of what `pytest.param` makes to itself

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # signals, mounts and processes that fork


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is tried."""

    every_point: bool  # each crash point of each command, or one
    kills: int  # of each command and each way to run it
    clients: int  # during a handover
    agents: int  # of one daemon
    descriptors: int  # that it may have


SHORT = Scale(every_point=False, kills=1, clients=6, agents=20, descriptors=128)
FULL = Scale(every_point=True, kills=5, clients=30, agents=300, descriptors=256)


class Tally:
    """What a test tried, and what of it failed: it goes on after a failure, to find them all."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record
        self.tried = 0
        self.failures: list[str] = []

    def count(self, what: str, times: int = 1) -> None:
        self._record(what, times)
        self.tried += times

    def failed(self, what: str, error: object) -> None:
        self.failures.append(f"{what}: {str(error)[:1000]}")


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    return Tally(record_property)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test fails at its end if anything in its tally did."""
    done = yield
    tally = pyfuncitem.funcargs.get("tally")
    if isinstance(tally, Tally) and tally.failures:
        pytest.fail("\n".join(tally.failures), pytrace=False)
    return done


def everyday(values: Iterable[T], *, every: int) -> list[ParameterSet]:
    """Parameters of which all but each `every`-th are left to a full run."""
    return [
        pytest.param(value, marks=() if number % every == 0 else pytest.mark.full)
        for number, value in enumerate(values)
    ]


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> Scale:
    return FULL if request.config.getoption("--faults") == "full" else SHORT


@pytest.fixture(scope="session")
def _scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    runtime_dir = Path(tempfile.mkdtemp(dir="/tmp"))  # short enough for a socket
    folder = tmp_path_factory.mktemp("faults") / "scene"
    folder.mkdir()
    scene = Scene(folder, runtime_dir)
    scene.build()
    yield scene
    scene.home.end()
    shutil.rmtree(runtime_dir)


@pytest.fixture
def scene(_scene: Scene) -> Scene:
    """The scene as it was built; no daemon runs."""
    _scene.restore()
    return _scene


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write what a full run tried, and how much of it failed, into the folder of results."""
    is_whole = not (config.option.keyword or config.option.collectonly)
    if config.getoption("--faults") != "full" or not is_whole:
        return
    tried: Counter[str] = Counter()
    reports = [
        report
        for outcome in ("passed", "failed", "skipped", "error")
        for report in terminalreporter.getreports(outcome)
    ]
    for report in reports:
        if report.when == "call":
            for what, times in report.user_properties:
                tried[what] += int(times)
    results = Results()
    for what, times in sorted(tried.items()):
        results.add(what, times, "")
    for outcome in ("passed", "failed", "skipped"):
        results.add(f"tests {outcome}", len(terminalreporter.getreports(outcome)), "")
    results.write("faults", figure_options(None).parse_args([]))
