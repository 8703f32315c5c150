"""Memories through the daemon: stored and asked for as the host does, and edited beside it."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.home import Home
from tests.waiting import eventually


def ask(home: Home, text: str) -> list[str]:
    """The host's own call; the contents that it reads."""
    database = home.data_dir / "knowledge" / "architect.sqlite"
    done = home.call(
        *("query", text, "--agent", "architect", "--top-k", 3),
        *("--db", database, "--json-output"),
    )
    if done.returncode != 0:
        return []  # as the host takes it
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return [hit["content"] for hit in found]


def store(home: Home, text: str, **environment: str) -> None:
    database = home.data_dir / "knowledge" / "architect.sqlite"
    done = home.call(
        *("store", text, "--agent", "architect", "--category", "pitfall", "--db", database),
        **environment,
    )
    assert done.returncode == 0, done.stderr


def wait_for(home: Home, text: str, content: str) -> None:
    eventually(lambda: content in ask(home, text))


def test_what_is_written_by_whomever_is_found(home):
    assert ask(home, "anything") == []
    store(home, "Never retry a payment without a key.")
    assert home.is_served
    assert ask(home, "retry a payment") == ["Never retry a payment without a key."]
    # By hand, while the daemon watches.
    folder = home.data_dir / "knowledge" / "architect"
    (folder / "by-hand.md").write_text("Invoices are rounded late.\n")
    wait_for(home, "rounded invoices", "Invoices are rounded late.")
    # By a process that does without the daemon, which holds the database.
    store(home, "Queues drain before a stop.", MEMORY_SIDECAR_NO_DAEMON="1")
    assert "Queues drain before a stop." in ask(home, "queues drain")
    # And in a new daemon, over files alone.
    home.call("stop")
    for database in (home.data_dir / "knowledge").glob("*.sqlite*"):
        database.unlink()
    wait_for(home, "queues drain", "Queues drain before a stop.")
    assert len(json.loads(home.call("list", "--agent", "architect", "--json").stdout)) == 3
