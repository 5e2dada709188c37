"""LogReader: questions to the SQLite log, from any thread of any process. It never writes."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xorec.service.log.base import Outcome, StorageFailed, storage_error
from xorec.service.log.records import (
    Change,
    Event,
    Exposure,
    Id,
    News,
    Record,
    as_changes,
    as_events,
    as_news,
    as_records,
    event_key,
    id_text,
    ids_of,
    user_key,
)
from xorec.service.log.sqlite import LAST_SEQ, check_tables, open_file

_EVENT = "seq, event_id, user, item, kind, value, ts, request_id"
_CHANGES = "SELECT seq, kind, body FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"
_COLUMNS = (
    "SELECT group_concat(seq), group_concat(user), group_concat(item), "
    "group_concat(quote(value)), group_concat(ts) FROM "
    "(SELECT seq, user, item, value, ts FROM events WHERE seq > ? ORDER BY seq LIMIT ?)"
)
"""Each column as the inside of a JSON array: one row, which SQLite makes without Python's lock."""


class LogReader:
    """Read-only connections, as many as threads ask at once. See `Reader` for its promises.

    Every question is one short transaction, so that nobody keeps the WAL from beginning anew.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._mutex = threading.Lock()
        with self._connection() as connection:
            (self._salt,) = connection.execute("SELECT salt FROM state").fetchone()

    def after(self, seq: int, limit: int | None = None) -> list[Record]:
        most = -1 if limit is None else limit
        with self._connection() as connection:  # both tables as they were at one moment
            events = connection.execute(
                f"SELECT {_EVENT} FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (seq, most)
            ).fetchall()
            changes = connection.execute(_CHANGES, (seq, most)).fetchall()
        return as_records(as_events(events), as_changes(changes), limit)

    def news(self, seq: int, limit: int) -> News:
        with self._connection() as connection:
            texts = connection.execute(_COLUMNS, (seq, limit)).fetchone()
            changes = connection.execute(_CHANGES, (seq, limit)).fetchall()
        return as_news(texts, as_changes(changes), limit)

    def blocks(self, seq: int, size: int = 2_000) -> Iterator[list[Record]]:
        while records := self.after(seq, size):
            yield records
            seq = records[-1].seq

    def events_of(self, user: Id, k: int, before: int | None = None) -> list[Event]:
        text = id_text(user)
        rows = self._rows(
            f"SELECT {_EVENT} FROM events WHERE user_key = ? AND user = ? AND seq < ? "
            "ORDER BY seq DESC LIMIT ?",
            (user_key(text, self._salt), text, 2**63 - 1 if before is None else before, k),
        )
        return as_events(rows)

    def newest(self, k: int, before: int | None = None) -> list[Event]:
        rows = self._rows(
            f"SELECT {_EVENT} FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?",
            (2**63 - 1 if before is None else before, k),
        )
        return as_events(rows)

    def event(self, event_id: str) -> Event | None:
        rows = self._rows(
            f"SELECT {_EVENT} FROM events WHERE key = ?", (event_key(event_id, self._salt),)
        )
        return as_events(rows)[0] if rows else None

    def changes(self, kind: str, after: int = 0) -> list[Change]:
        rows = self._rows(
            "SELECT seq, kind, body FROM changes WHERE seq > ? AND kind = ? ORDER BY seq",
            (after, kind),
        )
        return as_changes(rows)

    def exposures(self, experiment: str) -> list[Exposure]:
        rows = self._rows(
            "SELECT request_id, experiment, arm, user, items, ts FROM exposures "
            "WHERE experiment = ? ORDER BY number",
            (experiment,),
        )
        return [
            Exposure(request_id, name, arm, json.loads(user), json.loads(items), ts)
            for request_id, name, arm, user, items, ts in rows
        ]

    def outcomes(self, experiment: str, kind: str | None = None) -> list[Outcome]:
        rows = self._rows(
            "SELECT arm, user, COUNT(*), SUM(EXISTS (SELECT 1 FROM events AS e "
            "WHERE e.user_key = x.user_key AND e.user = x.user AND e.request_id = x.request_id "
            "AND (:kind IS NULL OR e.kind = :kind))) "
            "FROM exposures AS x WHERE experiment = :experiment GROUP BY arm, user",
            {"experiment": experiment, "kind": kind},
        )
        users = ids_of([row[1] for row in rows])
        return [
            Outcome(arm, user, lists, successes)
            for (arm, _, lists, successes), user in zip(rows, users, strict=True)
        ]

    def items_since(self, ts: int) -> list[tuple[Id, int, int]]:
        rows = self._rows(
            "SELECT item, COUNT(*), MAX(ts) FROM events WHERE ts >= ? GROUP BY item "
            "ORDER BY 2 DESC, 3 DESC, 1",
            (ts,),
        )
        items = ids_of([row[0] for row in rows])
        return [(item, row[1], row[2]) for item, row in zip(items, rows, strict=True)]

    def kinds(self) -> dict[str, int]:
        return dict(self._rows("SELECT kind, COUNT(*) FROM events GROUP BY kind ORDER BY kind"))

    def span(self) -> tuple[int, int] | None:
        ((first, last),) = self._rows(
            "SELECT (SELECT MIN(ts) FROM events), (SELECT MAX(ts) FROM events)"
        )
        return None if first is None else (first, last)

    def count(self) -> int:
        ((count,),) = self._rows("SELECT COUNT(*) FROM events")
        return int(count)

    def last_seq(self) -> int:
        ((seq,),) = self._rows(LAST_SEQ)
        return int(seq)

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _rows(self, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for this thread alone, in a transaction."""
        connection = None
        try:
            with self._mutex:
                if self._closed:
                    raise StorageFailed(f"the event log {self.path} is closed.")
                connection = self._idle.pop() if self._idle else None
            connection = connection or _open(self.path)
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
            with self._mutex:
                if not self._closed:
                    self._idle.append(connection)
                    connection = None
        except sqlite3.Error as error:
            raise storage_error(self.path, error) from error
        finally:
            if connection is not None:  # what failed is not used again
                connection.close()


def _open(path: Path) -> sqlite3.Connection:
    connection = open_file(path, "ro")
    try:
        connection.execute("PRAGMA query_only = ON")
        if not check_tables(connection, path):
            raise StorageFailed(f"the event log {path} has no tables yet: start its writer first.")
    except BaseException:
        connection.close()
        raise
    return connection
