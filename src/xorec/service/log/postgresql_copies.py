"""Copies: the log in PostgreSQL as a log in SQLite, and an empty one begun with such a copy.

So a snapshot is the same file wherever the events live, and starts a service of either kind.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

from xorec.service.log.base import StorageFailed
from xorec.service.log.postgresql import Connection, PostgresqlDialect, in_words
from xorec.service.log.sqlite import (
    COLUMNS,
    SqliteDialect,
    SqliteLog,
    create_tables,
    new_copy,
    open_file,
)
from xorec.service.log.sqlite import in_words as sqlite_in_words

ROWS = 2_000
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
        in_words(dialect.address),
        connection.transaction(),
    ):
        ((salt, last_seq),) = connection.execute("SELECT salt, last_seq FROM state").fetchall()
        create_tables(copy, bytes(salt), last_seq)
        for table, columns in COLUMNS.items():
            marks = ", ".join("?" * len(columns))
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            convert = _converter(table, dialect.original, lambda key: key.bytes)
            with connection.cursor(name=f"xorec_{table}") as cursor:
                cursor.itersize = ROWS
                cursor.execute(f"SELECT {_names(table)} FROM {table} ORDER BY {_ORDER[table]}")
                while rows := cursor.fetchmany(ROWS):
                    copy.execute("BEGIN")
                    copy.executemany(insert, map(convert, rows))
                    copy.execute("COMMIT")
                    between()


def load_copy(connection: Connection, dialect: PostgresqlDialect, path: Path) -> None:
    """Begin a log with what a log in SQLite has; inside a transaction that holds the log.

    Nothing is done where it has begun so already.
    """
    SqliteLog(path).close()  # whatever a kill has left in its WAL is in the file then
    with closing(open_file(path, "ro")) as copy, sqlite_in_words(path):
        ((salt,),) = copy.execute("SELECT salt FROM state").fetchall()
        ((last_seq,),) = copy.execute(SqliteDialect.last_seq).fetchall()
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
) -> Callable[[Any], list[Any]]:
    """A row as the other database has it. text, key: convert a value of such a column."""
    convert = {"key": key}
    if table != "changes":
        convert.update(dict.fromkeys(_ESCAPED, text))
    at = [(n, convert[name]) for n, name in enumerate(COLUMNS[table]) if name in convert]

    def converted(row: Any) -> list[Any]:
        values = [*row]
        for n, function in at:
            values[n] = function(values[n])
        return values

    return converted
