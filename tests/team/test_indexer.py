"""Machines that index for a team: what their roles let them do, and that they may die."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from memory_sidecar.agents.services import Services
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.settings import Settings
from memory_sidecar.index.reporter import Silent
from tests.conftest import PROGRAM, write_project
from tests.team.test_code import content_of

FILES = 70
DEADLINE_S = 60


def checkout(root: Path) -> Path:
    """A clone of the team's repository, as git would have made it."""
    write_project(root)
    (root / ".git").mkdir()
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
