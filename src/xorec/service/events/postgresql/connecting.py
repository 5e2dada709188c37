"""Connections to the log in PostgreSQL, and what its server says, in words without secrets."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xorec.core.addresses import Address
from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.databases import base, postgresql
from xorec.databases.postgresql import driver, first_line
from xorec.service.events.errors import StorageFailed, StorageFull

Connection = Any
"""One of psycopg's, whose types are not looked at: it need not be installed."""
SCHEMA = "xorec"
"""The schema of the tables, where the address names no other (`?schema=`)."""
_DEFAULTS = {
    "application_name": "xorec serve",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""For libpq, where the address says nothing else: a server that is gone is noticed in seconds."""
_SESSION = {
    "jit": "off",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""Of every session: the server, too, notices soon that a machine is gone, and frees its locks."""
_WAYS_OUT = {
    "28P01": "the password is wrong: give the right one by PGPASSWORD, ~/.pgpass or a service file",
    "28000": "this user may not log in: look at the server's pg_hba.conf",
    "3D000": "there is no such database: make it with createdb",
    "42501": "the user lacks a right: let it own the schema, or create it for the user",
    "25006": "the server takes no writes, it may be a standby: give the primary's address",
    "53300": "the server has no connection left: raise its max_connections",
    "55P03": "another machine holds the log: look at pg_stat_activity for what does not end",
    "57P01": "the server is shutting down",
    "57P02": "the server has crashed and comes back",
    "57P03": "the server is starting or stopping",
}
_FULL = ("53100",)


def schema_of(address: Address) -> str:
    """The schema that an address names."""
    return address.settings.get("schema") or SCHEMA


def connect(address: Address, session: dict[str, str]) -> Connection:
    """A connection that commits each statement by itself. session: settings of the server's."""
    with in_words(address):
        try:
            connection: Connection = postgresql.connect(address, _DEFAULTS)
        except driver().ProgrammingError as error:  # libpq refuses the address itself
            raise OptionError(f"the event log {address}: {first_line(error)}.") from None
        try:
            values = {**_SESSION, "search_path": quoted_name(schema_of(address)), **session}
            calls = ", ".join(["set_config(%s, %s, false)"] * len(values))
            connection.execute(
                f"SELECT {calls}", [text for pair in values.items() for text in pair]
            )
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def in_words(address: Address) -> Iterator[None]:
    """Errors of the driver become StorageFull and StorageFailed."""
    try:
        yield
    except driver().Error as error:
        raise storage_error(address, error) from None


def storage_error(address: Address, error: Exception) -> StorageFull | StorageFailed:
    """An error of the driver in one line that names the server, never a password.

    >>> from xorec.core.addresses import parse_address
    >>> address = parse_address("postgresql://ann:s3cret@db/shop")
    >>> storage_error(address, OSError("no route, password=s3cret"))
    StorageFailed('the event log postgresql://ann@db/shop: no route, password=***.')
    """
    state = getattr(error, "sqlstate", None) or ""
    if state in _FULL:
        return StorageFull(
            f"no space left for the event log {address}: free some, the next write then succeeds."
        )
    said = first_line(error)
    for code, reason in _WAYS_OUT.items():
        if state == code or (not state and code == "28P01" and "password authentication" in said):
            return StorageFailed(f"the event log {address}: {reason}.")
    return StorageFailed(f"the event log {address}: {said}.")


def is_gone(connection: Connection) -> bool:
    """Whether a connection on which nothing is under way is better not used: it is closed, or the
    server says something unasked, which is its farewell. Takes no round trip."""
    if connection.closed:
        return True
    try:
        waiting = select.poll()  # select knows only the first 1,024 descriptors
        waiting.register(connection.fileno(), select.POLLIN)
        return bool(waiting.poll(0))
    except (driver().Error, OSError):
        return True


def quoted_name(name: str) -> str:
    """The name of a schema in SQL."""
    if not name or "\0" in name:
        raise OptionError(f"schema {quoted(name)} of the address of the events: give a name.")
    return base.quoted_name(name)
