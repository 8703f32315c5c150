"""What a process has on Linux: a niceness for each thread, and a limit of memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_sidecar.core.process import lower_thread_priority

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has both")


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_a_thread_goes_behind_with_those_that_it_starts_and_no_others():
    before = niceness()

    def go() -> tuple[int, int]:
        lower_thread_priority(before + 3)
        with ThreadPoolExecutor(1) as started:
            return niceness(), started.submit(niceness).result()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(go).result() == (before + 3, before + 3)
    assert niceness() == before


def test_a_thread_that_is_nicer_already_stays_so():
    before = niceness()

    def go() -> int:
        lower_thread_priority(before + 4)
        lower_thread_priority(before + 2)
        return niceness()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(go).result() == before + 4


LIMITED = """
import os, sys
from memory_sidecar.core.children import run_child
from memory_sidecar.core.process import MAX_DATA_BYTES, limit_memory

limit_memory()
take = f"bytes({MAX_DATA_BYTES + (1 << 20)})"  # asked for and, unlike a bytearray, never touched
once_lifted = f"import sys; sys.stdin.read(); {take}"  # what it reads ends after that
child = run_child([sys.executable, "-c", once_lifted], environ=os.environ, timeout_s=30)
assert child.returncode == 0, child.stderr
assert run_child(child.args, environ=os.environ, timeout_s=30, is_limited=True).returncode == 1
try:
    eval(take)
except MemoryError:
    print("the child alone had it")
"""


def test_memory_has_a_limit_here_and_in_programs_only_where_asked():
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("the child alone had it\n", "")


LARGE_STACKS = """
import resource
from memory_sidecar.core.process import MAX_STACK_BYTES, limit_memory

before = resource.getrlimit(resource.RLIMIT_DATA)
_, hard = resource.getrlimit(resource.RLIMIT_STACK)
resource.setrlimit(resource.RLIMIT_STACK, (MAX_STACK_BYTES + 1, hard))
limit_memory()
assert resource.getrlimit(resource.RLIMIT_DATA) == before
"""


def test_memory_has_no_limit_that_the_stacks_of_threads_would_reach():
    subprocess.run([sys.executable, "-c", LARGE_STACKS], check=True)


LESS_ADDRESSES = """
import resource, sys
from memory_sidecar.core.process import limit_addresses

def limit():
    return resource.getrlimit(resource.RLIMIT_AS)

before = limit()
sys.platform = "darwin"  # which refuses to set one
limit_addresses(1 << 40)
assert limit() == before
sys.platform = "linux"
for most, expected in [(1 << 40, 1 << 40), (1 << 41, 1 << 40)]:
    limit_addresses(most)
    assert limit() == (expected, expected)
"""


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY, reason="has one already"
)
def test_a_limit_of_addresses_is_never_raised():
    subprocess.run([sys.executable, "-c", LESS_ADDRESSES], check=True)


@pytest.mark.parametrize("option", ["v", "d"])
@pytest.mark.parametrize("alone", ["0", "1"])
def test_too_low_a_limit_of_memory_is_told_before_any_work(tmp_path, option, alone):
    command = f"ulimit -{option} 300000 && exec {sys.executable} -m memory_sidecar.client status"
    told = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"MEMORY_SIDECAR_NO_DAEMON": alone, "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stderr.startswith(
        f"memory-sidecar: `ulimit -{option}` allows only 300,000 KiB of memory — raise it to "
    )
    assert (told.returncode, told.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("command", ["stop", "daemon list"])
def test_a_low_limit_of_memory_lets_daemons_be_listed_and_stopped(tmp_path, command):
    """Hints advise it where memory is short, and it takes 40 MB."""
    done = subprocess.run(
        [
            "sh",
            "-c",
            f"ulimit -v 300000 && exec {sys.executable} -m memory_sidecar.client {command}",
        ],
        env=os.environ | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "no daemon runs" in done.stdout + done.stderr
    assert done.returncode == 0
