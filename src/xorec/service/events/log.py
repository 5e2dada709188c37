"""EventLog: the one connection that writes to the SQLite log, and checkpoints it.

SQLite before 3.51.3 may damage a database when two connections write or checkpoint at the same
time. So everybody else reads only (`LogReader`), and a lock file keeps a second writer away.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xorec.core import files
from xorec.service.events import schema
from xorec.service.events.errors import StorageFailed, storage_error
from xorec.service.events.records import Appended, Change, Erased, Event, Exposure, Id, NewEvent
from xorec.service.events.rows import (
    ChangeRow,
    EventRow,
    ExposureRow,
    change_row,
    event_rows,
    exposure_row,
    id_text,
    user_key,
)

CHECKPOINT = 4_000
"""Pages in the WAL after which they are moved to the database."""
RETRIES = 30 * 24 * 3600
"""Seconds for which an erased event is still known as such: a late retry must not bring it back."""
_PAGES = 256
"""Of a step of a backup."""
_COLUMNS = "seq, key, event_id, user_key, user, item, kind, value, ts, request_id"
_WIDTH = 10
_CHUNKS = (256, 64, 16, 4, 1)
"""Rows of one statement. Each call of SQLite gives up the GIL, and a busy event loop gives it back
late: many rows a call, and few different statements."""


class _State(NamedTuple):
    last_seq: int
    events: int


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
                last, count, self._salt = execute(
                    "SELECT last_seq, events, salt FROM state"
                ).fetchone()
                (self._erased,) = execute("SELECT COUNT(*) FROM erased").fetchone()
            except BaseException:
                self._connection.close()
                raise
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, sqlite3.Error):
                raise storage_error(self.path, error) from error
            raise
        self._state = _State(max(last, floor), count)
        self._written = 0
        self._truncate = True  # a kill may have come between an erasure and its checkpoint

    @property
    def last_seq(self) -> int:
        return self._state.last_seq

    def rows(self, events: Sequence[NewEvent]) -> list[EventRow]:
        return event_rows(events, self._salt)

    def exposure_row(self, exposure: Exposure) -> ExposureRow:
        return exposure_row(exposure, self._salt)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        before, erased = self._state, self._erased
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            if self._state != before:
                self._connection.execute("UPDATE state SET last_seq = ?, events = ?", self._state)
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._state, self._erased = before, erased
            with suppress(sqlite3.Error):
                self._connection.rollback()
            if isinstance(error, sqlite3.Error):
                raise storage_error(self.path, error) from error
            raise
        self._written += 5 + 3 * (self._state.last_seq - before.last_seq)

    def append(self, calls: Sequence[Sequence[EventRow]]) -> tuple[list[Appended], list[Event]]:
        known = self._known([row.key for rows in calls for row in rows])
        seq = self.last_seq
        new: list[Event] = []
        values: list[Any] = []
        answers: list[Appended] = []
        for rows in calls:
            before = seq
            for key, user_key_, user, item, event in rows:
                if key in known:
                    continue
                known.add(key)
                seq += 1
                new.append(Event(seq, *event))
                event_id, _, _, kind, value, ts, request_id = event
                values += (seq, key, event_id, user_key_, user, item)
                values += (kind, float(value), ts, request_id)
            accepted = seq - before
            answers.append(Appended(accepted, len(rows) - accepted, seq))
        for rows_ in _chunks(len(new)):
            self._connection.execute(
                _insert(len(rows_)), values[rows_.start * _WIDTH : rows_.stop * _WIDTH]
            )
        self._state = _State(seq, self._state.events + len(new))
        return answers, new

    def _known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these events the log has, or had before they were erased."""
        known: set[bytes] = set()
        for table in ("events", "erased") if self._erased else ("events",):
            for rows in _chunks(len(keys)):
                marks = ", ".join("?" * len(rows))
                found = self._connection.execute(
                    f"SELECT key FROM {table} WHERE key IN ({marks})", keys[rows.start : rows.stop]
                )
                known.update(key for (key,) in found)
        return known

    def change(self, row: ChangeRow) -> Change:
        seq = self.last_seq + 1
        self._connection.execute("INSERT INTO changes VALUES (?, ?, ?)", (seq, row.kind, row.text))
        self._state = self._state._replace(last_seq=seq)
        return Change(seq, row.kind, row.body)

    def expose(self, rows: Sequence[ExposureRow]) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO exposures "
            "(request_id, experiment, arm, user_key, user, items, ts) VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def erase(self, user: Id) -> tuple[Erased, Change]:
        text = id_text(user)
        whose = (user_key(text, self._salt), text)
        execute, now = self._connection.execute, int(time.time())
        execute("DELETE FROM erased WHERE ts < ?", (now - RETRIES,))
        execute(
            "INSERT OR REPLACE INTO erased SELECT key, ? FROM events "
            "WHERE user_key = ? AND user = ?",
            (now, *whose),
        )
        events = execute("DELETE FROM events WHERE user_key = ? AND user = ?", whose).rowcount
        exposures = execute("DELETE FROM exposures WHERE user_key = ? AND user = ?", whose).rowcount
        self._state = self._state._replace(events=self._state.events - events)
        self._erased += events
        change = self.change(change_row("erase", {"user": user}))
        self._truncate = True
        self._written += events + exposures
        return Erased(events, exposures, change.seq), change

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
            if not busy and mode == "PASSIVE" and pages > 4 * CHECKPOINT:
                return self._checkpoint("RESTART")  # readers by turns never let it begin anew
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout = 5000")
        self._written = pages - moved if not busy else CHECKPOINT // 2
        return not busy

    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """Pages are copied a few at a time; what is written meanwhile, is written to the copy."""
        with files.replacing(path) as temporary:
            copy = schema.connect(temporary, "rwc")
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
        with suppress(StorageFailed):
            self._checkpoint("TRUNCATE")
        self._connection.close()
        os.close(self._lock)


def _chunks(count: int) -> Iterator[range]:
    """Rows, in ranges of the sizes that statements have."""
    at = 0
    for size in _CHUNKS:
        while count - at >= size:
            yield range(at, at + size)
            at += size


@cache
def _insert(rows: int) -> str:
    one = f"({', '.join('?' * _WIDTH)})"
    return f"INSERT INTO events ({_COLUMNS}) VALUES {', '.join([one] * rows)}"


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
    connection = schema.connect(path, "rwc")
    try:
        made = schema.check(connection, path)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StorageFailed(
                f"the event log {path}: its file system has no shared memory. Choose a local disk."
            )
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'disk' else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # `tidy` does it, after the answers
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -16384")
        if not made:
            schema.create(connection)
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
