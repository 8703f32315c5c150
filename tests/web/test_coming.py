"""What is still being indexed keeps no view waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_sidecar.agents.watching import Watching
from memory_sidecar.index.database import Database
from memory_sidecar.sessions.builder import SessionBuilder
from memory_sidecar.web.site import Site
from memory_sidecar.web.visit import Visit
from tests.conftest import hashing_services
from tests.waiting import eventually, held_back
from tests.web.conftest import Served


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Served]:
    """A page as the daemon serves it."""
    with hashing_services(tmp_path / "data") as services:
        site = Site(services, environ={}, daemon_log="", idle_s=600)
        watching = Watching(services)
        watching.start()
        site.start()
        yield Served(site, services, tmp_path)
        site.close()
        watching.close()


def write_sessions(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        said = {"role": "user", "content": "hello", "created_at": "2026-03-01T09:00:00Z"}
        session = {
            "session_id": f"s-{number}",
            "created_at": "2026-03-01T09:00:00Z",
            "messages": [said],
        }
        (folder / f"s-{number}.json").write_text(json.dumps(session))


def test_a_first_index_is_not_waited_for(watched, tmp_path, monkeypatch):
    for patience in ("FIRST_LOOK_S", "MISSING_PATIENCE_S"):
        monkeypatch.setattr(f"memory_sidecar.index.database.{patience}", 3600.0)
    with held_back(monkeypatch, SessionBuilder, "build"):
        watched.store("Known already", agent="architect")
        write_sessions(tmp_path / "data" / "episodic" / "later" / "2026-03", 3)
        reader = watched.reader()
        first = reader.get("/sessions")
        assert (first.status, "later is " in first.text) == (200, True)
        assert "No session" not in first.text
        memories = reader.get("/memories")
        assert "Known already" in memories.text
    data = watched.services.agent("later").data
    assert data.wait_fresh(patience_s=60.0)
    # The pass that this came into has nothing left to do, and tells of itself until it ends.
    eventually(lambda: not any(live.indexing for live in data.states().values()))
    last = reader.get("/sessions")
    assert last.text.count("data-row") == 3
    assert "later is " not in last.text


@pytest.mark.browser
def test_what_is_said_of_indexing_goes_once_that_is_done(watched, tmp_path, monkeypatch, chromium):
    page = chromium.new_page()
    page.goto(watched.site.address())
    page.wait_for_url("**/memories")
    said = page.locator("#notes", has_text="later is ")
    with held_back(monkeypatch, SessionBuilder, "build"):
        write_sessions(tmp_path / "data" / "episodic" / "later" / "2026-03", 3)
        page.goto(f"http://127.0.0.1:{watched.site.port}/sessions")
        said.wait_for()
    page.locator("[data-row]").nth(2).wait_for()
    said.wait_for(state="detached")
    page.context.close()


def test_an_agent_that_was_scanned_is_not_opened_to_see_that(watched, monkeypatch):
    """Of very many agents, each view would open the database of each once more."""
    watched.store("Known already", agent="architect")
    agent = watched.services.agent("architect")
    assert agent.data.wait_fresh(patience_s=60.0)
    monkeypatch.setattr(Database, "open_anew", lambda _: pytest.fail("it was opened"))
    assert Visit("/memories", (), watched.services, {}, "").can_show(agent)
