"""A summary in the session's own words."""

from __future__ import annotations

import time

import numpy as np
import pytest

from memory_sidecar.sessions.extract import MAX_SENTENCES, centrality, extract_summary
from tests.sessions.conftest import said, session_of

TALK = said(
    "The token refresh of the payment service fails under load. Can you look at it?",
    "Let me look at the payment service first. The token refresh of the payment service runs "
    "twice when two requests arrive together.",
    "What a nice day it is today in the garden behind our house.",
    "The bug was caused by a missing lock around the token refresh. We decided to use one lock "
    "in Redis for the token refresh of the payment service.",
)


def extracted(session, embed=None):
    summary = extract_summary(session, embed)
    assert summary is not None
    return summary


def test_the_most_central_sentence_is_the_brief():
    summary = extracted(session_of(messages=TALK))
    assert "token refresh of the payment service" in summary.brief
    assert "garden" not in summary.brief
    assert summary.made_by == "extract"


def test_decisions_and_problems_are_told_by_their_words():
    summary = extracted(session_of(messages=TALK))
    assert summary.key_decisions == (
        "We decided to use one lock in Redis for the token refresh of the payment service.",
    )
    assert summary.problems_solved == (
        "The bug was caused by a missing lock around the token refresh.",
    )


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("Package versions must be set in one place.", "The package must be on the path, I see."),
        ("Please never export a default.", "I never saw a default export in this folder."),
        ("It works, but don\u2019t keep state in the page.", "I replaced the state instead of it."),
        ("From now on all refreshes go through one helper.", "It must be the timing of the clock."),
    ],
)
def test_what_a_user_demands_is_decided_and_what_an_assistant_supposes_is_not(asked, answered):
    others = ("It must be a problem of the clock.", "I get ValueError: it must be positive.")
    summary = extracted(session_of(messages=said(asked, answered, *others)))
    assert summary.key_decisions == (asked,)


@pytest.mark.parametrize(
    ("problem", "report"),
    [
        (
            "The job failed because two workers share a folder.",
            "Done: fixed in src/job.py, pushed.",
        ),
        ("It turned out that the folder is not there.", "I fixed the folder because you asked so."),
        ("The cause was a folder that two jobs delete.", "Issue resolved, the job is green again."),
        ("Beware: the folder is deleted by both jobs.", "The problem was solved, all tests pass."),
    ],
)
def test_what_caused_a_problem_is_remembered_and_no_report_that_it_is_gone(problem, report):
    summary = extracted(session_of(messages=said("Why does the job fail?", problem, report)))
    assert summary.problems_solved == (problem,)


def test_a_session_in_a_language_without_spaces_is_summed_up():
    told = [
        "トークンの更新が二重に走るのはなぜですか\uff1f",
        "ロックがないため、二つのスレッドが同時に更新していました。Redisのロックを使うことに決めました。",
    ]
    summary = extracted(session_of(messages=said(*told)))
    assert summary.brief in told[1]
    assert summary.brief.endswith("。")
    assert summary.brief.count("。") == 1


def test_sentences_are_told_in_their_order():
    summary = extracted(session_of(messages=TALK))
    whole = " ".join(message["content"] for message in TALK)
    places = [whole.find(sentence) for sentence in summary.detailed.split(". ")]
    assert places == sorted(places)


def test_likeness_of_vectors_decides_where_there_is_a_model():
    def embed(texts):
        """Everything is alike but for the sentence about the garden, which is like nothing."""
        vectors = np.zeros((len(texts), 8), np.float32)
        for at, text in enumerate(texts):
            vectors[at, 0 if "garden" not in text else 1] = 1.0
        return vectors

    summary = extracted(session_of(messages=TALK), embed)
    assert "garden" not in summary.brief


def test_what_a_memory_or_a_system_said_is_not_summed_up():
    recalled = "<memories>Use tabs in this project, as always and everywhere.</memories>"
    session = session_of(
        messages=[
            {"role": "system", "content": "You are a helpful assistant of the highest order."},
            *said(recalled + "\n```\nint main() { return 0; } // in this very project\n```"),
        ]
    )
    assert extract_summary(session, None) is None


def test_a_long_session_is_looked_at_in_parts():
    texts = [f"Sentence number {n} tells something about topic {n % 7}." for n in range(1000)]
    seen = []

    def embed(sentences):
        seen.extend(sentences)
        return np.ones((len(sentences), 4), np.float32) / 2

    assert extracted(session_of(messages=said(*texts)), embed)
    assert len(seen) == MAX_SENTENCES
    assert seen[-1] == texts[-1]


def test_what_a_long_session_decided_and_solved_is_found_wherever_it_was_said():
    lines = [f"Then part {number} of the pump was looked at again." for number in range(2000)]
    lines[801] = "We decided to use one valve for the pump."
    lines[1402] = "The leak was caused by a missing seal in the pump."
    summary = extracted(session_of(messages=said(*lines)))
    assert summary.key_decisions == (lines[801],)
    assert summary.problems_solved == (lines[1402],)


def test_a_single_sentence_is_its_own_summary():
    session = session_of(messages=said("The only sentence of them all."))
    assert extracted(session).brief == "The only sentence of them all."


def test_centrality_is_highest_in_the_middle_of_a_star():
    star = np.zeros((5, 5), np.float32)
    star[0, 1:] = star[1:, 0] = 1
    weights = centrality(star)
    assert weights.argmax() == 0
    assert np.isclose(weights.sum(), 1)


def test_tags_without_an_end_are_read_in_linear_time():
    session = session_of(messages=said("<memory " * 30_000 + "\nThe only sentence of them all."))
    began = time.thread_time()
    assert extracted(session).brief == "The only sentence of them all."
    assert time.thread_time() - began < 5
