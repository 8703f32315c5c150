"""Reaching a team's database: addresses, passwords, what goes wrong, what is done again."""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import psycopg
import pytest

from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseRefused,
    DatabaseUnreachable,
    NoIndex,
    StoreNewer,
    TeamEmpty,
    UsageError,
)
from memory_sidecar.core.settings import Settings
from memory_sidecar.team import link as team_link
from memory_sidecar.team import schema
from memory_sidecar.team.address import Address
from memory_sidecar.team.connection import TeamConnection
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.schema import VERSION, make_schema, require_schema
from tests.conftest import Notices
from tests.team.conftest import GUARDED
from tests.waiting import DEADLINE_S


def test_without_a_database_nothing_of_it_is_imported():
    """A clean process without the driver imports each module but those of a team alone."""
    code = (
        "import importlib, pkgutil, sys; sys.modules['psycopg'] = None\n"
        "import memory_sidecar\n"
        "for each in pkgutil.walk_packages(memory_sidecar.__path__, 'memory_sidecar.'):\n"
        "    if not each.name.startswith(('memory_sidecar.team.', 'memory_sidecar.agents.team_f',\n"
        "                                 'memory_sidecar.disk.tree_observer')):\n"
        "        importlib.import_module(each.name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("postgresql://me:secret@db/team", "must not hold a password"),
        ("host=db password=secret", "must not hold a password"),
        ("postgresql://[broken", "is not an address"),
        ("mysql://db/team", "is not an address"),
    ],
)
def test_what_is_no_address_is_told_without_a_password(text, told):
    with pytest.raises(UsageError, match=told) as raised:
        Address.of(Settings(database=text))
    assert "secret" not in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("postgresql://db.example/team", "require"),
        ("postgresql://db.example/team?sslmode=verify-full", "verify-full"),
        ("postgresql://localhost/team", None),
        ("postgresql:///team?host=/run/postgresql", None),
        ("postgresql://localhost,db.example/team", "require"),
        ("host=localhost hostaddr=192.0.2.1", "require"),
    ],
)
def test_another_machine_is_spoken_to_by_tls(text, mode, monkeypatch):
    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert Address.of(Settings(database=text)).parameters.get("sslmode") == mode


def test_a_wrong_password_is_refused_and_one_from_a_command_or_the_environment_is_taken(
    database, link_to, monkeypatch, tmp_path
):
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {GUARDED} LOGIN PASSWORD 'right'")
    address = database.replace("postgres:@", f"{GUARDED}@")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(DatabaseRefused, match="password authentication failed") as raised:
        link_to(address).delay_ms()
    assert "wrong" not in f"{raised.value} {raised.value.hint}"
    monkeypatch.delenv("PGPASSWORD")
    passfile = tmp_path / "passfile"
    passfile.write_text("*:*:*:*:wrong\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    with pytest.raises(DatabaseRefused, match="password authentication failed"):
        link_to(address).delay_ms()
    monkeypatch.delenv("PGPASSFILE")
    with pytest.raises(DatabaseRefused, match="asks for a password, and none is given") as raised:
        link_to(address).delay_ms()
    hint = raised.value.hint
    assert all(each in hint for each in ("PGPASSWORD", "passfile", "database_password_command"))
    assert "\n" not in f"{raised.value}{hint}"
    monkeypatch.setenv("PGPASSWORD", "right")
    assert link_to(address).delay_ms() > 0
    monkeypatch.delenv("PGPASSWORD")
    for end in (r"\n", r"\r\n"):  # the latter of a program for Windows
        prints = f"{sys.executable} -c \"print('right', end='{end}')\""
        assert link_to(address, database_password_command=prints).delay_ms() > 0
    with pytest.raises(DatabaseRefused, match="printed no password"):
        link_to(address, database_password_command=f"{sys.executable} -c pass").delay_ms()
    with pytest.raises(DatabaseRefused, match="is not a command: No closing quotation"):
        link_to(address, database_password_command="pass show 'team").delay_ms()
    fails = f"{sys.executable} -c \"raise SystemExit('tried: wrong-one')\" wrong-one"
    with pytest.raises(DatabaseRefused, match=r"ended with status 1\Z"):
        link_to(address, database_password_command=fails).delay_ms()


def test_a_server_that_speaks_no_tls_is_refused_and_not_said_to_be_away(link_to):
    with refusing("no matter", tls=b"N") as port:
        link = link_to(f"postgresql://alice@127.0.0.1:{port}/team?sslmode=require")
        with pytest.raises(DatabaseRefused, match="server does not support SSL"):
            link.delay_ms()
    assert not link.is_unreachable


def alert(number: int) -> bytes:
    """What a server sends that accepts TLS, and then refuses the client by the alert `number`."""
    return b"S" + bytes((21, 3, 3, 0, 2, 2, number))


@pytest.mark.parametrize(
    ("tls", "parameters", "told"),
    [
        (alert(48), "", "alert unknown ca"),  # of the client's certificate
        (alert(70), "", "alert protocol version"),
        (b"S", "sslmode=verify-full sslrootcert=/nowhere", 'file "/nowhere" does not exist'),
        (b"S", "ssl_max_protocol_version=TLSv1", "invalid SSL protocol version range"),
    ],
    ids=["certificate-of-the-client", "version", "no-root-certificate", "no-range"],
)
def test_a_server_without_common_tls_is_refused_and_not_said_to_be_away(
    tls, parameters, told, link_to
):
    with refusing("no matter", tls=tls) as port:
        link = link_to(f"host=127.0.0.1 port={port} sslmode=require {parameters}")
        with pytest.raises(DatabaseRefused, match=f"refused: .*{told}$") as raised:
            link.delay_ms()
    assert "sslrootcert" in raised.value.hint
    assert not link.is_unreachable


def test_what_is_said_of_a_missing_client_certificate_helps(link_to):
    with refusing("connection requires a valid client certificate", code="28000") as port:
        link = link_to(f"host=127.0.0.1 port={port} sslmode=disable")
        with pytest.raises(DatabaseRefused, match="valid client certificate") as raised:
            link.delay_ms()
    assert "sslcert" in raised.value.hint


def test_a_server_whose_tls_fails_for_a_while_is_said_to_be_away(link_to):
    told = pytest.raises(DatabaseUnreachable, match="alert internal error")
    with refusing("no matter", tls=alert(80)) as port, told:
        link_to(f"host=127.0.0.1 port={port} sslmode=require").delay_ms()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("host=127.0.0.1 sslmode=sometimes", "invalid sslmode value"),
        ("host=127.0.0.1 ssl_min_protocol_version=9", 'invalid "ssl_min_protocol_version" value'),
        ("host=127.0.0.1 sslmode=require sslrootcert=system", "weak sslmode"),
        ("host=127.0.0.1 port=99999", "invalid port number"),
        ("host=127.0.0.1 port=none", "invalid integer value"),
        ("host=127.0.0.1,127.0.0.1 port=1,2,3", "could not match 3 port numbers"),
        ("service=nowhere", "definition of service"),
    ],
)
def test_an_address_that_reaches_nothing_is_refused_and_not_said_to_be_away(
    text, told, link_to, monkeypatch
):
    monkeypatch.setenv("PGSSLMODE", "disable")  # as a service sets it for the process
    link = link_to(text)
    with pytest.raises(DatabaseRefused, match=f"refused: {told}"):
        link.delay_ms()
    assert not link.is_unreachable


@pytest.mark.parametrize(("mode", "told"), [("", "no TLS|not support SSL"), ("disable", "answer")])
def test_a_service_is_spoken_to_by_tls_unless_its_file_says_otherwise(
    mode, told, link_to, monkeypatch, tmp_path
):
    monkeypatch.setenv("PGSSLMODE", "disable")
    monkeypatch.delenv("PGSSLMODE")  # and removed after the test
    services = tmp_path / "services.conf"
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    with refusing("no matter", tls=b"N") as port:
        lines = ["[team]", "host=127.0.0.1", f"port={port}", "user=alice", "dbname=team"]
        services.write_text("\n".join([*lines, f"sslmode={mode}" if mode else ""]))
        with pytest.raises(DatabaseError, match=told):
            link_to("service=team").delay_ms()


def test_a_server_that_is_not_there_is_said_to_be_away(link_to, tmp_path):
    link = link_to(f"postgresql:///team?host={tmp_path}")
    with pytest.raises(DatabaseUnreachable, match=r"does not answer: No such file or directory$"):
        link.delay_ms()
    assert link.is_unreachable


def test_what_is_not_granted_is_said_with_who_grants_it(database, link_to, login):
    address = login("alice")
    link = link_to(address)
    for said, hint in (
        ("permission denied for database", "memory-sidecar team init"),
        ('permission denied to create extension "vector"$', "CREATE EXTENSION vector"),
    ):
        with pytest.raises(DatabaseRefused, match=said) as raised:
            make_schema(link)
        assert hint in raised.value.hint
        with psycopg.connect(database, autocommit=True) as owner:
            name = owner.info.dbname
            role = psycopg.conninfo.conninfo_to_dict(address)["user"]
            owner.execute(f"GRANT CREATE ON DATABASE {name} TO {role}")
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"REVOKE CREATE ON DATABASE {name} FROM {role}")


@pytest.mark.parametrize(
    "said",
    [
        "sorry, too many clients already",
        'too many connections for role "alice"',
        "remaining connection slots are reserved for roles with the SUPERUSER attribute",
        "the database system is starting up",
        "the database system is not yet accepting connections",
        "the database system is in recovery mode",
    ],
)
def test_a_server_that_lets_nobody_in_for_a_while_is_said_to_be_away(link_to, said):
    with refusing(said) as port:
        link = link_to(f"postgresql://alice@127.0.0.1:{port}/team?sslmode=disable")
        with pytest.raises(DatabaseUnreachable, match=said):
            link.delay_ms()
    assert link.is_unreachable


def test_a_server_that_refuses_is_not_away(link_to):
    with refusing("password authentication failed") as port:
        link = link_to(f"postgresql://alice@127.0.0.1:{port}/team?sslmode=disable")
        with pytest.raises(DatabaseRefused, match="refused: password"):
            link.delay_ms()


def test_a_pooler_that_takes_no_settings_is_refused_before_anything_is_made(
    database, link, link_to, monkeypatch
):
    with refusing("unsupported startup parameter: options") as port:
        refusal = link_to(f"postgresql://alice@127.0.0.1:{port}/team?sslmode=disable")
        with pytest.raises(DatabaseRefused, match="as a pooler does not") as raised:
            refusal.delay_ms()
    assert "name the server itself" in raised.value.hint
    for options in ("", "-c search_path=memory_sidecar,public"):
        monkeypatch.setitem(team_link._OURS, "options", options)
        with pytest.raises(DatabaseRefused, match="as a pooler does not"):
            make_schema(link)
    with psycopg.connect(database) as owner:
        tables = "SELECT count(*) FROM pg_tables WHERE tablename IN ('identity', 'mirrored')"
        assert owner.execute(tables).fetchone() == (0,)


@contextmanager
def refusing(said: str, *, code: str = "53300", tls: bytes = b"") -> Iterator[int]:
    """The port of a server that answers everyone as PostgreSQL does whom it does not let in.

    `tls` is what it answers instead to who asks for TLS: one byte, then the rest.
    """
    fields = b"".join(
        kind + text.encode() + b"\0" for kind, text in ((b"S", "FATAL"), (b"C", code), (b"M", said))
    )
    answer = b"E" + struct.pack("!i", 5 + len(fields)) + fields + b"\0"

    def refuse() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(tls[:1] or answer)
                    if tls[1:]:
                        connection.recv(4096)
                        connection.sendall(tls[1:])

    with socket.create_server(("127.0.0.1", 0)) as listening:
        refusing = threading.Thread(target=refuse, daemon=True)
        refusing.start()
        try:
            yield listening.getsockname()[1]
        finally:
            # On Linux, closing alone wakes no accept(), which keeps the number of a descriptor.
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            refusing.join(DEADLINE_S)


def test_work_is_done_again_when_its_connection_is_lost(link, database):
    done = []

    def work():
        with link.writing() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
            connection.execute("INSERT INTO kept VALUES (1)")
            done.append(1)
            if len(done) == 1:
                with psycopg.connect(database, autocommit=True) as other:
                    pid = connection.info.backend_pid
                    other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        return len(done)

    assert link.retry(work) == 2
    with link.reading() as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (1,)


def test_a_server_that_is_silent_is_asked_once(link_to):
    done = []

    def work():
        done.append(1)
        return link.delay_ms()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        link = link_to(f"postgresql://alice@127.0.0.1:{port}/team?sslmode=disable")
        with pytest.raises(DatabaseUnreachable, match="timeout"):
            link.retry(work)
    assert done == [1]


def test_a_connection_to_a_server_that_is_away_is_closed_and_what_is_said_of_it_does_not_grow(
    link_to,
):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        link = link_to(f"postgresql://alice@127.0.0.1:{port}/team?sslmode=disable")
        with suppress(DatabaseUnreachable):
            link.look(("SELECT 1", ()))
        gc.collect()
        opened = psutil.Process().net_connections("tcp")
        assert not [each for each in opened if each.raddr and each.raddr.port == port]
    lengths = []
    for _ in range(3):
        with pytest.raises(DatabaseUnreachable, match="timeout") as raised:
            link.require_reachable()
        lengths.append(len(raised.traceback))
    assert len(set(lengths)) == 1


def test_a_server_that_is_there_and_says_nothing_is_waited_for_no_longer_than_a_while(link):
    told = pytest.raises(DatabaseUnreachable, match=r"no answer for 0\.2 s$")
    with told, link.writing(patience_s=0.2) as connection:
        connection.execute("SELECT pg_sleep(60)")
    assert link.is_unreachable
    with told:
        link.require_reachable()
    assert link.delay_ms() > 0  # who asks all the same connects anew
    link.require_reachable()


def test_a_connection_that_was_kept_and_answers_no_more_is_given_up(link, monkeypatch):
    monkeypatch.setattr(team_link, "CONNECT_S", 1.0)  # the new connection has to be made in it, too
    with link.reading() as connection:
        kept = connection.info.backend_pid
    os.kill(kept, signal.SIGSTOP)
    try:
        with link.reading() as connection:
            assert connection.info.backend_pid != kept
    finally:
        os.kill(kept, signal.SIGCONT)


def test_a_connection_in_use_when_all_are_closed_is_closed_after_its_use(link):
    with link.reading() as used:
        link.close()
        assert used.execute("SELECT 1").fetchone() == (1,)
    assert used.closed


def test_a_connection_whose_settings_cannot_be_read_is_closed(link, monkeypatch):
    made = []
    connect = TeamConnection.connect
    monkeypatch.setattr(team_link, "_SETTINGS", "SELECT 1 / 0")

    def noted(*options, **more):
        made.append(connect(*options, **more))
        return made[0]

    monkeypatch.setattr(TeamConnection, "connect", noted)
    with pytest.raises(DatabaseError, match="division by zero"):
        link.connect()
    assert [each.closed for each in made] == [True]


def test_a_server_that_has_no_room_for_an_answer_is_not_said_to_be_away(link):
    told = pytest.raises(DatabaseError, match="requested length too large")
    with told as raised, link.reading() as connection:
        connection.execute("SELECT repeat('x', 2000000000)")
    assert not isinstance(raised.value, DatabaseUnreachable)


def test_a_limit_of_the_server_on_statements_is_named(link):
    told = pytest.raises(DatabaseError, match=r"statement timeout$")
    with told as raised, link.writing() as connection:
        connection.execute("SET LOCAL statement_timeout = '10ms'")
        connection.execute("SELECT pg_sleep(60)")
    assert not isinstance(raised.value, DatabaseUnreachable)
    assert "statement_timeout = 0" in raised.value.hint


def test_a_reader_writes_nothing_and_sees_one_commit(link):
    with link.writing() as connection:
        connection.execute("CREATE TABLE kept (n int)")
    with pytest.raises(DatabaseError, match="read-only"), link.reading() as connection:
        connection.execute("INSERT INTO kept VALUES (1)")
    with link.reading() as reader:
        assert reader.execute("SELECT count(*) FROM kept").fetchone() == (0,)
        with link.writing() as writer:
            writer.execute("INSERT INTO kept VALUES (1)")
        assert reader.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_the_schema_is_made_once_and_a_newer_one_refused(link):
    with link.reading() as connection, pytest.raises(TeamEmpty, match="holds nothing yet"):
        require_schema(connection, link)
    make_schema(link)
    make_schema(link)
    with link.writing() as connection:
        require_schema(connection, link)
        connection.execute("UPDATE identity SET value = %s", (str(VERSION + 1),))
    for asked in (lambda: make_schema(link), lambda: _require(link)):
        with pytest.raises(StoreNewer, match="this version knows"):
            asked()


def _require(link: TeamLink) -> None:
    with link.reading() as connection:
        require_schema(connection, link)


def test_a_table_of_another_program_is_not_taken_for_ours(link, database):
    with psycopg.connect(database, autocommit=True) as by_sql:
        by_sql.execute("CREATE TABLE public.identity (id integer)")
    with link.reading() as connection, pytest.raises(TeamEmpty):
        require_schema(connection, link)
    make_schema(link)
    with link.reading() as connection:
        require_schema(connection, link)


def test_an_older_schema_is_led_forward_with_what_it_holds(link, monkeypatch):
    monkeypatch.setattr(schema, "SCRIPTS", ("team.sql", "mirror.sql"))
    monkeypatch.setattr(schema, "MIGRATIONS", ())
    monkeypatch.setattr(schema, "VERSION", 1)
    monkeypatch.setattr(schema, "_SET_VERSION", "INSERT INTO identity VALUES ('version', '1')")
    make_schema(link)
    monkeypatch.undo()
    with pytest.raises(NoIndex, match="version 1, older than this one"):
        _require(link)
    with link.writing() as connection:
        connection.execute("INSERT INTO identity VALUES ('kept', 'yes')")
    make_schema(link)
    _require(link)
    with link.reading() as connection:
        assert connection.execute("SELECT count(*) FROM sources").fetchone() == (0,)
        kept = connection.execute("SELECT value FROM identity WHERE key = 'kept'").fetchone()
        assert kept == ("yes",)


def test_a_schema_with_sparser_graphs_is_searched_by_them_until_denser_ones_are_made(
    link, monkeypatch
):
    monkeypatch.setattr(schema, "MANY_CHUNKS", 1)
    make_schema(link)
    notices = Notices()
    with link.writing() as connection:
        connection.execute(
            "ALTER TABLE sources ADD COLUMN folded_at bigint NOT NULL DEFAULT 0;"
            " INSERT INTO sources (repository, branch, folder, chunks)"
            " VALUES ('git.example/shop', 'main', '', 12345);"
            " CREATE INDEX chunk_static_nearest ON chunk_static"
            " USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);"
            " CREATE INDEX chunk_vectors_nearest ON chunk_vectors"
            " USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);"
            " UPDATE identity SET value = '4' WHERE key = 'version'"
        )

    def graphs() -> list[str]:
        with link.reading() as connection:
            found = connection.execute(
                "SELECT relname || ' ' || reloptions[2] FROM pg_class"
                " WHERE relname ~ '_(nearest|before)$' ORDER BY 1"
            )
            return [each for (each,) in found]

    make_schema(link, notices)
    assert notices.has(f"from version 4 to {VERSION}")
    _require(link)
    with pytest.raises(DatabaseError, match="folded_at"), link.reading() as connection:
        connection.execute("SELECT folded_at FROM sources")
    assert graphs() == [
        "chunk_static_before ef_construction=128",
        "chunk_vectors_before ef_construction=128",
    ]
    schema.declare_nearest(link, notices)
    assert notices.has("vector graphs of 12,345 chunks")
    assert graphs() == [
        "chunk_static_nearest ef_construction=256",
        "chunk_vectors_nearest ef_construction=256",
    ]
    notices.said.clear()
    make_schema(link, notices)
    schema.declare_nearest(link, notices)
    assert not notices.said


def test_a_schema_that_took_the_role_set_for_the_writer_takes_who_logged_in(link, login):
    make_schema(link)
    with link.writing() as connection:
        source = "SELECT prosrc FROM pg_proc WHERE proname = 'stamp_mirrored'"
        (body,) = connection.execute(source).fetchone()
        connection.execute(
            "CREATE OR REPLACE FUNCTION stamp_mirrored() RETURNS trigger LANGUAGE plpgsql"
            f" AS $${body.replace('session_user', 'current_user')}$$;"
            " ALTER POLICY own ON mirrored USING (owner = current_user)"
            " WITH CHECK (owner = current_user); UPDATE identity SET value = '3'"
            " WHERE key = 'version'"
        )
    make_schema(link)
    schema.grant_roles(link)
    with psycopg.connect(login("alice", "agent"), autocommit=True) as by_sql:
        alice = by_sql.info.user
        by_sql.execute("SET search_path TO memory_sidecar; SET ROLE memory_sidecar_agent")
        for owner, agent in (("", "shared"), (alice, "default")):
            written = by_sql.execute(
                "INSERT INTO mirrored (owner, agent, path, hash, content)"
                " VALUES (%s, %s, 'memories/a.md', 'x', 'x') RETURNING written_by",
                (owner, agent),
            )
            assert written.fetchone() == (alice,)


@pytest.mark.parametrize("comes_from", [schema.VERSION, 3])
def test_what_a_role_has_of_its_own_stands_in_for_nothing_that_functions_name(
    comes_from, database, link, login
):
    make_schema(link)
    schema.grant_roles(link)
    with link.writing() as connection:
        connection.execute("UPDATE identity SET value = %s WHERE key = 'version'", (comes_from,))
    make_schema(link)
    address = login("alice", "agent", "indexer")
    with psycopg.connect(database, autocommit=True) as owner:
        alice = psycopg.conninfo.conninfo_to_dict(address)["user"]
        owner.execute(f"CREATE SCHEMA own AUTHORIZATION {alice}")
    with psycopg.connect(address, autocommit=True) as by_sql:
        by_sql.execute(
            "CREATE FUNCTION own.now() RETURNS timestamptz RETURN timestamptz '2001-01-01';"
            " CREATE FUNCTION own.nextval(text) RETURNS bigint RETURN 1000000;"
            " SET search_path TO own, pg_catalog, memory_sidecar, public;"
            " CREATE TEMP TABLE chunk_vectors (LIKE memory_sidecar.chunk_vectors)"
        )
        written = by_sql.execute(
            "INSERT INTO mirrored (owner, agent, path, hash, content)"
            " VALUES ('', 'shared', 'memories/a.md', 'x', 'x')"
            " RETURNING changed, written_at > '2002-01-01'"
        )
        assert written.fetchone() == (1, True)
        by_sql.execute("SELECT declare_nearest()")
        by_sql.execute("DROP TABLE pg_temp.chunk_vectors")  # else the server does, some time later
    with link.writing() as connection:
        graphs = "SELECT schemaname FROM pg_indexes WHERE indexname = 'chunk_vectors_nearest'"
        assert connection.execute(graphs).fetchall() == [("memory_sidecar",)]
        connection.execute("DROP SCHEMA own CASCADE")


def test_a_writer_that_waits_for_another_is_not_told_that_the_server_is_away(
    link, link_to, database
):
    lock = "SELECT pg_advisory_xact_lock(4711)"
    with link.writing() as connection:
        connection.execute(lock)
        other = link_to(database)
        with (
            pytest.raises(DatabaseError, match="another call has locked it") as raised,
            other.writing(patience_s=1) as waiting,
        ):
            waiting.execute(lock)
    assert not isinstance(raised.value, DatabaseUnreachable)
    assert not other.is_unreachable
