"""The log in PostgreSQL: connections, tables, copies; and errors of the server without secrets."""

from __future__ import annotations

import re
import secrets
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

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
    closed_on_error,
    no_tables,
    require_version,
    storage_full,
)
from xorec.service.log.sqlite import (
    COLUMNS,
    LAST_SEQ,
    SqliteDialect,
    SqliteLog,
    create_tables,
    new_copy,
    open_file,
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
    return address.settings.get("schema") or SCHEMA


def connect(address: Address, session: dict[str, str]) -> Connection:
    """A connection that commits each statement by itself. session: settings of the server's."""
    with PostgresqlDialect(address).in_words():
        try:
            connection: Connection = postgresql.connect(address, _DEFAULTS)
        except driver().ProgrammingError as error:  # libpq refuses the address itself
            raise OptionError(f"the event log {address}: {first_line(error)}.") from None
        with closed_on_error(connection):
            values = {**_SESSION, "search_path": _quoted_schema(address), **session}
            calls = ", ".join(["set_config(%s, %s, false)"] * len(values))
            texts = [text for pair in values.items() for text in pair]
            connection.execute(f"SELECT {calls}", texts)
    return connection


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

    item_of_change = r"""COALESCE(
        substring(body from '^{"id": ?("(?:[^"\\]|\\.)*"|-?[0-9]+)[,}]'), body
    )"""  # read as JSON, escapes such as \u0000 are refused

    address: Address

    def __str__(self) -> str:
        return str(self.address)

    def open_reader(self) -> Connection:
        connection = connect(self.address, _READER)
        with self.in_words(), closed_on_error(connection):
            if not find_tables(connection, self.address):
                raise no_tables(self)
        return connection

    @contextmanager
    def in_words(self) -> Iterator[None]:
        try:
            yield
        except driver().Error as error:
            raise storage_error(self.address, error) from None

    def is_gone(self, connection: Connection) -> bool:
        """It is closed, or the server says something unasked, which is its farewell. Takes no round
        trip."""
        if connection.closed:
            return True
        try:
            waiting = select.poll()  # select knows only the first 1,024 descriptors
            waiting.register(connection.fileno(), select.POLLIN)
            return bool(waiting.poll(0))
        except (driver().Error, OSError):
            return True

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
            (VERSION, uuid4(), secrets.token_bytes(16)),
        )


# -- copies: a log in SQLite, so that a snapshot is the same file wherever the events live

_ROWS = 2_000
"""Read at once; then others may write."""
_ORDER = {"events": "seq", "changes": "seq", "exposures": "number", "erased": "key"}
_OTHER_NAMES = {"user": "user_id", "item": "item_id"}
_ESCAPED = ("event_id", "kind", "request_id", "experiment", "arm")
"""Columns of texts that PostgreSQL keeps in its own way; not those of changes."""


def write_copy(dialect: PostgresqlDialect, path: Path, between: Callable[[], None]) -> None:
    """Write the log as it is now to a file of SQLite; `between` is called often meanwhile."""
    with (
        closing(dialect.open_reader()) as connection,
        new_copy(path) as copy,
        dialect.in_words(),
        connection.transaction(),
    ):
        ((salt, last_seq),) = connection.execute("SELECT salt, last_seq FROM state").fetchall()
        create_tables(copy, bytes(salt), last_seq)
        for table, columns in COLUMNS.items():
            marks = ", ".join("?" * len(columns))
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            convert = _converter(table, dialect.original, lambda key: key.bytes)
            with connection.cursor(name=f"xorec_{table}") as cursor:
                cursor.itersize = _ROWS
                cursor.execute(f"SELECT {_names(table)} FROM {table} ORDER BY {_ORDER[table]}")
                while rows := cursor.fetchmany(_ROWS):
                    copy.execute("BEGIN")
                    copy.executemany(insert, map(convert, rows))
                    copy.execute("COMMIT")
                    between()


def load_copy(connection: Connection, dialect: PostgresqlDialect, path: Path) -> None:
    """Begin a log with what a log in SQLite has; inside a transaction that holds the log.

    Nothing is done where it has begun so already.
    """
    SqliteLog(path).close()  # whatever a kill has left in its WAL is in the file then
    with closing(open_file(path, "ro")) as copy, SqliteDialect(path).in_words():
        ((salt,),) = copy.execute("SELECT salt FROM state").fetchall()
        ((last_seq,),) = copy.execute(LAST_SEQ).fetchall()
        ((ours, last, used),) = connection.execute(
            "SELECT salt, last_seq, EXISTS (SELECT FROM machines) FROM state"
        ).fetchall()
        if bytes(ours) == salt:
            return
        if last or used:
            raise StorageFailed(
                f"{path} is an event log, and {dialect} is another that is in use: give a new "
                "folder (--data), or an empty database."
            )
        for table, columns in COLUMNS.items():
            convert = _converter(table, dialect.kept_text, lambda key: UUID(bytes=key))
            with connection.cursor().copy(f"COPY {table} ({_names(table)}) FROM STDIN") as stream:
                for row in copy.execute(
                    f"SELECT {', '.join(columns)} FROM {table} ORDER BY {_ORDER[table]}"
                ):
                    stream.write_row(convert(row))
        connection.execute("UPDATE state SET salt = %s, last_seq = %s", (salt, last_seq))


def _names(table: str) -> str:
    return ", ".join(_OTHER_NAMES.get(name, name) for name in COLUMNS[table])


def _converter(
    table: str, text: Callable[[str | None], Any], key: Callable[[Any], Any]
) -> Callable[[Iterable[Any]], list[Any]]:
    """A row as the other database has it. text, key: convert a value of such a column."""
    convert: dict[str, Callable[[Any], Any]] = {"key": key}
    if table != "changes":
        convert.update(dict.fromkeys(_ESCAPED, text))
    functions = [convert.get(name) for name in COLUMNS[table]]
    return lambda row: [
        value if function is None else function(value)
        for value, function in zip(row, functions, strict=True)
    ]
