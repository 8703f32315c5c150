"""The thin client stays thin: what it imports is paid for by every single call."""

from __future__ import annotations

import json
import subprocess
import sys

# What a warm call may load beside what Python has loaded at its start.
OURS = {
    "memory_sidecar",
    "memory_sidecar.client",
    "memory_sidecar.daemon",
    "memory_sidecar.daemon.address",
    "memory_sidecar.daemon.link",
    "memory_sidecar.daemon.protocol",
    "memory_sidecar.locate",
}
DIRECT = {"__future__", "_socket", "json"}

LOADED = "import sys, json; before = set(sys.modules); {}; print(json.dumps(list(sys.modules)))"


def loaded_by(imports: str) -> set[str]:
    command = [sys.executable, "-c", LOADED.format(imports)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_pump_of_an_agent_imports_threads_beside_that() -> None:
    direct = DIRECT | {"contextlib", "threading"}
    allowed = loaded_by("import " + ", ".join(sorted(direct)))
    pump = "memory_sidecar.daemon.pump"
    assert loaded_by(f"import memory_sidecar.client, {pump}") - allowed == OURS | {pump}


def test_client_imports_itself_json_and_a_socket() -> None:
    allowed = loaded_by("import " + ", ".join(sorted(DIRECT)))
    assert loaded_by("import memory_sidecar.client") - allowed == OURS
