"""How memories are ranked: by both arms, nudged by strength, the outdated a little behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent, build_from
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.hit import (
    MAX_CHARACTERS,
    MAX_JUDGED,
    RankedMemory,
    Searched,
    Shown,
    best_hits,
    rerank,
)
from memory_sidecar.memories.model import MemoryFilter, MemoryQuery
from memory_sidecar.memories.results import Memory
from memory_sidecar.memories.search import ASKED_LOSS
from memory_sidecar.memories.store import MemoryChunk
from tests.conftest import write_memory

NOW = 1_772_356_320_000  # 2026-03-01T09:12:00Z


@pytest.fixture
def folder(data_dir):
    return data_dir / "knowledge" / "architect"


@pytest.fixture
def search(make_agent):
    """`search(text, ...)`: the hits of the agent as it finds them now."""

    def search(text, *, mode="hybrid", top_k=10, max_tokens=None, **wanted):
        query = MemoryQuery(
            text=text,
            mode=SearchMode(mode),
            top_k=top_k,
            max_tokens=max_tokens,
            filter=MemoryFilter(**wanted),
            explain=True,
        )
        return Memories(make_agent(clock=lambda: NOW), Silent()).query(query)

    return search


def names(hits):
    return [hit.path.removesuffix(".md") for hit in hits]


PAGES = {
    "cycle": "Avoid the Strategy pattern in payment: it makes a dependency cycle.",
    "queue": "The retry queue must be drained before the worker stops.",
    "cart": "A cart keeps the price that an item had when it was added.",
}


@pytest.mark.parametrize("mode", SearchMode)
def test_what_answers_the_question_comes_first(search, folder, mode):
    for name, text in PAGES.items():
        write_memory(folder, f"{name}.md", text)
    hits = search("a dependency cycle in payment", mode=mode)
    assert names(hits)[0] == "cycle"
    scores = [hit.relevance for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("mode", SearchMode)
def test_a_hit_is_found_by_the_score_that_it_is_shown_with(make_agent, folder, mode):
    for name, text in PAGES.items():
        write_memory(folder, f"{name}.md", text)
    memories = Memories(make_agent(clock=lambda: NOW), Silent())
    asked = MemoryQuery(text="a cart and its price in payment", mode=mode)
    every = memories.query(asked)
    assert every
    for hit in every:
        found = memories.query(replace(asked, min_score=hit.relevance))
        assert found == [each for each in every if each.relevance >= hit.relevance]


def test_fading_makes_no_match_weak(search, folder):
    words = PAGES["queue"].split()
    strange = (
        "asphalt bassoon cumulus dolphin eyelash falconry gazebo hammock iguana jasmine".split()
    )
    questions = [" ".join([*words[:n], *strange[n:]]) for n in range(len(words) + 1)]
    told = []
    for year in ("2026", "2016"):
        at = f"{year}-03-01T09:00:00Z"
        write_memory(folder, "queue.md", PAGES["queue"], created_at=at, updated_at=at)
        told.append([search(question)[0] for question in questions])
    new, old = ([hit.is_weak for hit in hits] for hits in told)
    assert new == old
    assert {*new} == {True, False}
    assert all(hit.explain.terms["strength"] < 0 for hit in told[1])


def test_tags_category_and_summary_are_searched_too(search, folder):
    write_memory(folder, "decisions/one.md", "Body of one.", tags=["area:checkout"])
    write_memory(folder, "two.md", "Body of two.", summary="Invoices are rounded late")
    write_memory(folder, "three.md", "Body of three.")
    assert names(search("checkout", mode="keyword")) == ["decisions/one"]
    assert names(search("decisions", mode="keyword")) == ["decisions/one"]
    assert names(search("rounded invoices", mode="keyword")) == ["two"]


def test_both_arms_keep_to_the_filter(search, folder):
    for name, text in PAGES.items():
        write_memory(folder, f"{name}/{name}.md", text, tags=[name])
    for mode in SearchMode:
        assert names(search("payment queue cart", mode=mode, category="queue")) == ["queue/queue"]
        assert names(search("payment queue cart", mode=mode, tags=("cart",))) == ["cart/cart"]
        assert names(search("payment queue cart", mode=mode, tags=("none",))) == []


@pytest.mark.parametrize("mode", SearchMode)
def test_what_is_outdated_hides_and_is_found_like_all_else_when_asked_for(search, folder, mode):
    text = "The cache is a map of strings."
    write_memory(folder, "old.md", text, status="superseded")
    write_memory(folder, "gone.md", text, expires_at="2026-01-01")
    write_memory(folder, "now.md", text)
    for number in range(40):
        write_memory(folder, f"other/{number}.md", f"Something else about a cache, {number}.")
    question = "the cache is a map of strings"
    assert not {"old", "gone"} & set(names(search(question, mode=mode, top_k=50)))
    hits = search(question, mode=mode, with_expired=True, with_superseded=True)
    assert names(hits)[0] == "now"
    assert {"old", "gone"} < set(names(hits))
    scores = [hit.relevance for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert set(names(hits)[:3]) == {"now", "old", "gone"}
    assert hits[names(hits).index("old")].relevance == pytest.approx(
        hits[0].relevance * (1 - ASKED_LOSS), rel=0.01
    )
    (by_status,) = search(question, mode=mode, statuses=("Superseded",))
    assert by_status.relevance == hits[names(hits).index("old")].relevance


def test_scores_mean_the_same_while_vectors_of_the_shared_ones_are_to_come(
    make_agent, folder, data_dir, notices
):
    write_memory(folder, "mine.md", PAGES["cycle"])
    write_memory(data_dir / "knowledge" / "shared", "theirs.md", PAGES["queue"])
    agent = make_agent()
    shared = agent.shared
    shared.data.update(shared.sources(), notices, embed=False)
    other_process = WriterLock(shared.paths.writer_lock, data_dir=data_dir)
    assert other_process.acquire()  # so that the query cannot embed them
    asked = MemoryQuery(text="a dependency cycle in payment, not a queue", explain=True)
    waiting = {hit.path: hit for hit in Memories(agent, notices).query(asked)}
    other_process.release()
    assert notices.has("vectors of agent shared 0 % done")
    explained = waiting["theirs.md"].explain
    assert explained
    assert explained.cosine is None
    assert waiting["mine.md"].relevance > waiting["theirs.md"].relevance
    notices.said.clear()
    done = {hit.path: hit for hit in Memories(agent, notices).query(asked)}
    assert not notices.has("vectors")
    assert done["mine.md"].relevance == waiting["mine.md"].relevance


def test_an_invalidated_atom_is_found_last_and_marked(search, folder):
    text = "Objects are read in one batch."
    write_memory(folder, "projects/p/knowledge/K-001.md", text, status="invalidated")
    write_memory(folder, "projects/p/knowledge/K-002.md", "Objects are read one by one.")
    hits = search("objects read in one batch")
    assert [hit.atom_id for hit in hits] == ["K-002", "K-001"]
    assert hits[1].superseded


def test_a_question_that_the_model_hardly_knows_is_ranked_by_words_if_any_occur(search, folder):
    write_memory(folder, "backup.md", "Ночью делается резервная копия базы.")
    write_memory(folder, "avatars.md", "Аватары лежат в объектном хранилище.")
    found = search("когда делается резервная копия")
    assert names(found) == ["backup"]
    assert found[0].explain.cosine is None
    assert {hit.explain.cosine is None for hit in search("куда деваются картинки")} == {False}
    assert {hit.explain.cosine is None for hit in search("backup копия")} == {False}


def test_what_the_question_names_comes_first(search, folder):
    for number in range(12):
        write_memory(folder, f"projects/p/patterns/PAT-{number:03}.md", "Batches of objects.")
    write_memory(folder, "projects/p/patterns/PAT-042.md", "Nothing of the kind.")
    best = search("batches of objects, see PAT-042", top_k=3)[0]
    assert best.atom_id == "PAT-042"
    assert best.relevance >= 0.9
    assert best.explain.boosts["named"] == 1
    write_memory(folder, "projects/q/patterns/PAT-042.md", "Nothing of the kind.")
    for project in ("p", "q"):
        hits = search(f"batches of objects, see {project}/PAT-042")
        assert [each.project for each in hits if "named" in each.explain.boosts] == [project]
    write_memory(folder, "notes/todo.md", "Unlike all else.")
    assert names(search("batches of objects, notes/todo?"))[0] == "notes/todo"
    write_memory(folder, "objects.md", "Unlike all else.")
    assert names(search("batches of objects"))[0] != "objects"
    assert names(search("why batches of objects.md"))[0] == "objects"


def test_an_identifier_leads_to_what_holds_it_as_a_whole(search, folder):
    write_memory(folder, "a.md", "Retry the queue: max of retry is in the queue's size, queue max.")
    write_memory(folder, "b.md", "Raised `retry.queue-max` before the sale.")
    for each in range(9):
        write_memory(folder, f"c{each}.md", f"Retry whatever has a max in queue {each}.")
    for question in ("retry.queue-max", "what is retry.queue-max"):
        first, second, *_ = search(question)
        assert names([first]) == ["b"]
        assert first.explain.keyword == 1.0 > second.explain.keyword
    assert search("retry queue max")[1].explain.keyword == 1.0


def test_strength_decides_between_equals_and_no_more(search, folder):
    text = "The deploy script needs the region."
    write_memory(folder, "a.md", text, updated_at="2024-01-01")
    write_memory(folder, "b.md", text + " ", updated_at="2024-01-01", pinned=True)
    write_memory(folder, "c.md", "The deploy is done by hand.", pinned=True)
    hits = search("the deploy script needs the region.")
    assert names(hits) == ["b", "a", "c"]
    assert hits[1].explain.boosts["strength"] == pytest.approx(-0.1, abs=0.01)
    assert "strength" not in hits[0].explain.boosts


def test_shared_memories_are_ranked_among_the_agents_own(search, folder, data_dir):
    write_memory(folder, "queue.md", PAGES["queue"])
    write_memory(folder, "copied.md", PAGES["cart"])
    shared = data_dir / "knowledge" / "shared"
    write_memory(shared, "cycle.md", PAGES["cycle"])
    write_memory(shared, "cart.md", PAGES["cart"], shared_from="architect")
    write_memory(data_dir / "knowledge" / "other", "secret.md", PAGES["cycle"])
    hits = search("a dependency cycle in payment")
    assert (names(hits)[0], hits[0].agent, hits[0].shared) == ("cycle", "shared", True)
    assert [hit.agent for hit in hits].count("shared") == 1  # a copy of its own is left out
    assert "secret" not in names(hits)


def test_a_memory_counts_once_by_its_best_part(search, folder):
    parts = ["# Carts\n\n" + "A cart keeps prices. " * 50, "# Zebra\n\n" + "A zebra runs. " * 80]
    write_memory(folder, "long.md", "\n\n".join(parts))
    (hit,) = search("zebra")
    assert hit.heading == "Zebra"
    assert hit.content == hit.content


def test_a_budget_shows_summaries_first(search, folder):
    for number, name in enumerate(PAGES):
        write_memory(folder, f"{name}.md", PAGES[name] + " More of it." * 100, summary=f"S{number}")
    question = " ".join(PAGES.values())
    tight = search(question, max_tokens=3)
    assert [hit.shown for hit in tight] == [Shown.SUMMARY] * 3
    assert {hit.content for hit in tight} == {"S0", "S1", "S2"}
    assert len(search(question, max_tokens=2)) == 2
    whole = search(question)
    roomy = search(question, max_tokens=whole[0].tokens + 2)
    assert [hit.shown for hit in roomy] == [Shown.CONTENT, Shown.SUMMARY, Shown.SUMMARY]
    assert roomy[0].content == whole[0].content


def test_ties_are_told_apart_by_path_however_many_there_are(search, folder):
    for number in reversed(range(130)):
        write_memory(folder, f"{number:03}.md", "The same text.")
    for mode in ("hybrid", "keyword"):
        assert names(search("the same text", mode=mode, top_k=3)) == ["000", "001", "002"]


def test_a_note_precedes_the_copies_that_a_sync_has_made_of_it(search, folder):
    copies = ("r (conflicted copy 2026-03-01)", "r 2", "r.sync-conflict-20260301-101010-ABC")
    for name in ("r", *copies):
        write_memory(folder, f"{name}.md", "At most three retries.")
    for mode in SearchMode:
        assert names(search("how many retries", mode=mode))[0] == "r"


def test_without_vectors_words_rank(make_agent, folder, notices):
    for name, text in PAGES.items():
        write_memory(folder, f"{name}.md", text)
    agent = make_agent(model="")
    hits = Memories(agent, notices).query(MemoryQuery(text="drained retry queue", explain=True))
    assert names(hits)[0] == "queue"
    assert hits[0].explain
    assert hits[0].explain.cosine is None
    assert notices.has("ranking by keyword alone")


def ranked(hits):
    """`hits` as they were before they were told."""
    return [
        RankedMemory(
            memory=build_from(Memory, hit),
            passage=MemoryChunk(hit.content, "", hit.heading, hit.start_line, hit.end_line),
            score=hit.relevance,
            explanation=hit.explain,
        )
        for hit in hits
    ]


def test_reranking_lifts_what_it_finds_better_and_keeps_the_scores(search, folder):
    for name, text in PAGES.items():
        write_memory(folder, f"{name}.md", text)
    first, *others = ranked(search("payment queue cart price"))
    hits = [first, *(replace(hit, weak_below=1.0) for hit in others)]
    last = hits[-1]
    better = rerank(
        "payment queue cart price",
        hits,
        lambda question, texts: [30.0 * (text == last.passage.text) for text in texts],
    )
    assert better[0].memory == last.memory
    assert [hit.score for hit in better] == [hit.score for hit in hits]
    assert [hit.is_weak for hit in better] == [hit.is_weak for hit in hits]
    assert better[0].explanation.boosts["reranked"] == round(hits[0].score - last.score, 6)
    indifferent = rerank("x", hits, lambda question, texts: [1.0] * len(texts))
    indifferent_paths = [hit.memory.path for hit in indifferent]
    assert indifferent_paths == [hit.memory.path for hit in hits]


def test_reranking_leaves_alone_what_comes_first_or_last_anyway(search, folder):
    for number in range(30):
        write_memory(folder, f"{number:02}.md", f"{'Words and words. ' * 40}{number}")
    hits = ranked(search("words", top_k=30))
    hits[0] = replace(hits[0], score=0.95)
    judged: list[str] = []

    def judge(question, texts):
        judged.extend(texts)
        return [float(number) for number in range(len(texts))]

    better = rerank("words", hits, judge)
    assert better[0] == hits[0]
    assert 1 < len(judged) <= MAX_JUDGED
    assert sum(map(len, judged)) <= MAX_CHARACTERS
    assert better[len(judged) + 1 :] == hits[len(judged) + 1 :]


@pytest.mark.parametrize(
    ("changed", "is_newer_first"),
    [
        ({}, True),
        ({"favour": 4.0}, False),  # the older one answers better
        ({"vector": [0.6, 0.8]}, False),  # it is about something else
        ({"vector": None}, False),
        ({"question": "how was the backend deployed on 1 January"}, False),
        ({"day": "2026-01-01"}, False),
        ({"project": "mill"}, False),
        ({"expires_at": "2026-02-01"}, False),  # though it is shown
        ({"status": "superseded"}, False),
        ({"older": {"pinned": True}, "favour": 0.5}, False),
        ({"older": {"pinned": True}, "pinned": True}, True),
    ],
)
def test_of_two_near_memories_that_answer_alike_the_newer_comes_first(
    search, folder, changed, is_newer_first
):
    case = {"favour": 2.0, "vector": [1.0, 0.0], "day": "2026-01-15", "project": "shop"} | changed
    question = case.get("question", "how is the backend deployed")
    told = ("pinned", "expires_at", "status")
    for name, day, project, more in (
        ("ansible", "2026-01-01", "shop", case.get("older", {})),
        ("nomad", case["day"], case["project"], {key: case[key] for key in told if key in case}),
    ):
        meta = {"created_at": day, "updated_at": day, "project": project} | more
        write_memory(folder, f"{name}.md", f"The backend is deployed with {name}.", **meta)
    vectors = {"ansible.md": np.array([1.0, 0.0]), "nomad.md": np.array(case["vector"] or [])}
    hits = [
        replace(hit, vector=vectors[hit.memory.path] if case["vector"] else None)
        for hit in ranked(search(question, with_expired=True, with_superseded=True))
    ]
    found = rerank(
        question, hits, lambda _, texts: [case["favour"] * ("ansible" in text) for text in texts]
    )
    assert [hit.memory.path for hit in found] == (
        ["nomad.md", "ansible.md"] if is_newer_first else ["ansible.md", "nomad.md"]
    )
    for hit in found:
        assert sum(hit.explanation.terms.values()) == pytest.approx(hit.score, abs=1e-3)


SLOW = "Checkout was slow for an hour."


def test_what_was_stored_or_changed_in_the_time_of_a_question_comes_first(search, folder):
    for name, created, updated in (
        ("a", "2026-01-19", "2026-01-19"),
        ("b", "2026-02-11", "2026-02-11"),
        ("c", "2026-02-12", "2026-02-26"),
    ):
        write_memory(folder, f"{name}.md", SLOW, created_at=created, updated_at=updated)
    write_memory(folder, "d.md", f"{SLOW} It was on 3 February.", created_at="2026-02-28")
    firsts = {
        when: search(f"why was checkout slow {when}")[0]
        for when in ("in January", "on 11 February", "last Thursday", "on February 3")
    }
    assert "".join(names(firsts.values())) == "abcd"
    for hit in firsts.values():
        assert hit.explain.terms["time"] > 0
        assert sum(hit.explain.terms.values()) == pytest.approx(hit.relevance, abs=1e-3)
    assert all("time" not in hit.explain.terms for hit in search("why was checkout slow"))


def test_a_time_lifts_nothing_above_a_memory_that_alone_tells_the_answer(search, folder):
    write_memory(folder, "answer.md", PAGES["queue"], created_at="2026-02-11")
    write_memory(folder, "then.md", PAGES["cart"], created_at="2026-02-25")
    assert names(search("drained retry queue of the worker last Wednesday"))[0] == "answer"


def test_where_only_a_time_is_asked_for_all_of_it_comes_first(search, folder):
    for day in range(20, 29):
        write_memory(folder, f"{day}.md", f"Then we did {day}.", created_at=f"2026-02-{day}")
    hits = search("what did we do on 24 February")
    assert names(hits)[0] == "24"
    assert not hits[0].is_weak
    assert hits[0].relevance > hits[1].relevance + 0.2


def test_a_german_question_finds_what_it_names_among_german_notes(search, folder):
    write_memory(folder, "pool.md", "pgbouncer breaks statements")
    note = "Warum das so ist, steht im Wiki der Firma unter Regeln, Fahrten und Preise."
    write_memory(folder, "wiki.md", note)

    hits = search("warum ist das mit pgbouncer so")

    assert names(hits) == ["pool", "wiki"]


def test_what_is_superseded_comes_after_its_successors_where_both_are_asked_for(search, folder):
    old = "Customer data is deleted 18 months after the last sailing"
    write_memory(folder, "a.md", old, superseded_by="b.md")
    write_memory(folder, "b.md", "Customer data goes after 15 months", superseded_by="c.md")
    write_memory(folder, "c.md", "Retention is 12 months now")

    hits = search("how many months after the last sailing is customer data", with_superseded=True)

    assert names(hits) == ["c", "b", "a"]
    assert [hit.relevance for hit in hits] == sorted((h.relevance for h in hits), reverse=True)
    assert names(search("a.md", with_superseded=True))[0] == "a"


def test_a_successor_that_takes_a_first_place_is_as_weak_as_that_place(search, folder):
    write_memory(folder, "old.md", "Data is deleted after 18 months", superseded_by="new.md")
    write_memory(folder, "new.md", "Data goes after 12 months")
    by_name = {hit.memory.path: hit for hit in ranked(search("data months", with_superseded=True))}
    old = replace(by_name["old.md"], score=0.42, weak_below=0.41)  # it has faded
    new = replace(by_name["new.md"], score=0.4, weak_below=0.45)
    query = MemoryQuery(text="data months")

    first, second = best_hits(query, [Searched([old, new])], None)

    assert (first.memory.path, first.score, first.is_weak) == ("new.md", 0.42, False)
    assert (second.memory.path, second.score) == ("old.md", 0.4)
    assert first.explanation.boosts["successor_first"] == pytest.approx(0.02)
    assert "reranked" not in first.explanation.boosts
