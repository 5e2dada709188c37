"""What is wrong with a database, a login or a server: one line each, and no secret in any."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import xorec
from tests.support import clickhouse
from tests.support.clickhouse import ClickHouseServer
from tests.support.postgresql import PASSWORD, PostgreSQL, started
from xorec.core.addresses import parse_address
from xorec.core.errors import DataError, MissingExtraError
from xorec.data.io.database_source import open_address
from xorec.databases.postgresql import conninfo


def refusal(source: str, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        xorec.read(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert PASSWORD not in message
    assert "wr0ng" not in message
    return message


def sqlite_file(folder: Path, *statements: str) -> Path:
    connection = sqlite3.connect(folder / "shop.sqlite", isolation_level=None)
    for sql in statements:
        connection.execute(sql)
    connection.close()
    return folder / "shop.sqlite"


class TestFiles:
    @pytest.mark.parametrize("ending", ["duckdb", "sqlite"])
    def test_no_file_a_folder_and_another_file(self, tmp_path: Path, ending: str) -> None:
        if ending == "duckdb":
            pytest.importorskip("duckdb", reason="duckdb is not installed")
        path = tmp_path / f"shop.{ending}"
        assert "is not there: give the file of" in refusal(f"{path}?table=orders")
        path.mkdir()
        assert "is a folder: give the file of" in refusal(str(path))
        path.rmdir()
        path.write_text("user,item\n" * 1000)
        assert "give " in (said := refusal(str(path)))
        assert "not a" in said
        assert str(path) in said

    @pytest.mark.process
    def test_another_process_writes_to_duckdb(self, tmp_path: Path) -> None:
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        path = tmp_path / "shop.duckdb"
        script = (
            f"import duckdb; c = duckdb.connect({str(path)!r}); "
            "c.execute('CREATE TABLE orders AS SELECT 1 AS \"user\", 2 AS item'); "
            "print('open', flush=True); input()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "open\n"
            assert "another process writes to it" in refusal(str(path))
            other.communicate("\n")
        assert xorec.read(str(path)).n_pairs == 1
        with duckdb.connect(path):
            assert "open for writing in this process" in refusal(str(path))

    def test_a_locked_sqlite(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "shop.sqlite"
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("CREATE TABLE orders (user, item)")
        connection.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
        assert "another process writes to it" in refusal(f"{path}?table=orders")
        connection.close()

    def test_ids_of_two_types_in_sqlite(self, tmp_path: Path) -> None:
        rows = "INSERT INTO orders VALUES (1, 2), ('1', 3)"
        path = sqlite_file(tmp_path, "CREATE TABLE orders (user, item)", rows)
        said = refusal(str(path))
        assert "the user '1' is text, the first a whole number" in said
        assert "CAST(... AS TEXT)" in said
        sql = "SELECT CAST(user AS TEXT) AS user, item FROM orders"
        assert list(xorec.read(f"{path}?query={sql}").users) == ["1"]

    def test_values_of_two_types_in_sqlite(self, tmp_path: Path) -> None:
        rows = "INSERT INTO orders VALUES (1, 2, 5, 1), (1, 3, 4.5, '2024-01-01'), (1, 4, '3', 2.5)"
        path = sqlite_file(tmp_path, "CREATE TABLE orders (user, item, rating, ts)", rows)
        ratings = xorec.read(f"{path}?table=orders", time_column="").ratings
        assert ratings is not None
        assert ratings.tolist() == [5.0, 4.5, 3.0]

    def test_text_that_is_no_utf8_in_sqlite(self, tmp_path: Path) -> None:
        rows = "INSERT INTO orders VALUES (CAST(x'ff41' AS TEXT), 1)"
        path = sqlite_file(tmp_path, "CREATE TABLE orders (user, item)", rows)
        assert "UTF-8" in refusal(str(path))


class TestClickHouse:
    def test_no_folder(self, tmp_path: Path) -> None:
        pytest.importorskip("chdb", reason="chdb is not installed")
        said = refusal(f"clickhouse://{tmp_path}/none?table=orders")
        assert "there is no such folder" in said
        assert not (tmp_path / "none").exists()

    def test_text_that_is_no_utf8(self, tmp_path: Path) -> None:
        chdb = pytest.importorskip("chdb", reason="chdb is not installed")
        connection = chdb.connect(str(tmp_path / "ch"))
        connection.close()
        sql = "SELECT unhex('ff41') AS user, 1 AS item"
        assert "UTF-8" in refusal(f"clickhouse://{tmp_path}/ch?query={sql}")

    def test_passwords(
        self, clickhouse_server: ClickHouseServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for wrong in ("wr0ng", ""):
            said = refusal(f"{clickhouse_server.address(password=wrong)}?table=orders")
            assert "or by CLICKHOUSE_USER and CLICKHOUSE_PASSWORD" in said
        monkeypatch.setenv("CLICKHOUSE_PASSWORD", clickhouse.PASSWORD)
        said = refusal(f"{clickhouse_server.address(password='')}?table=orders")
        assert "has no table 'orders'" in said
        said = refusal(f"{clickhouse_server.address()}?query=SELECT nope")
        assert "nope" in said
        assert clickhouse.PASSWORD not in said


class TestServer:
    def test_wrong_password(
        self, postgresql_server: PostgreSQL, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for password in ("wr0ng", ""):
            address = postgresql_server.address_of(password=password)
            said = refusal(f"{address}?table=orders")
            assert "PGPASSWORD, ~/.pgpass or a service file" in said
            assert f"postgresql://xorec@127.0.0.1:{postgresql_server.port}/postgres" in said
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        assert "no table 'orders'" in refusal(f"{address}?table=orders")

    def test_no_such_database_and_no_such_user(self, postgresql_server: PostgreSQL) -> None:
        said = refusal(f"{postgresql_server.address_of('nowhere')}&table=orders")
        assert 'database "nowhere" does not exist' in said
        said = refusal(f"{postgresql_server.address_of(user='nobody')}&table=orders")
        assert 'role "nobody" does not exist' in said

    def test_a_setting_that_libpq_does_not_know(self) -> None:
        pytest.importorskip("adbc_driver_postgresql", reason="ADBC is not installed")
        assert '"colour"' in refusal("postgresql:///shop?colour=red&table=orders")

    def test_what_may_not_be_read(self, postgresql_server: PostgreSQL) -> None:
        postgresql_server.new_database("rights")
        with postgresql_server.connect("rights") as connection:
            connection.execute("DROP ROLE IF EXISTS reader")
            connection.execute("CREATE ROLE reader LOGIN")
            connection.execute('CREATE TABLE orders AS SELECT 1 AS "user", 2 AS item')
        address = postgresql_server.address_of("rights", user="reader")
        assert "permission denied for table orders" in refusal(f"{address}&table=orders")

    def test_a_function_that_writes(self, postgresql_server: PostgreSQL) -> None:
        """What no look at the query tells: the transaction is read only."""
        address = postgresql_server.new_database("sly")
        with postgresql_server.connect("sly") as connection:
            connection.execute(
                'CREATE TABLE orders AS SELECT 1 AS "user", 2 AS item;'
                "CREATE FUNCTION clear() RETURNS int LANGUAGE sql AS"
                " 'DELETE FROM orders RETURNING item'"
            )
        said = refusal(f'{address}&query=SELECT "user", clear() AS item FROM orders')
        assert "xorec only reads" in said
        assert "DELETE in a read-only transaction" in said
        assert xorec.read(f"{address}&table=orders").n_pairs == 1

    def test_schemas_partitions_and_views(self, postgresql_server: PostgreSQL) -> None:
        address = postgresql_server.new_database("rooms")
        with postgresql_server.connect("rooms") as connection:
            connection.execute(
                'CREATE SCHEMA "Old"; CREATE TABLE "Old".orders AS SELECT 1 AS "user", 2 AS item;'
                'CREATE TABLE sales ("user" int, item int) PARTITION BY RANGE ("user");'
                "CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM (0) TO (9);"
                "INSERT INTO sales VALUES (3, 4), (3, 5)"
            )
        assert xorec.read(f"{address}&table=Old.orders").n_pairs == 1
        assert xorec.read(f"{address}&schema=Old&table=orders").n_pairs == 1
        assert xorec.read(f"{address}&table=sales_1").n_pairs == 2
        with postgresql_server.connect("rooms") as connection:
            connection.execute('DROP TABLE "Old".orders')
        assert xorec.read(address).n_pairs == 2  # a part of a table is no table of its own

    @pytest.mark.database
    @pytest.mark.parametrize("kind", ["debian", "wheel"])
    def test_a_server_that_is_killed_while_rows_come(self, kind: str) -> None:
        pytest.importorskip("adbc_driver_postgresql", reason="ADBC is not installed")
        with started(kind, fsync="off") as server:
            sql = 'SELECT generate_series(1, 1000000000) % 1000 AS "user", 1 AS item'
            timer = threading.Timer(1.5, server.kill)
            timer.start()
            said = refusal(f"{server.address}&query={sql}")
            timer.join()
            assert "check that the server runs" in said


@pytest.mark.parametrize(
    ("kind", "driver"),
    [("clickhouse", "clickhouse_connect"), ("postgresql", "adbc_driver_postgresql")],
)
def test_a_server_that_is_away(kind: str, driver: str) -> None:
    pytest.importorskip(driver, reason=f"{driver} is not installed")
    said = refusal(f"{kind}://ann:wr0ng@127.0.0.1:1/shop?table=orders")
    assert f"{kind}://ann@127.0.0.1:1/shop" in said
    assert "check that the server runs" in said


def test_values_for_libpq_are_quoted() -> None:
    address = parse_address(r"postgresql://o'b%5Crien:p'w@db/sh'op?schema=x&prefix=y")
    assert address is not None
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    parts = psycopg.conninfo.conninfo_to_dict(conninfo(address))
    assert (parts["user"], parts["password"]) == ("o'b\\rien", "p'w")
    assert parts["dbname"] == "sh'op"
    assert not {"schema", "prefix"} & set(parts)


def test_types_of_postgresql(postgresql_server: PostgreSQL) -> None:
    """Enums, UUIDs and addresses are text ids; infinite times are refused."""
    address = postgresql_server.new_database("kinds")
    with postgresql_server.connect("kinds") as connection:
        connection.execute(
            "CREATE TYPE mood AS ENUM ('glad', 'sad'); CREATE TABLE orders AS SELECT "
            "'glad'::mood AS \"user\", '00000000-0000-0000-0000-00000000002a'::uuid AS item, "
            "127.5::numeric AS rating, 'infinity'::timestamptz AS ts, '10.0.0.1'::inet AS ip"
        )
    assert "an empty field is not a time" in refusal(address)
    data: Any = xorec.read(address, time_column="")
    assert list(data.users) == ["glad"]
    assert list(data.items) == ["00000000-0000-0000-0000-00000000002a"]
    assert data.ratings.tolist() == [127.5]
    assert list(xorec.read(address, user_column="ip", time_column="").users) == ["10.0.0.1/32"]


@pytest.mark.parametrize(
    ("address", "module", "extra"),
    [
        ("postgresql://h/d?table=t", "adbc_driver_postgresql", "postgresql"),
        ("clickhouse://h/d?table=t", "clickhouse_connect", "clickhouse"),
    ],
)
def test_a_driver_that_is_missing_is_named(
    address: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    parsed = parse_address(address)
    assert parsed is not None
    with pytest.raises(MissingExtraError, match=rf"pip install 'xorec\[{extra}\]'"):
        open_address(parsed, {})


def test_a_command_is_refused_in_plain_words(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path)
    said = refusal(f"{path}?query=-- all\ndelete from orders")
    assert "the query begins with DELETE: xorec only reads: give a SELECT" in said


def test_decimals_are_not_rounded(postgresql_server: PostgreSQL) -> None:
    sql = 'SELECT x AS "user", 1 AS item FROM (VALUES (1.0), (2.00)) AS q(x)'
    assert list(xorec.read(f"{postgresql_server.address}&query={sql}").users) == [1, 2]
    said = refusal(f"{postgresql_server.address}&query={sql.replace('2.00', '1.5')}")
    assert "the user 1.5 (column user) is no whole number" in said
