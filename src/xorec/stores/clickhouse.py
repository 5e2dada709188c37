"""ClickHouse: codes as words of 64 bits. A server over HTTP, or a folder in this process (chdb).

ClickHouse has no transactions. So each export has tables of its own, whose names end in a token;
the table `about` says which token counts, and is exchanged in one step when all else is there.
xorec goes by `about`; for people there are views of the plain names.
"""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from xorec.core.addresses import Address
from xorec.core.bits import words_for
from xorec.core.errors import StoreError
from xorec.databases import clickhouse as database
from xorec.databases.clickhouse import ClickhouseError, driver_errors
from xorec.stores.base import SqlText, as_hint
from xorec.stores.contents import Contents
from xorec.stores.schema import TABLES, About, Schema
from xorec.stores.sql import STAGED, SqlStore
from xorec.stores.tables import Batch, Kind, to_frame

TOKEN = "token"
"""The row of `about` that says what the names of the other tables end in, as JSON."""
_HEX = 12
_UNKNOWN_TABLE = 60


class ClickhouseStore(SqlStore):
    """A database of a server, or a folder."""

    kind = "clickhouse"
    extra = "clickhouse"
    types: ClassVar[Mapping[Kind, str]] = {
        "row": "Int32",
        "integer": "Int64",
        "text": "String",
        "code": "UInt64",
        "float": "Float32",
        "vector": "Array(Float32)",
    }
    has_bit_codes = False
    driver_errors = (OSError, ClickhouseError)

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._token = self._staged = ""

    def connect(self) -> Any:
        return database.connect(self.address)

    @property
    def _is_there(self) -> bool:
        """Asking does not make a folder that is not there."""
        return self._writes or self.address.path is None or self.address.path.exists()

    @contextmanager
    def writing(self) -> Iterator[None]:
        self._writes, self._staged = True, secrets.token_hex(_HEX // 2)
        try:
            yield
        finally:
            self._writes = False

    def run(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        if not self._is_there:
            return []
        try:
            with driver_errors():
                if statement.lstrip()[:6].upper() == "SELECT":
                    found = self._connection.query(
                        statement, parameters=dict(parameters or {}) or None
                    )
                    return [*map(tuple, found.result_rows)]
                self._connection.command(statement)
                return []
        except ClickhouseError as error:
            if error.code == _UNKNOWN_TABLE and not self._writes and self._token:
                vars(self).pop("about", None)
                raise StoreError(
                    f"{self.address} was exported to again just now: ask again."
                ) from None
            raise

    def quote(self, name: str) -> str:
        return database.quoted_name(name)

    def name(self, table: str, *, staged: bool = False) -> str:
        if table == "about":
            return super().name(table, staged=staged)
        token = self._staged if staged else self._token
        return self.quote(f"{self.prefix}{table}{token and f'_{token}'}")

    def create(self, table: Schema, name: str) -> str:
        """Rows in the order of the key; a filter of each granule finds ids."""
        key = ", ".join(map(self.quote, table.key))
        more = ""
        if table.unique:
            index = f"INDEX {self.quote(f'by_{table.unique}')} {self.quote(table.unique)}"
            more = f",\n  {index} TYPE bloom_filter(0.001) GRANULARITY 1"
        made = super().create(table, name).replace(f",\n  PRIMARY KEY ({key})", more, 1)
        return f"{made} ENGINE = MergeTree ORDER BY ({key})"

    def parameter(self, name: str, kind: Kind) -> str:
        return f"{{{name}:{self.types[kind]}}}"

    def hamming(self, about: About) -> str:
        words = range(words_for(about.bits))
        return " + ".join(f"toInt32(bitHammingDistance(i.w{at}, u.w{at}))" for at in words)

    def half(self, expression: str) -> str:
        return f"intDiv({expression}, 2)"

    def query(self, about: About, *, seen: bool = False) -> str:
        """Without a correlated subquery, which older servers do not have."""
        users = f"{self.name('users')} WHERE user_id = {self.id_parameter('user', about.user_kind)}"
        unseen = (
            f"WHERE i.item_row NOT IN (SELECT item_row FROM {self.name('seen')}\n"
            f"  WHERE user_row IN (SELECT user_row FROM {users}))\n"
        )
        return (
            f"{self.described(about)},\n  {self.distance(about)} AS distance\n"
            f"FROM {self.name('items')} AS i CROSS JOIN (SELECT * FROM {users}) AS u\n"
            f"{'' if seen else unseen}"
            f"ORDER BY distance, i.tie_rank LIMIT {self.parameter('k', 'row')}"
        )

    def sql(self, contents: Contents) -> SqlText:
        plain = type(self)(self.address)  # knows no token of an export
        return super(ClickhouseStore, plain).sql(contents)

    def tables_there(self) -> set[str]:
        return set(self._engines())

    def _engines(self) -> dict[str, str]:
        """The names of all tables and views, and what they are."""
        rows = self.run("SELECT name, engine FROM system.tables WHERE database = currentDatabase()")
        return {str(name): str(engine) for name, engine in rows}

    def read_about(self) -> About | None:
        self._token = self._current_token()
        return super().read_about()

    def _current_token(self) -> str:
        """What the names of the tables that count end in; "" where they have plain names."""
        with self.telling("ask"):
            if f"{self.prefix}about" not in self.tables_there():
                return ""
            rows = self.run(f"SELECT value FROM {self.name('about')} WHERE name = '{TOKEN}'")
        return str(rows[0][0]).strip('"') if rows else ""

    def insert(self, table: Schema, name: str, batch: Batch) -> None:
        import polars as pl

        stream, frame = io.BytesIO(), to_frame(table.columns, batch)
        frame.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
        columns = [column for one in table.columns for column, _ in self.column_types(one)]
        with driver_errors():
            self._connection.raw_insert(name, columns, stream.getvalue(), fmt="ArrowStream")

    def after_load(self, table: Schema, name: str) -> None:
        if table.name == "about":
            self.run(f"INSERT INTO {name} VALUES ('{TOKEN}', '\"{self._staged}\"')")

    def swap(self, tables: Sequence[str]) -> None:
        """The step that counts is that of `about`; the rest can be done at any time after it."""
        about, staged = self.name("about"), self.name("about", staged=True)
        engines = self._engines()
        if f"{self.prefix}about" in engines:
            self.run(f"EXCHANGE TABLES {staged} AND {about}")
        else:
            self.run(f"RENAME TABLE {staged} TO {about}")
        for table in TABLES:
            if table == "about":
                continue
            plain = self.quote(f"{self.prefix}{table}")
            if engines.get(f"{self.prefix}{table}", "View") != "View":
                self.run(f"DROP TABLE {plain} SYNC")  # that a person has made of our SQL
            if table in tables:
                whole = f"SELECT * FROM {self.name(table, staged=True)}"
                self.run(f"CREATE OR REPLACE VIEW {plain} AS {whole}")
            else:
                self.run(f"DROP VIEW IF EXISTS {plain}")
        self._drop_staged()

    def _drop_staged(self) -> None:
        """Tables of exports that died, or whose place another has taken."""
        current = self._current_token()
        ours = f"{re.escape(self.prefix)}(?:{'|'.join(TABLES)})_(?P<token>[0-9a-f]{{{_HEX}}})"
        for name in self.tables_there():
            found = re.fullmatch(ours, name)
            if name == f"{self.prefix}about{STAGED}" or (found and found["token"] != current):
                self.run(f"DROP TABLE IF EXISTS {self.quote(name)} SYNC")

    def hint(self, error: Exception) -> str:
        _, way_out = database.explain(error)
        return as_hint(way_out) or super().hint(error)
