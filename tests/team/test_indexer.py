"""Machines that index for a team: what their roles let them do, and that they may die."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_LZMA, ZIP_STORED, ZipFile

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from memory_sidecar.agents.services import Services
from memory_sidecar.core.atomic import TEMPORARY_PREFIX
from memory_sidecar.core.model import Asked, SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.index.watched import RESCAN_S
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.code import source_states
from memory_sidecar.team.backup import HEADER
from memory_sidecar.team.lease import LEASE_S
from memory_sidecar.team.schema import VERSION
from memory_sidecar.web.app import VIEWS
from memory_sidecar.web.asking import find
from memory_sidecar.web.index import show
from memory_sidecar.web.rendering import templates
from memory_sidecar.web.visit import Visit
from tests.conftest import PROGRAM, write_project
from tests.team.test_code import allow, content_of

FILES = 70
DEADLINE_S = 60


def checkout(root: Path) -> Path:
    """A clone of the team's repository, as git would have made it."""
    write_project(root)
    (root / ".git").mkdir(exist_ok=True)
    config = '[remote "origin"]\n\turl = git@git.example:shop/shop.git\n'
    (root / ".git" / "config").write_text(config)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return root


def test_an_indexer_writes_code_and_a_reader_only_searches_it(database, machine, login, tmp_path):
    assert machine("owner", database)("team", "init").status == 0
    indexer = machine("ci", login("ci", "indexer"))
    reader = machine("desk", login("desk", "reader"))
    assert indexer("index", checkout(tmp_path / "ci" / "shop")).status == 0
    root = checkout(tmp_path / "desk" / "shop")
    (root / "shop" / "coupon.py").write_text("def redeem_coupon(code):\n    return code\n")
    assert reader("index", root).status == 0
    for question, file in (("charge_card", "payment.py"), ("redeem_coupon", "coupon.py")):
        hits = reader.json("search", question, "--source", "shop")
        assert hits[0]["filename"] == f"shop/{file}"
    refused = reader("source", "publish", "shop", "--json")
    assert (refused.status, refused.error["code"]) == (1, "database_refused")
    with psycopg.connect(database) as owner:
        files = owner.execute("SELECT path FROM memory_sidecar.files").fetchall()
        assert ("shop/payment.py",) in files
        assert ("shop/coupon.py",) not in files
        owner.execute("SET ROLE memory_sidecar_indexer")
        owner.execute("SELECT memory_sidecar.declare_nearest()")


def test_a_word_that_is_too_long_for_an_index_keeps_no_file_from_the_team(make_member):
    one = make_member("one")
    blob = Random(1).randbytes(1500).hex()  # which PostgreSQL cannot compress either
    code = "".join(f"    # step {number}\n" for number in range(40))  # else its lines are too long
    one.write("blob.py", f"SEAL = 0x{blob}\n\n\ndef unseal_parcel():\n{code}    return SEAL\n")
    one.index()
    assert (one.own(), "not shared" in "".join(one.notices.said)) == (set(), False)
    other = make_member("other")
    other.write("blob.py", (one.root / "blob.py").read_text("utf-8"))
    other.index()
    assert other.find("unseal_parcel", SearchMode.KEYWORD)[0].filename == "blob.py"
    assert other.own() == set()


def test_status_and_doctor_say_how_many_files_only_the_team_has(
    database, machine, login, tmp_path, server
):
    assert machine("owner", database)("team", "init").status == 0
    assert (
        machine("ci", login("ci", "indexer"))("index", checkout(tmp_path / "ci/shop")).status == 0
    )
    desk = machine("desk", login("desk", "reader"))
    assert desk("index", checkout(tmp_path / "desk/shop")).status == 0
    before = desk.valid_json("status")
    files = before["sources"][0]["files_indexed"]
    assert (files > 1, before["team"]["files_away"]) == (True, 0)
    assert before["sources"][0]["chunks_at_team"] == before["chunks"] > 1
    allow(server, database, connections=False)
    try:
        status = desk.valid_json("status")
        assert (status["team"]["files_away"], status["sources"][0]["files_away"]) == (files, files)
        for command in ("status", "doctor"):
            told = f"answers, without the {files} files that only the team has"
            assert told in desk(command).out
    finally:
        allow(server, database, connections=True)


def test_a_host_that_names_the_codebase_by_db_shares_it_as_one_that_does_not(
    database, machine, tmp_path
):
    db = tmp_path / "ci" / "codebase.sqlite"
    for options in (("--db", db), ()):
        ci = machine("ci", database)
        assert ci("index", checkout(tmp_path / "shop"), *options).status == 0
        (source,) = ci.valid_json("status", *options)["sources"]
        assert source["chunks_at_team"] == source["chunks"] > 1
        hits = ci.json("search", "charge_card", "--all", *options)
        assert hits[0]["filename"] == "shop/payment.py"


def test_a_server_that_is_back_is_asked_by_status_and_explain(
    database, machine, login, tmp_path, server
):
    assert machine("owner", database)("team", "init").status == 0
    ci = machine("ci", login("ci", "indexer"))
    assert ci("index", checkout(tmp_path / "ci/shop")).status == 0
    desk = machine("desk", login("desk", "reader"))
    assert desk("index", checkout(tmp_path / "desk/shop")).status == 0
    name = conninfo_to_dict(database)["dbname"]
    link = desk.services.team
    with psycopg.connect(server, autocommit=True) as admin:
        for command in ("status --json", "search charge_card --all --explain --json"):
            admin.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
            link.drop_idle()
            refused = desk("search", "charge_card", "--all", "--json")
            assert refused.error["code"] == "database_unreachable"
            admin.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")
            assert link.is_unreachable
            answer = desk(*command.split()).json
            if command.startswith("status"):
                assert (answer["team"]["problem"], answer["sources"][0]["files_away"]) == (None, 0)
            else:
                assert answer[0]["filename"] == "shop/payment.py"


def test_the_page_counts_the_chunks_that_wait_at_the_team_for_a_vector(database, machine, tmp_path):
    indexer = machine("ci", database)
    assert indexer("index", checkout(tmp_path / "shop"), "--wait", "keyword").status == 0
    (source,) = indexer.valid_json("status")["sources"]
    assert source["pending_at_team"] == source["chunks_at_team"] == source["chunks"] > 1
    visit = Visit("/index", (), indexer.services, {}, "")
    shown = show(visit)
    named = ("sections", "flashes", "form_token", "title", "live", "version")
    around = {"addresses": VIEWS, "agents": [], **dict.fromkeys(named, "")}
    page = templates().get_template(shown.template)
    text = page.render(shown.more, visit=visit, data=shown.data, **around)
    assert f"<dt>model vectors</dt><dd>0 of {source['chunks']} " in text


def test_an_indexer_that_is_killed_goes_on_and_leaves_what_a_first_index_makes(
    database, link_to, tmp_path
):
    root = checkout(tmp_path / "shop")
    for number in range(FILES):
        text = "".join(f"def step_{number}_{n}():\n    return {n}\n\n\n" for n in range(8))
        (root / f"part_{number}.py").write_text(text)

    environ = {"MEMORY_SIDECAR_DATA_DIR": str(tmp_path / "data")}
    environ |= {"MEMORY_SIDECAR_DATABASE": database, "MEMORY_SIDECAR_MODEL_DIR": str(tmp_path)}
    command = [PROGRAM, "index", root, "--wait", "keyword"]
    start = partial(
        subprocess.Popen,
        command,
        env=os.environ | environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    link = link_to(database)
    killed = start()
    deadline = time.monotonic() + DEADLINE_S
    with psycopg.connect(database, autocommit=True) as owner:
        while time.monotonic() < deadline and killed.poll() is None:
            made = owner.execute("SELECT to_regclass('memory_sidecar.files')").fetchone()
            if made != (None,) and owner.execute("SELECT 1 FROM memory_sidecar.files").fetchone():
                break
    killed.kill()
    assert killed.wait() == -9
    before: Any = content_of(link)[0]
    assert start().wait() == 0
    after: list[Any] = content_of(link)
    assert 0 < len(before) < len(after[0])
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("DROP SCHEMA memory_sidecar CASCADE")
    link.close()
    settings = Settings(database=database, model_dir=str(tmp_path))
    with closing(Services(DataDir(tmp_path / "other"), settings)) as other:
        other.codebase().index([root], reporter=Silent(), embed=False)
    assert content_of(link) == after


def test_an_exported_file_answers_as_its_database_did(database, machine, tmp_path):
    indexer = machine("ci", database)
    assert indexer("index", checkout(tmp_path / "shop")).status == 0

    def answers() -> list[tuple[str, int, float]]:
        hits = indexer.json("search", "total price of the cart, charge_card", "--source", "shop")
        return [(hit["filename"], hit["start_line"], hit["score"]) for hit in hits]

    before = answers()
    (tmp_path / "code.zip.part").symlink_to(tmp_path / "of-the-user")  # as a clone may bring
    (tmp_path / "code.zip").symlink_to(tmp_path / "of-the-user")
    left = tmp_path / f"{TEMPORARY_PREFIX}of-one-that-was-killed"
    left.touch()
    os.utime(left, (1, 1))
    exported = indexer.valid_json("team export", "code.zip")
    assert not left.exists()
    assert not (tmp_path / "of-the-user").exists()
    assert [each["repository"] for each in exported["sources"]] == ["git.example/shop/shop"]
    again = indexer("team", "import", "code.zip", "--json")
    assert (again.status, again.error["code"]) == (4, "conflict")
    with psycopg.connect(database, options="-c search_path=memory_sidecar") as owner:
        owner.execute("TRUNCATE sources, files, chunks, words, chunk_static, chunk_vectors")
    lost = indexer("search", "charge_card", "--source", "shop", "--json")
    assert (lost.status, lost.error["code"]) == (3, "no_index")
    for more in ((), ("--replace",)):  # ids are others each time
        imported = indexer.valid_json("team import", "code.zip", *more)
        assert imported["sources"] == exported["sources"]
        assert answers() == before != []
        assert indexer("index", tmp_path / "shop").status == 0
        (held,) = indexer.json("team", "list")["sources"]
        assert held["indexer"] == indexer.services.place
    other = machine("other", database)  # that would index it, too
    assert other("index", tmp_path / "shop").status == 0
    assert other("source", "publish", "shop", "--take").status == 0
    indexer.json("team", "import", "code.zip", "--replace")
    assert indexer("index", tmp_path / "shop").status == 0
    (held,) = indexer.json("team", "list")["sources"]
    assert held["indexer"] == other.services.place


def test_a_file_that_is_newer_or_none_of_ours_is_refused(database, machine, tmp_path):
    owner = machine("owner", database)
    (tmp_path / "text.zip").write_text("text")
    refused = owner("team", "import", "text.zip", "--json")
    assert (refused.status, refused.error["code"]) == (1, "store_foreign")
    with ZipFile(tmp_path / "newer.zip", "w") as kept:
        kept.writestr(HEADER, json.dumps({"version": VERSION + 1, "sources": []}))
    refused = owner("team", "import", "newer.zip", "--json")
    assert (refused.status, refused.error["code"]) == (1, "store_newer")


def test_the_page_finds_memories_where_no_code_is_here_and_the_team_does_not_answer(
    database, machine, tmp_path, server
):
    assert machine("owner", database)("index", checkout(tmp_path / "ci/shop")).status == 0
    desk = machine("desk", database)
    assert desk("index", checkout(tmp_path / "desk/shop")).status == 0
    assert desk("store", "Totals are cents", "--category", "pitfall").status == 0
    visit = Visit("/search", (), desk.services, {}, "")
    allow(server, database, connections=False)
    try:
        kinds = (Asked.CODE, Asked.MEMORIES)
        found = find(visit, "which unit do totals have", kinds, SearchMode.HYBRID)
    finally:
        allow(server, database, connections=True)
    assert (len(found.code), len(found.memories)) == (0, 1)
    assert any("none is on this machine" in each for each in visit.notices)


def test_a_file_with_rows_that_are_none_is_refused_and_one_that_is_not_there_named(
    database, machine, tmp_path
):
    indexer = machine("ci", database)
    assert indexer("index", checkout(tmp_path / "shop")).status == 0
    indexer.json("team", "export", "code.zip")
    with ZipFile(tmp_path / "code.zip") as whole, ZipFile(tmp_path / "cut.zip", "w") as cut:
        for name in whole.namelist():
            cut.writestr(name, whole.read(name)[: -40 if name == "chunks" else None])
    refused = indexer("team", "import", "cut.zip", "--replace", "--json")
    assert (refused.status, refused.error["code"]) == (1, "store_foreign")
    assert indexer.json("search", "charge_card", "--all")[0]["filename"] == "shop/payment.py"
    damaged = (tmp_path / "code.zip").read_bytes()
    at = damaged.index(b"chunks") + 40  # in its compressed rows
    (tmp_path / "damaged.zip").write_bytes(damaged[:at] + bytes(40) + damaged[at + 40 :])
    refused = indexer("team", "import", "damaged.zip", "--replace", "--json")
    assert (refused.status, refused.error["code"]) == (1, "store_foreign")
    with ZipFile(tmp_path / "code.zip") as whole, ZipFile(tmp_path / "absurd.zip", "w") as absurd:
        for name in whole.namelist():
            rows = whole.read(name)
            if name == "chunks":  # the length of the first value of the first row
                rows = rows[:21] + (0x7FFFFFFF).to_bytes(4) + rows[25:]
            absurd.writestr(name, rows)
    refused = indexer("team", "import", "absurd.zip", "--replace", "--json")
    assert (refused.status, refused.error["code"]) == (1, "store_foreign")
    for count in ("chunks", "tokens"):
        with ZipFile(tmp_path / "code.zip") as whole, ZipFile(tmp_path / "less.zip", "w") as less:
            for name in whole.namelist():
                rows = whole.read(name)
                if name == HEADER:
                    header = json.loads(rows)
                    header["sources"][0][count] *= -1
                    rows = json.dumps(header).encode()
                less.writestr(name, rows)
        refused = indexer("team", "import", "less.zip", "--replace", "--json")
        assert (refused.status, refused.error["code"]) == (1, "store_foreign")
    os.mkfifo(tmp_path / "pipe.zip")
    refused = indexer("team", "import", "pipe.zip", "--json")
    assert "not a regular file" in refused.error["message"]
    refused = indexer("team", "import", "none.zip", "--json")
    assert (refused.status, refused.error["code"]) == (3, "not_found")
    refused = indexer("team", "export", "none/code.zip", "--json")
    assert refused.status == 1
    assert "No such file" in refused.error["message"]
    assert "internal" not in refused.error["message"]


def _doubled(rows):
    return rows[:19] + 2 * rows[19:-2] + rows[-2:]  # between the header of COPY and its end


@pytest.mark.parametrize(
    ("spoiled", "spoil", "how"),
    [
        (HEADER, lambda header: header.replace(b'"branch": "main"', b'"branch": {}'), ZIP_STORED),
        (HEADER, lambda header: header.replace(b'"branch": "main"', b'"branch": null'), ZIP_STORED),
        ("files", _doubled, ZIP_STORED),
        ("chunk_static", _doubled, ZIP_STORED),
        ("", None, ZIP_LZMA),  # whose errors are its own
    ],
)
def test_what_no_export_writes_is_no_fault_of_the_team(
    database, machine, tmp_path, spoiled, spoil, how
):
    indexer = machine("ci", database)
    assert indexer("index", checkout(tmp_path / "shop")).status == 0
    indexer.json("team", "export", "code.zip")
    with ZipFile(tmp_path / "code.zip") as whole, ZipFile(tmp_path / "odd.zip", "w", how) as odd:
        for name in whole.namelist():
            rows = whole.read(name)
            odd.writestr(name, spoil(rows) if name == spoiled else rows)
            assert name != spoiled or odd.read(name) != rows
    refused = indexer("team", "import", "odd.zip", "--replace", "--json")
    assert (refused.status, refused.error["code"]) == (1, "store_foreign")
    assert indexer.json("search", "charge_card", "--all")[0]["filename"] == "shop/payment.py"


def test_an_indexer_with_nothing_to_write_keeps_its_lease(database, machine, tmp_path):
    assert LEASE_S > 1.2 * RESCAN_S
    indexer, root = machine("ci", database), checkout(tmp_path / "shop")
    ends: list[Any] = []
    for _ in range(2):
        assert indexer("index", root).status == 0
        with psycopg.connect(database) as owner:
            row = owner.execute("SELECT lease_until FROM memory_sidecar.sources").fetchone()
            ends += row or ()
    first, second = ends
    assert first < second


def test_where_the_team_has_a_newer_schema_a_client_is_told_what_cannot_be_searched(
    database, machine, tmp_path
):
    desk = machine("desk", database)
    assert desk("index", checkout(tmp_path / "shop")).status == 0
    with psycopg.connect(database) as owner:
        owner.execute(
            "UPDATE memory_sidecar.identity SET value = %s WHERE key = 'version'",
            (str(VERSION + 1),),
        )
    done = desk("index", tmp_path / "shop")
    assert "what changes in shop is not shared" in done.err
    caller = Caller(desk.services, tmp_path, "default", frozenset({Toolset.CODE}))
    (state,) = source_states(caller, caller.codebase.status())
    assert state.state.endswith("only in the team's database, which cannot be searched now")
