"""PostgreSQL: psycopg for stores and the event log; to read, ADBC's driver.

ADBC asks for rows by binary COPY, in a read-only transaction (docs/stores.md has measurements
against psycopg).

Both drivers have libpq inside. Settings that an address leaves out come from where libpq looks by
itself: PGHOST, PGUSER, PGPASSWORD, ..., ~/.pgpass (PGPASSFILE), and the service file
(PGSERVICEFILE) for `?service=shop`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from xorec.core.addresses import Address, without_secrets
from xorec.core.printable import printable
from xorec.databases.base import (
    CHECK_SERVER,
    ONLY_READS,
    Database,
    Sort,
    Table,
    frames_of,
    missing,
    way_out,
)

if TYPE_CHECKING:
    import polars as pl

_CONNECT_TIMEOUT = "10"
"""Seconds to wait for a connection; the address and PGCONNECT_TIMEOUT come first."""
_NOT_LIBPQ = ("schema", "prefix")
"""Settings of an address that are not libpq's."""
_BATCH_BYTES = 2 << 20
_SORTS: dict[str, Sort] = {
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "bool", "bytea"), "number"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), "text"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "time"),
    **dict.fromkeys(("_text", "_varchar", "_bpchar"), "list"),
    "numeric": "decimal",
}
_WAYS_OUT = (
    ("read-only transaction|must be at the top level", ONLY_READS),
    ("^(42|22|0A|54|21|38)", ""),
    (
        r"^28|password|authentication|pg_hba\.conf",
        "give the password by PGPASSWORD, ~/.pgpass or a service file",
    ),
    (
        "^3D000|database .* does not exist",
        "make the database first, with createdb, or give another",
    ),
    ("role .* does not exist|invalid connection option", "mend the address"),
    (
        "^(57|58|53|08)|server closed|terminating connection|connection refused|unexpectedly|"
        "timeout expired|timed out|could not translate host name|no such file|"
        "could not (receive|send) data|starting up|shutting down|too many clients|"
        "connection to server",
        CHECK_SERVER,
    ),
)
"""Classes of SQLSTATE at the beginning, or words of libpq, which may come without one."""
_TABLES = """
SELECT n.nspname, c.relname, array_agg(a.attname::text ORDER BY a.attnum),
  pg_table_is_visible(c.oid), c.relispartition
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
GROUP BY 1, 2, 4, 5 ORDER BY 4 DESC, 1, 2
"""


class PostgreSQL(Database):
    """A server, to read by one connection."""

    text_cast = "{column}::text"
    float_cast = "{column}::float8"
    sorts: ClassVar = _SORTS

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        try:
            import adbc_driver_manager as adbc
            import pyarrow as pa  # the driver hands over what it has read by it
            from adbc_driver_postgresql import dbapi
        except ImportError:
            packages = "adbc-driver-postgresql and pyarrow"
            raise missing("reading from PostgreSQL", packages, "postgresql") from None
        self.driver_errors = (adbc.Error, pa.ArrowException, OSError)
        with self.errors():
            self._connection = dbapi.connect(conninfo(address))
            try:
                self._run("SET TRANSACTION READ ONLY")
                if schema := address.settings.get("schema"):
                    self._run(f"SET LOCAL search_path TO {self.quote(schema)}, public")
            except BaseException:
                self._connection.close()
                raise

    def tables(self) -> list[Table]:
        return [self.table(*row.values()) for row in self._run(_TABLES).to_pylist()]

    def columns(self, query: str) -> dict[str, str]:
        with self.errors(), self._connection.cursor() as cursor:
            schema = cursor.adbc_execute_schema(query)
            return {
                field.name: (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
                for field in schema
            }

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        with self.errors(), self._connection.cursor() as cursor:
            hint = {"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
            cursor.adbc_statement.set_options(**hint)
            cursor.execute(query)
            yield from frames_of(cursor.fetch_record_batch())

    def as_seconds(self, column: str, sql_type: str) -> str:
        return f"CASE WHEN isfinite({column}) THEN floor(date_part('epoch', {column}))::int8 END"

    def not_before(self, column: str, sql_type: str, seconds: int) -> str:
        moment = f"to_timestamp({seconds})"
        if sql_type != "timestamptz":
            moment = f"({moment} AT TIME ZONE 'UTC')::{sql_type}"
        return f"{column} >= {moment}"

    def close(self) -> None:
        self._connection.close()

    def _run(self, query: str) -> Any:
        with self.errors(), self._connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    def explain(self, error: Exception) -> tuple[str, str]:
        return explain(error)


def explain(error: Exception) -> tuple[str, str]:
    """What the server or a driver says, and the way out by SQLSTATE or by libpq's words; "" where
    it is about the statement.

    >>> explain(OSError('connection failed: FATAL: database "shop" does not exist'))[1]
    'make the database first, with createdb, or give another'
    """
    text, state = _said(error), getattr(error, "sqlstate", None) or ""
    return text, way_out(f"{state} {text}", _WAYS_OUT)


def _said(error: Exception) -> str:
    """What the server says, without what ADBC and libpq put around it."""
    text = re.sub(r"^[A-Z_]+: ", "", str(error))
    text = re.sub(r"\n+Query was: .*?(?=\. SQLSTATE|$)", "", text, flags=re.DOTALL)
    text = re.sub(r"\. SQLSTATE: \w+$", "", text)
    text = re.sub(r"\s+(LINE \d+: |CONTEXT: |Is the server running ).*", "", text, flags=re.DOTALL)
    return re.sub(
        r"\[libpq\] |Failed to \w+(?: \w+)?: |could not begin COPY: |ERROR:  |"
        r"Execution error \[\w+\]: ",
        "",
        text,
    )


def driver() -> Any:
    """The module psycopg."""
    try:
        import psycopg
    except ImportError as error:
        raise missing("PostgreSQL", error.name or "psycopg", "postgresql") from None
    return psycopg


def connect(address: Address, defaults: Mapping[str, str] = MappingProxyType({})) -> Any:
    """A connection of psycopg that commits each statement by itself. defaults: for libpq, where
    the address says nothing else."""
    given = replace(address, settings={**defaults, **address.settings})
    return driver().connect(conninfo(given), autocommit=True, client_encoding="UTF8")


def first_line(error: Exception) -> str:
    """The first line of what a driver says, without secrets."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = without_secrets(lines[0]) if lines else type(error).__name__
    return printable(said.removesuffix("."))


def conninfo(address: Address) -> str:
    """The connection string, its password included: never to be shown.

    >>> from xorec.core.addresses import parse_address
    >>> conninfo(parse_address("postgresql:///shop?service=a b&connect_timeout=3"))
    "dbname='shop' service='a b' connect_timeout='3' application_name='xorec'"
    """
    parts = {
        "host": address.host,
        "port": "" if address.port is None else str(address.port),
        "user": address.user,
        "password": address.password,
        "dbname": address.database,
    }
    given = {name: value for name, value in parts.items() if value}
    given |= {name: value for name, value in address.settings.items() if name not in _NOT_LIBPQ}
    if "PGCONNECT_TIMEOUT" not in os.environ:
        given.setdefault("connect_timeout", _CONNECT_TIMEOUT)
    if "PGAPPNAME" not in os.environ:
        given.setdefault("application_name", "xorec")
    return " ".join(f"{name}={_quoted(value)}" for name, value in given.items())


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
