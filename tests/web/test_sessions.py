"""Sessions on the page: by day, one with what lies around it, and what it is worth to remember."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from memory_sidecar.core.model import Asked
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import iso_utc, system_clock
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.sessions.model import SessionFilter
from tests.web.conftest import SCRIPT, Reader, Served
from tests.web.test_memories import Pieces

ONE = "/sessions/one?agent=architect&id=s-1"


@pytest.fixture(scope="module", autouse=True)
def _spoken(served: Served) -> None:
    now = iso_utc(system_clock() - 1000)
    began = "2026-03-01T09:00:00Z"
    messages = [{"role": "user", "content": f"# Why {SCRIPT}", "created_at": now}]
    old = messages[0] | {"created_at": began}
    documents: dict[str, list[dict[str, Any]]] = {
        "architect": [
            {
                "session_id": "s-1",
                "created_at": now,
                "project_path": f"/src/{SCRIPT}",
                "topics": ["carts"],
                "messages": messages,
                "summary": {
                    "brief": "Carts are emptied by a job",
                    "key_decisions": ["Empty the carts at night"],
                    "outcome": "success",
                },
                "code_snippets": [{"code": f"x = '{SCRIPT}'", "language": "python"}],
            },
            {"session_id": "s-0", "created_at": began, "messages": [old] * 60},
        ],
        "builder": [{"session_id": "s-2", "created_at": now, "messages": messages}],
    }
    for agent, those in documents.items():
        for document in those:
            served.services.sessions(agent, reporter=Silent()).save(document)
    kept = served.store("Jobs run at night")
    Memories(served.services.agent("architect"), Silent()).get(kept.path)


def ids(reader: Reader, words: str) -> list[str]:
    """Those of `_spoken`, which each test may rely on, in the order of the page."""
    listed = reader.get(f"/sessions?json=1&{words}").json["sessions"]
    found = (each["session"]["session_id"] for each in listed)
    return [each for each in found if each in ("s-0", "s-1", "s-2")]


def test_sessions_are_told_by_day_and_narrowed(reader):
    assert set(ids(reader, "")) == {"s-0", "s-1", "s-2"}
    assert ids(reader, "")[-1] == "s-0"
    assert set(ids(reader, "as=architect")) == {"s-0", "s-1"}
    assert ids(reader, "agent=builder") == ["s-2"]
    assert ids(reader, "as=architect&agent=builder") == []
    assert ids(reader, "topic=carts") == ids(reader, "outcome=success") == ["s-1"]
    assert ids(reader, "before=2026-04-01") == ["s-0"]
    for wrong in ("outcome=none", "after=noon"):
        assert reader.get(f"/sessions?{wrong}").status == 400
    assert reader.get("/sessions").text.count('class="day"') >= 2
    assert reader.get("/sessions/one?as=architect&agent=builder&id=s-2").status == 404


def test_sessions_of_one_moment_are_listed_in_the_order_of_the_command(served, reader):
    sessions = served.services.sessions("twin", reporter=Silent())
    for name in ("b", "a", "c"):
        said = [{"role": "user", "content": f"Carts {name}"}]
        sessions.save({"session_id": name, "created_at": "2026-03-01", "messages": said})
    listed = reader.get("/sessions?agent=twin&json=1").json["sessions"]
    assert [each["session"]["session_id"] for each in listed] == ["a", "b", "c"]
    heads = sessions.list_sessions(SessionFilter())
    assert [head.session_id for head in heads] == ["a", "b", "c"]


def test_one_session_has_what_was_said_recalled_and_asked(served, reader):
    questions = served.services.questions
    sessions = served.services.sessions("architect", reporter=Silent())
    questions.ask_and_log(Asked.MEMORIES, "architect", "who empties carts", list)
    shown = reader.get(f"{ONE}&json=1").json
    assert shown["session"] == sessions.get("s-1").document
    around = shown["around"]
    assert [each["path"] for each in around["recalled"]] == ["pitfall/jobs-run-at-night.md"]
    assert [each["text"] for each in around["asked"]] == ["who empties carts"]
    for path in (ONE, f"{ONE}&promote=1", "/sessions"):
        text = reader.get(path).text
        assert "&lt;script&gt;" in text
        assert Pieces(text).found == []
    long = "/sessions/one?agent=architect&id=s-0"
    assert reader.get(long).text.count('class="message') == 50
    assert 'id="m59"' in reader.get(f"{long}&page=2").text


def test_links_between_sessions_and_memories_lead_somewhere(served, reader):
    def links(address: str, to: str) -> list[str]:
        shown = unescape(reader.get(address).text)
        found: list[str] = re.findall(rf'href="({to}[^"]*)"', shown)
        assert [each for each in found if reader.get(each).status != 200] == []
        return found

    evidence = ("session:s-1", "session:never", "session:../s-1", "session:")
    own = served.store("Carts are emptied at noon", evidence=evidence)
    shared = served.store(
        "Carts are full at night", agent="shared", evidence=evidence, source="agent:architect"
    )
    for each in (own, shared):
        address = "/memories/one?" + urlencode({"agent": each.agent, "path": each.path})
        assert links(address, "/sessions/one") == [ONE]
    assert links(f"{address}&as=builder", "/sessions/one") == []
    agent = served.services.agent("architect")
    log, memories = agent.paths.access_log, Memories(agent, Silent())
    before = log.read_bytes()
    memories.get(own.path)
    assert len(links(ONE, "/memories/one")) == len(set(links(ONE, "/memories/one"))) + 1
    memories.remove(own.path)
    links(ONE, "/memories/one")
    assert f"{own.path}, which is there no more" in reader.get(ONE).text
    log.write_bytes(before)  # other tests have read nothing but what they read themselves


def test_a_session_is_called_as_where_it_is_listed(reader):
    listed = reader.get("/sessions?as=architect&json=1").json["sessions"]
    for session in (each["session"] for each in listed if len(each["session"]["title"]) < 80):
        shown = reader.get(f"/sessions/one?agent=architect&id={session['session_id']}")
        assert f"<h1>{session['title']}</h1>" in unescape(shown.text)
        assert f"<p>{session['title']}</p>" not in unescape(shown.text)


@pytest.mark.browser
def test_sessions_in_a_browser(tab, faults_of):
    tab.get_by_role("link", name="Sessions").click()
    tab.wait_for_url("**/sessions")
    tab.get_by_label("Topic").fill("carts")
    tab.get_by_label("Topic").press("Enter")
    tab.wait_for_url("**topic=carts**")
    assert faults_of(tab) == []
    tab.keyboard.press("Escape")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/sessions/one**")
    tab.get_by_role("button", name="Suggest memories").click()
    tab.get_by_role("heading", name="Suggested memories").wait_for()
    box = tab.get_by_label("for all agents").bounding_box()
    assert box["width"] == box["height"]
    assert faults_of(tab) == []


def test_a_promotion_is_previewed_and_then_made(served, reader):
    preview = reader.get(f"{ONE}&promote=1&json=1").json["promotion"]
    assert {each["fate"] for each in preview["memories"]} == {"new"}
    promoted = reader.post("/sessions/promote", {"agent": "architect", "id": "s-1"})
    text = reader.get(promoted.headers["location"]).text
    assert promoted.headers["location"] == ONE
    assert "Stored: pattern/empty-the-carts-at-night.md" in text
    became = reader.get(f"{ONE}&json=1").json["around"]["became"]
    assert ["architect", "pattern/empty-the-carts-at-night.md"] in became
    again = reader.get(f"{ONE}&promote=1&json=1").json["promotion"]["memories"]
    assert {each["fate"] for each in again} == {"known"}
    assert (
        reader.post("/sessions/promote", {"agent": "builder", "id": "s-2", "as": "ann"}).status
        == 404
    )


def test_a_suggestion_that_is_left_out_says_why(served, reader):
    token = "ghp_" + "x7" * 18
    summary = {"brief": "Jobs", "key_decisions": ["Use JWT", f"Use the key {token} at night"]}
    document = {"session_id": "s-3", "summary": summary}
    served.services.sessions("terse", reporter=Silent()).save(document, allow_secrets=True)
    shown = reader.get("/sessions/one?agent=terse&id=s-3&promote=1").text
    assert shown.count("left out: too short to be useful") == 2
    assert shown.count("refused: it seems to contain a secret") == 1


def test_secrets_are_masked_in_all_that_is_shown_of_a_session(served, reader):
    token = "ghp_" + "x7" * 18
    said = [{"role": "user", "content": f"{number} {token}"} for number in range(60)]
    document = {"session_id": "told", "messages": said, "code_snippets": [{"code": token}]}
    served.services.sessions("terse", reporter=Silent()).save(document, allow_secrets=True)
    for words in ("", "&page=2", "&whole=m59", "&whole=s0", "&json=1"):
        shown = reader.get(f"/sessions/one?agent=terse&id=told{words}").text
        assert "«masked: GitHub token»" in shown
        assert token not in shown


def test_a_long_session_is_shown_in_parts_each_with_a_way_to_its_whole(served, reader):
    long = "What was said goes on and on. " * 1000
    served.services.sessions("architect", reporter=Silent()).save(
        {
            "session_id": "long",
            "created_at": "2025-03-01T09:00:00Z",
            "messages": [{"role": "user", "content": f"{long} end of {n}."} for n in range(60)],
            "summary": {
                "brief": f"Brief {long}",
                "detailed": f"{long} end of details.",
                "key_decisions": [f"We chose {long}"] * 99,
            },
            "code_snippets": [{"code": "x = 1\n" * 5000 + "end = 1\n"}] * 60,
        }
    )
    listed = reader.get("/sessions?before=2026-01-01")
    assert "long" in listed.text
    assert "09:00 UTC" in listed.text
    assert len(listed.text) < 20_000
    found = reader.get("/search?in=sessions&q=what+was+said+goes+on")
    assert "What was said goes on" in found.text
    assert "1 March 2025, 09:00 UTC" in found.text
    assert len(found.text) < 100_000
    page = "/sessions/one?agent=architect&id=long"
    for number in (1, 2):
        assert len(reader.get(f"{page}&page={number}").text) < 400_000
    text = reader.get(page).text
    assert "1 March 2025, 09:00 UTC" in text
    for key, end in (("m3", "end of 3."), ("summary", "end of details."), ("s2", "end")):
        assert f"whole={key}" in text
        assert end not in text or key == "s2"
        whole = reader.get(f"{page}&whole={key}").text
        assert end in whole
        assert "end of 4." not in whole
    assert len(reader.get(f"{page}&json=1").json["session"]["messages"]) == 60
