"""A question right after a rename is answered with the new names, whatever it is about."""

from __future__ import annotations

from functools import partial

import pytest

from memory_sidecar.agents.watching import Watching
from memory_sidecar.code.builder import CodeBuilder
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.navigation import NameQuery, references
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.results import Silent
from memory_sidecar.index import asking
from memory_sidecar.index.database import Database
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import SessionFilter, SessionQuery
from tests.conftest import write_memory
from tests.waiting import eventually, held_back


@pytest.fixture
def live(services, monkeypatch):
    monkeypatch.setattr(asking, "RENAMED_PATIENCE_S", 20.0)  # a busy machine may need more
    live = Watching(services)
    yield live
    live.close()


@pytest.fixture
def codebase(services, live, tmp_path):
    files = {
        "heron.py": "def heron():\n    return 1\n",
        "use.py": "from heron import heron\n\nprint(heron())\n",
    }
    (tmp_path / "project" / "old").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "project" / "old" / name).write_text(text)
    codebase = services.codebase()
    codebase.index([tmp_path / "project"], reporter=Silent())
    live.start()
    eventually(partial(is_followed, codebase.data))
    return codebase


def is_followed(database):
    states = database.follow().values()
    return bool(states) and all(each.is_current for each in states)


def test_a_search_finds_code_under_the_new_name_of_its_file_or_folder(codebase, tmp_path):
    folder = tmp_path / "project" / "old"
    for name in ("egret", "stork", "crane"):
        folder = folder.rename(folder.with_name(name))
        (folder / "heron.py").rename(folder / f"{name}.py").rename(folder / "heron.py")
        found = codebase.search(CodeQuery("heron"), reporter=Silent())
        assert {hit.filename for hit in found} == {f"{name}/heron.py", f"{name}/use.py"}


def test_uses_mean_the_definition_in_a_file_just_renamed_without_a_notice(
    codebase, tmp_path, notices
):
    folder = tmp_path / "project" / "old"
    (folder / "heron.py").rename(folder / "stork.py")
    found = codebase.navigate(
        CodeFilter(), lambda here: references(here.graph, NameQuery(what="heron")), reporter=notices
    )
    assert found.notices == ()
    assert [use.filename for use in found] == ["old/use.py", "old/use.py"]
    assert notices.said == []


def test_an_answer_without_the_file_that_was_deleted_keeps_its_notices(codebase, tmp_path, notices):
    (tmp_path / "project" / "old" / "heron.py").unlink()
    asked = CodeFilter(path_globs=("old/heron.py",))
    assert codebase.search(CodeQuery("return", filter=asked), reporter=notices) == []
    assert notices.has("no indexed file is old/heron.py")


def test_a_session_is_found_and_listed_after_its_folder_was_renamed(services, live, data_dir):
    agent = services.agent("first")
    sessions = Sessions(agent, Silent())
    message = {"role": "user", "content": "Why does the heron wait?"}
    sessions.save({"session_id": "s1", "messages": [message]})
    live.start()
    eventually(partial(is_followed, agent.data))
    (folder,) = (data_dir / "episodic" / "first").iterdir()

    folder = folder.rename(folder.with_name("2020-01"))
    assert [hit.session_id for hit in sessions.search(SessionQuery("heron"))] == ["s1"]
    folder.rename(folder.with_name("2020-02"))
    assert [head.session_id for head in sessions.list_sessions(SessionFilter())] == ["s1"]


@pytest.mark.parametrize("directory", ["", "notes:"])
def test_a_memory_just_renamed_is_shown_by_its_new_path(
    services, live, data_dir, tmp_path, directory
):
    agent = services.agent("first")
    (tmp_path / "notes").mkdir()
    agent.register(tmp_path / "notes")
    folder = tmp_path / "notes" if directory else data_dir / "knowledge" / "first"
    write_memory(folder, "old/one.md", "The heron waits.")
    live.start()
    live.follow(agent)
    eventually(partial(is_followed, agent.data))
    recall = Memories(agent, Silent())

    (folder / "old").rename(folder / "new")
    assert recall.get(f"{directory}new/one").content == "The heron waits."
    with pytest.raises(NotFound):
        recall.get(f"{directory}old/one")


def test_a_search_during_a_long_pass_does_not_wait_for_new_names(codebase, tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "FEW_FILES", 1)
    with held_back(monkeypatch, CodeBuilder, "build"):
        (tmp_path / "project" / "old").rename(tmp_path / "project" / "new")
        eventually(lambda: codebase.data.states()["project"].indexing)
        monkeypatch.delattr(Database, "wait_fresh")
        assert codebase.search(CodeQuery("heron"), reporter=Silent()) == []
