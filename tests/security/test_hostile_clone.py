"""Whoever opens a hostile clone, by whatever way, is not harmed by it.

Nothing outside of the clone's own index is read, written, run or contacted. See `hostile_clone`
for all that it tries, `Scene.look` for what is looked at after each call.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from memory_sidecar.cli.main import every_command
from tests.mcp.host import Host
from tests.security.conftest import PRIVATE, Scene
from tests.security.hostile_clone import AGENT, KEY, SECRET, fingerprint, lead_out

HIDDEN = (SECRET, KEY, PRIVATE)
MAX_RESIDENT_KB = 900_000

EVENT = json.dumps(
    {"tool_name": "Read", "tool_input": {"file_path": "context/projects/q/experiments/EXP-001.md"}}
)
SESSION = json.dumps(
    {
        "session_id": "s1",
        "messages": [{"role": "user", "content": "Why does the total fail? It is not a number."}],
    }
)
A = ("--agent", AGENT)

# Each command, in an order that gives the later ones something to work on.
CALLS: list[tuple[str, tuple[str, ...], str]] = [
    ("index", (".", "--wait", "keyword"), ""),
    ("search", ("--all", "total"), ""),
    ("search", ("--all", "zanzibar ledger snarks", "--mode", "keyword"), ""),
    ("grep", ("sum($X)", "."), ""),
    ("def", ("total",), ""),
    ("refs", ("link.py:1",), ""),
    ("callers", ("total", "--depth", "3"), ""),
    ("callees", ("../../outside/profile:1",), ""),
    ("outline", ("shop/cart.py",), ""),
    ("map", ("--around", "../../outside/profile"), ""),
    ("related", ("link.py:1",), ""),
    ("impact", ("--diff",), "+++ b/../../outside/profile\n@@ -1 +1 @@\n"),
    ("embed", ("a text",), ""),
    ("store", ("Prices are in cents", "--category", "pitfall", *A), ""),
    ("query", ("old cents", *A), ""),
    ("list", A, ""),
    ("recent", A, ""),
    ("get", ("pitfall/old.md", *A), ""),
    ("get", ("home/diary.md", *A), ""),
    ("update", ("pitfall/prices-are-in-cents.md", "They are", *A), ""),
    ("move", ("pitfall/prices-are-in-cents.md", "pattern/cents.md", *A), ""),
    ("share", ("pattern/cents.md", *A), ""),
    ("remove", ("pattern/cents.md", *A), ""),
    ("prune", A, ""),
    ("restore", A, ""),
    ("category list", A, ""),
    ("category create", ("pattern/new", "What is new", *A), ""),
    ("category describe", ("pattern/new", "What is newer", *A), ""),
    ("category delete", ("pattern/new", *A), ""),
    ("team init", (), ""),
    ("team list", (), ""),
    ("team remove", ("git.example/shop", "--yes"), ""),
    ("team export", ("team.zip",), ""),
    ("team import", ("team.zip",), ""),
    ("memory push", A, ""),
    ("memory pull", A, ""),
    ("session save", A, SESSION),
    ("session list", A, ""),
    ("session start", A, ""),
    ("session search", ("total", *A), ""),
    ("session show", ("s1", *A), ""),
    ("session promote", ("s1", *A), ""),
    ("session import", ("session.jsonl", "huge.jsonl", "device.py", "pipe.py", *A), ""),
    ("session prune", ("--keep-days", "0", *A), ""),
    ("session delete", ("s1", *A), ""),
    ("episodic-put", ("A note", "--file", "journal.mv2"), ""),
    ("episodic-search", ("note", "--file", "journal.mv2"), ""),
    ("episodic-commit", ("--file", "journal.mv2"), ""),
    ("status", ("--skipped", "--failed"), ""),
    ("growth", A, ""),
    ("judged add", ("total", "shop/cart.py"), ""),
    ("judged add", ("total", "../../outside/profile"), ""),
    ("judged list", (), ""),
    ("judged remove", ("total",), ""),
    ("source add", ("shop", "--agent", AGENT), ""),
    ("source list", (), ""),
    ("source remove", ("shop", "--agent", AGENT), ""),
    ("why", ("link.py",), ""),
    ("why", ("../../outside/profile",), ""),
    ("source update", (), ""),
    ("source move", (".", "../traps"), ""),
    ("source publish", (".",), ""),
    ("source prune", ("--yes",), ""),
    ("setup", ("claude", "--dry-run"), ""),
    ("completion show", ("bash",), ""),
    ("daemon list", (), ""),
    ("uninstall", ("--dry-run", "--data"), ""),
    ("help", ("search",), ""),
    ("version", (), ""),
    ("context access", ("-",), EVENT),
    ("context access", ("-", "--commit"), EVENT),
    ("context access", ("context/projects/p/experiments/EXP-001.md",), ""),
    ("context access", ("context/projects/p/experiments/EXP-003.md",), ""),
    ("context init", ("context", "--project", "p"), ""),
    ("context new", ("experiment", "Carts", "--project", "q", "--root", "context"), ""),
    ("context regen", ("--all", "--root", "context"), ""),
    ("context check", ("--root", "context"), ""),
    ("context refs", ("--all", "--root", "context"), ""),
    ("context tasks", ("--root", "context"), ""),
    ("reindex", ("--all",), ""),
    ("doctor", (), ""),
    ("model list", (), ""),
    ("model verify", (), ""),
    ("model fetch", (), ""),
    ("service status", (), ""),
    ("skills list", (), ""),
    ("skills install", ("skills",), ""),
    ("index", ("../traps/endless", "--wait", "keyword"), ""),
    ("index", ("../traps/pipe", "--wait", "keyword"), ""),
    ("index", ("../traps/huge", "--wait", "keyword"), ""),
    ("status", (), ""),
    ("web", ("--stop",), ""),
    ("trust", ("--list",), ""),
    ("stop", (), ""),
]
# `mcp` has a test below; these change how the user's session starts.
NOT_CALLED = {"mcp", "serve", "service install", "service uninstall", "completion install"}

TOOL_CALLS: list[tuple[str, dict[str, object]]] = [
    ("status", {}),
    ("list_sources", {}),
    ("index_project", {}),
    ("search_code", {"query": "total zanzibar ledger snarks"}),
    ("read_file", {"path": "shop/cart.py"}),
    ("read_file", {"path": "link.py"}),
    ("read_file", {"path": "linked/diary.md"}),
    ("read_file", {"path": "../../outside/profile"}),
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "device.py"}),
    ("read_file", {"path": "pipe.py"}),
    ("store_memory", {"content": "Prices are in cents", "category": "pitfall"}),
    ("search_memories", {"query": "cents zanzibar ledger"}),
    ("query_memories", {}),
    ("get_recent_memories", {}),
    ("list_memories", {}),
    ("get_memory", {"path": "pitfall/prices-are-in-cents.md"}),
    ("get_memory", {"path": "home/diary.md"}),
    ("update_memory", {"path": "pitfall/prices-are-in-cents.md", "summary": "Cents"}),
    ("move_memory", {"path": "pitfall/prices-are-in-cents.md", "to": "pattern/"}),
    ("remove_memory", {"path": "pattern/prices-are-in-cents.md"}),
    ("prune_memories", {"dry_run": False}),
    ("save_session", json.loads(SESSION)),
    ("search_sessions", {"query": "total"}),
    ("get_session", {"session_id": "s1"}),
    ("promote_session", {"session_id": "s1"}),
]

CONTEXT_TOOL_CALLS: list[tuple[str, dict[str, object]]] = [
    ("list_atoms", {}),
    ("check_context", {}),
    ("list_tasks", {}),
    ("count_reads", {"paths": ["projects/q/experiments/EXP-001.md"]}),
    ("count_reads", {"paths": ["../../outside/profile"]}),
    ("write_atom", {"kind": "experiment", "summary": "Cents", "project": "q"}),
    ("regenerate_context", {}),
    ("status", {}),
]


OUTSIDE_DIFF = "--- a/../../outside/profile\n+++ b/../../outside/profile\n@@ -1 +1 @@\n-x\n+y\n"
NAME_TOOL_CALLS: list[tuple[str, dict[str, object]]] = [
    ("def", {"name": "total"}),
    ("refs", {"name": "link.py:1"}),
    ("callers", {"name": "total", "depth": 3}),
    ("callees", {"name": "../../outside/profile:1"}),
    ("impact", {"files": ["shop/cart.py", "../../outside/profile"]}),
    ("impact", {"diff": OUTSIDE_DIFF}),
    ("outline", {"path": "../../outside/profile"}),
    ("map", {"around": "shop/cart.py"}),
    ("grep", {"pattern": "$NAME = $VALUE"}),
    ("grep", {"pattern": "$NAME = $VALUE", "paths": ["../../outside/**"]}),
    ("related", {"path": "link.py:1"}),
    ("related", {"path": "../../outside/profile:1"}),
    ("status", {}),
]


def leaves(command: click.Command, above: str = "") -> list[str]:
    if not isinstance(command, click.Group):
        return [above.strip()]
    return [
        leaf for name, each in command.commands.items() for leaf in leaves(each, f"{above} {name}")
    ]


def test_every_command_is_called():
    assert {command for command, *_ in CALLS} | NOT_CALLED == set(leaves(every_command()))


def is_here(arguments: tuple[str, ...]) -> bool:
    """Whether it is not about the traps, which one test is enough for."""
    return not any("traps" in argument for argument in arguments)


def own_files(scene: Scene) -> list[Path]:
    folder = scene.user.folder.parent
    return [
        path
        for name in (".local", ".config", ".cache")
        for path in (folder / name).rglob("*")
        if path.is_file() and not path.is_symlink()
    ]


@pytest.mark.timeout(600)
def test_no_command_is_turned_against_its_user(scene):
    said = ""
    for command, arguments, stdin in CALLS:
        if command == "stop":
            assert peak_resident_kb(scene.user.pid) < MAX_RESIDENT_KB
        done = scene.call(*command.split(), *arguments, stdin=stdin)
        said += done.stdout + done.stderr
    assert scene.harm == []
    assert [word for word in (*HIDDEN, "\x1b") if word in said] == []
    for path in own_files(scene):
        content = path.read_bytes()
        assert [word for word in HIDDEN if word.encode() in content] == [], path
    changed = ("context", "journal.mv2", "knowledge", "episodic", "skills")  # as it was told to
    after = fingerprint(scene.clone, without=changed)
    before = fingerprint_without(scene.clone_before, changed)
    assert after == before


@pytest.mark.timeout(600)
def test_nor_without_a_daemon(scene):
    alone = ("index", "search", "store", "query", "session save", "session promote", "doctor")
    for command, arguments, stdin in CALLS:
        if is_here(arguments) and (command in alone or command.startswith("context access")):
            scene.call(*command.split(), *arguments, stdin=stdin, MEMORY_SIDECAR_NO_DAEMON="1")
    assert scene.harm == []


@pytest.mark.timeout(600)
def test_no_tool_is_turned_against_its_user(scene):
    call_each(scene, TOOL_CALLS)
    assert fingerprint(scene.clone) == scene.clone_before


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("toolset", "calls", "folder"),
    [("context", CONTEXT_TOOL_CALLS, "context"), ("names", NAME_TOOL_CALLS, ".")],
)
def test_no_tool_that_is_asked_for_is_either(scene, toolset, calls, folder):
    call_each(scene, calls, "--tools", toolset, folder=folder)


def call_each(scene, calls, *options, folder="."):
    """Call every tool that a client is offered, and look for harm and for what is hidden."""
    scene.call("index", ".", "--wait", "keyword")
    host = Host(scene.user, *A, *options, cwd=scene.clone / folder)
    host.open()
    tools = {tool["name"] for tool in host.ask("tools/list")["result"]["tools"]}
    assert tools == {name for name, _ in calls}
    said = ""
    for name, arguments in calls:
        said += json.dumps(host.call(name, **arguments))
        scene.look(name)
    host.end()
    assert scene.harm == []
    assert [word for word in HIDDEN if word in said] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "registries", ["as they are", pytest.param("of the user", marks=pytest.mark.full)]
)
def test_nor_if_the_user_names_its_data_directory(scene, registries):
    """That is trust, and still nothing in it leads out of it."""
    if registries == "of the user":
        for registry in scene.clone.glob("data/memory/**/sources.json"):
            registry.unlink()
    tried = {"index", "store", "query", "get", "prune", "restore", "status", "reindex", "stop"}
    tried |= {"session save", "session search", "session import", "session promote"}
    for command, arguments, stdin in CALLS:
        if is_here(arguments) and command in tried:
            scene.call(*command.split(), *arguments, "--data-dir", "data/memory", stdin=stdin)
    assert scene.harm == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        *("state/codebase", f"knowledge/.state/{AGENT}"),
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("state", "knowledge", f"episodic/{AGENT}")
        ),
    ],
)
def test_nor_if_one_of_its_folders_leads_out_of_it(scene, name):
    lead_out(scene.clone / "data" / "memory", name, scene.outside)
    scene.before = fingerprint(scene.outside.folder)
    tried = ("index", "store", "query", "prune", "session save", "reindex", "stop")
    for command, arguments, stdin in CALLS:
        if is_here(arguments) and command in tried:
            scene.call(*command.split(), *arguments, "--data-dir", "data/memory", stdin=stdin)
    assert scene.harm == []


def fingerprint_without(before: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {path: what for path, what in before.items() if path.partition("/")[0] not in names}


def peak_resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())
    return int(peak)
