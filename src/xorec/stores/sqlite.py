"""SQLite: codes as BLOB, compared by sqlite-vec where it can be loaded, else by our own function.

Many builds of Python have no `enable_load_extension`; then `pysqlite3` is taken, if it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from xorec.core.addresses import Address
from xorec.stores.schema import About, Schema
from xorec.stores.sql import SqlFileStore
from xorec.stores.tables import Batch, Column, Kind, code_bytes, code_words

_WAIT = 30.0
"""Seconds for which another connection's lock is waited for."""
_CACHE_KB = 64_000
"""Memory for pages, and for sorting when an index is made."""


class SqliteStore(SqlFileStore):
    """A file of SQLite. with_extension: compare codes by sqlite-vec if it is there."""

    kind = "sqlite"
    types: ClassVar[Mapping[Kind, str]] = {
        "row": "INTEGER",
        "integer": "INTEGER",
        "text": "TEXT",
        "code": "BLOB",
        "float": "REAL",
        "vector": "BLOB",
    }

    def __init__(self, address: Address, *, with_extension: bool = True) -> None:
        super().__init__(address)
        found = driver_with_extensions() if with_extension else None
        self._driver: Any = import_module("sqlite3") if found is None else found
        self._with_extension = found is not None
        self.driver_errors = (OSError, self._driver.Error)

    def connect(self) -> Any:
        uri = f"{self._path.absolute().as_uri()}?mode={'rwc' if self._writes else 'ro'}"
        connection = self._driver.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        if self._with_extension:
            import sqlite_vec

            connection.enable_load_extension(True)
            sqlite_vec.load(connection)
            connection.enable_load_extension(False)
        else:
            connection.create_function("hamming", 2, hamming, deterministic=True)
        return connection

    def create(self, table: Schema, name: str) -> str:
        """A table with a key of two columns is that key's tree; one of a row number is by it."""
        return super().create(table, name) + " WITHOUT ROWID" * (len(table.key) > 1)

    def indexes(self, table: Schema, name: str, suffix: str = "") -> list[str]:
        if not table.unique:
            return []
        index = self.quote(f"{self.prefix}by_{table.unique}{suffix}")
        return [f"CREATE UNIQUE INDEX {index} ON {name} ({self.quote(table.unique)})"]

    def parameter(self, name: str, kind: Kind) -> str:
        return f":{name}"

    def hamming(self, about: About) -> str:
        if self._with_extension:
            return "CAST(vec_distance_hamming(vec_bit(i.code), vec_bit(u.code)) AS INTEGER)"
        return "hamming(i.code, u.code)"

    def unseen(self) -> str:
        """As a set that is made once: a look-up for each item takes half as long again."""
        return (
            f"\n  AND i.item_row NOT IN (SELECT item_row FROM {self.name('seen')} WHERE user_row ="
            f"\n    (SELECT user_row FROM {self.name('users')} WHERE user_id = :user))"
        )

    def tables_there(self) -> set[str]:
        found = self.run("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return {name for (name,) in found}

    def insert(self, table: Schema, name: str, batch: Batch) -> None:
        columns = [_to_sqlite(column, batch[column.name]) for column in table.columns]
        marks = ", ".join("?" * len(columns))
        with self.transaction():
            self._connection.executemany(
                f"INSERT INTO {name} VALUES ({marks})", zip(*columns, strict=True)
            )

    def from_driver(self, column: Column, values: Sequence[tuple[Any, ...]]) -> Any:
        if column.kind == "code":
            return code_words((one for (one,) in values), column.size)
        if column.kind == "vector":
            joined = np.frombuffer(b"".join(one for (one,) in values), dtype="<f4")
            return joined.reshape(-1, column.size).astype(np.float32)
        return super().from_driver(column, values)


def hamming(one: bytes, other: bytes) -> int:
    """The bits in which two codes differ.

    >>> hamming(bytes([3, 255]), bytes([1, 0]))
    9
    """
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).bit_count()


def driver_with_extensions() -> Any:
    """The driver that can load sqlite-vec; None where there is none, or no sqlite-vec."""
    try:
        import_module("sqlite_vec")
        for name in ("sqlite3", "pysqlite3.dbapi2"):
            driver = import_module(name)
            if hasattr(driver.Connection, "enable_load_extension"):
                return driver
    except ImportError:
        pass
    return None


def _to_sqlite(column: Column, values: Any) -> list[Any]:
    if column.kind == "code":
        return [row.tobytes() for row in code_bytes(values, column.size)]
    if column.kind == "vector":
        return [row.tobytes() for row in np.ascontiguousarray(values, dtype="<f4")]
    return values if isinstance(values, list) else values.tolist()
