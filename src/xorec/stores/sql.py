"""SqlStore: the base of all stores in databases. Names are quoted, values go as parameters.

A database derives from it and gives its dialect: `types`, `parameter`, `hamming`, `run`, `insert`,
`tables_there`, `connect`; where it differs also `has_bit_codes`, `begin`, `swap`, `after_load`.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from xorec.core.addresses import Address
from xorec.core.bits import words_for
from xorec.core.errors import OptionError, StoreError
from xorec.core.locks import locked
from xorec.core.printable import quoted
from xorec.core.progress import SILENT, Progress
from xorec.databases.base import quoted_name
from xorec.stores.base import Near, Rows, SqlText, Store
from xorec.stores.contents import Contents
from xorec.stores.schema import TABLES, About, Schema, schema_of
from xorec.stores.tables import Batch, Column, Kind, rows_of, word_names

LONGEST_PREFIX = 32
"""Bytes: PostgreSQL cuts names after 63."""
STAGED = "__new"
"""What the name of a table that is being written ends with."""
_AT_ONCE = 500
"""Values of one IN (...)."""


class SqlStore(Store):
    """Tables in a database: written beside the old ones, then swapped in one transaction."""

    types: ClassVar[Mapping[Kind, str]]
    """The type of a column of each kind, as DDL has it. {size} in it: see `Column`."""
    has_bit_codes: ClassVar[bool] = True
    """Whether a code is one column; else it is words of 64 bits, a column each."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._writes = False

    @property
    def prefix(self) -> str:
        """What the names of the tables begin with: `?prefix=` in the address."""
        prefix = self.address.settings.get("prefix", "")
        if "\0" in prefix or len(prefix.encode()) > LONGEST_PREFIX:
            raise OptionError(
                f"prefix {quoted(prefix)} of {self.address}: give up to {LONGEST_PREFIX} bytes."
            )
        return prefix

    def quote(self, name: str) -> str:
        """A name of a table or column as SQL has it, whatever is in it."""
        return quoted_name(name)

    def name(self, table: str, *, staged: bool = False) -> str:
        """A table of ours, quoted; staged: the one that is being written."""
        return self.quote(f"{self.prefix}{table}{STAGED * staged}")

    def column_types(self, column: Column) -> list[tuple[str, str]]:
        """(name, type) of the columns that hold one of ours: one, but for codes of words."""
        if column.kind == "code" and not self.has_bit_codes:
            return [(name, self.types["code"]) for name in word_names(column)]
        return [(column.name, self.types[column.kind].format(size=column.size))]

    def create(self, table: Schema, name: str) -> str:
        """The statement that makes a table; name: quoted."""
        columns = [
            f"{self.quote(column)} {kind}"
            for one in table.columns
            for column, kind in self.column_types(one)
        ]
        lines = ",\n  ".join([*columns, *self.key_lines(table)])
        return f"CREATE TABLE {name} (\n  {lines}\n)"

    def key_lines(self, table: Schema) -> list[str]:
        """Lines behind the columns of a table: its key."""
        return [f"PRIMARY KEY ({', '.join(map(self.quote, table.key))})"]

    @abstractmethod
    def parameter(self, name: str, kind: Kind) -> str:
        """A parameter of a statement, as the driver has it."""

    @abstractmethod
    def hamming(self, about: About) -> str:
        """SQL for the bits in which i.code and u.code differ, a whole number."""

    def half(self, expression: str) -> str:
        """SQL for half of an even whole number."""
        return f"({expression}) / 2"

    def distance(self, about: About) -> str:
        """SQL for the distance of item i and user u that lists are ordered by."""
        bits = self.hamming(about)
        if about.ranking == "masked-codes":  # |u and not i| = (|u xor i| + |u| - |i|) / 2
            return self.half(f"{bits} + u.set_bits - i.set_bits")
        return f"{bits} - i.item_offset" if about.offsets else bits

    def unseen(self) -> str:
        """SQL for: user u does not have item i."""
        return (
            f"\n  AND NOT EXISTS (SELECT 1 FROM {self.name('seen')} s"
            "\n    WHERE s.user_row = u.user_row AND s.item_row = i.item_row)"
        )

    def id_parameter(self, name: str, kind: str) -> str:
        """The parameter for a raw id; kind: of `About`."""
        return self.parameter(name, "integer" if kind == "int64" else "text")

    def described(self, about: About) -> str:
        """SQL for the beginning of a query: row, id and name of items."""
        return f"SELECT i.item_row, i.item_id, {'i.name' if about.names else 'NULL AS name'}"

    def query(self, about: About, *, seen: bool = False) -> str:
        """The query for the k nearest items of a user; parameters: user (an id), k."""
        return (
            f"{self.described(about)},\n  {self.distance(about)} AS distance\n"
            f"FROM {self.name('users')} u CROSS JOIN {self.name('items')} i\n"
            f"WHERE u.user_id = {self.id_parameter('user', about.user_kind)}"
            f"{'' if seen else self.unseen()}\n"
            f"ORDER BY distance, i.tie_rank LIMIT {self.parameter('k', 'row')}"
        )

    def exported_list(self, about: About) -> str:
        """The query for a list that was exported; parameters: user (an id), k."""
        return (
            f"{self.described(about)}, l.score\n"
            f"FROM {self.name('users')} u JOIN {self.name('lists')} l ON l.user_row = u.user_row\n"
            f"JOIN {self.name('items')} i ON i.item_row = l.item_row\n"
            f"WHERE u.user_id = {self.id_parameter('user', about.user_kind)} "
            f"AND l.rank <= {self.parameter('k', 'row')}\n"
            "ORDER BY l.rank"
        )

    def similar_items(self, about: About) -> str:
        """The query for the items with the codes nearest to an item's; parameters: item, k."""
        return (
            f"{self.described(about)},\n  {self.hamming(about)} AS distance\n"
            f"FROM {self.name('items')} u CROSS JOIN {self.name('items')} i\n"
            f"WHERE u.item_id = {self.id_parameter('item', about.item_kind)} "
            "AND i.item_row <> u.item_row\n"
            f"ORDER BY distance, i.tie_rank LIMIT {self.parameter('k', 'row')}"
        )

    def sql(self, contents: Contents) -> SqlText:
        about = contents.about
        made = [
            f"{statement};"
            for schema in (table.schema for table in contents.tables)
            for name in [self.name(schema.name)]
            for statement in (self.create(schema, name), *self.indexes(schema, name))
        ]
        query = self.exported_list if about.ranking == "lists" else self.query
        if not about.user_kind:
            query = self.similar_items
        return SqlText("\n".join(made), f"{query(about)};")

    def connect(self) -> Any:
        """A connection: to write inside `writing`, else to read only."""
        raise NotImplementedError

    @cached_property
    def _connection(self) -> Any:
        return self.connect()

    def close(self) -> None:
        if (connection := vars(self).pop("_connection", None)) is not None:
            connection.close()

    @abstractmethod
    def run(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one statement; its rows as tuples, [] where it has none."""

    @abstractmethod
    def insert(self, table: Schema, name: str, batch: Batch) -> None:
        """Put a batch into the table; name: quoted."""

    @abstractmethod
    def tables_there(self) -> set[str]:
        """The names of all tables (and views) in the database, as they are, unquoted."""

    def indexes(self, table: Schema, name: str, suffix: str = "") -> list[str]:
        """Statements for what is cheaper to make when all rows are there: the index of `unique`.

        name: of the table, quoted. suffix: of an index's name, which stays when a table is renamed.
        """
        return []

    def after_load(self, table: Schema, name: str) -> None:
        """Runs when all rows of a table are there."""
        for statement in self.indexes(table, name, f"_{secrets.token_hex(4)}"):
            self.run(statement)

    def begin(self) -> None:
        """Begin a transaction."""
        self.run("BEGIN")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing of it."""
        self.begin()
        try:
            yield
        except BaseException:
            with suppress(*self.driver_errors):
                self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def swap(self, tables: Sequence[str]) -> None:
        """The staged tables take the place of the old ones, all at once."""
        with self.transaction():
            for name in TABLES:
                self.run(f"DROP TABLE IF EXISTS {self.name(name)}")
            for name in tables:
                self.run(f"ALTER TABLE {self.name(name, staged=True)} RENAME TO {self.name(name)}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around an export: a lock, a connection that may write."""
        self.close()
        self._writes = True
        try:
            yield
        finally:
            self._writes = False
            self.close()

    def from_driver(self, column: Column, values: Sequence[tuple[Any, ...]]) -> Any:
        """Values of a column as `fetch` gives them; values: one tuple a row, see `column_types`."""
        if column.kind == "code":
            return np.array(values, dtype=np.uint64).reshape(-1, words_for(column.size))
        firsts = [one[0] for one in values]
        if column.kind == "vector":
            return np.array(firsts, dtype=np.float32).reshape(-1, column.size)
        if column.kind in ("row", "integer"):
            return np.array(firsts, dtype=np.int64)
        return np.array(firsts, dtype=np.float32) if column.kind == "float" else firsts

    def write(self, contents: Contents, progress: Progress = SILENT) -> dict[str, int]:
        self.prefix  # noqa: B018 - refused before anything is opened
        vars(self).pop("about", None)
        with self.telling("export to"), self.writing():
            self._refuse_foreign_tables()
            self._drop_staged()
            try:
                counts = self._load(contents, progress)
                self.swap(list(counts))
            except BaseException:
                with suppress(Exception):
                    self._drop_staged()
                raise
        return counts

    def _load(self, contents: Contents, progress: Progress) -> dict[str, int]:
        counts: dict[str, int] = {}
        with progress.task("export", contents.rows) as task:
            for table in contents.tables:
                name, counts[table.name] = self.name(table.name, staged=True), 0
                self.run(self.create(table.schema, name))
                for batch in table.batches():
                    self.insert(table.schema, name, batch)
                    counts[table.name] += rows_of(batch)
                    task.advance(rows_of(batch), table=table.name)
                self.after_load(table.schema, name)
        return counts

    def _drop_staged(self) -> None:
        """Drop the tables that an export which died has left."""
        for name in TABLES:
            self.run(f"DROP TABLE IF EXISTS {self.name(name, staged=True)}")

    def _refuse_foreign_tables(self) -> None:
        """Refuse to replace tables of our names that no export has made.

        An `about` of ours without rows was made by a person of our own statements.
        """
        there = {name for name in TABLES if f"{self.prefix}{name}" in self.tables_there()}
        foreign = there - self._tables_of_the_last()
        if foreign:
            raise StoreError(
                f"the table {quoted(self.prefix + min(foreign))} of {self.address} was not made "
                "by xorec: give names of their own to ours, as ?prefix=xorec_ in the address."
            )

    def _tables_of_the_last(self) -> set[str]:
        """The tables that the export before has made; all, where a later xorec made them."""
        if f"{self.prefix}about" not in self.tables_there():
            return set()
        try:
            rows = self._about_rows()
        except self.driver_errors:  # it has other columns
            return set()
        if rows and not {"format", "ranking"} <= {one for one, _ in rows}:
            return set()
        try:
            return set(schema_of(About.of_rows(rows, "")))
        except StoreError:
            return set(TABLES)

    def read_about(self) -> About | None:
        with self.telling("ask"):
            if f"{self.prefix}about" not in self.tables_there():
                return None
            rows = self._about_rows()
        return About.of_rows(rows, str(self.address))

    def _about_rows(self) -> list[Any]:
        name, value = self.quote("name"), self.quote("value")
        return self.run(f"SELECT {name}, {value} FROM {self.name('about')}")

    def fetch(
        self, table: str, columns: Sequence[str], where: str, values: Sequence[int | str]
    ) -> Rows:
        schema = schema_of(self.about)[table]
        wanted = [schema.column(name) for name in columns]
        parts = [[name for name, _ in self.column_types(one)] for one in wanted]
        listed = ", ".join(self.quote(name) for names in parts for name in names)
        order = ", ".join(map(self.quote, schema.key))
        asked, kind = sorted(set(values)), schema.column(where).kind
        rows: list[tuple[Any, ...]] = []
        for begin in range(0, len(asked), _AT_ONCE):
            some = {f"p{at}": one for at, one in enumerate(asked[begin : begin + _AT_ONCE])}
            marks = ", ".join(self.parameter(name, kind) for name in some)
            with self.telling("ask"):
                rows += self.run(
                    f"SELECT {listed} FROM {self.name(table)} "
                    f"WHERE {self.quote(where)} IN ({marks}) ORDER BY {order}",
                    some,
                )
        found: dict[str, Any] = {}
        at = 0
        for one, names in zip(wanted, parts, strict=True):
            found[one.name] = self.from_driver(one, [row[at : at + len(names)] for row in rows])
            at += len(names)
        return found

    def nearest(self, user: int | str, k: int, *, seen: bool = False) -> list[Near]:
        with self.telling("ask"):
            rows = self.run(self.query(self.about, seen=seen), {"user": user, "k": k})
        return [Near(int(row), item, name, int(away)) for row, item, name, away in rows]


class SqlFileStore(SqlStore):
    """A database in one file, opened when it is first asked; one process writes at a time."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        assert address.path is not None
        self._path = address.path

    @contextmanager
    def writing(self) -> Iterator[None]:
        with super().writing(), locked(self._path):
            yield

    def run(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        if not self._writes and not self._path.exists():
            return []
        rows: list[Any] = self._connection.execute(statement, parameters or {}).fetchall()
        return rows
