"""PostgreSQL 14 or newer: codes as bit(n), by pgvector's <~> where it is there, else by bit_count.

Tables come in by binary COPY beside the old ones, get their keys when all rows are there, and take
the old ones' place in one transaction. Passwords come from where libpq finds them: `libpq`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from xorec.core.addresses import Address
from xorec.core.errors import MissingExtraError, StoreError
from xorec.databases.postgresql import conninfo, password_way_out
from xorec.stores.about import About
from xorec.stores.copy_rows import HEADER, TRAILER, copy_rows, words_of_bits
from xorec.stores.schema import TABLES, Schema
from xorec.stores.sql import STAGED, SqlStore
from xorec.stores.tables import Batch, Column, Kind, refuse_nul

OLDEST = 140_000
"""The version that has bit_count of bits."""
_PATIENCE = 60
"""Seconds for which an export waits for another one, and the swap for whoever is reading."""
_WAIT_MS = 500
"""Less than deadlock_timeout."""


class PostgresqlStore(SqlStore):
    """Tables in the schema that `?schema=` names, else in the first of the search path.

    with_extension: compare codes by pgvector if the database has it.
    """

    kind = "postgresql"
    extra = "postgresql"
    types: ClassVar[Mapping[Kind, str]] = {
        "row": "integer",
        "integer": "bigint",
        "text": 'text COLLATE "C"',
        "code": "bit({size})",
        "float": "real",
        "vector": "real[]",
    }

    def __init__(self, address: Address, *, with_extension: bool = True) -> None:
        super().__init__(address)
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError(
                "PostgreSQL needs psycopg: pip install 'xorec[postgresql]'."
            ) from None
        self._driver = psycopg
        self._with_extension = with_extension
        self._writes = False
        self.driver_errors = (OSError, psycopg.Error)

    @property
    def _schema(self) -> str:
        return self.address.settings.get("schema", "")

    @cached_property
    def _connection(self) -> Any:
        connection = self._driver.connect(conninfo(self.address), autocommit=True)
        connection.execute("SET jit = off")  # to compile takes longer than a list
        connection.prepare_threshold = None  # a plan that was kept may be of tables that are gone
        if connection.info.server_version < OLDEST:
            version = connection.info.server_version // 10_000
            connection.close()
            raise StoreError(f"{self.address} is PostgreSQL {version}: 14 or newer is needed.")
        if self._schema:
            if self._writes:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {super().quote(self._schema)}")
            path = "SELECT set_config('search_path', quote_ident(%s) || ', ' || s, false) FROM "
            path += "current_setting('search_path') AS s"
            connection.execute(path, [self._schema])
        return connection

    def close(self) -> None:
        vars(self).pop("_has_vector", None)
        if (connection := vars(self).pop("_connection", None)) is not None:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One export of these tables at a time; the lock goes with the connection."""
        self.close()
        self._writes = True
        try:
            self.run(f"SET lock_timeout = '{_PATIENCE}s'")
            ours = {"ours": f"xorec export {self._schema}.{self.prefix}"}
            self.run("SELECT pg_advisory_lock(hashtextextended(%(ours)s, 0))", ours)
            yield
        finally:
            self._writes = False
            self.close()

    @cached_property
    def _has_vector(self) -> bool:
        """Whether the search path has pgvector's operator between codes."""
        ((found,),) = self.run("SELECT to_regoperator('<~>(bit,bit)') IS NOT NULL")
        return self._with_extension and bool(found)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """The swap's: begins when nobody reads the old tables, and then nobody does until its end.

        To wait for one table while others are locked could end as a deadlock with a query that has
        them in another order, and PostgreSQL would break off either. So the wait is shorter than
        the second after which it looks for deadlocks, and begins anew.
        """
        there = self.tables_there()
        old = [self.name(table) for table in TABLES if f"{self.prefix}{table}" in there]
        deadline = time.monotonic() + _PATIENCE
        while not self._begin_with(old):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"queries hold the tables of {self.address} for more than {_PATIENCE} s: end "
                    "them (pg_stat_activity) and export again; the old tables are as they were."
                )
            time.sleep(0.1)
        try:
            yield
        except BaseException:
            with suppress(*self.driver_errors):
                self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def _begin_with(self, tables: Sequence[str]) -> bool:
        """Begin a transaction that has these tables for itself; False where others use them."""
        self.run("BEGIN")
        try:
            if tables:
                self.run(f"SET LOCAL statement_timeout = {_WAIT_MS}")
                self.run(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
                self.run("SET LOCAL statement_timeout = 0")
        except (self._driver.errors.QueryCanceled, self._driver.errors.LockNotAvailable):
            self.run("ROLLBACK")
            return False
        return True

    def quote(self, name: str) -> str:
        return super().quote(name).replace("%", "%%")  # of which the driver makes one

    def parameter(self, name: str, kind: Kind) -> str:
        types = {"row": "integer", "integer": "bigint", "text": "text"}
        return f"%({name})s::{types[kind]}"

    def create(self, table: Schema, name: str) -> str:
        """A table that is being written gets its key when all rows are there."""
        made = super().create(table, name)
        if not name.endswith(f'{STAGED}"'):
            return made
        return made[: made.rindex(",\n  PRIMARY KEY")] + "\n)"

    def after_load(self, table: Schema, name: str) -> None:
        for kind, columns in (("PRIMARY KEY", table.key), ("UNIQUE", (table.unique,))):
            if columns[0]:
                key = self.quote(f"{self.prefix}{table.name}_{secrets.token_hex(4)}")
                listed = ", ".join(map(self.quote, columns))
                self.run(f"ALTER TABLE {name} ADD CONSTRAINT {key} {kind} ({listed})")
        self.run(f"ANALYZE {name}")

    def hamming(self, about: About) -> str:
        if "_connection" in vars(self) and self._has_vector:
            return "(i.code <~> u.code)::integer"
        return "bit_count(i.code # u.code)::integer"

    def query(self, about: About, *, seen: bool = False) -> str:
        """The nearest are as many more as the user has items, and then these are left out.

        The planner would make a hash table of all that all users have to leave out ten of them.
        """
        if seen:
            return super().query(about, seen=True)
        user = self.parameter("user", "integer" if about.user_kind == "int64" else "text")
        k, users = self.parameter("k", "row"), self.name("users")
        own = (
            f"FROM {users} m JOIN {self.name('seen')} s ON s.user_row = m.user_row\n"
            f"    WHERE m.user_id = {user}"
        )
        return (
            "SELECT n.item_row, n.item_id, n.name, n.distance\n"
            f"FROM (SELECT i.item_row, i.item_id, {'i.name' if about.names else 'NULL AS name'}, "
            f"i.tie_rank,\n    {self.distance(about)} AS distance\n"
            f"  FROM {users} u CROSS JOIN {self.name('items')} i\n"
            f"  WHERE u.user_id = {user}\n"
            f"  ORDER BY distance, i.tie_rank\n"
            f"  LIMIT {k} + (SELECT count(*) {own})) n\n"
            f"WHERE n.item_row <> ALL (ARRAY(SELECT s.item_row {own}))\n"
            f"ORDER BY n.distance, n.tie_rank LIMIT {k}"
        )

    def run(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        if "_connection" in vars(self) and self._connection.closed:
            self.close()
        cursor = self._connection.execute(statement, parameters or {}, binary=True)
        rows: list[Any] = cursor.fetchall() if cursor.description else []
        return rows

    def nearest(self, user: int | str, k: int, *, seen: bool = False) -> Any:
        with self.telling("ask"):
            self._connection  # noqa: B018 - so that it is known what can compare codes
        return super().nearest(user, k, seen=seen)

    def tables_there(self) -> set[str]:
        rows = self.run(
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        )
        return {name for (name,) in rows}

    def insert(self, table: Schema, name: str, batch: Batch) -> None:
        refuse_nul(batch, table.name, "PostgreSQL")
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {name} FROM STDIN (FORMAT binary)", {}) as copy,
        ):
            copy.write(HEADER)
            copy.write(copy_rows(table.columns, batch))
            copy.write(TRAILER)

    def from_driver(self, column: Column, values: Sequence[tuple[Any, ...]]) -> Any:
        if column.kind == "code":
            return words_of_bits([one for (one,) in values], column.size)
        if column.kind == "vector":
            made = np.array([one for (one,) in values], dtype=np.float32)
            return made.reshape(-1, column.size)
        return super().from_driver(column, values)

    def hint(self, error: Exception) -> str:
        state = getattr(error, "sqlstate", None) or ""
        if (way_out := password_way_out(str(error))) or state.startswith("28"):
            way_out = way_out or password_way_out("password")
            return f"{way_out[0].upper()}{way_out[1:]}."
        if state == "3D000" or ("database" in str(error) and "does not exist" in str(error)):
            return "Make the database first, with createdb, or give another."
        if state == "55P03":
            return "Another export or a long query holds the tables: wait, then run again."
        if state == "42501":
            return "Let the user create tables in the schema, or give another by ?schema=."
        if not state or state[:2] in ("08", "57", "58"):
            return (
                "What was exported before is as it was; see that the server runs and can be "
                "reached, and run again."
            )
        return super().hint(error)
