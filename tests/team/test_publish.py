"""Which machine indexes a source for the team: what it gives, and what it leaves as it is."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from memory_sidecar.code.document import build_document
from memory_sidecar.core.errors import Conflict, TeamEmpty
from memory_sidecar.core.model import SearchMode
from memory_sidecar.index.document import BuildError
from memory_sidecar.team import code_write, shared_files
from memory_sidecar.team import source as team_source
from memory_sidecar.team import vectors as team_vectors
from memory_sidecar.team.code_write import fold_rows
from memory_sidecar.team.held import held_sources, remove_sources
from memory_sidecar.team.schema import make_schema
from tests.index.test_watched_code import end, start_scheduler
from tests.team.test_code import content_of
from tests.waiting import eventually


def publish(member, *, by_force=False):
    source = member.codebase.registry.all()[0]
    return member.codebase.sharing.publish(source, by_force=by_force, reporter=member.notices)


def test_rows_go_up_with_their_vectors_and_a_second_giver_waits(make_member):
    before = make_member("a", shares=False)
    before.index()
    embedded = len(before.models.embedder.embedded)
    before.codebase.close()
    giver, other = make_member("a"), make_member("b")
    source = giver.codebase.registry.all()[0]
    published = giver.codebase.sharing.publish(source, by_force=False, reporter=giver.notices)
    assert published.files > 5
    assert published.chunks == embedded
    assert giver.own() == set()
    other.index()
    assert giver.models.embedder.embedded == other.models.embedder.embedded == []
    assert other.find("charge_card")[0].filename == "shop/payment.py"
    source = other.codebase.registry.all()[0]
    with pytest.raises(Conflict, match=r"a indexes git\.example/shop/shop \(main\) for the team"):
        other.codebase.sharing.publish(source, by_force=False, reporter=other.notices)
    assert not other.codebase.registry.all()[0].publishes  # nor does it try by itself
    (other.root / "shop" / "payment.py").unlink()
    other.index()
    taken = other.codebase.sharing.publish(source, by_force=True, reporter=other.notices)
    assert taken.deleted == 1
    giver.write("shop/cart.py", "class Basket:\n    pass\n")
    giver.index()  # it lost the lease: its save stays with it
    assert giver.own() == {"shop/cart.py", "shop/payment.py"}


def test_what_waits_for_vectors_at_the_team_takes_turns_with_other_databases(make_member):
    indexer = make_member("a")
    report = indexer.codebase.index([indexer.root], reporter=indexer.notices, embed=False)
    shared = indexer.codebase.sharing.source(indexer.codebase.registry.all()[0])
    embedding = team_vectors.embed_pending_of(shared, indexer.models, threading.Event())
    with indexer.models.turn:
        waits = 0, report.chunks_total
        assert [next(embedding), next(embedding)] == [waits, waits]  # callers are served meanwhile
        assert indexer.models.embedder.embedded == []
    assert list(embedding)[-1] == (report.chunks_total, report.chunks_total)
    assert len(indexer.models.embedder.embedded) == report.chunks_total


def test_files_are_indexed_between_vectors_of_the_team_until_the_last(make_member, monkeypatch):
    monkeypatch.setattr(team_vectors, "SLICE_TEXTS", 1)
    indexer = make_member("a")
    all_of_it = indexer.codebase.index([indexer.root], reporter=indexer.notices, embed=False)
    team = indexer.codebase.sharing.team
    store, stop = indexer.codebase.data.open(), threading.Event()
    embedding = team.embed(store, indexer.models, None, stop)
    assert next(embedding) == (1, all_of_it.chunks_total)
    indexer.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    more = indexer.codebase.index([indexer.root], reporter=indexer.notices, embed=False)
    *others, last = embedding  # the owner indexes what was saved while any are left
    assert all(done < total for done, total in others)
    assert last == (more.chunks_total, more.chunks_total)


def test_one_who_takes_over_gives_also_what_only_the_team_had(make_member, link):
    giver, other = make_member("a"), make_member("b")
    giver.index()
    other.index()
    before = content_of(link)
    giver.write("shop/cart.py", "class Basket:\n    pass\n")
    giver.index()
    assert other.own() == set()  # what it has of the file left its rows, and is not at the team
    publish(other, by_force=True)
    assert content_of(link) == before
    for each in (other, make_member("c")):
        each.index()
        assert each.find("Cart.add_item")[0].filename == "shop/cart.py"
    giver.index()  # what was the team's is what is checked out there
    assert giver.find("Basket")[0].filename == "shop/cart.py"


def test_a_source_that_was_never_looked_at_takes_nothing_from_the_team(make_member, link):
    giver, other = make_member("a"), make_member("b")
    giver.index()
    before = content_of(link)
    other.codebase.registry.add(other.root)
    taken = publish(other, by_force=True)
    assert (taken.files, taken.deleted) == (0, 0)
    assert content_of(link) == before


def test_a_file_that_cannot_be_read_stays_at_the_team(make_member, link, monkeypatch):
    giver, other = make_member("a"), make_member("b")
    giver.index()
    before = content_of(link)

    def build(source, file, max_file_bytes):
        if file.path == "shop/cart.py":
            raise BuildError("Input/output error")
        return build_document(source, file, max_file_bytes)

    monkeypatch.setattr("memory_sidecar.code.builder.build_document", build)
    other.index()
    assert publish(other, by_force=True).deleted == 0
    assert content_of(link) == before


def test_a_file_whose_chunks_were_lost_is_not_found_and_given_again(make_member, database, link):
    giver, reader = make_member("a"), make_member("b")
    giver.index()
    reader.index()
    before = content_of(link)
    with psycopg.connect(database) as owner:
        file = owner.execute(
            "UPDATE memory_sidecar.files SET chunks = 0, first_chunk = 0, generation = 100"
            " WHERE path = 'shop/cart.py' RETURNING id"
        ).fetchone()
        for table in ("chunks", "chunk_vectors", "chunk_static"):
            owner.execute(f"DELETE FROM memory_sidecar.{table} WHERE file = %s", file)
        owner.execute("UPDATE memory_sidecar.sources SET generation = 100")
    assert "shop/cart.py" not in {hit.filename for hit in reader.find("Cart.add_item")}
    reader.index()
    assert reader.find("Cart.add_item")[0].filename == "shop/cart.py"
    giver.codebase.close()
    make_member("a").index()
    assert content_of(link)[:2] == before[:2]


def test_what_is_saved_after_a_watched_source_was_published_goes_up(make_member, link):
    before = make_member("a", shares=False)
    before.index()
    before.codebase.close()
    giver = make_member("a")
    scheduler = start_scheduler(giver.codebase)
    publish(giver)
    giver.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    eventually(lambda: "shop/coupon.py" in str(content_of(link)[0]))
    end(scheduler)


def test_what_a_lost_transaction_had_folded_is_found_all_the_same(make_member, monkeypatch):
    monkeypatch.setattr(team_source, "FOLD_EVERY", 1)
    giver = make_member("a")
    giver.index()
    lost: list[tuple[int, ...]] = []

    def fold_and_lose(connection, *values):
        fold_rows(connection, *values)
        if not lost:
            lost.append(values)
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(team_source, "fold_rows", fold_and_lose)
    giver.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    giver.index()
    assert lost
    assert giver.own() == set()
    assert giver.find("redeem_coupon")[0].filename == "shop/coupon.py"


def test_a_save_takes_no_new_id_and_files_deleted_long_ago_leave_no_row(
    make_member, link, monkeypatch
):
    monkeypatch.setattr(team_source, "FOLD_EVERY", 1)
    monkeypatch.setattr(code_write, "KEPT_GENERATIONS", 2)
    monkeypatch.setattr(shared_files, "KEPT_GENERATIONS", 2)
    giver, reader = make_member("a"), make_member("b")
    giver.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    giver.index()
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    reader.index()
    source = reader.codebase.registry.all()[0]
    theirs = reader.codebase.sharing.source(source)
    assert "shop/coupon.py" in theirs.fingerprints(anew=True)

    def rows() -> dict[str, int]:
        with link.reading() as connection:
            return dict(connection.execute("SELECT path, id FROM files").fetchall())

    before = rows()
    (giver.root / "shop" / "coupon.py").unlink()
    giver.index()
    assert rows() == before
    for turn in range(4):
        giver.write("shop/cart.py", f"class Cart:\n    discount = {turn}\n")
        giver.index()
    giver.write("shop/new.py", "def new():\n    return 1\n")
    giver.index()
    after = rows()
    assert after.pop("shop/new.py") == max(before.values()) + 1
    assert after == {path: file for path, file in before.items() if path != "shop/coupon.py"}
    assert "shop/coupon.py" not in theirs.fingerprints(anew=True)
    reader.write("shop/cart.py", "class Cart:\n    discount = 3\n")
    reader.index()
    assert reader.own() == {"shop/coupon.py"}
    assert reader.find("discount")[0].code.endswith("discount = 3")


@pytest.mark.parametrize("before", ["", "0"])
def test_vectors_at_the_team_become_those_of_the_models_that_its_indexer_has_now(
    make_member, link, monkeypatch, before
):
    monkeypatch.setattr(team_vectors, "STATIC_ROWS", 4)
    alone, giver, reader = make_member("alone", shares=False), make_member("a"), make_member("b")
    alone.index()
    static, giver.models.version = giver.models._static, before
    giver.models._static = None
    giver.index()
    lacking = content_of(link)[3]
    giver.models.version, giver.models._static = "1", static
    giver.index()
    chunks = alone.codebase.status().chunks
    assert content_of(link)[3] == (chunks, chunks if static else 0, 0) != lacking
    reader.index()
    assert reader.codebase.status().vectors_pending == 0
    for mode in SearchMode:
        first, expected = (each.find("how is a card charged", mode)[0] for each in (reader, alone))
        assert (first.filename, first.score) == (
            expected.filename,
            pytest.approx(expected.score, abs=0.02),
        )
    giver.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    giver.index()
    assert content_of(link)[3] == (chunks + 1, chunks + 1 if static else 0, 0)


def test_all_of_another_branch_goes_up_and_all_of_a_team_that_was_made_anew(
    make_member, database, link
):
    before = make_member("a", shares=False)
    before.index()
    before.codebase.close()
    giver = make_member("a")
    publish(giver)
    first: Any = content_of(link)[0]
    (giver.root / ".git" / "HEAD").write_text("ref: refs/heads/new\n")
    publish(giver)
    assert giver.own() == set()
    assert content_of(link)[0] == sorted([*first, *first])
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("DROP SCHEMA memory_sidecar CASCADE")
    link.close()
    make_schema(link)
    with pytest.raises(TeamEmpty, match=r"has nothing of project; of \d+ files none is on this"):
        giver.find("charge_card")
    giver.index()
    assert giver.own() == set()
    assert content_of(link)[0] == first


def test_a_machine_with_another_model_takes_a_source_over_only_if_told_to(
    make_member, database, link
):
    first, second = make_member("a"), make_member("b")
    second.models.version = "2"
    first.index()
    second.index()
    chunks = second.codebase.status().chunks

    def end_lease() -> None:
        with psycopg.connect(database) as owner:
            owner.execute("UPDATE memory_sidecar.sources SET lease_until = now()")

    def vectors() -> Any:
        with link.reading() as connection:
            return connection.execute(
                "SELECT model, (SELECT count(*) FROM chunk_vectors) FROM sources"
            ).fetchone()

    before = vectors()
    end_lease()
    with pytest.raises(Conflict, match=r"a indexed .* \(main\) with another model") as raised:
        publish(second)
    assert "--take" in raised.value.hint
    assert vectors() == before
    publish(second, by_force=True)
    assert second.notices.has("another model made the vectors of project at the team: all are made")
    second.index()
    assert (after := vectors()) != before
    assert after[1] == chunks == len(second.models.embedder.embedded)
    end_lease()
    first.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    for _ in range(2):
        first.index()
        assert vectors() == after
    assert first.own() == {"shop/coupon.py"}
    second.index()
    assert second.codebase.registry.all()[0].publishes
    end_lease()
    first.models.version = "2"
    publish(first)
    assert first.own() == set()
    assert vectors() == (after[0], chunks + 1)


def test_a_machine_that_was_taken_over_from_does_not_come_back_when_the_lease_ends(
    make_member, database, link
):
    laptop, server = make_member("a"), make_member("b")
    for each in (laptop, server):
        each.index()
    publish(server, by_force=True)
    before = content_of(link)
    with psycopg.connect(database) as owner:  # the server is down
        owner.execute("UPDATE memory_sidecar.sources SET lease_until = now()")
    laptop.write("shop/cart.py", "class Basket:\n    pass\n")
    laptop.index()
    assert laptop.notices.has(
        "b indexes git.example/shop/shop (main) for the team; `source publish`"
    )
    assert content_of(link) == before
    assert laptop.own() == {"shop/cart.py"}
    server.index()
    publish(server)
    assert server.own() == set()


def test_a_branch_that_took_the_place_of_main_is_told_and_published_whole(make_member, link):
    giver, reader = make_member("a"), make_member("b", branch="trunk")
    giver.index()
    first: Any = content_of(link)[0]
    (giver.root / ".git" / "HEAD").write_text("ref: refs/heads/trunk\n")
    giver.write("shop/cart.py", "class Basket:\n    pass\n")
    for each in (giver, reader):
        each.index()
    told = "what changes in project is not shared: the team has no index of trunk; `memory-sidecar"
    assert giver.notices.has(told)
    assert not reader.notices.said
    assert reader.find("charge_card")[0].filename == "shop/payment.py"
    published = publish(giver)
    assert (published.files, published.deleted) == (len(first), 0)
    assert published.chunks == giver.codebase.status().chunks
    giver.notices.said.clear()
    giver.index()
    assert not giver.notices.said
    remove_sources(link, held_sources(link, branch="main"), holder="z", by_force=True)
    late = make_member("c")  # on main still
    late.index()
    assert not late.notices.said
    assert late.find("Cart.add_item")[0].filename == "shop/cart.py"
    assert late.own() == {"shop/cart.py"}
