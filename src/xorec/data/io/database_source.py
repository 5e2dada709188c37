"""A table or a query of a database as a Source, which streams when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from xorec.core.addresses import Address
from xorec.core.errors import DataError
from xorec.core.printable import did_you_mean, listed, quoted
from xorec.data.io.base import Source, Wanted
from xorec.data.io.columns import guess
from xorec.databases import open_database
from xorec.databases.base import IDS, Database, Table, inner_query, place_of, refusal


def open_address(
    address: Address,
    wanted: Wanted,
    since: int | None = None,
    roles: Sequence[str] = IDS,
) -> Source:
    """The table or query of an address as a Source.

    roles: of the columns that a table must have to be found where the address names none.
    since: the database leaves out earlier rows where its times can be compared.
    """
    with open_database(address) as database:
        table, notes = _table(database, wanted, roles)
        rows = table.sql if table else f"({inner_query(address)}\n)"
        types = database.columns(f"SELECT * FROM {rows} AS chosen_rows")
    name = place_of(address, table.name if table else "")
    if not types or any(not one.strip() for one in types):
        raise DataError(f"{name}: a column has no name: give each one by AS.")
    return Source(
        name,
        pl.LazyFrame(schema=dict.fromkeys(types, pl.Null)),
        tuple(types),
        stream=partial(_stream, address, rows, types, since),
        notes=notes,
    )


def _table(
    database: Database, wanted: Wanted, roles: Sequence[str]
) -> tuple[Table | None, tuple[str, ...]]:
    """The table of an address, None where there is a query; and the note on a guess."""
    address = database.address
    if address.query:
        return None, ()
    tables = database.tables()
    names = [table.name for table in tables]
    if address.table:
        asked = (one for one in tables if address.table in (one.name, one.long_name))
        if (table := next(asked, None)) is not None:
            return table, ()
        there_are = f"there are: {listed(names)}" if names else "it has none"
        raise DataError(
            f"{address} has no table {quoted(address.table)}; {there_are}."
            f"{did_you_mean(address.table, names)}"
        )
    fitting = [one for one in tables if not one.is_part and _fits(one, wanted, roles)]
    if len(fitting) == 1:
        return fitting[0], (f"the table {fitting[0].name} of {address}, the only one that fits",)
    if not tables:
        raise refusal(address, "it has no tables", "give the address of another database")
    columns = " and ".join(f"the {role}s" for role in roles)
    found = f"{listed([one.name for one in fitting])} all fit" if fitting else "none fits by names"
    raise DataError(
        f"{address}: which table has {columns}? Say so with ?table=NAME or ?query=SELECT ... "
        f"behind the address; there are: {listed(names)} ({found})."
    )


def _fits(table: Table, wanted: Wanted, roles: Sequence[str]) -> bool:
    """Whether a table has a column for each role, as it is called or as people call it."""
    return all(
        name in table.columns if (name := wanted.get(role)) else guess(role, table.columns)
        for role in roles
    )


def _stream(
    address: Address,
    rows: str,
    types: Mapping[str, str],
    since: int | None,
    columns: Mapping[str, str],
) -> Iterator[pl.DataFrame]:
    """The columns by their roles, batch by batch, from a connection of its own."""
    with open_database(address) as database:
        picked = ", ".join(
            f"{database.expression(name, types[name], role)} AS {database.quote(role)}"
            for role, name in columns.items()
        )
        sql = f"SELECT {picked} FROM {rows} AS chosen_rows"
        if since is not None and "time" in columns:
            name = columns["time"]
            condition = database.since(name, types[name], since)
            sql += f" WHERE {condition}" if condition else ""
        ids = [role for role in IDS if role in columns]
        decimal = [role for role in ids if database.sort_of(types[columns[role]]) == "decimal"]
        for batch in database.batches(sql):
            if len(batch):
                yield _whole_ids(database, decimal, columns, batch) if decimal else batch


def _whole_ids(
    database: Database, roles: Sequence[str], columns: Mapping[str, str], batch: pl.DataFrame
) -> pl.DataFrame:
    """Decimals, which came as text, as whole numbers; others are no ids."""
    for role in roles:
        ids = batch[role]
        plain = ids.str.replace(r"\.0+$", "")
        numbers = plain.cast(pl.Int64, strict=False)
        if numbers.null_count() > ids.null_count():
            wrong = ids.filter(numbers.is_null() & ids.is_not_null())[0]
            cast = database.text_cast.format(column=columns[role])
            what = f"the {role} {wrong} (column {columns[role]}) is no whole number of 64 bits"
            way_out = f"give ids as text, by a query with {cast}"
            raise refusal(database.address, what, way_out)
        batch = batch.with_columns(numbers.alias(role))
    return batch
