"""Databases of each kind with the same tables, for the tests of reading from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clickhouse import PASSWORD, USER, ClickHouseServer
from tests.support.postgresql import KINDS, PostgreSQL, started
from xorec.databases import clickhouse
from xorec.databases.base import quoted_name


class Shop:
    """A database to fill. run: carries out SQL; address: where it is; types: the names of types."""

    big, text, day, decimal, real = "BIGINT", "TEXT", "DATE", "NUMERIC", "FLOAT8"
    moment, plain_moment = "TIMESTAMPTZ", "TIMESTAMP"
    table_end = ""

    def __init__(self, kind: str, address: str, run: Callable[[str], Any]) -> None:
        self.kind, self.address, self.run = kind, address, run

    def make(self, table: str, columns: dict[str, str], rows: list[tuple[Any, ...]]) -> str:
        """A table with rows; its address."""
        made = ", ".join(f"{self.quote(name)} {kind}" for name, kind in columns.items())
        self.run(f"CREATE TABLE {self.quote(table)} ({made}){self.table_end}")
        for at in range(0, len(rows), 10_000):
            values = ", ".join(
                "(" + ", ".join(map(self.literal, row)) + ")" for row in rows[at : at + 10_000]
            )
            self.run(f"INSERT INTO {self.quote(table)} VALUES {values}")
        return self.at(f"table={table}")

    def at(self, more: str) -> str:
        return f"{self.address}{'&' if '?' in self.address else '?'}{more}"

    quote = staticmethod(quoted_name)

    def literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        return str(value) if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"


class ClickHouseShop(Shop):
    big, text, day, decimal, real = "Int64", "String", "Date", "Decimal(20, 0)", "Float64"
    moment, plain_moment = "DateTime64(6, 'UTC')", "DateTime('UTC')"
    table_end = " ENGINE = MergeTree ORDER BY tuple()"

    quote = staticmethod(clickhouse.quoted_name)

    def literal(self, value: Any) -> str:
        if isinstance(value, str):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return super().literal(value)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQL]:
    """A server of whatever kind the machine has."""
    with started(*KINDS, fsync="off") as server:
        yield server


def _postgresql(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shop]:
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    server: PostgreSQL = request.getfixturevalue("postgresql_server")
    address = server.new_database("shop")
    with server.connect("shop") as connection:
        connection.execute("SET timezone TO 'UTC'")  # of dates that name no zone
        yield Shop("postgresql", address, connection.execute)


def _duckdb(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shop]:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

    def run(sql: str) -> Any:
        with duckdb.connect(folder / "shop.duckdb") as connection:
            connection.execute("SET TimeZone = 'UTC'")  # of dates that name no zone
            return connection.execute(sql).fetchall()

    run("SELECT 1")
    yield Shop("duckdb", str(folder / "shop.duckdb"), run)


def _sqlite(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shop]:
    connection = sqlite3.connect(folder / "shop.sqlite", isolation_level=None)
    connection.execute("CREATE TABLE gone (a)")
    connection.execute("DROP TABLE gone")
    yield Shop("sqlite", str(folder / "shop.sqlite"), connection.execute)
    connection.close()


def _clickhouse(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shop]:
    chdb = pytest.importorskip("chdb", reason="chdb is not installed")

    def run(sql: str) -> Any:
        connection = chdb.connect(str(folder / "ch"))
        try:
            return connection.query(sql)
        finally:
            connection.close()

    run("SELECT 1")
    yield ClickHouseShop("clickhouse", f"clickhouse://{folder}/ch", run)


@pytest.fixture(scope="session")
def clickhouse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    """ClickHouse behind HTTP."""
    if reason := ClickHouseServer.unavailable():
        pytest.skip(reason)
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


def _clickhouse_server(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shop]:
    server: ClickHouseServer = request.getfixturevalue("clickhouse_server")
    import clickhouse_connect

    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=server.port, username=USER, password=PASSWORD
    )
    client.command("DROP DATABASE IF EXISTS shop")
    client.command("CREATE DATABASE shop")

    def run(sql: str) -> Any:
        return client.command(
            sql.replace("TABLE `", "TABLE shop.`").replace("INTO `", "INTO shop.`")
        )

    yield ClickHouseShop("clickhouse", server.address("shop"), run)
    client.close()


MAKERS = {
    made.__name__[1:].replace("_", "-"): made
    for made in (_postgresql, _duckdb, _sqlite, _clickhouse, _clickhouse_server)
}


@pytest.fixture(params=list(MAKERS))
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """An empty database of each kind."""
    yield from MAKERS[request.param](request, tmp_path)
