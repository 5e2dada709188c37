"""The tables of the log in SQLite, and how a connection to them is opened."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from xorec.core import files
from xorec.core.errors import XorecError
from xorec.service.log.base import StorageFailed, storage_error
from xorec.service.log.records import (
    Appended,
    Batch,
    Change,
    ChangeRow,
    Erased,
    Event,
    EventRow,
    Exposure,
    ExposureRow,
    Id,
    NewEvent,
    Record,
    Written,
    change_row,
    event_rows,
    exposure_row,
    id_text,
    user_key,
)

VERSION = 1
"""Of the tables: `PRAGMA user_version`."""
APPLICATION = 0x786F7265
"""`PRAGMA application_id`: "xore"."""
BUSY = 5.0
"""Seconds to wait for a lock that another program holds."""

_TABLES = """
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    floor INTEGER NOT NULL,
    salt BLOB NOT NULL
);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    event_id TEXT NOT NULL,
    user_key INTEGER NOT NULL,
    user TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    value REAL NOT NULL,
    ts INTEGER NOT NULL,
    request_id TEXT
);
CREATE UNIQUE INDEX events_key ON events (key);
CREATE INDEX events_user ON events (user_key);
CREATE INDEX events_ts ON events (ts, item);
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE exposures (
    number INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL,
    experiment TEXT NOT NULL,
    arm TEXT NOT NULL,
    user_key INTEGER NOT NULL,
    user TEXT NOT NULL,
    items TEXT NOT NULL,
    ts INTEGER NOT NULL
);
CREATE UNIQUE INDEX exposures_user ON exposures (user_key, experiment, request_id);
CREATE INDEX exposures_experiment ON exposures (experiment);
CREATE TABLE erased (key BLOB PRIMARY KEY, ts INTEGER NOT NULL) WITHOUT ROWID;
"""

LAST_SEQ = (
    "SELECT MAX(floor, COALESCE((SELECT MAX(seq) FROM events), 0), "
    "COALESCE((SELECT MAX(seq) FROM changes), 0)) FROM state"
)
"""The last place: an erasure is a change itself, so that none is lost with its events."""


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
    if version > VERSION:
        raise StorageFailed(
            f"the event log {path} is of version {version}, this xorec knows {VERSION}: "
            "use a newer xorec."
        )
    return bool(version)


def create_tables(
    connection: sqlite3.Connection, salt: bytes | None = None, floor: int = 0
) -> None:
    """Make the tables, all or none. salt: of keys that are there already; default: a new one."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    salt = secrets.token_bytes(16) if salt is None else salt
    connection.execute("INSERT INTO state VALUES (1, ?, ?)", (floor, salt))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


CHECKPOINT = 4_000
"""Pages in the WAL after which they are moved to the database."""
RETRIES = 30 * 24 * 3600
"""Seconds for which an erased event is still known as such: a late retry must not bring it back."""
ROWS = 1_024
"""Of one statement at most."""
_PAGES = 256
"""Of a step of a backup."""
_EVENTS = (
    "seq",
    "key",
    "event_id",
    "user_key",
    "user",
    "item",
    "kind",
    "value",
    "ts",
    "request_id",
)


class EventLog:
    """A log in a SQLite file. Use it from one thread at a time; see `Log` for its promises.

    durability: "disk" flushes at each commit; "process" leaves that to the system. floor: places
    begin above it, whatever the log says (a model may know of places that a crash of the machine
    has taken from a log of durability "process").
    """

    def __init__(
        self, path: Path, durability: Literal["disk", "process"] = "disk", floor: int = 0
    ) -> None:
        self.path = Path(path)
        self.durability = durability
        self._lock = _hold(self.path)
        try:
            self._connection = _open(self.path, durability)
            try:
                execute = self._connection.execute
                execute("UPDATE state SET floor = ?1 WHERE floor < ?1", (floor,))
                (self._salt,) = execute("SELECT salt FROM state").fetchone()
                (self.last_seq,) = execute(LAST_SEQ).fetchone()
                (self._erased,) = execute("SELECT EXISTS (SELECT 1 FROM erased)").fetchone()
            except BaseException:
                self._connection.close()
                raise
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, sqlite3.Error):
                raise storage_error(self.path, error) from error
            raise
        self._written = 0
        self._truncate = True  # a kill may have come between an erasure and its checkpoint

    def rows(self, events: Sequence[NewEvent]) -> list[EventRow]:
        return event_rows(events, self._salt)

    def exposure_row(self, exposure: Exposure) -> ExposureRow:
        return exposure_row(exposure, self._salt)

    def write(self, batch: Batch) -> Written:
        before = self.last_seq
        try:
            known = self._known([row.key for rows in batch.events for row in rows])
            appended, events, values = self._place(batch.events, known)
            if len(events) <= ROWS and batch.has_only_events:
                self._insert("events", _EVENTS, values, "seq")  # one statement commits itself
                written = Written(appended, [], None, [*events])
            else:
                self._execute("BEGIN IMMEDIATE")
                self._insert("events", _EVENTS, values, "seq")
                written = self._write_others(batch, appended, events)
                self._execute("COMMIT")
        except BaseException as error:
            self.last_seq = before
            with suppress(sqlite3.Error):
                self._connection.rollback()
            if isinstance(error, sqlite3.Error):
                raise storage_error(self.path, error) from error
            raise
        self._written += 4 + 3 * (self.last_seq - before) + 2 * len(batch.exposures)
        if batch.erase is not None or batch.forget is not None:
            self._truncate = True
            self._erased = True
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

    def _place(
        self, calls: Sequence[Sequence[EventRow]], known: set[bytes]
    ) -> tuple[list[Appended], list[Event], list[tuple[Any, ...]]]:
        """Give what is new its place. (What became of each call, the new events, their rows)"""
        appended: list[Appended] = []
        events: list[Event] = []
        values: list[tuple[Any, ...]] = []
        seq = self.last_seq
        for rows in calls:
            before = seq
            for key, user_key_, user, item, event in rows:
                if key in known:
                    continue
                known.add(key)
                seq += 1
                event_id, _, _, kind, value, ts, request_id = event
                events.append(Event(seq, *event))
                values.append(
                    (seq, key, event_id, user_key_, user, item, kind, float(value), ts, request_id)
                )
            appended.append(Appended(seq - before, len(rows) - (seq - before), seq))
        self.last_seq = seq
        return appended, events, values

    def _write_others(self, batch: Batch, appended: list[Appended], events: list[Event]) -> Written:
        """All but the events, inside a transaction."""
        records: list[Record] = [*events]
        changed: list[int] = []
        for rows in batch.changes:
            records += [self._change(row) for row in rows]
            changed.append(self.last_seq)
        self._insert("exposures", ExposureRow._fields, batch.exposures)
        erased = None
        if batch.erase is not None:
            count, exposures = self._erase(batch.erase)
            change = self._change(change_row("erase", {"user": batch.erase}))
            erased = Erased(count, exposures, change.seq)
            records.append(change)
        if batch.forget is not None:
            self._execute("UPDATE state SET floor = ?", (self.last_seq,))
            self._execute("DELETE FROM changes WHERE kind = 'erase' AND seq <= ?", (batch.forget,))
        return Written(appended, changed, erased, records)

    def _change(self, row: ChangeRow) -> Change:
        self.last_seq += 1
        self._execute("INSERT INTO changes VALUES (?, ?, ?)", (self.last_seq, row.kind, row.text))
        return Change(self.last_seq, row.kind, row.body)

    def _erase(self, user: Id) -> tuple[int, int]:
        """(events, exposures) that are gone; only hashes of the events' names stay for a time."""
        text, now = id_text(user), int(time.time())
        whose = "WHERE user_key = ? AND user = ?"
        values = (user_key(text, self._salt), text)
        self._execute("DELETE FROM erased WHERE ts < ?", (now - RETRIES,))
        self._execute(
            f"INSERT OR REPLACE INTO erased SELECT key, ? FROM events {whose}", (now, *values)
        )
        events = self._execute(f"DELETE FROM events {whose}", values).rowcount
        exposures = self._execute(f"DELETE FROM exposures {whose}", values).rowcount
        self._written += 3 * events
        return events, exposures

    def _insert(
        self,
        table: str,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
        conflict: str = "",
    ) -> None:
        """Many rows a statement, and few statements that differ: each call of SQLite gives up the
        GIL, which a busy event loop gives back late. The first row is repeated to fill a statement,
        and stands in conflict with itself then."""
        for at in range(0, len(rows), ROWS):
            some = rows[at : at + ROWS]
            values = [value for row in some for value in row]
            values += some[0] * (_padded(len(some)) - len(some))
            self._execute(_insert_statement(table, columns, _padded(len(some)), conflict), values)

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
            self._connection.execute("PRAGMA busy_timeout = 100")
            busy, pages, moved = self._connection.execute(
                f"PRAGMA wal_checkpoint({mode})"
            ).fetchone()
            self._connection.execute("PRAGMA shrink_memory")  # pages stay in the system's cache
            if not busy and mode == "PASSIVE" and pages > 4 * CHECKPOINT:
                return self._checkpoint("RESTART")  # readers by turns never let it begin anew
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute(f"PRAGMA busy_timeout = {1000 * BUSY:.0f}")
        self._written = pages - moved if not busy else CHECKPOINT // 2
        return not busy

    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """Pages are copied a few at a time; what is written meanwhile, is written to the copy."""
        with files.replacing(path) as temporary:
            copy = open_file(temporary, "rwc")
            try:
                copy.execute("PRAGMA journal_mode = OFF")
                copy.execute("PRAGMA synchronous = OFF")
                self._connection.backup(
                    copy, pages=_PAGES, progress=lambda status, left, pages: between()
                )
            except sqlite3.Error as error:
                raise storage_error(path, error) from error
            finally:
                copy.close()

    def close(self) -> None:
        with suppress(XorecError):  # the next opening does it
            self._checkpoint("TRUNCATE")
        self._connection.close()
        os.close(self._lock)


def _padded(rows: int) -> int:
    """The next power of two."""
    return int(1 << (rows - 1).bit_length())


@cache
def _insert_statement(table: str, columns: tuple[str, ...], rows: int, conflict: str) -> str:
    marks = ", ".join([f"({', '.join('?' * len(columns))})"] * rows)
    target = f" ({conflict})" if conflict else ""
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) VALUES {marks} ON CONFLICT{target} DO NOTHING"


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
    try:
        made = check_tables(connection, path)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StorageFailed(
                f"the event log {path}: its file system has no shared memory. Choose a local disk."
            )
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'disk' else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # `tidy` does it, after the answers
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(
            "PRAGMA cache_size = -512"
        )  # the system has the pages; 16 MB gained nothing
        if not made:
            create_tables(connection)
    except BaseException:
        connection.close()
        raise
    if new:
        _flush_folder(path.parent)
    return connection


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that cannot
            os.fsync(handle)
    finally:
        os.close(handle)
