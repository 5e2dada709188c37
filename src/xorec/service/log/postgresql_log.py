"""PostgresqlLog: the writing side of a log in PostgreSQL, for the service of one machine.

Several machines write to one log, each by one connection. A transaction is one round trip: all its
statements are sent at once. The first one locks the one row of `state` until the commit is done and
visible: so seqs become visible in their order, also those that other machines give.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from xorec.core.addresses import Address
from xorec.core.progress import logger
from xorec.databases.postgresql import driver
from xorec.service.log.base import RETRIES, Log, StorageFailed, closed_on_error
from xorec.service.log.location import Machine
from xorec.service.log.postgresql import (
    LOCK,
    Connection,
    PostgresqlDialect,
    connect,
    ensure_tables,
    load_copy,
    write_copy,
)
from xorec.service.log.records import Batch, EventRow, Row, Written, encode_json, user_columns

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

_LAST_SEQ = "SELECT last_seq FROM state FOR UPDATE"
"""Each statement after it sees all that others have committed before it was granted."""
_EVENTS = """
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (json_to_recordset(%s::json) AS (
        a uuid, b text, c bigint, d text, e text, f text, g double precision, h bigint, i text
    )) WITH ORDINALITY AS one (
        key, event_id, user_key, user_id, item_id, kind, value, ts, request_id, number
    )
), fresh AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY number) AS place FROM given
    WHERE NOT EXISTS (SELECT FROM events WHERE events.key = given.key)
    AND NOT EXISTS (SELECT FROM erased WHERE erased.key = given.key)
), kept AS (
    INSERT INTO events
    SELECT last_seq + place, key, event_id, user_key, user_id, item_id, kind, value, ts, request_id
    FROM fresh, state
), moved AS (
    UPDATE state SET last_seq = last_seq + (SELECT count(*) FROM fresh)
)
SELECT ARRAY(SELECT number FROM fresh ORDER BY number)
"""
"""Tells which of the given events are new: they get the next seqs in order."""
_CHANGES = """
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (json_to_recordset(%s::json) AS (a text, b text))
    WITH ORDINALITY AS one (kind, body, place)
), kept AS (
    INSERT INTO changes SELECT last_seq + place, kind, body FROM given, state
)
UPDATE state SET last_seq = last_seq + (SELECT count(*) FROM given)
"""
_EXPOSURES = """
INSERT INTO exposures (request_id, experiment, arm, user_key, user_id, items, ts)
SELECT * FROM json_to_recordset(%s::json) AS (
    a text, b text, c text, d bigint, e text, f text, g bigint
) ON CONFLICT DO NOTHING
"""
_ERASE_EVENTS = """
WITH gone AS (
    DELETE FROM events WHERE user_key = %s AND user_id = %s RETURNING key
), kept AS (
    INSERT INTO erased SELECT key, %s FROM gone ON CONFLICT (key) DO UPDATE SET ts = excluded.ts
)
SELECT count(*) FROM gone
"""
_ERASE_EXPOSURES = """
WITH gone AS (DELETE FROM exposures WHERE user_key = %s AND user_id = %s RETURNING number)
SELECT count(*) FROM gone
"""
_FORGET = """
WITH everywhere AS (
    SELECT min(purged) AS seq FROM machines WHERE seen > now() - %s * interval '1 second'
), gone AS (
    DELETE FROM changes USING everywhere
    WHERE changes.kind = 'erase' AND changes.seq <= everywhere.seq
)
UPDATE state SET forgotten = greatest(forgotten, everywhere.seq) FROM everywhere
"""
"""Records of erasures go that every machine has carried out."""


class PostgresqlLog(Log):
    """A log in PostgreSQL. Use it from one thread at a time; see `Log` for its promises.

    machine: who we are among those that share the log. floor: seqs begin above it. purged: no
    model file of this machine has a user who was erased up to this seq. copy: a log in SQLite
    that an empty one begins with.

    A connection that breaks is replaced at the next call. If it breaks during a commit, it is not
    known whether that was done: the call fails by StorageFailed, and a client may repeat it: the
    answer counts duplicates where it was.
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
        self.address = address
        self._dialect = PostgresqlDialect(address)
        self._durability, self._machine = durability, machine
        self._process = 0
        self._connection: Connection | None = self._open(wait=_PATIENCE)
        connection = self._connection
        with closed_on_error(connection), self._dialect.in_words(), connection.transaction():
            self._join(connection, floor, purged, copy)
        machine.bind(self._log)

    def write(self, batch: Batch) -> Written:
        connection = self._connected()
        try:
            with self._dialect.in_words():
                written = self._write(connection, batch)
        except BaseException:
            self._let_go(connection)
            raise
        self.last_seq = written.last_seq
        return written

    def _write(self, connection: Connection, batch: Batch) -> Written:
        """The whole transaction, in one round trip."""
        given = batch.distinct_events()
        changes = [one for call in (*batch.changes, batch.erasure()) for one in call]
        execute, placed = connection.execute, None
        erased: list[Any] = []
        with connection.pipeline():
            execute("BEGIN")
            locked = execute(_LAST_SEQ)
            if given:
                placed = execute(_EVENTS, (_recordset(map(self._event_row, given.values())),))
            if batch.exposures:
                execute(_EXPOSURES, (_recordset(map(self._exposure_row, batch.exposures)),))
            if batch.erase is not None:  # only hashes of the events' names stay for a time
                now, whose = int(time.time()), user_columns(batch.erase, self._salt)
                execute("DELETE FROM erased WHERE ts < %s", (now - RETRIES,))
                erased = [execute(_ERASE_EVENTS, (*whose, now)), execute(_ERASE_EXPOSURES, whose)]
            if changes:
                execute(_CHANGES, (_recordset((c.kind, encode_json(c.body)) for c in changes),))
            if batch.forget is not None:
                execute(
                    "UPDATE machines SET purged = greatest(purged, %s), seen = now() "
                    "WHERE machine = %s",
                    (batch.forget, self._machine.name),
                )
                execute(_FORGET, (RETRIES,))
            done = execute("COMMIT")
        if done.statusmessage != "COMMIT":
            raise StorageFailed(
                f"the event log {self.address}: a commit was a {done.statusmessage}."
            )
        keys, (before,) = [*given], locked.fetchone()
        fresh = [] if placed is None else placed.fetchone()[0]
        events, exposures = [cursor.fetchone()[0] for cursor in erased] or (0, 0)
        return batch.placed(before, {keys[number - 1] for number in fresh}, (events, exposures))

    def _event_row(self, row: EventRow) -> Row:
        kept, (event_id, _, _, kind, value, ts, request_id) = self._dialect.kept_text, row.event
        texts = (kept(kind), float(value), ts, kept(request_id))
        return (row.key.hex(), kept(event_id), row.user_key, row.user, row.item, *texts)

    def _exposure_row(self, row: Row) -> Row:
        return (*map(self._dialect.kept_text, row[:3]), *row[3:])

    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """A log in SQLite, as it was at one moment: by a connection of its own."""
        write_copy(self._dialect, path, between)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- connections

    def _connected(self) -> Connection:
        if self._connection is not None and self._dialect.is_gone(self._connection):
            self._let_go(self._connection)
        if self._connection is None:
            connection = self._open(wait=1.0)
            with self._dialect.in_words(), closed_on_error(connection):
                if _state(connection)[:2] != (self._log, self._salt):  # other seqs, other hashes
                    raise StorageFailed(
                        f"the event log {self.address} is not the one that this service began "
                        "with: start it again."
                    )
            self._connection = connection
        return self._connection

    def _let_go(self, connection: Connection) -> None:
        """After a failure: what was not committed goes, and the next call connects again."""
        self._connection = None
        with suppress(driver().Error):
            connection.close()

    def _open(self, wait: float) -> Connection:
        connection = connect(self.address, _WRITER)
        with self._dialect.in_words(), closed_on_error(connection):
            self._require_durability(connection)
            ensure_tables(connection, self.address)
            self._hold_machine(connection, wait)
        return connection

    def _require_durability(self, connection: Connection) -> None:
        """What the answers say must be so: a commit is flushed, or need not be."""
        ((fsync, commit),) = connection.execute(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
        ).fetchall()
        if self._durability == "process":
            connection.execute("SET synchronous_commit = off")
        elif fsync != "on":
            raise StorageFailed(
                f"the event log {self.address}: the server runs with fsync = off and may lose what "
                'it has said to keep: set it to on, or durability = "process".'
            )
        elif commit == "off":  # all others flush, and a standby may be waited for
            connection.execute("SET synchronous_commit = on")

    def _hold_machine(self, connection: Connection, wait: float) -> None:
        """Be the one service of this machine's name, until the connection ends.

        The server may need a moment to see that another has ended. A connection of ours that has
        broken, and that it may not have missed yet, is ended by it when told to.
        """
        key, end = (LOCK, f"machine {self._machine.name}"), time.monotonic() + wait
        while True:
            if self._process:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
                    "AND classid = %s::oid AND objid::bigint = hashtext(%s)::bigint & 4294967295 "
                    "AND pid = %s",
                    (*key, self._process),
                )
            held = connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", key)
            if held.fetchone()[0]:
                break
            if time.monotonic() > end:
                raise StorageFailed(
                    f"the event log {self.address} is written by another service of the name "
                    f"{self._machine.name}: end it, or, if {self._machine.path.parent} is a copy "
                    f"of its folder, remove {self._machine.path.name} here."
                )
            time.sleep(0.1)
        self._process = connection.info.backend_pid

    def _join(self, connection: Connection, floor: int, purged: int, copy: Path | None) -> None:
        """Take part: inside a transaction, in which no other machine can give seqs."""
        connection.execute("SELECT one FROM state FOR UPDATE")
        if copy is not None:
            load_copy(connection, self._dialect, copy)
        log, salt, last_seq, forgotten = _state(connection)
        self._machine.require(log, self.address)
        self._log, self._salt = log, salt
        name = self._machine.name
        known = connection.execute(
            "SELECT purged FROM machines WHERE machine = %s", (name,)
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
        connection.execute(
            "INSERT INTO machines VALUES (%s, %s, now()) "
            "ON CONFLICT (machine) DO UPDATE SET purged = excluded.purged, seen = now()",
            (name, purged),
        )


def _state(connection: Connection) -> tuple[str, bytes, int, int]:
    """(name of the log, salt, last seq, seq up to which erasures are forgotten)"""
    ((log, salt, last_seq, forgotten),) = connection.execute(
        "SELECT log::text, salt, last_seq, forgotten FROM state"
    ).fetchall()
    return log, bytes(salt), last_seq, forgotten


def _recordset(rows: Iterable[Row]) -> str:
    """JSON for json_to_recordset, whose columns are called a, b, c, ..."""
    return json.dumps([dict(zip("abcdefghi", row, strict=False)) for row in rows])
