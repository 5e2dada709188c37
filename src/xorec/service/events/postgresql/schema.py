"""The tables of the log in PostgreSQL. They lie in a schema of their own, on every search path."""

from __future__ import annotations

import secrets
import uuid

from xorec.core.addresses import Address
from xorec.service.events.errors import StorageFailed
from xorec.service.events.postgresql.connecting import Connection, quoted_name, schema_of

VERSION = 1
"""Of the tables: `state.version`."""
_LOCK = 0x786F7265
"""Of advisory locks: "xore"."""

TABLES = """
CREATE TABLE state (
    one smallint PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    log uuid NOT NULL,
    salt bytea NOT NULL,
    last_seq bigint NOT NULL,
    forgotten bigint NOT NULL
) WITH (fillfactor = 10);
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
CREATE INDEX events_user ON events (user_key, seq);
CREATE INDEX events_ts ON events (ts);
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
CREATE INDEX exposures_experiment ON exposures (experiment);
CREATE TABLE erased (key uuid PRIMARY KEY, ts bigint NOT NULL);
CREATE TABLE machines (
    machine text PRIMARY KEY,
    purged bigint NOT NULL,
    seen timestamptz NOT NULL
);
COMMENT ON TABLE state IS 'The event log of xorec serve. last_seq: the last place that was given. forgotten: records of erasures up to there are gone.';
COMMENT ON TABLE events IS 'user_id, item_id: JSON text. ts: microseconds since 1970, UTC. In event_id, kind and request_id a backslash stands as two, and NUL as backslash 0.';
COMMENT ON TABLE machines IS 'Services that share the log. purged: no model file of theirs has anybody who was erased up to this place.'
"""  # noqa: E501


def find(connection: Connection, address: Address) -> bool:
    """Whether the tables are there; complains of a schema that is not ours, or from later on."""
    found = connection.execute(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v') "
        "AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s)",
        (schema_of(address),),
    ).fetchall()
    names = {name for (name,) in found}
    if not names:
        return False
    if not {"state", "events", "changes", "exposures", "erased", "machines"} <= names:
        raise StorageFailed(
            f"the schema {schema_of(address)!r} of {address} has tables, but no event log of "
            "xorec: name another one by ?schema=."
        )
    ((version,),) = connection.execute("SELECT version FROM state").fetchall()
    if version > VERSION:
        raise StorageFailed(
            f"the event log {address} is of version {version}, this xorec knows {VERSION}: "
            "use a newer xorec."
        )
    return True


def ensure(connection: Connection, address: Address) -> None:
    """Make the tables where there are none: all or none, and once if several machines begin."""
    if find(connection, address):
        return
    ((encoding,),) = connection.execute("SHOW server_encoding").fetchall()
    if encoding != "UTF8":
        raise StorageFailed(
            f"the event log {address}: the database has the encoding {encoding}, and ids may be "
            "of any letters: make one with createdb --encoding UTF8 --template template0."
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_LOCK,))
        if find(connection, address):
            return
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted_name(schema_of(address))}")
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO state VALUES (1, %s, %s, %s, 0, 0)",
            (VERSION, uuid.uuid4(), secrets.token_bytes(16)),
        )


def hold_place(connection: Connection, machine: str, before: int = 0) -> bool:
    """Be the one service of this machine's name, until the connection ends; False: there is one.

    before: the server's process of a connection of ours that has broken. The server may not have
    noticed yet, and is told.
    """
    key = (_LOCK, f"machine {machine}")
    if before:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
            "AND classid = %s::oid AND objid::bigint = hashtext(%s)::bigint & 4294967295 "
            "AND pid = %s",
            (*key, before),
        )
    ((held,),) = connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", key).fetchall()
    return bool(held)
