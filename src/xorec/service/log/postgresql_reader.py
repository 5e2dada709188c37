"""PostgresqlReader: questions to the log in PostgreSQL, from any thread of any process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from xorec.core.addresses import Address
from xorec.databases.postgresql import driver
from xorec.service.log.base import Outcome, StorageFailed
from xorec.service.log.postgresql import (
    Connection,
    connect,
    find_tables,
    in_words,
    is_gone,
)
from xorec.service.log.postgresql_statements import kept_text, original
from xorec.service.log.records import (
    Change,
    Event,
    Exposure,
    Id,
    News,
    Record,
    Row,
    as_changes,
    as_events,
    as_news,
    as_records,
    event_key,
    id_text,
    ids_of,
    user_key,
)

T = TypeVar("T")
READER = {
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
}
"""Of a session: it never writes, and a transaction sees one moment."""
EVENT = "seq, event_id, user_id, item_id, kind, value, ts, request_id"
_EVENTS = f"SELECT {EVENT} FROM events WHERE seq > %s ORDER BY seq LIMIT %s"
_CHANGES = "SELECT seq, kind, body FROM changes WHERE seq > %s ORDER BY seq LIMIT %s"
_NEWS = f"""
SELECT string_agg(seq::text, ','), string_agg(user_id, ','), string_agg(item_id, ','),
       string_agg(value::text, ','), string_agg(ts::text, ','),
       (SELECT json_agg(json_build_array(seq, kind, body) ORDER BY seq)::text FROM ({_CHANGES}) AS c)
FROM (SELECT seq, user_id, item_id, value, ts FROM events WHERE seq > %s ORDER BY seq LIMIT %s) AS e
"""  # noqa: E501
"""Both tables at one moment; columns of events as the insides of JSON arrays, in one row."""
_LAST = 2**63 - 1


class PostgresqlReader:
    """Connections that only read, as many as threads ask at once. See `Reader` for its promises.

    A connection that was idle and has broken (the server was started anew) is replaced unseen.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._closed = False
        self._mutex = threading.Lock()
        ((salt,),) = self._rows("SELECT salt FROM state")
        self._salt = bytes(salt)

    def after(self, seq: int, limit: int | None = None) -> list[Record]:
        def ask(connection: Connection) -> tuple[list[Row], list[Row]]:
            with connection.transaction():
                events = connection.execute(_EVENTS, (seq, limit)).fetchall()
                return events, connection.execute(_CHANGES, (seq, limit)).fetchall()

        events, changes = self._ask(ask)
        return as_records(events_of_rows(events), as_changes(changes), limit)

    def news(self, seq: int, limit: int) -> News:
        ((*texts, changes),) = self._rows(_NEWS, (seq, limit, seq, limit))
        return as_news(texts, as_changes(json.loads(changes or "[]")), limit)

    def blocks(self, seq: int, size: int = 2_000) -> Iterator[list[Record]]:
        while records := self.after(seq, size):
            yield records
            seq = records[-1].seq

    def events_of(self, user: Id, k: int, before: int | None = None) -> list[Event]:
        text = id_text(user)
        rows = self._rows(
            f"SELECT {EVENT} FROM events WHERE user_key = %s AND user_id = %s AND seq < %s "
            "ORDER BY seq DESC LIMIT %s",
            (user_key(text, self._salt), text, _LAST if before is None else before, k),
        )
        return events_of_rows(rows)

    def newest(self, k: int, before: int | None = None) -> list[Event]:
        rows = self._rows(
            f"SELECT {EVENT} FROM events WHERE seq < %s ORDER BY seq DESC LIMIT %s",
            (_LAST if before is None else before, k),
        )
        return events_of_rows(rows)

    def event(self, event_id: str) -> Event | None:
        key = event_key(event_id, self._salt).hex()
        rows = self._rows(f"SELECT {EVENT} FROM events WHERE key = %s::uuid", (key,))
        return events_of_rows(rows)[0] if rows else None

    def changes(self, kind: str, after: int = 0) -> list[Change]:
        rows = self._rows(
            "SELECT seq, kind, body FROM changes WHERE seq > %s AND kind = %s ORDER BY seq",
            (after, kind),
        )
        return as_changes(rows)

    def exposures(self, experiment: str) -> list[Exposure]:
        rows = self._rows(
            "SELECT request_id, experiment, arm, user_id, items, ts FROM exposures "
            "WHERE experiment = %s ORDER BY number",
            (kept_text(experiment),),
        )
        return [
            Exposure(
                original(request_id),
                original(name),
                original(arm),
                json.loads(user),
                json.loads(items),
                ts,
            )
            for request_id, name, arm, user, items, ts in rows
        ]

    def outcomes(self, experiment: str, kind: str | None = None) -> list[Outcome]:
        wanted = None if kind is None else kept_text(kind)
        rows = self._rows(
            "SELECT arm, user_id, count(*), count(*) FILTER (WHERE EXISTS ("
            "SELECT FROM events AS e WHERE e.user_key = x.user_key AND e.user_id = x.user_id "
            "AND e.request_id = x.request_id AND (%s::text IS NULL OR e.kind = %s))) "
            "FROM exposures AS x WHERE experiment = %s GROUP BY arm, user_id "
            'ORDER BY arm COLLATE "C", user_id COLLATE "C"',
            (wanted, wanted, kept_text(experiment)),
        )
        users = ids_of([row[1] for row in rows])
        return [
            Outcome(original(arm), user, lists, successes)
            for (arm, _, lists, successes), user in zip(rows, users, strict=True)
        ]

    def items_since(self, ts: int) -> list[tuple[Id, int, int]]:
        rows = self._rows(
            "SELECT item_id, count(*), max(ts) FROM events WHERE ts >= %s GROUP BY item_id "
            'ORDER BY 2 DESC, 3 DESC, item_id COLLATE "C"',
            (ts,),
        )
        items = ids_of([row[0] for row in rows])
        return [(item, row[1], row[2]) for item, row in zip(items, rows, strict=True)]

    def kinds(self) -> dict[str, int]:
        rows = self._rows(
            'SELECT kind, count(*) FROM events GROUP BY kind ORDER BY kind COLLATE "C"'
        )
        return {original(kind): count for kind, count in rows}

    def span(self) -> tuple[int, int] | None:
        ((first, last),) = self._rows("SELECT min(ts), max(ts) FROM events")
        return None if first is None else (first, last)

    def count(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM events")
        return int(count)

    def last_seq(self) -> int:
        ((seq,),) = self._rows("SELECT last_seq FROM state")
        return int(seq)

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # -- connections

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._ask(lambda connection: connection.execute(statement, values).fetchall())

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """The answer on a connection for this thread alone."""
        while True:
            connection, was_idle = self._take()
            try:
                with in_words(self.address):
                    try:
                        answer = question(connection)
                    except driver().OperationalError:
                        if not was_idle or not connection.broken:
                            raise
                        connection.close()
                        continue  # it broke while nobody looked; others may have, too
            except BaseException:  # what failed is not used again
                connection.close()
                raise
            self._put_back(connection)
            return answer

    def _take(self) -> tuple[Connection, bool]:
        """A connection, and whether it was there before."""
        while True:
            with self._mutex:
                if self._closed:
                    raise StorageFailed(f"the event log {self.address} is closed.")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return open_for_reading(self.address), False
            if not is_gone(connection):
                return connection, True
            connection.close()

    def _put_back(self, connection: Connection) -> None:
        with self._mutex:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def open_for_reading(address: Address) -> Connection:
    """A connection that only reads, to a log that is there."""
    connection = connect(address, READER)
    try:
        with in_words(address):
            if not find_tables(connection, address):
                raise StorageFailed(
                    f"the event log {address} has no tables yet: start its writer first."
                )
    except BaseException:
        connection.close()
        raise
    return connection


def events_of_rows(rows: Sequence[Row]) -> list[Event]:
    """Rows of EVENT."""
    events = as_events(rows)
    if not any("\\" in text for row in rows for text in (row[1], row[4], row[7]) if text):
        return events
    return [
        one._replace(
            event_id=original(one.event_id),
            kind=original(one.kind),
            request_id=None if one.request_id is None else original(one.request_id),
        )
        for one in events
    ]
