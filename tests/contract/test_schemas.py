"""Every command's JSON is what its schema says, no property less and none that it does not name."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from schemas import (
    FOLDER,
    WITHOUT_JSON,
    all_schemas,
    commands,
    outputs,
    render,
)

from memory_sidecar.agents.services import Services
from memory_sidecar.cli.main import every_command
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings
from tests.conftest import run_here
from tests.finished import Finished

BEGAN = "2026-03-01T09:12:00Z"
SESSION = {
    "session_id": "2026-03-01-payment",
    "project_path": "/src/shop",
    "created_at": BEGAN,
    "metadata": {"model": "m"},
    "topics": ["payment"],
    "messages": [
        {"role": "user", "content": "Why does the token refresh fail?", "created_at": BEGAN},
        {"role": "assistant", "content": "Two refreshes race for one token."},
    ],
    "summary": {
        "brief": "Payment tokens refresh once",
        "detailed": "One refresh at a time.",
        "key_decisions": ["Use one lock around the token refresh of payments"],
        "problems_solved": ["Fixed the token refresh race of payments"],
        "technologies": ["Redis"],
        "outcome": "success",
        "user_note": "Prefer locks to retries",
    },
    "code_snippets": [
        {"language": "csharp", "code": "await gate;", "description": "lock", "file_path": "a.cs"}
    ],
}
OTHER = {"messages": [{"role": "user", "content": "What is a cart?"}]}

TASKS = "- id: T-1\n  text: Count the carts\n  status: open\n  priority: high\n"


class Recorder:
    """Runs commands with `--json` over one data directory, and remembers what they printed."""

    def __init__(self, services: Services, cwd: Path) -> None:
        self.printed: dict[str, list[Finished]] = {}
        self._run = partial(
            run_here,
            environ={
                "XDG_CONFIG_HOME": str(cwd.parent / "config"),
                "XDG_DATA_HOME": str(cwd.parent / "share"),
                "PATH": f"{cwd.parent / 'bin'}:{os.defpath}",
            },
            cwd=cwd,
            open_services=lambda _: nullcontext(services),
        )

    def __call__(self, command: str, *arguments: str | Path, stdin: str = "") -> Any:
        done = self._run(*command.split(), *arguments, "--json", stdin=stdin.encode())
        self.printed.setdefault(command, []).append(done)
        return done.json


@pytest.fixture(scope="module")
def printed(
    _indexed_once: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Finished]]:
    """What every command prints, by its words, at least once with all it can."""
    folder = tmp_path_factory.mktemp("outputs")
    project = shutil.copytree(_indexed_once[0], folder / "project")
    data = shutil.copytree(_indexed_once[1], folder / "data")
    registry = data / "state" / "codebase" / "sources.json"
    registry.write_text('{"version": 1, "sources": []}')
    services = Services(DataDir(data), Settings())
    call = Recorder(services, project)
    about_code(call, project)
    about_memories(call)
    about_sessions(call, folder)
    about_context(call, folder / "context")
    call("skills list")
    call("setup", "claude", "--dry-run")
    call("version")
    call("uninstall", "--dry-run", "--data", "--data-dir", data)
    call("help", "search")
    for command in ("install", "show"):
        call(f"completion {command}", "bash")
    systemctl = folder / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text("#!/bin/sh\necho active\n")
    systemctl.chmod(0o755)
    for command in ("install", "status", "uninstall"):
        call(f"service {command}", "--data-dir", data)
    call("trust", folder)
    call("skills install", folder / "skills")
    call("stop", "--data-dir", data)
    services.close()
    return call.printed


def about_code(call: Recorder, project: Path) -> None:
    call("index", project)
    call("reindex", "--all")
    call("reindex", "--source", "project")
    call("search", "--all", "total price", "--explain")
    call("search", "--all", "xyzzyplugh", "--mode", "keyword")
    call("grep", "def $F($$$ARGS): $$$")
    (project / "shop" / "till.py").write_text(
        "from shop.payment import charge_card\n\ndef ring(cart):\n    return charge_card(cart, 1)\n"
    )
    call("index", project)
    for command in ("def", "refs", "callers"):
        call(command, "charge_card", "--all")
    call("callees", "ring", "--all")
    call("map", "--source", "project")
    call("related", project / "shop" / "cart.py:3", "--all")
    call("impact", project / "shop" / "payment.py", "--all")
    call("outline", project / "shop" / "cart.py")
    call("status", "--skipped", "--failed")
    call("web", "--stop")
    call("source add", project / "docs")
    call("source list")
    call("source update", "docs")
    call("source remove", "docs")
    for path in ("shop/cart.py", "logo.png", ".git", "shop", "nowhere", "/"):
        call("why", path)
    (project / ".sidecarignore").write_text("web/\n")
    call("why", "web/retry.ts")
    here = project.parent / "moved"
    shutil.copytree(project, here)
    call("source move", "project", here)
    call("source move", here, project)
    shutil.rmtree(here)
    call("source prune", "--yes")
    gone = project.parent / "gone"
    gone.mkdir()
    call("source add", gone)
    gone.rmdir()
    call("source prune", "--yes")
    call("embed", "a text")
    call("doctor")
    for command in ("list", "fetch", "verify"):
        call(f"model {command}")


def about_memories(call: Recorder) -> None:
    call("store", "Carts are emptied at night", "--category", "pitfall", "--tag", "area:shop")
    call("store", "Carts are emptied at midnight", "--expires", "30d", "--tag", "plain")
    path = call("store", "Prices are in cents", "--category", "pattern")["path"]
    call("update", path, "--summary", "Prices")
    call("get", path)
    call("list", "--content")
    call("list")
    call("recent")
    call("query", "when are carts emptied", "--explain")
    for question in ("how are prices kept", "why cents"):
        call("judged add", question, path, "--kind", "memories")
    call("judged list")
    call("judged remove", "why cents", path)
    call("share", path)
    call("reindex", "--agent", "default")
    call("reindex", "--all")
    path = call("move", path, "pattern/money/")["path"]
    call("category create", "ideas", "what might be")
    call("category describe", "ideas", "what could be")
    call("category list")
    call("category delete", "ideas")
    batch = call("remove", path)["batch"]
    call("restore")
    call("restore", "--batch", batch)
    call("prune", "--keep", "0", "--dry-run")
    call("prune", "--keep", "0")
    call("growth")


def about_sessions(call: Recorder, folder: Path) -> None:
    call("session save", stdin=json.dumps(OTHER))
    session_id = call("session save", stdin=json.dumps(SESSION))["session_id"]
    call("session search", "token refresh", "--explain")
    call("session list")
    call("session start")
    call("session show", session_id)
    call("session promote", session_id, "--dry-run")
    call("session promote", session_id)
    (folder / "session.json").write_text(json.dumps(SESSION | {"session_id": "imported"}))
    call("session import", folder / "session.json")
    call("session prune", "--keep-count", "1", "--dry-run")
    call("session delete", session_id)
    journal = ("--file", folder / "data" / "default.mv2")
    call("episodic-put", "The build is green", *journal, "--tag", "a:b")
    call("episodic-search", "build", *journal)
    call("episodic-commit", *journal)


def about_context(call: Recorder, root: Path) -> None:
    call("context init", root, "--project", "shop")
    (root / "projects" / "shop" / "TASKS.yaml").write_text(TASKS)
    atom = call("context new", "experiment", "Carts", "--project", "shop", "--root", root)
    call("context regen", "--all", "--root", root)
    call("context access", atom["path"])
    call("context refs", "--all", "--root", root)
    call("context tasks", "--all", "--root", root)
    call("context check", "--root", root)


# What runs is listed in tests/e2e/test_uninstall.py, and a team's database is asked in tests/team.
TEAM = {f"team {command}" for command in ("init", "list", "remove", "export", "import")}
TEAM |= {"memory push", "memory pull", "source publish"}
ELSEWHERE = {"daemon list"} | TEAM


@pytest.mark.parametrize("command", sorted(outputs().keys() - ELSEWHERE))
def test_what_a_command_prints_is_what_its_schema_says(command, printed):
    schema = all_schemas()[command.replace(" ", "-")]
    Draft202012Validator.check_schema(schema)
    assert any(done.json for done in printed[command]), "nothing in it to look at"
    for done in printed[command]:
        for error in Draft202012Validator(forbidding_more(schema)).iter_errors(done.json):
            pytest.fail(f"{error.message}: see memory_sidecar/core/results.py, and ./task schemas")


def test_every_command_says_what_it_prints():
    assert {words for words, _ in commands(every_command())} == outputs().keys() | WITHOUT_JSON


def test_an_error_is_what_its_schema_says(run):
    done = run("search", "--all", "--json")
    Draft202012Validator(forbidding_more(all_schemas()["error"])).validate(json.loads(done.err))


def test_the_schemas_in_the_package_are_up_to_date():
    """`./task schemas` writes them."""
    committed = {file.stem: file.read_text("utf-8") for file in FOLDER.glob("*.json")}
    assert committed == {name: render(schema) for name, schema in all_schemas().items()}


def forbidding_more(schema: Any) -> Any:
    """`schema` without the room it leaves for properties to come."""
    if isinstance(schema, list):
        return [forbidding_more(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: forbidding_more(value) for name, value in schema.items()}
    return inner | {"additionalProperties": False} if "properties" in inner else inner
