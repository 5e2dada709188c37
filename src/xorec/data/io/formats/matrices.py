"""SciPy sparse matrices: row and column numbers are the ids, stored values the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.io.columns import choose_columns
from xorec.data.io.formats.base import ObjectFormat, Source, Wanted

MATRIX, VALUE = "the matrix", "value"
EMPTY_FINE, EMPTY_RATIO = 10**7, 100
"""Rows or columns that a matrix may have, whatever it holds; and beyond, for each value."""


def _is_matrix(thing: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(thing))


def _open(matrix: Any, wanted: Wanted) -> Source:
    """The column of values is called "value": weights, or ratings where rating_column says so.

    Values that all are 1 are neither. Rows and columns without values stay, so the numbers of the
    matrix are the rows of the interactions too.
    """
    import polars as pl

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
    _open,
)
