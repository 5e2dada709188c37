"""The tables of the log in SQLite, and how a connection to them is opened."""

from __future__ import annotations

import os
import secrets
import sqlite3
from pathlib import Path
from urllib.parse import quote

from xorec.service.events.errors import StorageFailed

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


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in SQLite's mode "ro" or "rwc"; one thread at a time may use it."""
    address = f"file:{quote(os.path.abspath(path))}?mode={mode}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY
    )


def check(connection: sqlite3.Connection, path: Path) -> bool:
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


def create(connection: sqlite3.Connection, salt: bytes | None = None, floor: int = 0) -> None:
    """Make the tables, all or none. salt: of keys that are there already; default: a new one."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    salt = secrets.token_bytes(16) if salt is None else salt
    connection.execute("INSERT INTO state VALUES (1, ?, ?)", (floor, salt))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
