"""A team's database that is restored from a backup, while machines go on that know it later."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

QUESTIONS = ("renew_0", "lose_1", "charge_card", "new words", "total price of the cart")


def copy_database(server, database, copy):
    """Make the database `copy` anew, as the server's files of `database` are."""
    name, copied = (conninfo_to_dict(each)["dbname"] for each in (database, copy))
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {copied} WITH (FORCE)")
        ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
        admin.execute(ended, (name,))
        admin.execute(f"CREATE DATABASE {copied} TEMPLATE {name}")


@pytest.fixture
def backup(database: str, server: str) -> Iterator[str]:
    name = conninfo_to_dict(database)["dbname"]
    yield database.replace(f"/{name}?", f"/{name}_backup?")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}_backup WITH (FORCE)")


@pytest.mark.parametrize("later", [0, 2, 5])
def test_machines_that_know_a_later_state_search_what_is_restored_and_what_follows(
    make_member, database, server, backup, later
):
    giver, reader = make_member("a"), make_member("b")
    for each in (giver, reader):
        each.index()
    copy_database(server, database, backup)

    def save(name, turns):
        for turn in range(turns):
            giver.write(f"shop/{name}_{turn}.py", f"def {name}_{turn}():\n    return {turn}\n")
            giver.write("docs/setup.md", f"# Setup\n\n{name} words {turn}\n")
            giver.index()

    save("lose", 3)
    reader.find("lose")
    copy_database(server, backup, database)
    for lost in (giver.root / "shop").glob("lose_*.py"):
        lost.unlink()
    save("renew", later)  # the generation is lower than before, the same, or higher
    giver.index()
    fresh = make_member("c")
    for each in (reader, fresh):
        shutil.rmtree(each.root)
        shutil.copytree(giver.root, each.root)
        each.index()
    for question in QUESTIONS:
        expected = fresh.find(question)
        assert expected
        for each in (giver, reader):
            assert _shown(each.find(question)) == _shown(expected), question


def _shown(hits):
    return [(hit.filename, hit.location, hit.code, round(hit.score, 3)) for hit in hits]
