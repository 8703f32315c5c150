"""Clients that this project did not write can use every tool, each for an agent of its own.

The TypeScript SDK and the inspector are npm packages; without npm, or without a registry, their
tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.e2e.home import PROGRAM, Home
from tests.mcp.test_server import NAMES

CLIENTS = Path(__file__).parent / "clients"
INSTALL_TIMEOUT_S = 300

SESSION = {
    "session_id": "2026-03-01-retries",
    "messages": [{"role": "user", "content": "How often do we retry?"}],
    "summary": {"brief": "Settled how often to retry", "key_decisions": ["Retry three times"]},
}


def calls(agent: str) -> list[tuple[str, dict[str, Any]]]:
    """One call of every tool, in an order in which each has something to do."""
    memory = f"codebase/{agent}-was-here.md"
    moved = memory.replace("codebase", "outcome")
    return [
        ("status", {}),
        ("list_sources", {}),
        ("index_project", {}),
        ("search_code", {"query": "add_item", "mode": "keyword"}),
        ("read_file", {"path": "shop/cart.py"}),
        ("store_memory", {"content": f"{agent} was here", "category": "codebase"}),
        ("search_memories", {"query": "who was here"}),
        ("query_memories", {"category": "codebase"}),
        ("get_recent_memories", {}),
        ("list_memories", {"category": "codebase"}),
        ("get_memory", {"path": memory}),
        ("update_memory", {"path": memory, "summary": "A visit"}),
        ("move_memory", {"path": memory, "to": moved}),
        ("prune_memories", {}),
        ("save_session", SESSION),
        ("search_sessions", {"query": "retry"}),
        ("get_session", {"session_id": SESSION["session_id"]}),
        ("promote_session", {"session_id": SESSION["session_id"]}),
        ("remove_memory", {"path": moved}),
    ]


def check(agent: str, results: list[dict[str, Any]]) -> None:
    """All calls went well, and nobody else's memories came back."""
    by_tool = {tool: result for (tool, _), result in zip(calls(agent), results, strict=True)}
    assert set(by_tool) == NAMES
    for tool, result in by_tool.items():
        assert not result.get("isError"), (tool, result)
        assert isinstance(result["structuredContent"], dict), tool
        assert result["content"][0]["text"], tool
    assert by_tool["search_code"]["structuredContent"]["hits"][0]["filename"] == "shop/cart.py"
    for tool in ("search_memories", "query_memories", "get_recent_memories", "list_memories"):
        memories = by_tool[tool]["structuredContent"]["memories"]
        assert [memory["title"] for memory in memories] == [f"{agent} was here"], tool


@pytest.fixture(scope="module")
def home(shared_home: Home) -> Home:
    return shared_home


@pytest.fixture(scope="module")
def project(_indexed_once: tuple[Path, Path]) -> Path:
    """Where the clients work."""
    return _indexed_once[0]


@pytest.fixture(scope="module")
def npm_clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of `package.json`, installed once for all test processes."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not here")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "npm-clients"
    with FileLock(f"{folder}.lock"):
        if not (folder / "node_modules" / ".package-lock.json").exists():
            _install(npm, folder)
    return folder


def _install(npm: str, folder: Path) -> None:
    shutil.copytree(CLIENTS, folder, dirs_exist_ok=True)
    try:
        installed = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm took too long to install the clients")
    if installed.returncode:
        pytest.skip(f"npm cannot install the clients: {installed.stderr.strip()[-200:]}")


@pytest.mark.parametrize("mode", ["legacy", "auto"])  # with a handshake and without
def test_official_python_client_uses_every_tool(home, project, mode):
    agent = f"python-{mode}"
    server = StdioServerParameters(
        command=str(PROGRAM),
        args=["mcp", "--output-schemas", "--agent", agent],
        env=home.environ,
        cwd=project,
    )

    async def main() -> list[dict[str, Any]]:
        async with Client(server, mode=mode) as client:
            assert client.instructions is not None
            assert "- project" in client.instructions
            await client.list_tools()
            results = [await client.call_tool(tool, given) for tool, given in calls(agent)]
            return [result.model_dump(mode="json", by_alias=True) for result in results]

    check(agent, asyncio.run(main()))


@pytest.mark.timeout(INSTALL_TIMEOUT_S + 120)
@pytest.mark.network
def test_typescript_client_uses_every_tool(home, project, npm_clients):
    server = {
        "command": str(PROGRAM),
        "args": ["mcp", "--output-schemas", "--agent", "ts"],
        "env": home.environ,
        "cwd": str(project),
    }
    done = subprocess.run(
        ["node", "client.mjs"],
        cwd=npm_clients,
        input=json.dumps({"server": server, "calls": calls("ts")}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told["tools"]) == NAMES
    assert told["contents"][0]["mimeType"] == "text/markdown"
    check("ts", told["results"])


@pytest.mark.timeout(INSTALL_TIMEOUT_S + 120)
@pytest.mark.network
def test_inspector_uses_every_tool(home, project, npm_clients):
    def inspect(*options: str) -> dict[str, Any]:
        program = npm_clients / "node_modules" / ".bin" / "mcp-inspector"
        server = [
            str(PROGRAM),
            "mcp",
            "--output-schemas",
            "--agent",
            "inspector",
            "--data-dir",
            str(home.data_dir),
        ]
        done = subprocess.run(
            [str(program), "--cli", *server, *options],
            cwd=project,
            env=home.environ | {"HOME": str(npm_clients)},  # where it would keep a catalog
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (options, done.stdout, done.stderr)
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def call(tool: str, given: dict[str, Any]) -> dict[str, Any]:
        pairs = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in given.items()
        ]
        options = [word for pair in pairs for word in ("--tool-arg", pair)]
        return inspect("--method", "tools/call", "--tool-name", tool, *options)

    # It also says which schemas some other client could not read.
    listed = inspect("--method", "tools/list", "--strict")
    assert {tool["name"] for tool in listed["tools"]} == NAMES
    check("inspector", [call(tool, given) for tool, given in calls("inspector")])
