"""Python objects as sources: data frames, SciPy sparse matrices, rows of pairs.

Frames of any library come through narwhals. A column that polars cannot hold stays a list of
Python objects, whose ids are numbered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from xorec.core.errors import DataError
from xorec.core.printable import listed, quoted
from xorec.data.ids import Ids
from xorec.data.io.base import ObjectFormat, Source, Wanted
from xorec.data.io.columns import choose_columns

FRAME = "the data frame"


def as_frame(thing: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """A pandas, polars, Arrow or other frame as narwhals sees it; None if it is none."""
    try:
        frame = nw.from_native(thing, pass_through=True)
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"{FRAME} cannot be read: {error}") from None
    return frame if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def frame_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> tuple[str, ...]:
    """The names of the columns."""
    names = tuple(frame.collect_schema().names())
    if not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{FRAME} has columns called {listed(names)}: give them names that are text."
        )
    return names


def open_frame(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: Sequence[str], ids: Sequence[str] = ()
) -> Source:
    """The columns `names` of a frame as a Source; `ids` are those that hold raw ids."""
    selected = frame.select(*dict.fromkeys(names))
    if isinstance(selected, nw.LazyFrame):
        selected = selected.collect("polars")
    native = selected.to_native()
    if isinstance(native, pl.DataFrame):
        return Source(FRAME, native.lazy(), tuple(native.columns))
    if type(native).__module__.startswith("pyarrow") and hasattr(native, "validate"):
        try:
            native.validate(full=True)  # everything after it trusts its offsets and its text
        except ValueError as error:  # ArrowInvalid is one
            raise DataError(f"{FRAME} is broken: {error}.") from None
    columns = {name: _series(selected[name]) for name in selected.columns}
    return column_source(FRAME, columns, ids)


def _open_frame(thing: Any, wanted: Wanted) -> Source:
    frame = as_frame(thing)
    assert frame is not None
    columns = choose_columns(frame_columns(frame), wanted, FRAME, ())
    in_use = list(columns.in_use().values())
    return replace(open_frame(frame, in_use, (columns.user, columns.item)), chosen=columns)


def _series(column: nw.Series[Any]) -> pl.Series | list[Any]:
    """A column as polars holds it; Python objects stay Python objects."""
    categories = getattr(getattr(column.to_native(), "cat", None), "categories", ())
    has_odd_categories = any(type(one) is not str for one in categories)  # some crash Arrow
    if column.dtype not in (nw.Object, nw.Unknown) and not has_odd_categories:
        try:
            return column.to_polars()
        except ImportError:  # pandas needs pyarrow for all but plain numbers
            return _without_arrow(column)
        except (ValueError, TypeError, OverflowError, NotImplementedError):
            pass  # Arrow makes nothing of it
    return as_series(column.to_list())


def _without_arrow(column: nw.Series[Any]) -> pl.Series | list[Any]:
    """A column of pandas where pyarrow is not installed: by way of NumPy or of Python's values."""
    if isinstance(column.dtype, nw.Datetime):
        times = pl.Series(column.to_numpy().astype("datetime64[us]"))
        if column.dtype.time_zone is None:
            return times
        aware = times.dt.replace_time_zone("UTC")
        try:
            return aware.dt.convert_time_zone(column.dtype.time_zone)
        except pl.exceptions.ComputeError:  # a zone that polars does not know, "UTC+02:00"
            return aware
    is_null = column.is_null().to_list()  # NaN, NaT and pandas.NA alike
    pairs = zip(column.to_list(), is_null, strict=True)
    return as_series([None if null else value for value, null in pairs])


FRAMES = ObjectFormat(
    "a data frame",
    "pandas, polars, Arrow and other frames (through narwhals)",
    lambda thing: as_frame(thing) is not None,
    _open_frame,
)


PAIRS = "the list of pairs"
_POSITIONS = ("user", "item", "rating", "time")


def _open_pairs(rows: Any, wanted: Wanted) -> Source:
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
    _open_pairs,
)


def column_source(
    name: str, columns: dict[str, pl.Series | list[Any]], ids: Sequence[str]
) -> Source:
    """A Source of columns; ids that polars cannot hold are numbered here and now."""
    series: dict[str, pl.Series] = {}
    known: dict[str, Ids] = {}
    for column, values in columns.items():
        if isinstance(values, pl.Series):
            series[column] = values
        elif column in ids:
            known[column], rows = _numbered(values, f"{name}, column {quoted(column)}")
            series[column] = pl.Series(rows)
        else:
            series[column] = _values(values, f"{name}, column {quoted(column)}")
    return Source(name, pl.DataFrame(series).lazy(), tuple(series), known_ids=known)


def _values(values: list[Any], column: str) -> pl.Series:
    """The Python values of a column that holds no ids. column: for the message."""
    huge = next((v for v in values if isinstance(v, int) and v.bit_length() > 127), None)
    try:
        if huge is None:
            return pl.Series(values, strict=False)
    except Exception:  # of odd mixtures polars makes errors of any kind
        pass
    what = "values of kinds that are no column" if huge is None else f"the value {quoted(huge)}"
    raise DataError(f"{column}: {what}; give numbers or text.")


def as_series(values: list[Any]) -> pl.Series | list[Any]:
    """Values of one simple kind as a polars series, others as they are."""
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


def _numbered(values: list[Any], column: str) -> tuple[Ids, list[int]]:
    for number, value in enumerate(values, start=1):
        if _is_empty(value):
            raise DataError(f"{column}, data row {number:,}: the id is empty; drop that row.")
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    try:
        return Ids.numbered(values)
    except TypeError as error:
        raise DataError(f"{column}: {error}; give strings or numbers.") from None
    except DataError as error:
        raise DataError(f"{column}: {error}") from None


MATRIX, VALUE = "the matrix", "value"
EMPTY_FINE, EMPTY_RATIO = 10**7, 100
"""Rows or columns that a matrix may have, whatever it holds; and beyond, for each value."""


def _is_matrix(thing: Any) -> bool:
    from scipy.sparse import issparse

    return issparse(thing)


def _open_matrix(matrix: Any, wanted: Wanted) -> Source:
    """The column of values is called "value": weights, or ratings where rating_column says so.

    Values that all are 1 are neither. Rows and columns without values stay, so the numbers of the
    matrix are the rows of the interactions too.
    """
    entries = _entries(matrix)
    stored = entries.data != 0
    with np.errstate(over="ignore"):
        values = entries.data[stored].astype(np.float32)
    if not np.isfinite(values).all():
        raise DataError(
            f"{MATRIX} has NaN or infinite values: take them out, for they are no weights."
        )
    if not len(values):
        raise DataError(f"{MATRIX} has no interactions: check the file and the filters.")
    columns = {"user": entries.row[stored], "item": entries.col[stored]}
    notes = ["users are the rows of the matrix, items its columns"]
    if not (values == 1).all():
        columns[VALUE] = values
    is_rating = wanted.get("rating") == VALUE
    names = {**wanted, "user": "user", "item": "item", "rating": VALUE if is_rating else ""}
    if not is_rating and VALUE in columns and wanted.get("weight") is None:
        names["weight"] = VALUE
        notes.append("its values are weights (ratings with rating_column='value')")
    chosen = choose_columns(tuple(columns), names, MATRIX, ())
    if len(values) < len(entries.data):
        notes.append(f"{len(entries.data) - len(values):,} stored zeros left out")
    users, items = (Ids("int64", np.arange(size, dtype=np.int64)) for size in entries.shape)
    return Source(
        MATRIX,
        pl.DataFrame(columns).lazy(),
        tuple(columns),
        notes=tuple(notes),
        known_ids={"user": users, "item": items},
        chosen=chosen,
    )


def _require_whole(matrix: Any) -> None:
    """Refuse what SciPy would convert without a look."""
    if hasattr(matrix, "check_format"):  # rows, columns, blocks
        matrix.check_format(full_check=True)
    if matrix.format == "dia":
        data, offsets = matrix.data, matrix.offsets
        if data.ndim != 2 or offsets.shape != data.shape[:1] or offsets.dtype.kind not in "iu":
            raise ValueError("its diagonals and offsets do not fit")
    if matrix.format == "lil":
        lengths = [list(map(len, lists)) for lists in (matrix.rows, matrix.data)]
        if lengths[0] != lengths[1] or len(lengths[0]) != matrix.shape[0]:
            raise ValueError("its lists of rows and values do not fit")


def _entries(matrix: Any) -> Any:
    """The stored values by row and column, all in range.

    SciPy's own conversions trust the arrays of a matrix and write wherever these say.
    """
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"{MATRIX} has {matrix.dtype} values: give real numbers.")
    try:
        if len(matrix.shape) != 2:
            raise ValueError(f"it has {len(matrix.shape)} dimensions, not 2")
        _require_whole(matrix)
        most = max(EMPTY_FINE, EMPTY_RATIO * int(matrix.nnz))
        if not 0 < min(matrix.shape) <= max(matrix.shape) <= most:
            raise ValueError(f"a shape of {matrix.shape} for {matrix.nnz} values")
        entries = matrix.tocoo()
        for rows, size in zip((entries.row, entries.col), entries.shape, strict=True):
            if len(rows) != len(entries.data) or rows.dtype.kind not in "iu":
                raise ValueError("its rows, columns and values are not of one length")
            if len(rows) and not 0 <= rows.min() <= rows.max() < size:
                raise ValueError("it has values outside its shape")
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        raise DataError(f"{MATRIX} is broken or far too empty: {error}.") from None
    return entries


MATRICES = ObjectFormat(
    "a SciPy sparse matrix",
    "SciPy sparse matrix: rows are users, columns items, values weights",
    _is_matrix,
    _open_matrix,
)
