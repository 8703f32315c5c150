"""What is said of errors that none of ours foresaw."""

from __future__ import annotations

import errno
import pickle
import subprocess
import sys
from copy import copy

import pytest

from memory_sidecar.core.errors import (
    CannotWrite,
    Conflict,
    DiskFull,
    Interrupted,
    OutOfFiles,
    StoreCorrupt,
    StoreReadOnly,
    as_sidecar_error,
)


@pytest.mark.parametrize("again", [copy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize(
    "error",
    [
        OutOfFiles(),
        StoreCorrupt("damaged", hint="make it anew", path="/data/a.sqlite"),
        Interrupted(hint="go on later"),
        Conflict("changed", hint="read it", current={"hash": "1"}),
    ],
    ids=lambda error: error.code,
)
def test_a_copy_of_an_error_and_one_of_another_process_say_the_same(error, again):
    copied = again(error)
    assert (type(copied), copied.with_hint) == (type(error), error.with_hint)
    assert copied.as_json() == error.as_json()
    assert copied.__dict__ == error.__dict__


@pytest.mark.timeout(20)
def test_an_error_that_is_its_own_cause_is_told_once():
    error = RuntimeError("odd")
    error.__cause__ = error
    assert as_sidecar_error(error, hint="report it").message == "internal error: RuntimeError: odd"


def test_a_limit_of_the_system_is_found_below_an_error():
    error = RuntimeError("odd")
    error.__cause__ = ValueError("even")
    error.__cause__.__context__ = OSError(errno.EMFILE, "too many")
    assert isinstance(as_sidecar_error(error, hint=""), OutOfFiles)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_used_up_quota_are_no_error_of_ours(number):
    error = OSError(number, "no room", "/data/a.md")
    assert isinstance(as_sidecar_error(error, hint=""), DiskFull)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ENOLCK, errno.EFBIG])
def test_a_disk_that_fails_is_no_error_of_ours(number):
    named = as_sidecar_error(OSError(number, "it fails", "/data/a.md"), hint="report it")
    assert isinstance(named, CannotWrite)
    assert named.message == "/data/a.md cannot be read or written: it fails"
    assert "see the system's log" in named.hint


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "no memory")])
def test_that_there_is_no_memory_is_said_with_what_to_do(error):
    named = as_sidecar_error(error, hint="report it")
    assert named.message == "no memory left"
    assert "free memory" in named.hint


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_what_may_not_be_used_is_no_error_of_ours(number):
    named = as_sidecar_error(
        OSError(number, "not permitted", "/data/knowledge/a"), hint="report it"
    )
    assert isinstance(named, StoreReadOnly)
    assert named.with_hint == "/data/knowledge/a: not permitted; check its permissions"


def test_an_error_of_ours_is_one_though_something_was_refused_before():
    error = TypeError("odd")
    error.__context__ = PermissionError(errno.EACCES, "not permitted", "/data/knowledge/a")
    assert as_sidecar_error(error, hint="").message == "internal error: TypeError: odd"


WITHOUT_THREADS = """
import resource, threading
from memory_sidecar.core.errors import as_sidecar_error

resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
threading.stack_size(1 << 30)
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print(as_sidecar_error(error, hint="").message)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit of addresses")
def test_that_no_thread_can_be_started_is_said():
    told = subprocess.run([sys.executable, "-c", WITHOUT_THREADS], capture_output=True, check=True)
    assert told.stdout == b"no thread can be started\n"
