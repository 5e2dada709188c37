"""Tables and queries of every database: the same pairs as from a frame, read as they stream by."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

import xorec
from xorec.core.errors import DataError, OptionError
from xorec.data.io import encode
from xorec.data.io.encode import NothingSinceError

ROWS = [
    (7, "tea", 1_700_000_000, 4.5),
    (7, "milk", 1_700_000_100, 1.0),
    (-3, "tea", 1_700_000_050, 2.0),
    (7, "tea", 1_600_000_000, 5.0),
    (2**62, "it's; DROP TABLE orders --", 1_700_000_200, 3.0),
    (9, "茶 🍵", 1_700_000_300, 3.5),
]
FRAME = pl.DataFrame(ROWS, schema=["user_id", "item_id", "ts", "rating"], orient="row")


def orders(shop: Any, table: str = "orders") -> str:
    types = (shop.big, shop.text, shop.big, shop.real)
    return str(shop.make(table, dict(zip(FRAME.columns, types, strict=True)), ROWS))


def numbers(kind: str, count: int) -> str:
    """A query for n = 0, 1, 2, ..."""
    return {
        "postgresql": f"SELECT g AS n FROM generate_series(0, {count - 1}) AS g",
        "duckdb": f"SELECT range AS n FROM range({count})",
        "clickhouse": f"SELECT toInt64(number) AS n FROM numbers({count})",
        "sqlite": "WITH RECURSIVE g(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM g WHERE n < "
        f"{count - 1}) SELECT n FROM g",
    }[kind]


def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each batch as it comes from the database."""
    sizes: list[int] = []
    add = encode._add_batch

    def adding(batch: pl.DataFrame, *more: Any) -> None:
        sizes.append(len(batch))
        add(batch, *more)

    monkeypatch.setattr(encode, "_add_batch", adding)
    return sizes


def test_a_table_gives_what_a_frame_gives(shop: Any) -> None:
    data: Any = xorec.read(orders(shop))
    expected = xorec.read(FRAME)
    assert data.digest() == expected.digest()
    assert list(data.users) == [-3, 7, 9, 2**62]
    assert list(data.items) == list(expected.items)
    np.testing.assert_array_equal(data.times, expected.times)
    np.testing.assert_array_equal(data.ratings, expected.ratings)


def test_a_query_chooses_names_and_orders(shop: Any) -> None:
    """Without times the last of equal pairs stays: the order of the query is kept."""
    orders(shop)
    sql = "SELECT user_id AS customer, item_id AS product, rating FROM orders ORDER BY ts DESC ; "
    data: Any = xorec.read(shop.at(f"query={sql}"))
    seven, tea = data.users.find(7), data.items.find("tea")
    at = int(np.flatnonzero((data.user_rows == seven) & (data.indices == tea))[0])
    assert data.ratings[at] == 5.0
    assert data.times is None
    begin = "-- who took what\nWITH late AS (SELECT * FROM orders WHERE ts > 1650000000)"
    data = xorec.read(shop.at(f"query={begin} SELECT user_id, item_id FROM late -- all"))
    assert data.n_pairs == 5


def test_columns_by_name(shop: Any) -> None:
    address = orders(shop)
    data = xorec.read(address, user_column="item_id", item_column="user_id", time_column="")
    assert data.n_users == 4
    assert data.users.kind == "str"
    with pytest.raises(DataError, match=r"no column 'usr_id'.*Did you mean 'user_id'") as caught:
        xorec.read(address, user_column="usr_id")
    assert "table orders" in str(caught.value)


def test_the_only_table_that_fits_is_found(shop: Any) -> None:
    shop.make("brands", {"brand": shop.text, "country": shop.text}, [("a", "b")])
    with pytest.raises(DataError, match=r"which table.*brands.*none fits"):
        xorec.read(shop.address)
    orders(shop)
    data = xorec.read(shop.address)
    assert data.n_pairs == 5
    assert "the table orders of" in data.notes[0]
    orders(shop, "returns")
    with pytest.raises(DataError, match=r"which table.*\?table=NAME.*orders, returns all fit"):
        xorec.read(shop.address)
    assert xorec.read(shop.at("table=returns")).n_pairs == 5


def test_an_empty_database_and_an_empty_table_say_so(shop: Any) -> None:
    with pytest.raises(DataError, match="no tables"):
        xorec.read(shop.address)
    address = shop.make("orders", {"user": shop.big, "item": shop.big}, [])
    with pytest.raises(DataError, match="has no rows: give a table or a query"):
        xorec.read(address)


def test_decimals_are_whole_numbers_or_refused(shop: Any) -> None:
    if shop.kind == "sqlite":
        pytest.skip("SQLite has no decimals")
    columns = {"user": shop.decimal, "item": shop.big, "rating": shop.decimal}
    data: Any = xorec.read(shop.make("orders", columns, [(12, 1, 4), (5, 2, 3)]))
    assert list(data.users) == [5, 12]
    assert data.users.kind == "int64"
    assert data.ratings.tolist() == [3.0, 4.0]
    wide = "12345678901234567890.5" if shop.kind != "clickhouse" else "12345678901234567890"
    kind = {"clickhouse": "Decimal(38, 1)", "duckdb": "DECIMAL(38, 1)"}.get(shop.kind, "numeric")
    with pytest.raises(DataError, match=r"is no whole number of 64 bits.*as text"):
        xorec.read(shop.at(f"query=SELECT CAST('{wide}' AS {kind}) AS \"user\", 1 AS item"))


def test_dates_and_times_are_seconds(shop: Any) -> None:
    if shop.kind == "sqlite":
        pytest.skip("SQLite has no type for times")
    stamp = "2024-05-06 07:08:09"
    seconds = int(datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC).timestamp())
    is_clickhouse = shop.kind == "clickhouse"
    values = (
        (shop.moment, f"{stamp}.75{'' if is_clickhouse else '+00'}", seconds),
        (shop.plain_moment, stamp, seconds),
        (shop.day, "2024-05-06", seconds // 86400 * 86400),
        ("Date32" if is_clickhouse else shop.day, "1960-01-01", -315_619_200),
    )
    for number, (kind, text, expected) in enumerate(values):
        columns = {"user": shop.big, "item": shop.big, "ts": kind}
        address = shop.make(f"orders{number}", columns, [(1, 2, text)])
        times = xorec.read(address).times
        assert times is not None
        assert times.tolist() == [expected], kind


def test_since_reads_no_earlier_row(shop: Any) -> None:
    address = orders(shop)
    data = xorec.read(address, since=1_700_000_100)
    assert list(data.users) == [7, 9, 2**62]
    assert "tea" not in list(data.items)
    assert xorec.read(address, since="2023-11-14T22:15:00Z").n_pairs == 3
    with pytest.raises(NothingSinceError, match="no rows since"):
        xorec.read(address, since="2030-01-01")
    with pytest.raises(DataError, match="no column of times for since"):
        xorec.read(address, since=5, time_column="")
    with pytest.raises(OptionError, match="since is 'soon'"):
        xorec.read(address, since="soon")


def test_since_is_the_databases_work(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = orders(shop)
    sizes = batch_sizes(monkeypatch)
    xorec.read(address, since=1_700_000_100)
    assert sum(sizes) == 3


def test_since_of_dates(shop: Any) -> None:
    rows = [(1, 2, "2024-05-06 07:08:09"), (3, 4, "2024-05-07 00:00:00")]
    days = [(user, item, when[:10]) for user, item, when in rows]
    moments = (shop.moment, shop.plain_moment) if shop.kind != "sqlite" else ("TEXT", "NUMERIC")
    for number, (kind, stamps) in enumerate(
        zip((*moments, shop.day), (rows, rows, days), strict=True)
    ):
        columns = {"user": shop.big, "item": shop.big, "ts": kind}
        address = shop.make(f"orders{number}", columns, stamps)
        assert list(xorec.read(address, since="2024-05-07").users) == [3]
        assert xorec.read(address, since="2024-05-06").n_pairs == 2


def test_a_query_that_fails_is_one_line(shop: Any) -> None:
    orders(shop)
    for sql, said in (
        ("SELECT nope FROM orders", "nope"),
        ("SELECT user_id, item_id FROM ordrs", "ordrs"),
        ("SELECT user_id item_id FROM FROM", ""),
        ("SELECT user_id, item_id FROM orders; SELECT 1 AS a", ""),
    ):
        with pytest.raises(DataError, match=f"^.*{said}.*mend the query.*$"):  # one line
            xorec.read(shop.at(f"query={sql}"))
    with pytest.raises(DataError, match=r"no table 'ordrs'; there are: orders\. Did you mean"):
        xorec.read(shop.at("table=ordrs"))


def test_a_query_that_fails_in_the_middle(shop: Any) -> None:
    failing = {
        "postgresql": "1 / (200000 - n)",
        "duckdb": "CASE WHEN n = 200000 THEN error('division')::BIGINT ELSE n END",
        "clickhouse": "throwIf(n = 200000, 'division')",
        "sqlite": "CASE WHEN n = 200000 THEN abs(-9223372036854775808) ELSE n END",
    }[shop.kind]
    sql = f'SELECT n AS "user", {failing} AS item FROM ({numbers(shop.kind, 300_000)}) AS q'
    with pytest.raises(DataError, match=r"(division|overflow).*: mend the query 'SELECT") as caught:
        xorec.read(shop.at(f"query={sql}"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "DROP TABLE orders",
        "INSERT INTO orders SELECT * FROM orders",
        "/* a */ UPDATE orders SET user_id = 1",
        "SELECT 1 AS u, 2 AS i) AS x; DELETE FROM orders; SELECT * FROM (SELECT 1 AS u, 2 AS i",
    ],
)
def test_a_query_that_writes_is_refused(shop: Any, sql: str) -> None:
    address = orders(shop)
    with pytest.raises(DataError, match=r"xorec only reads|mend the query"):
        xorec.read(shop.at(f"query={sql}"))
    assert xorec.read(address).n_pairs == 5


def test_hostile_names(shop: Any) -> None:
    table, user, item = 'or"ders; DROP TABLE x', "us\"er'; --", "it`em \\ 茶"
    rows = [('"; DROP TABLE', "a"), ("🍵", "x" * 4096)]
    shop.make(table, {user: shop.text, item: shop.text}, rows)
    data = xorec.read(shop.at(f"table={table}"), user_column=user, item_column=item)
    assert list(data.users) == ['"; DROP TABLE', "🍵"]
    assert list(data.items) == ["a", "x" * 4096]


def test_empty_ids_and_values_are_refused_with_their_row(shop: Any) -> None:
    end = " NULL" if shop.kind != "clickhouse" else ""
    kind = shop.big if shop.kind != "clickhouse" else "Nullable(Int64)"
    address = shop.make("orders", {"user": kind + end, "item": shop.big}, [(1, 2), (None, 3)])
    with pytest.raises(DataError, match="'user', data row 2: the user is empty"):
        xorec.read(address)


def test_many_rows_come_in_batches(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 250_000
    sql = f"SELECT n % 5000 AS u, n % 4999 AS i FROM ({numbers(shop.kind, count)}) AS q"
    sizes = batch_sizes(monkeypatch)
    data = xorec.read(shop.at(f"query={sql}"))
    assert sum(sizes) == count
    assert max(sizes) <= 200_000
    assert len(sizes) >= 2
    assert data.n_pairs == count
    assert data.users.take([0, 1]) == [0, 1]


def test_names_and_categories_of_items(shop: Any) -> None:
    address = orders(shop)
    columns = {"item": shop.text, "title": shop.text, "genre": shop.text}
    info = shop.make("things", columns, [("tea", "Tea", "drinks"), ("milk", "Milk", "dairy")])
    data: Any = xorec.read(address, item_info=info)
    assert data.names[data.items.find("tea")] == "Tea"
    assert set(data.categories.labels) == {"dairy", "drinks"}
    found = xorec.read(address, item_info=shop.address)
    assert found.names is not None
