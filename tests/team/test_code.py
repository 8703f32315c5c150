"""Code that a team shares: who gives it, who reads it, and what a developer has changed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import psycopg
import pytest
from jsonschema import Draft202012Validator
from psycopg.conninfo import conninfo_to_dict
from schemas import all_schemas

from memory_sidecar.code import messages, search
from memory_sidecar.code.breakdown import break_down
from memory_sidecar.code.directory import Line
from memory_sidecar.code.messages import chunks_saying
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.code.rows import LocalRows
from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseRefused,
    NoIndex,
    NotFound,
    UsageError,
)
from memory_sidecar.core.model import SearchMode
from memory_sidecar.index.scored import NAMED_FROM
from memory_sidecar.team import code_read, schema
from memory_sidecar.team import link as team_link
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.postings import unpack_entries
from memory_sidecar.team.reads import ReadTransaction
from memory_sidecar.team.words_read import WordsRead
from tests.conftest import run_here
from tests.waiting import eventually

QUESTIONS = (
    "total price of the cart",
    "how is a card charged",
    "retryWithBackoff",
    "Cart.add_item",
    "shop/payment.py",
    "raise Declined(response.reason)",
    "install the package",
    "検索",
)


def test_a_search_finds_in_the_team_what_it_finds_without(make_member):
    alone, giver, reader = make_member("alone", shares=False), make_member("a"), make_member("b")
    for each in (alone, giver, reader):
        each.index()
    assert giver.own() == reader.own() == set()
    assert giver.notices.has("has nothing of project yet")
    assert reader.models.embedder.embedded == []  # the team has the vectors
    for mode in SearchMode:
        for question in QUESTIONS:
            expected = _scores(alone.find(question, mode))
            for each in (giver, reader):
                found = _scores(each.find(question, mode))
                assert next(iter(found)) == next(iter(expected))
                assert found == pytest.approx(expected, abs=0.02)
    narrow = {"languages": ("python",), "path_globs": ("shop/",)}
    narrowed = {hit.filename for hit in reader.find("price", **narrow)}
    assert narrowed == {hit.filename for hit in alone.find("price", **narrow)} != set()


def test_a_file_that_is_saved_all_day_ranks_as_it_does_without_a_team(make_member):
    alone, giver, reader = make_member("alone", shares=False), make_member("a"), make_member("b")
    for each in (alone, giver, reader):
        each.index()
    saved = (giver.root / "shop" / "payment.py").read_text("utf-8")
    for version in range(12):
        giver.write("shop/payment.py", f"{saved}# {version}\n")
        giver.index()
    for each in (alone, giver, reader):
        each.write("shop/payment.py", saved)
        each.index()
    for mode in (SearchMode.KEYWORD, SearchMode.HYBRID):
        for question in QUESTIONS:
            expected = _scores(alone.find(question, mode))
            for each in (giver, reader):
                assert _scores(each.find(question, mode)) == pytest.approx(expected, abs=0.02)


def test_words_in_a_row_are_found_whatever_their_ends_and_accents(make_member):
    giver = make_member("a")
    giver.write("docs/why.md", "# Why\n\nHappiness relational activities.\n")
    giver.write("docs/menu.md", "# Menu\n\nThe café's happiness, sensibly.\n")
    giver.write("docs/other.md", "# Other\n\nActivities of relational, happy cafés.\n")
    giver.index()

    assert _saying(giver, "happy relation activity") == ["docs/why.md"]
    assert _saying(giver, "the cafe s happy") == ["docs/menu.md"]
    assert _saying(giver, "relations happiness cafe") == ["docs/other.md"]
    assert _saying(giver, "activity happy relation") == []


def test_a_key_that_the_borders_of_chunks_cut_is_masked_in_what_the_team_has_and_what_is_own(
    make_member,
):
    key = [f"{number:02}" + "okapiZEBRA01" * 5 for number in range(40)]
    begin, end = ("-----" + f"{edge} PRIVATE KEY-----" for edge in ("BEGIN", "END"))
    text = "\n".join(['deploy_key = """', begin, *key, end, '"""', "", "def deploy(): ...", ""])
    giver, reader = make_member("a"), make_member("b")
    for each in (giver, reader):
        each.write("deploy.py", text)
        each.index()
    reader.write("own.py", text.replace("deploy", "own"))
    reader.index()
    assert reader.own() == {"own.py"}
    for name in ("deploy", "own"):
        found = reader.find(f"{name}.py {name}_key", path_globs=(f"{name}.py",))
        pieces = [hit.code for hit in found]
        assert len(pieces) > 1
        assert not [line for line in key if any(line in piece for piece in pieces)]


def test_a_message_that_many_hold_in_the_team_and_here_together_tells_none_of_them(
    make_member, monkeypatch
):
    monkeypatch.setattr(messages, "MAX_REPEATS", 10)
    giver, reader = make_member("a"), make_member("b")
    for number in range(8):
        for each in (giver, reader):
            each.write(f"docs/theirs-{number}.md", "# Cards\n\nThe card was declined.\n")
    giver.index()
    for number in range(4):
        reader.write(f"docs/ours-{number}.md", "# Cards\n\nThe card was declined.\n")
    reader.index()
    assert len(_saying(giver, "the card was declined")) == 8
    assert _saying(reader, "the card was declined") == []


def _saying(member, text):
    """The files with chunks that hold the message `text`."""

    def ask(here):
        local = LocalRows(here.connection, here.store, CodeFilter())
        return member.codebase.sharing.ask(
            lambda rows: [each.filename for each in rows.read(chunks_saying(text, rows))],
            local,
            member.notices,
        )

    return member.codebase.navigate(CodeFilter(), ask, reporter=member.notices)


def test_graphs_of_many_vectors_are_made_beside_those_and_not_by_a_pass_over_files(
    make_member, database, monkeypatch
):
    monkeypatch.setattr(schema, "MANY_CHUNKS", 1)
    giver = make_member("a")

    def graphs() -> list[str]:
        with psycopg.connect(database) as owner:
            found = owner.execute(
                "SELECT indexname::text FROM pg_indexes WHERE indexname LIKE '%_nearest' ORDER BY 1"
            )
            return [name for (name,) in found]

    giver.codebase.index([giver.root], reporter=giver.notices, embed=False)
    assert giver.find("Cart.add_item")[0].filename == "shop/cart.py"
    assert graphs() == []
    giver.index()
    assert graphs() == ["chunk_static_nearest", "chunk_vectors_nearest"]


def test_a_search_asks_once_for_all_of_its_sources(make_member, monkeypatch):
    giver = make_member("a")
    giver.index()
    asked: list[str] = []
    execute = psycopg.Connection.execute

    def counted(self, query, *values, **options):
        asked.append(query)
        return execute(self, query, *values, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    for number in range(3):
        root = giver.root.parent / f"other-{number}"
        shutil.copytree(giver.root, root)
        config = root / ".git" / "config"
        config.write_text(config.read_text().replace("shop.git", f"other-{number}.git"))
        giver.codebase.index([root], reporter=giver.notices)
    asked.clear()
    best = giver.find("total price of the cart")[0]
    copies = {best.source, *(copy.source for copy in best.copies)}
    assert copies == {"project", "other-0", "other-1", "other-2"}
    assert sum("repository = s.repository" in query for query in asked) == 1


def test_a_role_with_one_connection_finds_what_others_find(make_member, login, database):
    giver = make_member("a")
    giver.index()
    found = [giver.find(question) for question in QUESTIONS]
    team = giver.codebase.sharing.team
    schema.grant_roles(team.link)
    team.link.drop_idle()
    giver.notices.said.clear()
    with psycopg.connect(database, autocommit=True) as owner:
        address = login("alice", "reader")
        alice = conninfo_to_dict(address)["user"]
        owner.execute(f"ALTER ROLE {alice} CONNECTION LIMIT 1")
    as_alice = dict(team.link.address.parameters) | {"user": alice}
    team.link.address = replace(team.link.address, parameters=as_alice)
    assert [giver.find(question) for question in QUESTIONS] == found
    assert not giver.notices.said


@pytest.mark.parametrize("table", ["chunk_static", "chunk_vectors", "words", "chunks"])
def test_a_table_that_a_role_may_not_read_is_named(make_member, login, database, table):
    giver = make_member("a")
    giver.index()
    team = giver.codebase.sharing.team
    schema.grant_roles(team.link)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"REVOKE SELECT ON memory_sidecar.{table} FROM memory_sidecar_reader")
    as_alice = conninfo_to_dict(login("alice", "reader"))
    team.link.drop_idle()
    team.link.address = replace(team.link.address, parameters=as_alice)
    with pytest.raises(DatabaseRefused, match=f"permission denied for table {table};"):
        giver.find("total price of the cart")


def test_own_changes_lie_over_what_the_team_has(make_member):
    giver, reader = make_member("a"), make_member("b")
    giver.index()
    reader.write("shop/cart.py", "def empty_the_trolley():\n    return []\n")
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    (reader.root / "shop" / "payment.py").unlink()
    reader.index()
    assert reader.own() == {"shop/cart.py", "shop/coupon.py"}
    assert reader.find("empty_the_trolley")[0].filename == "shop/cart.py"
    assert reader.find("redeem a coupon")[0].filename == "shop/coupon.py"
    for question in ("charge_card", "add_item", "total_price"):
        shown = {hit.filename for hit in reader.find(question)}
        assert "shop/payment.py" not in shown
        assert not any("self.items" in hit.code for hit in reader.find(question))
    assert giver.find("charge_card")[0].filename == "shop/payment.py"
    assert all(hit.filename != "shop/coupon.py" for hit in giver.find("redeem a coupon"))


def test_what_makes_a_message_with_values_is_found_in_the_team_and_here(make_member, monkeypatch):
    for of in (code_read, search):  # as in a source so large that no arm finds the chunk
        monkeypatch.setattr(of, "KEYWORD_DEPTH" if of is code_read else "DEPTH", 1)
    giver, reader = make_member("a"), make_member("b")
    lost = 'def lose(row):\n    raise Lost(f"no row {row} in the table")\n'
    for each in (giver, reader):
        each.write("shop/lost.py", lost)
        for number in range(12):
            each.write(f"shop/near_{number}.py", f"# {number}: table 17 has no 17th row\n")
    giver.index()
    reader.write("shop/own.py", 'def refuse(n):\n    raise Refused(f"no more than {n} a day")\n')
    reader.index()
    assert reader.own() == {"shop/own.py"}
    for message, file in (("no row 17 in the table", "lost"), ("no more than 17 a day", "own")):
        assert reader.find(message)[0].filename == f"shop/{file}.py"


def reader_of(make_member, shared: Mapping[str, str], own: Mapping[str, str]):
    """Return a member who has the files `shared` from the team, and alone has the files `own`."""
    giver, reader = make_member("a"), make_member("b")
    for path, text in shared.items():
        giver.write(path, text)
        reader.write(path, text)
    giver.index()
    for path, text in own.items():
        reader.write(path, text)
    reader.index()
    assert reader.own() == own.keys()
    return reader


def test_the_route_of_a_path_is_found_in_the_team_and_here(make_member):
    carts = '@app.get("/carts/{id}/total")\ndef total(id): ...\n'
    parcels = '@app.get("/parcels/{id}/label")\ndef label(id): ...\n'
    reader = reader_of(make_member, {"shop/carts.py": carts}, {"shop/parcels.py": parcels})
    for path, file in (("/carts/42/total", "carts"), ("/parcels/42/label", "parcels")):
        assert reader.find(path)[0].filename == f"shop/{file}.py"
        assert reader.find(path)[0].score > NAMED_FROM


def test_a_file_that_a_word_calls_is_found_in_the_team_and_here(make_member):
    ledgers, tallies = {"shop/ledgers.py": "SUMS = {}\n"}, {"shop/tallies.py": "MORE = {}\n"}
    reader = reader_of(make_member, ledgers, tallies)
    for word in ("ledgers", "tallies"):
        assert reader.find(word)[0].filename == f"shop/{word}.py"


def test_a_line_that_is_named_far_down_in_a_long_file_is_found(make_member, monkeypatch):
    body = "    value = value.adjusted_by(another_value_of_many)\n" * 40
    steps = [f"def step_{n}(value):\n{body}" for n in range(100)]
    giver = make_member("a")
    giver.write("shop/steps.py", "".join(steps))
    giver.index()
    for of in (code_read, search):  # as in a source so large that no arm finds the chunk
        monkeypatch.setattr(of, "KEYWORD_DEPTH" if of is code_read else "DEPTH", 1)
    monkeypatch.setattr(code_read, "MAX_CHUNKS_PER_NAME", 1)
    (first, *_) = giver.find("shop/steps.py:3000")
    assert first.filename == "shop/steps.py"
    assert first.start_line <= 3000 <= first.end_line


def test_what_is_like_a_place_is_found_in_the_team_and_here(make_member):
    alone, giver, reader = make_member("alone", shares=False), make_member("a"), make_member("b")
    for each in (alone, giver):
        each.index()
    for each in (alone, reader):
        each.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
        each.index()
    assert reader.own() == {"shop/coupon.py"}
    for place in ("shop/cart.py", "shop/coupon.py"):
        found = _scores(_like(reader, place))
        assert found == pytest.approx(_scores(_like(alone, place)), abs=0.02)
        assert len(found) > 3
    reader.write("shop/cart.py", "")
    reader.index()
    with pytest.raises(NotFound, match=r"nothing is indexed at shop/cart\.py:2"):
        _like(reader, "shop/cart.py")


def test_status_counts_what_the_team_has(make_member):
    alone, giver, reader = make_member("alone", shares=False), make_member("a"), make_member("b")
    for each in (alone, giver, reader):
        each.index()
    expected = alone.codebase.status()
    assert expected.chunks > 5
    for each in (giver, reader):
        found = each.codebase.status()
        assert (found.chunks, found.vectors_pending) == (expected.chunks, 0)
        assert [source.chunks for source in found.sources] == [expected.chunks]


def test_a_filter_changes_nothing_of_how_many_vectors_are_there(make_member, database):
    giver = make_member("a")
    giver.index()
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("SET search_path TO memory_sidecar")
        owner.execute(
            "INSERT INTO chunk_pending SELECT c.id, f.source, f.id FROM chunks c"
            " JOIN files f ON f.id = c.file WHERE f.path <> 'shop/payment.py'"
        )
    for wanted in {}, {"path_globs": ("shop/payment.py",)}:
        found = giver.find("charge_card", SearchMode.VECTOR, **wanted)
        assert "shop/payment.py" in {hit.filename for hit in found}
    first, second = [line for line in giver.notices.said if line.startswith("vectors ")]
    assert first == second


def _like(member, path):
    at = Line("project", path, 2)
    return member.codebase.related(at, CodeFilter(), top_k=5, reporter=member.notices)


def test_a_machine_with_another_model_searches_the_teams_words_and_its_own_vectors(make_member):
    giver, reader = make_member("a"), make_member("b")
    reader.models.version = "2"
    giver.index()
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    reader.index()
    for mode in (SearchMode.HYBRID, SearchMode.KEYWORD):
        assert reader.find("charge_card", mode)[0].filename == "shop/payment.py"
    near = {hit.filename for hit in reader.find("charge_card", SearchMode.VECTOR)}
    assert near == {"shop/coupon.py"}
    like = {hit.filename for hit in _like(reader, "shop/payment.py")}
    assert like > {"shop/coupon.py", "shop/cart.py"}  # by static vectors


def test_what_the_team_gets_leaves_the_own_rows_and_what_it_changes_comes_back(make_member):
    giver, reader = make_member("a"), make_member("b")
    giver.index()
    reader.index()
    text = "def redeem_coupon(code):\n    return code.value\n"
    reader.write("shop/coupon.py", text)
    reader.index()
    assert reader.own() == {"shop/coupon.py"}
    giver.write("shop/coupon.py", text)
    giver.write("shop/cart.py", "class Basket:\n    pass\n")
    giver.index()
    files = {hit.filename for hit in reader.find("Basket")}
    assert "shop/payment.py" in files
    assert "shop/cart.py" not in files  # what is there is not checked out here
    assert reader.notices.has("1 file changed at the team: not searched until")
    source = reader.codebase.registry.all()[0]
    assert reader.codebase.sharing.source(source).has_moved_on
    refresh = partial(reader.codebase.sharing.refresh_outdated, source)
    reader.codebase.data.ask(lambda _: refresh(), reader.notices, patience_s=1)
    assert reader.own() == {"shop/cart.py"}  # the older version is what is checked out here
    reader.notices.said.clear()
    assert reader.find("Cart.add_item")[0].filename == "shop/cart.py"
    assert not reader.notices.has("changed at the team")
    assert giver.find("Basket")[0].filename == "shop/cart.py"


def test_a_branch_that_the_team_gets_takes_the_place_of_main(make_member):
    giver, reader = make_member("a"), make_member("b", branch="new")
    for text in ("", "# twice\n", "# thrice\n"):  # main has a higher generation than the branch
        giver.write("shop/extra.py", text)
        giver.index()
    reader.index()
    assert reader.find("Cart.add_item")[0].filename == "shop/cart.py"
    source = reader.codebase.registry.all()[0]
    refresh = partial(reader.codebase.sharing.refresh_outdated, source)
    reader.codebase.data.ask(lambda _: refresh(), reader.notices, patience_s=1)
    shared = reader.codebase.sharing.source(source)
    assert not shared.has_moved_on
    other = make_member("c", branch="new")
    other.write("shop/cart.py", "class Basket:\n    pass\n")
    other.index()
    (published,) = other.codebase.registry.all()
    other.codebase.sharing.publish(published, by_force=False, reporter=other.notices)
    assert other.own() == set()  # all of the branch is there, not only what differs from main
    same = make_member("d", branch="new")
    same.write("shop/cart.py", "class Basket:\n    pass\n")
    same.index()
    assert same.own() == set()
    assert same.find("Basket")[0].filename == "shop/cart.py"
    assert reader.find("charge_card")[0].filename == "shop/payment.py"
    assert "shop/cart.py" not in {hit.filename for hit in reader.find("Basket")}
    assert shared.has_moved_on
    reader.codebase.data.ask(lambda _: refresh(), reader.notices, patience_s=1)
    assert not shared.has_moved_on
    assert "shop/cart.py" in reader.own()  # that of main is what is checked out here
    assert reader.find("Cart.add_item")[0].filename == "shop/cart.py"


@pytest.mark.parametrize("head", ["ref: refs/heads/new", "0123456789" * 4])
def test_what_is_checked_out_where_main_is_indexed_is_laid_over_main_and_not_uploaded(
    make_member, link, head
):
    giver = make_member("a")
    giver.index()
    before = content_of(link)
    (giver.root / ".git" / "HEAD").write_text(f"{head}\n")
    assert giver.find("charge_card")[0].filename == "shop/payment.py"  # before any look at files
    giver.write("shop/cart.py", "class Basket:\n    pass\n")
    giver.index()
    assert giver.own() == {"shop/cart.py"}
    assert giver.find("Basket")[0].filename == "shop/cart.py"
    assert giver.find("charge_card")[0].filename == "shop/payment.py"
    assert content_of(link) == before
    (giver.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    giver.index()
    assert giver.own() == set()
    assert content_of(link) != before


def test_main_is_shared_although_another_branch_was_before(make_member):
    giver = make_member("a", branch="new")
    giver.index()
    other = make_member("b")
    other.index()
    assert other.codebase.registry.all()[0].publishes
    assert other.own() == set()
    (giver.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    giver.index()
    assert giver.own() == set()
    assert giver.find("charge_card")[0].filename == "shop/payment.py"


def test_without_a_branch_nothing_is_shared(make_member, link):
    giver = make_member("a")
    (giver.root / ".git" / "HEAD").write_text("0123456789" * 4)
    giver.index()
    assert giver.notices.has("no branch is checked out")
    assert "shop/cart.py" in giver.own()
    source = giver.codebase.registry.all()[0]
    with pytest.raises(UsageError, match="no branch is checked out"):
        giver.codebase.sharing.publish(source, by_force=True, reporter=giver.notices)


@pytest.mark.parametrize("few", [0, code_read.FEW_CHUNKS])
@pytest.mark.parametrize("changed", ["project", "tree"])
def test_two_clones_on_one_machine_are_searched_together_each_as_it_is(
    make_member, monkeypatch, changed, few
):
    monkeypatch.setattr(code_read, "FEW_CHUNKS", few)
    giver = make_member("a")
    giver.index()
    reader = make_member("b")
    tree = reader.root.with_name("tree")
    shutil.copytree(reader.root, tree)
    (tree.with_name(changed) / "shop" / "cart.py").write_text("class Basket:\n    pass\n")
    reader.codebase.index([reader.root, tree], reporter=reader.notices)
    (other,) = {"project", "tree"} - {changed}
    for mode in SearchMode:
        found = reader.find("total price of the cart, Cart.add_item", mode)
        assert [hit.source for hit in found if "class Cart" in hit.code] == [other]
    assert reader.find("Basket")[0].source == changed


def test_while_the_server_is_away_own_rows_answer_and_go_up_later(make_member, server, database):
    giver = make_member("a")
    giver.index()
    allow(server, database, connections=False)
    giver.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    giver.index()
    assert giver.own() == {"shop/coupon.py"}
    assert giver.find("redeem a coupon")[0].filename == "shop/coupon.py"
    assert giver.notices.has("searching this machine")
    assert giver.notices.has("counting this machine's part, 1 of ")
    allow(server, database, connections=True)
    giver.codebase.sharing.team.link.drop_idle()
    giver.index()
    assert giver.own() == set()
    assert giver.find("redeem a coupon")[0].filename == "shop/coupon.py"


def test_a_team_of_an_older_version_is_named_by_what_goes_on_without(make_member, monkeypatch):
    giver, late = make_member("a"), make_member("b")
    giver.index()
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    older = f"of version {schema.VERSION - 1}, older than this one"
    late.index()
    assert late.notices.has("what changes in project is not shared: team")
    assert late.notices.has(
        f"{older}; its owner updates memory-sidecar, and runs `memory-sidecar team init`"
    )
    assert late.find("charge_card")
    assert late.notices.has(f"{older}: searching this machine")


def test_a_newer_client_builds_nothing_again_while_the_owner_has_not_updated_the_team(
    make_member, monkeypatch
):
    giver, reader = make_member("a"), make_member("b")
    for each in (giver, reader):
        each.index()
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    for _ in range(2):
        reader.index()
    assert reader.own() == {"shop/coupon.py"}
    assert reader.find("redeem_coupon")[0].filename == "shop/coupon.py"
    assert reader.notices.has("older than this one: searching this machine's part, 1 of")
    monkeypatch.undo()
    assert reader.find("charge_card")[0].filename == "shop/payment.py"
    assert len(reader.models.embedder.embedded) == 1


def test_a_clone_without_rows_of_its_own_says_that_the_team_does_not_answer(
    make_member, server, database
):
    giver, reader = make_member("a"), make_member("b")
    giver.index()
    reader.index()
    files = reader.codebase.status().sources[0].files_indexed
    allow(server, database, connections=False)
    with pytest.raises(DatabaseError, match="not currently accepting") as raised:
        reader.find("charge_card")
    assert f"of {files} files none is on this machine" in raised.value.message
    assert break_down(reader.codebase, "project").largest == ()
    assert reader.index().chunks_total == 0
    assert reader.notices.has(
        f"of {files} files none is on this machine: counting this machine's part"
    )
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    reader.index()
    reader.notices.said.clear()
    assert reader.find("redeem a coupon")[0].filename == "shop/coupon.py"
    assert reader.notices.has(f"searching this machine's part, 1 of {files + 1} files")


@pytest.mark.parametrize(
    "spoiling",
    [
        "DELETE FROM memory_sidecar.chunks",
        "UPDATE memory_sidecar.chunks SET file = -file",
        "UPDATE memory_sidecar.chunk_static SET id = -id",
        "UPDATE memory_sidecar.words SET entries = substr(entries, 2)",
        "UPDATE memory_sidecar.sources SET chunks = -1",
        "UPDATE memory_sidecar.sources SET generation = 1000;"
        " INSERT INTO memory_sidecar.files OVERRIDING SYSTEM VALUE SELECT 2147483640, id, 'a.py',"
        " 'python', 'new', 1, 1, 1000 FROM memory_sidecar.sources",
    ],
)
def test_rows_of_an_indexer_that_make_no_sense_leave_what_is_here(make_member, database, spoiling):
    giver, reader = make_member("a"), make_member("b")
    giver.index()
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    reader.index()
    with psycopg.connect(database) as indexer:
        indexer.execute(spoiling)
    assert [hit.filename for hit in reader.find("redeem a coupon")] == ["shop/coupon.py"]
    (said,) = reader.notices.said
    assert "has rows that cannot be read (" in said
    assert ": searching this machine's part, 1 of " in said
    with pytest.raises(DatabaseError, match="of 8 files none is on this machine"):
        giver.find("redeem a coupon")


def test_a_search_that_loses_its_connection_asks_again(make_member, database, monkeypatch):
    giver = make_member("a")
    giver.index()
    found = giver.find("total price of the cart")
    giver.notices.said.clear()
    lost: list[int] = []
    ask = ReadTransaction.ask

    def lose_one(self, *question):
        if not lost:
            lost.append(self.connection.info.backend_pid)
            with psycopg.connect(database, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (lost[0],))
        return ask(self, *question)

    monkeypatch.setattr(ReadTransaction, "ask", lose_one)
    assert giver.find("total price of the cart") == found
    assert lost
    assert not giver.notices.said


def test_a_search_whose_words_cannot_be_read_waits_for_its_vectors(
    make_member, database, monkeypatch
):
    giver = make_member("a")
    giver.index()
    answers = []
    ask = ReadTransaction.ask

    def ask_slowly(self, query, values=()):
        if "chunk_static" not in query:
            return ask(self, query, values)
        answers.append(ask(self, "SELECT pg_sleep(0.5)"))
        return ask(self, query, values)

    def is_waiting():
        of_others = "FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active'"
        with psycopg.connect(database) as other:
            return other.execute(
                f"SELECT count(*) {of_others} AND pid <> pg_backend_pid()"
            ).fetchone() == (1,)

    def fail(*_):
        eventually(is_waiting)
        raise ValueError("no entries")

    monkeypatch.setattr(ReadTransaction, "ask", ask_slowly)
    monkeypatch.setattr(WordsRead, "terms_with_idf", fail)
    with pytest.raises(DatabaseError, match="has rows that cannot be read"):
        giver.find("total price of the cart")
    assert answers  # else its connection was closed under it, which can end the process


def test_a_search_that_a_commit_overtakes_finds_what_was_there_before(make_member, monkeypatch):
    giver, reader = make_member("a"), make_member("b")
    giver.index()
    reader.index()
    found = reader.find("total price of the cart")
    overtaken: list[bool] = []
    ask = TeamLink.ask

    def overtake(self, *questions):
        if not overtaken:
            overtaken.append(True)
            giver.write("shop/cart.py", "def total_price_of_the_cart():\n    return 0\n")
            giver.index()
        return ask(self, *questions)

    monkeypatch.setattr(TeamLink, "ask", overtake)
    assert reader.find("total price of the cart") == found
    assert overtaken
    assert reader.find("total price of the cart") != found


def test_a_search_ends_although_another_waits_for_a_table_that_it_reads(
    make_member, database, monkeypatch
):
    giver = make_member("a")
    giver.index()
    found = giver.find("total price of the cart")
    giver.notices.said.clear()
    ask = TeamLink.ask
    with psycopg.connect(database) as other, ThreadPoolExecutor() as pool:
        locks: list[Future[object]] = []

        def queue_behind(self, *questions):
            if not locks:
                lock = "LOCK TABLE memory_sidecar.sources"  # as VACUUM FULL and a migration do
                locks.append(pool.submit(other.execute, lock))
                with psycopg.connect(database, autocommit=True) as owner:
                    waiting = "SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted"
                    pid = (other.info.backend_pid,)
                    eventually(lambda: owner.execute(waiting, pid).fetchall())
            return ask(self, *questions)

        monkeypatch.setattr(TeamLink, "ask", queue_behind)
        assert giver.find("total price of the cart") == found
        locks[0].result()
    assert not giver.notices.said


def test_a_branch_of_its_own_is_laid_over_main(make_member):
    giver, reader = make_member("a"), make_member("b", branch="feature")
    giver.index()
    reader.write("shop/cart.py", "class Basket:\n    pass\n")
    reader.index()
    assert reader.own() == {"shop/cart.py"}
    assert reader.find("charge_card")[0].filename == "shop/payment.py"


def test_a_search_without_the_teams_database_says_what_it_lacks(make_member):
    make_member("a").index()
    make_member("b").index()
    left = make_member("b", shares=False)
    with pytest.raises(
        NoIndex, match=r"no `database` of a team is set; of \d+ files none"
    ) as raised:
        left.find("charge_card")
    assert "memory-sidecar index" in raised.value.hint
    left.write("shop/cart.py", "class Basket:\n    pass\n")
    left.index()
    left.notices.said.clear()
    assert left.find("charge_card")[0].filename == "shop/payment.py"
    assert not left.notices.has("of a team")


@pytest.mark.parametrize(
    "config", ["[core]\n\tbare = false\n", '[remote "origin"]\n\turl = /srv/git/shop.git\n']
)
def test_a_folder_without_a_remote_that_others_know_is_indexed_here_alone(make_member, config):
    alone = make_member("a")
    (alone.root / ".git" / "config").write_text(config)
    alone.index()
    assert "shop/cart.py" in alone.own()
    source = alone.codebase.registry.all()[0]
    with pytest.raises(UsageError, match="no git remote"):
        alone.codebase.sharing.publish(source, by_force=False, reporter=alone.notices)


def test_a_word_whose_list_has_more_rows_than_are_left_is_searched(make_member, link):
    giver = make_member("a")
    giver.index()
    for turn in range(12):  # each leaves an entry of a row that is gone
        giver.write("shop/cart.py", f"class Cart:\n    discount = {turn}\n")
        giver.index()
    with link.reading() as connection:
        held, rows = connection.execute(
            "SELECT count(*), (SELECT chunks FROM sources) FROM words WHERE term = 'discount'"
        ).fetchone()
        assert held > rows
    for mode in SearchMode:
        assert giver.find("discount", mode)[0].filename == "shop/cart.py"
    assert giver.find("the discount of the cart")[0].code.endswith("discount = 11")


def test_why_counts_what_the_team_has_of_a_file(make_member, server, database):
    alone, giver, reader = make_member("alone", shares=False), make_member("a"), make_member("b")
    for each in (alone, giver, reader):
        each.index()
    reader.write("shop/coupon.py", "def redeem_coupon(code):\n    return code.value\n")
    reader.index()
    cart = alone.codebase.why(alone.root / "shop/cart.py")
    assert (cart.fate, cart.reason, cart.vectors) == ("indexed", "", cart.chunks)
    for each in (giver, reader):
        told = each.codebase.why(each.root / "shop/cart.py")
        assert (told.fate, told.reason) == ("indexed", "in the team's database")
        assert (told.chunks, told.vectors) == (cart.chunks, cart.chunks)
        assert cart.chunks > 0
    own = reader.codebase.why(reader.root / "shop/coupon.py")
    assert (own.fate, own.reason, own.chunks) == ("indexed", "", 1)
    allow(server, database, connections=False)
    told = reader.codebase.why(reader.root / "shop/cart.py")
    assert told.fate == "indexed"
    assert told.reason.startswith("in the team's database: ")
    assert "not currently accepting connections" in told.reason


def test_what_is_kept_after_many_changes_is_what_a_first_index_makes(make_member, link):
    giver = make_member("a")
    giver.index()
    for turn in range(4):
        for path in ("shop/cart.py", "shop/new.py", "docs/setup.md"):
            giver.write(path, f"def turn_{turn}(item):\n    return item.price * {turn}\n")
        giver.index()
        (giver.root / "shop" / "new.py").unlink()
    giver.index()
    kept = content_of(link)
    with link.writing() as connection:
        connection.execute("DROP SCHEMA memory_sidecar CASCADE")
    again = make_member("again")
    for path in ("shop/cart.py", "docs/setup.md"):
        again.write(path, (giver.root / path).read_text("utf-8"))
    again.index()
    assert kept == content_of(link)


def test_a_user_sets_the_database_indexes_searches_and_publishes(
    make_member, database, data_dir, tmp_path
):
    root = make_member("user").root
    code = "from shop.payment import charge_card\n\ndef pay(card):\n    charge_card(card, 5)\n"
    (root / "shop" / "checkout.py").write_text(code)
    environ = {
        "MEMORY_SIDECAR_DATA_DIR": str(data_dir),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "MEMORY_SIDECAR_DATABASE": database,
    }
    run = partial(run_here, environ=environ, cwd=root)
    assert run("index", ".").json["chunks_total"] > 5
    assert run("search", "charge_card", "--json").json[0]["filename"] == "shop/payment.py"
    used = run("refs", "charge_card", "--json").out  # names are here, lines are read from the file
    assert "charge_card(card, 5)" in used
    published = run("source", "publish", "--json")
    Draft202012Validator(all_schemas()["source-publish"]).validate(published.json)
    refused = run("source", "publish", "--json", environ=environ | {"MEMORY_SIDECAR_DATABASE": ""})
    assert (refused.status, refused.error["code"]) == (2, "usage")


def _scores(hits) -> dict[str, float]:
    return {f"{hit.filename}:{hit.location}: {hit.code}": hit.score for hit in hits}


def test_a_small_source_is_searched_without_the_graph_of_all_sources(
    make_member, database, monkeypatch
):
    monkeypatch.setattr(schema, "MANY_CHUNKS", 1)
    giver = make_member("a")
    giver.index()
    with psycopg.connect(database, autocommit=True) as owner:
        for each in ("seqscan", "sort"):  # so that the graph is the cheapest way
            owner.execute(f"ALTER DATABASE {owner.info.dbname} SET enable_{each} = off")

    def scans_of_graphs(few: int) -> int:
        monkeypatch.setattr(code_read, "FEW_CHUNKS", few)
        giver.codebase.sharing.team.link.drop_idle()
        assert giver.find("how is a card charged", SearchMode.VECTOR)
        giver.codebase.sharing.team.link.drop_idle()
        with psycopg.connect(database, autocommit=True) as owner:
            others = (
                "SELECT 1 FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND datname = current_database()"
                " AND pid <> pg_backend_pid()"
            )
            eventually(lambda: not owner.execute(others).fetchall())  # a process counts as it ends
            found = owner.execute(
                "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE '%nearest'"
            ).fetchone()
            assert found
            return int(found[0])

    assert scans_of_graphs(100) == 0
    assert scans_of_graphs(0) > 0


def test_what_one_pass_over_a_graph_does_not_find_is_found_by_the_next(
    make_member, database, monkeypatch
):
    monkeypatch.setattr(schema, "MANY_CHUNKS", 1)
    monkeypatch.setattr(code_read, "FEW_CHUNKS", 0)
    giver = make_member("a")
    giver.index()
    with psycopg.connect(database, autocommit=True) as owner:
        for each in ("seqscan", "sort"):  # so that the graph is the cheapest way
            owner.execute(f"ALTER DATABASE {owner.info.dbname} SET enable_{each} = off")
    giver.codebase.sharing.team.link.drop_idle()
    passes: list[int] = []
    ask = TeamLink.ask

    def counted(self, *questions):
        answers = ask(self, *questions)
        passes.append(len(answers[-2]))
        return answers

    monkeypatch.setattr(TeamLink, "ask", counted)
    found = giver.find("how is a card charged", SearchMode.VECTOR)
    options = team_link._OURS["options"].replace(f"ef_search={team_link.EF}", "ef_search=1")
    monkeypatch.setattr(team_link, "EF", 1)  # rows that a pass finds
    monkeypatch.setitem(team_link._OURS, "options", options)
    giver.codebase.sharing.team.link.drop_idle()
    assert giver.find("how is a card charged", SearchMode.VECTOR) == found
    assert passes[1] < len(found) <= passes[0]


def test_characters_of_any_language_are_shared_whatever_the_environment_says(
    make_member, monkeypatch
):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    giver = make_member("a")
    giver.write("shop/größe.py", "# Größentabelle → 検索\n")
    giver.index()
    assert giver.own() == set()
    assert giver.find("Größentabelle")[0].filename == "shop/größe.py"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_keeps_all_characters_or_is_refused(
    make_member, database, encoding
):
    name = conninfo_to_dict(database)["dbname"]
    with psycopg.connect(database.replace(f"/{name}?", "/postgres?"), autocommit=True) as owner:
        owner.execute(f"DROP DATABASE {name}")
        owner.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    giver = make_member("a")
    giver.write("shop/größe.py", "# Größentabelle → 検索\n")
    giver.index()
    assert giver.find("Größentabelle")[0].filename == "shop/größe.py"
    is_refused = giver.notices.has("has the encoding LATIN1, which lacks most characters")
    assert (is_refused, giver.own() == set()) == ((encoding == "LATIN1"), encoding != "LATIN1")


def content_of(link) -> list[object]:
    """Of the team's database, without ids and order: rows, words that can be found, counts."""
    with link.reading() as connection:
        first = dict(
            connection.execute("SELECT id, first_chunk FROM files WHERE fingerprint <> ''")
        )
        words: dict[str, list[tuple[int, int, int]]] = {}
        for term, entries in connection.execute("SELECT term, entries FROM words"):
            for row, file, *counts in unpack_entries([entries]).tolist():
                if row >= first.get(file, row + 1):
                    words.setdefault(term, []).append(tuple(counts))
        return [
            sorted(
                connection.execute(
                    "SELECT path, fingerprint, chunks FROM files f WHERE fingerprint <> ''"
                ).fetchall()
            ),
            sorted(connection.execute("SELECT code, head, tokens FROM chunks").fetchall()),
            connection.execute("SELECT chunks, tokens FROM sources").fetchall(),
            connection.execute(
                "SELECT (SELECT count(*) FROM chunk_vectors),"
                " (SELECT count(*) FROM chunk_static),"
                " (SELECT count(*) FROM chunk_pending)"
            ).fetchone(),
            {term: sorted(each) for term, each in words.items()},
        ]


def allow(address: str, database: str, *, connections: bool) -> None:
    name = conninfo_to_dict(database)["dbname"]
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {connections}")
        if not connections:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
                (name,),
            )
