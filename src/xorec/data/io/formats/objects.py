"""Columns of Python objects as a Source: what data frames and lists of pairs share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.io.columns import choose_columns
from xorec.data.io.formats.base import ObjectFormat, Source, Wanted

if TYPE_CHECKING:
    import polars as pl


PAIRS = "the list of pairs"
_POSITIONS = ("user", "item", "rating", "time")


def _open(rows: Any, wanted: Wanted) -> Source:
    listed = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    if not listed:
        raise DataError(f"{PAIRS} is empty: give (user, item) pairs.")
    for number, row in enumerate(listed, start=1):
        is_row = isinstance(row, (tuple, list, np.ndarray)) and 2 <= len(row) <= 4
        if not is_row or len(row) != len(listed[0]):
            raise DataError(
                f"{PAIRS}, row {number:,}: {quoted(row)} is not like the others; give (user, "
                "item), or (user, item, rating), or (user, item, rating, time) in every row."
            )
    names = _POSITIONS[: len(listed[0])]
    columns: dict[str, pl.Series | list[Any]] = {
        name: as_series([row[at] for row in listed]) for at, name in enumerate(names)
    }
    chosen = choose_columns(names, {}, PAIRS, names)
    return replace(column_source(PAIRS, columns, ("user", "item")), chosen=chosen)


PAIR_ROWS = ObjectFormat(
    "(user, item) pairs",
    "Python rows `(user, item[, rating[, time]])`",
    lambda thing: isinstance(thing, Iterable) and not isinstance(thing, (bytes, dict)),
    _open,
)


def column_source(
    name: str, columns: dict[str, pl.Series | list[Any]], ids: Sequence[str]
) -> Source:
    """A Source of columns; ids that polars cannot hold are numbered here and now."""
    import polars as pl

    series: dict[str, pl.Series] = {}
    known: dict[str, Ids] = {}
    for column, values in columns.items():
        if isinstance(values, pl.Series):
            series[column] = values
        elif column in ids:
            known[column], rows = _numbered(values, name, column)
            series[column] = pl.Series(rows)
        else:
            series[column] = _values(values, name, column)
    return Source(name, pl.DataFrame(series).lazy(), tuple(series), known_ids=known)


def _values(values: list[Any], name: str, column: str) -> pl.Series:
    """Python values of a column that holds no ids; what polars makes nothing of is refused."""
    import polars as pl

    huge = next((v for v in values if isinstance(v, int) and v.bit_length() > 127), None)
    try:
        if huge is None:
            return pl.Series(values, strict=False)
    except Exception:  # of odd mixtures polars makes errors of any kind
        pass
    what = "values of kinds that are no column" if huge is None else f"the value {quoted(huge)}"
    raise DataError(f"{name}, column {quoted(column)}: {what}; give numbers or text.")


def as_series(values: list[Any]) -> pl.Series | list[Any]:
    """Values of one simple kind as a polars series, others as they are."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {str} or kinds <= {float, int}:
        wide = 54 if kinds == {float, int} else 128  # from there on it would not be the same number
        if any(v.bit_length() >= wide for v in values if type(v) is int):
            return values
        try:
            return pl.Series(values, strict=kinds != {float, int})
        except (TypeError, OverflowError, UnicodeError):
            return values
    return values


def _is_empty(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # NaN is not itself
    except (TypeError, ValueError):  # a thing that does not compare: no id, but not empty
        return False


def _numbered(values: list[Any], name: str, column: str) -> tuple[Ids, list[int]]:
    for number, value in enumerate(values, start=1):
        if _is_empty(value):
            raise DataError(
                f"{name}, column {quoted(column)}, data row {number:,}: the id is empty; drop "
                "that row."
            )
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    try:
        ids = Ids.sorted(values)
    except TypeError as error:
        raise DataError(
            f"{name}, column {quoted(column)}: {error}; give strings or numbers."
        ) from None
    except DataError as error:
        raise DataError(f"{name}, column {quoted(column)}: {error}") from None
    row_of = {value: row for row, value in enumerate(ids)}
    return ids, [row_of[value] for value in values]
