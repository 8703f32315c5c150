"""The index on the page: the numbers of `status`, what was left out and why, and what mends."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from memory_sidecar.agents.status import status_of
from memory_sidecar.agents.watching import Watching
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.results import Silent, to_builtins
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.code import source_states
from memory_sidecar.web.index import log, tree_of
from memory_sidecar.web.visit import Visit
from tests.conftest import run_with
from tests.web.conftest import SCRIPT, Served
from tests.web.test_memories import Pieces


@pytest.fixture(scope="module", autouse=True)
def _indexed(served: Served) -> None:
    project = served.project
    (project / ".gitignore").write_text("*.bak\nscratch/\n")
    (project / ".git").mkdir()
    (project / "old.bak").write_text("ignored")
    (project / "scratch").mkdir()
    (project / f"{SCRIPT.replace('/', '_')}.py").write_text(f"# {SCRIPT}\ndef cart():\n    pass\n")
    served.services.codebase().index([project], reporter=Silent(), embed=False)
    served.store("Totals are cents")


def test_a_number_on_the_page_is_the_number_of_status(served, reader):
    shown = reader.get("/index?json=1").json
    status = json.loads(json.dumps(to_builtins(status_of(served.services, None, Silent()))))
    assert shown["status"] == status
    (source,) = status["sources"]
    vectors = shown["vectors"][source["name"]]
    assert (vectors["static"], vectors["pending"]) == (source["chunks"], status["vectors_pending"])
    card = reader.get("/index").text
    for name, number in (("files", source["files_indexed"]), ("chunks", source["chunks"])):
        assert f"<dt>{name}</dt><dd>{number:,}</dd>" in card


def test_what_was_left_out_is_told_with_its_rule(served, reader):
    address = f"/index/source?name={served.project.name}"
    shown = reader.get(f"{address}&json=1").json
    reasons = {each["reason"]: each for each in shown["left_out"]}
    by_rule = {reason.partition(" (")[0]: each["paths"] for reason, each in reasons.items()}
    assert "old.bak" in by_rule["*.bak"]
    assert by_rule["scratch/"] == ["scratch/"]
    assert by_rule["binary"]
    page = reader.get(address)
    assert "&lt;script&gt;" in page.text
    assert Pieces(page.text).found == []
    assert reader.get("/index/source?name=none").status == 404


def test_a_name_that_is_not_utf8_is_told_as_json_has_it(served, reader):
    (served.project / os.fsdecode(b"caf\xe9.bak")).write_text("")
    served.services.codebase().index([served.project], reporter=Silent(), embed=False)
    address = f"/index/source?name={served.project.name}"
    paths = [
        path for each in reader.get(f"{address}&json=1").json["left_out"] for path in each["paths"]
    ]
    assert "caf\udce9.bak" in paths
    assert "caf\\udce9.bak" in reader.get(address).text


def test_the_log_of_a_daemon_that_logs_elsewhere_is_not_to_be_seen(served, tmp_path):
    """As one does that `serve` runs, by hand or for systemd."""
    file = tmp_path / "daemon.log"
    visit = Visit("/index/log", (), served.services, {}, str(file))
    with pytest.raises(NotFound):
        log(visit)
    file.write_text("one\ntwo\n")
    assert log(visit).data["lines"] == ["two", "one"]


def test_what_was_left_out_stands_by_folder():
    paths = ["a/b/c.py", "a/b/d/", "e.py", "f/g/h.py"]
    assert tree_of(paths) == {"a/b/": {"c.py": {}, "d/": {}}, "e.py": {}, "f/g/h.py": {}}
    assert tree_of(["a/", "a/b.py"]) == {"a/b.py": {}}
    assert tree_of([]) == {}


def test_the_checks_are_those_of_doctor(served, reader, tmp_path):
    told = run_with(served.services, cwd=tmp_path)("doctor", "--json").json
    shown = reader.get("/index/checks?json=1").json["checks"]
    assert [each["check"] for each in shown] == [each["check"] for each in told]


def test_a_check_that_failed_is_mended(served, reader):
    more = served.project.parent / "more"
    more.mkdir()
    (more / "case.py").write_text("def case(): ...\n")
    source = served.services.codebase().registry.add(more)
    wrong = reader.get("/index/checks?json=1").json
    assert wrong["can_mend"]
    assert reader.post("/index/fix", {}).status == 303
    assert not reader.get("/index/checks?json=1").json["can_mend"]
    served.services.codebase().remove(source.name, reporter=Silent())


def test_a_source_is_as_fresh_in_the_same_words_for_people_and_agents(served, reader, tmp_path):
    services = served.services
    caller = Caller(services, tmp_path, "default", frozenset(Toolset))
    (state,) = {each.state for each in source_states(caller, services.codebase().status())}
    assert state.startswith("scanned ")
    assert state in run_with(services, cwd=tmp_path)("status").out
    assert state in reader.get("/index").text
    (source,) = services.codebase().status().sources
    assert replace(source, problem="/x is not there").state == f"last {state}: /x is not there"


@pytest.mark.browser
def test_a_saved_file_is_told_while_it_is_looked_at(served, tab, faults_of):
    watching = Watching(served.services)
    watching.start()
    tab.goto(f"http://127.0.0.1:{served.site.port}/index")
    tab.get_by_text("up to date").first.wait_for()
    assert faults_of(tab) == []
    files = tab.locator("dt:text-is('files') + dd").first
    before = int(files.inner_text())
    (served.project / "new.py").write_text("def fresh():\n    return 1\n")
    tab.locator("dt:text-is('files') + dd", has_text=str(before + 1)).first.wait_for()
    tab.goto(f"http://127.0.0.1:{served.site.port}/index/source?name={served.project.name}")
    assert faults_of(tab) == []
    watching.close()


def test_a_list_of_sources_that_was_emptied_or_damaged_is_told(served, reader):
    file = served.services.codebase().registry._path
    before = file.read_bytes()
    try:
        for content, told in (
            (b"", "is empty: 1 source taken from"),
            (b"[", "is not a readable list"),
        ):
            file.write_bytes(content)
            for view in ("/index", "/search?q=total&in=code"):
                assert told in reader.get(view).text
    finally:
        file.write_bytes(before)
