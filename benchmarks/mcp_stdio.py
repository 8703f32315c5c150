"""Measures MCP as a host sees it: python benchmarks/mcp_stdio.py [--tree DIR] [--json FILE]

Starts servers as a host does and talks to them over their standard streams, with one warm daemon
behind all of them. The vectors of the index are random (see `vectors.py`). A few minutes on two
cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from command import index_words
from figures import Results, times_ms
from latency import QUESTIONS
from options import figure_options, whole
from served import PROGRAM, Served, served
from trees import chosen_tree
from vectors import give_codebase_random_vectors

_HANDSHAKES = 20
_CLIENTS = 8


def main() -> None:
    options = _options()
    tree = chosen_tree(options)
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-mcp-") as scratch:
        data_dir = Path(scratch, "data")
        index(results, tree, data_dir)
        with served(data_dir) as daemon:
            with server(daemon, tree, "warm-up") as first:
                first.open()
                path = first.call("search_code", query="warm up")["hits"][0]["filename"]
                first.call("store_memory", content="warm up", category="codebase")
            measure_handshake(results, daemon, tree)
            measure_calls(results, daemon, tree, path)
            measure_eight(results, daemon, tree, path, calls=options.calls)
    results.write("mcp", options)


class Server:
    """An MCP server process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._say, self._hear = process.stdin, process.stdout
        self._asked = 0

    def open(self) -> None:
        self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "a benchmark", "version": "1"},
        )
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """The result of the request. Raises if there is none."""
        self._asked += 1
        self._write({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        answer = json.loads(self._hear.readline())
        assert answer["id"] == self._asked
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        content: dict[str, Any] = result["structuredContent"]
        return content

    def _write(self, message: dict[str, Any]) -> None:
        self._say.write(json.dumps(message).encode() + b"\n")
        self._say.flush()


@contextmanager
def server(daemon: Served, cwd: Path, agent: str) -> Iterator[Server]:
    """Start a server as a host does; it ends with the block."""
    process = subprocess.Popen(
        [PROGRAM, "mcp", "--output-schemas", "--agent", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=daemon.environ,
        cwd=cwd,
    )
    try:
        yield Server(process)
    finally:
        process.communicate()


def index(results: Results, tree: Path, data_dir: Path) -> None:
    """Index `tree` with random vectors, so that no embedding runs during the measurements."""
    results.add("chunks", index_words(tree, data_dir).output["chunks_total"], "chunks")
    give_codebase_random_vectors(data_dir)


def measure_handshake(results: Results, daemon: Served, cwd: Path) -> None:
    """Measure the time from process start to the answer of tools/list."""
    taken = []
    resident = 0
    for number in range(_HANDSHAKES):
        started = time.perf_counter()
        with server(daemon, cwd, f"hand-{number}") as one:
            one.open()
            assert one.ask("tools/list")["tools"]
            taken.append(1000 * (time.perf_counter() - started))
            one.call("search_code", query="parse a date")
            resident = max(resident, psutil.Process(one.process.pid).memory_info().rss)
    note = f"{_HANDSHAKES} processes, one after the other"
    results.add_spread("initialize and tools/list", taken, wanted=("≤ 150", ""), note=note)
    results.add("resident per agent, outside the daemon", resident / 2**20, "MB", wanted="≤ 20")


def measure_calls(results: Results, daemon: Served, cwd: Path, path: str) -> None:
    """Measure consecutive calls by one agent."""
    calls: dict[str, list[dict[str, Any]]] = {
        "search_code": [{"query": question} for question in QUESTIONS],
        "read_file": [{"path": path}] * 30,
        "store_memory": [
            {"content": f"Fact {n} about {q}", "category": "codebase"}
            for n, q in enumerate(QUESTIONS)
        ],
        "search_memories": [{"query": question} for question in QUESTIONS],
    }
    with server(daemon, cwd, "one-by-one") as one:
        one.open()
        taken = times_ms([partial(one.ask, "ping")] * 100)
        results.add(
            "ping, p50", statistics.median(taken), "ms", note="nothing but the way there and back"
        )
        for tool, arguments in calls.items():
            taken = times_ms(partial(one.call, tool, **each) for each in arguments)
            wanted = "≤ 15" if tool == "search_code" else ""
            results.add_spread(tool, taken, wanted=(wanted, ""))


def measure_eight(results: Results, daemon: Served, cwd: Path, path: str, *, calls: int) -> None:
    """Measure eight agents at once, each with many mixed calls."""
    started = time.perf_counter()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        agents = [f"agent-{number}" for number in range(_CLIENTS)]
        done = list(pool.map(lambda agent: _work(daemon, cwd, agent, path, calls), agents))
    seconds = time.perf_counter() - started
    taken = [each for times, _ in done for each in times]
    foreign = sum(count for _, count in done)
    note = f"{calls} calls of each of {_CLIENTS} agents; an error ends the benchmark"
    results.add("mixed calls", len(taken), "calls", note=note)
    results.add("mixed calls, in a second", len(taken) / seconds, "calls/s")
    results.add_spread("mixed calls", taken)
    results.add("memories of other agents seen", foreign, "", wanted="0")


def _work(daemon: Served, cwd: Path, agent: str, path: str, calls: int) -> tuple[list[float], int]:
    """Milliseconds of each call, and the number of memories returned that another agent wrote."""
    taken, foreign = [], 0
    with server(daemon, cwd, agent) as one:
        one.open()
        for number in range(calls):
            tool, arguments = _mixed(number, agent, path)
            started = time.perf_counter()
            answer = one.call(tool, **arguments)
            taken.append(1000 * (time.perf_counter() - started))
            foreign += sum(memory["agent"] != agent for memory in answer.get("memories", ()))
            texts = [hit["text"] for hit in answer.get("hits", ()) if "text" in hit]
            foreign += sum(agent not in text for text in texts)
    return taken, foreign


def _mixed(number: int, agent: str, path: str) -> tuple[str, dict[str, Any]]:
    """A call of the mix, mostly searches."""
    question = QUESTIONS[number % len(QUESTIONS)]
    search: tuple[str, dict[str, Any]] = ("search_code", {"query": question})
    mix: tuple[tuple[str, dict[str, Any]], ...] = (
        search,
        ("store_memory", {"content": f"{agent} on {question}", "category": "codebase"}),
        ("search_memories", {"query": question, "shared": False}),
        ("read_file", {"path": path}),
        search,
        ("save_session", {"messages": [{"role": "user", "content": f"{agent} {number}"}]}),
        ("search_sessions", {"query": question}),
        ("get_recent_memories", {"shared": False}),
        search,
        ("search_memories", {"query": question, "shared": False}),
        ("status", {}),
    )
    return mix[number % len(mix)]


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--calls", type=whole(1), default=500, help="of each of the eight agents")
    return parser.parse_args()


if __name__ == "__main__":
    main()
