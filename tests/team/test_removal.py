"""Sources that are removed from a team's database: who may, and what every machine does then."""

from __future__ import annotations

import os
import subprocess

import psycopg
import pytest

from memory_sidecar.core.errors import Conflict, NotFound, TeamEmpty
from memory_sidecar.disk.repository import origin_of
from memory_sidecar.team.held import held_sources, remove_sources
from memory_sidecar.team.link import TeamLink
from tests.conftest import PROGRAM
from tests.index.test_watched_code import end, start_scheduler
from tests.team.test_code import content_of
from tests.team.test_indexer import checkout
from tests.team.test_publish import publish
from tests.waiting import eventually

ADDRESS = "git.example/shop/shop"
NOTHING = [[], [], [(0, 0)], (0, 0, 0), {}]


def remove(link, *, holder="z", by_force=True, **wanted):
    remove_sources(link, held_sources(link, **wanted), holder=holder, by_force=by_force)


def test_what_is_removed_is_indexed_on_each_machine_and_uploaded_again_only_when_asked(
    make_member, link
):
    giver, reader = make_member("a"), make_member("b")
    for each in (giver, reader):
        each.index()
    before = content_of(link)
    files = reader.codebase.status().sources[0].files_indexed
    remove(link)
    assert content_of(link) == NOTHING
    told = rf"z removed git\.example/shop/shop \(main\).*; of {files} files none is on this machine"
    with pytest.raises(TeamEmpty, match=told) as raised:
        reader.find("charge_card")
    assert raised.value.hint == "`memory-sidecar index` indexes all of it here"
    for each in (giver, reader, make_member("c")):
        each.notices.said.clear()
        each.index()
        why = "z removed git.example/shop/shop (main) from the team's database; `memory-sidecar"
        assert each.notices.has(f"what changes in project is not shared: {why} source publish`")
        assert len(each.own()) == files
        assert each.find("charge_card")[0].filename == "shop/payment.py"
        assert content_of(link) == NOTHING
    source = reader.codebase.registry.all()[0]
    assert (
        reader.codebase.sharing.publish(source, by_force=False, reporter=reader.notices).files
        == files
    )
    assert content_of(link) == before
    giver.index()
    assert reader.own() == giver.own() == set()
    assert giver.find("charge_card")[0].filename == "shop/payment.py"


def drop_schema(link: TeamLink) -> None:
    with link.writing() as connection:
        connection.execute("DROP SCHEMA memory_sidecar CASCADE")


@pytest.mark.parametrize("take_away", [remove, drop_schema])
def test_a_watching_machine_indexes_what_is_gone_once_it_has_heard_of_that(
    make_member, link, take_away
):
    giver, reader = make_member("a"), make_member("b")
    for each in (giver, reader):
        each.index()
    scheduler = start_scheduler(reader.codebase)
    take_away(link)
    with pytest.raises(TeamEmpty):
        reader.find("charge_card")
    files = reader.codebase.status().sources[0].files_indexed
    eventually(lambda: len(reader.own()) == files)
    assert reader.find("charge_card")[0].filename == "shop/payment.py"
    end(scheduler)


def test_a_daemon_hears_what_a_command_beside_it_has_removed(make_member, link):
    giver = make_member("a")
    giver.index()
    scheduler = start_scheduler(giver.codebase)
    files = giver.codebase.status().sources[0].files_indexed
    remove(link, holder="a", by_force=False)
    command = make_member("a")  # `team remove`, which does not run in the daemon
    command.codebase.sharing.keep_here([origin_of(command.root)])
    assert not giver.codebase.registry.all()[0].publishes
    with pytest.raises(TeamEmpty):
        giver.find("charge_card")
    eventually(lambda: len(giver.own()) == files)
    assert giver.find("charge_card")[0].filename == "shop/payment.py"
    end(scheduler)


def test_one_branch_is_removed_alone_and_machines_with_it_go_on_with_main(make_member, link):
    giver, other = make_member("a"), make_member("b", branch="new")
    giver.index()
    other.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    other.index()
    publish(other)
    assert {each.origin.branch for each in held_sources(link)} == {"main", "new"}
    with pytest.raises(Conflict, match=r"b indexes git\.example/shop/shop \(new\) for the team"):
        remove(link, address=ADDRESS, branch="new", by_force=False)
    remove(link, address=ADDRESS, branch="new", holder="b", by_force=False)
    other.index()
    assert other.notices.has("b removed git.example/shop/shop (new) from the team's database")
    assert other.own() == {"shop/coupon.py"}
    assert other.find("charge_card")[0].filename == "shop/payment.py"
    kept = {each.origin.branch: each.is_removed for each in held_sources(link)}
    assert kept == {"main": False, "new": True}
    with pytest.raises(NotFound, match=r"has nothing of git\.example/shop/shop \(old\)"):
        held_sources(link, address=ADDRESS, branch="old")


def test_who_may_not_write_or_comes_while_another_indexes_removes_nothing(
    database, machine, login, tmp_path, link
):
    assert machine("owner", database)("team", "init").status == 0
    indexer = machine("ci", login("ci", "indexer"))
    second = machine("second", login("second", "indexer"))
    reader = machine("desk", login("desk", "reader"))
    assert indexer("index", checkout(tmp_path / "shop")).status == 0
    assert reader("index", tmp_path / "shop").status == 0
    before = content_of(link)
    (held,) = reader.valid_json("team list")["sources"]
    assert (held["repository"], held["branch"], held["folder"]) == (ADDRESS, "main", "")
    assert (held["indexer"], held["removed_by"]) == (indexer.services.place, "")
    assert held["lease_until"] > "2026"
    assert "indexed by" in reader("team", "list").out
    remote = "git@git.example:shop/shop.git"
    for who, more, status, code in (
        (reader, ("--yes", "--take"), 1, "database_refused"),
        (second, ("--yes",), 4, "conflict"),
        (indexer, (), 2, "usage"),  # there is no terminal to ask at
        (indexer, ("--branch", "trial", "--yes"), 3, "not_found"),
        (indexer, ("--folder", "web", "--yes"), 3, "not_found"),
    ):
        refused = who("team", "remove", remote, *more, "--json")
        assert (refused.status, refused.error["code"]) == (status, code)
    unset = indexer("team", "remove", "", "--yes", "--json")  # a variable of a script
    assert (unset.status, unset.error["code"]) == (3, "not_found")
    assert content_of(link) == before
    removed = indexer.valid_json("team remove", remote, "--yes")["sources"]
    assert removed == [{**held, "removed_by": indexer.services.place, "lease_until": None}]
    assert indexer.json("source", "list")[0]["publishes"] is False
    assert content_of(link) == NOTHING
    again = second("team", "remove", remote, "--yes", "--json")
    assert (again.status, again.error["code"]) == (3, "not_found")
    assert "removed by" in reader("team", "list").out
    assert indexer("index", tmp_path / "shop").status == 0
    assert content_of(link) == NOTHING
    assert indexer.json("search", "charge_card", "--all")[0]["filename"] == "shop/payment.py"


def test_a_removal_that_is_killed_removes_nothing_and_is_done_by_the_next(
    database, machine, link, tmp_path
):
    indexer = machine("ci", database)
    assert indexer("index", checkout(tmp_path / "shop")).status == 0
    before = content_of(link)
    environ = {"MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data")}
    environ |= {"MEMORY_SIDECAR_DATABASE": database, "MEMORY_SIDECAR_MODEL_DIR": str(tmp_path)}
    command: list[str] = [str(PROGRAM), "team", "remove", ADDRESS, "--take", "--yes", "--json"]
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE memory_sidecar.chunk_static")
        killed = subprocess.Popen(command, env=os.environ | environ, stdout=subprocess.DEVNULL)
        with psycopg.connect(database, autocommit=True) as owner:
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            eventually(lambda: owner.execute(waiting).fetchall())  # its chunks are deleted by then
            killed.kill()
            assert killed.wait() == -9
    eventually(lambda: content_of(link) == before)
    assert subprocess.run(command, env=os.environ | environ, check=False).returncode == 0
    assert content_of(link) == NOTHING


def test_what_was_removed_is_not_exported_and_an_import_brings_it_back(database, machine, tmp_path):
    indexer = machine("ci", database)
    assert indexer("index", checkout(tmp_path / "shop")).status == 0
    exported = indexer.json("team", "export", "code.zip")
    assert indexer("team", "remove", ADDRESS, "--yes").status == 0
    refused = indexer("team", "export", "none.zip", "--json")
    assert (refused.status, refused.error["code"]) == (3, "not_found")
    assert indexer.json("team", "import", "code.zip")["sources"] == exported["sources"]
    (held,) = indexer.json("team", "list")["sources"]
    assert (held["chunks"], held["removed_by"]) == (exported["sources"][0]["chunks"], "")
    assert indexer("index", tmp_path / "shop").status == 0
    assert indexer.json("search", "charge_card", "--all")[0]["filename"] == "shop/payment.py"
    assert indexer.json("status")["sources"][0]["chunks_at_team"] == held["chunks"]


def test_a_file_that_is_not_there_cannot_be_imported(database, machine):
    refused = machine("ci", database)("team", "import", "none.zip", "--json")
    assert (refused.status, refused.error["code"]) == (3, "not_found")
    assert "there is no file" in refused.err
