"""SQLite: a file, opened to read only.

A column of SQLite may hold values of any type. Ids must be of one: whole numbers or text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar
from urllib.parse import quote as url_quote

import polars as pl

from xorec.core.addresses import Address
from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.databases.base import (
    IDS,
    ONLY_READS,
    ROWS,
    Database,
    Table,
    file_of,
    refusal,
    way_out,
)

_WAYS_OUT = (
    ("not a database|disk image", "give the file of an SQLite database"),
    ("locked|busy", "another process writes to it: wait until it is done"),
    ("readonly|read-only", ONLY_READS),
    ("unable to open", "check that it and its folder can be read"),
)
_WORDS = {int: "a whole number", float: "a number with a fraction", str: "text", bytes: "a blob"}


class SQLite(Database):
    """A file of SQLite, to read."""

    text_cast = "CAST({column} AS TEXT)"
    float_cast = "CAST({column} AS REAL)"
    sorts: ClassVar = {"int": "number", "float": "number"} | dict.fromkeys(
        ("str", "bytes", "NoneType"), "text"
    )
    driver_errors = (sqlite3.Error, OverflowError)

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        uri = f"file:{url_quote(file_of(address, 'an SQLite'))}?mode=ro"
        with self.errors():
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            self._connection.execute("PRAGMA query_only = ON")

    def tables(self) -> list[Table]:
        names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        with self.errors():
            found = [name for (name,) in self._connection.execute(names)]
        made = [Table(name, self.quote(name), self._columns_of(name)) for name in found]
        return [one for one in made if one.columns and not one.name.startswith("sqlite_")]

    def _columns_of(self, table: str) -> tuple[str, ...]:
        try:
            rows = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            return tuple(name for (name,) in rows)
        except sqlite3.Error:  # a view of what is gone, a table of an extension that is not here
            return ()

    def columns(self, query: str) -> dict[str, str]:
        """A type is that of the first row's value."""
        with self.errors():
            cursor = self._connection.execute(f"{query} LIMIT 1")
            names = [column[0] for column in cursor.description]
            row = cursor.fetchone() or [None] * len(names)
        return {name: type(value).__name__ for name, value in zip(names, row, strict=True)}

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        seen: dict[str, type] = {}
        with self.errors():
            cursor = self._connection.execute(query)
            names = [column[0] for column in cursor.description]
            while rows := cursor.fetchmany(ROWS):
                values = zip(names, zip(*rows, strict=True), strict=True)
                yield pl.DataFrame([self._series(name, one, seen) for name, one in values])

    def _series(self, name: str, values: Sequence[Any], seen: dict[str, type]) -> pl.Series:
        """The values of a column; ids of several types are refused, other values become text."""
        types = set(map(type, values)) - {type(None)}
        if name in IDS and types:
            expected = seen.setdefault(name, next(type(one) for one in values if one is not None))
            if types != {expected}:
                other = next(one for one in values if type(one) not in (expected, type(None)))
                raise self._mixed(name, other, expected)
        if len(types) < 2:
            return pl.Series(name, values, dtype=pl.Null if not types else None)
        if types == {int, float}:
            return pl.Series(name, values, dtype=pl.Float64, strict=False)
        return pl.Series(name, [None if one is None else str(one) for one in values])

    def _mixed(self, role: str, value: Any, expected: type) -> DataError:
        what = f"the {role} {quoted(value)} is {_WORDS[type(value)]}, the first {_WORDS[expected]}"
        cast = self.text_cast.format(column="...")
        return refusal(self.address, what, f"give all ids as one type, as by a query with {cast}")

    def as_seconds(self, column: str, sql_type: str) -> str:
        return column

    def not_before(self, column: str, sql_type: str, seconds: int) -> str:
        return f"{column} >= {seconds}"

    def close(self) -> None:
        self._connection.close()

    def explain(self, error: Exception) -> tuple[str, str]:
        text = str(error)
        return text, way_out(text, _WAYS_OUT)
