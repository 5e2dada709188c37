"""DuckDB: codes as words of 64 bits, written and read as Arrow. Its scans need no index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from xorec.core.bits import words_for
from xorec.core.errors import MissingExtraError
from xorec.stores.about import About
from xorec.stores.frames import to_frame, word_names
from xorec.stores.schema import Schema
from xorec.stores.sql_file import SqlFileStore
from xorec.stores.tables import Batch, Column, Kind

_MEMORY = "1GB"
"""What DuckDB may take while it is written to; it takes four fifths of the machine by itself."""


class DuckdbStore(SqlFileStore):
    """A file of DuckDB."""

    kind = "duckdb"
    extra = "duckdb"
    types: ClassVar[Mapping[Kind, str]] = {
        "row": "INTEGER",
        "integer": "BIGINT",
        "text": "VARCHAR",
        "code": "UBIGINT",
        "float": "FLOAT",
        "vector": "FLOAT[{size}]",
    }

    @cached_property
    def _driver(self) -> Any:
        try:
            import duckdb
            import pyarrow  # noqa: F401 - it hands over the columns
        except ImportError:
            raise MissingExtraError(
                f"{self.address} needs DuckDB: pip install 'xorec[duckdb]'."
            ) from None
        self.driver_errors = (OSError, duckdb.Error)
        return duckdb

    def connect(self) -> Any:
        connection = self._driver.connect(str(self._path), read_only=not self._writes)
        if self._writes:
            connection.execute(f"SET memory_limit = '{_MEMORY}'")
        return connection

    def column_types(self, column: Column) -> list[tuple[str, str]]:
        if column.kind == "code":
            return [(name, self.types["code"]) for name in word_names(column)]
        return super().column_types(column)

    def key_lines(self, table: Schema) -> list[str]:
        """None: an index would be kept in memory, and no question is faster by it."""
        return []

    def parameter(self, name: str, kind: Kind) -> str:
        return f"${name}"

    def hamming(self, about: About) -> str:
        """bit_count gives a TINYINT, in which two words of 64 overflow: hence INTEGER."""
        words = (f"bit_count(xor(i.w{at}, u.w{at}))" for at in range(words_for(about.bits)))
        return " + ".join(f"{word}::INTEGER" for word in words)

    def half(self, expression: str) -> str:
        return f"({expression}) // 2"

    def run(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        if not self._writes and not self._path.exists():
            return []
        rows: list[Any] = self._connection.execute(statement, parameters or None).fetchall()
        return rows

    def tables_there(self) -> set[str]:
        return {
            name
            for (name,) in self.run(
                "SELECT table_name FROM information_schema.tables "
                "WHERE table_schema = current_schema()"
            )
        }

    def insert(self, table: Schema, name: str, batch: Batch) -> None:
        self._connection.register("xorec batch", to_frame(table, batch).to_arrow())
        self._connection.execute(f'INSERT INTO {name} SELECT * FROM "xorec batch"')
        self._connection.unregister("xorec batch")

    def from_driver(self, column: Column, values: Sequence[tuple[Any, ...]]) -> Any:
        if column.kind == "code":
            return np.array(values, dtype=np.uint64).reshape(-1, words_for(column.size))
        if column.kind == "vector":
            rows = [one for (one,) in values]
            return np.array(rows, dtype=np.float32).reshape(-1, column.size)
        return super().from_driver(column, values)
