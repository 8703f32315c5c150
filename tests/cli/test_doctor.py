"""`doctor`: what is being done is no fault, and each remedy that it names is one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.agents.watching import Watching
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings
from memory_sidecar.disk import watch
from memory_sidecar.disk.watch import Watch
from memory_sidecar.embedding import models
from memory_sidecar.embedding.embedder import QueryGate
from memory_sidecar.embedding.static import WEIGHTS, find_static
from memory_sidecar.embedding.supply import find_model
from memory_sidecar.index import upkeep
from memory_sidecar.index.apply import UNPAUSED_FILES
from tests.conftest import STATIC, run_with, write_memory
from tests.disk.test_watch_faults import Opened
from tests.finished import Finished
from tests.waiting import eventually

DEADLINE_S = 60.0


@pytest.fixture
def model_dir(tmp_path: Path) -> Path:
    """A folder with the model's files, each a link."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in find_model(Settings(), environ={}).folder.iterdir():
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture
def services(data_dir: Path, model_dir: Path) -> Iterator[Services]:
    """Kept open, as a daemon does."""
    services = Services(DataDir(data_dir), Settings(model_dir=str(model_dir)))
    yield services
    services.close()


@pytest.fixture
def call(services: Services, tmp_path: Path) -> Callable[..., Finished]:
    """Runs a command line with `services`."""
    return run_with(services, cwd=tmp_path)


def told(done: Finished) -> dict[str, str]:
    return {each["check"]: each["text"] for each in done.json}


def wrong(done: Finished) -> list[dict[str, str]]:
    return [each for each in done.json if not each["ok"]]


def test_a_first_index_is_no_fault(services, call, project):
    gate = services.models.gate = QueryGate(patience_s=DEADLINE_S)
    codebase = services.codebase()
    codebase.registry.add(project)
    (project / "logo.png").unlink()  # what is left out is written before anything is counted
    for number in range(2 * UNPAUSED_FILES):
        (project / f"{number}.py").write_text(f"number = {number}\n")
    watching = Watching(services)
    try:
        with gate.query():  # indexing waits for the end of this
            watching.start()
            eventually(
                lambda: [state for state in codebase.data.states().values() if state.indexing]
            )
            during = call("doctor", "--json")
        registered = "1 registered, all indexed"
        eventually(lambda: told(call("doctor", "--json"))["sources"] == registered)
        eventually(lambda: told(call("doctor", "--json"))["vectors"].startswith("all "))
    finally:
        watching.close()
    assert (during.status, wrong(during)) == (0, [])
    assert re.fullmatch(
        r"project is being indexed, \d+ of \d+ files?( \(.+\))?", told(during)["sources"]
    )


def test_an_index_by_another_process_is_no_fault(services, call, project, known_vectors):
    call("index", project, "--wait", "keyword")
    other = Services(services.data_dir, services.settings)
    other.codebase().registry.add(project / "docs", name="docs")
    lock = WriterLock(other.codebase().paths.writer_lock, data_dir=services.data_dir.root)
    assert lock.acquire()
    during = call("doctor", "--json")
    lock.release()
    assert (during.status, wrong(during)) == (0, [])
    assert told(during)["sources"] == "docs is being indexed by another process"
    other.close()


@pytest.fixture
def static_package(tmp_path: Path) -> Path:
    """A folder with the package of the static table, each file a link."""
    files, folder = find_static(), tmp_path / "site"
    site = files[WEIGHTS].parents[2]
    for file in (*files.values(), *site.glob("wordllama-*.dist-info")):
        link = folder / file.relative_to(site)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)
    return folder


@pytest.mark.skipif(STATIC is None, reason="no table of token vectors for this machine")
def test_a_static_table_that_is_damaged_or_missing_is_a_fault(
    services, call, static_package, monkeypatch
):
    monkeypatch.setattr(models, "find_static", partial(find_static, [str(static_package)]))
    sound = call("doctor", "--json")
    assert (sound.status, wrong(sound)) == (0, [])
    assert told(sound)["static vectors"].endswith("loads")
    weights = static_package / WEIGHTS
    weights.unlink()
    weights.write_bytes(b"not a table")
    for damage in ("is not the file", "is not installed"):
        services.models = models.Models(services.settings, cache=services.data_dir.embeddings_db)
        (each,) = wrong(call("doctor", "--json"))
        assert each["check"] == "static vectors"
        assert damage in each["text"]
        assert "-m pip install" in each["hint"]
        shutil.rmtree(static_package)
        static_package.mkdir()


def mended_by_its_hint(call: Callable[..., Finished], check: str) -> None:
    """Run the last command that the one failed check names; then nothing is wrong any more."""
    found = call("doctor", "--json")
    (each,) = wrong(found)
    assert (found.status, each["check"]) == (1, check)
    command = re.findall(r"`memory-sidecar ([^`]*)`", each["hint"])[-1]
    assert call(*shlex.split(command)).status == 0
    after = call("doctor", "--json")
    assert (after.status, wrong(after)) == (0, [])


def overwrite(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    database.write_bytes(content)


def test_what_is_said_of_a_damaged_database_mends_it(run, project, known_vectors, data_dir):
    run("index", project)
    overwrite(data_dir / "codebase.sqlite")
    mended_by_its_hint(run, "database")


def test_what_was_set_aside_is_told_with_its_size_until_it_is_deleted(
    run, project, known_vectors, data_dir
):
    run("index", project)
    old, broken = data_dir / "codebase.sqlite.old", data_dir / "state/codebase/project"
    old.write_bytes(bytes(3_000_000))
    (broken / "cocoindex.broken" / "mdb").mkdir(parents=True)
    (broken / "cocoindex.broken" / "mdb" / "data.mdb").write_bytes(bytes(1_000_000))
    (told,) = (each for each in run("doctor", "--json").json if each["check"] == "set aside")
    assert told["ok"]
    kept = f"{old}, {broken / 'cocoindex.broken'}"
    assert told["text"] == f"{kept}: 4.0 MB of a damaged or older database"
    old.unlink()
    shutil.rmtree(broken / "cocoindex.broken")
    assert "set aside" not in run("doctor").out
    cache = data_dir / "embeddings.sqlite.old"
    cache.write_bytes(bytes(2_000_000))
    (told,) = (each for each in run("doctor", "--json").json if each["check"] == "set aside")
    assert told["text"] == f"{cache}: 2.0 MB of a damaged or older database"


def test_what_is_said_of_an_agents_damaged_database_mends_it(run, data_dir):
    write_memory(data_dir / "knowledge" / "bob", "one.md")
    run("list", "--agent", "bob")
    overwrite(data_dir / "knowledge" / "bob.sqlite")
    mended_by_its_hint(run, "agent bob")


def test_fix_goes_on_after_a_database_whose_files_are_gone_and_makes_that_anew(
    run, project, known_vectors, data_dir
):
    run("index", project)
    run("source", "remove", "project")
    for agent in ("ann", "bob"):
        write_memory(data_dir / "knowledge" / agent, "one.md")
        run("list", "--agent", agent)
        overwrite(data_dir / "knowledge" / f"{agent}.sqlite")
    overwrite(data_dir / "codebase.sqlite")
    shutil.rmtree(data_dir / "knowledge" / "ann")
    found = run("doctor", "--json")
    assert [each["check"] for each in wrong(found)] == ["database", "agent ann", "agent bob"]
    fixed = run("doctor", "--fix", "--json")
    assert (fixed.status, wrong(fixed)) == (0, [])


def test_fix_tells_of_a_database_that_another_process_writes_and_repairs_the_rest(
    run, data_dir, monkeypatch
):
    monkeypatch.setattr(upkeep, "INDEX_PATIENCE_S", 0.0)
    for agent in ("ann", "bob"):
        write_memory(data_dir / "knowledge" / agent, "one.md")
        run("list", "--agent", agent)
        overwrite(data_dir / "knowledge" / f"{agent}.sqlite")
    lock = WriterLock(DataDir(data_dir).agent("ann").writer_lock, data_dir=data_dir)
    assert lock.acquire()
    fixed = run("doctor", "--fix", "--json")
    lock.release()
    assert (fixed.status, [each["check"] for each in wrong(fixed)]) == (1, ["agent ann"])
    assert "holds the writer's lock" in fixed.err


@pytest.mark.parametrize("has_database", [True, False])
def test_a_list_of_sources_that_cannot_be_read_fails_one_check_beside_the_others(
    run, project, known_vectors, data_dir, has_database
):
    run("index", project)
    (data_dir / "state/codebase/sources.json").write_text("{")
    if not has_database:
        (data_dir / "codebase.sqlite").unlink()
    for found in (run("doctor", "--json"), run("doctor", "--fix", "--json")):
        (each,) = wrong(found)
        assert (found.status, each["check"]) == (1, "database")
        assert "sources.json is not a readable list of sources" in each["text"]


def test_what_is_said_of_a_source_that_was_never_indexed_mends_it(
    run, project, known_vectors, tmp_path
):
    run("index", project)
    (tmp_path / "more").mkdir()
    run("source", "add", tmp_path / "more")
    mended_by_its_hint(run, "sources")


def test_what_is_said_of_absent_sources_mends_it(run, project, known_vectors):
    run("index", project)
    shutil.rmtree(project)
    mended_by_its_hint(run, "sources")


def test_a_source_that_the_system_refuses_to_look_at_fails_one_check(
    run, project, known_vectors, data_dir
):
    run("index", project)
    registry = data_dir / "state/codebase/sources.json"
    refused = f"{project}{'x' * 300}"  # as one in a folder that may not be entered
    registry.write_text(registry.read_text().replace(str(project), refused))
    (fault,) = [each for each in wrong(run("doctor", "--json")) if each["check"] == "sources"]
    assert fault["text"].startswith("cannot be entered: project; ")


def test_a_path_with_a_line_break_takes_one_line(tmp_path):
    data_dir = tmp_path / "two\nlines"
    data_dir.mkdir()
    services = Services(DataDir(data_dir), Settings())
    done = run_with(services, cwd=tmp_path)("doctor")
    services.close()
    assert "\nlines" not in done.out
    assert f"{tmp_path}/two\\nlines can be written" in done.out


def test_what_is_said_of_an_agents_absent_directory_mends_it(run, tmp_path):
    run("source", "add", write_memory(tmp_path / "notes", "one.md").parent, "--agent", "bob")
    run("list", "--agent", "bob")
    shutil.rmtree(tmp_path / "notes")
    mended_by_its_hint(run, "agent bob, sources")


def test_vectors_that_no_daemon_makes_are_no_fault_and_made_as_is_said(run, project, known_vectors):
    run("index", project, "--wait", "keyword")
    (project / "zebra.py").write_text("def stripes(): pass\n")
    run("index", "--wait", "keyword")
    found = run("doctor", "--json")
    assert (found.status, wrong(found)) == (0, [])
    (each,) = (each for each in found.json if each["check"] == "vectors")
    assert "are still missing" in each["text"]
    (command,) = re.findall(r"`memory-sidecar ([^`]*)`", each["hint"])
    run(*shlex.split(command))
    assert told(run("doctor", "--json"))["vectors"].startswith("all ")


def test_missing_vectors_are_made_by_fix_where_a_daemon_is_not_at_it(run, project, known_vectors):
    run("index", project, "--wait", "keyword")
    (project / "zebra.py").write_text("def stripes(): pass\n")
    run("index", "--wait", "keyword")
    assert "still missing" in told(run("doctor", "--json"))["vectors"]
    assert told(run("doctor", "--fix", "--json"))["vectors"].startswith("all ")


def test_without_a_model_no_index_is_named_for_missing_vectors(call, project, model_dir):
    (model_dir / "model.onnx").unlink()
    call("index", project)
    found = call("doctor", "--json")
    assert [each["check"] for each in wrong(found)] == ["model", "vectors"]
    assert all("MEMORY_SIDECAR_MODEL_DIR" in each["hint"] for each in wrong(found))
    assert "doctor --fix" not in found.err


def test_the_files_of_a_configured_model_are_not_said_to_be_what_was_published(call, model_dir):
    verified = call("model", "verify").out
    assert (str(model_dir) in verified, "works" in verified) == (True, True)
    assert "sound" not in verified


def test_all_who_are_asked_for_the_model_say_the_same(call, model_dir):
    assert call("embed", "a cart").status == 0
    assert call("model", "list").status == 0
    (model_dir / "model.onnx").rename(model_dir / "elsewhere")
    said = {
        call(*asked, "--json").error["message"] for asked in (("embed", "x"), ("model", "list"))
    }
    said |= {each["text"] for each in wrong(call("doctor", "--json"))}
    assert len(said) == 1
    (model_dir / "elsewhere").rename(model_dir / "model.onnx")
    assert call("embed", "a cart").status == 0
    assert wrong(call("doctor", "--json")) == []


def test_a_file_is_no_data_directory(run, tmp_path):
    file = tmp_path / "notes.txt"
    file.touch()
    for named in (file, file / "new"):
        done = run("doctor", "--json", "--data-dir", str(named))
        assert f"{file} is no folder" in [each["text"] for each in wrong(done)]


def test_a_data_directory_on_a_drive_that_is_not_there_is_told(run, data_dir, monkeypatch):
    monkeypatch.setattr(os.path, "lexists", lambda _: False)  # nor its root, on Windows
    shutil.rmtree(data_dir, ignore_errors=True)
    done = run("doctor", "--json")
    assert f"{data_dir} is no folder" in [each["text"] for each in wrong(done)]


def test_memories_that_may_not_be_read_are_a_fault(run, data_dir, monkeypatch):
    run("store", "Use SQLite.")
    closed, access = data_dir / "knowledge", os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
    assert [each["text"] for each in wrong(run("doctor", "--json"))] == [f"{closed} cannot be read"]


def test_the_doubts_about_memories_name_a_command_that_lists_them(run, data_dir):
    long_ago = {"created_at": "2010-01-01", "updated_at": "2010-01-01"}
    write_memory(data_dir / "knowledge" / "bob", "one.md", **long_ago)
    run("list", "--agent", "bob")
    hints = {each["hint"] for each in run("doctor", "--json").json if "memories" in each["check"]}
    stale, cold = sorted(hints, reverse=True)
    for option, hint in (("--weaker-than 0.1", stale), ("--unused-for 14d", cold)):
        command = f"memory-sidecar prune --dry-run {option} --agent bob"
        assert f"`{command}`" in hint
        assert "one.md" in run(*command.split()[1:]).out


def test_a_memory_that_is_pinned_is_in_no_doubt(run, data_dir):
    long_ago = {"created_at": "2010-01-01", "updated_at": "2010-01-01"}
    write_memory(data_dir / "knowledge" / "bob", "one.md", pinned=True, **long_ago)
    run("list", "--agent", "bob")
    assert not [each for each in run("doctor", "--json").json if "memories" in each["check"]]


def test_a_memory_that_is_too_large_is_named(run, data_dir):
    run("store", "Totals are cents.", "--agent", "hand", "--category", "pitfall")
    (data_dir / "knowledge" / "hand" / "pitfall" / "long.md").write_text("word salad. " * 400_000)
    run("list", "--agent", "hand")
    done = run("doctor")
    assert "1 left out: pitfall/long.md: larger than 4" in done.out


def test_an_empty_memory_is_named(run, data_dir):
    run("store", "Totals are cents.", "--agent", "hand", "--category", "pitfall")
    (data_dir / "knowledge" / "hand" / "pitfall" / "lost.md").touch()
    (data_dir / "knowledge" / "hand" / "pitfall" / "blank.md").write_text("\n")
    run("list", "--agent", "hand")
    assert "2 left out: pitfall/blank.md: empty; pitfall/lost.md: empty" in run("doctor").out


def test_templates_and_indexes_of_a_root_hide_no_memory_that_is_too_large(run, tmp_path):
    root = tmp_path / "root"
    run("context", "init", root, "--project", "p")
    run("source", "add", root, "--agent", "hand")
    run("list", "--agent", "hand")
    assert "left out" not in run("doctor").out
    (root / "projects" / "p" / "zz.md").write_text("word salad. " * 400_000)
    run("list", "--agent", "hand")
    assert "1 left out: projects/p/zz.md: larger than 4" in run("doctor").out


def test_a_session_that_cannot_be_read_is_a_fault(run, data_dir):
    for number in (1, 2):
        run("episodic-put", f"The bank refused card {number}", "--file", data_dir / "hand.mv2")
    cut = min((data_dir / "episodic" / "hand").rglob("*.json"))
    cut.write_text(cut.read_text()[:60])
    assert len(run("session", "list", "--agent", "hand", "--json").json) == 1
    done = run("doctor")
    assert done.status == 1
    assert f"1 of the sessions cannot be read: {cut.parent.name}/{cut.name}: not JSON: " in done.out
    assert "Unterminated string starting at line" in done.out
    assert "all are sound" not in done.out


def test_a_watch_that_is_refused_is_a_fault_as_long_as_it_is(
    services, call, project, known_vectors, monkeypatch
):
    call("index", project)
    opened = Opened(limit=1)
    monkeypatch.setitem(Watch.__init__.__kwdefaults__, "observe", opened)
    monkeypatch.setattr(watch, "RETRY_S", 0.0)
    watching = Watching(services)
    watching.start()
    try:
        eventually(lambda: "fs.inotify.max_user_watches" in call("doctor").out)
        assert "watch of project" in call("doctor").out
        assert "fs.inotify.max_user_watches" in call("status").out
        opened.limit = opened.observers[-1].limit = 1_000
        eventually(lambda: "watch of" not in call("doctor").out)
        assert "fs.inotify" not in call("status").out
    finally:
        watching.close()


def test_on_a_terminal_what_failed_stands_out(call, model_dir):
    (model_dir / "model.onnx").unlink()
    shown = call("doctor", environ={"CLICOLOR_FORCE": "1"}).out
    assert "\x1b[32mok  \x1b[0m runtime: " in shown
    assert "\x1b[31m\x1b[1mFAIL\x1b[0m model: " in shown
    assert call("doctor").out.startswith("FAIL model: ")


def test_agents_in_order_take_one_line_behind_what_is_wrong(run, data_dir):
    for name in ("ann", "bob", "eve"):
        run("store", "Tills open at nine", "--agent", name)
    (data_dir / "knowledge" / "eve.sqlite").write_text("no database at all" * 100)
    lines = run("doctor").out.splitlines()
    assert lines[0].startswith("FAIL agent eve: ")
    assert lines[-1] == "ok   agents: nothing is wrong with ann, bob"
    assert "vectors" not in "".join(line for line in lines if "ann" in line)
