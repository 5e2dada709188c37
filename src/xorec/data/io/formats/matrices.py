"""SciPy sparse matrices: row and column numbers are the ids, stored values the ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.io.columns import Columns
from xorec.data.io.formats.base import ObjectFormat, Source, Wanted

MATRIX = "the matrix"


def _is_matrix(thing: Any) -> bool:
    from scipy.sparse import issparse

    return bool(issparse(thing))


def _open(matrix: Any, wanted: Wanted) -> Source:
    """Values that all are 1 are no ratings. Rows and columns without values stay, so the numbers

    of the matrix are the rows of the interactions too.
    """
    import polars as pl

    entries = matrix.tocoo()
    stored = entries.data != 0
    values = entries.data[stored].astype(np.float32)
    if np.isnan(values).any():
        raise DataError(f"{MATRIX} has NaN values: take them out, for they are no ratings.")
    if not len(values):
        raise DataError(f"{MATRIX} has no interactions: check the file and the filters.")
    columns = {"user": entries.row[stored], "item": entries.col[stored]}
    has_ratings = not (values == 1).all()
    if has_ratings:
        columns["rating"] = values
    notes = ["users are the rows of the matrix, items its columns"]
    if len(values) < len(entries.data):
        notes.append(f"{len(entries.data) - len(values):,} stored zeros left out")
    users, items = (Ids("int64", np.arange(size, dtype=np.int64)) for size in entries.shape)
    return Source(
        MATRIX,
        pl.DataFrame(columns).lazy(),
        tuple(columns),
        notes=tuple(notes),
        known_ids={"user": users, "item": items},
        chosen=Columns("user", "item", "rating" if has_ratings else None),
    )


MATRICES = ObjectFormat(
    "a SciPy sparse matrix",
    "SciPy sparse matrix: rows are users, columns items, values ratings",
    _is_matrix,
    _open,
)
