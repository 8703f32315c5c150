"""The thin client stays thin, since every call pays for its imports, and lets go when told to."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading

from memory_sidecar import client
from memory_sidecar.daemon.link import Link
from memory_sidecar.daemon.protocol import encode, greeting

# What a warm call may load beside what Python has loaded at its start.
OURS = {
    "memory_sidecar",
    "memory_sidecar.client",
    "memory_sidecar.daemon",
    "memory_sidecar.daemon.address",
    "memory_sidecar.daemon.link",
    "memory_sidecar.daemon.protocol",
    "memory_sidecar.core",
    "memory_sidecar.core.projects",
}
DIRECT = {"__future__", "_json", "_socket", "atexit"}

LOADED = "import sys; {}; print(*sys.modules)"


def loaded_by(imports: str) -> set[str]:
    command = [sys.executable, "-c", LOADED.format(imports)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_pump_of_an_agent_imports_threads_beside_that():
    direct = DIRECT | {"contextlib", "threading"}
    allowed = loaded_by("import " + ", ".join(sorted(direct)))
    pump = {"memory_sidecar.daemon.pump", "memory_sidecar.daemon.jsonrpc"}
    imported = loaded_by(f"import memory_sidecar.client, {', '.join(sorted(pump))}")
    assert imported - allowed == OURS | pump


def test_client_imports_itself_and_a_socket():
    allowed = loaded_by("import " + ", ".join(sorted(DIRECT)))
    assert loaded_by("import memory_sidecar.client") - allowed == OURS


def test_an_interrupted_command_that_goes_on_printing_is_left_alone(monkeypatch, capfd):
    monkeypatch.setattr(client, "CANCEL_PATIENCE_S", 0.05)
    ours, theirs = socket.socketpair()

    def print_for_ever() -> None:
        theirs.sendall(encode(greeting(pid=1, data_dir="")))
        try:
            while True:
                theirs.sendall(encode({"type": "err", "text": "."}))
        except OSError:
            theirs.close()

    daemon = threading.Thread(target=print_for_ever)
    daemon.start()
    link = Link(ours, "")
    assert client._interrupt(link, ["search", "x", "--json"]) == 130
    link.close()
    daemon.join()
    dots, _, said = capfd.readouterr().err.rpartition(".{")
    assert dots.startswith(".")
    error = json.loads("{" + said)["error"]
    assert error == {"code": "interrupted", "message": "interrupted", "hint": client.LATE_INTERRUPT}


def test_an_interrupted_command_that_has_not_begun_is_an_error_in_json_too(capfd):
    for frame in ({"type": "exit", "status": 130, "has_begun": False}, {"type": "refused"}):
        ours, theirs = socket.socketpair()
        theirs.sendall(encode(greeting(pid=1, data_dir="")) + encode(frame))
        link = Link(ours, "")
        assert client._interrupt(link, ["search", "x", "--json"]) == 130
        link.close()
        theirs.close()
        error = json.loads(capfd.readouterr().err)["error"]
        assert (error["code"], error["hint"]) == ("interrupted", client.NOT_BEGUN)


def test_interrupt_before_anything_is_asked_is_an_error_in_json_too(monkeypatch, capfd):
    def interrupt(_arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "_main", interrupt)
    monkeypatch.setattr(sys, "argv", ["memory-sidecar", "--data-dir", "d", "store", "x"])
    assert client.run() == 130
    assert json.loads(capfd.readouterr().err)["error"]["code"] == "interrupted"


def test_a_process_that_worked_alone_waits_for_its_threads_but_is_not_finalized(tmp_path):
    """Python would unwind threads of CocoIndex that run its code meanwhile, and they crash."""
    (tmp_path / "shop.py").write_text("def total(): ...\n")
    script = """
import atexit, sys, threading, time
from memory_sidecar.client import main

atexit.register(print, "finalized")
sys.argv = ["memory-sidecar", "index", ".", "--data-dir", "data", "--no-daemon", "--json"]
returned = threading.Event()
threading.Thread(target=lambda: (returned.wait(), time.sleep(0.5), print("waited"))).start()
status = main()
returned.set()
sys.exit(status)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    indexed, _, said = done.stdout.partition("\n")
    assert json.loads(indexed)["files_processed"] == 1
    assert (said, done.returncode) == ("waited\n", 0)


def test_what_an_ending_daemon_did_not_hear_is_asked_of_the_next(capfd):
    ours, theirs = socket.socketpair()
    theirs.sendall(encode(greeting(pid=1, data_dir="")))
    link = Link(ours, "")
    theirs.close()
    request = {"type": "run", "arguments": ["status", "--json"]}
    assert client._run_request(link, request, "data") == client.REFUSED
    assert capfd.readouterr() == ("", "")
