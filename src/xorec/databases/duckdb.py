"""DuckDB: a file; to read, it gives rows as Arrow batches while the query runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from xorec.core.addresses import Address
from xorec.databases.base import (
    ONLY_READS,
    ROWS,
    Database,
    Sort,
    Table,
    file_of,
    frames_of,
    missing,
    query_refusal,
    way_out,
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
SELECT schema_name, table_name, list(column_name ORDER BY column_index), schema_name = 'main', false
FROM duckdb_columns() WHERE NOT internal AND database_name = current_database()
GROUP BY ALL ORDER BY ALL
"""
_WAYS_OUT = (
    (
        "conflicting lock|could not set lock",
        "another process writes to it: wait until it closes it",
    ),
    ("not a valid DuckDB|(older|newer) version", "give a file of this DuckDB"),
    ("read-only mode", ONLY_READS),
)


class DuckDB(Database):
    """A file of DuckDB, to read."""

    text_cast = "{column}::VARCHAR"
    float_cast = "{column}::DOUBLE"
    sorts: ClassVar = _SORTS

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        duckdb = driver()
        import pyarrow as pa

        self.driver_errors = (duckdb.Error, pa.ArrowException, OSError)
        path = file_of(address, "a DuckDB")
        with self.errors():
            self._connection: Any = duckdb.connect(path, read_only=True)

    def tables(self) -> list[Table]:
        with self.errors():
            return [self.table(*row) for row in self._connection.execute(_TABLES).fetchall()]

    def columns(self, query: str) -> dict[str, str]:
        with self.errors():
            if len(self._connection.extract_statements(query)) > 1:
                raise query_refusal(self.address, "the query has several statements")
            rows = self._connection.execute(f"DESCRIBE {query}").fetchall()
        return {name: re.sub(r"\(.*", "", kind) for name, kind, *_ in rows}

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        with self.errors():
            yield from frames_of(self._connection.sql(query).to_arrow_reader(ROWS))

    def as_seconds(self, column: str, sql_type: str) -> str:
        is_zoned = sql_type == "TIMESTAMP WITH TIME ZONE"
        moment = f"{column}::{'TIMESTAMPTZ' if is_zoned else 'TIMESTAMP'}"
        return f"CASE WHEN isfinite({moment}) THEN floor(epoch({moment}))::BIGINT END"

    def not_before(self, column: str, sql_type: str, seconds: int) -> str:
        moment = f"make_timestamp({seconds * 1_000_000}::BIGINT)"  # a timestamp is in UTC
        if sql_type == "TIMESTAMP WITH TIME ZONE":
            return f"epoch({column}) >= {seconds}"
        return f"{column} >= {moment}::{sql_type}"

    def close(self) -> None:
        self._connection.close()

    def explain(self, error: Exception) -> tuple[str, str]:
        text = re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", str(error))
        text = re.sub(r"\n+LINE \d+:.*", "", text, flags=re.DOTALL)
        text = re.sub(r"See also http.*", "", text)
        if "different configuration" in text:
            close = "close that connection first, or give xorec the frame connection.sql(...).pl()"
            return "it is open for writing in this process", close
        return text, way_out(text, _WAYS_OUT)


def driver() -> Any:
    """The module duckdb."""
    try:
        import duckdb
        import pyarrow  # noqa: F401 - by which DuckDB takes and gives batches
    except ImportError:
        raise missing("DuckDB", "the packages duckdb and pyarrow", "duckdb") from None
    return duckdb
