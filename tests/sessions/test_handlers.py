"""What was saved can be found, or no longer found, when the call returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.atomic import TEMPORARY_PREFIX
from memory_sidecar.core.errors import MemvidFailed, NotFound, SessionInvalid, UsageError
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import iso_utc
from memory_sidecar.sessions import files
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.journal import Journal
from memory_sidecar.sessions.model import (
    TIERS,
    HitKind,
    Message,
    Outcome,
    Role,
    SessionFilter,
    SessionQuery,
)
from memory_sidecar.sessions.mv2 import Entry, Memvid
from memory_sidecar.sessions.results import ExpiredSession, SessionHit
from memory_sidecar.sessions.retention import Retention, expired_sessions
from memory_sidecar.sessions.search import search_sessions
from memory_sidecar.sessions.store import LEAST_ROOM
from tests.conftest import HashModels, Notices

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z
DAY_MS = 86_400_000


class Episodes:
    """One agent's sessions in a data directory, with a clock that stands still until it is set."""

    def __init__(self, data_dir: Path, *, model: str = "1") -> None:
        self.now = NOW
        self.notices = Notices()
        models = HashModels(data_dir / "embeddings.sqlite", version=model)
        self._models = models
        paths = DataDir(data_dir).agent("architect")
        self.agent = Agent(paths, models=models, clock=lambda: self.now, shared=None)
        self.sessions = Sessions(self.agent, self.notices)

    def save(self, session_id: str, *contents: str, **more: Any) -> None:
        roles = ("user", "assistant")
        messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(contents)]
        self.sessions.save({"session_id": session_id, "messages": messages, **more})

    def find(self, text: str, *, tier: int = 2, **options: Any) -> list[SessionHit]:
        return self.sessions.search(
            SessionQuery(text=text, kinds=TIERS[tier], explain=True, **options)
        )

    def found(self, text: str, **options: Any) -> list[str]:
        """`id#sequence` of each hit."""
        return [f"{h.session_id}#{h.sequence}" for h in self.find(text, **options)]

    def close(self) -> None:
        self.agent.close()
        self._models.close()


@pytest.fixture
def open_episodes(data_dir: Path) -> Iterator[Callable[..., Episodes]]:
    """Opens the sessions of the data directory anew, as another process would."""
    opened: list[Episodes] = []

    def open_(**options: Any) -> Episodes:
        for each in opened:
            each.close()
        opened.append(Episodes(data_dir, **options))
        return opened[-1]

    yield open_
    opened[-1].close()


@pytest.fixture
def episodes(open_episodes: Callable[..., Episodes]) -> Episodes:
    return open_episodes()


@pytest.fixture
def root(data_dir: Path) -> Path:
    return data_dir / "episodic" / "architect"


SUMMARY = {"brief": "Locked the token refresh", "outcome": "success", "technologies": ["Redis"]}


def test_a_saved_session_is_found_by_word_and_by_meaning(episodes):
    episodes.save("a", "the token refresh fails", "a lock will help")
    episodes.save("b", "paint the kitchen wall")
    for mode in SearchMode:
        assert episodes.found("token refresh", mode=mode)[0] == "a#0"
    assert episodes.notices.said == []


def test_a_file_that_someone_else_wrote_is_found(open_episodes, root):
    episodes = open_episodes()
    episodes.save("a", "the token refresh fails")
    document = json.loads((root / "2026-03" / "a.json").read_text())
    document["messages"][0]["content"] = "the cart is empty"
    (root / "2026-03" / "a.json").write_text(json.dumps(document))
    document["messages"][0]["content"] = "the cart is full"
    (root / "2026-03" / "b.json").write_text(json.dumps(document | {"session_id": "b"}))
    episodes = open_episodes()
    assert sorted(episodes.found("cart", mode=SearchMode.KEYWORD)) == ["a#0", "b#0"]
    assert episodes.found("token", mode=SearchMode.KEYWORD) == []


def test_no_read_gives_a_session_that_was_deleted_by_hand_since_the_last_scan(episodes, root):
    episodes.save("a", "the token refresh fails")
    episodes.save("b", "paint the kitchen wall")
    assert episodes.found("token", mode=SearchMode.KEYWORD) == ["a#0"]
    (root / "2026-03" / "a.json").unlink()
    for mode in SearchMode:
        assert "a#0" not in episodes.found("token refresh", mode=mode)
    assert [each.session_id for each in episodes.sessions.list_sessions(SessionFilter())] == ["b"]


def test_others_are_given_in_place_of_sessions_whose_files_are_gone(episodes, root):
    for at in range(9):
        episodes.now += DAY_MS
        words = "the token refresh fails" if at > 2 else "a token"
        episodes.save(f"s{at}", words, title="token")
    assert len(episodes.sessions.list_sessions(SessionFilter())) == 9
    for at in range(3, 9):
        next(root.glob(f"*/s{at}.json")).unlink()
    for limit in (1, 2, 3):
        listed = episodes.sessions.list_sessions(SessionFilter(), limit=limit)
        assert [each.session_id for each in listed] == ["s2", "s1", "s0"][:limit]
        rest = episodes.sessions.list_sessions(SessionFilter(), limit=9, offset=limit)
        assert [each.session_id for each in rest] == ["s2", "s1", "s0"][limit:]
        for mode in SearchMode:
            found = episodes.found("token refresh", mode=mode, top_k=limit)
            assert len(found) == limit
            assert {each[:2] for each in found} <= {"s0", "s1", "s2"}


def test_no_read_gives_a_deleted_session_for_which_another_month_has_a_file(episodes, root):
    episodes.save("a", "the token refresh fails")
    assert episodes.found("token", mode=SearchMode.KEYWORD) == ["a#0"]
    other = root / "2026-04" / "a.json"
    other.parent.mkdir()
    (root / "2026-03" / "a.json").rename(other)
    assert episodes.found("token", mode=SearchMode.KEYWORD) == []


def test_a_broken_file_hides_nothing_else(open_episodes, root):
    episodes = open_episodes()
    episodes.save("a", "the token refresh fails")
    (root / "2026-03" / "broken.json").write_text('{"messages": [')
    (root / "2026-03" / "other.json").write_text('{"session_id": "not-other", "messages": []}')
    episodes = open_episodes()
    assert episodes.found("token", mode=SearchMode.KEYWORD) == ["a#0"]
    with episodes.agent.data.open().reading() as connection:
        reasons = dict(
            connection.execute("SELECT path, reason FROM files WHERE status = 'skipped'")
        )
    assert reasons.keys() == {"2026-03/broken.json", "2026-03/other.json"}
    assert reasons["2026-03/broken.json"].startswith("not JSON")


def test_saving_again_replaces_what_is_given_and_keeps_what_is_left_out(episodes):
    episodes.save("a", "the token refresh fails", "a lock will help", topics=["auth"])
    episodes.sessions.save({"session_id": "a", "summary": SUMMARY})
    assert sorted(episodes.found("token lock", mode=SearchMode.KEYWORD)) == ["a#0", "a#1"]
    episodes.save("a", "the cart is empty")
    assert episodes.found("token lock", mode=SearchMode.KEYWORD) == []
    assert episodes.found("cart", mode=SearchMode.KEYWORD) == ["a#0"]
    document = episodes.sessions.get("a").document
    assert (document["summary"], document["topics"]) == (SUMMARY, ["auth"])
    episodes.sessions.save({"session_id": "a", "summary": None})
    assert not episodes.sessions.get("a").document["summary"]


def test_a_summary_that_was_made_of_messages_goes_with_them(episodes):
    made = {**SUMMARY, "made_by": "extract"}
    episodes.save("a", "the token refresh fails", summary=made)
    episodes.save("a", "the token refresh fails")
    assert episodes.sessions.get("a").document["summary"] == made
    episodes.save("a", "the cart is empty")
    assert "summary" not in episodes.sessions.get("a").document


def test_an_invalid_session_is_not_saved_and_harms_nothing(episodes, root):
    episodes.save("a", "the token refresh fails")
    with pytest.raises(SessionInvalid):
        episodes.sessions.save({"session_id": "a", "messages": [{"role": "robot"}]})
    assert episodes.found("token", mode=SearchMode.KEYWORD) == ["a#0"]
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["a.json"]


def test_ids_that_differ_in_case_alone_are_refused_so_that_no_file_system_mixes_them(
    open_episodes, root
):
    episodes = open_episodes()
    episodes.save("Till", "The till opens at nine.")
    for again in (episodes, open_episodes()):
        with pytest.raises(SessionInvalid, match="'till' and the session 'Till' differ in case"):
            again.save("till", "Another till.")
    episodes.save("Till", "The till opens at ten.")
    assert [file.name for file in root.rglob("*.json")] == ["Till.json"]


def test_a_deleted_session_is_gone_altogether(episodes, root):
    episodes.save("a", "the token refresh fails", topics=["auth"], summary=SUMMARY)
    episodes.sessions.delete("a")
    for tier in TIERS:
        assert episodes.found("token refresh", tier=tier) == []
    assert list(root.rglob("*.json")) == []
    with pytest.raises(NotFound):
        episodes.sessions.get("a")
    with episodes.agent.data.open().reading() as connection:
        for table in ("sessions", "messages", "summaries", "topics", "message_vectors"):
            assert connection.execute(f"SELECT count(*) FROM {table}").get == 0


@pytest.mark.parametrize("deletes", [True, False])
def test_a_copy_in_another_month_does_not_stand_in_for_what_is_gone(open_episodes, root, deletes):
    episodes = open_episodes()
    episodes.save("a", "the token refresh fails")
    copy = root / "2026-04" / "a.json"
    copy.parent.mkdir()
    copy.write_bytes((root / "2026-03" / "a.json").read_bytes())
    episodes = open_episodes()
    if deletes:
        episodes.sessions.delete("a")
    else:
        episodes.sessions.prune(Retention(keep_count=0), dry_run=False)
    assert episodes.sessions.list_sessions(SessionFilter()) == []
    assert list(root.rglob("*.json")) == []


def test_a_session_whose_file_is_broken_can_be_deleted(episodes, root):
    episodes.save("a", "the token refresh fails")
    (path,) = root.rglob("*.json")
    path.write_text("{ broken")
    assert episodes.sessions.delete("a").session_id == "a"
    assert list(root.rglob("*.json")) == []


@pytest.mark.parametrize("deletes", [True, False])
def test_what_a_killed_writer_left_of_a_session_goes_with_it(episodes, root, deletes):
    episodes.save("a", "the token refresh fails")
    (path,) = root.rglob("*.json")
    left = path.with_name(f"{TEMPORARY_PREFIX}0123")
    left.write_text("the token refresh fai")
    if deletes:
        episodes.sessions.delete("a")
    else:
        episodes.sessions.prune(Retention(keep_count=0), dry_run=False)
    assert not left.exists()


def test_tier_1_finds_summaries_and_topics_and_tier_2_messages_and_code(episodes):
    episodes.save(
        "a",
        "why does it fail under load",
        summary=SUMMARY,
        topics=["payment"],
        code_snippets=[{"language": "csharp", "code": "await gate.WaitAsync();"}],
    )
    assert [h.kind for h in episodes.find("payment", tier=1, mode=SearchMode.KEYWORD)] == [
        HitKind.SUMMARY
    ]
    assert episodes.find("redis", tier=2, mode=SearchMode.KEYWORD) == []
    (hit,) = episodes.find("WaitAsync", tier=2, mode=SearchMode.KEYWORD)
    assert (hit.kind, hit.text) == (HitKind.SNIPPET, "await gate.WaitAsync();")


def test_a_session_without_a_summary_is_found_in_tier_1_by_its_first_words(episodes):
    episodes.save("a", "the token refresh fails")
    (hit,) = episodes.find("token", tier=1, mode=SearchMode.KEYWORD)
    assert hit.text == "the token refresh fails"
    everything = episodes.sessions.search(SessionQuery(text="token"))
    assert [h.kind for h in everything] == [HitKind.MESSAGE]  # and not told twice


def test_a_session_without_a_summary_is_found_by_its_title(episodes):
    episodes.save("a", "it fails", "since when?", metadata={"title": "Token refresh race"})
    hits = episodes.sessions.search(SessionQuery(text="token refresh", mode=SearchMode.KEYWORD))
    assert [(hit.kind, hit.text) for hit in hits] == [(HitKind.SUMMARY, "Token refresh race")]


def test_a_blank_title_is_none(episodes):
    episodes.save("s", "the token refresh fails", metadata={"title": "  \n"})
    (head,) = episodes.sessions.list_sessions(SessionFilter())
    assert head.title == "the token refresh fails"


def test_a_single_message_is_found_by_its_title(episodes):
    episodes.save("a", "The worker retries three times", metadata={"title": "Zebra outage"})
    hits = episodes.sessions.search(SessionQuery(text="zebra outage", mode=SearchMode.KEYWORD))
    assert [(hit.kind, hit.text) for hit in hits] == [
        (HitKind.MESSAGE, "The worker retries three times")
    ]


@pytest.fixture
def several(episodes: Episodes) -> Episodes:
    episodes.save("a", "token one", project_path="/src/shop", topics=["Auth"], summary=SUMMARY)
    episodes.now += DAY_MS
    episodes.save("b", "token two", project_path="/src/game", topics=["auth", "ui"])
    episodes.now += DAY_MS
    failed = SUMMARY | {"outcome": "abandoned"}
    episodes.save("c", "token three", project_path="/old/shop/", summary=failed)
    return episodes


FILTERS = [
    (SessionFilter(), "abc"),
    (SessionFilter(projects=("/src/shop/",)), "a"),
    (SessionFilter(projects=("shop",)), "ac"),
    (SessionFilter(projects=("shop/",)), "ac"),
    (SessionFilter(projects=("/src/shop", "nothing")), "a"),
    (SessionFilter(projects=("nothing",)), ""),
    (SessionFilter(topics=("AUTH",)), "ab"),
    (SessionFilter(topics=("ui", "x")), "b"),
    (SessionFilter(outcomes=(Outcome.ABANDONED,)), "c"),
    (SessionFilter(after=NOW + DAY_MS), "bc"),
    (SessionFilter(before=NOW + DAY_MS), "a"),
    (SessionFilter(projects=("shop",), outcomes=(Outcome.SUCCESS,)), "a"),
]


@pytest.mark.parametrize("mode", [SearchMode.KEYWORD, SearchMode.HYBRID])
def test_filters_choose_sessions_in_every_tier(several, mode):
    for wanted, ids in FILTERS:
        listed = {head.session_id for head in several.sessions.list_sessions(wanted)}
        assert listed == set(ids), wanted
        for tier in TIERS:
            hits = several.find("token", tier=tier, mode=mode, filter=wanted)
            assert {hit.session_id for hit in hits} == set(ids), (wanted, tier)


def test_sessions_are_listed_the_latest_first(several):
    heads = several.sessions.list_sessions(SessionFilter())
    assert [head.session_id for head in heads] == ["c", "b", "a"]
    (second,) = several.sessions.list_sessions(SessionFilter(), limit=1, offset=1)
    assert second.session_id == "b"
    assert heads[1].topics == ("auth", "ui")
    assert (heads[2].title, heads[2].outcome) == ("Locked the token refresh", Outcome.SUCCESS)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ('"token refresh"', ["a#0"]),
        ('"refresh token"', []),
        ("refr*", ["a#0", "b#0"]),
        ("pay*", ["c#0"]),  # which FTS5 by itself makes `pai*` of
        ('"token refresh" pay*', []),
        ('"検索"', ["c#0"]),
        ("検索*", ["c#0"]),
        ("खोज*", []),
        ("खो*", ["b#0"]),
        ('"unbalanced refresh', ["a#0", "b#0"]),
    ],
)
def test_phrases_and_prefixes_must_occur(episodes, query, ids):
    episodes.save("a", "the token refresh fails")
    episodes.save("b", "refresh the page, not the token: खोया")
    episodes.save("c", "payment と 検索する")
    assert sorted(episodes.found(query, mode=SearchMode.KEYWORD)) == ids


def test_what_must_occur_scores_by_its_words_as_without_quotes(episodes):
    for number in range(4):  # in the order of their ids, a shorter one is a better one
        episodes.save(f"a{number}", "the token refresh fails" + " of a long text" * (4 - number))
        episodes.save(f"b{number}", "paint the kitchen wall")
    found = [
        [(hit.session_id, hit.score) for hit in episodes.find(text, mode=SearchMode.KEYWORD)]
        for text in ('"token refresh"', "token refresh")
    ]
    assert found[0] == found[1]
    assert [session for session, _ in found[0]] == ["a3", "a2", "a1", "a0"]


def test_what_must_occur_is_no_weak_match_and_where_it_does_not_that_is_said(episodes):
    episodes.save("a", "the postgres server was moved", "something else")
    (hit,) = episodes.find("post*")
    assert not hit.is_weak
    assert not episodes.notices.has("only rank")
    assert episodes.find('"moved the postgres server"') == []
    assert episodes.notices.has("without quotes and *")
    assert episodes.find("zzz", min_score=1.0) == []


def test_the_best_of_very_many_rows_with_what_must_occur_comes_first(episodes):
    episodes.save("a", *["the payment"] * 2_050, "the payment after a refresh")
    for mode in (SearchMode.KEYWORD, SearchMode.HYBRID):
        assert episodes.found("refresh pay*", mode=mode)[0] == "a#2050"


def test_a_phrase_may_stand_in_a_summary_or_a_topic(episodes):
    episodes.save("a", "x", summary=SUMMARY, topics=["error handling"])
    episodes.save("b", "x", summary=SUMMARY | {"brief": "Refreshed a token"})
    assert episodes.found('"token refresh"', tier=1) == ["a#None"]
    assert episodes.found('"error handling"', tier=1) == ["a#None"]
    assert episodes.found("handl*", tier=1) == ["a#None"]


def test_a_phrase_may_stand_in_the_title(episodes):
    episodes.save("a", "x", "y", summary=SUMMARY, metadata={"title": "The tokenStore retries"})
    episodes.save("b", "x", metadata={"title": "Retries of a store"})
    for query in ('"store retries"', '"token store"', '"the tokenStore"', "tok*"):
        assert episodes.found(query, tier=1) == ["a#None"], query
    assert episodes.found('"retries of a"', tier=1) == ["b#None"]
    assert episodes.found('"retries of a"', tier=2) == ["b#0"]  # its only message


def test_an_answer_gains_from_the_question_before_it(episodes):
    talk = [f"something else number {n}" for n in range(60)]
    talk[30:32] = ["where did the token refresh of payments fail?", "in Frankfurt"]
    episodes.save("a", *talk)
    hits = episodes.find("where did the token refresh of payments fail", top_k=3)
    assert [hit.sequence for hit in hits][:2] == [30, 31]
    assert hits[1].explain.boosts["neighbours"] > 0


def test_an_answer_gains_more_than_what_is_said_before_a_question_or_by_its_speaker(episodes):
    asked = "where did the token refresh of payments fail?"
    messages = [
        {"role": "user", "content": "something else"},
        {"role": "assistant", "content": asked},
        {"role": "assistant", "content": "I mean the one of yesterday"},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": "in Frankfurt"},
    ]
    episodes.sessions.save({"session_id": "a", "messages": messages})
    hits = {hit.sequence: hit.explain.boosts for hit in episodes.find(asked)}
    assert {sequence for sequence, boosts in hits.items() if "answer" in boosts} == {4}
    assert {sequence for sequence, boosts in hits.items() if "brevity" not in boosts} == {4}


@pytest.mark.parametrize(
    ("content", "asks"),
    [
        ("It is late. Why?", True),
        ("It is late. Why is that", True),
        ("ok\nwhat about late.py", True),
        ("When it is late, we go.", False),
        ("Why? It is late", False),
        ("", False),
    ],
)
def test_a_question_is_told_without_its_mark_by_its_first_word(content, asks):
    assert Message(role=Role.USER, content=content).asks == asks


def test_what_a_user_says_first_in_a_project_is_a_request(episodes):
    said = "the token refresh of payments fails in Frankfurt"
    talk = [said, "I mean since today", "one clock was late", "that is odd", "it has no battery"]
    roles = ["user", "user", "assistant", "user", "assistant"]
    for speaker, project, answers in [
        ("", "/src/shop", [2]),
        ("", "", []),
        ("Jo", "/src/shop", []),
    ]:
        messages = [
            {"role": role, "content": text} | ({"speaker": speaker} if role == "user" else {})
            for role, text in zip(roles, talk, strict=True)
        ]
        episodes.sessions.save({"session_id": "a", "project_path": project, "messages": messages})
        found = [h.sequence for h in episodes.find(said) if "answer" in h.explain.boosts]
        assert found == answers, (speaker, project)


def test_a_request_states_what_exceeds_its_first_words(episodes):
    said = "the token refresh of payments fails in Frankfurt, where a clock is late"
    for project, words, stated in ("/src/shop", 13, 0), ("/src/shop", 26, 11), ("", 13, 13):
        messages = [{"role": "user", "content": " ".join((said.split() * 2)[:words])}]
        episodes.sessions.save({"session_id": "a", "project_path": project, "messages": messages})
        lost = [hit.explain.boosts["brevity"] for hit in episodes.find("token refresh fails")]
        assert lost == [pytest.approx(-0.2 * 5 / (5 + stated), abs=1e-5)], project


def test_of_an_answer_in_several_messages_the_one_that_states_most_gains(episodes):
    asked = "where did the token refresh of payments fail?"
    report = "it failed in Frankfurt, where the clock of one machine was late"
    answer = ["let me look", report, "shall I mend that?", "```\nsudo ntpdate\n```"]
    talk = [("user", asked), *(("assistant", text) for text in answer), ("user", "it is late")]
    messages = [{"role": role, "content": text} for role, text in talk]
    for length, sequence in {2: 1, 3: 2, 6: 2}.items():  # as a transcript grows
        episodes.sessions.save({"session_id": "a", "messages": messages[:length]})
        hits = episodes.find(asked)
        assert [hit.sequence for hit in hits if "answer" in hit.explain.boosts] == [sequence]


def test_an_answer_may_be_code_alone(episodes):
    asked = "where did the token refresh of payments fail?"
    episodes.save("a", "something else", "well", asked, "```\nlog(token)\n```")
    hits = episodes.find(asked)
    assert [hit.sequence for hit in hits if "answer" in hit.explain.boosts] == [3]


def test_a_question_for_what_was_asked_prefers_neither_answers_nor_what_states_more(episodes):
    episodes.save("a", "something else", "well", "can you mend the token refresh?", "it is mended")
    for question, terms in {
        "who mended the token refresh": {"answer", "brevity"},
        "what did I ask about the token refresh": set(),
        "Questions about the token refresh": set(),
    }.items():
        boosts = {term for hit in episodes.find(question) for term in hit.explain.boosts}
        assert boosts & {"answer", "brevity"} == terms, question


def test_what_the_speaker_said_whom_a_question_names_comes_before_what_others_said(episodes):
    talk = [("Anna Lee", "a lock helps"), ("Will", "a lock helps"), ("", "a lock helps")]
    messages = [{"role": "user", "content": text, "speaker": name} for name, text in talk]
    episodes.sessions.save({"session_id": "a", "messages": messages})
    for question, speakers in {
        "what did Anna say of a lock": [0],
        "what of ANNA's lock": [0],
        "will the lock help": [],  # no name
        "what did the user say of a lock": [],
        "did Anna Lee or Will mention a lock": [0],
        "lock": [],
    }.items():
        found = [h.sequence for h in episodes.find(question) if "speaker" in h.explain.boosts]
        assert found == speakers, question


def test_what_the_user_said_gains_where_the_question_is_what_i_said(episodes):
    episodes.save(
        "a", "a lock around the refresh", "a lock around the whole refresh, since two run"
    )
    for question, gaining in {
        "what did I say of a lock": [0],
        "which lock had I wanted": [0],
        "what did we say of a lock": [],
        "how do I lock the refresh": [],
    }.items():
        found = [h.sequence for h in episodes.find(question) if "speaker" in h.explain.boosts]
        assert found == gaining, question


def test_of_equal_words_what_states_more_comes_first(episodes):
    stated = "the token refresh fails under load, since two of them run at once without a lock"
    episodes.save("a", stated, "the token refresh fails?")
    assert episodes.found("token refresh fails") == ["a#0", "a#1"]
    lost = [hit.explain.boosts["brevity"] for hit in episodes.find("token refresh fails")]
    assert lost == [pytest.approx(-0.2 * 5 / (5 + 16), abs=1e-5), -0.2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Is it late? It is.\nShall we go?  ", 2),
        ("Really?!", 1),  # as much a cry as a question
        ("\u4f60\u5728\u54ea\u91cc\uff1f\u6211\u5728\u5bb6\u91cc\u3002", 2),
        ("Do this:\n```sh\nmake all\n```\nand wait.", 4),
        ("It says\n```\nopen(path)?;", 2),  # cut short
        ("", 0),
    ],
)
def test_a_message_states_what_stands_outside_of_its_questions_and_its_code(content, words):
    assert Message(role=Role.USER, content=content).stated == words


def test_an_identifier_leads_to_what_holds_it_as_a_whole(episodes):
    """Its parts may stand in any message; beside other words it counts for what they lack."""
    episodes.save("a", "the config of v2 fails, what does parse say of the config in v2", "no idea")
    episodes.save("b", "Renamed `parse_config_v2` once more.", "ok")
    episodes.save("c", *["we parse the config of v2 in a loop and tell nobody of it"] * 6)
    for question in ("parse_config_v2", "what is parse_config_v2 for"):
        first = episodes.find(question)[0]
        assert (first.session_id, first.explain.keyword) == ("b", 1.0), question
    for question in ("parse config v2", "why parse_config_v2 fails"):
        assert episodes.find(question)[0].session_id != "b", question


def test_an_answer_gains_from_what_is_said_around_it_and_in_its_session(episodes):
    """The words of a question may be spread over several messages, none of which has them all."""
    episodes.save("a", "about the token refresh", "it works", "only under load", "what of payments")
    episodes.save("b", "it works", "about the token refresh", *["something else"] * 9)
    hits = {f"{h.session_id}#{h.sequence}": h for h in episodes.find("token load payments")}
    told = {name: hits[name].explain.boosts for name in ("a#1", "b#0")}
    assert told["a#1"]["around"] == pytest.approx(0.2)  # every word, within two messages
    assert 0 < told["b#0"]["around"] < 0.1
    assert told["a#1"]["session"] > told["b#0"]["session"] > 0
    assert hits["a#1"].score > hits["b#0"].score


def test_a_session_is_answered_once_by_its_best_parts(episodes):
    episodes.save(
        "a", "the token refresh fails", "the token refresh is locked", "token and refresh"
    )
    episodes.save("b", "the token refresh fails", "something else")
    parts = episodes.find("token refresh fails")
    assert len(parts) > 2
    whole = episodes.find("token refresh fails", by_session=True)
    assert [hit.session_id for hit in whole] == ["a", "b"]
    assert whole[0].sequence == 0  # its best part
    for hit in whole:
        assert sum(hit.explain.terms.values()) == pytest.approx(hit.score, abs=1e-5)
    assert [h.session_id for h in episodes.find("token", by_session=True, top_k=1)] == ["a"]


def test_the_last_message_lends_nothing_to_another_session(episodes):
    episodes.save("a", "something else", "where did the token refresh fail")
    episodes.save("b", "in Frankfurt")
    hits = {f"{h.session_id}#{h.sequence}": h for h in episodes.find("token refresh fail")}
    assert "neighbours" in hits["a#0"].explain.boosts
    assert "neighbours" not in hits["b#0"].explain.boosts


def test_scores_lie_in_0_to_1_and_fall_with_rank(several):
    for mode in SearchMode:
        scores = [hit.score for hit in several.find("token two", mode=mode)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_without_a_model_words_alone_rank_and_that_is_said(open_episodes):
    episodes = open_episodes(model="")
    episodes.save("a", "the token refresh fails", "a lock will help")
    assert episodes.found("token refresh") == ["a#0", "a#1"]
    assert episodes.notices.has("keyword alone") or episodes.notices.has("no model")
    episodes = open_episodes(model="1")
    assert episodes.found("token refresh", mode=SearchMode.VECTOR)[0] == "a#0"


@pytest.mark.parametrize("query", ["???", "the of a", '""', "*", "a" * 10_000, "x\0y"])
def test_any_query_is_answered(several, query):
    for mode in SearchMode:
        assert several.find(query, mode=mode) is not None


def test_an_empty_query_is_wrong_usage(several):
    with pytest.raises(UsageError):
        several.find("  ")


def test_a_project_or_topic_that_no_session_has_is_said(episodes):
    episodes.save("a", "Refresh the token", project_path="/srv/shop", topics=["auth"])
    for wanted, told in (
        (SessionFilter(projects=("shp",)), "no session is of the project shp: there is shop"),
        (SessionFilter(topics=("oauth",)), "no session has the topic oauth: there is auth"),
    ):
        assert episodes.sessions.list_sessions(wanted) == []
        assert episodes.sessions.search(SessionQuery(text="token", filter=wanted)) == []
        assert [each for each in episodes.notices.said if "no session" in each] == [told, told]
        episodes.notices.said.clear()
    assert episodes.sessions.list_sessions(SessionFilter(projects=("shop",), topics=("auth",)))
    assert episodes.notices.said == []


def test_where_no_session_was_saved_there_are_no_hits(episodes, root):
    (root / "2026-03").mkdir(parents=True)
    assert not episodes.sessions.has_any()
    assert episodes.find("token") == []
    assert episodes.sessions.list_sessions(SessionFilter()) == []


def test_pruning_is_previewed_and_can_be_undone(several, root, data_dir):
    several.now += 10 * DAY_MS
    keep = Retention(keep_count=1)
    gone = several.sessions.prune(keep, dry_run=True)
    assert [each.session_id for each in gone.sessions] == ["b", "a"]
    assert len(list(root.rglob("*.json"))) == 3
    assert several.sessions.prune(keep, dry_run=False).sessions == gone.sessions
    assert several.found("token", mode=SearchMode.KEYWORD) == ["c#0"]
    archived = sorted((data_dir / "archive" / "architect").rglob("*.json"))
    assert [path.name for path in archived] == ["a.json", "b.json"]
    (saved,) = several.sessions.import_files(archived[:1], {}).sessions
    assert saved.created_at == "2026-03-01T09:12:00.000Z"
    assert set(several.found("token", mode=SearchMode.KEYWORD)) == {"a#0", "c#0"}


@pytest.mark.parametrize("meanwhile", ["saved", "deleted"])
def test_what_was_changed_since_it_was_chosen_is_not_pruned(several, root, monkeypatch, meanwhile):
    several.now += 10 * DAY_MS

    def choose_late(*arguments: Any, **options: Any) -> list[ExpiredSession]:
        chosen = expired_sessions(*arguments, **options)
        if meanwhile == "saved":
            several.save("b", "said just now")
        else:
            several.sessions.delete("b")
        return chosen

    monkeypatch.setattr("memory_sidecar.sessions.handlers.expired_sessions", choose_late)
    pruned = several.sessions.prune(Retention(keep_count=1), dry_run=False)
    assert [each.session_id for each in pruned.sessions] == ["a"]
    left = {"b", "c"} if meanwhile == "saved" else {"c"}
    assert {path.stem for path in root.rglob("*.json")} == left
    assert {each.session_id for each in several.sessions.list_sessions(SessionFilter())} == left


def test_a_rebuild_from_files_gives_equal_answers(several):
    queries = [
        SessionQuery(text=text, kinds=kinds, mode=mode)
        for text in ("token two", '"token three"', "refr*")
        for kinds in TIERS.values()
        for mode in SearchMode
    ]
    before = [several.sessions.search(query) for query in queries]
    heads = several.sessions.list_sessions(SessionFilter())
    assert any(before)
    several.agent.rebuild(reporter=several.notices)
    assert [several.sessions.search(query) for query in queries] == before
    assert several.sessions.list_sessions(SessionFilter()) == heads


def message_rows(episodes: Episodes) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of messages by session, in order, each with what finds it."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    with episodes.agent.data.open().reading() as connection:
        for session_id, first, *row in connection.execute(
            "SELECT s.session_id, first_message + sequence, m.id, role, content, heading,"
            " m.created_at FROM messages m JOIN sessions s ON s.id = m.session_id"
            " JOIN message_vectors v ON v.id = m.id ORDER BY m.session_id, sequence"
        ):
            assert first == row[0]
            found.setdefault(session_id, []).append(tuple(row))
    return found


def test_sessions_that_go_on_in_turns_keep_the_rows_of_their_messages(episodes):
    contents: dict[str, list[str]] = {"a": [], "b": []}
    before: dict[str, list[tuple[Any, ...]]] = {"a": [], "b": []}
    for turn in range(4):
        for name, its in contents.items():
            its.append(f"{name} says {turn}")
            episodes.now += DAY_MS
            episodes.save(name, *its, created_at="2026-03-01T09:12:00Z")
        rows = message_rows(episodes)
        for name, known in before.items():
            assert [row[2] for row in rows[name]] == contents[name]
            assert rows[name][: len(known)] == known
        before = rows


def test_an_only_message_is_found_by_the_title_that_its_session_has(episodes):
    def found(title: str, *contents: str) -> list[list[str]]:
        episodes.now += DAY_MS
        episodes.save("a", *contents, metadata={"title": title}, created_at="2026-03-01T09:12:00Z")
        return [
            episodes.found(word, tier=2, mode=SearchMode.KEYWORD)
            for word in ("payment", "kangaroo")
        ]

    assert found("Payment", "x") == [["a#0"], []]
    assert found("Kangaroo", "x") == [[], ["a#0"]]
    assert found("Kangaroo", "x", "y") == [[], []]


def test_a_session_that_goes_on_keeps_the_rows_of_its_messages(episodes):
    def saved(*contents: str, **more: Any) -> list[tuple[Any, ...]]:
        episodes.now += DAY_MS
        episodes.save("a", *contents, created_at="2026-03-01T09:12:00Z", **more)
        rows = message_rows(episodes)["a"]
        assert [row[2] for row in rows] == [*contents]
        return rows

    first = saved("one token")
    longer = saved("one token", "two locks", summary={"brief": "Locked it", "user_note": "soon"})
    assert longer[:1] == first
    assert episodes.found("locks", mode=SearchMode.KEYWORD)[0] == "a#1"
    told = saved("one token", "two locks", summary={"brief": "Told it again"})
    assert told == longer
    (head,) = episodes.sessions.list_sessions(SessionFilter())
    assert (head.message_count, head.updated_at) == (2, iso_utc(episodes.now))
    assert episodes.find("locked", tier=1, mode=SearchMode.KEYWORD) == []
    episodes.save("b", "of another session")
    assert saved("one token", "two locks", summary={"brief": "Told a third time"}) == longer
    many = ["one token", "two locks", *map(str, range(LEAST_ROOM))]
    moved = saved(*many)  # beyond the room for its ids
    assert moved[0][0] > message_rows(episodes)["b"][0][0]
    assert saved(*many, "one more")[:-1] == moved
    saved("one token", "2 locks", "three")  # a message reads otherwise
    assert episodes.found("two", mode=SearchMode.KEYWORD) == []
    saved("one token")


def test_a_rebuild_gives_sessions_the_vectors_of_another_model(open_episodes):
    open_episodes().save("a", "the token refresh fails")
    report = open_episodes(model="2").agent.rebuild(reporter=Silent())
    assert report.vectors_embedded == report.chunks_total > 0


def test_a_lost_database_is_made_again(open_episodes, data_dir):
    open_episodes().save("a", "the token refresh fails")
    open_episodes()
    for path in (data_dir / "knowledge").glob("architect.sqlite*"):
        path.unlink()
    episodes = open_episodes()
    assert episodes.found("token", mode=SearchMode.KEYWORD) == ["a#0"]
    assert episodes.notices.has("indexing it")


def test_imports_are_all_or_nothing(episodes, tmp_path, root):
    good = {"session_id": "a", "messages": [{"role": "user", "content": "x"}]}
    bad = {"session_id": "b", "messages": [{"role": "robot", "content": "x"}]}
    file = tmp_path / "sessions.json"
    file.write_text(json.dumps([good, bad]))
    with pytest.raises(SessionInvalid):
        episodes.sessions.import_files([file], {})
    assert not root.exists() or list(root.rglob("*.json")) == []
    with pytest.raises(NotFound):
        episodes.sessions.import_files([tmp_path / "nothing.json"], {})


def test_importing_again_takes_what_is_new(episodes, tmp_path):
    lines = [{"role": "user", "content": "one", "sessionId": "t"}]
    file = tmp_path / "t.jsonl"
    for content in ("two", "three"):
        lines.append({"role": "assistant", "content": content, "sessionId": "t"})
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (saved,) = episodes.sessions.import_files([file], {}).sessions
        assert saved.changed
    (saved,) = episodes.sessions.import_files([file], {}).sessions
    assert not saved.changed
    assert saved.message_count == 3


def test_importing_again_keeps_what_the_file_does_not_tell(episodes, tmp_path):
    told = {"session_id": "a", "messages": [{"role": "user", "content": "why did it fail"}]}
    known = {"topics": ["auth"], "summary": SUMMARY, "metadata": {"pinned": True, "from": "old"}}
    episodes.sessions.save(told | known)
    more = [*told["messages"], {"role": "assistant", "content": "the token expired"}]
    file = tmp_path / "a.json"
    file.write_text(
        json.dumps(told | {"messages": more, "summary": None, "metadata": {"from": "new"}})
    )
    episodes.now += DAY_MS
    assert episodes.sessions.import_files([file], {}).sessions[0].changed
    document = episodes.sessions.get("a").document
    assert document["messages"] == more
    assert document["metadata"] == {"pinned": True, "from": "new"}
    assert (document["topics"], document["summary"]) == (["auth"], SUMMARY)
    assert not episodes.sessions.import_files([file], {}).sessions[0].changed


def test_a_shorter_transcript_takes_nothing_from_the_session(episodes, tmp_path):
    whole, cut = tmp_path / "t.jsonl", tmp_path / "cut.jsonl"
    told = [
        {
            "sessionId": "t",
            "uuid": f"u{at}",
            "timestamp": f"2026-02-01T09:0{at}:00Z",
            "message": {"role": ("user", "assistant")[at % 2], "content": content},
        }
        for at, content in enumerate(["why", "the token", "mend it", "mended"])
    ]
    whole.write_text("".join(json.dumps(line) + "\n" for line in told))
    episodes.sessions.import_files([whole], {})
    before = episodes.sessions.get("t").document
    for part in (told[:1], told[2:], told[1:3]):
        cut.write_text("".join(json.dumps(line) + "\n" for line in part))
        (saved,) = episodes.sessions.import_files([cut], {}).sessions
        assert (saved.message_count, saved.changed) == (4, False)
    assert episodes.sessions.get("t").document == before


def test_imports_at_the_same_time_lose_nothing_of_each_other(open_episodes, tmp_path):
    said = [{"sessionId": "t", "role": "user", "content": f"part {at}"} for at in range(12)]
    files = [tmp_path / f"{at}.jsonl" for at in range(len(said))]
    for file, line in zip(files, said, strict=True):
        file.write_text(json.dumps(line))
    episodes = [open_episodes() for _ in range(3)]
    with ThreadPoolExecutor() as threads:
        parts = (files[at::3] for at in range(3))
        list(threads.map(lambda one, part: one.sessions.import_files(part, {}), episodes, parts))
    messages = episodes[0].sessions.get("t").document["messages"]
    assert sorted(each["content"] for each in messages) == sorted(each["content"] for each in said)


def test_a_transcript_without_an_id_is_one_session_on_every_day(episodes, tmp_path):
    file = tmp_path / "chat.jsonl"
    for count in (1, 2, 3):
        told = [{"role": "user", "content": str(at)} for at in range(count)]
        file.write_text("".join(json.dumps(line) + "\n" for line in told))
        episodes.now += DAY_MS
        episodes.sessions.import_files([file], {})
    (listed,) = episodes.sessions.list_sessions(SessionFilter())
    assert listed.message_count == 3


def test_a_file_that_fails_keeps_no_other_from_being_imported(episodes, tmp_path):
    good, bad, gone = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl"
    good.write_text('{"role": "user", "content": "the token refresh fails"}')
    bad.write_text('{"type": "summary", "summary": "of nothing"}')
    imported = episodes.sessions.import_files([bad, good, gone], {})
    assert [each.file for each in imported.failed] == [bad.as_posix(), gone.as_posix()]
    assert len(imported.sessions) == 1
    assert episodes.notices.has("b.jsonl holds no session")
    assert len(episodes.found("token", mode=SearchMode.KEYWORD)) == 1
    with pytest.raises(SessionInvalid, match="holds no session"):
        episodes.sessions.import_files([bad, gone], {})


def test_an_mv2_file_takes_memvid(episodes, tmp_path):
    (tmp_path / "a.mv2").write_bytes(b"")
    with pytest.raises(UsageError, match="not on the PATH"):
        episodes.sessions.import_files([tmp_path / "a.mv2"], {"PATH": ""})


def test_what_is_put_into_a_file_while_it_is_imported_is_imported_next(
    episodes, tmp_path, memvid_environ, monkeypatch
):
    file, read_entries = tmp_path / "a.mv2", Memvid.entries
    memvid = Memvid.find(memvid_environ)
    assert memvid
    memvid.put(file, Entry("The refresh takes a lock", "", {}, 0), timeout_s=60)

    def read_before_a_put(memvid, file):
        yield from read_entries(memvid, file)
        monkeypatch.undo()
        memvid.put(file, Entry("The lock is released again", "", {}, 0), timeout_s=60)

    monkeypatch.setattr(Memvid, "entries", read_before_a_put)
    journal = Journal(episodes.agent, Silent())
    for known in (1, 2, 2):
        journal.import_mv2(file, memvid_environ)
        assert len(journal.list_sessions(SessionFilter())) == known


def test_what_memvid_failed_to_take_is_put_again(episodes, tmp_path, memvid_environ, monkeypatch):
    journal, file = Journal(episodes.agent, Silent()), tmp_path / "a.mv2"
    put = Memvid.put

    def fail(*_args: Any) -> None:
        raise MemvidFailed("no")

    def outcome_of(text: str) -> str:
        entry = Entry(text, "A lock", {"a": "b"}, NOW + len(text))
        return journal.put(file, entry, memvid_environ).memvid

    monkeypatch.setattr(Memvid, "put", partialmethod(put, timeout_s=60))
    monkeypatch.setattr(Memvid, "has", partialmethod(Memvid.has, timeout_s=60))
    assert outcome_of("another") == "written"
    monkeypatch.setattr(Memvid, "put", fail)
    assert outcome_of("one lock") == "failed"
    monkeypatch.setattr(Memvid, "put", partialmethod(put, timeout_s=60))
    assert outcome_of("one  lock") == "written"
    assert [outcome_of("one lock"), outcome_of("another")] == ["has it already"] * 2


def test_a_journal_leaves_out_what_is_deleted_while_it_is_read(episodes, monkeypatch):
    journal = Journal(episodes.agent, Silent())
    for name in ("a", "b"):
        episodes.save(name, "the token refresh fails", topics=["task:1"])
    listed = journal.list_sessions(SessionFilter())
    journal.delete("a")
    monkeypatch.setattr(journal, "list_sessions", lambda _: listed)
    assert [each["session_id"] for each in journal.entries("task:1")] == ["b"]


def test_reranking_reads_a_message_after_the_one_before_it(episodes, tmp_path):
    episodes.save("a", "where was it", "in Frankfurt", "and then", "in Berlin")
    seen: list[str] = []

    def judge(question: str, texts: Any) -> list[float]:
        seen.extend(texts)
        return [20.0 if "Berlin" in text.splitlines()[-1] else -20.0 for text in texts]

    query = SessionQuery(text="where was it", kinds=TIERS[2], top_k=2)
    options: dict[str, Any] = {
        "store": episodes.agent.data.open(),
        "embed_query": HashModels(tmp_path / "v.sqlite").embedder.embed_query,
        "now": NOW,
    }
    with options["store"].reading() as connection:
        there = episodes.agent.deletions()
        plain = search_sessions(query, connection, there, **options)
        better = search_sessions(query, connection, there, judge=judge, **options)
        by_words = replace(query, mode=SearchMode.KEYWORD)
        assert search_sessions(by_words, connection, there, judge=judge, **options)
    assert better[0].text == "in Berlin"
    assert "user: and then\nassistant: in Berlin" in seen
    assert [hit.score for hit in better] == [hit.score for hit in plain]


def test_what_is_too_large_is_refused_before_it_is_searched_for_secrets(
    episodes, monkeypatch, tmp_path
):
    monkeypatch.setattr(files, "MAX_SESSION_BYTES", 1 << 20)
    words = "AKIA" + "Z7Q4M2K6X3W2V5T7 " + "word " * (1 << 18)
    document = {"session_id": "long", "messages": [{"role": "user", "content": words}]}
    with pytest.raises(SessionInvalid, match="takes 1 MiB as a file"):
        episodes.sessions.save(document)
    (tmp_path / "long.json").write_text(json.dumps(document))
    with pytest.raises(SessionInvalid, match=r"long\.json: the session takes 1 MiB as a file"):
        episodes.sessions.import_files([tmp_path / "long.json"], {})
    assert episodes.notices.said == []


def test_what_was_said_in_the_time_of_a_question_gains(episodes):
    for session_id, day in (("a", "2026-01-20"), ("b", "2026-02-10"), ("c", "2026-02-24")):
        episodes.save(session_id, "why is the import slow", "The tags.", created_at=f"{day}T09:00Z")
    for when, session_id in (("in January", "a"), ("on 10 February", "b"), ("last Tuesday", "c")):
        hits = episodes.find(f"why was the import slow {when}")
        assert {hit.session_id for hit in hits if "time" in hit.explain.terms} == {session_id}
        for hit in hits:
            assert sum(hit.explain.terms.values()) == pytest.approx(hit.score, abs=1e-3)
    assert not any("time" in hit.explain.terms for hit in episodes.find("why was the import slow"))
    assert {hit.session_id for hit in episodes.find("what did we do last Tuesday")[:2]} == {"c"}


def test_a_message_that_a_fork_copied_is_found_once(episodes):
    began = "2026-03-01T09:12:00Z"
    episodes.save("a", "why is the import slow", "The tags are read twice.", created_at=began)
    episodes.save(
        "b", "why is the import slow", "The tags are read twice.", "Cache the tags.",
        created_at=began,
    )  # fmt: skip
    for mode in (SearchMode.KEYWORD, SearchMode.HYBRID):
        found = [hit.text for hit in episodes.find("tags of the import", tier=2, mode=mode)]
        assert len(found) == len(set(found)), mode
    hits = episodes.find("tags of the import", by_session=True)
    assert {hit.session_id for hit in hits} == {"a", "b"}


def test_a_session_is_as_late_as_what_was_said_last(episodes):
    for name, began, last in (("a", "2026-01-20", "2026-02-26"), ("b", "2026-02-01", "2026-02-02")):
        said = [{"role": "user", "content": name, "created_at": day} for day in (began, last)]
        said.append({"role": "assistant", "content": "One without a time follows them."})
        episodes.sessions.save({"session_id": name, "created_at": began, "messages": said})
    listed = episodes.sessions.list_sessions(SessionFilter())
    assert [(each.session_id, each.ended_at[:10]) for each in listed] == [
        ("a", "2026-02-26"), ("b", "2026-02-02"),
    ]  # fmt: skip
    for after, before, ids in (
        ("2026-02-20", None, ["a"]), ("2026-02-01", None, ["a", "b"]), (None, "2026-02-01", ["a"]),
    ):  # fmt: skip
        wanted = SessionFilter.parse(
            projects=[], topics=[], outcomes=[], after=after, before=before
        )
        found = episodes.sessions.list_sessions(wanted)
        assert [each.session_id for each in found] == ids, (after, before)


def test_a_session_is_read_by_the_name_of_its_file(episodes):
    whole = "0b1f2a3c-1111-4111-8111-aaaaaaaaaaaa"
    episodes.save(whole, "why")
    for name in (f"{whole}.jsonl", f"2026-03/{whole}.json", whole.upper()):
        assert episodes.sessions.get(name).document["session_id"] == whole


def test_a_german_question_finds_the_message_that_has_what_it_names(episodes):
    episodes.save("a", "pgbouncer breaks statements")
    episodes.save(
        "b", "Warum das so ist, steht im Wiki der Firma unter Regeln, Fahrten und Preise."
    )

    assert episodes.found("warum ist das mit pgbouncer so") == ["a#0", "b#0"]
