"""In every search, what is told of a score adds up to it."""

from __future__ import annotations

import pytest

from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryQuery
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionQuery
from tests.conftest import write_memory

NOW = 1_772_356_320_000


def adds_up(hits) -> bool:
    assert hits
    reasons = [getattr(hit, "explain", None) or hit.explanation for hit in hits]
    told = [sum(reason.terms.values()) for reason in reasons]
    scores = [hit.relevance if hasattr(hit, "relevance") else hit.score for hit in hits]
    return told == pytest.approx(scores, abs=1e-5)  # each is rounded


@pytest.mark.parametrize("mode", SearchMode)
def test_the_terms_of_a_hit_in_code_add_up_to_its_score(make_codebase, project, mode):
    (project / "tests").mkdir()
    (project / "tests" / "test_cart.py").write_text("def test_total_price(): ...\n")
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    for text in ("total_price", "shop/cart.py", "charge the card of a customer", "price of order"):
        hits = codebase.search(CodeQuery(text, mode=mode, explain=True), reporter=Silent())
        assert adds_up(hits)
    codebase.index([project], reporter=Silent(), full=True)
    (project / "late.py").write_text("def late_price(): ...\n")
    codebase.index([project], reporter=Silent(), embed=False)
    late = codebase.search(CodeQuery("late price", mode=mode, explain=True), reporter=Silent())
    assert adds_up(late)


@pytest.mark.parametrize("mode", SearchMode)
def test_the_terms_of_a_memory_add_up_to_its_score(make_agent, data_dir, mode):
    folder = data_dir / "knowledge" / "architect"
    for number in range(5):
        write_memory(folder, f"m{number}.md", f"Retry with a delay of {number} seconds.")
    write_memory(folder, "old.md", "Retry at once.", status="superseded", updated_at="2020-01-01")
    agent = make_agent(clock=lambda: NOW)
    everything = MemoryFilter(with_superseded=True)
    for text in ("retry with a delay", "retry as m3.md says"):
        query = MemoryQuery(text=text, mode=mode, filter=everything, explain=True)
        assert adds_up(Memories(agent, Silent()).query(query))


@pytest.mark.parametrize("mode", SearchMode)
def test_the_terms_of_a_hit_in_a_session_add_up_to_its_score(make_agent, mode):
    sessions = Sessions(make_agent(), Silent())
    told = ("where is the token", "in the header", "and the refresh", "every hour", "thanks")
    messages = [{"role": "user", "content": text} for text in told]
    sessions.save({"session_id": "a", "messages": messages})
    assert adds_up(
        sessions.search(SessionQuery(text="token header refresh", mode=mode, explain=True))
    )
