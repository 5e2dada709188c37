"""The contract of a database as a source: tables, the columns of a query, and rows in batches.

A database has its file in this room and its line in `DATABASES`. Reading opens it to read only;
values come in the few types that the rest of reading knows, cast by the database itself
(`expression`), so that a driver's own decimals, enums, UUIDs or dates make no difference.
Each file also has what stores and the event log share with reading: how to connect, to quote names
(`quoted_name`), and to explain an error (`explain`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from xorec.core.addresses import Address, without_secrets
from xorec.core.errors import DataError, MissingExtraError, XorecError
from xorec.core.printable import LONGEST_VALUE, quoted, shortened

if TYPE_CHECKING:
    import polars as pl

ROWS = 100_000
"""Rows of a batch, about: what is in memory at a time."""
Sort = Literal["number", "decimal", "text", "time", "list", "other"]
"""Sorts of SQL types. number: what a frame holds as it is; other: what is asked for as text."""
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "FROM")
"""How a query begins, which gives rows."""
ONLY_READS = "xorec only reads: give a SELECT that changes nothing"
CHECK_SERVER = "check that the server runs and can be reached, then run again"
IDS = ("user", "item")
NUMBERS = ("rating", "weight")


def quoted_name(name: str) -> str:
    """The name of a table or column in standard SQL, whatever is in it.

    >>> print(quoted_name('or"ders'))
    "or""ders"
    """
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Table:
    """A table or a view. name: as people write it; sql: as SQL has it; is_part: of another."""

    name: str
    sql: str
    columns: tuple[str, ...]
    long_name: str = ""
    is_part: bool = False


def way_out(text: str, ways_out: Iterable[tuple[str, str]]) -> str:
    """The second of the first pair whose pattern is in an error message; "" for none."""
    found = (way_out for words, way_out in ways_out if re.search(words, text, re.IGNORECASE))
    return next(found, "")


class Database(ABC):
    """A database that is open, to read only; a context manager."""

    text_cast: ClassVar[str]
    float_cast: ClassVar[str]
    """SQL: the value of {column} as text, or as a number with a fraction."""
    sorts: ClassVar[Mapping[str, Any]] = {}
    """The sort of each SQL type that is not "other"."""
    driver_errors: tuple[type[Exception], ...] = (OSError,)
    """What the driver raises; set when the driver is imported."""

    def __init__(self, address: Address) -> None:
        self.address = address

    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables and views of people, with their columns."""

    @abstractmethod
    def columns(self, query: str) -> dict[str, str]:
        """The names of what a query gives, and their types in the words of the database."""

    @abstractmethod
    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        """The rows of a query, about `ROWS` at a time."""

    @abstractmethod
    def explain(self, error: Exception) -> tuple[str, str]:
        """What the driver says, and the way out; "" where the query is what is wrong."""

    @abstractmethod
    def as_seconds(self, column: str, sql_type: str) -> str:
        """SQL: whole seconds since 1970 (UTC) of a date or a time; NULL where it is infinite."""

    @abstractmethod
    def not_before(self, column: str, sql_type: str, seconds: int) -> str:
        """SQL: whether a date or a time is this one or later; more may pass, never fewer."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def table(
        self, schema: str, name: str, columns: Iterable[str], has_short_name: bool, is_part: bool
    ) -> Table:
        """A table of a schema; has_short_name: people write its name without the schema."""
        long_name, sql = f"{schema}.{name}", f"{self.quote(schema)}.{self.quote(name)}"
        return Table(name if has_short_name else long_name, sql, tuple(columns), long_name, is_part)

    def sort_of(self, sql_type: str) -> Sort:
        """The sort of a type."""
        sort: Sort = self.sorts.get(sql_type, "other")
        return sort

    def quote(self, name: str) -> str:
        """A name for SQL."""
        return quoted_name(name)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors of the driver become a `DataError` of one line without secrets."""
        try:
            yield
        except XorecError:
            raise
        except self.driver_errors as error:
            said, way_out = self.explain(error)
            make = partial(refusal, way_out=way_out) if way_out else query_refusal
            raise make(self.address, said) from None

    def expression(self, name: str, sql_type: str, role: str) -> str:
        """SQL: the value of a column in a type that its role can use."""
        sort, column = self.sort_of(sql_type), self.quote(name)
        if role == "time" and sort == "time":
            return self.as_seconds(column, sql_type)
        if role in (*NUMBERS, "time") and sort == "decimal":
            return self.float_cast.format(column=column)
        as_it_is = sort in ("number", "text", "list")
        return column if as_it_is else self.text_cast.format(column=column)

    def since(self, name: str, sql_type: str, since: int) -> str:
        """SQL: a condition that is true of every row of this time or later; "" for none.

        A row without a time passes: reading refuses it, with or without a condition.
        """
        sort, column = self.sort_of(sql_type), self.quote(name)
        if sort in ("number", "decimal"):
            later = f"{column} >= {since}"
        elif sort == "time":
            later = self.not_before(column, sql_type, since)
        else:
            return ""
        return f"({later} OR {column} IS NULL)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def frames_of(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Arrow's record batches as frames."""
    import polars as pl

    for batch in batches:
        frame = pl.from_arrow(batch)
        assert isinstance(frame, pl.DataFrame)
        yield frame


def missing(what: str, package: str, extra: str) -> MissingExtraError:
    """The error where a driver is not installed."""
    return MissingExtraError(f"{what} needs {package}: pip install 'xorec[{extra}]'.")


def refusal(address: Address, what: str, way_out: str) -> DataError:
    """One line without secrets: where, what a driver says of it, what to do."""
    said = " ".join(without_secrets(what).split()).rstrip(". ")
    if address.password:
        said = said.replace(address.password, "***")
    return DataError(f"{address}: {shortened(said, 3 * LONGEST_VALUE)}: {way_out}.")


def query_refusal(address: Address, what: str) -> DataError:
    """The error for SQL that the database does not take or cannot carry out."""
    if address.query:
        return refusal(address, what, f"mend the query {shown_query(address)}")
    return refusal(address, what, f"or choose other rows and columns: {address}?query=SELECT ...")


def shown_query(address: Address) -> str:
    """The query for a message: one line, cut, without secrets."""
    return quoted(without_secrets(" ".join(address.query.split())))


def place_of(address: Address, table: str) -> str:
    """The name of a table, or of the query of the address, for messages."""
    return f"{address}, table {table}" if table else f"{address}, query {shown_query(address)}"


def inner_query(address: Address) -> str:
    """The query of an address as it can stand in parentheses: without a semicolon at the end.

    What begins as a command is refused here, in plainer words than those of a database.
    """
    query = re.sub(r"[;\s]+$", "", address.query)
    begin = re.sub(r"\A(?:\s|\(|--[^\n]*\n|/\*.*?\*/)+", "", query, flags=re.DOTALL)
    word = re.match(r"\w*", begin)[0].upper()  # type: ignore[index]
    if word not in _QUERIES:
        what = f"the query begins with {word or quoted(query[:20])}"
        raise refusal(address, what, ONLY_READS)
    return query


def file_of(address: Address, what: str) -> str:
    """The path of a database in a file, which must be there."""
    from xorec.core.paths import what_is_at

    assert address.path is not None
    path = address.path.expanduser()
    found = what_is_at(path, DataError)
    if found != "a file":
        is_there = f"is {found}" if found else "is not there"
        raise DataError(f"{address.path} {is_there}: give the file of {what} database.")
    return str(path)
