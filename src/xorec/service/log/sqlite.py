"""The log in a file of SQLite: its tables, the writing side, and how it is read."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from xorec.core import files
from xorec.core.errors import XorecError
from xorec.service.log.base import (
    RETRIES,
    TABLES,
    Dialect,
    Log,
    StorageFailed,
    StorageFull,
    closed_on_error,
    no_tables,
    require_version,
    storage_full,
)
from xorec.service.log.records import Batch, Change, Id, Row, Written, encode_json, user_columns

VERSION = 1
"""Of the tables: `PRAGMA user_version`."""
APPLICATION = 0x786F7265
"""`PRAGMA application_id`: "xore"."""
BUSY = 5.0
"""Seconds to wait for a lock that another program holds."""
CHECKPOINT = 4_000
"""Pages in the WAL after which they are moved to the database."""
ROWS = 1_024
"""Of one statement at most."""
_PAGES = 256
"""Of a step of a backup."""

_TABLES = """
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    floor INTEGER NOT NULL,
    salt BLOB NOT NULL
);
CREATE INDEX events_user ON events (user_key);
CREATE INDEX events_ts ON events (ts, item);
CREATE TABLE erased (key BLOB PRIMARY KEY, ts INTEGER NOT NULL) WITHOUT ROWID;
"""
COLUMNS = {
    "events": (
        *("seq", "key", "event_id", "user_key", "user", "item", "kind", "value", "ts"),
        "request_id",
    ),
    "changes": ("seq", "kind", "body"),
    "exposures": ("request_id", "experiment", "arm", "user_key", "user", "items", "ts"),
    "erased": ("key", "ts"),
}
"""What is written of each table, and copied."""


def open_file(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in SQLite's mode "ro" or "rwc"; one thread at a time may use it."""
    address = f"file:{quote(os.path.abspath(path))}?mode={mode}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY
    )


def check_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the tables are there; complains of a file that is not ours, or from later on."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (tables or version or application):
        raise StorageFailed(f"{path} is a database, but no event log of xorec: choose another.")
    require_version(version, VERSION, path)
    return bool(version)


def create_tables(
    connection: sqlite3.Connection, salt: bytes | None = None, floor: int = 0
) -> None:
    """Make the tables, all or none. salt: of keys that are there already; default: a new one."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in f"{TABLES};{_TABLES}".split(";\n"):
        connection.execute(_translated(statement))
    salt = secrets.token_bytes(16) if salt is None else salt
    connection.execute("INSERT INTO state VALUES (1, ?, ?)", (floor, salt))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


_REASONS = {
    **dict.fromkeys(
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "another process holds it: end the program that writes to it",
    ),
    "SQLITE_READONLY": "it may not be written to: give the service's user the right to write to "
    "the file and its folder",
    "SQLITE_PERM": "it may not be opened: give the service's user the right to read and write it",
    "SQLITE_CANTOPEN": "it cannot be opened: the folder must exist, and the service's user must "
    "have the right to write to it",
    "SQLITE_CORRUPT": "it is damaged: restore a snapshot, or move the file away to begin empty",
    "SQLITE_NOTADB": "it is no SQLite database: restore a snapshot, or move the file away to "
    "begin empty",
    "SQLITE_IOERR": "the disk does not answer as it should: look at the system's log",
}


def storage_error(path: Path, error: sqlite3.Error) -> StorageFull | StorageFailed:
    """SQLite's error in words.

    >>> storage_error(Path("events.db"), sqlite3.OperationalError("no such table: events"))
    StorageFailed('the event log events.db: no such table: events.')
    """
    name = getattr(error, "sqlite_errorname", None) or ""
    if name in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"):
        return storage_full(path)
    known = next((reason for code, reason in _REASONS.items() if name.startswith(code)), None)
    return StorageFailed(f"the event log {path}: {known or error}.")


LAST_SEQ = (
    "SELECT MAX(floor, COALESCE((SELECT MAX(seq) FROM events), 0), "
    "COALESCE((SELECT MAX(seq) FROM changes), 0)) FROM state"
)
"""An erasure is a change itself, so that no seq is lost with its events."""


@cache
def _translated(statement: str) -> str:
    for said, meant in (
        ("%s", "?"),
        ("user_id", "user"),
        ("item_id", "item"),
        ('COLLATE "C"', "COLLATE BINARY"),
        ("bigint", "INTEGER"),
        (" GENERATED ALWAYS AS IDENTITY", ""),
        ("uuid", "BLOB"),
        ("SELECT last_seq FROM state", LAST_SEQ),
        ("string_agg(value::text", "group_concat(quote(value)"),  # else 15 digits
        ("string_agg", "group_concat"),
        ("json_agg(json_build_array", "json_group_array(json_array"),
        ("::text", ""),
    ):
        statement = statement.replace(said, meant)
    return statement


@dataclass(frozen=True)
class SqliteDialect(Dialect):
    """A log in a file."""

    item_of_change = "json_extract(body, '$.id', '$.id')"  # of two paths it stays JSON, NUL and all
    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def open_reader(self) -> sqlite3.Connection:
        with self.in_words():
            connection = open_file(self.path, "ro")
            with closed_on_error(connection):
                connection.execute("PRAGMA query_only = ON")
                if not check_tables(connection, self.path):
                    raise no_tables(self)
        return connection

    @contextmanager
    def in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error

    def sql(self, statement: str) -> str:
        return _translated(statement)


class SqliteLog(Log):
    """A log in a SQLite file. Use it from one thread at a time; see `Log` for its promises.

    durability: "disk" flushes at each commit; "process" leaves that to the system. floor: seqs
    begin above it, whatever the log says (a model may know of seqs that a crash of the machine
    has taken from a log of durability "process").
    """

    def __init__(
        self, path: Path, durability: Literal["disk", "process"] = "disk", floor: int = 0
    ) -> None:
        self.path = Path(path)
        self._in_words = SqliteDialect(self.path).in_words
        with self._in_words(), ExitStack() as undo:
            self._lock = _hold(self.path)
            undo.callback(os.close, self._lock)
            self._connection = _open(self.path, durability)
            undo.callback(self._connection.close)
            self._execute("UPDATE state SET floor = ?1 WHERE floor < ?1", (floor,))
            (self._salt,) = self._execute("SELECT salt FROM state").fetchone()
            (self.last_seq,) = self._execute(LAST_SEQ).fetchone()
            (self._erased,) = self._execute("SELECT EXISTS (SELECT 1 FROM erased)").fetchone()
            undo.pop_all()
        self._written = 0
        self._truncate = True  # a kill may have come between an erasure and its checkpoint

    def write(self, batch: Batch) -> Written:
        try:
            with self._in_words():
                written = self._write(batch)
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise
        new = written.last_seq - self.last_seq
        self._written += 4 + 3 * (new + written.erased.events) + 2 * len(batch.exposures)
        self.last_seq = written.last_seq
        if batch.erase is not None or batch.forget is not None:
            self._truncate = True
            self._erased = True
        return written

    def _write(self, batch: Batch) -> Written:
        given = batch.distinct_events()
        known = self._known([*given])
        fresh = [row for key, row in given.items() if key not in known]
        values = []
        for seq, (key, user_hash, user, item, event) in enumerate(fresh, self.last_seq + 1):
            event_id, _, _, kind, value, ts, request_id = event
            values.append(
                (seq, key, event_id, user_hash, user, item, kind, float(value), ts, request_id)
            )
        if len(fresh) <= ROWS and batch.has_only_events:
            self._insert("events", values, "seq")  # one statement commits itself
            return batch.placed(self.last_seq, {row.key for row in fresh})
        self._execute("BEGIN IMMEDIATE")
        self._insert("events", values, "seq")
        self._insert("exposures", batch.exposures)
        erased = (0, 0) if batch.erase is None else self._erase(batch.erase)
        written = batch.placed(self.last_seq, {row.key for row in fresh}, erased)
        changes = [one for one in written.records if isinstance(one, Change)]
        self._insert("changes", [(seq, kind, encode_json(body)) for seq, kind, body in changes])
        if batch.forget is not None:
            self._execute("UPDATE state SET floor = ?", (written.last_seq,))
            self._execute("DELETE FROM changes WHERE kind = 'erase' AND seq <= ?", (batch.forget,))
        self._execute("COMMIT")
        return written

    def _known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these events the log has, or had before they were erased."""
        known: set[bytes] = set()
        for table in ("events", "erased") if self._erased else ("events",):
            for at in range(0, len(keys), ROWS):
                some = [*keys[at : at + ROWS]]
                some += [some[0]] * (_padded(len(some)) - len(some))
                marks = ", ".join("?" * len(some))
                found = self._execute(f"SELECT key FROM {table} WHERE key IN ({marks})", some)
                known.update(key for (key,) in found.fetchall())
        return known

    def _erase(self, user: Id) -> tuple[int, int]:
        """(events, exposures) that are gone; only hashes of the events' names stay for a time."""
        now, values = int(time.time()), user_columns(user, self._salt)
        whose = "WHERE user_key = ? AND user = ?"
        self._execute("DELETE FROM erased WHERE ts < ?", (now - RETRIES,))
        self._execute(
            f"INSERT OR REPLACE INTO erased SELECT key, ? FROM events {whose}", (now, *values)
        )
        events = self._execute(f"DELETE FROM events {whose}", values).rowcount
        return events, self._execute(f"DELETE FROM exposures {whose}", values).rowcount

    def _insert(self, table: str, rows: Sequence[Row], conflict: str = "") -> None:
        """Many rows a statement, and few statements that differ: each call of SQLite gives up the
        GIL, which a busy event loop gives back late. The first row is repeated to fill a statement,
        and stands in conflict with itself then."""
        for at in range(0, len(rows), ROWS):
            some = rows[at : at + ROWS]
            values = [value for row in some for value in row]
            values += some[0] * (_padded(len(some)) - len(some))
            self._execute(_insert_statement(table, _padded(len(some)), conflict), values)

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def tidy(self) -> bool:
        """Checkpoint, when it is time. After an erasure the WAL goes as well: it has old pages."""
        if self._truncate:
            self._truncate = not self._checkpoint("TRUNCATE")
        elif self._written >= CHECKPOINT:
            self._checkpoint("PASSIVE")
        return not self._truncate

    def _checkpoint(self, mode: str) -> bool:
        """Whether it could be done to the end: a reader may be in the way for a moment."""
        try:
            with self._in_words():
                self._execute("PRAGMA busy_timeout = 100")
                busy, pages, moved = self._execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                self._execute("PRAGMA shrink_memory")  # pages stay in the system's cache
                if not busy and mode == "PASSIVE" and pages > 4 * CHECKPOINT:
                    return self._checkpoint("RESTART")  # overlapping readers
        finally:
            with suppress(sqlite3.Error):
                self._execute(f"PRAGMA busy_timeout = {1000 * BUSY:.0f}")
        self._written = pages - moved if not busy else CHECKPOINT // 2
        return not busy

    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """Pages are copied a few at a time; what is written meanwhile, is written to the copy."""
        with new_copy(path) as copy:
            self._connection.backup(copy, pages=_PAGES, progress=lambda *_: between())

    def close(self) -> None:
        with suppress(XorecError):  # the next opening does it
            self._checkpoint("TRUNCATE")
        self._connection.close()
        os.close(self._lock)


@contextmanager
def new_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """A new database to copy a log into, without caring for a crash meanwhile; it takes the name
    `path` only if all went well."""
    with files.replacing(path) as temporary, SqliteDialect(path).in_words():
        copy = open_file(temporary, "rwc")
        try:
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            yield copy
        finally:
            copy.close()


def _padded(rows: int) -> int:
    """The next power of two."""
    return int(1 << (rows - 1).bit_length())


@cache
def _insert_statement(table: str, rows: int, conflict: str) -> str:
    columns = COLUMNS[table]
    marks = ", ".join([f"({', '.join('?' * len(columns))})"] * rows)
    target = f"CONFLICT ({conflict})" if conflict else "CONFLICT"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {marks} ON {target} DO NOTHING"


def _hold(path: Path) -> int:
    """The handle whose lock says that we write. It ends with the process."""
    lock = path.with_name(f"{path.name}-lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StorageFailed(files.cannot_write(lock, error)) from None
    if files.lock(handle) is False:
        os.close(handle)
        raise StorageFailed(
            f"the event log {path} is written by another process: one service a folder. "
            "End the other, or choose another folder."
        )
    return handle


def _open(path: Path, durability: str) -> sqlite3.Connection:
    new = not path.exists()
    connection = open_file(path, "rwc")
    with closed_on_error(connection):
        made = check_tables(connection, path)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StorageFailed(
                f"the event log {path}: its file system has no shared memory. Choose a local disk."
            )
        for setting in (
            f"synchronous = {'FULL' if durability == 'disk' else 'NORMAL'}",
            "wal_autocheckpoint = 0",  # `tidy` does it, after the answers
            "journal_size_limit = 67108864",
            "secure_delete = ON",
            "cache_size = -512",  # the system has the pages; 16 MB gained nothing
        ):
            connection.execute(f"PRAGMA {setting}")
        if not made:
            create_tables(connection)
    if new:
        with suppress(OSError):
            files.flush_folder(path.parent)
    return connection
