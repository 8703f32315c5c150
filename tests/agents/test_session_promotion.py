"""What a session taught is remembered once."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.core.errors import NotFound, SummarizerFailed, UsageError
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import DAY_MS, iso_utc
from memory_sidecar.memories.archive import PruneRule
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryList
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionFilter
from memory_sidecar.sessions.promotion import Fate
from memory_sidecar.sessions.results import Promotion
from tests.conftest import HashModels, Notices

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z

SESSION: dict[str, Any] = {
    "session_id": "a",
    "project_path": "/src/shop",
    "topics": ["payment"],
    "messages": [{"role": "user", "content": "the token refresh fails"}],
    "summary": {
        "brief": "Fixed the token refresh of payments",
        "key_decisions": ["Use one lock around the token refresh"],
        "problems_solved": ["Two refreshes raced for the same token"],
        "user_note": "Always write the failing test first",
        "outcome": "success",
    },
}
TALK = [
    {"role": "user", "content": "The token refresh of the payment service fails under load."},
    {
        "role": "assistant",
        "content": "The bug was caused by a missing lock around the token refresh. "
        "We decided to use one lock for the token refresh of the payment service.",
    },
]


class Taught:
    """An agent with sessions to be promoted."""

    def __init__(self, data_dir: Path, *, model: str, **settings: Any) -> None:
        models = HashModels(data_dir / "embeddings.sqlite", version=model)
        self._models = models
        self.notices = Notices()
        self.projects: dict[Path, str] = {}  # by their folders
        paths = DataDir(data_dir).agent("architect")
        options: dict[str, Any] = {"models": models, "clock": lambda: NOW}
        self.shared = Agent(paths.shared, shared=None, **options)
        self.agent = Agent(paths, shared=self.shared, **options)
        self.sessions = Sessions(self.agent, self.notices)
        self.promoter = Promoter(
            self.agent,
            settings=Settings(**settings),
            environ=os.environ,
            project_of=lambda folder: self.projects.get(folder, ""),
            reporter=self.notices,
        )

    def memories(self, agent: Agent | None = None) -> dict[str, Any]:
        rows = Memories(agent or self.agent, self.notices).list(MemoryList())
        return {row.path: row for row in rows}

    def close(self) -> None:
        self.agent.close()
        self.shared.close()
        self._models.close()


@pytest.fixture
def taught(data_dir: Path) -> Iterator[Callable[..., Taught]]:
    opened: list[Taught] = []

    def open_(*, model: str = "1", **settings: Any) -> Taught:
        opened.append(Taught(data_dir, model=model, **settings))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def fates(promotion: Promotion) -> list[tuple[str, Fate]]:
    return [(judged.category, judged.fate) for judged in promotion.memories]


EVERY = ("pattern", "pitfall", "preference", "outcome")


@pytest.mark.parametrize("model", ["1", ""], ids=["model", "no model"])
def test_a_session_becomes_memories_once(taught, model):
    it = taught(model=model)
    it.sessions.save(SESSION)
    preview = it.promoter.promote("a", dry_run=True)
    assert fates(preview) == [(category, Fate.NEW) for category in EVERY]
    assert not it.agent.paths.memories.exists()
    assert it.notices.has("not looked for what says nearly the same") == (not model)
    assert fates(it.promoter.promote("a")) == [(category, Fate.STORED) for category in EVERY]
    memories = it.memories()
    pattern = memories["pattern/use-one-lock-around-the-token-refresh.md"]
    assert pattern.content == (
        "Use one lock around the token refresh\n\nSession: Fixed the token refresh of payments"
    )
    assert pattern.tags == {"payment": "", "project": "shop"}
    assert pattern.source == "agent:architect"
    assert pattern.relations["evidence"] == ["session:a"]
    assert fates(it.promoter.promote("a")) == [(category, Fate.KNOWN) for category in EVERY]
    assert it.memories().keys() == memories.keys()


def test_a_memory_is_as_old_as_its_session_but_not_unused_since(taught):
    it = taught()
    told = [{**each, "created_at": f"2026-01-20T1{n}:00:00Z"} for n, each in enumerate(TALK)]
    old = SESSION | {"created_at": "2026-01-20T09:00:00Z", "messages": told}
    it.sessions.save(old)
    ended_at = "2026-01-20T11:00:00.000Z"
    assert {each.said_at for each in it.promoter.promote("a").memories} == {ended_at}
    times = {(each.created_at, each.updated_at) for each in it.memories().values()}
    assert times == {(iso_utc(NOW), ended_at)}
    rule = PruneRule(unused_since=NOW - 30 * DAY_MS)
    assert Memories(it.agent, it.notices).prune(rule, dry_run=True).memories == ()


@pytest.mark.parametrize("year", [2026, 2046], ids=["a later summary", "a clock that is ahead"])
def test_a_memory_of_a_summary_is_as_old_as_that_and_of_no_later_day(taught, year):
    it = taught()
    it.sessions.save({"session_id": "a", "created_at": "2026-01-20", "summary": {"brief": "Begun"}})
    brief = "The till counts cents and never floats"
    it.sessions.save(
        {"session_id": "a", "created_at": f"{year}-01-20", "summary": {"brief": brief}}
    )
    it.promoter.promote("a")
    assert {each.updated_at for each in it.memories().values()} == {iso_utc(NOW)}


def test_what_is_nearly_known_is_named_and_left_alone(taught):
    it = taught()
    it.sessions.save(SESSION)
    it.promoter.promote("a")
    summary = {"brief": "Another brief altogether, of another session"}
    again = "use one lock around the token refresh"  # for the hash model the same words
    it.sessions.save(SESSION | {"session_id": "b", "summary": summary | {"key_decisions": [again]}})
    near, outcome = it.promoter.promote("b").memories
    assert (near.fate, near.path) == (
        Fate.NEAR,
        "pattern/use-one-lock-around-the-token-refresh.md",
    )
    assert near.cosine == pytest.approx(1, abs=0.01)
    assert near.says == "Use one lock around the token refresh"
    assert near.outcome.endswith('.md, which says "Use one lock around the token refresh"')
    assert outcome.fate is Fate.STORED


@pytest.mark.parametrize("model", ["1", ""], ids=["model", "no model"])
def test_what_was_promoted_is_known_whether_or_not_it_names_its_session(taught, model):
    it = taught(model=model)
    it.sessions.save(SESSION)
    (decision,) = SESSION["summary"]["key_decisions"]
    before = Memories(it.agent, it.notices).store(Draft(content=decision, category="pattern"))
    known, *others = it.promoter.promote("a").memories
    assert (known.fate, known.path) == (Fate.KNOWN, before.path)
    assert {each.fate for each in others} == {Fate.STORED}
    memories = it.memories().keys()
    retold = SESSION["summary"] | {"brief": "Told in another way after some more days"}
    it.sessions.save(SESSION | {"summary": retold})
    *again, _ = it.promoter.promote("a").memories
    assert {each.fate for each in again} == {Fate.KNOWN}
    assert len(it.memories()) == len(memories) + 1


def test_what_resembles_a_memory_is_stored_and_names_that(taught):
    it = taught()
    told = " ".join(f"word{n}" for n in range(11))
    before = Memories(it.agent, it.notices).store(Draft(content=f"{told} here"))
    summary = {"brief": "Another brief altogether", "key_decisions": [f"{told} there"]}
    it.sessions.save(SESSION | {"summary": summary})
    for dry_run, fate in ((True, Fate.NEW), (False, Fate.STORED)):
        decision, _ = it.promoter.promote("a", dry_run=dry_run).memories
        assert decision.fate is fate
        assert decision.resembles == before.path
        assert decision.cosine == pytest.approx(0.92, abs=0.01)


def test_a_long_brief_is_cut_where_a_memory_names_its_session(taught):
    it = taught()
    summary = {"brief": "Fixed the refresh. " * 100, "key_decisions": ["Keep one lock for tokens"]}
    it.sessions.save(SESSION | {"summary": summary})
    it.promoter.promote("a")
    content = it.memories()["pattern/keep-one-lock-for-tokens.md"].content
    statement, _, line = content.partition("\n\n")
    assert statement == "Keep one lock for tokens"
    assert line.startswith("Session: Fixed the refresh. Fixed")
    assert len(line) < 250


@pytest.mark.parametrize(
    "odd",
    [{"topics": ["🔥", "..."]}, {"topics": ["x" * 250]}, {"project_path": "/src/" + "y" * 230}],
    ids=["no letter", "long topic", "long project"],
)
def test_topics_and_projects_that_are_no_tags_hinder_no_promotion(taught, odd):
    it = taught()
    it.sessions.save(SESSION | odd)
    done = it.promoter.promote("a")
    assert fates(done) == [(category, Fate.STORED) for category in EVERY]
    assert not {"", "..."}.intersection(*(each.tags for each in done.memories))


def test_a_text_too_long_for_a_memory_leaves_all_as_it_was(taught):
    it = taught()
    summary = SESSION["summary"] | {"brief": "Fixed the refresh. " * 60_000}
    it.sessions.save(SESSION | {"summary": summary})
    with pytest.raises(UsageError, match="more than"):
        it.promoter.promote("a")
    assert not it.agent.paths.memories.exists()


def test_a_session_may_be_promoted_for_all_agents(taught):
    it = taught()
    it.sessions.save(SESSION)
    promotion = it.promoter.promote("a", shared=True)
    assert {judged.agent for judged in promotion.memories} == {"shared"}
    assert len(it.memories(it.shared)) == 4
    # What all may read is known to this agent, too.
    assert fates(it.promoter.promote("a")) == [(category, Fate.KNOWN) for category in EVERY]


def test_a_session_without_a_summary_gets_one_of_its_own_words(taught):
    it = taught()
    it.sessions.save({"session_id": "a", "messages": TALK})
    preview = it.promoter.promote("a", dry_run=True)
    assert "summary" not in it.sessions.get("a").document
    promotion = it.promoter.promote("a")
    assert promotion.brief == preview.brief
    assert promotion.summary_made_by == "extract"
    assert [judged.category for judged in promotion.memories][:2] == ["pattern", "pitfall"]
    saved = it.sessions.get("a").document
    assert saved["summary"]["brief"] == promotion.brief
    assert saved["messages"] == TALK
    (head,) = it.sessions.list_sessions(SessionFilter())
    assert head.brief == promotion.brief


def test_a_summarizer_takes_the_place_of_the_extract(taught, tmp_path):
    script = tmp_path / "summarizer.py"
    summary = {"brief": "Told by another program", "key_decisions": ["Keep one lock for tokens"]}
    script.write_text(f"import sys; sys.stdin.read(); print('''{json.dumps(summary)}''')")
    it = taught(session_summarizer=f"{sys.executable} {script}")
    it.sessions.save({"session_id": "a", "messages": TALK})
    promotion = it.promoter.promote("a")
    assert promotion.brief == "Told by another program"
    assert promotion.summary_made_by == sys.executable


@pytest.mark.parametrize("meanwhile", [{}, {"summary": SESSION["summary"]}], ids=["", "summary"])
def test_what_is_saved_while_it_is_summed_up_stays(taught, tmp_path, meanwhile):
    begun, may_end = tmp_path / "begun", tmp_path / "may_end"
    script = tmp_path / "summarizer.py"
    script.write_text(
        "import pathlib, sys, time; sys.stdin.read()\n"
        f"pathlib.Path({str(begun)!r}).touch()\n"
        f"while not pathlib.Path({str(may_end)!r}).exists(): time.sleep(0.01)\n"
        """print('{"brief": "Told by another program"}')\n"""
    )
    it = taught(session_summarizer=f"{sys.executable} {script}")
    it.sessions.save({"session_id": "a", "messages": TALK[:1]})
    promoting = threading.Thread(target=it.promoter.promote, args=("a",))
    promoting.start()
    while not begun.exists():
        assert promoting.is_alive()
        time.sleep(0.01)
    it.sessions.save({"session_id": "a", "messages": TALK, **meanwhile})
    may_end.touch()
    promoting.join(60)
    document = it.sessions.get("a").document
    assert document["messages"] == TALK
    brief = SESSION["summary"]["brief"] if meanwhile else "Told by another program"
    assert document["summary"]["brief"] == brief


def test_a_summarizer_that_fails_changes_nothing(taught):
    it = taught(session_summarizer=f"{sys.executable} -c 1/0")
    it.sessions.save({"session_id": "a", "messages": TALK})
    with pytest.raises(SummarizerFailed):
        it.promoter.promote("a")
    assert "summary" not in it.sessions.get("a").document
    assert not it.agent.paths.memories.exists()


@pytest.mark.parametrize(
    ("configured", "outcome", "promoted"),
    [(True, "success", True), (True, "partial", False), (False, "success", False)],
)
def test_a_success_is_promoted_by_itself_where_that_is_configured(
    taught, configured, outcome, promoted
):
    it = taught(session_promotion=configured)
    told = SESSION | {"summary": {"brief": "It went well", "outcome": outcome}}
    assert bool(it.promoter.save(told).promotion) == promoted
    assert it.agent.paths.memories.exists() == promoted
    assert not it.promoter.save(told).promotion  # which is not changed


@pytest.mark.parametrize("model", ["1", ""], ids=["model", "no model"])
def test_what_two_candidates_say_is_stored_once_and_the_other_is_named(taught, model):
    it = taught(model=model)
    (decision,) = SESSION["summary"]["key_decisions"]
    said_again = SESSION["summary"] | {"brief": decision.upper()}
    it.sessions.save(SESSION | {"summary": said_again})
    for dry_run, fate in ((True, Fate.NEW), (False, Fate.STORED)):
        *others, brief = it.promoter.promote("a", dry_run=dry_run).memories
        assert [each.fate for each in others] == [fate] * 3
        assert (brief.fate, brief.repeats) == (Fate.REPEATED, decision)
    assert len(it.memories()) == 3


def test_a_brief_that_resembles_another_candidate_is_named(taught):
    it = taught()
    (decision,) = SESSION["summary"]["key_decisions"]
    resembling = " ".join(sorted(decision.split()))  # for the hash model the same words
    it.sessions.save(SESSION | {"summary": SESSION["summary"] | {"brief": resembling}})
    *_, brief = it.promoter.promote("a").memories
    assert (brief.fate, brief.repeats) == (Fate.REPEATED, decision)
    assert brief.cosine == pytest.approx(1, abs=0.01)


def test_texts_that_are_all_alike_to_the_model_repeat_no_other(taught):
    """In scripts that it hardly knows, unrelated sentences come to a cosine of .91."""
    it = taught()
    decisions = ["修复 令牌 刷新 锁", "锁 刷新 令牌 修复"]
    it.sessions.save(
        SESSION | {"summary": {"brief": "支付服务的锁", "key_decisions": decisions[:1]}}
    )
    it.promoter.promote("a")
    it.sessions.save(SESSION | {"summary": {"brief": "支付服务的锁", "key_decisions": decisions}})
    assert fates(it.promoter.promote("a")) == [
        ("pattern", Fate.KNOWN),
        ("pattern", Fate.STORED),
        ("outcome", Fate.KNOWN),
    ]


def test_one_of_hundreds_of_decisions_that_resembles_another_names_that(taught):
    it = taught()
    decisions = [f"We chose number{n} over other{n} for reason{n}" for n in range(600)]
    decisions += [" ".join(sorted(decisions[at].split())) for at in (0, 300, 599)]
    summary = SESSION["summary"] | {"key_decisions": decisions}
    it.sessions.save(SESSION | {"summary": summary})
    promoted = it.promoter.promote("a", dry_run=True).memories
    fates = {each.text: each for each in promoted}
    assert [fates[each].fate for each in decisions] == [Fate.NEW] * 600 + [Fate.REPEATED] * 3
    assert [fates[each].repeats for each in decisions[600:]] == [
        decisions[n] for n in (0, 300, 599)
    ]


def test_secrets_are_not_promoted_and_a_dry_run_says_so(taught):
    it = taught()
    secret = "The deploy key is ghp_" + "a1B2" * 9
    told = SESSION | {"summary": {"brief": secret, "user_note": "Rotate keys weekly"}}
    it.sessions.save(told, allow_secrets=True)
    for dry_run, fate in ((True, Fate.NEW), (False, Fate.STORED)):
        promotion = it.promoter.promote("a", dry_run=dry_run)
        assert fates(promotion) == [("preference", fate), ("outcome", Fate.REFUSED)]
        assert it.notices.has("left out for outcome: text seems to contain a secret")
        assert not it.notices.has("nothing was stored")


@pytest.mark.parametrize("model", ["1", ""], ids=["model", "no model"])
def test_a_dry_run_knows_what_takes_several_passages_to_say(taught, model):
    it = taught(model=model)
    long = " ".join(f"Step {number} of the token refresh takes the lock." for number in range(200))
    it.sessions.save(SESSION | {"summary": {"brief": long}})
    assert fates(it.promoter.promote("a")) == [("outcome", Fate.STORED)]
    for dry_run in (True, False):
        assert fates(it.promoter.promote("a", dry_run=dry_run)) == [("outcome", Fate.KNOWN)]


def test_a_session_with_nothing_to_sum_up_is_told(taught):
    it = taught()
    it.sessions.save({"session_id": "a", "messages": [{"role": "user", "content": "ok"}]})
    with pytest.raises(NotFound, match="neither a summary nor a sentence"):
        it.promoter.promote("a")
    with pytest.raises(NotFound):
        it.promoter.promote("nothing")
