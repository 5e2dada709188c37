"""What a search may not show, checked and in the shape that kernels take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.errors import DataError
from xorec.search.hits import Exclude

Rows = npt.NDArray[np.int32]
Shown = npt.NDArray[np.uint8]
SHOW_ALL = np.zeros(0, dtype=np.uint8)
_NO_ROWS = np.zeros(0, dtype=np.int32)
_NO_QUERY = np.zeros(2, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Filters:
    """What queries may not show: rows of their own (indptr, indices), and `denied` to all.

    shown: one number for each place of a segment, zero hides; empty shows all.
    """

    indptr: npt.NDArray[np.int64]
    indices: Rows
    denied: Rows
    shown: Shown

    def of(self, b: int) -> Rows:
        """The rows that query b may not show, ascending."""
        return self.indices[self.indptr[b] : self.indptr[b + 1]]


def check_rows(rows: npt.NDArray[Any], items: int, what: str) -> npt.NDArray[np.int64]:
    """Rows of items."""
    found = np.asarray(rows, dtype=np.int64).reshape(-1)
    if len(found) and not (found.min() >= 0 and found.max() < items):
        bad = found.min() if found.min() < 0 else found.max()
        raise DataError(f"{what} has the row {bad} but rows go from 0 to {items - 1}.")
    return found


def check_lists(
    lists: Exclude, queries: int, what: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(indptr, indices) with a list for each query."""
    indptr, indices = lists
    if len(indptr) != queries + 1:
        raise DataError(f"{what} has {len(indptr) - 1} lists but there are {queries} queries.")
    return (
        as_contiguous(np.asarray(indptr, dtype=np.int64)),
        as_contiguous(np.asarray(indices, dtype=np.int32)),
    )


def make_filters(
    queries: int,
    exclude: Exclude | None,
    deny: npt.NDArray[np.integer] | None,
    items: int,
    shown: Shown,
) -> Filters:
    """The filters of a search among `items` items."""
    denied = _NO_ROWS
    if deny is not None and len(deny):
        denied = np.unique(check_rows(deny, items, "deny")).astype(np.int32)
    if exclude is None:
        indptr = _NO_QUERY if queries == 1 else np.zeros(queries + 1, dtype=np.int64)
        return Filters(indptr, _NO_ROWS, denied, shown)
    return Filters(*check_lists(exclude, queries, "exclude"), denied, shown)
