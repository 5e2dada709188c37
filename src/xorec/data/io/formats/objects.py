"""Columns of Python objects as a Source: what data frames and lists of pairs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.io.formats.base import Source

if TYPE_CHECKING:
    import polars as pl


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
            series[column] = pl.Series(values, strict=False)
    return Source(name, pl.DataFrame(series).lazy(), tuple(series), known_ids=known)


def as_series(values: list[Any]) -> pl.Series | list[Any]:
    """Values of one simple kind as a polars series, others as they are."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {str} or kinds <= {float, int}:
        try:
            return pl.Series(values, strict=kinds != {float, int})
        except (TypeError, OverflowError):
            return values
    return values


def _numbered(values: list[Any], name: str, column: str) -> tuple[Ids, list[int]]:
    for number, value in enumerate(values, start=1):
        if value is None or value != value:  # NaN is not itself
            raise DataError(
                f"{name}, column {column!r}, data row {number:,}: the id is empty; drop that row."
            )
    try:
        ids = Ids.sorted(values)
    except TypeError as error:
        raise DataError(f"{name}, column {column!r}: {error}; give strings or numbers.") from None
    row_of = {value: row for row, value in enumerate(ids)}
    return ids, [row_of[value] for value in values]
