"""DuckDB: codes as words of 64 bits, written and read as Arrow. Its scans need no index."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from xorec.core.bits import words_for
from xorec.databases import duckdb as database
from xorec.stores.schema import About, Schema
from xorec.stores.sql import SqlFileStore
from xorec.stores.tables import Batch, Kind, to_frame

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

    has_bit_codes = False

    @cached_property
    def _driver(self) -> Any:
        duckdb = database.driver()
        self.driver_errors = (OSError, duckdb.Error)
        return duckdb

    def connect(self) -> Any:
        connection = self._driver.connect(str(self._path), read_only=not self._writes)
        if self._writes:
            connection.execute(f"SET memory_limit = '{_MEMORY}'")
        return connection

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

    def tables_there(self) -> set[str]:
        tables = "information_schema.tables WHERE table_schema = current_schema()"
        return {name for (name,) in self.run(f"SELECT table_name FROM {tables}")}

    def insert(self, table: Schema, name: str, batch: Batch) -> None:
        self._connection.register("xorec batch", to_frame(table.columns, batch).to_arrow())
        self._connection.execute(f'INSERT INTO {name} SELECT * FROM "xorec batch"')
        self._connection.unregister("xorec batch")
