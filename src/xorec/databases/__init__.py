"""The databases that are read. A new one is its file here and one line in `DATABASES`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from xorec.core.addresses import Address

if TYPE_CHECKING:
    from xorec.databases.base import Database

DATABASES = {
    "postgresql": "PostgreSQL",
    "duckdb": "DuckDB",
    "sqlite": "SQLite",
    "clickhouse": "ClickHouse",
}
"""The class of each kind of address, in the module of the same name."""


def open_database(address: Address) -> Database:
    """The database at an address, to read only."""
    module = import_module(f"xorec.databases.{address.kind}")
    return cast("Database", getattr(module, DATABASES[address.kind])(address))
