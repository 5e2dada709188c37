"""SciPy sparse matrices: row and column numbers are the ids, stored values the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.io.columns import choose_columns
from xorec.data.io.formats.base import ObjectFormat, Source, Wanted

MATRIX, VALUE = "the matrix", "value"


def _is_matrix(thing: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(thing))


def _open(matrix: Any, wanted: Wanted) -> Source:
    """The column of values is called "value": weights, or ratings where rating_column says so.

    Values that all are 1 are neither. Rows and columns without values stay, so the numbers of the
    matrix are the rows of the interactions too.
    """
    import polars as pl

    entries = matrix.tocoo()
    stored = entries.data != 0
    values = entries.data[stored].astype(np.float32)
    if np.isnan(values).any():
        raise DataError(f"{MATRIX} has NaN values: take them out, for they are no weights.")
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


MATRICES = ObjectFormat(
    "a SciPy sparse matrix",
    "SciPy sparse matrix: rows are users, columns items, values weights",
    _is_matrix,
    _open,
)
