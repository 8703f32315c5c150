"""What a question gets that nothing answers: weak matches, a notice, or nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.ranking import WEAK_BELOW
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import WEAK_ALONE, Silent
from tests.conftest import HashEmbedder

FOREIGN = "zymurgy of harpsichords"
ASKED = "what a customer is about to buy"


@pytest.fixture
def codebase(make_codebase, project):
    made = make_codebase()
    made.index([project], reporter=Silent())
    return made


def test_a_question_that_nothing_answers_gets_weak_matches(codebase):
    hits = codebase.search(CodeQuery(FOREIGN), reporter=Silent())
    assert hits
    assert all(hit.is_weak and hit.score < WEAK_BELOW for hit in hits)


def test_an_answer_is_not_weak(codebase):
    hits = codebase.search(CodeQuery("Cart total_price"), reporter=Silent())
    assert not hits[0].is_weak


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.VECTOR])
def test_a_plain_arm_has_no_scale_to_be_weak_on(codebase, mode):
    hits = codebase.search(CodeQuery(ASKED, mode=mode), reporter=Silent())
    assert hits
    assert not any(hit.is_weak for hit in hits)


def test_what_has_no_vector_yet_is_not_called_weak(make_codebase, project):
    made = make_codebase()
    made.index([project], reporter=Silent(), embed=False)
    assert not any(hit.is_weak for hit in made.search(CodeQuery(FOREIGN), reporter=Silent()))


def test_hits_below_the_score_that_is_asked_for_are_left_out(codebase):
    every = codebase.search(CodeQuery(ASKED), reporter=Silent())
    least = every[1].score
    kept = codebase.search(CodeQuery(ASKED, min_score=least), reporter=Silent())
    assert kept == [hit for hit in every if hit.score >= least]
    assert len(kept) < len(every)


def test_the_commands_take_a_least_score_and_mark_what_is_weak(run, project):
    run("index", project)
    asked = ("search", FOREIGN, "--source", project.name)
    shown = run(*asked)
    assert "weak match" in shown.out
    assert WEAK_ALONE in shown.err
    assert WEAK_ALONE not in run(*asked[:1], "Cart total_price", *asked[2:]).err
    told = run(*asked, "--json")
    assert all(hit["is_weak"] for hit in told.json)
    assert WEAK_ALONE in told.err
    assert run(*asked, "--min-score", "0.99", "--json").json == []
    refused = run(*asked, "--min-score", "2")
    assert refused.status != 0
    assert "--min-score" in refused.err


def test_memories_and_sessions_take_it_too(run):
    assert run("store", "Drain the retry queue first", "--agent", "a").status == 0
    session = json.dumps({"messages": [{"role": "user", "content": "What is a cart?"}]})
    assert run("session", "save", "-", "--agent", "a", stdin=session.encode()).status == 0
    for command in (("query",), ("session", "search")):
        asked = (*command, FOREIGN, "--agent", "a")
        assert WEAK_ALONE in run(*asked).err
        told = run(*asked, "--json")
        assert [hit["is_weak"] for hit in told.json] == [True]
        assert told.err == f"note: {WEAK_ALONE}\n"
        assert run(*asked, "--json", "--min-score", "0.9").json == []


@pytest.mark.parametrize(
    ("text", "answered", "unanswered"),
    [
        ("网站图标由后台任务刷新。", "图标刷新", "数据库迁移失败"),
        ("Платежи идут ночью", "платежи ночью", "погода завтра"),
        ("网站图标由后台任务刷新。", "刷新", "🚀"),
    ],
)
def test_a_question_without_latin_letters_is_answered_by_shared_words_alone(
    run, monkeypatch, text, answered, unanswered
):
    alike = np.full(384, 384**-0.5, np.float32)  # as the model, made for English, has all of it
    monkeypatch.setattr(HashEmbedder, "embed_query", lambda *_: alike)
    assert run("store", text, "--agent", "a").status == 0
    session = json.dumps({"messages": [{"role": "user", "content": text}]})
    assert run("session", "save", "-", "--agent", "a", stdin=session.encode()).status == 0
    for command in (("query",), ("session", "search")):
        found = run(*command, answered, "--agent", "a", "--json")
        assert not json.loads(found.out)[0]["is_weak"]
        assert WEAK_ALONE in run(*command, unanswered, "--agent", "a").err
