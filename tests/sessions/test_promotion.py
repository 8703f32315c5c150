"""What a session suggests to remember."""

from __future__ import annotations

from memory_sidecar.sessions.promotion import Fate, candidates, join_sentences
from tests.sessions.conftest import session_of

SUMMARY = {
    "brief": "Fixed the token refresh of payments",
    "key_decisions": ["Use JWT for auth", "JWT"],
    "problems_solved": ["Fixed the token refresh race"],
    "user_note": "Always write a test first",
    "outcome": "success",
}


def suggested(**change):
    session = session_of(
        project_path="/src/shop", topics=["error handling"], summary=SUMMARY | change
    )
    assert session.summary is not None
    return candidates(session, session.summary)


def test_each_part_becomes_its_kind_of_memory():
    assert [(each.category, each.text, each.fate) for each in suggested()] == [
        ("pattern", "Use JWT for auth", Fate.NEW),
        ("pattern", "JWT", Fate.SHORT),
        ("pitfall", "Fixed the token refresh race", Fate.NEW),
        ("preference", "Always write a test first", Fate.NEW),
        ("outcome", "Fixed the token refresh of payments", Fate.NEW),
    ]


def test_each_points_back_and_has_topics_and_project():
    pattern, *_, outcome = suggested()
    assert pattern.evidence == outcome.evidence == ("session:s",)
    assert pattern.tags == ("error-handling", "project:shop")
    assert outcome.tags == ("error-handling", "project:shop", "outcome:success")


def test_all_but_a_note_name_the_session_by_its_title_its_brief_or_the_request():
    message = {"role": "user", "content": "Why does the refresh fail?"}

    def subjects(made_by: str, **change: object) -> list[str]:
        document = {"messages": [message], "summary": SUMMARY | {"made_by": made_by}, **change}
        session = session_of(**document)
        assert session.summary is not None
        found = candidates(session, session.summary)
        return [each.subject for each in found if each.fate is Fate.NEW]

    brief, title, asked = SUMMARY["brief"], "Payments", "Why does the refresh fail?"
    assert subjects("") == [brief, brief, "", ""]
    assert subjects("", metadata={"title": title}) == [title, title, "", title]
    assert subjects("extract") == [asked, asked, "", asked]


def test_a_topic_with_a_secret_is_masked_before_it_becomes_a_tag():
    session = session_of(topics=["password: hunter2-Sup3rS3cretV4lue"], summary=SUMMARY)
    assert session.summary is not None
    assert candidates(session, session.summary)[0].tags == ("password-masked-value-of-a-secret",)


def test_a_topic_in_any_script_keeps_all_its_letters():
    topics = ["हिन्दी भाषा", "a ❤️ b", "ü"]
    session = session_of(project_path="/src/shop", topics=topics, summary=SUMMARY)
    assert session.summary is not None
    pattern, *_ = candidates(session, session.summary)
    assert pattern.tags == ("हिन्दी-भाषा", "a-b", "ü", "project:shop")


def test_recalled_memories_are_not_promoted_again():
    recalled = "<memory path='a.md'>Use JWT for auth</memory>"
    assert [e.category for e in suggested(key_decisions=[recalled], user_note=recalled)] == [
        "pitfall",
        "outcome",
    ]


def test_what_is_said_without_spaces_is_as_long_as_its_pairs_of_characters():
    decisions = ["認証にはJWTを使う", "短い答えが好き", "完了", "支付服务使用锁"]
    found = suggested(key_decisions=decisions)[: len(decisions)]
    assert [each.fate for each in found] == [Fate.NEW, Fate.NEW, Fate.SHORT, Fate.NEW]


def test_sentences_are_joined_with_a_full_stop_where_they_have_no_mark():
    told = ["Entry 1 is done", "Why?", "直した。", "See (this)", 'It is "blue"', "By 5%"]
    joined = 'Entry 1 is done. Why? 直した。 See (this). It is "blue". By 5%.'
    assert join_sentences(told) == joined
