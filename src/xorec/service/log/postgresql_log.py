"""PostgresqlLog: the writing side of a log in PostgreSQL, for the service of one machine.

Several machines write to one log, each by one connection. A transaction is one round trip: all its
statements are sent at once, behind the lock on the one row that knows the last place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xorec.core.addresses import Address
from xorec.core.progress import logger
from xorec.databases.postgresql import driver
from xorec.service.log import postgresql_statements as statements
from xorec.service.log.base import StorageFailed
from xorec.service.log.location import Machine
from xorec.service.log.postgresql import (
    Connection,
    connect,
    ensure_tables,
    hold_machine,
    in_words,
    is_gone,
)
from xorec.service.log.postgresql_copies import load_copy, write_copy
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

RETRIES = 30 * 24 * 3600
"""Seconds for which an erased event is still known as such, and for which the records of erasures
wait for a machine that is away."""
_WRITER = {
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "15s",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
"""Of the session. A plan that was made while the tables were small must not read them as a whole
when they have grown: all that the writer asks for is found by an index."""
_PATIENCE = 30.0
"""Seconds for the server to notice that the service before us has ended."""


class _Sent(NamedTuple):
    """Cursors with what a transaction has answered. erased: counts of events and exposures."""

    locked: Any
    placed: Any
    erased: list[Any]


class PostgresqlLog:
    """A log in PostgreSQL. Use it from one thread at a time; see `Log` for its promises.

    machine: who we are among those that share the log. floor: places begin above it. purged: no
    model file of this machine has anybody who was erased up to this place. copy: a log in SQLite
    that an empty one begins with.

    A connection that breaks is replaced at the next call. If it breaks while a commit is under way
    nobody can know whether it was done: the call fails by StorageFailed, and whoever repeats it is
    told of duplicates, or has what he wanted.
    """

    def __init__(
        self,
        address: Address,
        machine: Machine,
        durability: Literal["disk", "process"] = "disk",
        *,
        floor: int = 0,
        purged: int = 0,
        copy: Path | None = None,
    ) -> None:
        self.address, self.durability = address, durability
        self._machine = machine
        self._process = 0
        self._connection: Connection | None = self._open(wait=_PATIENCE)
        try:
            with in_words(address), self._connection.transaction():
                self._join(self._connection, floor, purged, copy)
        except BaseException:
            self._connection.close()
            raise
        machine.bind(self._log)

    def rows(self, events: Sequence[NewEvent]) -> list[EventRow]:
        return event_rows(events, self._salt)

    def exposure_row(self, exposure: Exposure) -> ExposureRow:
        return exposure_row(exposure, self._salt)

    def write(self, batch: Batch) -> Written:
        connection = self._connected()
        try:
            with in_words(self.address):
                return self._written(connection, batch)
        except BaseException:
            self._let_go(connection)
            raise

    def _written(self, connection: Connection, batch: Batch) -> Written:
        distinct: dict[bytes, EventRow] = {}
        for rows in batch.events:
            for row in rows:
                distinct.setdefault(row.key, row)
        given = [*distinct.values()]
        sent = self._send(connection, batch, given)
        (before,) = sent.locked.fetchone()
        fresh = [] if sent.placed is None else sent.placed.fetchone()[1]
        places = {given[number - 1].key: before + at for at, number in enumerate(fresh, 1)}
        appended, events = _appended(batch.events, places, before)
        seq = before + len(events)
        records: list[Record] = [*events]
        ends: list[int] = []
        for changes in batch.changes:
            records += [Change(seq + at, one.kind, one.body) for at, one in enumerate(changes, 1)]
            seq += len(changes)
            ends.append(seq)
        erased = None
        if batch.erase is not None:
            seq += 1
            counts = [cursor.fetchone()[0] for cursor in sent.erased]
            erased = Erased(counts[0], counts[1], seq)
            records.append(Change(seq, "erase", _erasure(batch.erase).body))
        self.last_seq = seq
        return Written(appended, ends, erased, records)

    def _send(self, connection: Connection, batch: Batch, given: list[EventRow]) -> _Sent:
        """The whole transaction, in one round trip. given: its events, each key once."""
        execute = connection.execute
        changes = [row for rows in batch.changes for row in rows]
        placed = None
        erased: list[Any] = []
        with connection.pipeline():
            execute("BEGIN")
            locked = execute(statements.LOCK)
            if given:
                placed = execute(statements.EVENTS, (statements.events_json(given),))
            if changes:
                execute(statements.CHANGES, (statements.changes_json(changes),))
            if batch.exposures:
                execute(statements.EXPOSURES, (statements.exposures_json(batch.exposures),))
            if batch.erase is not None:
                erased = self._erase(connection, batch.erase)
            if batch.forget is not None:
                execute(statements.PURGED, (batch.forget, self._machine.name))
                execute(statements.FORGET, (RETRIES,))
            done = execute("COMMIT")
        if done.statusmessage != "COMMIT":
            raise StorageFailed(
                f"the event log {self.address}: a commit was a {done.statusmessage}."
            )
        return _Sent(locked, placed, erased)

    def _erase(self, connection: Connection, user: Id) -> list[Any]:
        """Only hashes of the events' names stay for a time. Cursors with what was counted."""
        text, now = id_text(user), int(time.time())
        whose = (user_key(text, self._salt), text)
        connection.execute(statements.FORGET_OLD_KEYS, (now - RETRIES,))
        counted = [
            connection.execute(statements.ERASE_EVENTS, (*whose, now)),
            connection.execute(statements.ERASE_EXPOSURES, whose),
        ]
        connection.execute(statements.CHANGES, (statements.changes_json([_erasure(user)]),))
        return counted

    def tidy(self) -> bool:
        """The server does what there is to do."""
        return True

    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """A log in SQLite, as it was at one moment: by a connection of its own."""
        write_copy(self.address, path, between)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- connections

    def _connected(self) -> Connection:
        if self._connection is not None and is_gone(self._connection):
            self._let_go(self._connection)
        if self._connection is None:
            connection = self._open(wait=1.0)
            try:
                self._recognise(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _let_go(self, connection: Connection) -> None:
        """After a failure: what was not committed goes, and the next call connects anew."""
        self._connection = None
        with suppress(driver().Error):
            connection.close()

    def _open(self, wait: float) -> Connection:
        connection = connect(self.address, _WRITER)
        try:
            with in_words(self.address):
                self._require_durability(connection)
                ensure_tables(connection, self.address)
                self._take_place(connection, wait)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_durability(self, connection: Connection) -> None:
        """What the answers say must be so: a commit is flushed, or need not be."""
        ((fsync, commit),) = connection.execute(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
        ).fetchall()
        if self.durability == "process":
            connection.execute("SET synchronous_commit = off")
        elif fsync != "on":
            raise StorageFailed(
                f"the event log {self.address}: the server runs with fsync = off and may lose what "
                'it has said to keep: set it to on, or durability = "process".'
            )
        elif commit == "off":  # all others flush, and a standby may be waited for
            connection.execute("SET synchronous_commit = on")

    def _take_place(self, connection: Connection, wait: float) -> None:
        """One service a machine; the server may need a moment to see that another has ended."""
        end = time.monotonic() + wait
        while not hold_machine(connection, self._machine.name, self._process):
            if time.monotonic() > end:
                raise StorageFailed(
                    f"the event log {self.address} is written by another service of the name "
                    f"{self._machine.name}: end it, or, if {self._machine.path.parent} is a copy "
                    f"of its folder, remove {self._machine.path.name} here."
                )
            time.sleep(0.1)
        self._process = connection.info.backend_pid

    def _join(self, connection: Connection, floor: int, purged: int, copy: Path | None) -> None:
        """Take part: inside a transaction, in which nobody else can give places."""
        connection.execute("SELECT one FROM state FOR UPDATE")
        if copy is not None:
            load_copy(connection, self.address, copy)
        log, salt, last_seq, forgotten = _state(connection)
        self._machine.require(log, self.address)
        self._log, self._salt = log, salt
        known = connection.execute(
            "SELECT purged FROM machines WHERE machine = %s", (self._machine.name,)
        ).fetchall()
        if known and known[0][0] < forgotten:
            raise StorageFailed(
                f"{self._machine.path.parent} was away from the event log {self.address} for more "
                "than 30 days, and its models have users who were erased meanwhile: start with a "
                "new folder (--data) and a model that was fitted since."
            )
        if floor > last_seq:
            if last_seq:
                logger.warning(
                    "event log: the models know places up to %d, the log ends at %d",
                    floor,
                    last_seq,
                )
            connection.execute("UPDATE state SET last_seq = %s", (floor,))
        self.last_seq = max(floor, last_seq)
        connection.execute(statements.JOIN, (self._machine.name, purged))

    def _recognise(self, connection: Connection) -> None:
        """It must be the log that we know: another one has other places, and another salt."""
        with in_words(self.address):
            log, salt, _, _ = _state(connection)
        if (log, salt) != (self._log, self._salt):
            raise StorageFailed(
                f"the event log {self.address} is not the one that this service began with: "
                "start it again."
            )


def _state(connection: Connection) -> tuple[str, bytes, int, int]:
    """(name of the log, salt, last place, place up to which erasures are forgotten)"""
    ((log, salt, last_seq, forgotten),) = connection.execute(
        "SELECT log::text, salt, last_seq, forgotten FROM state"
    ).fetchall()
    return log, bytes(salt), last_seq, forgotten


def _erasure(user: Id) -> ChangeRow:
    return change_row("erase", {"user": user})


def _appended(
    calls: Sequence[Sequence[EventRow]], places: dict[bytes, int], seq: int
) -> tuple[list[Appended], list[Event]]:
    """What became of each call, and the new events. places: of new events by their keys, taken by
    the first that has the key; seq: the last place before."""
    appended: list[Appended] = []
    events: list[Event] = []
    for rows in calls:
        before = seq
        for row in rows:
            place = places.pop(row.key, None)
            if place is not None:
                events.append(Event(place, *row.event))
                seq = place
        appended.append(Appended(seq - before, len(rows) - (seq - before), seq))
    return appended, events
