"""Machines of a team have the same shared memories; a role's own are nobody else's."""

from __future__ import annotations

import json
import os
import threading

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from memory_sidecar.agents import team_files
from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.doctor import examine_team
from memory_sidecar.core.atomic import TEMPORARY_PREFIX, file_hash
from memory_sidecar.core.errors import DatabaseRefused
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.team import mirror_files, mirror_rows, schema
from memory_sidecar.team.mirror_state import MirrorStep, step_for
from tests.conftest import Notices, write_memory


@pytest.mark.parametrize(
    ("ours", "base", "team", "step"),
    [
        ("a", "a", "a", MirrorStep.KEEP),
        ("b", "a", "b", MirrorStep.KEEP),
        ("", "a", "", MirrorStep.KEEP),
        ("a", "", "", MirrorStep.GIVE),
        ("b", "a", "a", MirrorStep.GIVE),
        ("", "a", "a", MirrorStep.GIVE),  # removed here
        ("b", "a", "", MirrorStep.GIVE),  # an edit outlives a removal
        ("", "", "a", MirrorStep.TAKE),
        ("a", "a", "b", MirrorStep.TAKE),
        ("a", "a", "", MirrorStep.TAKE),  # removed there
        ("", "a", "b", MirrorStep.TAKE),
        ("b", "a", "c", MirrorStep.CONFLICT),
        ("b", "", "c", MirrorStep.CONFLICT),
    ],
)
def test_what_only_one_side_has_changed_goes_to_the_other(ours, base, team, step):
    assert step_for(ours, base, team) is step


@pytest.fixture
def address(database, machine):
    """Of a team's database that its owner has made."""
    assert machine("owner", database).valid_json("team init")["database"].startswith("team")
    return database


@pytest.fixture
def other(database, server):
    """The address of another database."""
    name = conninfo_to_dict(database)["dbname"]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}_other TEMPLATE template0")
        yield database.replace(f"/{name}?", f"/{name}_other?")
        admin.execute(f"DROP DATABASE {name}_other WITH (FORCE)")


def test_an_owner_who_is_no_superuser_makes_it_and_its_script_is_what_psql_would_run(
    database, machine, login
):
    owner = login("owner")
    role = owner.partition("//")[2].partition(":")[0]
    with psycopg.connect(database, autocommit=True) as superuser:
        superuser.execute(f"ALTER ROLE {role} CREATEROLE")
        superuser.execute(f"GRANT CREATE ON DATABASE {superuser.info.dbname} TO {role}")
        superuser.execute("CREATE EXTENSION vector")
    one = machine("one", owner)
    script = one.json("team", "init", "--sql")["sql"]
    with psycopg.connect(owner, autocommit=True) as psql:
        psql.execute(script)
    assert one("team", "init").status == 0
    assert one("store", "For all", "--agent", "shared", "--category", "rules").status == 0
    assert found(machine("two", owner), "all") == [("rules/for-all.md", True)]
    with psycopg.connect(database, autocommit=True) as superuser:
        superuser.execute(f"DROP OWNED BY {role}")


def found(machine, text, *options):
    hits = machine.json("query", text, "--mode", "keyword", *options)
    return [(hit["path"], hit["shared"]) for hit in hits]


def test_what_one_stores_for_all_is_found_by_the_others_at_once(address, machine):
    one, two = machine("one", address), machine("two", address)
    assert found(two, "delay") == []
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    assert found(two, "delay") == [("rules/retry-with-a-growing-delay.md", True)]
    two("update", "rules/retry-with-a-growing-delay", "Never retry", "--agent", "shared")
    assert found(one, "never") == [("rules/retry-with-a-growing-delay.md", True)]
    one("remove", "rules/retry-with-a-growing-delay", "--agent", "shared")
    assert found(two, "never") == []
    archived = two.json("restore", "--agent", "shared")
    assert [each["path"] for each in archived] == ["rules/retry-with-a-growing-delay.md"]


def test_a_question_to_a_team_of_an_older_version_says_what_is_missing(
    address, machine, monkeypatch
):
    one, two = machine("one", address), machine("two", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    done = two("query", "delay", "--mode", "keyword")
    assert f"of version {schema.VERSION - 1}, older than this one" in done.err


def test_a_store_that_brings_the_team_forward_says_so(address, machine):
    one = machine("one", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("UPDATE memory_sidecar.identity SET value = '4' WHERE key = 'version'")
        owner.execute("ALTER TABLE memory_sidecar.sources ADD COLUMN folded_at bigint")
    done = one("store", "Never give up", "--agent", "shared", "--category", "rules")
    assert f"brought its schema from version 4 to {schema.VERSION}" in done.err


def test_a_role_that_may_not_bring_the_team_forward_is_told_who_does(database, machine, login):
    assert machine("owner", database)("team", "init").status == 0
    desk = machine("desk", login("desk", "agent", "indexer"))
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("UPDATE memory_sidecar.identity SET value = '4' WHERE key = 'version'")
    done = desk("store", "Never give up", "--agent", "shared", "--category", "rules")
    assert "older than this one" in done.err
    for told in ("its schema", "permission denied"):
        assert told not in done.err
    refused = desk("memory", "push", "--agent", "shared", "--json").error
    assert (refused["code"], "team init" in refused["hint"]) == ("no_index", True)


@pytest.mark.parametrize("asked", [("list",), ("search", "tabs"), ("show", "s1")])
def test_sessions_are_there_on_a_machine_that_had_none(address, machine, asked):
    one, two = machine("one", address, "architect"), machine("two", address, "architect")
    session = {"session_id": "s1", "messages": [{"role": "user", "content": "about tabs"}]}
    (one.cwd / "s.json").write_text(json.dumps(session))
    assert one("session", "save", one.cwd / "s.json", "--agent", "architect").status == 0
    assert "s1" in json.dumps(two.json("session", *asked, "--agent", "architect"))


def test_a_conflict_is_named_and_ends_as_one_side_says(address, machine):
    one, two = machine("one", address), machine("two", address)
    write_memory(one.folder("shared"), "rule.md", "Tabs.")
    write_memory(two.folder("shared"), "rule.md", "Spaces.")
    assert one("memory", "push", "--agent", "shared").status == 0
    pushed = two("memory", "push", "--agent", "shared", "--json")
    assert pushed.status == 4
    assert [each["path"] for each in pushed.json["conflicts"]] == ["rule.md"]
    assert "changed both here and by the team, and left as they are: rule.md" in pushed.err
    assert "`memory-sidecar memory pull --over PATH --agent shared` the team's" in pushed.err
    assert "Tabs." in one.json("get", "rule", "--agent", "shared")["content"]
    assert "Spaces." in two.json("get", "rule", "--agent", "shared")["content"]

    refused = two("memory", "push", "--agent", "shared", "--over", "rul", "--json")
    assert (refused.status, refused.error["code"]) == (3, "not_found")
    assert two("memory", "push", "--agent", "shared", "--over", "rule").status == 0
    assert "Spaces." in one.json("get", "rule", "--agent", "shared")["content"]


def test_a_conflict_about_a_category_ends_by_the_path_that_is_named(address, machine):
    one, two = machine("one", address), machine("two", address)
    page = "pitfall/_category.md"
    write_memory(one.folder("shared"), page, "What went wrong.")
    write_memory(two.folder("shared"), page, "What to avoid.")
    one("memory", "push", "--agent", "shared")
    assert f"left as they are: {page} " in two("memory", "push", "--agent", "shared").err
    assert two("memory", "push", "--agent", "shared", "--over", page).status == 0
    (category,) = one.json("category", "list", "--agent", "shared")
    assert category["description"] == "What to avoid."


def test_pulling_over_a_conflict_keeps_ours_in_the_archive(address, machine):
    one, two = machine("one", address), machine("two", address)
    write_memory(one.folder("shared"), "rule.md", "Tabs.")
    write_memory(two.folder("shared"), "rule.md", "Spaces.")
    one("memory", "push", "--agent", "shared")
    assert two("memory", "pull", "--agent", "shared").status == 4
    taken = two.valid_json("memory pull", "--agent", "shared", "--over", "rule.md")
    assert taken["taken"] == ["rule.md"]
    assert found(two, "tabs") == [("rule.md", True)]
    two("remove", "rule", "--agent", "shared")
    batches = two.json("restore", "--agent", "shared")
    assert [each["path"] for each in batches] == ["rule.md", "rule.md"]


@pytest.mark.parametrize("command", ["push", "pull"])
def test_what_two_stored_alike_is_no_conflict(address, machine, command):
    one, two = machine("one", address), machine("two", address)
    text = "---\ncreated_at: 2026-03-0{day}T10:00:00Z\ntags: [style]\n---\nTabs.\n"
    for each, day, newline in ((one, 1, "\n"), (two, 2, "\r\n")):
        each.folder("shared").mkdir(parents=True)
        for name in ("rule.md", "pitfall/_category.md"):
            file = each.folder("shared") / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text.format(day=day), newline=newline)
    write_memory(one.folder("shared"), "other.md", "Tabs.")
    write_memory(two.folder("shared"), "other.md", "Spaces.")
    assert one("memory", "push", "--agent", "shared").status == 0
    done = two("memory", command, "--agent", "shared", "--json")
    assert [each["path"] for each in done.json["conflicts"]] == ["other.md"]
    assert [*done.json["given"], *done.json["taken"]] == ["pitfall/_category.md", "rule.md"]
    one("memory", "pull", "--agent", "shared")
    for name in ("rule.md", "pitfall/_category.md"):
        ours, theirs = (each.folder("shared") / name for each in (one, two))
        assert ours.read_bytes() == theirs.read_bytes()


def test_a_conflict_is_read_once_until_one_side_changes(address, machine, monkeypatch):
    one, two = machine("one", address), machine("two", address)
    for each, text in ((one, "Tabs."), (two, "Spaces.")):
        write_memory(each.folder("shared"), "rule.md", text)
        pushed = each("memory", "push", "--agent", "shared")
    assert pushed.status == 4
    asked = []

    def read(connection, agent, paths, most_bytes):
        asked.append(paths)
        return mirror_rows.read_contents(connection, agent, paths, most_bytes)

    monkeypatch.setattr("memory_sidecar.team.mirror.read_contents", read)
    assert two("memory", "push", "--agent", "shared").status == 4
    assert not asked
    write_memory(two.folder("shared"), "rule.md", "Tabs, then.")
    assert two("memory", "push", "--agent", "shared").status == 4
    assert asked == [["memories/rule.md"]]


def test_a_question_takes_what_a_push_has_only_heard_of(address, machine):
    one, two = machine("one", address), machine("two", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    assert two("memory", "push", "--agent", "shared").status == 0
    assert found(two, "delay") == [("rules/retry-with-a-growing-delay.md", True)]


def test_a_question_waits_until_what_an_exchange_took_is_indexed(address, machine, monkeypatch):
    one, two = machine("one", address), machine("two", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    index, asked = Agent.index, []

    def index_after_a_question(agent, *arguments, **named):
        monkeypatch.setattr(Agent, "index", index)
        asked.append(two("query", "delay", "--agent", "shared", "--mode", "keyword"))
        return index(agent, *arguments, **named)

    monkeypatch.setattr(Agent, "index", index_after_a_question)
    monkeypatch.setattr(team_files, "SHORT_WAIT_S", 0.0)
    assert two("memory", "pull", "--agent", "shared").status == 0
    assert ["is still under way: ask again" in each.err for each in asked] == [True]
    assert found(two, "delay") == [("rules/retry-with-a-growing-delay.md", True)]


def test_the_database_of_another_team_gets_and_gives_nothing(address, other, machine):
    ours, theirs = machine("one", address), machine("theirs", other)
    for each, rules in ((ours, ("Tabs", "Spaces", "Semicolons")), (theirs, ("Moons", "Stars"))):
        for rule in rules:
            each("store", rule, "--agent", "shared", "--category", "rules")
    mistaken = machine("one", other)
    stored = mistaken("store", "Commas", "--agent", "shared", "--category", "rules")
    asked = mistaken("query", "moons", "--mode", "keyword")
    for each in (stored, asked):
        assert each.status == 0
        assert "is another team's: it has 0 of the 3 files of shared" in each.err
    assert "moons" not in asked.out
    for problem in (
        mistaken("memory", "push", "--agent", "shared", "--json").error,
        mistaken.json("status")["team"]["problem"],
    ):
        assert (problem["code"], "memory pull" in problem["hint"]) == ("database_refused", True)
    there = {each["path"] for each in theirs.json("list", "--agent", "shared")}
    assert there == {"rules/moons.md", "rules/stars.md"}
    back = machine("one", address)
    assert back.json("memory", "push", "--agent", "shared")["given"] == ["rules/commas.md"]
    assert machine("one", other)("memory", "pull", "--agent", "shared").status == 0
    assert found(machine("one", other), "moons") == [("rules/moons.md", True)]


@pytest.mark.parametrize("known", [("shared", "default"), ("shared",)])
def test_the_database_of_another_team_gets_no_agents_own_files(address, other, machine, known):
    one, theirs = machine("one", address, *known), machine("theirs", other)
    for each, rule in ((one, "Tabs"), (theirs, "Moons")):
        each("store", rule, "--agent", "shared", "--category", "rules")
    one("store", "My secret plan", "--agent", "default", "--category", "rules")
    mistaken = machine("one", other, "shared", "default")
    stored = mistaken("store", "My other plan", "--agent", "default", "--category", "rules")
    assert "is another team's: it has 0 of the 1 file of shared" in stored.err
    assert mistaken("memory", "push", "--agent", "default").status == 1
    with psycopg.connect(other) as owner:
        paths = owner.execute("SELECT path FROM memory_sidecar.mirrored").fetchall()
    assert paths == [("memories/rules/moons.md",)]
    mistaken("memory", "pull", "--agent", "shared")
    given = mistaken.json("memory", "push", "--agent", "default")["given"]
    assert given == ["rules/my-other-plan.md", "rules/my-secret-plan.md"]


def test_a_database_that_is_made_anew_gets_what_its_machines_have(address, other, machine):
    one, two = machine("one", address), machine("two", address)
    for rule in ("Tabs", "Spaces"):
        one("store", rule, "--agent", "shared", "--category", "rules")
    assert len(found(two, "tabs spaces")) == 2
    one, two = machine("one", other), machine("two", other)
    one("store", "Semicolons", "--agent", "shared", "--category", "rules")
    two("store", "Commas", "--agent", "shared", "--category", "rules")
    assert len(machine("fresh", other).json("list", "--agent", "shared")) == 4


def test_what_is_saved_while_the_teams_text_goes_to_the_disk_stays(address, machine, monkeypatch):
    one, two = machine("one", address), machine("two", address)
    ours, sync = two.folder("shared") / "rule.md", os.fsync
    for text in ("Tabs.", "Spaces."):
        assert two("memory", "pull", "--agent", "shared").status == 0
        write_memory(one.folder("shared"), "rule.md", text)
        one("memory", "push", "--agent", "shared")
    edited = ours.read_bytes() + b"Edited.\n"

    def save_meanwhile(descriptor):
        sync(descriptor)
        if any(ours.parent.glob(f"{TEMPORARY_PREFIX}*")):
            ours.write_bytes(edited)

    monkeypatch.setattr(os, "fsync", save_meanwhile)
    two("memory", "pull", "--agent", "shared")
    monkeypatch.undo()
    assert ours.read_bytes() == edited
    assert two("memory", "pull", "--agent", "shared").status == 4  # a conflict


def test_a_command_does_not_wait_for_a_long_exchange(address, machine, monkeypatch):
    monkeypatch.setattr(team_files, "SHORT_WAIT_S", 0.01)
    one, two = machine("one", address), machine("two", address)
    one("store", "Tabs", "--agent", "shared", "--category", "rules")
    two("store", "Delays", "--agent", "shared", "--category", "rules")
    paths = one.services.agent("shared").paths
    with hold_lock(paths.tree, paths.state / "team.lock", patience_s=0, what="it is"):
        stored = one("store", "Spaces", "--agent", "shared", "--category", "rules")
        assert (stored.status, "shared is being changed by another" in stored.err) == (0, True)
        asked = one("query", "tabs", "--agent", "shared")
        assert (asked.status, "an exchange of shared" in asked.err) == (0, True)
        assert "without the team" not in asked.err
        one("remove", "rules/tabs", "--agent", "shared")
    one("store", "Indents", "--agent", "shared", "--category", "rules")
    there = {each["path"] for each in two.json("list", "--agent", "shared")}
    assert there == {"rules/delays.md", "rules/spaces.md", "rules/indents.md"}


def test_a_folder_that_is_gone_removes_nothing_at_the_team(address, machine):
    one, two = machine("one", address), machine("two", address)
    kept = write_memory(one.folder("shared"), "rule.md", "Tabs.")
    one("memory", "push", "--agent", "shared")
    kept.unlink()
    pushed = one.valid_json("memory push", "--agent", "shared")
    assert pushed["given"] == []
    assert found(two, "tabs") == [("rule.md", True)]


def test_the_last_memory_removed_while_the_server_is_away_is_removed_there_later(
    address, machine, tmp_path
):
    one, two = machine("one", address), machine("two", address)
    one("store", "Never retry", "--agent", "shared", "--category", "rules")
    assert found(two, "never") == [("rules/never-retry.md", True)]
    away = machine("one", f"postgresql://me@/team?host={tmp_path}")
    assert "gets later" in away("remove", "rules/never-retry", "--agent", "shared").err
    back = machine("one", address)
    assert back.json("memory", "push", "--agent", "shared")["given"] == ["rules/never-retry.md"]
    assert found(two, "never") == []


def test_each_answer_says_that_the_server_is_away(machine, monkeypatch, tmp_path):
    away = machine("one", f"postgresql://me@/team?host={tmp_path}")
    for text in ("Never retry a charge", "Retry all else"):  # the first one finds it out
        stored = away("store", text, "--category", "rules", "--agent", "shared")
        (note,) = stored.err.splitlines()  # of the question what is alike, and of the store
        assert note.startswith("note: without the team, which gets later what is changed here: ")
    monkeypatch.setattr(team_files, "LOOK_EVERY_S", 3600.0)
    for command in ("list", "recent", "list"):  # soon after another
        assert away(command, "--agent", "shared").err.splitlines() == [note]


def test_what_was_edited_while_the_server_is_away_outlives_its_folder(address, machine, tmp_path):
    one, two = machine("one", address), machine("two", address)
    one("store", "Never retry", "--agent", "shared", "--category", "rules")
    away = machine("one", f"postgresql://me@/team?host={tmp_path}")
    away("update", "rules/never-retry", "Never ever", "--agent", "shared")
    one.folder("shared").rename(tmp_path / "unmounted")
    machine("one", address)("memory", "push", "--agent", "shared")
    assert found(two, "never") == [("rules/never-retry.md", True)]


def test_a_category_deleted_and_restored_while_the_server_is_away_outlives_its_folder(
    address, machine, tmp_path
):
    one, two = machine("one", address), machine("two", address)
    one("store", "Never retry", "--agent", "shared", "--category", "rules")
    assert found(two, "never") == [("rules/never-retry.md", True)]
    away = machine("one", f"postgresql://me@/team?host={tmp_path}")
    away("category", "delete", "rules", "--with-memories", "--agent", "shared")
    assert away("restore", "rules/never-retry.md", "--agent", "shared").status == 0
    one.folder("shared").rename(tmp_path / "unmounted")
    machine("one", address)("memory", "push", "--agent", "shared")
    assert found(two, "never") == [("rules/never-retry.md", True)]


def test_what_a_restored_server_has_numbered_again_is_not_missed(address, machine):
    one, two = machine("one", address), machine("two", address)
    for each in ("Tabs", "Spaces", "Semicolons"):
        one("store", each, "--agent", "shared", "--category", "rules")
    assert found(two, "semicolons") == [("rules/semicolons.md", True)]
    restore_copy_of(address, until="memories/rules/tabs.md")
    fresh = machine("fresh", address)
    for each in ("Retries", "Delays", "Limits"):
        fresh("store", each, "--agent", "shared", "--category", "rules")
    for each in ("retries", "delays", "limits"):
        assert found(two, each) == [(f"rules/{each}.md", True)]


def test_what_a_restored_server_has_lost_is_given_again(address, machine):
    one = machine("one", address)
    for each in ("Tabs", "Spaces"):
        one("store", each, "--agent", "shared", "--category", "rules")
    restore_copy_of(address, until="memories/rules/tabs.md")
    assert one.json("memory", "push", "--agent", "shared")["given"] == ["rules/spaces.md"]
    assert found(machine("fresh", address), "spaces") == [("rules/spaces.md", True)]


def test_a_conflict_with_what_a_restored_server_has_lost_is_none(address, machine):
    one, two = machine("one", address), machine("two", address)
    one("store", "Delays", "--agent", "shared", "--category", "rules")
    for each, text in ((one, "Tabs."), (two, "Spaces.")):
        write_memory(each.folder("shared"), "rule.md", text)
        pushed = each("memory", "push", "--agent", "shared")
    assert pushed.status == 4
    restore_copy_of(address, until="memories/rules/delays.md")
    assert two.json("memory", "push", "--agent", "shared")["given"] == ["rule.md"]
    assert found(machine("fresh", address), "spaces") == [("rule.md", True)]


def test_an_older_text_on_a_restored_server_replaces_no_later_one(address, machine):
    one, two = machine("one", address), machine("two", address)
    one("store", "Tabs", "--agent", "shared", "--category", "rules")
    with psycopg.connect(address, autocommit=True) as by_sql:
        by_sql.execute("SET search_path TO memory_sidecar")
        by_sql.execute("CREATE TABLE backup AS TABLE mirrored")
    for text in ("Spaces", "Spaces, four of them"):
        two("update", "rules/tabs", text, "--agent", "shared")
    assert found(one, "four") == [("rules/tabs.md", True)]
    with psycopg.connect(address, autocommit=True) as by_sql:
        by_sql.execute("SET search_path TO memory_sidecar")
        by_sql.execute("ALTER TABLE mirrored DISABLE TRIGGER stamp")
        by_sql.execute("DELETE FROM mirrored")
        by_sql.execute("INSERT INTO mirrored TABLE backup")
        by_sql.execute("ALTER TABLE mirrored ENABLE TRIGGER stamp")
        by_sql.execute("SELECT setval('mirrored_changes', max(changed)) FROM mirrored")
    assert found(one, "four") == [("rules/tabs.md", True)]
    assert one.json("memory", "push", "--agent", "shared")["given"] == ["rules/tabs.md"]
    for each in (two, machine("fresh", address)):
        assert found(each, "four") == [("rules/tabs.md", True)]


def restore_copy_of(address, *, until):
    """Make the database what a backup has that was taken when `until` was the last file given."""
    with psycopg.connect(address, autocommit=True) as by_sql:
        by_sql.execute("SET search_path TO memory_sidecar")
        last = "(SELECT changed FROM mirrored WHERE path = %s)"
        by_sql.execute(f"SELECT setval('mirrored_changes', {last})", (until,))
        by_sql.execute(f"DELETE FROM mirrored WHERE changed > {last}", (until,))


def test_a_role_that_may_only_read_hears_of_the_others_though_it_stored_something(
    address, machine, login
):
    writer, reader = machine("one", login("one", "agent")), machine("two", login("two", "reader"))
    writer("store", "Tabs", "--agent", "shared", "--category", "rules")
    stored = reader("store", "Never retry", "--agent", "shared", "--category", "rules")
    assert "gets later what is changed here: " in stored.err
    assert "grants memory_sidecar_agent: see" in stored.err
    assert "; not all that was changed here of shared is there yet" in reader("status").out
    checks = [check.text for check in examine_team(reader.services)]
    assert checks[1:] == ["not all that was changed here is there yet"]
    assert [each["unsent"] for each in writer.valid_json("status")["team"]["agents"]] == [False]
    writer("store", "Spaces", "--agent", "shared", "--category", "rules")
    reader.services.agent("shared").team.before_reading(Notices())
    writer("store", "Semicolons", "--agent", "shared", "--category", "rules")
    pushed = reader("memory", "push", "--agent", "shared", "--json")
    assert (pushed.status, pushed.error["code"]) == (1, "database_refused")
    with pytest.raises(DatabaseRefused):
        reader.services.agent("shared").team.exchange(Notices())  # as a daemon does
    for each in ("tabs", "spaces", "semicolons"):
        assert found(reader, each) == [(f"rules/{each}.md", True)]
    assert found(writer, "never") == []


def test_a_machine_that_only_heard_of_others_is_not_said_to_owe_anything(address, machine):
    one, two = machine("one", address), machine("two", address)
    one("store", "Tabs", "--agent", "shared", "--category", "rules")

    def unsent():
        return [each["unsent"] for each in two.json("status")["team"]["agents"]]

    assert found(two, "tabs") == [("rules/tabs.md", True)]
    assert unsent() == [False]
    by_hand = write_memory(two.folder("shared"), "rules/spaces.md", "Spaces")
    assert unsent() == [True]
    by_hand.unlink()
    (two.folder("shared") / "rules/tabs.md").write_text("Spaces")
    assert unsent() == [True]


def test_secrets_and_what_is_no_text_stay_here(address, machine):
    one, two = machine("one", address), machine("two", address)
    key = "AKIA" + "QZ7XPLN3VTRWMK5D"
    write_memory(one.folder("shared"), "key.md", f"aws_access_key_id = {key}")
    (one.folder("shared") / "latin.md").write_bytes(b"K\xf6ln is a city")
    write_memory(one.folder("shared"), "rule.md", "Tabs.")
    pushed = one.valid_json("memory push", "--agent", "shared")
    assert pushed["given"] == ["rule.md"]
    reasons = {each["path"]: each["reason"] for each in pushed["left_out"]}
    assert set(reasons) == {"key.md", "latin.md"}
    assert key not in str(reasons)
    assert found(two, "city") == []
    for each, text in ((one, "shared is there yet"), (two, " it stores shared\n")):
        assert text in each("status").out
    one("store", "Spaces", "--agent", "shared", "--category", "rules")
    assert "shared is there yet" in one("status").out
    (one.folder("shared") / "latin.md").unlink()
    given = one.json("memory", "push", "--agent", "shared", "--allow-secrets")
    assert given["given"] == ["key.md"]
    assert "shared is there yet" not in one("status").out


def test_an_agent_that_is_not_named_stays_here(address, machine):
    one = machine("one", address)
    one("store", "Mine alone", "--agent", "architect", "--category", "rules")
    with psycopg.connect(address) as owner:
        assert owner.execute("SELECT path FROM memory_sidecar.mirrored").fetchall() == []
    pushed = one.json("memory", "push", "--agent", "architect")
    assert pushed["given"] == ["rules/mine-alone.md"]


def test_what_would_leave_its_folder_is_left_there(address, machine, tmp_path):
    two = machine("two", address)
    paths = ("memories/a/../../../out.md", "memories/con.txt", "sessions/out.md", "memories/a:b.md")
    with psycopg.connect(address) as owner:  # of a server that is not ours
        owner.execute("ALTER TABLE memory_sidecar.mirrored DROP CONSTRAINT mirrored_path_check")
        for path in (*paths, "memories/good.md"):
            owner.execute(
                "INSERT INTO memory_sidecar.mirrored (owner, agent, path, hash, content)"
                " VALUES ('', 'shared', %s, %s, 'text')",
                (path, file_hash(b"text")),
            )
    pulled = two.json("memory", "pull", "--agent", "shared")
    assert "good.md" in pulled["taken"]
    written = [file for file in tmp_path.rglob("*") if file.suffix in (".md", ".txt")]
    assert {file.parent for file in written} == {two.folder("shared")}
    assert not (tmp_path / "out.md").exists()


def put(psql, path, content, size=1):
    psql.execute(
        "INSERT INTO memory_sidecar.mirrored (owner, agent, path, hash, content)"
        " VALUES ('', 'shared', %s, %s, repeat(%s, %s))",
        (path, file_hash(content.encode() * size), content, size),
    )


def test_one_file_that_cannot_be_taken_keeps_no_other_from_it(address, machine):
    one = machine("one", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    with psycopg.connect(address) as other:
        put(other, "memories/rules/retry-with-a-growing-delay.md/below.md", "a file in a file")
        put(other, "memories/rules/huge.md", "more than a memory may be", 3_000_000)
        put(other, "memories/" + "/".join(["d" * 190] * 4) + "/deep.md", "text at great depth")
        put(other, f"memories/{'n' * 253}.md", "text under a long name")
        put(other, f"memories/{'f' * 256}/below.md", "text in a folder with a long name")
        put(other, "memories/zoo/good.md", "text of a good one")
    pulled = one.json("memory", "pull", "--agent", "shared")
    assert {path.rpartition("/")[2] for path in pulled["taken"]} == {"deep.md", "good.md"}
    left_out = {each["path"].rpartition("/")[2] for each in pulled["left_out"]}
    assert left_out == {"below.md", "huge.md", f"{'n' * 253}.md"}
    differing = one.json("status")["team"]["agents"][0]["differing"]
    assert {each["path"].rpartition("/")[2] for each in differing} == {"below.md"}
    assert {path.rpartition("/")[2] for path, _ in found(one, "text")} == {"deep.md", "good.md"}


def test_a_file_whose_content_is_not_what_its_hash_says_is_left_there_until_it_changes(
    address, machine, link_to
):
    one = machine("one", address)
    with psycopg.connect(address, autocommit=True) as other:
        put(other, "memories/bad.md", "text of a bad one")
        other.execute("UPDATE memory_sidecar.mirrored SET hash = repeat('feed', 1000000)")
        pulled = one.json("memory", "pull", "--agent", "shared")
        assert [each["path"] for each in pulled["left_out"]] == ["bad.md"]
        assert one.json("memory", "pull", "--agent", "shared")["left_out"] == []
        assert "different from this machine" not in one("status").out
        (head,) = mirror_rows.read_news(link_to(address).look, "shared", "", 0, 0).heads
        assert len(head.hash) == 64
        other.execute(
            "UPDATE memory_sidecar.mirrored SET hash = %s", (file_hash(b"text of a bad one"),)
        )
    assert one.json("memory", "pull", "--agent", "shared")["taken"] == ["bad.md"]


def test_large_files_are_taken_a_few_at_a_time(address, machine, monkeypatch):
    monkeypatch.setattr(mirror_rows, "TAKEN_BYTES", 10)
    one = machine("one", address)
    names = ["a.md", "B.md", "ä.md", "z/a.md", "z.md"]
    with psycopg.connect(address) as other:
        for name in names:
            put(other, f"memories/{name}", f"text of {name}")
    assert sorted(one.json("memory", "pull", "--agent", "shared")["taken"]) == sorted(names)
    with psycopg.connect(address) as other:
        other.execute("UPDATE memory_sidecar.mirrored SET hash = '', content = NULL")
    assert sorted(one.json("memory", "pull", "--agent", "shared")["taken"]) == sorted(names)
    assert found(one, "text") == []


def test_new_files_are_synced_to_the_disk_at_once(address, machine, monkeypatch):
    one, two = machine("one", address), machine("two", address)
    paths = [f"deep/new/{number}.md" for number in range(mirror_files.WRITERS)]
    for path in paths:
        write_memory(one.folder("shared"), path, f"Text of {path}.")
    one("memory", "push", "--agent", "shared")
    sync, all_there, writers = os.fsync, threading.Barrier(len(paths)), set()

    def sync_with_the_others(descriptor):
        writer = threading.current_thread()
        if writer is not threading.main_thread() and writer not in writers:
            writers.add(writer)
            all_there.wait(timeout=60)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync_with_the_others)
    assert two.json("memory", "pull", "--agent", "shared")["taken"] == paths
    assert len(writers) == len(paths)


def test_an_agents_own_memories_and_sessions_are_its_roles_even_by_sql(address, machine, login):
    alice, bob = login("alice", "agent"), login("bob", "agent")
    desk, lap = machine("desk", alice, "default"), machine("lap", alice, "default")
    other = machine("other", bob, "default")
    desk("store", "Alice likes tabs", "--category", "preference")
    session = {"session_id": "s1", "messages": [{"role": "user", "content": "about tabs"}]}
    (desk.cwd / "s.json").write_text(json.dumps(session))
    assert desk("session", "save", desk.cwd / "s.json").status == 0
    other("store", "Bob likes spaces", "--category", "preference")

    assert found(lap, "likes") == [("preference/alice-likes-tabs.md", False)]
    assert [each["session_id"] for each in lap.json("session", "list")] == ["s1"]
    assert found(other, "likes") == [("preference/bob-likes-spaces.md", False)]
    with psycopg.connect(bob, autocommit=True) as by_sql:
        by_sql.execute("SET search_path TO memory_sidecar")
        by_sql.execute("SET memory_sidecar.agent = 'default'")
        rows = by_sql.execute("SELECT path FROM mirrored").fetchall()
        assert rows == [("memories/preference/bob-likes-spaces.md",)]
        role = alice.partition("//")[2].partition(":")[0]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            by_sql.execute(f"SET ROLE {role}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            by_sql.execute(
                "INSERT INTO mirrored (owner, agent, path, hash, content)"
                f" VALUES ('{role}', 'default', 'memories/forged.md', 'x', 'x')"
            )
        changed = by_sql.execute(f"UPDATE mirrored SET content = '' WHERE owner = '{role}'")
        by_sql.execute("SET ROLE memory_sidecar_agent")
        for owner, agent in (("", "shared"), ("memory_sidecar_agent", "default")):
            insert = (
                "INSERT INTO mirrored (owner, agent, path, hash, content)"
                f" VALUES ('{owner}', '{agent}', 'memories/forged.md', 'x', 'x')"
                " RETURNING written_by"
            )
            if owner:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    by_sql.execute(insert)
            else:
                assert by_sql.execute(insert).fetchone() == (by_sql.info.user,)
        by_sql.execute("RESET ROLE")
        assert changed.rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            by_sql.execute("DELETE FROM mirrored")


def test_roles_may_do_what_they_are_for(address, login):
    reader, indexer = login("reader", "reader"), login("indexer", "indexer")
    agent, stranger = login("agent", "agent"), login("stranger")
    shared = (
        "INSERT INTO mirrored (owner, agent, path, hash, content)"
        " VALUES ('', 'shared', 'memories/a.md', 'x', 'x')"
    )
    may = {
        "SELECT path FROM mirrored": {reader, indexer, agent},
        shared: {agent},
        "UPDATE identity SET value = '9' WHERE key = 'version'": set(),
        # A row that changed its owner or path would be gone for all others.
        f"{shared}; UPDATE mirrored SET owner = session_user, agent = 'own'": set(),
        f"{shared}; UPDATE mirrored SET path = 'memories/b.md'": set(),
        f"{shared}; UPDATE mirrored SET hash = '', content = NULL": {agent},
        "LOCK TABLE mirrored": set(),
        "DROP TABLE mirrored": set(),
    }
    for sql, allowed in may.items():
        for role in (reader, indexer, agent, stranger):
            with psycopg.connect(role) as connection:
                try:
                    connection.execute("SET search_path TO memory_sidecar")
                    connection.execute(sql)
                    done = True
                except (
                    psycopg.errors.InsufficientPrivilege,
                    psycopg.errors.UndefinedTable,
                ):
                    done = False
                connection.rollback()
            assert done == (role in allowed), (sql, role)


def test_an_older_database_is_told_with_what_leads_it_forward(address, machine):
    one = machine("one", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE memory_sidecar.identity SET value = '1' WHERE key = 'version'")
    two = machine("two", address)
    for asked in (("query", "delay", "--mode", "keyword"), ("store", "x", "--agent", "shared")):
        assert (
            "; its owner updates memory-sidecar, and runs `memory-sidecar team init`"
            in two(*asked).err
        )


def test_what_is_set_is_told_and_a_server_that_is_gone_leaves_what_is_here(
    address, machine, tmp_path
):
    one = machine("one", address)
    one("store", "Retry with a growing delay", "--agent", "shared", "--category", "rules")
    team = one.valid_json("status")["team"]
    assert (team["problem"], [each["name"] for each in team["agents"]]) == (None, ["shared"])
    assert team["delay_ms"] > 0
    assert " answers in " in one("status").out
    explained = one("query", "delay", "--mode", "keyword", "--explain")
    assert "note: team: team" in explained.err
    assert " answers in " in explained.err

    gone = machine("one", f"postgresql://me@/team?host={tmp_path}")
    done = gone("query", "delay", "--mode", "keyword")
    assert "without the team" in done.err
    assert "rules/retry-with-a-growing-delay.md" in done.out
    stored = gone("store", "Never give up", "--agent", "shared", "--category", "rules")
    assert (stored.status, "gets later what is changed" in stored.err) == (0, True)
    assert gone.json("status")["team"]["problem"]["code"] == "database_unreachable"
    away, unsent = examine_team(gone.services)
    assert (away.ok, unsent.text) == (False, "not all that was changed here is there yet")

    back = machine("one", address)
    assert back.json("memory", "push", "--agent", "shared")["given"] == ["rules/never-give-up.md"]


def test_the_status_of_a_machine_that_has_nothing_yet_says_how_the_team_answers(address, machine):
    one = machine("one", address)
    one("team", "init")
    assert " answers in " in one("status").out
    assert one.valid_json("status")["team"]["problem"] is None


def test_what_is_wrong_with_a_teams_database_is_one_line(database, machine):
    bare = machine("bare", database)
    write_memory(bare.folder("architect"), "rule.md")
    assert bare.json("status")["team"]["problem"]["code"] == "no_index"
    assert "no database of a team is set" in machine("none", "")("memory", "pull").err
    with_password = machine("loud", "postgresql://me:hunter2@db/team")("memory", "push")
    assert (with_password.status, "hunter2" in with_password.err) == (2, False)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA memory_sidecar")
        owner.execute("CREATE TABLE memory_sidecar.identity (key text PRIMARY KEY, value text)")
        owner.execute("INSERT INTO memory_sidecar.identity VALUES ('version', '99')")
    newer = bare("memory", "pull")
    assert newer.status == 1
    assert newer.err.count("\n") == 1
    assert "has schema 99" in newer.err


def test_a_server_without_room_keeps_nothing_from_being_stored(address, machine):
    one = machine("one", address)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(
            "CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        owner.execute(
            "CREATE TRIGGER full_disk BEFORE INSERT ON memory_sidecar.mirrored"
            " FOR EACH ROW EXECUTE FUNCTION is_full()"
        )
        stored = one("store", "Never give up", "--agent", "shared", "--category", "rules")
        assert (stored.status, "the server's disk is full" in stored.err) == (0, True)
        assert found(one, "never") == [("rules/never-give-up.md", True)]
        pushed = one("memory", "push", "--agent", "shared", "--json")
        assert (pushed.status, pushed.error["code"]) == (1, "disk_full")
        owner.execute("DROP TRIGGER full_disk ON memory_sidecar.mirrored")
    given = one.json("memory", "push", "--agent", "shared")["given"]
    assert given == ["rules/never-give-up.md"]


def test_a_server_without_pgvector_is_told_of(database, machine, tmp_path):
    name = database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"ALTER DATABASE {name} SET extension_control_path = '{tmp_path}'")
    made = machine("one", database)("team", "init")
    assert made.status == 1
    assert "lacks the extension pgvector" in made.err
    assert made.err.count("\n") == 1
