"""Eight agents at once on one daemon: every call is answered, and nobody hears of the others."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.mcp.host import Host

AGENTS = [f"agent-{letter}" for letter in "abcdefgh"]
ROUNDS = 5


def work(host: Host, agent: str) -> list[dict[str, Any]]:
    """The results of many calls, several of them under way at a time."""
    host.open()
    results = []
    for number in range(ROUNDS):
        asked = [
            host.begin_call(tool, **arguments)
            for tool, arguments in (
                ("store_memory", {"content": f"{agent} saw {number}", "category": "codebase"}),
                ("search_code", {"query": "add_item", "mode": "keyword"}),
                ("read_file", {"path": "shop/cart.py"}),
                ("save_session", {"messages": [{"role": "user", "content": f"{agent} {number}"}]}),
                ("status", {}),
            )
        ]
        answers = {message["id"]: message for message in (host.hear() for _ in asked)}
        assert [answer for answer in answers.values() if "result" not in answer] == []
        results += [answers[each]["result"] for each in asked]
        results += [
            host.call("search_memories", query="what was seen", top_k=50),
            host.call("get_recent_memories", limit=100, max_tokens=100_000),
            host.call("search_sessions", query="agent", top_k=50),
        ]
    return results


def test_eight_agents_at_once_hear_of_themselves_alone(home, start):
    hosts = [start("--agent", agent) for agent in AGENTS]
    with ThreadPoolExecutor(len(AGENTS)) as pool:
        by_agent = dict(zip(AGENTS, pool.map(work, hosts, AGENTS), strict=True))
    assert home.log.count("serves") == 1
    for agent, results in by_agent.items():
        assert len(results) == ROUNDS * 8
        assert [result for result in results if result.get("isError")] == []
        told = json.dumps(results)
        assert [other for other in AGENTS if other != agent and other in told] == []
        recent = results[-2]["structuredContent"]["memories"]
        assert {memory["content"] for memory in recent} == {
            f"{agent} saw {number}" for number in range(ROUNDS)
        }
