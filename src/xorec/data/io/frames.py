"""Data that is already in memory: data frames of any library, SciPy matrices, Python pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.sources import Source

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

FRAME = "the data frame"
PAIRS = "the list of pairs"
_POSITIONS = ("user", "item", "rating", "time")


def as_frame(thing: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """A pandas, polars, Arrow or other frame as narwhals sees it; None if it is none."""
    import narwhals as nw

    frame = nw.from_native(thing, pass_through=True)
    return frame if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def frame_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> tuple[str, ...]:
    """The names of the columns."""
    return tuple(frame.collect_schema().names())


def open_frame(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: Sequence[str], ids: Sequence[str] = ()
) -> Source:
    """The columns `names` of a frame as a Source; `ids` are those that hold raw ids."""
    import narwhals as nw
    import polars as pl

    selected = frame.select(*dict.fromkeys(names))
    if isinstance(selected, nw.LazyFrame):
        selected = selected.collect("polars")
    native = selected.to_native()
    if isinstance(native, pl.DataFrame):
        return Source(FRAME, native.lazy(), tuple(native.columns))
    columns = {name: _series(selected[name]) for name in selected.columns}
    return _source(FRAME, columns, ids)


def open_pairs(rows: Iterable[Any]) -> Source:
    """(user, item), (user, item, rating) or (user, item, rating, time) rows as a Source."""
    listed = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    if not listed:
        raise DataError(f"{PAIRS} is empty: give (user, item) pairs.")
    for number, row in enumerate(listed, start=1):
        is_row = isinstance(row, (tuple, list, np.ndarray)) and 2 <= len(row) <= 4
        if not is_row or len(row) != len(listed[0]):
            raise DataError(
                f"{PAIRS}, row {number:,}: {row!r} is not like the others; give (user, item), or "
                "(user, item, rating), or (user, item, rating, time) in every row."
            )
    names = _POSITIONS[: len(listed[0])]
    columns: dict[str, pl.Series | list[Any]] = {
        name: _tidy([row[at] for row in listed]) for at, name in enumerate(names)
    }
    return _source(PAIRS, columns, ("user", "item"))


def from_matrix(matrix: Any) -> Interactions:
    """A SciPy matrix: row and column numbers are the ids, stored values (unless all 1) ratings.

    Rows and columns without values stay, so the numbers of the matrix are the rows here too.
    """
    entries = matrix.tocoo()
    stored = entries.data != 0
    values = entries.data[stored].astype(np.float32)
    if np.isnan(values).any():
        raise DataError("the matrix has NaN values: take them out, for they are no ratings.")
    user_rows, item_rows = entries.row[stored], entries.col[stored]
    users, items = (Ids("int64", np.arange(size, dtype=np.int64)) for size in entries.shape)
    ratings = None if (values == 1).all() else values
    data = Interactions.from_rows(users, items, user_rows, item_rows, ratings=ratings)
    data.require_pairs("the matrix")
    notes = ["users are the rows of the matrix, items its columns"]
    if len(values) < len(entries.data):
        notes.append(f"{len(entries.data) - len(values):,} stored zeros left out")
    if data.n_pairs < len(values):
        notes.append(f"{len(values) - data.n_pairs:,} repeated pairs merged, the last kept")
    return data.noted(*notes)


def _series(column: nw.Series[Any]) -> pl.Series | list[Any]:
    """A column as polars holds it; Python objects stay Python objects."""
    import narwhals as nw

    if column.dtype in (nw.Object, nw.Unknown):
        return _tidy(column.to_list())
    return column.to_polars()


def _tidy(values: list[Any]) -> pl.Series | list[Any]:
    """Values of one simple kind as a polars series, others as they are."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {str} or kinds <= {float, int}:
        try:
            return pl.Series(values, strict=kinds != {float, int})
        except (TypeError, OverflowError):
            return values
    return values


def _source(name: str, columns: dict[str, pl.Series | list[Any]], ids: Sequence[str]) -> Source:
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
