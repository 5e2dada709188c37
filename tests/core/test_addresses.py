"""Addresses of databases: taken apart rightly, shown without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from xorec.core.addresses import Address, parse_address, without_secrets
from xorec.core.errors import OptionError


def parsed(text: str) -> Address:
    found = parse_address(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://db/shop", Address("postgresql", host="db", database="shop")),
        ("postgresql:///shop", Address("postgresql", database="shop")),
        ("postgresql://[::1]:5/a", Address("postgresql", host="::1", port=5, database="a")),
        (
            "postgresql://a%40b:p%2Fw@db/shop",
            Address("postgresql", host="db", user="a@b", password="p/w", database="shop"),
        ),
        ("clickhouse:///tmp/x", Address("clickhouse", path=Path("/tmp/x"))),
        ("clickhouses://h/d", Address("clickhouse", host="h", database="d", secure=True)),
        ("shop.ddb?table=o", Address("duckdb", path=Path("shop.ddb"), table="o")),
        ("sqlite:///rel.db", Address("sqlite", path=Path("rel.db"))),
        ("sqlite:////abs/rel.x", Address("sqlite", path=Path("/abs/rel.x"))),
        ("SHOP.DB", Address("sqlite", path=Path("SHOP.DB"))),
    ],
)
def test_parts(text: str, expected: Address) -> None:
    assert parsed(text) == expected


def test_what_is_no_database() -> None:
    for text in ("a.csv", "debian", "-", "http://x/y", "s3://b/a", "x" * 9999):
        assert parse_address(text) is None


def test_a_query_runs_to_the_end_as_it_is_written() -> None:
    sql = "SELECT u, i FROM o WHERE a LIKE '50%25?' AND b = 'x&table=y'"
    address = parsed(f"postgresql://db/shop?sslmode=require&query={sql}")
    assert (address.query, address.table) == (sql, "")
    assert dict(address.settings) == {"sslmode": "require"}
    assert parsed("a.db?query=SELECT%20u,%20i+FROM+o").query == "SELECT u, i FROM o"


def test_refusals() -> None:
    for text, message in (
        ("a.db?query=", "query= is empty"),
        ("a.db?table=x&query=SELECT 1", "not both"),
        ("postgresql://h:99999/x", "port '99999'"),
    ):
        with pytest.raises(OptionError, match=message):
            parse_address(text)


def test_a_file_of_that_very_name_is_that_file(tmp_path: Path) -> None:
    odd = tmp_path / "odd?table=x.db"
    odd.touch()
    assert parsed(str(odd)).path == odd


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:s3cret@db/shop",
        "postgresql://db/shop?password=s3cret&sslpassword=s3cret",
        "clickhouse://ann:s3cret@db/shop?access_token=s3cret",
    ],
)
def test_no_secret_is_shown(text: str) -> None:
    address = parsed(text + ("&" if "?" in text else "?") + "table=orders")
    for shown in (str(address), repr(address), address.what, without_secrets(text)):
        assert "s3cret" not in shown
        assert "db" in shown
    assert address.has_secret
    assert not parsed("postgresql://ann@db/shop?sslmode=require").has_secret


def test_a_short_name() -> None:
    for text, label in (
        ("postgresql://db/shop?table=orders", "orders"),
        ("postgresql://db/shop?query=SELECT 1", "shop"),
        ("x/shop.duckdb", "shop"),
        ("postgresql:///", "postgresql"),
    ):
        assert parsed(text).label == label
