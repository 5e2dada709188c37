"""DuckDB: a file, opened to read only; rows as Arrow batches while the query runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xorec.core.addresses import Address
from xorec.core.errors import DataError
from xorec.databases.base import (
    ROWS,
    Database,
    Sort,
    Table,
    file_of,
    frames_of,
    missing,
    query_refusal,
    refusal,
)

if TYPE_CHECKING:
    import polars as pl

_NUMBERS = "TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE"
_SORTS: dict[str, Sort] = {
    **dict.fromkeys((*_NUMBERS.split(), "BOOLEAN", "BLOB"), "number"),
    **dict.fromkeys(("DECIMAL", "HUGEINT", "UHUGEINT"), "decimal"),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "time"),
    "TIMESTAMP WITH TIME ZONE": "time",
    "VARCHAR": "text",
    "VARCHAR[]": "list",
}
_TABLES = """
SELECT schema_name, table_name, list(column_name ORDER BY column_index) FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database() GROUP BY ALL ORDER BY ALL
"""


class DuckDB(Database):
    """A file of DuckDB."""

    extra = "duckdb"
    how_to_cast = "{column}::VARCHAR"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        try:
            import duckdb
            import pyarrow  # noqa: F401 - by which DuckDB hands over batches
        except ImportError:
            raise missing(self.extra, "duckdb and pyarrow") from None
        with file_of(address, "a DuckDB") as path, self._errors():
            self._connection: Any = duckdb.connect(path, read_only=True)

    def tables(self) -> list[Table]:
        with self._errors():
            rows = self._connection.execute(_TABLES).fetchall()
        made = []
        for schema, name, columns in rows:
            long_name = f"{schema}.{name}"
            short = name if schema == "main" else long_name
            sql = f"{self.quote(schema)}.{self.quote(name)}"
            made.append(Table(short, sql, tuple(columns), long_name))
        return made

    def columns(self, query: str) -> dict[str, str]:
        with self._errors():
            if len(self._connection.extract_statements(query)) > 1:
                raise query_refusal(self.address, "the query has several statements")
            rows = self._connection.execute(f"DESCRIBE {query}").fetchall()
        return {name: re.sub(r"\(.*", "", kind) for name, kind, *_ in rows}

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        with self._errors():
            yield from frames_of(self._connection.sql(query).to_arrow_reader(ROWS))

    def sort_of(self, sql_type: str) -> Sort:
        return _SORTS.get(sql_type, "other")

    def as_text(self, column: str) -> str:
        return f"{column}::VARCHAR"

    def as_float(self, column: str) -> str:
        return f"{column}::DOUBLE"

    def as_seconds(self, column: str, sql_type: str) -> str:
        moment = f"{column}::{_plain_time(sql_type)}"
        return f"CASE WHEN isfinite({moment}) THEN floor(epoch({moment}))::BIGINT END"

    def not_before(self, column: str, sql_type: str, seconds: int) -> str:
        moment = f"make_timestamp({seconds * 1_000_000}::BIGINT)"  # a timestamp is in UTC
        if sql_type == "TIMESTAMP WITH TIME ZONE":
            return f"epoch({column}) >= {seconds}"
        return f"{column} >= {moment}::{sql_type}"

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import duckdb
        import pyarrow as pa

        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _in_words(self.address, error) from None


def _plain_time(sql_type: str) -> str:
    return "TIMESTAMPTZ" if sql_type == "TIMESTAMP WITH TIME ZONE" else "TIMESTAMP"


def _in_words(address: Address, error: Exception) -> DataError:
    text = re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", str(error))
    text = re.sub(r"\n+LINE \d+:.*", "", text, flags=re.DOTALL)
    text = re.sub(r"See also http.*", "", text)
    if "Conflicting lock" in text or "Could not set lock" in text:
        return refusal(address, text, "another process writes to it: wait until it has closed it")
    if "different configuration" in text:
        way_out = "close that connection first, or give xorec the frame connection.sql(...).pl()"
        return refusal(address, "it is open for writing in this process", way_out)
    if "not a valid DuckDB" in text or "older version" in text or "newer version" in text:
        return refusal(address, text, "give a file of this DuckDB")
    if "read-only mode" in text:
        return refusal(address, text, "xorec only reads: give a SELECT that changes nothing")
    return query_refusal(address, text)
