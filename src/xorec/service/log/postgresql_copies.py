"""Copies: the log in PostgreSQL as a log in SQLite, and an empty one begun with such a copy.

So a snapshot is the same file wherever the events live, and starts a service of either kind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from xorec.core import files
from xorec.core.addresses import Address
from xorec.service.log.base import StorageFailed, storage_error
from xorec.service.log.postgresql import Connection, in_words
from xorec.service.log.postgresql_statements import kept_text, original
from xorec.service.log.sqlite import LAST_SEQ, EventLog, create_tables, open_file

ROWS = 2_000
"""Read at once; then others may write."""
_NAMES = ("event_id", "kind", "request_id", "experiment", "arm")
"""Columns of texts that PostgreSQL keeps in its own way."""
_TABLES = {
    "events": (
        ("seq", "key", "event_id", "user_key", "user", "item", "kind", "value", "ts", "request_id"),
        "seq",
    ),
    "changes": (("seq", "kind", "body"), "seq"),
    "exposures": (
        ("request_id", "experiment", "arm", "user_key", "user", "items", "ts"),
        "number",
    ),
    "erased": (("key", "ts"), "key"),
}
"""By table: its columns by their names in SQLite, and the column that orders it."""
_OTHER_NAMES = {"user": "user_id", "item": "item_id"}


def write_copy(address: Address, path: Path, between: Callable[[], None]) -> None:
    """Write the log as it is now to a file of SQLite; `between` is called often meanwhile."""
    from xorec.service.log.postgresql_reader import open_for_reading

    with (
        closing(open_for_reading(address)) as connection,
        files.replacing(path) as temporary,
        closing(open_file(temporary, "rwc")) as copy,
        in_words(address),
        connection.transaction(),
    ):
        ((salt, last_seq),) = connection.execute("SELECT salt, last_seq FROM state").fetchall()
        try:
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            create_tables(copy, bytes(salt), last_seq)
            for table in _TABLES:
                _copy_table(connection, copy, table, between)
        except sqlite3.Error as error:
            raise storage_error(path, error) from error


def _copy_table(
    connection: Connection,
    copy: sqlite3.Connection,
    table: str,
    between: Callable[[], None],
) -> None:
    columns, order = _TABLES[table]
    names = ", ".join(_OTHER_NAMES.get(name, name) for name in columns)
    marks = ", ".join("?" * len(columns))
    kept = [at for at, name in enumerate(columns) if name in _NAMES and table != "changes"]
    keys = [at for at, name in enumerate(columns) if name == "key"]
    with connection.cursor(name=f"xorec_{table}") as cursor:
        cursor.itersize = ROWS
        cursor.execute(f"SELECT {names} FROM {table} ORDER BY {order}")
        while some := cursor.fetchmany(ROWS):
            rows = [[*row] for row in some]
            for row in rows:
                for at in kept:
                    row[at] = None if row[at] is None else original(row[at])
                for at in keys:
                    row[at] = row[at].bytes
            copy.execute("BEGIN")
            copy.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
            copy.execute("COMMIT")
            between()


def load_copy(connection: Connection, address: Address, path: Path) -> None:
    """Begin a log with what a log in SQLite has; inside a transaction that holds the log.

    Nothing is done where it has begun so already.
    """
    EventLog(path).close()  # whatever a kill has left in its WAL is in the file then
    with closing(open_file(path, "ro")) as copy:
        try:
            ((salt,),) = copy.execute("SELECT salt FROM state").fetchall()
            ((last_seq,),) = copy.execute(LAST_SEQ).fetchall()
            ((ours, last, used),) = connection.execute(
                "SELECT salt, last_seq, EXISTS (SELECT FROM machines) FROM state"
            ).fetchall()
            if bytes(ours) == salt:
                return
            if last or used:
                raise StorageFailed(
                    f"{path} is an event log, and {address} is another that is in use: give a new "
                    "folder (--data), or an empty database."
                )
            for table in _TABLES:
                _load_table(connection, copy, table)
            connection.execute("UPDATE state SET salt = %s, last_seq = %s", (salt, last_seq))
        except sqlite3.Error as error:
            raise storage_error(path, error) from error


def _load_table(connection: Connection, copy: sqlite3.Connection, table: str) -> None:
    columns, order = _TABLES[table]
    names = ", ".join(_OTHER_NAMES.get(name, name) for name in columns)
    with connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as stream:
        found = copy.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}")
        for row in _as_kept(found, columns, table):
            stream.write_row(row)


def _as_kept(rows: Any, columns: tuple[str, ...], table: str) -> Iterator[list[Any]]:
    kept = [at for at, name in enumerate(columns) if name in _NAMES and table != "changes"]
    keys = [at for at, name in enumerate(columns) if name == "key"]
    for one in rows:
        row = [*one]
        for at in kept:
            row[at] = None if row[at] is None else kept_text(row[at])
        for at in keys:
            row[at] = row[at].hex()
        yield row
