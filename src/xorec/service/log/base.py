"""What every event log promises, and its errors: `tests/support/event_logs.py` tests each kind."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from xorec.core.errors import XorecError
from xorec.service.log.records import (
    Batch,
    Change,
    Event,
    EventRow,
    Exposure,
    Id,
    NewEvent,
    News,
    Outcome,
    Record,
    Row,
    Written,
    as_news,
    as_records,
    event_rows,
    exposure_row,
    ids_of,
    user_columns,
)

TABLES = """
CREATE TABLE events (
    seq bigint PRIMARY KEY,
    key uuid NOT NULL,
    event_id text NOT NULL,
    user_key bigint NOT NULL,
    user_id text NOT NULL,
    item_id text NOT NULL,
    kind text NOT NULL,
    value double precision NOT NULL,
    ts bigint NOT NULL,
    request_id text
);
CREATE UNIQUE INDEX events_key ON events (key);
CREATE TABLE changes (
    seq bigint PRIMARY KEY,
    kind text NOT NULL,
    body text NOT NULL
);
CREATE TABLE exposures (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id text NOT NULL,
    experiment text NOT NULL,
    arm text NOT NULL,
    user_key bigint NOT NULL,
    user_id text NOT NULL,
    items text NOT NULL,
    ts bigint NOT NULL
);
CREATE UNIQUE INDEX exposures_user ON exposures (user_key, experiment, request_id);
CREATE INDEX exposures_experiment ON exposures (experiment)
"""
"""Of both databases, in the words of PostgreSQL."""
RETRIES = 30 * 24 * 3600
"""Seconds for which an erased event is still known as such: a late retry must not bring it back.
For as long the records of erasures wait for a machine that is away."""


class StorageFull(XorecError):  # noqa: N818 (what happened, as the status 507 says it)
    """No room for the log: nothing of the call was written. The service answers 507."""


class StorageFailed(XorecError):  # noqa: N818
    """The log cannot be written or read now: nothing of the call was written. Answered by 503."""


def storage_full(where: object) -> StorageFull:
    return StorageFull(
        f"no space left for the event log {where}: free some, the next write then succeeds."
    )


def no_tables(where: object) -> StorageFailed:
    return StorageFailed(f"the event log {where} has no tables yet: start its writer first.")


def require_version(version: int, known: int, where: object) -> None:
    if version > known:
        raise StorageFailed(
            f"the event log {where} is of version {version}, this xorec knows {known}: "
            "use a newer xorec."
        )


@contextmanager
def closed_on_error(connection: Any) -> Iterator[None]:
    """Close a new connection if its set-up fails."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


class Log(ABC):
    """The writing side, for one thread at a time: `LogWriter`'s.

    An event whose `event_id` the log has, or had before an erasure, is a duplicate. Failures are
    StorageFull and StorageFailed, and the log can be used on after them.
    """

    last_seq: int
    """The last seq that was given; seqs ascend and none is given twice."""
    _salt: bytes
    """Of the hashes that events and users are found by."""

    def rows(self, events: Sequence[NewEvent]) -> list[EventRow]:
        """Events as rows, checked; from any thread."""
        return event_rows(events, self._salt)

    def exposure_row(self, exposure: Exposure) -> Row:
        """The same of an exposure."""
        return exposure_row(exposure, self._salt)

    @abstractmethod
    def write(self, batch: Batch) -> Written:
        """All of the batch, or nothing; when this returns it is as safe as the log's durability
        says: "disk" survives a crash of the machine, "process" of the process only."""

    def tidy(self) -> bool:
        """What need not be done before an answer. False: something is left, ask again soon."""
        return True

    @abstractmethod
    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """A consistent copy in SQLite; `between` is called often meanwhile and may write."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""


class Dialect(ABC):
    """A database that keeps a log, to read from, and what its SQL has of its own.

    Its text names the log in errors. Statements are written as PostgreSQL has them.
    """

    item_of_change: ClassVar[str]
    """What is equal for changes of one item, of their bodies (JSON)."""

    @abstractmethod
    def open_reader(self) -> Any:
        """A connection that only reads, to a log that is there."""

    @abstractmethod
    def in_words(self) -> AbstractContextManager[None]:
        """Errors of the driver become StorageFull and StorageFailed."""

    def is_gone(self, connection: Any) -> bool:
        """Whether an idle connection is better not used."""
        return False

    def sql(self, statement: str) -> str:
        """A statement in the words of this database."""
        return statement

    def kept_text(self, text: str | None) -> Any:
        """A text as the tables hold it."""
        return text

    def original(self, text: str | None) -> Any:
        """The text that was kept."""
        return text


_LAST = 2**63 - 1
_EVENT = "seq, event_id, user_id, item_id, kind, value, ts, request_id"
_EVENTS = f"SELECT {_EVENT}, NULL FROM events"
_AFTER = f"""
{_EVENTS} WHERE seq > %s
UNION ALL SELECT seq, NULL, NULL, NULL, kind, NULL, NULL, NULL, body FROM changes WHERE seq > %s
ORDER BY 1 LIMIT %s
"""
_NEWS = """
SELECT string_agg(seq::text, ','), string_agg(user_id::text, ','), string_agg(item_id::text, ','),
    string_agg(value::text, ','), string_agg(ts::text, ','), (
    SELECT json_agg(json_build_array(seq, kind, body))::text
    FROM (
        SELECT seq, kind, body FROM changes WHERE seq > %s AND (kind <> 'item' OR seq > %s)
        ORDER BY seq LIMIT %s
    ) AS c
) FROM (
    SELECT seq, user_id, item_id, value, ts FROM events WHERE seq > %s ORDER BY seq LIMIT %s
) AS e
"""
"""Columns of events as the insides of JSON arrays, in one row: made without Python's lock."""
_NEWEST_ITEMS = """
SELECT seq, body FROM changes WHERE seq IN (
    SELECT MAX(seq) FROM changes WHERE kind = 'item' GROUP BY {item}
) ORDER BY seq
"""
_OUTCOMES = """
SELECT arm, user_id, COUNT(*), SUM(CASE WHEN EXISTS (
    SELECT 1 FROM events AS e
    WHERE e.user_key = x.user_key AND e.user_id = x.user_id AND e.request_id = x.request_id
    AND (CAST(%s AS text) IS NULL OR e.kind = %s)
) THEN 1 ELSE 0 END) FROM exposures AS x WHERE experiment = %s GROUP BY arm, user_id
"""


class LogReader:
    """Questions to a log, from any thread of any process. It never writes.

    It has as many connections as threads ask at once. A question is one statement: it sees the log
    as it was at one moment, and keeps SQLite from starting the WAL again only while it runs. A
    connection that broke while it was idle (the server was restarted) is replaced unseen.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._idle: list[Any] = []
        self._closed = False
        self._mutex = threading.Lock()
        ((salt,),) = self.rows("SELECT salt FROM state")
        self._salt = bytes(salt)

    def after(self, seq: int, limit: int = _LAST) -> list[Record]:
        """Events and changes with seqs above `seq`, ascending."""
        return self._records(_AFTER, seq, seq, limit)

    def blocks(self, seq: int, size: int = 2_000) -> Iterator[list[Record]]:
        """All of `after`, a block at a time."""
        while records := self.after(seq, size):
            yield records
            seq = records[-1].seq

    def news(self, seq: int, limit: int, items_after: int = 0) -> News:
        """What `after` has, as who follows the log needs it: fast. At most `limit` of each kind,
        and nothing above what is left out. items_after: changes of items only above this seq."""
        ((*texts, changes),) = self.rows(_NEWS, seq, items_after, limit, seq, limit)
        return as_news(texts, changes, limit)

    def events_of(self, user: Id, k: int, before: int | None = None) -> list[Event]:
        """A user's events, newest first; before: seqs below this one."""
        return self._records(
            f"{_EVENTS} WHERE user_key = %s AND user_id = %s AND seq < %s "
            "ORDER BY seq DESC LIMIT %s",
            *(*user_columns(user, self._salt), _LAST if before is None else before, k),
        )

    def newest(self, k: int, before: int | None = None) -> list[Event]:
        """The last k events of all users, newest first; before: seqs below this one."""
        return self._records(
            f"{_EVENTS} WHERE seq < %s ORDER BY seq DESC LIMIT %s",
            *(_LAST if before is None else before, k),
        )

    def changes(self, kind: str, after: int = 0) -> list[Change]:
        """Changes of one kind, ascending."""
        rows = self.rows(
            "SELECT seq, body FROM changes WHERE seq > %s AND kind = %s ORDER BY seq", after, kind
        )
        return [Change(seq, kind, json.loads(body)) for seq, body in rows]

    def newest_items(self) -> list[Change]:
        """The last change of each item, ascending."""
        rows = self.rows(_NEWEST_ITEMS.format(item=self.dialect.item_of_change))
        return [Change(seq, "item", json.loads(body)) for seq, body in rows]

    def outcomes(self, experiment: str, kind: str | None = None) -> list[Outcome]:
        """Users of an experiment and what came of their lists. kind: of the events that count."""
        kept = self.dialect.kept_text
        rows = sorted(self.rows(_OUTCOMES, kept(kind), kept(kind), kept(experiment)))
        users = ids_of([row[1] for row in rows])
        return [
            Outcome(self.dialect.original(arm), user, lists, successes)
            for (arm, _, lists, successes), user in zip(rows, users, strict=True)
        ]

    def items_since(self, ts: int) -> list[tuple[Id, int, int]]:
        """(item, events, time of the last) since a time, most events first."""
        rows = self.rows(
            "SELECT item_id, COUNT(*), MAX(ts) FROM events WHERE ts >= %s GROUP BY item_id "
            'ORDER BY 2 DESC, 3 DESC, item_id COLLATE "C"',
            ts,
        )
        items = ids_of([row[0] for row in rows])
        return [(item, row[1], row[2]) for item, row in zip(items, rows, strict=True)]

    def count(self) -> int:
        ((count,),) = self.rows("SELECT COUNT(*) FROM events")
        return int(count)

    def last_seq(self) -> int:
        ((seq,),) = self.rows("SELECT last_seq FROM state")
        return int(seq)

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _records(self, statement: str, *values: Any) -> list[Any]:
        return as_records(self.rows(statement, *values), self.dialect.original)

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """What a statement gives, on a connection for this thread alone."""
        while True:
            connection, was_idle = self._take()
            try:
                with self.dialect.in_words():
                    rows: list[Row] = connection.execute(
                        self.dialect.sql(statement), values
                    ).fetchall()
            except BaseException as error:  # what failed is not used again
                is_broken = getattr(connection, "broken", False)
                connection.close()
                if was_idle and is_broken and isinstance(error, StorageFailed):
                    continue  # it broke while it was idle; others may have, too
                raise
            with self._mutex:
                if not self._closed:
                    self._idle.append(connection)
                    return rows
            connection.close()
            return rows

    def _take(self) -> tuple[Any, bool]:
        """A connection, and whether it was there before."""
        while True:
            with self._mutex:
                if self._closed:
                    raise StorageFailed(f"the event log {self.dialect} is closed.")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self.dialect.open_reader(), False
            if not self.dialect.is_gone(connection):
                return connection, True
            connection.close()
