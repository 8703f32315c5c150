"""While rows are made anew the ones before them answer, whatever ends it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory_sidecar.code import builder as code_flow
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryList, MemoryQuery
from memory_sidecar.sessions.builder import SessionBuilder
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionQuery
from tests.conftest import Notices, write_memory

NOW = 1_772_356_320_000


@pytest.fixture
def halfway(monkeypatch) -> Callable[..., Any]:
    """Inside of `halfway(work, owner, name)` it waits after the first file that `name` builds."""

    @contextmanager
    def halfway(work: Callable[[], object], owner: Any, name: str) -> Iterator[None]:
        build, go_on, one_is_built = getattr(owner, name), threading.Event(), threading.Event()

        def held_up(*arguments: Any) -> Any:
            if one_is_built.is_set():
                go_on.wait()
            one_is_built.set()
            return build(*arguments)

        thread = threading.Thread(target=work)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, held_up)
            thread.start()
            try:
                assert one_is_built.wait(60)
                yield
            finally:
                go_on.set()
                thread.join()

    return halfway


def code_answers(codebase, reporter) -> list[set[tuple[str, float]]]:
    return [
        {
            (hit.filename, round(hit.score, 6))
            for hit in codebase.search(CodeQuery(text, mode=mode), reporter=reporter)
        }
        for text in ("total_price", "charge the card of a customer")
        for mode in SearchMode
    ]


@pytest.mark.parametrize("names", [(), ("project",)], ids=["all", "one"])
def test_code_answers_as_before_while_it_is_rebuilt(
    make_codebase, project, halfway, notices, names
):
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    before = code_answers(codebase, notices)
    assert notices.said == []
    with halfway(lambda: codebase.rebuild(names, reporter=Silent()), code_flow, "build_document"):
        for _ in range(5):
            assert code_answers(codebase, notices) == before
        assert notices.has("project is being rebuilt: answering from what was indexed before")
    after = Notices()
    assert code_answers(codebase, after) == before
    assert after.said == []


class Interrupted(Exception):
    pass


class Interrupting(Silent):
    """Ends a pass as soon as a file is written, as a kill would; the picture is left out before."""

    def progress(self, stage: str, done: int, total: int) -> None:
        if stage == "files" and done > 1:
            raise Interrupted


def test_an_interrupted_rebuild_answers_as_before_and_goes_on(make_codebase, project):
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    before = code_answers(codebase, Silent())
    with pytest.raises(Interrupted):
        codebase.rebuild((), reporter=Interrupting())
    codebase.close()
    notices = Notices()
    reopened = make_codebase()
    assert code_answers(reopened, notices) == before
    assert notices.has("if that was interrupted, `memory-sidecar index` ends it")
    (project / "shop" / "payment.py").unlink()
    reopened.index([], reporter=Silent())
    notices.said.clear()
    left = {name for answer in code_answers(reopened, notices) for name, _ in answer}
    assert "shop/payment.py" not in left
    assert left
    assert notices.said == []


def test_rows_of_two_versions_are_of_one_again_whichever_was_interrupted(
    make_codebase, project, monkeypatch, notices
):
    def fingerprints():
        return {
            path: entry.fingerprint
            for path, entry in codebase.data.open().manifest("project").items()
        }

    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    before = fingerprints()
    with monkeypatch.context() as newer:
        newer.setattr(code_flow.CodeBuilder, "version", "next")
        newer.setattr("memory_sidecar.code.document.CHUNKER_VERSION", "next")
        with pytest.raises(Interrupted):
            codebase.index([project], reporter=Interrupting())
    assert fingerprints() != before
    code_answers(codebase, notices)
    assert notices.has("project is being rebuilt: answering from what was indexed before")
    codebase.index([project], reporter=Silent())
    assert fingerprints() == before


def test_a_lost_state_costs_no_answer(make_codebase, project, data_dir, halfway):
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    before = code_answers(codebase, Silent())
    shutil.rmtree(data_dir / "state" / "codebase" / "project")
    with halfway(lambda: codebase.index([project], reporter=Silent()), code_flow, "build_document"):
        assert code_answers(codebase, Silent()) == before
    assert code_answers(codebase, Silent()) == before


def test_rows_that_a_power_cut_took_from_the_database_alone_are_written_again(
    make_codebase, project, data_dir, tmp_path
):
    def found(codebase, word):
        asked = CodeQuery(word, mode=SearchMode.KEYWORD)
        return [hit.filename for hit in codebase.search(asked, reporter=Silent())]

    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    codebase.close()
    before = shutil.copy(data_dir / "codebase.sqlite", tmp_path / "before.sqlite")
    (project / "shop" / "cart.py").write_text("def okapi(): pass\n")
    (project / "shop" / "new.py").write_text("def quokka(): pass\n")
    (project / "web" / "retry.ts").unlink()
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    codebase.close()
    shutil.copy(before, data_dir / "codebase.sqlite")  # CocoIndex's state is synced, and stays
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    assert found(codebase, "okapi") == ["shop/cart.py"]
    assert found(codebase, "quokka") == ["shop/new.py"]
    assert found(codebase, "retryWithBackoff") == []
    assert codebase.index([project], reporter=Silent()).files_processed == 0


def test_a_rebuild_forgets_what_is_of_no_source_any_more(make_codebase, project, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.py").write_text("def okapi(): pass\n")
    codebase = make_codebase()
    codebase.index([project, second], reporter=Silent())
    codebase.registry.remove("second")  # and killed before its rows went
    codebase.rebuild((), reporter=Silent())
    asked = CodeQuery("okapi", mode=SearchMode.KEYWORD)
    assert codebase.search(asked, reporter=Silent()) == []


def test_an_agent_answers_as_before_while_it_is_rebuilt(make_agent, data_dir, halfway, notices):
    folder = data_dir / "knowledge" / "architect"
    for number in range(6):
        write_memory(folder, f"m{number}.md", f"A lesson on retries, number {number}.")
    agent = make_agent()
    sessions = Sessions(agent, notices)
    for name in ("one", "two"):
        message = {"role": "user", "content": f"the token refresh fails in {name}"}
        sessions.save({"session_id": name, "messages": [message]})

    def answers() -> list[set[str]]:
        asked = MemoryQuery(text="a lesson on retries", rerank=False)
        return [
            {hit.path for hit in Memories(agent, notices).query(asked)},
            {row.path for row in Memories(agent, notices).list(MemoryList())},
            {hit.session_id for hit in sessions.search(SessionQuery(text="token refresh"))},
        ]

    before = answers()
    assert [len(answer) for answer in before] == [6, 6, 2]
    notices.said.clear()
    for builder in (MemoryBuilder, SessionBuilder):
        with halfway(lambda: agent.rebuild(reporter=Silent()), builder, "build"):
            for _ in range(5):
                assert answers() == before
            assert notices.has("is being rebuilt")
        notices.said.clear()
    assert answers() == before
    assert notices.said == []
