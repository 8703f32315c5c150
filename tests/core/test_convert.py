"""Values of JSON as dataclasses, by many threads at once: a crash would end the process."""

from __future__ import annotations

import subprocess
import sys

FIRST_USES = """
import sys, threading
from dataclasses import make_dataclass
from memory_sidecar.core.results import convert

sys.setswitchinterval(1e-6)
value = {f"part{n}": {f"count{m}": m for m in range(30)} for n in range(5)}
wrong = []

def use(shape, ready):
    ready.wait()
    try:
        if convert(value, shape).part4.count29 != 29:
            wrong.append(shape)
    except Exception as error:
        wrong.append(error)

for number in range(60):
    inner = make_dataclass(f"Part{number}", [(f"count{n}", "int") for n in range(30)])
    whole = make_dataclass(f"Whole{number}", [(f"part{n}", inner.__name__) for n in range(5)])
    inner.__module__ = whole.__module__ = __name__
    globals()[inner.__name__] = inner
    ready = threading.Barrier(6)
    threads = [threading.Thread(target=use, args=(whole, ready)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(wrong)
"""


def test_the_first_uses_of_a_dataclass_may_come_at_once():
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USES], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
