"""Connections to the log in PostgreSQL, its tables, and what its server says, without secrets."""

from __future__ import annotations

import re
import secrets
import select
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from xorec.core.addresses import Address
from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.databases import base, postgresql
from xorec.databases.postgresql import driver, first_line
from xorec.service.log.base import (
    TABLES,
    Dialect,
    StorageFailed,
    StorageFull,
    require_version,
    storage_full,
)

Connection = Any
"""One of psycopg's, whose types are not looked at: it need not be installed."""
SCHEMA = "xorec"
"""The schema of the tables, where the address names no other (`?schema=`)."""
VERSION = 1
"""Of the tables: `state.version`."""
LOCK = 0x786F7265
"""Of advisory locks: "xore"."""
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
_READER = {
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
}
"""Of a session that never writes; a transaction sees one moment."""
_WRONG_PASSWORD = "28P01"
_WAYS_OUT = {
    _WRONG_PASSWORD: "the password is wrong: give the right one by PGPASSWORD, ~/.pgpass or a "
    "service file",
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
"""By SQLSTATE."""


def schema_of(address: Address) -> str:
    """The schema that an address names."""
    return address.settings.get("schema") or SCHEMA


def connect(address: Address, session: dict[str, str]) -> Connection:
    """A connection that commits each statement by itself. session: settings of the server's."""
    with in_words(address), ExitStack() as undo:
        try:
            connection: Connection = postgresql.connect(address, _DEFAULTS)
        except driver().ProgrammingError as error:  # libpq refuses the address itself
            raise OptionError(f"the event log {address}: {first_line(error)}.") from None
        undo.callback(connection.close)
        values = {**_SESSION, "search_path": _quoted_schema(address), **session}
        calls = ", ".join(["set_config(%s, %s, false)"] * len(values))
        connection.execute(f"SELECT {calls}", [text for pair in values.items() for text in pair])
        undo.pop_all()
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
    state, said = getattr(error, "sqlstate", None) or "", first_line(error)
    if state == "53100":
        return storage_full(address)
    if not state and "password authentication" in said:
        state = _WRONG_PASSWORD
    return StorageFailed(f"the event log {address}: {_WAYS_OUT.get(state, said)}.")


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


def _quoted_schema(address: Address) -> str:
    name = schema_of(address)
    if "\0" in name:
        raise OptionError(f"schema {quoted(name)} of the address of the events: give a name.")
    return base.quoted_name(name)


@dataclass(frozen=True)
class PostgresqlDialect(Dialect):
    r"""A log on a server. In texts a backslash stands as two, and NUL, which PostgreSQL does not
    take, as backslash 0; ids are JSON, which has none.

    >>> log = PostgresqlDialect(Address("postgresql"))
    >>> log.kept_text("buy"), log.kept_text("a\0b\\c") == "a\\0b\\\\c"
    ('buy', True)
    >>> log.original(log.kept_text("a\0b\\0c")) == "a\0b\\0c"
    True
    """

    address: Address
    last_seq = "SELECT last_seq FROM state"
    joined = (
        "string_agg({column}::text, ',')",
        "string_agg({column}::text, ',')",
        "json_agg(json_build_array({columns}))::text",
    )

    def __str__(self) -> str:
        return str(self.address)

    def open_reader(self) -> Connection:
        connection = connect(self.address, _READER)
        with in_words(self.address), ExitStack() as undo:
            undo.callback(connection.close)
            if not find_tables(connection, self.address):
                raise StorageFailed(
                    f"the event log {self.address} has no tables yet: start its writer first."
                )
            undo.pop_all()
        return connection

    @contextmanager
    def in_words(self) -> Iterator[None]:
        with in_words(self.address):
            yield

    def is_gone(self, connection: Connection) -> bool:
        return is_gone(connection)

    def kept_text(self, text: str | None) -> Any:
        if text and ("\\" in text or "\0" in text):
            return text.replace("\\", "\\\\").replace("\0", "\\0")
        return text

    def original(self, text: str | None) -> Any:
        if not text or "\\" not in text:
            return text
        return re.sub(r"\\(.)", lambda found: "\0" if found[1] == "0" else found[1], text)


_TABLES = """
CREATE TABLE state (
    one smallint PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    log uuid NOT NULL,
    salt bytea NOT NULL,
    last_seq bigint NOT NULL,
    forgotten bigint NOT NULL
) WITH (fillfactor = 10);
CREATE INDEX events_user ON events (user_key, seq);
CREATE INDEX events_ts ON events (ts);
CREATE TABLE erased (key uuid PRIMARY KEY, ts bigint NOT NULL);
CREATE TABLE machines (
    machine text PRIMARY KEY,
    purged bigint NOT NULL,
    seen timestamptz NOT NULL
);
COMMENT ON TABLE state IS 'The event log of xorec serve. last_seq: the last place that was given. forgotten: records of erasures up to there are gone.';
COMMENT ON TABLE events IS 'user_id, item_id: JSON text. ts: microseconds since 1970, UTC. In event_id, kind and request_id a backslash stands as two, and NUL as backslash 0.';
COMMENT ON TABLE machines IS 'Services that share the log. purged: no model file of theirs has anybody who was erased up to this place.'
"""  # noqa: E501


def find_tables(connection: Connection, address: Address) -> bool:
    """Whether the tables are there; complains of a schema that is not ours, or from later on."""
    found = connection.execute(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v') "
        "AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s)",
        (schema_of(address),),
    ).fetchall()
    names = {name for (name,) in found}
    if not names:
        return False
    if not {"state", "events", "changes", "exposures", "erased", "machines"} <= names:
        raise StorageFailed(
            f"the schema {schema_of(address)!r} of {address} has tables, but no event log of "
            "xorec: name another one by ?schema=."
        )
    ((version,),) = connection.execute("SELECT version FROM state").fetchall()
    require_version(version, VERSION, address)
    return True


def ensure_tables(connection: Connection, address: Address) -> None:
    """Make the tables where there are none: all or none, and once if several machines begin."""
    if find_tables(connection, address):
        return
    ((encoding,),) = connection.execute("SHOW server_encoding").fetchall()
    if encoding != "UTF8":
        raise StorageFailed(
            f"the event log {address}: the database has the encoding {encoding}, and ids may be "
            "of any letters: make one with createdb --encoding UTF8 --template template0."
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
        if find_tables(connection, address):
            return
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted_schema(address)}")
        for statement in f"{TABLES};{_TABLES}".split(";\n"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO state VALUES (1, %s, %s, %s, 0, 0)",
            (VERSION, uuid.uuid4(), secrets.token_bytes(16)),
        )
