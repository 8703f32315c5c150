"""The model's memory comes back when nobody asks, and the model when somebody does."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from memory_sidecar.agents import watching
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.watching import Watching
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.store import CHUNKS
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.index.scheduler import UNLOAD_AFTER_S, Scheduler
from tests.waiting import eventually


@pytest.fixture
def services(data_dir):
    services = Services(DataDir(data_dir), Settings())
    yield services
    services.close()


def test_what_was_used_just_now_stays(services):
    services.models.embedder.embed_query("a cart")
    assert not services.unload(unused_for_s=3600)
    assert services.models.is_loaded


def test_what_is_unused_goes_and_comes_back_with_the_same_answer(services):
    before = services.models.embedder.embed_query("a cart").tobytes()
    assert services.unload(unused_for_s=0)
    assert not services.models.is_loaded
    assert not services.unload(unused_for_s=0)  # there is nothing left
    services.models.embedder.embed_passages(["another"])
    assert services.models.is_loaded
    assert services.models.embedder.embed_query("a cart").tobytes() == before


def test_vectors_go_from_memory_however_late_it_is_looked_at(make_codebase, project):
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    codebase.search(CodeQuery("a cart"), reporter=Silent())
    vectors = codebase.data.open().indexes[CHUNKS.vector_table]
    assert len(vectors._rows.codes.ids) > 0
    codebase.data.file.used_at_s = time.monotonic() - 2 * UNLOAD_AFTER_S
    scheduler = Scheduler()
    scheduler.add(codebase.data)
    scheduler._poll()
    assert len(vectors._rows.codes.ids) == 0
    scheduler.close(until_s=time.monotonic() + 60)


def test_it_is_looked_at_from_time_to_time(services, monkeypatch):
    monkeypatch.setattr(watching, "CHECK_IDLE_S", 0.01)
    services.models.embedder.load()
    monkeypatch.setattr(services.models.embedder, "used_at", time.monotonic() - 61)
    services.settings = replace(services.settings, idle_unload_minutes=1)
    idling = Watching(services)
    idling.start()
    eventually(lambda: not services.models.is_loaded)
    idling.close()
