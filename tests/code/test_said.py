"""A message that stands in a source is found where it stands."""

from __future__ import annotations

import pytest

from memory_sidecar.code.meant import MAX_CHUNKS_SAYING
from memory_sidecar.core.model import CodeQuery
from memory_sidecar.core.results import Silent

MESSAGE = "The queue of retries is full"


@pytest.fixture
def search(make_codebase, project):
    made = make_codebase()

    def search(text):
        made.index([project], reporter=Silent())
        return made.search(CodeQuery(text, explain=True), reporter=Silent())

    return search


def test_a_message_comes_first_where_it_stands(search, project):
    (project / "odd.py").write_text(f'def put(x):\n    raise Full("{MESSAGE}: wait")\n')
    best = search(MESSAGE)[0]
    assert best.filename == "odd.py"
    assert best.score >= 0.9
    assert best.explain.boosts["exact_text"] == 1
    assert sum(best.explain.terms.values()) == pytest.approx(best.score, abs=1e-5)


def test_the_same_words_in_another_order_are_no_message(search, project):
    (project / "odd.py").write_text("# full is the queue, of retries the\n")
    assert all("exact_text" not in hit.explain.boosts for hit in search(MESSAGE))


def test_what_many_say_tells_none_of_them(search, project):
    for number in range(MAX_CHUNKS_SAYING + 1):
        (project / f"said_{number}.py").write_text(f'NOTE = "{MESSAGE}"\n')
    assert all("exact_text" not in hit.explain.boosts for hit in search(MESSAGE))


def test_two_words_are_no_message(search, project):
    (project / "odd.py").write_text('NOTE = "retries full"\n')
    assert all("exact_text" not in hit.explain.boosts for hit in search("retries full"))
