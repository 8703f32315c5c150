"""Others at work on the same data: a second daemon, another path to it, another build, a crowd."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from memory_sidecar import __version__
from tests.e2e.home import Home
from tests.faults.conftest import Tally

ANSWERED_S = 30.0  # by any call, whoever holds a lock
STOPPED_S = 15.0  # ten for the daemon, the rest for a machine that is busy
MOST_THREADS = 40
STORES = 6
ENOUGH = 3  # failures: each may have taken a minute
CLIENT = "import sys; from memory_sidecar.client import main; sys.exit(main())"
LISTED = ("list", "--content", "--limit", "1000", "--json")


def call(home: Home, tally: Tally, *arguments: object, within_s: float = ANSWERED_S) -> str | None:
    """What it printed; None where it failed, which is in the tally, or three calls did before."""
    if len(tally.failures) >= ENOUGH:
        return None
    began = time.monotonic()
    try:
        done = home.call(*arguments)
    except subprocess.TimeoutExpired as error:
        tally.failed(" ".join(map(str, arguments)), f"no answer in {error.timeout:.0f} s")
        return None
    if (took_s := time.monotonic() - began) > within_s:
        tally.failed(" ".join(map(str, arguments)), f"answered after {took_s:.0f} s")
    if done.returncode:
        tally.failed(" ".join(map(str, arguments)), f"{done.returncode}: {done.stderr[-400:]}")
        return None
    return done.stdout


def contents(listed: str | None) -> Counter[str]:
    return Counter(memory["content"] for memory in json.loads(listed or "[]"))


@pytest.mark.timeout(600)
def test_two_daemons_with_one_agent(scene, tally, tmp_path):
    """The second has another data directory and names the database of the first with `--db`."""
    environ = {k: v for k, v in scene.home.environ.items() if k.startswith("MEMORY_SIDECAR_MODEL")}
    (tmp_path / "other").mkdir()
    other = Home(tmp_path / "other", scene.home.runtime_dir, **environ)
    database = ("--agent", "a", "--db", scene.data / "knowledge" / "a.sqlite")
    try:
        with ThreadPoolExecutor(2) as pool:
            stored = [
                pool.submit(call, home, tally, "store", f"Fact {step} of {who}", *database)
                for step in range(STORES)
                for who, home in (("one", scene.home), ("the other", other))
            ]
        told = {f"Fact {n // 2} of {('one', 'the other')[n % 2]}" for n in range(2 * STORES)}
        assert len(stored) == len(told)
        for home in (scene.home, other):
            there = contents(call(home, tally, *LISTED, *database))
            for fact in sorted(told):
                if there[fact] != 1:
                    tally.failed(fact, f"is there {there[fact]} times")
            call(home, tally, "query", "fact", "--mode", "keyword", *database)
        for home in (other, scene.home):
            call(home, tally, "stop", within_s=STOPPED_S)
            if home.is_served:
                tally.failed("stop", "the daemon serves on")
    finally:
        other.end()
    tally.count("calls of two daemons", 2 * STORES + 6)


@pytest.mark.timeout(600)
def test_a_data_directory_by_its_name_and_by_a_link(scene, tally, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(scene.data, target_is_directory=True)
    names = (scene.data, link)
    for number, (way, database) in enumerate((way, db) for way in names for db in names):
        named = ("--data-dir", way)
        agent = ("--agent", "a", "--db", database / "knowledge" / "a.sqlite")
        source = (scene.folder / "src", "--wait", "keyword", "--db", database / "codebase.sqlite")
        call(scene.home, tally, "index", *source, *named)
        call(scene.home, tally, "store", f"Fact {number}", *agent, *named)
        there = contents(call(scene.home, tally, *LISTED, *agent, *named))
        if there[f"Fact {number}"] != 1:
            tally.failed(f"Fact {number}", f"is there {there[f'Fact {number}']} times")
    call(scene.home, tally, "stop", within_s=STOPPED_S)
    tally.count("calls through a link", 12)


@pytest.mark.timeout(600)
def test_a_database_of_another_agent_named_once(scene, tally):
    """A mistake costs the call that makes it and no other."""
    wrong = ("--agent", "a", "--db", scene.data / "knowledge" / "b.sqlite")
    try:
        scene.home.call("store", "Meant for a", *wrong)
    except subprocess.TimeoutExpired:
        tally.failed("store with the database of another agent", "no answer")
    call(scene.home, tally, "store", "Meant for b", "--agent", "b")
    assert contents(call(scene.home, tally, *LISTED, "--agent", "b"))["Meant for b"] == 1
    call(scene.home, tally, "stop", within_s=STOPPED_S)


@pytest.mark.timeout(600)
def test_clients_of_two_builds_at_once(scene, scale, tally, tmp_path):
    """The daemon of the older one hands over to that of the newer one while all of them ask."""
    package = Path(sys.modules["memory_sidecar"].__file__ or "").parent
    newer = shutil.copytree(
        package, tmp_path / "newer" / package.name, ignore=shutil.ignore_patterns("__pycache__")
    )
    module = newer / "__init__.py"
    module.write_text(module.read_text().replace(__version__, "99.0.0"))
    builds: tuple[dict[str, str], ...] = ({}, {"PYTHONPATH": str(newer.parent)})
    line = scene.here("list", "--agent", "a", "--json")
    clients = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", CLIENT, *line],
            env={**scene.home.environ, **builds[number % 2]},
            cwd=scene.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(scale.clients)
    ]
    for number, client in enumerate(clients):
        try:
            out, err = client.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            client.kill()
            tally.failed(f"client {number}", "no answer")
            continue
        if client.returncode or len(json.loads(out)) != 2:
            tally.failed(f"client {number}", f"{client.returncode}: {err[-400:]}")
    tally.count("clients at a handover", len(clients))
    if scene.home.is_served:
        served = Path(f"/proc/{scene.home.pid}/environ").read_bytes()
        assert os.fsencode(newer.parent) in served, "the older build's daemon serves at the end"


def test_more_agents_than_descriptors(scene, scale, tally):
    """A daemon gives back what an agent took, and stays small."""
    limit = (scale.descriptors, scale.descriptors)
    daemon = scene.home.start(
        "serve",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit),
    )
    try:
        while not scene.home.is_served:
            assert daemon.poll() is None
            time.sleep(0.01)
        names = [f"agent{number}" for number in range(scale.agents)]
        for name in names:
            call(scene.home, tally, "store", f"What {name} knows", "--agent", name)
        process = psutil.Process(scene.home.pid)
        if (threads := process.num_threads()) > MOST_THREADS:
            tally.failed("threads", threads)
        tally.count("agents of one daemon", len(names))
        for name in names[:: max(len(names) // 10, 1)]:
            there = contents(call(scene.home, tally, *LISTED, "--agent", name))
            if there[f"What {name} knows"] != 1:
                tally.failed(name, f"lists {dict(there)}")
        if call(scene.home, tally, "stop", within_s=STOPPED_S) is not None:
            daemon.wait(timeout=STOPPED_S)
    finally:
        daemon.kill()
        daemon.wait()
