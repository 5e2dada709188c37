"""The databases that are read. A new one is its file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from xorec.core.addresses import Address
from xorec.data.io.databases.base import Database
from xorec.data.io.databases.clickhouse import ClickHouse
from xorec.data.io.databases.duckdb import DuckDB
from xorec.data.io.databases.postgresql import PostgreSQL
from xorec.data.io.databases.sqlite import SQLite

DATABASES: dict[str, Callable[[Address], Database]] = {
    "postgresql": PostgreSQL,
    "duckdb": DuckDB,
    "sqlite": SQLite,
    "clickhouse": ClickHouse,
}
"""By the kind of an address."""


def open_database(address: Address) -> Database:
    """A database, to read only."""
    return DATABASES[address.kind](address)
