"""A data directory is opened in one place, and is closed to other users from then on."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from memory_sidecar.agents.doctor import examine
from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import PathRefused, UsageError
from memory_sidecar.core.paths import OWN_FOLDERS, AgentPaths, DataDir, StorePaths
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs links and rights")

DATABASES = ("codebase.sqlite", "codebase.sqlite-wal", "embeddings.sqlite")


def write_openly(data_dir: Path) -> None:
    """As an earlier version, or a copy, may have left it, and what is not ours beside it."""
    before = os.umask(0)
    try:
        for name in (*OWN_FOLDERS, "src"):
            (data_dir / name).mkdir(parents=True)
        for name in (*DATABASES, "app.sqlite"):
            (data_dir / name).touch()
    finally:
        os.umask(before)


def modes(data_dir: Path, *names: str) -> set[int]:
    return {stat.S_IMODE((data_dir / name).stat().st_mode) for name in names}


def test_an_agent_is_opened_and_asked_without_the_modules_of_code_and_its_grammars(
    run, project, data_dir
):
    run("source", "add", project)
    code = (
        "import sys, memory_sidecar.cli.query, memory_sidecar.cli.session_search;"
        "from pathlib import Path;"
        "from memory_sidecar.agents.agent import Agent;"
        "from memory_sidecar.agents.services import Services;"
        "from memory_sidecar.agents.session_projects import session_projects;"
        "folder = Path(sys.argv[1]);"
        "services = Services.find(data_dir=Path(sys.argv[2]), cwd=folder, environ={});"
        "assert services.project_of(folder) == 'project';"
        "assert session_projects('.', lambda _: folder, services) == (str(folder),);"
        "assert session_projects('project', Path, services) == ('project', str(folder));"
        "of_code = ('memory_sidecar.code.', 'tree_sitter');"
        "print(*sorted(name for name in sys.modules if name.startswith(of_code)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, project, data_dir],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "memory_sidecar.code.excerpt memory_sidecar.code.framing\n"


def test_the_project_of_a_folder_is_known_after_the_list_of_sources_was_lost(
    run, project, data_dir
):
    run("index", project)
    for path in data_dir.glob("state/codebase/sources.json*"):
        path.unlink()
    with closing(Services(DataDir(data_dir), Settings())) as services:
        assert services.project_of(project / "src") == "project"


def test_what_others_could_read_is_closed_to_them(tmp_path):
    write_openly(tmp_path / "data")
    Services(DataDir(tmp_path / "data"), Settings()).close()
    assert modes(tmp_path / "data", *OWN_FOLDERS) == {0o700}
    assert modes(tmp_path / "data", *DATABASES) == {0o600}
    assert modes(tmp_path / "data", ".", "src") == {0o777}
    assert modes(tmp_path / "data", "app.sqlite") == {0o666}


def test_a_link_in_the_place_of_a_database_is_refused(tmp_path):
    data, outside = tmp_path / "data", tmp_path / "outside"
    (data / "knowledge").mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "src").mkdir()
    (data / "codebase.sqlite").symlink_to(outside / "database")
    (data / "knowledge" / "A.sqlite").symlink_to(outside / "database")
    (tmp_path / "link").symlink_to(data)
    for place in (data, tmp_path / "link"):
        services = Services(DataDir(place), Settings())
        for db in (None, data / "codebase.sqlite"):
            with pytest.raises(PathRefused, match="symbolic link"):
                services.codebase(db).data.open()
        with pytest.raises(PathRefused, match="symbolic link"):
            services.agent("A").answer(lambda store, _: store, Silent())
        services.close()
    assert list(outside.iterdir()) == []


def test_databases_whose_names_differ_in_the_suffix_share_nothing(tmp_path):
    names = ("x", "x.db", "x.sqlite", "x.sqlite.sqlite", "x.db.sqlite", ".sqlite")
    for kind in (StorePaths, lambda db: AgentPaths(db, "x")):
        paths = [kind(tmp_path / name) for name in names]
        assert len({each.state for each in paths}) == len({each.clones for each in paths}) == 6


def test_each_of_two_databases_has_its_own_sources(run, tmp_path):
    for suffix in ("db", "sqlite"):
        source = tmp_path / f"of_{suffix}"
        source.mkdir()
        (source / "a.py").write_text("def total_price(): pass\n")
        db = ("--db", tmp_path / f"x.{suffix}", "--json")
        assert run("index", source, *db).json["sources"] == [source.name]
        assert [hit["source"] for hit in run("search", "price", *db).json] == [source.name]


def test_no_database_is_made_where_one_of_another_kind_belongs(run, project, data_dir):
    knowledge = data_dir / "knowledge"
    for db, *command in (
        (data_dir / "codebase.sqlite", "store", "a", "--agent", "bob"),
        (data_dir / "embeddings.sqlite", "store", "a", "--agent", "bob"),
        (data_dir / "embeddings.sqlite", "index", project),
        (knowledge / "bob.sqlite", "index", project),
    ):
        refused = run(*command, "--db", db)
        assert (refused.status, "is to be a database of" in refused.err) == (2, True)
    assert not knowledge.exists()
    assert run("index", project).status == run("store", "a", "--agent", "bob").status == 0


def test_agents_whose_names_differ_in_case_alone_are_refused(serve, run, data_dir):
    assert serve("list", "--agent", "Till").status == 0  # nothing is there yet
    assert serve("store", "the till opens at nine", "--agent", "till").status == 0
    for call, command in ((serve, ["store", "more"]), (run, ["list"]), (run, ["query", "till"])):
        refused = call(*command, "--agent", "Till")
        assert (refused.status, "'Till' and 'till' differ in case" in refused.err) == (2, True)
        assert "use till, or quite another name" in refused.err
    assert run("store", "more", "--agent", "SHARED").status == 2
    (data_dir / "knowledge" / "Till").mkdir()  # by an earlier version
    assert run("store", "more", "--agent", "Till").status == 0
    assert run("store", "more", "--agent", "till").status == 0


def test_an_agent_that_is_there_is_opened_without_a_list_of_all_agents(tmp_path, monkeypatch):
    for name in ("till", "store"):
        (tmp_path / "knowledge" / name).mkdir(parents=True)
    services, listed, listdir = Services(DataDir(tmp_path), Settings()), list[Path](), os.listdir

    def noted(folder: Path) -> list[str]:
        listed.append(Path(folder))
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", noted)
    assert [services.agent(name).name for name in ("till", "store")] == ["till", "store"]
    case_counts = not (tmp_path / "KNOWLEDGE").exists()
    assert (tmp_path / "knowledge" in listed) != case_counts
    with pytest.raises(UsageError, match="differ in case"):
        services.agent("Till")
    services.close()


def test_a_team_sees_no_path_of_this_machine(tmp_path, monkeypatch):
    codebase = pytest.importorskip("memory_sidecar.team.codebase")
    holders = set()
    team = codebase.TeamCode

    def note(link, *, holder, models):
        holders.add(holder)
        return team(link, holder=holder, models=models)

    monkeypatch.setattr(codebase, "TeamCode", note)
    for name in ("client", "other"):
        services = Services(
            DataDir(tmp_path / name), Settings(database="postgresql://me@localhost/t")
        )
        services.codebase()
        services.close()
    assert len(holders) == 2
    assert "/" not in "".join(holders)


def test_a_mistyped_database_takes_no_state_of_another(run, project, tmp_path):
    assert run("source", "add", project, "--db", tmp_path / "x.sqlite").status == 0
    for name in ("x.db", "x" * 250 + ".db"):
        run("search", "price", "--db", tmp_path / name)
    assert "project" in run("source", "list", "--db", tmp_path / "x.sqlite").out


def test_doctor_warns_of_a_data_directory_on_a_network_drive(tmp_path, monkeypatch):
    drives = [SimpleNamespace(mountpoint=str(tmp_path.resolve()), fstype="nfs4")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: drives)
    services = Services(DataDir(tmp_path), Settings())
    with closing(services):
        checks = examine(services, services.codebase(), {"HOME": str(tmp_path)})
    found = next(each for each in checks if "directory" in each.check)
    assert found.ok
    assert (found.text, found.hint.partition(":")[0]) == (
        f"{tmp_path} can be written; it lies on a network drive",
        "use it on one machine at a time",
    )
