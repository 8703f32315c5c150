"""The address of a team's database: the setting `database` as connection parameters of libpq.

No setting holds a password: it comes from `PGPASSWORD`, from a passfile, which libpq reads itself,
or from the first line that `database_password_command` prints.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memory_sidecar.core.children import ChildFailed, child_environment, output_of
from memory_sidecar.core.errors import DatabaseRefused, UsageError
from memory_sidecar.core.settings import Settings

CONNECT_S = 2  # programs that run us for one call give up after five
PASSWORD_S = 10.0
_HERE = ("", "localhost", "127.0.0.1", "::1")
_EXAMPLE = "for example postgresql://me@db.example/team?sslmode=verify-full"


@dataclass(frozen=True, slots=True)
class Address:
    """The connection parameters of a database, without a password."""

    parameters: Mapping[str, str]
    password_command: str
    passed_on: tuple[str, ...]  # extra environment variables for the command

    @classmethod
    def of(cls, settings: Settings) -> Address:
        """Parse the setting. Raises UsageError if it is no address, or holds a password.

        For an address by a service, this process gets a PGSSLMODE, unless it has one.
        """
        try:
            found = conninfo_to_dict(settings.database)
        except psycopg.ProgrammingError as error:
            # What libpq says may repeat a password.
            raise UsageError("database is not an address of PostgreSQL", hint=_EXAMPLE) from error
        if "password" in found:
            raise UsageError(
                "database must not hold a password",
                hint="put it into PGPASSWORD or a passfile, or set database_password_command",
            )
        parameters = {name: str(value) for name, value in found.items()}
        named = ",".join(
            parameters.get(name, os.environ.get(f"PG{name.upper()}", ""))
            for name in ("host", "hostaddr")
        )
        is_here = all(each in _HERE or each.startswith(("/", "@")) for each in named.split(","))
        if not is_here and "PGSSLMODE" not in os.environ:
            parameters.setdefault("sslmode", "require")
        if "service" in parameters or "PGSERVICE" in os.environ:
            # The service file may name another machine, and a parameter would override its sslmode.
            os.environ.setdefault("PGSSLMODE", "require")
        parameters.setdefault("connect_timeout", str(CONNECT_S))
        return cls(parameters, settings.database_password_command, settings.child_environment)

    @property
    def shown(self) -> str:
        """The database, user and host, for messages."""
        named = self.parameters
        user = f"{named['user']}@" if "user" in named else ""
        host = named.get("host", named.get("hostaddr", ""))
        port = f":{named['port']}" if "port" in named else ""
        return f"{named.get('dbname', named.get('user', ''))} ({user}{host or 'local'}{port})"

    def password(self) -> dict[str, str]:
        """Return the password parameter that the command prints; empty without a command.

        Raises DatabaseRefused.
        """
        if not self.password_command:
            return {}
        environ = child_environment(os.environ, self.passed_on)
        try:
            printed = output_of(self.password_command, environ=environ, timeout_s=PASSWORD_S)
        except ChildFailed as error:  # what it said may hold the password
            raise DatabaseRefused(
                f"database_password_command: {error.how}", hint="run it by hand"
            ) from None
        first, _, _ = printed.decode("utf-8", "replace").partition("\n")
        first = first.removesuffix("\r")  # of a program on Windows
        if not first:
            raise DatabaseRefused(
                "database_password_command printed no password", hint="run it by hand"
            )
        return {"password": first}
