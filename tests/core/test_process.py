"""Who goes first, on Linux, where a thread has a niceness of its own."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_sidecar.core.process import lower_thread_priority

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a thread has no niceness")


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
