"""PostgreSQL 14 or newer: codes as bit(n), by pgvector's <~> where it is there, else by bit_count.

Tables come in by binary COPY beside the old ones, get their keys when all rows are there, and take
the old ones' place in one transaction. Passwords come from where libpq finds them.

A row of binary COPY is the number of its fields (int16), and of each field its length (int32) and
its bytes, the highest first. Rows are made of whole columns at once (`copy_rows`): fields of fixed
length that stand side by side are one structured array.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, groupby
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from xorec.core.addresses import Address
from xorec.core.bits import Words
from xorec.core.errors import StoreError
from xorec.databases import postgresql as database
from xorec.databases.base import CHECK_SERVER
from xorec.stores.base import as_hint
from xorec.stores.schema import TABLES, About, Schema
from xorec.stores.sql import STAGED, SqlStore
from xorec.stores.tables import Batch, Column, Kind, code_bytes, code_words, refuse_nul, rows_of

OLDEST = 140_000
"""The version that has bit_count of bits."""
_PATIENCE = 60
"""Seconds for which an export waits for another one, and the swap for readers."""
_WAIT_MS = 500
"""Less than deadlock_timeout."""
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_FLOAT4 = 700
"""The number of the type `real`."""
_NUMBERS = {"row": ">i4", "integer": ">i8", "float": ">f4"}


class PostgresqlStore(SqlStore):
    """Tables in the schema that `?schema=` names, else in the first of the search path."""

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

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._driver = database.driver()
        self.driver_errors = (OSError, self._driver.Error)

    @property
    def _schema(self) -> str:
        return self.address.settings.get("schema", "")

    def connect(self) -> Any:
        connection = database.connect(self.address)
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
        super().close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One export of these tables at a time; the lock goes with the connection."""
        with super().writing():
            self.run(f"SET lock_timeout = '{_PATIENCE}s'")
            ours = {"ours": f"xorec export {self._schema}.{self.prefix}"}
            self.run("SELECT pg_advisory_lock(hashtextextended(%(ours)s, 0))", ours)
            yield

    @cached_property
    def _has_vector(self) -> bool:
        """Whether the search path has pgvector's operator between codes."""
        ((found,),) = self.run("SELECT to_regoperator('<~>(bit,bit)') IS NOT NULL")
        return bool(found)

    def begin(self) -> None:
        """The swap begins when no query reads the old tables, and keeps queries out until its end.

        To wait for one table while others are locked could end as a deadlock with a query that has
        them in another order, and PostgreSQL would break off either. So the wait is shorter than
        the second after which it looks for deadlocks, and starts again.
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
        user = self.id_parameter("user", about.user_kind)
        k, users = self.parameter("k", "row"), self.name("users")
        own = (
            f"FROM {users} m JOIN {self.name('seen')} s ON s.user_row = m.user_row\n"
            f"    WHERE m.user_id = {user}"
        )
        return (
            "SELECT n.item_row, n.item_id, n.name, n.distance\n"
            f"FROM ({self.described(about)}, i.tie_rank,\n    {self.distance(about)} AS distance\n"
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
            copy.write(_HEADER)
            copy.write(copy_rows(table.columns, batch))
            copy.write(_TRAILER)

    def from_driver(self, column: Column, values: Sequence[tuple[Any, ...]]) -> Any:
        if column.kind == "code":
            return words_of_bits([one for (one,) in values], column.size)
        return super().from_driver(column, values)

    def hint(self, error: Exception) -> str:
        state = getattr(error, "sqlstate", None) or ""
        if state == "55P03":
            return "Another export or a long query holds the tables: wait, then run again."
        if state == "42501":
            return "Let the user create tables in the schema, or give another by ?schema=."
        _, way_out = database.explain(error)
        return as_hint(way_out or ("" if state else CHECK_SERVER)) or super().hint(error)


def copy_rows(columns: Sequence[Column], batch: Batch) -> bytes:
    """All rows of a batch.

    >>> copy_rows([Column("a", "row")], {"a": np.array([7])}).hex(" ", 2)
    '0001 0000 0004 0000 0007'
    """
    count = rows_of(batch)
    parts: list[list[bytes] | bytes] = []
    if columns[0].kind == "text":
        parts.append(_fixed([], batch, len(columns)))
    for is_text, group in groupby(columns, lambda one: one.kind == "text"):
        if is_text:
            texts = ([text.encode() for text in batch[one.name]] for one in group)
            parts += [[len(one).to_bytes(4, "big") + one for one in column] for column in texts]
        else:
            parts.append(_fixed([*group], batch, 0 if parts else len(columns)))
    if len(parts) == 1:
        assert isinstance(parts[0], bytes)
        return parts[0]
    rows = [_cut(one, count) if isinstance(one, bytes) else iter(one) for one in parts]
    return b"".join(chain.from_iterable(zip(*rows, strict=True)))


def _cut(joined: bytes, count: int) -> Iterator[bytes]:
    size = len(joined) // count if count else 0
    return (joined[at * size : (at + 1) * size] for at in range(count))


def _fixed(columns: Sequence[Column], batch: Batch, fields: int) -> bytes:
    """Fields of fixed length, side by side. fields: of a row, where these are its first; else 0."""
    values = {f"v{at}": _field(one, batch[one.name]) for at, one in enumerate(columns)}
    layout: list[Any] = [("fields", ">i2")] if fields else []
    for name, array in values.items():
        layout += [(f"length_{name}", ">i4"), (name, array.dtype)]
    made = np.empty(rows_of(batch), dtype=layout)
    if fields:
        made["fields"] = fields
    for name, array in values.items():
        made[f"length_{name}"] = array.dtype.itemsize
        made[name] = array
    return made.tobytes()


def _field(column: Column, values: Any) -> npt.NDArray[Any]:
    """The bytes of a column, one element a row."""
    if column.kind in _NUMBERS:
        return np.asarray(values).astype(_NUMBERS[column.kind])
    size = column.size
    if column.kind == "code":
        bits = bits_of_words(values, size)
        made = np.empty(len(bits), dtype=[("bits", ">i4"), ("bytes", "u1", bits.shape[1])])
        made["bits"], made["bytes"] = size, bits
        return made
    one = [("length", ">i4"), ("value", ">f4")]
    head = ["dimensions", "has_nulls", "type", "count", "first"]
    made = np.empty(len(values), dtype=[*((name, ">i4") for name in head), ("all", one, size)])
    for name, value in zip(head, (1, 0, _FLOAT4, size, 1), strict=True):
        made[name] = value
    made["all"]["length"], made["all"]["value"] = 4, values
    return made


def bits_of_words(words: Words, bits: int) -> npt.NDArray[np.uint8]:
    """Codes as bit strings: the first bit is the highest of the first byte.

    >>> bits_of_words(np.array([[0b1011]], dtype=np.uint64), bits=6).tolist()
    [[208]]
    """
    one_each = np.unpackbits(code_bytes(words, bits), axis=1, bitorder="little", count=bits)
    return np.packbits(one_each, axis=1)


def words_of_bits(values: Sequence[bytes], bits: int) -> Words:
    """The inverse, of what the driver gives: the number of bits (int32) and the bit string."""
    width = 4 + -(-bits // 8)
    joined = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, width)[:, 4:]
    one_each = np.unpackbits(joined, axis=1, count=bits)
    packed = np.packbits(one_each, axis=1, bitorder="little")
    return code_words([packed.tobytes()], bits)
