"""Data that only Spark can reach, as people type it: tables of its catalogue, databases by JDBC.

    spark-table:shop.orders
    jdbc:postgresql://db.example/shop?user=ann&table=orders
    jdbc:mysql://db.example/shop?query=SELECT customer, product FROM orders WHERE paid

`table=` or `query=` (last, to the end) is ours; so are the four settings by which Spark reads with
several connections (partitionColumn, lowerBound, upperBound, numPartitions) and the class of a
driver that is not among `_DRIVERS` (driver). The rest goes to the driver of the database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from xorec.core.addresses import without_secrets
from xorec.core.errors import OptionError
from xorec.core.printable import quoted

TABLE = "spark-table:"
JDBC = "jdbc:"
_SETTINGS = ("partitionColumn", "lowerBound", "upperBound", "numPartitions", "driver")
_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "oracle": "oracle.jdbc.OracleDriver",
    "sqlite": "org.sqlite.JDBC",
    "duckdb": "org.duckdb.DuckDBDriver",
    "clickhouse": "com.clickhouse.jdbc.ClickHouseDriver",
}
"""Classes by the word behind jdbc: of a jar that `spark.jars` names, Spark must be told which."""


@dataclass(frozen=True)
class SparkAddress:
    """table, query: what is read, one of them; url: of a database, "" for Spark's own catalogue."""

    table: str = ""
    query: str = ""
    url: str = field(default="", repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """For messages and files: without secrets."""
        if not self.url:
            return f"{TABLE}{self.table}"
        place = without_secrets(self.url)
        if self.table:
            return f"{place}, table {self.table}"
        return f"{place}, query {quoted(' '.join(self.query.split()))}"

    @property
    def label(self) -> str:
        """A short name."""
        return self.table or "query"


def parse_spark_address(text: str) -> SparkAddress | None:
    """The parts of an address; None for what is none of Spark's.

    >>> parse_spark_address("spark-table:shop.orders").table
    'shop.orders'
    >>> address = parse_spark_address("jdbc:postgresql://db/shop?user=ann&password=s3cret&table=o")
    >>> print(address.what, address.url, sep=" | ")
    jdbc:postgresql://db/shop?user=ann&password=***, table o | \
jdbc:postgresql://db/shop?user=ann&password=s3cret
    >>> parse_spark_address("ratings.csv") is None
    True
    """
    if text.startswith(TABLE):
        if not text.removeprefix(TABLE).strip():
            raise OptionError(f"{TABLE} names no table: give {TABLE}NAME, as {TABLE}shop.orders.")
        return SparkAddress(table=text.removeprefix(TABLE))
    if not text.startswith(JDBC):
        return None
    url, query = text, ""
    if found := re.search(r"[?&;]query=", text):
        url, query = text[: found.start()], text[found.end() :]
    ours: dict[str, str] = {}
    for name in ("table", *_SETTINGS):
        if found := re.search(rf"(?P<before>[?&;]){name}=(?P<value>[^&;]*)", url):
            ours[name] = found["value"]
            rest = url[found.end() :]
            url = url[: found.start()] + (found["before"] + rest[1:] if rest else "")
    table = ours.pop("table", "")
    if bool(table) == bool(query.strip()):
        raise OptionError(
            f"{without_secrets(url)}: say what is read by table=NAME or query=SELECT ... at the "
            "end of the address, one of them."
        )
    kind = url.split(":")[1]
    if kind in _DRIVERS:
        ours.setdefault("driver", _DRIVERS[kind])
    return SparkAddress(table, query, url, ours)
